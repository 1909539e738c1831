#!/bin/bash
# Telegram against a Bot API server of our own, whose every call is held against the published description: a
# conversation with all that the channel does, refusals, and what a crash leaves.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -e "$build/plugins/.libs/channel_telegram.so" ] || skip_all "channel_telegram is not built here"
[ -e "$build/plugins/.libs/provider_openai.so" ] || skip_all "provider_openai is not built here"
schema=${CHELA_SHARED:-$top/../shared}/testdata/schemas/telegram-bot-api.json
[ -e "$schema" ] || schema=
mkfifo "$tmp/gate"
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests" --gate "$tmp/gate"
model_port=${ready##*port=}
start_background bot "$build/tests/fakes/fake_telegram" --log "$tmp/calls" --token 4242:test ${schema:+--schema "$schema"}
bot=http://127.0.0.1:${ready##*port=}
setup() { # TOKEN MORE
    configure <<CONF
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$model_port/v1"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$tmp/work"; }; };
owners = [ "telegram:1" ];
channels : { telegram : { token = "$1"; base_url = "$bot"; poll_timeout = "5s"; groups = ( { chat = "-100"; } ); previews = ${previews-false}; $2 }; };
CONF
}
control() { curl -s --max-time 20 -o /dev/null -X POST "$bot/control/$1" --data-binary "$2"; }
update() { control update "$1"; }
message() { # ID FROM TEXT [MORE]: a direct message
    update "{\"message\":{\"message_id\":$1,\"date\":1700000001,\"from\":{\"id\":$2,\"is_bot\":false,\"first_name\":\"P$2\"},
        \"chat\":{\"id\":$2,\"type\":\"private\"},\"text\":\"$3\"${4:-}}}"
}
group() { # ID FROM TEXT MORE
    update "{\"message\":{\"message_id\":$1,\"date\":1700000001,\"from\":{\"id\":$2,\"is_bot\":false,\"first_name\":\"Bob\"},
        \"chat\":{\"id\":${chat:--100},\"type\":\"supergroup\",\"title\":\"Club\",\"is_forum\":true},\"text\":\"$3\"${4:-}}}"
}
call() { wait_for_line "$tmp/calls" "$@"; } # REGEX: the first call that matches
# nth REGEX N: the Nth call that matches
nth() { timeout 30 tail -n +1 -F "$tmp/calls" 2>/dev/null | grep -m "$2" -E -- "$1" | tail -n 1; }
: >"$tmp/calls"
setup 4242:test ''
start_gateway

is "$(jq -r .fields.drop_pending_updates <<<"$(call '"deleteWebhook"')")" false "nothing that waits is thrown away"
like "$(call '"setMyCommands"')" '"command":"approve"' "the menu has the commands"
message 1 1 'mock: say hello there'
like "$(call '"sendMessage".*hello there')" '"chat_id":1,"text":"hello there","parse_mode":"HTML"' "a text is answered"
like "$(call '"sendChatAction"')" '"action":"typing"' "while it is made, the person sees it"

message 2 1 'mock: say **bold** & <b> `x<y`'
like "$(call 'bold')" '<b>bold</b> &amp; .*&lt;b&gt;.*<code>x&lt;y</code>' "Markdown is HTML that Telegram reads"
control 'fail?method=sendMessage' '{"ok":false,"error_code":400,"description":"Bad Request: can'"'"'t parse entities: no"}'
message 3 1 'mock: say **broken** markup'
like "$(call '"sendMessage".*"text":"broken markup"')" '"text":"broken markup"}' "what it can't read goes out as plain text"

message 9 1 'mock: gated The first half | and the second one.'
call '"sendMessage".*The first half' >/dev/null
echo go >"$tmp/gate"
like "$(call '"editMessageText".*second one')" '"text":"The first half *and the second one."' "an answer grows in its message"
control 'fail?method=sendMessage' '{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 1","parameters":{"retry_after":1}}'
message 4 1 'mock: say patience'
call '"sendMessage".*patience' >/dev/null
wait_for_line "$tmp/gateway.log" 'Too Many Requests' >/dev/null
is "$(timeout 30 tail -n +1 -F "$tmp/calls" 2>/dev/null | grep -m 2 -c '"sendMessage".*patience')" 2 "429: again after the time that was asked for"

# pictures and files
control 'file?path=pic' $'\x89PNG....'
update '{"message":{"message_id":5,"date":1700000001,"from":{"id":1,"first_name":"P"},"chat":{"id":1,"type":"private"},
    "photo":[{"file_id":"small","file_unique_id":"s","width":1,"height":1,"file_size":3},
    {"file_id":"pic","file_unique_id":"p","width":9,"height":9,"file_size":8}],"caption":"mock: say seen"}}'
