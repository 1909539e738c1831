#!/bin/bash
# One conversation in three places: begun in the terminal, gone on with in Telegram, seen as it happens by a client of
# the gateway's WebSocket, as the page is one. And one person on two services, whom the configuration knows as one.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -e "$build/plugins/.libs/channel_telegram.so" ] || skip_all "channel_telegram is not built here"
[ -e "$build/plugins/.libs/channel_discord.so" ] || skip_all "channel_discord is not built here"
[ -e "$build/plugins/.libs/provider_openai.so" ] || skip_all "provider_openai is not built here"
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
model_port=${ready##*port=}
start_background bot "$build/tests/fakes/fake_telegram" --log "$tmp/telegram" --token 4242:test
bot=http://127.0.0.1:${ready##*port=}
start_background discord "$build/tests/fakes/fake_discord" --log "$tmp/discord"
discord=http://127.0.0.1:${ready##*port=}
setup() { # SCOPE
    configure <<CONF
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$model_port/v1"; }; };
agents : { main : { model = "model/mock-1"; }; };
owners = [ "telegram:1" ];
session : { dm_scope = "$1"; identities = ( { name = "anna"; is = [ "telegram:7", "discord:70" ]; } ); };
channels : {
    telegram : { token = "4242:test"; base_url = "$bot"; poll_timeout = "5s"; dm_policy = "open"; allow_from = [ "*" ]; };
    discord : { token = "token-1"; base_url = "$discord/api/v10"; cdn_url = "$discord/cdn"; dm_policy = "open"; allow_from = [ "*" ]; };
};
CONF
}
telegram_says() { # ID FROM TEXT
    curl -s --max-time 20 -o /dev/null "$bot/control/update" -d "{\"message\":{\"message_id\":$1,\"date\":1700000001,
        \"from\":{\"id\":$2,\"first_name\":\"P\"},\"chat\":{\"id\":$2,\"type\":\"private\"},\"text\":\"$3\"}}"
}
discord_says() { # ID FROM TEXT
    curl -s --max-time 20 -o /dev/null "$discord/control/event?t=MESSAGE_CREATE" -d "{\"id\":\"$((1193042892980190000 + $1))\",
        \"channel_id\":\"90$2\",\"type\":0,\"author\":{\"id\":\"$2\",\"username\":\"p\"},\"content\":\"$3\"}"
}
setup main
: >"$tmp/telegram"
: >"$tmp/discord"
start_gateway
start_background watch "$build/tests/fakes/watch_session" main

run chela agent -m 'mock: say the word is marmalade'
like "$out" 'marmalade' "begun in the terminal"
telegram_says 1 1 'mock: say gone on with in Telegram'
like "$(wait_for_line "$tmp/telegram" '"sendMessage".*gone on with')" '"chat_id":1' "gone on with in Telegram"
like "$(tail -n 1 "$tmp/requests")" 'marmalade.*gone on with' "where the model still knows the word"
seen=$(wait_for_line "$tmp/watch.log" '"chat".*gone on with.*"state":"final"')
like "$seen" '"sessionKey":"agent:main:main"' "seen by the client of the WebSocket as it happens"
run chela agent -m 'mock: say back in the terminal'
like "$(tail -n 1 "$tmp/requests")" 'marmalade.*gone on with.*back in the terminal' "and back in the terminal"
wait_for_line "$tmp/watch.log" 'back in the terminal.*"state":"final"' >/dev/null
start_background late "$build/tests/fakes/watch_session" main
like "$(wait_for_line "$tmp/late.log" '"history"')" 'marmalade.*gone on with in Telegram.*back in the terminal' "who comes later sees all of it"
run chela sessions list --keys
is "$out" agent:main:main "it is one session"
stop_background watch
stop_background late
stop_gateway
is "$status" 0 "the gateway ends well"

# each person has a conversation, on whatever service
setup per-peer
start_gateway
telegram_says 10 7 'mock: say a melon for Anna'
wait_for_line "$tmp/telegram" '"sendMessage".*melon' >/dev/null
telegram_says 11 8 'mock: say nothing for Bob'
wait_for_line "$tmp/telegram" '"sendMessage".*nothing for Bob' >/dev/null
unlike "$(tail -n 1 "$tmp/requests")" 'melon' "another person has a conversation of their own"
discord_says 12 70 'mock: say the same Anna'
like "$(wait_for_line "$tmp/discord" '"POST".*the same Anna')" '/channels/9070/' "a person that is known on two services"
like "$(tail -n 1 "$tmp/requests")" 'melon.*the same Anna' "goes on there in the same conversation"
stop_gateway
is "$status" 0 "the gateway ends well"
done_testing
