#!/bin/bash
# Discord against a service of our own, its gateway over TLS, every request held against the published description: a
# conversation with all that the channel does, the faults that the service knows, and what a crash leaves.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -e "$build/plugins/.libs/channel_discord.so" ] || skip_all "channel_discord is not built here"
[ -e "$build/plugins/.libs/provider_openai.so" ] || skip_all "provider_openai is not built here"
schema=${CHELA_SHARED:-$top/../shared}/testdata/schemas/discord-openapi.json
[ -e "$schema" ] || schema=
mkfifo "$tmp/gate"
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests" --gate "$tmp/gate"
model_port=${ready##*port=}
start_background discord "$build/tests/fakes/fake_discord" --log "$tmp/calls" --ca "$tmp/ca.pem" --interval 200 \
    ${schema:+--schema "$schema"} --strict
discord=http://127.0.0.1:${ready##*port=}
setup() { # TOKEN BASE CA
    local network=
    [ -z "$3" ] || network="network : { ca_file = \"$3\"; };"
    configure <<CONF
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$model_port/v1"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$tmp/work"; }; };
owners = [ "discord:1" ];
$network
channels : { discord : { token = "$1"; base_url = "$2/api/v10"; cdn_url = "$discord/cdn"; media_limit = "1M"; groups = ( { chat = "50"; } ); }; };
CONF
}
control() { curl -s --max-time 20 -o /dev/null -X POST "$discord/control/$1" --data-binary "${2:-}"; }
id() { echo $((1193042892980190000 + $1)); }
body() { # ID FROM CHANNEL TEXT [MORE]
    echo "{\"id\":\"$(id "$1")\",\"channel_id\":\"$3\",\"type\":0,\"author\":{\"id\":\"$2\",\"username\":\"p$2\"},\"content\":\"$4\"${5:-}}"
}
message() { # ID FROM TEXT [MORE]: a direct message
    control 'event?t=MESSAGE_CREATE' "$(body "$1" "$2" "90$2" "$3" "${4:-}")"
}
group() { # ID FROM CHANNEL TEXT [MORE]
    control 'event?t=MESSAGE_CREATE' "$(body "$1" "$2" "$3" "$4" ",\"guild_id\":\"1\"${5:-}")"
}
mention=',"mentions":[{"id":"4242","username":"chela"}]'
press() { # ID FROM DATA
    control 'event?t=INTERACTION_CREATE' "{\"id\":\"$(id "$1")\",\"token\":\"tok$1\",\"application_id\":\"4343\",\"type\":3,
        \"channel_id\":\"90$2\",\"user\":{\"id\":\"$2\",\"username\":\"p$2\"},\"data\":{\"component_type\":2,\"custom_id\":\"$3\"}}"
}
call() { wait_for_line "$tmp/calls" "$@"; }
count() { grep -cE -- "$1" "$tmp/calls"; }
# nth REGEX N: waits until N lines match
nth() { timeout 30 tail -n +1 -F "$tmp/calls" 2>/dev/null | grep -m "$2" -E -- "$1" | tail -n 1; }
: >"$tmp/calls"
setup token-1 "$discord" "$tmp/ca.pem"
start_gateway

# the session
like "$(call '"OPEN"')" 'v=10&encoding=json' "the gateway is reached by TLS"
like "$(call '"IDENTIFY"')" '"token":"token-1","intents":46593,"properties"' "the bot says who it is and what it wants to hear"
like "$(call '"PUT".*commands')" '"name":"approve"' "the menu has the commands"
like "$(nth '"HEARTBEAT"' 3)" '"problem":null' "the heart beats"

# text, in and out
message 1 1 'mock: say hello there'
line=$(call '"POST".*hello there')
like "$line" '/channels/901/messages","body":\{"content":"hello there","allowed_mentions":\{"parse":\[\]\},"nonce":"[0-9a-f]{24}","enforce_nonce":true\}' \
    "a text is answered, rings nobody and can be told from a repetition"
