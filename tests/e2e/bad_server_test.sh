#!/bin/bash
# A server that misbehaves below the model's protocol: every fault ends the turn with one clear message, and the gateway
# and the session go on. (What a model service itself can say wrong: faults_test.sh.)
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -e "$build/plugins/.libs/provider_openai.so" ] || skip_all "provider_openai is not built here"
[ -e "$build/plugins/.libs/provider_anthropic.so" ] || skip_all "provider_anthropic is not built here"
faults="reset close garbage head truncate chunk drip silent stall endless line compressed redirect 404 503-1"
start_background bad "$build/tests/fakes/bad_server"
bad=http://127.0.0.1:${ready##*port=}
start_background mock "$build/tests/fakes/mock_model"
{
    echo "providers : { good : { type = \"openai\"; base_url = \"http://127.0.0.1:${ready##*port=}/v1\"; };"
    for fault in $faults; do
        echo "o_$fault : { type = \"openai\"; base_url = \"$bad/$fault\"; api_key = \"k-12345678\"; };"
        echo "a_$fault : { type = \"anthropic\"; base_url = \"$bad/$fault\"; api_key = \"k-12345678\"; };"
    done
    echo '}; models : { retries = 0; on_error = "stop"; };'
    echo 'agents : { main : { model_timeout = "500ms"; timeout = "3s"; }; };'
} | configure
start_gateway

for fault in $faults; do
    for api in o a; do
        run chela agent --model "${api}_$fault/m" -m "hello"
        isnt "$status" 0 "$fault ($api): the turn ends, and not as if it were well"
        like "$out$err" "[a-z]{4}" "$fault ($api): with a message"
    done
done
run chela agent --model good/mock-1 -m "mock: say still here"
like "$out" "still here" "the session goes on"
ok kill -0 "$gateway_pid" -- "the gateway, too"
unlike "$(cat "$tmp/gateway.log")" "contract|leak|stuck" "nothing is left over"

done_testing
