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
    anthropic : { base_url = "http://127.0.0.1:$strong_port"; api_key = "k"; };
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
is "$(first 'Hi there')" "ollama/qwen2.5:0.5b" "rules: a greeting goes to the smallest"
is "$(first 'fix this bug')" "ollama/qwen2.5-coder:14b" "rules: code goes to the coder"
is "$(first 'design a bridge')" "anthropic/claude-sonnet-4-5" "rules: design goes to the strong one"
is "$(first 'what is this')" "ollama/llama3.1:8b" "rules: the rest goes to the default"
stop_gateway

# --- the production configuration -----------------------------------------------------------------------------------
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
END
start_gateway
: >"$tmp/small"
is "$(first 'please explain')" "anthropic/claude-sonnet-4-5" "production: always_primary"
is "$(first 'thanks!')" "ollama/llama3.1:8b" "production: always_local"
run chela route "mock: say {\"class\":\"SIMPLE\"}"
like "$out" "1\. ollama/llama3.1:8b" "production: what is classified as simple stays here"
run chela route --json "no class comes of this"
like "$out" '"name":"llm","verdict":"no opinion"' "production: without a class the router has no opinion"
like "$out" '"model":"anthropic/claude-sonnet-4-5[^"]*"' "production: and the agent's model stands"
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
stop_background small
lost=0
for i in 1 2 3 4; do
    : >"$tmp/strong"
    run chela agent -m "mock: say turn $i"
    { [ "$status" = 0 ] && [ -s "$tmp/strong" ]; } || lost=$((lost + 1))
done
is "$lost" 0 "down: no turn is lost, the fallback answers"
start_background small "$build/tests/fakes/mock_model" --log "$tmp/small" --port "$small_port"
back=no
for i in $(seq 1 200); do
    : >"$tmp/small"
    "$build/chela" agent -m "mock: say still $i" >/dev/null
    [ -s "$tmp/small" ] && back=yes && break
done
is "$back" yes "down: it comes back by itself"
run chela agent -m "/status"
like "$out" "Last turn:" "/status shows what was decided"
stop_gateway

done_testing