like "$(call '"POST".*typing')" '/channels/901/typing' "while it is made, the person sees it"
message 2 1 'mock: say **bold** & @everyone `x<y`'
like "$(call 'bold')" '\*\*bold\*\* & .*everyone.*`x<y`' "Markdown is Discord's own"
message 3 1 'mock: gated The first half | and the second one.'
line=$(call '"POST".*The first half')
echo go >"$tmp/gate"
like "$(call '"PATCH".*second one')" '"content":"The first half *and the second one."' "an answer grows in its message"

# pictures and files
control 'file?path=a/b.png' $'\x89PNG....'
attachment() { # ID NAME TYPE SIZE URL
    echo ",\"attachments\":[{\"id\":\"$1\",\"filename\":\"$2\",\"content_type\":\"$3\",\"size\":$4,\"url\":\"$5\",\"proxy_url\":\"$5\"}]"
}
message 5 1 'mock: say seen' "$(attachment 1 b.png image/png 8 "$discord/cdn/a/b.png")"
call '"POST".*"seen"' >/dev/null
like "$(tail -n 1 "$tmp/requests")" 'image/png;base64' "a picture is fetched, and the model sees it"
is "$(message_form main 'say seen')" "$(cat "$top/tests/e2e/golden/message-discord.json")" "its form inside the gateway is the one of all channels"
message 6 1 'mock: say too large' "$(attachment 2 film.mp4 video/mp4 99999999 "$discord/cdn/film.mp4")"
like "$(call '"(POST|PATCH)".*film.mp4')" 'attachment: film.mp4 .video/mp4' "a file above the limit is only named"
message 7 1 'mock: say from elsewhere' "$(attachment 3 evil.png image/png 8 "http://127.0.0.1:$model_port/evil.png")"
like "$(call '"(POST|PATCH)".*evil.png')" 'attachment: evil.png' "one that is not Discord's is only named"
unlike "$(cat "$tmp/requests")" '"path":"/evil.png"' "and not fetched"
printf 'a,b\n1,2\n' >"$tmp/work/table.csv"
message 8 1 'mock: tool send_file {\"path\":\"table.csv\"}\nmock: say here it is'
like "$(call '"table.csv"')" '"content":"here it is".*"attachments":\[\{"id":"0","filename":"table.csv"\}\].*"files":\{"files\[0\]":\{"name":"table.csv","type":"text/plain","size":8\}\}' \
    "a file of the workspace goes out beside the answer"

# guilds and threads
group 20 5 50 'mock: say nobody asked'
group 21 5 50 '<@4242> mock: say you called' "$mention"
like "$(call '"POST".*you called')" "/channels/50/messages.*\"message_reference\":\{\"message_id\":\"$(id 21)\"" \
    "a channel is answered when the bot is mentioned, as a reply"
unlike "$(cat "$tmp/calls")" '"POST".*nobody asked' "and left alone otherwise"
like "$(tail -n 1 "$tmp/requests")" 'nobody asked' "but has been listened to"
group 22 5 55 '<@4242> mock: say in the thread' "$mention"
like "$(call '"POST".*in the thread')" '/channels/55/messages' "a thread is answered in the thread"
group 23 5 51 '<@4242> mock: say not here' "$mention"
control 'event?t=MESSAGE_CREATE' "{\"id\":\"$(id 25)\",\"channel_id\":\"50\",\"guild_id\":\"1\",\"type\":19,\"author\":{\"id\":\"5\",\"username\":\"p5\"},\"content\":\"mock: say a reply\",\"message_reference\":{\"message_id\":\"1\"},\"referenced_message\":{\"id\":\"1\",\"content\":\"earlier words\",\"author\":{\"id\":\"4242\"}}}"
call '"POST".*a reply' >/dev/null
like "$(tail -n 1 "$tmp/requests")" 'in reply to: earlier words' "a reply to the bot is meant for it, with what it answers"
unlike "$(cat "$tmp/calls")" '"POST".*not here' "a channel that isn't configured hears nothing"

