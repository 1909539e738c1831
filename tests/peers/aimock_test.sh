#!/bin/bash
# The npm package @copilotkit/aimock as Anthropic, OpenAI (chat completions and responses), Google and Ollama: two turns,
# the first with two tool calls in one message, streamed in pieces so small that an emoji is cut between its two surrogate
# halves. What our client sent is read from aimock's own journal. Then its chaos modes in each of these dialects.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need aimock @copilotkit/aimock/dist/cli.js
start_peer aimock 'listening on' "$node" "$peer_file" --port 0 --strict --chunk-size 1 --fixtures "$here/aimock.json"
mock=http://127.0.0.1:${ready##*:}
export CHELA_PLUGIN_PATH="$CHELA_PLUGIN_PATH:$build/tests/plugin/.libs"

# Responses have items, of which aimock makes a message each: what one assistant said is put together again.
one_message='def one_message: reduce .[] as $m ([]; if (length > 0 and .[-1].role == "assistant" and $m.role == "assistant"
    and $m.tool_calls) then .[-1].tool_calls += $m.tool_calls else . + [$m] end);'
journal() { # FILTER: of jq, on the list of model calls since the last conversation
    jq -c "$one_message [.[] | select(.path != \"/api/tags\") | .body.messages |= one_message] | $1" "$tmp/journal"
}

conversation() { # NAME PROVIDER
    configure <<END_OF_CONFIG
providers : { model : { $2 }; };
tools : { weather : { type = "weather"; }; files : { enabled = false; }; exec : { enabled = false; }; };
agents : { main : { model = "model/mock-1"; }; };
END_OF_CONFIG
    rm -rf "$CHELA_STATE_DIR"
    ok curl -sf -X POST "$mock/__aimock/reset/journal" -- "$1: a new journal"
    start_gateway
    run chela agent -m 'Beijing weather 🏔️ and travel tips, please'
    is "$status" 0 "$1: the first turn ends well" || diag "$err"
    is "$out" $'I look 🔎 …\n\n北京 ☀️ 28°C; tips: 👨‍👩‍👧‍👦 take a hat 😀.' "$1: each character is whole, although sent in halves"
    run chela agent -m 'Shall I also pack an umbrella?'
    is "$status" 0 "$1: the second turn ends well" || diag "$err"
    is "$out" 'No umbrella ☂️ needed 👍🏽' "$1: and is answered"
    curl -sf "$mock/__aimock/journal" >"$tmp/journal"
    stop_gateway
    is "$status" 0 "$1: the gateway ends well"
    is "$(journal 'length')" 3 "$1: three model calls"
    is "$(journal '[.[].response.status] | unique')" '[200]' "$1: all of them understood"
    is "$(journal '[.[].body.stream] | unique')" '[true]' "$1: all of them streamed"
}

# The calls and their results as the second request and the third carried them. aimock keeps the requests of all
# dialects in one form; of Ollama's results it drops the tool's name, so there the order pairs them.
pairs_by_id() {
    is "$(journal '.[1].body.messages[-2:] | map(.tool_call_id)')" \
        "$(journal '.[1].body.messages[-3].tool_calls | map(.id)')" "$1: each result names its call"
}

results() { # NAME
    is "$(journal '.[0].body.messages | map(.role)')" '["system","user"]' "$1: the first call: system and user"
    is "$(journal '.[1].body.messages[2:] | map(.role)')" '["assistant","tool","tool"]' \
        "$1: the second call brings the assistant's message and both results"
    is "$(journal '.[1].body.messages[2].content')" '"I look 🔎 …"' "$1: what was said beside the calls stays"
    is "$(journal '.[1].body.messages[2].tool_calls | map([(.function.name | sub("web_search_[0-9a-f]+$"; "web_search")), (.function.arguments | fromjson)])')" \
        '[["get_weather",{"city":"北京 🏔️"}],["web_search",{"query":"北京 tips 😀"}]]' \
        "$1: both calls of the one message, arguments whole"
    is "$(journal '.[1].body.messages[3:] | map(.content | fromjson | if type == "object" and has("output") then .output | fromjson else . end)')" \
        '[{"temp":28,"condition":"晴","humidity":"45%"},[]]' "$1: the results are the tools', in the calls' order"
    is "$(journal '.[2].body.messages[:5] == .[1].body.messages')" true "$1: the second turn repeats the first"
    is "$(journal '.[2].body.messages[5:] | map([.role, .content])')" \
        '[["assistant","北京 ☀️ 28°C; tips: 👨‍👩‍👧‍👦 take a hat 😀."],["user","Shall I also pack an umbrella?"]]' \
        "$1: and goes on after it"
}

curl -sf "$mock/v1/chat/completions" -H 'content-type: application/json' -d '{"model":"mock-1","stream":true,
    "messages":[{"role":"user","content":"umbrella"}]}' >"$tmp/halves"
like "$(<"$tmp/halves")" '"content":"\\ud83d"' "aimock cuts characters between their surrogate halves"

