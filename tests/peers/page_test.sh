#!/bin/bash
# The web page in real Chromium (playwright-core from npm, the browser of the distribution), with axe-core. Pictures of
# each point are kept in BUILD/peers/page-shots.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need page playwright-core/package.json
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    skip_all "no chromium is installed"

configure <<END_OF_CONFIG
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:MODEL_PORT/v1"; api_key = "sk-peer"; models = ( { name = "mock-1"; } ); }; };
agents : { main : { model = "model/mock-1"; workspace = "$tmp/work"; }; };
END_OF_CONFIG
touch first-file.txt second-file.txt
RUN_TIMEOUT=280 run "$node" "$here/page.mjs" "$peers/page/node_modules" "$browser" "$build/chelad" "$peers/page-shots"
isnt "$out" "" "the browser runs" || diag "$err"
while IFS= read -r line; do
    case $line in
    "ok "*) point 0 "${line#ok }" ;;
    "not ok "*) point 1 "${line#not ok }" ;;
    "#"*) diag "${line#\#}" ;;
    esac
done <<<"$out"
is "$status" 0 "all of it" || diag "$(tail -n 20 <<<"$err")"
done_testing