like "$(call '"getFile"')" '"file_id":"pic"' "the largest size of a picture is fetched"
call '"sendMessage".*seen' >/dev/null
like "$(tail -n 1 "$tmp/requests")" 'image/jpeg;base64' "and the model sees it"
is "$(message_form main 'say seen')" "$(cat "$top/tests/e2e/golden/message-telegram.json")" "its form inside the gateway is the one of all channels"
for part in 6 7; do
    update '{"message":{"message_id":'$part',"date":1700000001,"media_group_id":"g","from":{"id":1,"first_name":"P"},
        "chat":{"id":1,"type":"private"},"photo":[{"file_id":"pic","file_unique_id":"p","width":9,"height":9}],
        "caption":"'"$([ $part = 7 ] || echo 'mock: say album seen')"'"}}'
done
call '"sendMessage".*album seen' >/dev/null
is "$(tail -n 1 "$tmp/requests" | grep -o 'image/jpeg;base64' | wc -l)" 3 "an album is one message"
update '{"message":{"message_id":8,"date":1700000001,"from":{"id":1,"first_name":"P"},"chat":{"id":1,"type":"private"},
    "voice":{"file_id":"pic","file_unique_id":"v","duration":1,"mime_type":"audio/ogg","file_size":99999999},"caption":"mock: say too large"}}'
like "$(call '"(sendMessage|editMessageText)".*voice.ogg')" 'attachment: voice.ogg .audio/ogg' "a file above the limit is only named"

printf 'a,b\n1,2\n' >"$tmp/work/table.csv"
message 10 1 'mock: tool send_file {\"path\":\"table.csv\"}\nmock: say here it is'
like "$(call '"sendDocument"')" '"caption":"here it is".*"files":\{"document":\{"name":"table.csv","type":"text/plain","size":8\}\}' \
    "a file of the workspace goes out with the answer"
message 11 1 'mock: tool send_file {\"path\":\"table.csv\"}\nmock: gated The table | is beside this.'
call '"sendMessage".*The table' >/dev/null
echo go >"$tmp/gate"
like "$(nth '"sendDocument"' 2)" '"fields":\{"chat_id":"1","document":"@file"\}' "and by itself, where the answer has grown in its message"
like "$(call '"editMessageText".*beside this')" 'The table *is beside this' "which is completed"

# groups and topics
group 20 5 'mock: say nobody asked'
group 21 5 '@chela_bot mock: say you called' ',"entities":[{"type":"mention","offset":0,"length":10}]'
line=$(call '"sendMessage".*you called')
like "$line" '"chat_id":-100.*"reply_parameters":\{"message_id":21,' "a group is answered when the bot is mentioned, as a reply"
unlike "$(cat "$tmp/calls")" '"sendMessage".*nobody asked' "and left alone otherwise"
group 22 5 '@chela_bot mock: say on topic' ',"message_thread_id":7,"is_topic_message":true,"entities":[{"type":"mention","offset":0,"length":10}]'
like "$(call '"sendMessage".*on topic')" '"message_thread_id":7' "a topic is answered in the topic"
group 23 5 '/whoami@other_bot' ',"entities":[{"type":"bot_command","offset":0,"length":17}]'
group 24 5 'mock: say a reply' ',"reply_to_message":{"message_id":1000,"date":1,"from":{"id":4242,"is_bot":true,"first_name":"C"},"chat":{"id":-100,"type":"supergroup"},"text":"earlier words"}'
call '"sendMessage".*a reply' >/dev/null
like "$(tail -n 1 "$tmp/requests")" 'in reply to: earlier words' "a reply to the bot is meant for it, with what it answers"
unlike "$(cat "$tmp/calls")" 'You are ' "another bot's command is not ours"

# a group that becomes a supergroup keeps its conversation
chat=-100 update '{"message":{"message_id":25,"date":1700000001,"from":{"id":5,"first_name":"B"},"chat":{"id":-100,"type":"group"},"migrate_to_chat_id":-1009}}'
chat=-1009 group 1 5 '@chela_bot mock: say moved house' ',"entities":[{"type":"mention","offset":0,"length":10}]'
like "$(call '"sendMessage".*moved house')" '"chat_id":-1009' "a group that has become a supergroup is still the same"

# an edit, a repetition
update '{"edited_message":{"message_id":1,"date":1700000001,"edit_date":1700000002,"from":{"id":1,"first_name":"P"},"chat":{"id":1,"type":"private"},"text":"mock: say edited words"}}'
call '"sendMessage".*edited words' >/dev/null
message 1 1 'mock: say hello there'
message 30 1 'mock: say after the repetition'
call '"sendMessage".*after the repetition' >/dev/null
is "$(grep -c '"sendMessage".*hello there' "$tmp/calls")" 1 "what comes twice is answered once"

