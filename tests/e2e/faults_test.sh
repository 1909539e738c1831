#!/bin/bash
# A model service that fails in every way that it can: the class of the error, whether another model is tried, one clear
# message, and a session that goes on.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
start_background spare "$build/tests/fakes/mock_model" --log "$tmp/spare" --scripts no
spare_port=${ready##*port=}

configure <<END
providers : {
    first : { type = "anthropic"; base_url = "http://127.0.0.1:$mock_port"; models = ( { name = "mock-1"; } ); };
    spare : { type = "openai"; base_url = "http://127.0.0.1:$spare_port/v1"; };
};
models : { retries = 1; retry_window = "3s"; };
agents : { main : { model = "first/mock-1"; fallback = [ "spare/mock-1" ]; model_timeout = "2s"; }; };
END
start_gateway

# FAULT ANSWERED-BY: the first model fails, and who answers in the end
fault() {
    : >"$tmp/requests"
    : >"$tmp/spare"
    run chela agent --session "agent:main:fault-$tap_count" -m "mock: $1
and now"
    is "$status" 0 "$1: the turn ends with an answer"
    if [ "$2" = spare ]; then
        ok test -s "$tmp/spare" -- "$1: the fallback was asked"
    else
        ok test ! -s "$tmp/spare" -- "$1: nobody else was asked"
    fi
    run chela agent --session "agent:main:fault-$((tap_count - 2))" -m "mock: say still here"
    is "$status" 0 "$1: the session goes on"
}

fault "status 401" spare
fault "status 429 1" spare
fault "status 500" spare
fault "status 529" spare
fault "html 502" spare
fault "empty" spare
fault "garbage" spare
fault "error-event" spare
fault "cut" spare
fault "reset" spare
fault "stall" spare

stop_gateway
configure <<END
providers : { first : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
models : { retries = 1; retry_window = "2s"; };
agents : { main : { model = "first/mock-1"; model_timeout = "2s"; }; };
END
start_gateway
run chela agent -m "mock: status 401"
is "$status" 1 "without a fallback the turn fails"
like "$out$err" "mock failure 401" "and says what the service said"
run chela agent -m "mock: say and on"
like "$out" "and on" "the next message is answered"

done_testing
