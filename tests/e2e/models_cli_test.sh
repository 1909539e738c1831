#!/bin/bash
# What a person sees of models at the command line: chela models, usage, route explain and trace, against the real
# gateway with two services, one of them on this machine.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

start_background service "$build/tests/fakes/mock_model" --api-key right
port=${ready##*port=}

# mock-1 costs a thousandth of a unit per token read, so that the price of 20 in and 9 out is known: 0.02 + 0.018.
configure <<END
providers : {
    far : { type = "openai"; base_url = "http://127.0.0.1:$port/v1"; api_key = "right"; models = (
        { name = "mock-1"; context = 50000; price_in = 1000.0; price_out = 2000.0; price_cache_read = 100.0; local = false; },
        { name = "unpriced"; local = false; } ); };
    near : { type = "openai"; base_url = "http://127.0.0.1:$port/v1"; api_key = "right"; models = (
        { name = "mock-2"; } ); };
    shut : { type = "openai"; base_url = "http://127.0.0.1:$port/v1"; api_key = "wrong"; models = ( { name = "m"; } ); };
};
agents : { defaults : { model = "far/mock-1"; fallback = [ "near/mock-2" ]; }; };
routing : { rules = (
    { patterns = [ "hello" ]; model = "near/mock-2"; },
    { patterns = [ "shut" ]; model = "shut/m"; },
    { channels = [ "web" ]; model = "far/unpriced"; } ); };
END
start_gateway

# --- models -----------------------------------------------------------------------------------------------------------

run chela models
like "$out" "far/mock-1 +50000 +1000 +2000 +100 +tools" "the list shows window, prices and abilities"
like "$out" "far/unpriced +32768 +\?1000 +\?2000 " "a price that nobody named is the dearest one, with a question mark"
like "$out" "near/mock-2 +32768 +0 +0 +0 +local tools" "a model on this machine costs nothing"
run chela models list --names
is "$out" "$(printf 'far/mock-1\nfar/unpriced\nnear/mock-2\nshut/m')" "the names alone are for completion"
run chela models probe near/mock-2
like "$status:$out" "^0:near/mock-2 answers in .* \(29 tokens\): You said: Say: ok" "a probe tells that it answers"
run chela models probe shut/m
like "$status:$out" "^1:shut/m fails after " "and that it does not"
run chela models probe nobody/x
like "$status:$err" '^1:chela: no provider has the model "nobody/x"' "a model that is not there can't be probed"
run chela models probe
is "$status" 2 "which one is to be said"

run chela models set far/unpriced
like "$status:$out" "^0:far/unpriced counts from the next turn on, for all agents that name no model" "a model is set for all"
run chela route explain "anything"
like "$out" "1\. far/unpriced  by agent: the agent's model" "which the route then shows"
run chela models set ""
is "$status" 0 "and taken back"
run chela route explain "anything"
like "$out" "1\. far/mock-1  by agent: the agent's model" "so that the configured one counts again"
run chela models set near/mock-2 --agent main
like "$status:$out" "^0:.*for main" "a model is set for an agent"
run chela route explain "anything"
like "$out" "1\. near/mock-2  by agent: the agent's model" "and counts for it"
chela models set "" --agent main >"$tmp/ignored"
run chela models set near/mock-2 --agent nobody
like "$status:$err" '^1:chela: there is no agent "nobody"' "an agent that is not there is told"
run chela models set nobody/x
like "$status:$err" '^1:chela: no provider has the model "nobody/x"' "so is a model"
run chela models set near/mock-2 --session main
like "$status:$out" "^0:near/mock-2 counts from the next turn on, for main" "a model is set for a session"
run chela route explain "anything" --session main
like "$out" "chosen before +near/mock-2.*A person chose the model: no other one is tried\..*1\. near/mock-2  by person" \
    "and is strict there"
chela models set "" --session main >"$tmp/ignored"
run chela models set near/mock-2 --session main --agent main
is "$status" 2 "for both at once is a mistake"

# --- route explain ------------------------------------------------------------------------------------------------------

run chela route explain "say hello"
like "$out" "^text +say hello"$'\n'"agent +main"$'\n'"session +agent:main:main"$'\n'"channel +cli" "the facts are told"
like "$out" $'\n'"context tokens +[1-9]" "the length of the context too"
like "$out" $'\n'"tools +[1-9]" "and how many tools"
like "$out" "router rules: yes, " "each router's reason"
like "$out" "1\. near/mock-2  by rules: .*"$'\n'"   on this machine.*"$'\n'"2\. far/mock-1  by agent: the agent's model"$'\n'"   about [0-9.]+" \
    "the candidates in their order with what each would cost"
run chela route explain "any" --channel web
like "$out" "1\. far/unpriced  by rules.*its price is not known: taken as the dearest" "an unknown price is told"
run chela route explain "any" --attachments image
like "$out" "images +1.*it takes no images" "a model that can't look at images says so"
run chela route explain --json "say hello"
like "$out" '"facts":\{"text":"say hello".*"routers":\[\{"name":"rules".*"estimatedCost":' "the same is there as JSON"
run chela route guess hello
is "$status" 2 "another word is a mistake"

# --- turns, and what they used --------------------------------------------------------------------------------------------

run chela usage
like "$out" "^day .*tokens in .*out .*cached answers +local +price" "without a turn there is a table"
like "$out" "total +20 +9 +0 +0 +0 %  0\.0000" "of what the probe read alone"
run chela agent -m "hello" -s one
run chela agent -m "mock: say far" -s two
run chela agent -m "mock: say again" -s two --json
key=$(grep -o '"runId":"[^"]*"' <<<"$out" | cut -d '"' -f 4)
run chela usage
like "$out" "20[0-9-]+ +80 +36 +0 +3 +33 %  0\.0760" "a day's tokens, answers, share and price"
run chela usage --by provider
like "$out" "far +40 +18 +0 +2 +0 %  0\.0760"$'\n'"near +40 +18 +0 +1 +100 %  0\.0000"$'\n'"total +80 +36 +0 +3 +33 %" \
    "by provider, the dearest first"
run chela usage --by model
like "$out" "far/mock-1 .*near/mock-2 " "by model"
run chela usage --by session
like "$out" "agent:main:two +40 +18 .*agent:main:one +20 +9 " "by session"
run chela usage --by channel
like "$out" "cli +60 +27 +0 +3 .*- +20 +9 +0 +0 .*total +80 +36 +0 +3 " "by channel; a probe has none"
run chela usage --by day --days 1 --json
like "$out" '^\{"rows":\[\{"day":"20[0-9-]+","tokensIn":80,"tokensOut":36,"cached":0,"answers":3,"answeredLocally":1,"unpriced":0,"price":0.076' \
    "and as JSON"
run chela agent -m "mock: say dear" -s three --model far/unpriced
run chela usage --by model
like "$out" "far/unpriced +20 +9 +0 +1 +0 %  0\.0380 \?.*\? 1 answers came from models without a known price" "what has no price is counted and told"
run chela usage --by moon
is "$status:$err" "2:chela: --by takes day, session, channel, sender, provider or model" "there is nothing else to go by"
run chela usage --days 0
is "$status" 2 "and no less than a day"

run chela trace "$key"
like "$out" "decisions"$'\n'"  route: far/mock-1, by agent: the agent's model"$'\n'"    router rules: no opinion, no rule fits"$'\n'"    1\. far/mock-1 .*    2\. near/mock-2  by agent: fallback of the agent" \
    "a trace prints what was decided about the models"
like "$out" "model calls"$'\n'"  far/mock-1  ok, [0-9]+ ms, 20 tokens in, 9 out  the agent's model" "and what was called"
run chela agent -m "mock: tool list {}" --json
key=$(grep -o '"runId":"[^"]*"' <<<"$out" | cut -d '"' -f 4)
run chela trace "$key"
like "$out" "tool calls"$'\n'"  list \{\}  COMPLETED, " "tool calls are a line each"
run chela agent -m "shut" --json
key=$(grep -o '"runId":"[^"]*"' <<<"$out" | cut -d '"' -f 4)
run chela trace "$key"
like "$out" "  next: shut/m failed \(auth: .*\): far/mock-1 is asked" "so is what came after a failure"
stop_gateway

done_testing