# strangers
message 40 77 'let me in'
line=$(call '"chat_id":77')
code=$(grep -oE 'pairing approve telegram [A-HJ-NP-Z2-9]{8}' <<<"$line" | cut -d ' ' -f 4)
run chela pairing approve telegram "$code"
is "$status" 0 "a stranger is given a code, which the owner takes"
message 41 77 'mock: say welcome'
like "$(call '"sendMessage".*welcome')" '"chat_id":77' "and is answered from then on"
run chela pairing revoke telegram 77
message 42 77 'mock: say never again'
like "$(nth '"chat_id":77.*pairing approve' 2)" 'pairing approve telegram' "one who was shut out is a stranger again"

# a tool that has to be allowed
message 50 1 'mock: tool exec {\"command\":\"touch by-button; echo ran-$((1+1))\"}'
line=$(call '"inline_keyboard"')
data=$(jq -r '[.fields.reply_markup.inline_keyboard[][].callback_data | select(endswith("allow-once"))][0]' <<<"$line")
like "$data" '^/approve .* allow-once$' "a tool asks by buttons"
update '{"callback_query":{"id":"q1","from":{"id":1,"is_bot":false,"first_name":"P"},"chat_instance":"x","data":"'"$data"'",
    "message":{"message_id":1,"date":1700000001,"chat":{"id":1,"type":"private"}}}}'
like "$(call '"answerCallbackQuery"')" '"callback_query_id":"q1"' "a press is acknowledged"
like "$(call '"sendMessage".*ran-2')" '"chat_id":1' "and the tool runs"

message 52 1 'mock: tool exec {\"command\":\"touch by-text; echo ran-$((1+2))\"}'
line=$(nth '"inline_keyboard"' 2)
approval=$(jq -r '[.fields.reply_markup.inline_keyboard[][].callback_data | select(endswith("allow-once"))][0]' <<<"$line" | cut -d ' ' -f 2)
message 53 1 "/approve $approval allow-once"
like "$(call '"(sendMessage|editMessageText)".*ran-3')" '"chat_id":1' "a tool is allowed by text, too"
unlike "$(cat "$tmp/calls" "$tmp/requests")" 'never again' "and who was shut out has not been heard"

run chela message send --channel telegram --to 1 -m 'good *morning*'
like "$(call 'good <i>morning')" '"chat_id":1' "a text is sent by hand"
control 'fail?method=sendMessage' '{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}'
run chela message send --channel telegram --to 99 -m 'anybody?'
wait_for_line "$tmp/gateway.log" 'bot was blocked' >/dev/null
run chela channels status
like "$out" 'not delivered.*bot was blocked by the user' "who has blocked the bot is told to the operator"

# a second poller, a broken server, nonsense
curl -s --max-time 20 "$bot/bot4242:test/getUpdates" -H 'content-type: application/json' -d '{"timeout":0}' >/dev/null
wait_for_line "$tmp/gateway.log" 'another program polls' >/dev/null
control 'fail?method=getUpdates&count=2' '{"ok":false,"error_code":502,"description":"Bad Gateway"}'
update '{"message":{"message_id":"no number","chat":[],"from":null}}'
update '{"message":{"message_id":60,"chat":{"id":1,"type":"private"},"from":{"id":1},"text":"mock: say still here","entities":[{"type":"mention","offset":-5,"length":99999999}]}}'
like "$(call '"sendMessage".*still here')" '"chat_id":1' "409, 502 and malformed updates are survived"

# killed between receipt and reply: the message is stored, the answer comes after the restart
control 'fail?method=sendMessage' '{"hold":true}'
message 70 1 'mock: say held answer'
call '"sendMessage".*held answer' >/dev/null
stop_gateway KILL
before=$(wc -l <"$tmp/calls")
start_gateway
wait_for_line "$tmp/gateway.log" 'delivery unknown' >/dev/null
message 71 1 'mock: say next one'
call '"sendMessage".*next one' >/dev/null
like "$(tail -n "+$((before + 1))" "$tmp/calls" | grep -m 1 '"getUpdates"')" '"offset":[1-9]' "polling goes on where it was before"
is "$(grep -c '"sendMessage".*held answer' "$tmp/calls")" 1 "killed between send and receipt: not sent a second time, and said so"