# an edit, a repetition, commands
control 'event?t=MESSAGE_UPDATE' "$(body 1 1 901 'mock: say edited words' ',"edited_timestamp":"2024-01-06T04:06:40.000000+00:00"')"
call '"POST".*edited words' >/dev/null
message 1 1 'mock: say hello there'
control 'gateway?do=replay'
message 30 1 'mock: say after the repetition'
call '"POST".*after the repetition' >/dev/null
is "$(count '"POST".*hello there')" 1 "what comes twice is answered once"
control 'event?t=INTERACTION_CREATE' "{\"id\":\"$(id 31)\",\"token\":\"tok31\",\"application_id\":\"4343\",\"type\":2,\"channel_id\":\"901\",\"user\":{\"id\":\"1\",\"username\":\"p1\"},\"data\":{\"id\":\"9\",\"name\":\"whoami\",\"type\":1}}"
like "$(call '/interactions/.*tok31/callback')" '"type":4,.*"content":"/whoami","flags":64' "a slash command is acknowledged, for the person alone"
like "$(call '"POST".*You are')" 'owner' "and carried out"

# strangers
message 40 77 'let me in'
line=$(call '/channels/9077/messages')
code=$(grep -oE 'pairing approve discord [A-HJ-NP-Z2-9]{8}' <<<"$line" | cut -d ' ' -f 4)
run chela pairing approve discord "$code"
is "$status" 0 "a stranger is given a code, which the owner takes"
message 41 77 'mock: say welcome'
like "$(call '"POST".*welcome')" '/channels/9077/' "and is answered from then on"
run chela pairing revoke discord 77
message 42 77 'mock: say never again'
like "$(nth '/channels/9077/.*pairing approve' 2)" 'pairing approve discord' "one who was shut out is a stranger again"

# a tool that has to be allowed, by button and by text
message 50 1 'mock: tool exec {\"command\":\"touch by-button; echo ran-$((1+1))\"}'
line=$(call '"components"')
data=$(jq -r '[.body.components[].components[].custom_id | select(endswith("allow-once"))][0]' <<<"$line")
like "$data" '^/approve .* allow-once$' "a tool asks by buttons"
press 51 5 "$data"
like "$(call 'tok51/callback')" 'not yours' "somebody else's press is refused, and says so"
press 52 1 "$data"
like "$(call 'tok52/callback')" '"type":7,"data":\{"components":\[\]\}' "a press is acknowledged, and the buttons go"
like "$(call '"(POST|PATCH)".*ran-2')" '/channels/901/' "and the tool runs"
message 53 1 'mock: tool exec {\"command\":\"touch by-text; echo ran-$((1+2))\"}'
line=$(nth '"components":\[\{' 2)
approval=$(jq -r '[.body.components[].components[].custom_id | select(endswith("allow-once"))][0]' <<<"$line" | cut -d ' ' -f 2)
message 54 1 "/approve $approval allow-once"
like "$(call '"(POST|PATCH)".*ran-3')" '/channels/901/' "a tool is allowed by text, too"
unlike "$(cat "$tmp/calls" "$tmp/requests")" 'never again' "and who was shut out has not been heard"

run chela message send --channel discord --to 901 -m 'good *morning*'
like "$(call 'good .morning')" '/channels/901/' "a text is sent by hand"
run chela message send --channel discord --to user:1 -m 'good evening'
like "$(call 'good evening')" '/channels/901/' "to a person, too: the direct chat is opened"
control 'fail?method=POST&path=/channels/99/' '{"status":403,"body":{"message":"Cannot send messages to this user","code":50007}}'
run chela message send --channel discord --to 99 -m 'anybody?'
wait_for_line "$tmp/gateway.log" 'Cannot send messages to this user' >/dev/null
run chela channels status
like "$out" 'not delivered.*Cannot send messages to this user' "who doesn't take messages is told to the operator"
run chela channels status discord --probe
is "$status" 0 "the bot can be probed"