conversation "OpenAI" "type = \"openai\"; base_url = \"$mock/v1\"; api_key = \"sk-peer\";"
is "$(journal '[.[].path] | unique')" '["/v1/chat/completions"]' "OpenAI: by chat completions"
results "OpenAI"
pairs_by_id "OpenAI"

conversation "Anthropic" "type = \"anthropic\"; base_url = \"$mock\"; api_key = \"sk-peer\";
    models = ( { name = \"mock-1\"; } );"
is "$(journal '[.[].path] | unique')" '["/v1/messages"]' "Anthropic: by messages"
results "Anthropic"
pairs_by_id "Anthropic"

conversation "Ollama" "type = \"ollama\"; base_url = \"$mock\"; models = ( { name = \"mock-1\"; } );"
is "$(journal '[.[].path] | unique')" '["/api/chat"]' "Ollama: by its own chat"
results "Ollama"

conversation "Responses" "type = \"openai-responses\"; base_url = \"$mock/v1\"; api_key = \"sk-peer\"; models = ( { name = \"mock-1\"; } );"
is "$(journal '[.[].path] | unique')" '["/v1/responses"]' "Responses: by responses"
results "Responses"
pairs_by_id "Responses"

conversation "Google" "type = \"google\"; base_url = \"$mock/v1beta\"; api_key = \"peer\"; models = ( { name = \"mock-1\"; } );"
like "$(journal '[.[].path] | unique')" '^\["/v1beta/models/mock-1:streamGenerateContent' "Google: by streamGenerateContent"
results "Google"

# --- chaos -----------------------------------------------------------------------------------------------------------

start_background spare "$build/tests/fakes/mock_model"
spare=http://127.0.0.1:${ready##*port=}

chaos() { # JSON
    curl -sf -X POST "$mock/__aimock/chaos" -H 'content-type: application/json' -d "$1" >"$tmp/chaos" || bail "no chaos: $1"
}

# What a mode does to a turn: who answers, and what the trace says of the failure.
disturbed() { # NAME MODE CHAOS MESSAGE ANSWER TRACE
    local run_id
    chaos "$3"
    run chela agent -m "$4" -s "$2" --json
    run_id=$(jq -r .runId <<<"$out")
    is "$status:$(jq -r '.result.payloads[0].text' <<<"$out")" "0:$5" "$1: $2: the turn ends well" || diag "$err"
    run chela trace "$run_id"
    like "$out" "$6" "$1: $2: the trace says what happened"
    chaos '{}'
}

storm() { # NAME PROVIDER
    configure <<END_OF_CONFIG
providers : { model : { $2 }; spare : { type = "openai"; base_url = "$spare/v1"; api_key = "k"; models = ( { name = "m"; } ); }; };
models : { retries = 1; cooldown = "1ms"; };
tools : { files : { enabled = false; }; exec : { enabled = false; }; };
agents : { main : { model = "model/mock-1"; fallback = [ "spare/m" ]; }; };
END_OF_CONFIG
    rm -rf "$CHELA_STATE_DIR"
    start_gateway
    disturbed "$1" dropped '{"dropRate":1}' umbrella 'You said: umbrella' 'retry: model/mock-1 .*next: model/mock-1 failed .*spare/m is asked'
    disturbed "$1" malformed '{"malformedRate":1}' umbrella 'You said: umbrella' 'next: model/mock-1 failed \(protocol: .*spare/m is asked'
    disturbed "$1" disconnected '{"disconnectRate":1}' umbrella 'You said: umbrella' 'next: model/mock-1 failed \(network: .*spare/m is asked'
    disturbed "$1" slow '{"latencyMs":700}' umbrella 'No umbrella ☂️ needed 👍🏽' 'model/mock-1 +ok, ([7-9][0-9][0-9] ms|[1-9]\.)'
    disturbed "$1" cut '{}' 'cut short' 'You said: cut short' 'retry: model/mock-1 .*next: model/mock-1 failed .*spare/m is asked'
    # last, since the service says for how long it wants to be left alone
    disturbed "$1" rate-limited '{"rateLimitRate":1}' umbrella 'You said: umbrella' 'next: model/mock-1 failed \(rate_limit: .*spare/m is asked'
    stop_gateway
    is "$status" 0 "$1: the gateway ends well after the storm"
}

storm OpenAI "type = \"openai\"; base_url = \"$mock/v1\"; api_key = \"k\"; models = ( { name = \"mock-1\"; } );"
storm Anthropic "type = \"anthropic\"; base_url = \"$mock\"; api_key = \"k\"; models = ( { name = \"mock-1\"; } );"
storm Ollama "type = \"ollama\"; base_url = \"$mock\"; models = ( { name = \"mock-1\"; } );"
storm Responses "type = \"openai-responses\"; base_url = \"$mock/v1\"; api_key = \"k\"; models = ( { name = \"mock-1\"; } );"
storm Google "type = \"google\"; base_url = \"$mock/v1beta\"; api_key = \"k\"; models = ( { name = \"mock-1\"; } );"

done_testing