# the same with a file that a tool made
documents() { grep -c '"sendDocument"' "$tmp/calls"; }
n=$(documents)
message 72 1 'mock: tool send_file {\"path\":\"table.csv\"}\nmock: gated A table | after the crash.'
wait_for_line "$tmp/requests" 'after the crash.*"role":"tool"' >/dev/null
stop_gateway KILL
stop_background mock KILL # it waits at the gate
start_background mock "$build/tests/fakes/mock_model" --port "$model_port" --log "$tmp/requests" --gate "$tmp/gate"
start_gateway
echo go >"$tmp/gate" # when it is asked again
like "$(nth '"sendDocument"' $((n + 1)))" '"name":"table.csv"' "killed between the tool and the reply: its file goes out after the restart"
wait_for_line "$tmp/calls" '"(sendMessage|editMessageText|sendDocument)".*after the crash' >/dev/null
message 73 1 'mock: say after the table'
call '"sendMessage".*after the table' >/dev/null
is "$(documents)" $((n + 1)) "once"
: >"$tmp/gateway.log"
control 'fail?method=sendDocument' '{"hold":true}'
message 74 1 'mock: tool send_file {\"path\":\"table.csv\"}\nmock: say held table'
nth '"sendDocument"' $((n + 2)) >/dev/null
stop_gateway KILL
start_gateway
wait_for_line "$tmp/gateway.log" 'delivery unknown' >/dev/null
message 75 1 'mock: say after the held one'
call '"sendMessage".*after the held one' >/dev/null
is "$(documents)" $((n + 2)) "killed between a file and its receipt: not sent a second time, and said so"
stop_gateway
is "$status" 0 "the gateway ends well"

# previews
previews=true setup 4242:test ''
start_gateway
message 90 1 'mock: gated This grows | and then it stays.'
like "$(call '"sendMessageDraft".*This grows')" '"chat_id":1,"draft_id":[1-9][0-9]*,"text":"This grows *","parse_mode":"HTML"' \
    "in a private chat an answer grows as a draft of Telegram's"
echo go >"$tmp/gate"
like "$(call '"sendMessage".*then it stays')" '"text":"This grows *and then it stays."' "and is a message when it is whole"
unlike "$(grep '"editMessageText"' "$tmp/calls")" 'This grows' "which was never edited"
stop_gateway
if [ -n "$schema" ]; then
    is "$(jq -c 'select(.problem != null) | [.method, .problem]' "$tmp/calls")" '' "every call is as the Bot API describes it"
else
    skip "no description" "every call is as the Bot API describes it"
fi

# the token is taken back
setup 4242:revoked ''
: >"$tmp/gateway.log"
start_gateway
wait_for_line "$tmp/gateway.log" 'does not take the token' >/dev/null
run chela channels status telegram
like "$out" 'not connected.*BotFather' "a revoked token is told"
unlike "$(cat "$tmp/gateway.log")" '4242:revoked' "without showing it"
stop_gateway

# a name that does not resolve, no server, no TLS where it must be
unreachable() { # BASE NAME
    setup 4242:test ''
    sed -i "s#base_url = \"$bot\"#base_url = \"$1\"#" "$CHELA_CONFIG"
    : >"$tmp/gateway.log"
    start_gateway
    wait_for_line "$tmp/gateway.log" "Telegram can't be reached" >/dev/null
    run chela channels status telegram
    like "$out" "not connected.*can't be reached" "$2"
    stop_gateway
}
unreachable http://no-such-host.invalid "a name that does not resolve is told"
unreachable http://127.0.0.1:1 "a service that is not there, too"
unreachable "https://${bot#http://}" "and one that speaks no TLS"

# the webhook
setup 4242:test 'webhook : { url = "https://gateway.example"; secret = "hook-secret"; };'
start_gateway
like "$(call '"setWebhook"')" '"url":"https://gateway.example/telegram/telegram","secret_token":"hook-secret"' "the webhook is set"
post() { curl -s --max-time 20 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$gateway_port/telegram/telegram" -H "x-telegram-bot-api-secret-token: $1" -d "$2"; }
is "$(post wrong '{}')" 401 "who doesn't know its secret is refused"
is "$(post hook-secret 'no json')" 400 "nonsense, too"
is "$(post hook-secret '{"update_id":9000,"message":{"message_id":80,"date":1700000001,"from":{"id":1,"first_name":"P"},"chat":{"id":1,"type":"private"},"text":"mock: say by webhook"}}')" 200 "an update is stored before it is acknowledged"
like "$(call '"sendMessage".*by webhook')" '"chat_id":1' "and answered"

# killed between receipt and reply
stop_background mock
is "$(post hook-secret '{"update_id":9001,"message":{"message_id":81,"date":1700000001,"from":{"id":1,"first_name":"P"},"chat":{"id":1,"type":"private"},"text":"mock: say after the crash"}}')" 200 "a message is taken while no model can be reached"
stop_gateway KILL
start_background mock "$build/tests/fakes/mock_model" --port "$model_port" --log "$tmp/requests"
start_gateway
like "$(call '"sendMessage".*after the crash')" '"chat_id":1' "killed between receipt and reply: it is answered after the restart"
stop_gateway
is "$status" 0 "the gateway ends well"
done_testing
