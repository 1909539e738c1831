#!/bin/bash
# Routing through the real gateway: the two configurations of the system's description in Chela's form, a model that
# classifies, and a provider that goes down in mid-traffic and comes back.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

start_background strong "$build/tests/fakes/mock_model" --log "$tmp/strong"
strong_port=${ready##*port=}
start_background small "$build/tests/fakes/mock_model" --log "$tmp/small"
small_port=${ready##*port=}

providers() {
    cat <<END
providers : {
    anthropic : { base_url = "http://127.0.0.1:$strong_port"; api_key = "k"; models = (
        { name = "claude-sonnet-4-5"; local = false; } ); }; # far away, though the test's port is here
    ollama : { type = "openai"; base_url = "http://127.0.0.1:$small_port/v1"; models = (
        { name = "qwen2.5:0.5b"; }, { name = "qwen2.5-coder:14b"; }, { name = "llama3.1:8b"; } ); };
};
END
}

first() { # TEXT: the first candidate, without the date of its name
    "$build/chela" route --json "$1" | sed 's/.*"candidates":\[{"model":"\([^"]*\)".*/\1/; s/-20[0-9]*$//'
}

# --- static rules ---------------------------------------------------------------------------------------------------
configure <<END
$(providers)
routing : {
    rules = (
        { patterns = [ "hello", "hi", "thanks" ]; model = "ollama/qwen2.5:0.5b"; },
        { patterns = [ "code", "bug", "error", "fix" ]; model = "ollama/qwen2.5-coder:14b"; },
        { patterns = [ "analyze", "design", "architecture" ]; model = "anthropic/claude-sonnet-4-5"; }
    );
    default = "ollama/llama3.1:8b";
};
END
start_gateway
all() { # MODEL WORD...: each of the words leads there
    local model=$1 word got=
    shift
    for word in "$@"; do
        [ "$(first "please, $word it")" = "$model" ] || got="$got $word"
    done
    is "$got" "" "$config: ${*} lead to $model"
}
config=rules
all ollama/qwen2.5:0.5b hello hi thanks Hi
all ollama/qwen2.5-coder:14b code bug error fix
all anthropic/claude-sonnet-4-5 analyze design architecture
is "$(first 'what is this')" "ollama/llama3.1:8b" "rules: the rest goes to the default"
is "$(first 'the highest')" "ollama/llama3.1:8b" "rules: a word inside another one doesn't count"
is "$(first 'hello, fix this')" "ollama/qwen2.5:0.5b" "rules: the first one that fits wins"
stop_gateway

# --- the production configuration -----------------------------------------------------------------------------------
mkdir "$tmp/files"
configure <<END
$(providers)
models : { classifier = "ollama/qwen2.5:0.5b"; };
routing : {
    primary = "anthropic/claude-sonnet-4-5";
    local = "ollama/llama3.1:8b";
    always_primary = [ "analyze", "explain", "design", "debug", "fix" ];
    always_local = [ "hello", "hi", "thanks", "ok", "yes", "no" ];
    classes : { simple = "ollama/llama3.1:8b"; complex = "anthropic/claude-sonnet-4-5"; };
};
agents : { defaults : { model = "anthropic/claude-sonnet-4-5"; fallback = [ "ollama/llama3.1:8b" ];
    max_tokens = 4096; temperature = 0.7; }; };
tools : { confirm_before_run = [ "exec", "write" ]; };
channels : { web : { type = "webchat"; enabled = true; }; cli : { type = "cli"; enabled = true; }; };
END
echo 'gateway : { bind = "loopback"; };' >>"$CHELA_CONFIG"
sed -i '1d; s/bind = "loopback"/port = 0; bind = "loopback"/' "$CHELA_CONFIG"
start_gateway
config=production
all anthropic/claude-sonnet-4-5 analyze explain design debug fix
all ollama/llama3.1:8b hello hi thanks ok yes no
run chela route "mock: say {\"class\":\"SIMPLE\"}"
like "$out" "1\. ollama/llama3.1:8b" "production: what is classified as simple stays here"
run chela route --json "no class comes of this"
like "$out" '"name":"llm","verdict":"no opinion"' "production: without a class the router has no opinion"
like "$out" '"model":"anthropic/claude-sonnet-4-5[^"]*"' "production: and the agent's model stands"
: >"$tmp/strong" && : >"$tmp/small"
run chela agent -m "thanks, say hello"
like "$out" "You said: thanks" "production: a turn of always_local is answered"
is "$(grep -c '"model": *"llama3.1:8b"' "$tmp/small"):$(wc -l <"$tmp/strong")" "1:0" "production: by the model here, and nobody else is asked"
like "$(tr -d '\0' <"$tmp/small")" '"max_tokens": *4096.*"temperature": *0.7|"temperature": *0.7.*"max_tokens": *4096' \
    "production: with its number of tokens and its temperature"
run chela agent -m "explain it" && run chela agent -m "debug it" && run chela agent -m "yes"
is "$(grep -c '"model": *"claude-sonnet-4-5"' "$tmp/strong")" 2 "production: what is hard goes to the strong one"
run chela usage --by provider
like "$out" "total +[0-9]+ +[0-9]+ +0 +4 +50 %" "production: half of the answers came from this machine"
run chela agent -m "mock: tool exec {\"command\":\"true\"}" --approval-timeout 100ms
like "$status:$err" "^4:.*approval .* is needed" "production: a command is asked about"
stop_gateway

# --- a provider that goes down in mid-traffic -----------------------------------------------------------------------
configure <<END
$(providers)
models : { retries = 1; retry_window = "2s"; cooldown = "1s"; };
agents : { main : { model = "ollama/llama3.1:8b"; fallback = [ "anthropic/claude-sonnet-4-5" ]; }; };
END
start_gateway
run chela agent -m "mock: say one"
like "$out" "one" "down: it answers"
# four sessions talk at the same time; the provider ends while they do
talk() { # SESSION: six turns, each of which must bring its own words back
    local i
    for i in 1 2 3 4 5 6; do
        [ "$("$build/chela" agent -s "s$1" -m "mock: say turn $1.$i")" = "turn $1.$i" ] || echo "$1.$i" >>"$tmp/lost"
        echo "$1.$i" >>"$tmp/answered"
    done
}
: >"$tmp/lost" && : >"$tmp/answered" && : >"$tmp/strong"
talkers=()
for i in 1 2 3 4; do
    talk $i &
    talkers+=($!)
done
wait_for_line "$tmp/answered" '^[1-4]\.2$' >/dev/null
stop_background small KILL
wait "${talkers[@]}"
is "$(wc -l <"$tmp/answered"):$(cat "$tmp/lost")" "24:" "down: no turn is lost, the fallback answers"
isnt "$(grep -c '"path"' "$tmp/strong")" 0 "down: it was asked"
start_background small "$build/tests/fakes/mock_model" --log "$tmp/small" --port "$small_port"
back=no
for i in $(seq 1 200); do
    : >"$tmp/small"
    "$build/chela" agent -m "mock: say still $i" >/dev/null
    [ -s "$tmp/small" ] && back=yes && break
done
is "$back" yes "down: it comes back by itself"
run chela models
like "$out" "ollama/llama3.1:8b [^"$'\n'"]* [0-9]+ ms $" "down: and counts as available again"
run chela agent -m "/status"
like "$out" "Last turn:" "/status shows what was decided"
stop_gateway

done_testing