# limits
control 'fail?method=POST&path=/channels/901/messages' '{"status":429,"body":{"message":"You are being rate limited.","retry_after":0.3,"global":false}}'
message 60 1 'mock: say patience'
nth '"POST".*"patience"' 2 >/dev/null
is "$(count '"POST".*"patience"')" 2 "429: again after the time that was asked for"
control 'fail?method=POST&path=/channels/901/messages' '{"status":429,"body":{"message":"You are being rate limited.","retry_after":0.3,"global":true},"headers":{"X-RateLimit-Global":"true"}}'
message 61 1 'mock: say everybody waits'
nth '"POST".*"everybody waits"' 2 >/dev/null
is "$(count '"POST".*"everybody waits"')" 2 "and when it is for all routes"
control 'bucket?limit=1&ms=300'
for n in 1 2 3 4; do message $((61 + n)) 1 "mock: say in the bucket $n"; done
for n in 1 2 3 4; do nth "\"POST\".*\"in the bucket $n\"" 1 >/dev/null; done
is "$(count 'known to be empty')" 0 "a bucket that is known to be empty is not asked"
control 'bucket?limit=1000&ms=1000'
control 'fail?method=POST&path=/channels/901/messages&count=2' '{"status":502,"body":{"message":"upstream"}}'
message 66 1 'mock: say after the storm'
nth '"POST".*"after the storm"' 3 >/dev/null
is "$(grep -E '"POST".*"after the storm"' "$tmp/calls" | jq -r .body.nonce | sort -u | wc -l)" 1 "5xx: again, with the same nonce"
control 'fail?method=POST&path=/channels/901/messages' '{"close":true}'
message 67 1 'mock: say cut off'
nth '"POST".*"cut off"' 2 >/dev/null
is "$(grep -E '"POST".*"cut off"' "$tmp/calls" | jq -r .body.nonce | sort -u | wc -l)" 1 "a connection that ends in mid-request: again, with the same nonce"

# the connection's faults: what is said meanwhile arrives
lost() { # ID TEXT: a message that the gateway never dispatches to us
    control 'event?t=MESSAGE_CREATE&lost=1' "$(body "$1" 1 901 "$2")"
}
opened() { count '"OPEN"'; }
n=$(opened)
control 'gateway?do=reconnect'
nth '"RESUME"' 1 >/dev/null
message 70 1 'mock: say after the reconnect'
like "$(call '"POST".*after the reconnect')" '/901/' "op 7: reconnected and resumed"
control 'gateway?do=close&value=4000'
message 71 1 'mock: say while it was away'
nth '"RESUME"' 2 >/dev/null
like "$(call '"POST".*while it was away')" '/901/' "closed: what came meanwhile is resumed"
control 'gateway?do=mute&value=1'
nth '"CLOSED"' 3 >/dev/null
control 'gateway?do=mute&value=0'
wait_for_line "$tmp/gateway.log" 'has not answered the heartbeat' >/dev/null
message 72 1 'mock: say alive again'
like "$(call '"POST".*alive again')" '/901/' "a heartbeat without answer ends the connection, which is resumed"
n=$(count '"RESUME"')
control 'gateway?do=freeze'
nth '"RESUME"' $((n + 1)) >/dev/null
message 73 1 'mock: say thawed'
like "$(call '"POST".*thawed')" '/901/' "a peer that is gone without a word is noticed"
control 'gateway?do=refuse_resume&value=1'
n=$(count '"IDENTIFY"')
control 'gateway?do=close&value=4001'
lost 74 'mock: say from the history'
nth '"IDENTIFY"' $((n + 1)) >/dev/null
like "$(call '"POST".*from the history')" '/901/' "resume refused: a new session, and what was missed is read from the history"
control 'gateway?do=refuse_resume&value=0'
lost 75 'mock: say lost and found'
control 'gateway?do=close&value=4009'
like "$(call '"POST".*lost and found')" '/901/' "the session timed out: the same"
control 'gateway?do=invalid&value=0'
nth '"IDENTIFY"' $((n + 3)) >/dev/null
message 76 1 'mock: say valid again'
like "$(call '"POST".*valid again')" '/901/' "invalid session: begun anew"
control 'gateway?do=text' 'no json at all'
wait_for_line "$tmp/gateway.log" 'no JSON object' >/dev/null
control 'event?t=MESSAGE_CREATE' '{"id":7,"channel_id":[],"author":null,"content":{}}'
control 'event?t=MESSAGE_CREATE' '{"id":"no number","channel_id":"901","author":{"id":"1"},"content":"","attachments":[{"url":5}],"mentions":"x"}'
control 'event?t=INTERACTION_CREATE' '{"type":3,"data":[]}'
message 79 1 'mock: say out of order'
message 78 1 'mock: say an older one'
call '"POST".*out of order' >/dev/null
like "$(call '"POST".*an older one')" '/901/' "nonsense is survived, and what comes out of order is answered, too"

