#!/bin/bash
# One conversation in three places, of which the third is the page in a real Chromium: begun in the terminal, gone on
# with in Telegram, seen and gone on with in the page. tests/e2e/three_places_test.sh has the rest.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need page playwright-core/package.json
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    skip_all "no chromium is installed"

start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
model_port=${ready##*port=}
start_background bot "$build/tests/fakes/fake_telegram" --log "$tmp/telegram" --token 4242:test
bot=http://127.0.0.1:${ready##*port=}
configure <<END_OF_CONFIG
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$model_port/v1"; }; };
agents : { main : { model = "model/mock-1"; }; };
owners = [ "telegram:1" ];
channels : { telegram : { token = "4242:test"; base_url = "$bot"; poll_timeout = "5s"; dm_policy = "open"; allow_from = [ "*" ]; }; };
END_OF_CONFIG
start_gateway

run chela agent -m 'mock: say the word is marmalade'
like "$out" 'marmalade' "begun in the terminal"
start_peer page '^seen marmalade' "$node" "$here/places.mjs" "$peers/page/node_modules" "$browser" "$gateway_port" \
    "$(<"$CHELA_STATE_DIR/gateway.token")" "$peers/page-shots/places.png" marmalade pomegranate quince
is "$ready" 'seen marmalade' "the page has it when it opens"
curl -s --max-time 20 -o /dev/null "$bot/control/update" -d '{"message":{"message_id":1,"date":1700000001,
    "from":{"id":1,"first_name":"P"},"chat":{"id":1,"type":"private"},"text":"mock: say pomegranate"}}'
like "$(wait_for_line "$tmp/telegram" '"sendMessage".*pomegranate')" '"chat_id":1' "gone on with in Telegram"
is "$(wait_for_line "$tmp/page.log" '^seen pomegranate')" 'seen pomegranate' "the page shows it as it happens"
is "$(wait_for_line "$tmp/page.log" '^answered')" 'answered quince' "gone on with in the page"
like "$(tail -n 1 "$tmp/requests")" 'marmalade.*pomegranate.*quince' "where the model knows what was said in all places"
run chela agent -m 'mock: say plum'
like "$(tail -n 1 "$tmp/requests")" 'marmalade.*pomegranate.*quince.*plum' "and back in the terminal"
run chela sessions list --keys
is "$out" agent:main:main "it is one session"
done_testing
