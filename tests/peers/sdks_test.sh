#!/bin/bash
# The vendors' own SDKs from npm (openai, @anthropic-ai/sdk, ollama) as clients of our gateway: chat, responses,
# messages, streaming, tools that the client runs, errors. The model behind the gateway is a scripted one.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need sdks openai/package.json
modules=$peers/sdks/node_modules
start_background model "$build/tests/fakes/mock_model"
mock=http://127.0.0.1:${ready##*port=}
configure <<END_OF_CONFIG
logging : { level = "debug"; };
gateway : { http : { openai = true; anthropic = true; ollama = true; }; };
providers : { model : { type = "openai"; base_url = "$mock/v1"; api_key = "sk-peer"; models = ( { name = "mock-1"; } ); }; };
tools : { files : { enabled = false; }; exec : { enabled = false; }; };
agents : { main : { model = "model/mock-1"; }; };
END_OF_CONFIG
sed -i '1d' "$CHELA_CONFIG" # tap.sh's own gateway group; ours has more
sed -i 's/^gateway : { /gateway : { port = 0; /' "$CHELA_CONFIG"
start_gateway

points() { # NAME: what the program says becomes our points
    local line
    run "$node" "$here/sdks.mjs" "$1" "$modules" "$gateway_port" "$(<"$CHELA_STATE_DIR/gateway.token")"
    isnt "$out" "" "$1: the SDK runs" || diag "$err"
    while IFS= read -r line; do
        case $line in
        "ok "*) point 0 "$1: ${line#ok }" ;;
        "not ok "*) point 1 "$1: ${line#not ok }" ;;
        esac
    done <<<"$out"
    is "$status" 0 "$1: all of it" || diag "$err"
}

points openai
aborted=$(wait_for_line "$tmp/gateway.log" '-> ABORTED')
like "$aborted" ABORTED "openai: the run of a client that hung up was stopped"
for name in anthropic ollama; do
    points "$name"
done
stop_gateway
is "$status" 0 "the gateway ends well"

done_testing