# killed between send and receipt: Discord's nonce is of class I
control 'fail?method=POST&path=/channels/901/messages' '{"hold":true}'
message 80 1 'mock: say held answer'
call '"POST".*held answer' >/dev/null
stop_gateway KILL
start_gateway
nth '"POST".*held answer' 2 >/dev/null
is "$(grep -E '"POST".*held answer' "$tmp/calls" | jq -r .body.nonce | sort -u | wc -l)" 1 \
    "killed between send and receipt: sent again with the same nonce"
like "$(curl -s --max-time 20 "$discord/api/v10/channels/901/messages?limit=100" -H 'Authorization: Bot token-1' -H 'User-Agent: DiscordBot (test, 1)' |
    jq -c '[.[] | select(.content == "held answer")] | length')" '^1$' "and Discord has it once"
control 'fail?method=POST&path=/channels/901/messages' '{"hold":true}'
message 81 1 'mock: tool send_file {\"path\":\"table.csv\"}\nmock: say held file'
call '"POST".*held file' >/dev/null
stop_gateway KILL
start_gateway
like "$(nth '"POST".*held file' 2)" '"files":\{"files\[0\]":\{"name":"table.csv","type":"text/plain","size":8\}\}' \
    "a file whose receipt was lost is sent again"
is "$(grep -E '"POST".*held file' "$tmp/calls" | jq -r .body.nonce | sort -u | wc -l)" 1 "with the same nonce"
lost 82 'mock: say said while you were away'
message 83 1 'mock: gated It came | after the crash.'
wait_for_line "$tmp/requests" 'after the crash' >/dev/null
stop_gateway KILL
stop_background mock KILL # it waits at the gate
lost 84 'mock: say said while you were down'
start_background mock "$build/tests/fakes/mock_model" --port "$model_port" --log "$tmp/requests" --gate "$tmp/gate"
start_gateway
echo go >"$tmp/gate" # when it is asked again
like "$(call '"(POST|PATCH)".*after the crash')" '/901/' "killed between receipt and reply: answered after the restart"
like "$(call '"POST".*said while you were down')" '/901/' "and what was said meanwhile"
stop_gateway
is "$status" 0 "the gateway ends well"
like "$(tail -n 1 <(grep CLOSED "$tmp/calls"))" '"path":"100[01]"' "and says good-bye"

# what nobody can mend but a person
refused() { # TEXT NAME
    : >"$tmp/gateway.log"
    start_gateway
    wait_for_line "$tmp/gateway.log" "$1" >/dev/null
    run chela channels status discord
    like "$out" "not connected.*$1" "$2"
    unlike "$(cat "$tmp/gateway.log")" 'token-[0-9]' "without showing the token"
    stop_gateway
}
setup token-2 "$discord" "$tmp/ca.pem"
refused 'does not take the token' "a revoked token is told"
control 'gateway?do=refuse_intents&value=1'
setup token-1 "$discord" "$tmp/ca.pem"
refused 'Message Content Intent' "an intent that isn't allowed is told, with what to do"
control 'gateway?do=refuse_intents&value=0'
setup token-1 "$discord" ''
refused 'certificate' "a gateway with a certificate that nobody signed is not trusted"
setup token-1 http://no-such-host.invalid "$tmp/ca.pem"
refused "can't be reached" "a name that does not resolve is told"
setup token-1 "http://127.0.0.1:1" "$tmp/ca.pem"
refused "can't be reached" "a service that is not there, too"

if [ -n "$schema" ]; then
    is "$(jq -c 'select(.problem != null) | [.method, .path, .problem]' "$tmp/calls")" '' "every request is as Discord describes it"
else
    skip "no description" "every request is as Discord describes it"
fi
done_testing
