#!/bin/bash
# Telegram and Discord as their usual npm clients know them: grammy and discord.js against the fake services that our own
# channels are tested with, then our channels against the same fakes; what we send to Discord against the types of
# discord-api-types; npm telegram-test-api as a second opinion on Telegram.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need bots grammy/package.json
modules=$peers/bots/node_modules
telegram_schema=$shared/testdata/schemas/telegram-bot-api.json discord_schema=$shared/testdata/schemas/discord-openapi.json
[ -e "$telegram_schema" ] || telegram_schema=''
[ -e "$discord_schema" ] || discord_schema=''
start_background telegram "$build/tests/fakes/fake_telegram" --log "$tmp/telegram.calls" --token 4242:test \
    ${telegram_schema:+--schema "$telegram_schema"}
telegram=http://127.0.0.1:${ready##*port=}
start_background discord "$build/tests/fakes/fake_discord" --log "$tmp/discord.calls" --ca "$tmp/ca.pem" --interval 300 \
    ${discord_schema:+--schema "$discord_schema"}
discord=http://127.0.0.1:${ready##*port=}

points() { # NAME URL: what the program says becomes our points
    local line
    NODE_EXTRA_CA_CERTS="$tmp/ca.pem" RUN_TIMEOUT=180 run "$node" "$here/bots.mjs" "$1" "$modules" "$2"
    isnt "$out" "" "$1: the client runs" || diag "$err"
    while IFS= read -r line; do
        case $line in
        "ok "*) point 0 "$1: ${line#ok }" ;;
        "not ok "*) point 1 "$1: ${line#not ok }" ;;
        esac
    done <<<"$out"
    is "$status" 0 "$1: all of it" || diag "$err"
}
problems() { # NAME
    if [ -n "$telegram_schema" ] && [ -n "$discord_schema" ]; then
        is "$(jq -c 'select(.problem != null) | [.method, .path, .problem]' "$tmp"/*.calls)" '' "$1"
    else
        skip "no description" "$1"
    fi
}
points telegram "$telegram"
points discord "$discord"
problems "what the usual clients send is as the descriptions say"

# our own channels, at the same services
start_background model "$build/tests/fakes/mock_model"
configure <<CONF
network : { ca_file = "$tmp/ca.pem"; };
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:${ready##*port=}/v1"; }; };
agents : { main : { model = "model/mock-1"; }; };
owners = [ "telegram:1", "discord:1" ];
channels : {
    telegram : { token = "4242:test"; base_url = "$telegram"; poll_timeout = "5s"; };
    discord : { token = "token-1"; base_url = "$discord/api/v10"; cdn_url = "$discord/cdn"; };
};
CONF
: >"$tmp/discord.calls"
start_gateway
wait_for_line "$tmp/discord.calls" '"PUT".*commands' >/dev/null
curl -s -o /dev/null "$telegram/control/update" -d '{"message":{"message_id":500,"date":1700000001,"from":{"id":1,"first_name":"P"},
    "chat":{"id":1,"type":"private"},"text":"mock: say hello Telegram"}}'
like "$(wait_for_line "$tmp/telegram.calls" 'sendMessage.*hello Telegram')" '"chat_id":1' "our channel at the same Telegram answers"
curl -s -o /dev/null "$discord/control/event?t=MESSAGE_CREATE" -d '{"id":"1193042892980199000","channel_id":"901","type":0,
    "author":{"id":"1","username":"p"},"content":"mock: say hello Discord"}'
like "$(wait_for_line "$tmp/discord.calls" 'POST.*hello Discord')" '/channels/901/' "our channel at the same Discord answers"
curl -s -o /dev/null -X POST "$discord/control/gateway?do=reconnect"
wait_for_line "$tmp/discord.calls" '"RESUME"' >/dev/null
run chela message send --channel discord --to 901 -m 'by hand'
wait_for_line "$tmp/discord.calls" 'POST.*by hand' >/dev/null
stop_gateway
is "$status" 0 "the gateway ends well"
problems "what ours send, too"

# what we sent, by the types of npm discord-api-types
if [ -e "$modules/typescript/bin/tsc" ]; then
    work=$(mktemp -d "$peers/bots/check.XXXXXX") # beside node_modules, where the compiler looks
    plain='type Plain<T> = T extends string ? `${T}` : T extends number ? T | number : T extends (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;'
    typed() { # TYPE JQ: each of the logged bodies that the filter gives
        {
            printf 'import type { %s } from "discord-api-types/v10";\n%s\n' "$1" "$plain"
            jq -c "select($2) | .body" "$tmp/discord.calls" | sed "s/^/export const x: Plain<$1>[] = [/; s/\$/];/" |
                awk '{sub(/const x/, "const x" NR); print}'
        } >"$work/$1.ts"
        ok grep -q 'const x1:' "$work/$1.ts" -- "$1: there is one"
        ok "$node" "$modules/typescript/bin/tsc" --noEmit --strict --target es2022 --module nodenext \
            --moduleResolution nodenext --skipLibCheck "$work/$1.ts" -- "$1: as the types say"
    }
    typed GatewayIdentifyData '.method == "IDENTIFY"'
    typed GatewayResumeData '.method == "RESUME"'
    typed RESTPostAPIChannelMessageJSONBody '.method == "POST" and (.path | endswith("/messages"))'
    typed RESTPutAPIApplicationCommandsJSONBody '.method == "PUT"'
    rm -rf "$work"
else
    skip "typescript could not be installed" "what we send to Discord is as the types say"
fi

# a second opinion
if [ -e "$modules/telegram-test-api/package.json" ]; then
    start_peer opinion '^listening' "$node" "$here/test_api.mjs" "$modules"
    sed -i "s#base_url = \"$telegram\"#base_url = \"${ready##* }\"#; /discord : /d" "$CHELA_CONFIG"
    start_gateway
    like "$(wait_for_line "$tmp/opinion.log" '^answered')" 'answered: a second opinion$' "npm telegram-test-api: a message comes and is answered"
    stop_gateway
else
    skip "telegram-test-api could not be installed" "a second opinion on Telegram"
fi
done_testing
