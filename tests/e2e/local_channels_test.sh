#!/bin/bash
# The two channels of this machine, terminal and page, by what every channel is held to: the one form of a message, files
# and pipes in and out, a tool that is allowed by button and by text.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -e "$build/plugins/.libs/channel_webchat.so" ] || skip_all "channel_webchat is not built here"
[ -e "$build/plugins/.libs/provider_openai.so" ] || skip_all "provider_openai is not built here"
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
model_port=${ready##*port=}
configure <<CONF
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$model_port/v1"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$tmp/work"; }; };
CONF
start_gateway
token=$(<"$CHELA_STATE_DIR/gateway.token")
asks() { # TEXT: the id of what waits with this in its command
    chela approvals list --json | jq -er --arg t "$1" '[.[] | select(.request.command | contains($t))][0].id'
}
waiting() { wait_until asks "$1" && asks "$1"; } # the same, once it waits
printf 'a,b\n1,2\n' >"$tmp/work/table.csv"
send_table='mock: tool send_file {"path":"table.csv"}
mock: say here it is'

# --- the terminal: what a pipe brings (files that are named: attachments_test.sh)

out=$(printf 'one\ntwo\n' | chela agent -m 'mock: say counted' -)
is "$out" counted "text on standard input goes with a message"
like "$(tail -n 1 "$tmp/requests")" 'say counted[^"]*one.ntwo' "beneath it, as it stands"
out=$(printf '\x89PNG\r\n\x1a\n' | chela agent -m 'mock: say piped picture' -)
like "$out$(tail -n 1 "$tmp/requests")" 'piped picture.*image/png;base64,iVBORw0KGgo=' "what is no text goes as a file"
# --- files out

run chela agent -m "$send_table" --files "$tmp/got"
is "$status:$out" '0:here it is' "an answer comes with a file"
like "$err" "/got/table.csv .8 bytes" "which is saved where --files says"
ok cmp "$tmp/got/table.csv" "$tmp/work/table.csv" -- "as it was"
run chela agent -m "$send_table" --files "$tmp/got"
like "$status:$err" '^1:.*can.t be written: File exists' "and overwrites none"
run chela agent -m "$send_table"
is "$status:$out" '0:here it is' "without --files"
like "$err" 'with a file: table.csv .--files FOLDER' "it is named, beside the output"
run chela agent --json -m "$send_table"
is "$(jq -c '.result.files | map([.type, .fileName, .mimeType, .sizeBytes])' <<<"$out")" '[["file","table.csv","text/plain",8]]' "JSON has it as well"

# --- the page: files in and out

page() { # METHOD PARAMETERS: as a client that is a page
    run "$build/tests/gateway/device_client" "$gateway_port" page token="$token" mode=webchat \
        scopes=operator.read,operator.write,operator.approvals call="$1:$2"
    out=$(tail -n 1 <<<"$out")
}
key=0
say() { # TEXT [ATTACHMENTS]: a message typed there
    key=$((key + 1))
    page chat.send "$(jq -cn --arg text "$1" --arg key "page-$key" --argjson files "${2:-[]}" \
        '{sessionKey: "main", message: $text, idempotencyKey: $key, attachments: $files}')"
}
seen() { wait_for_line "$tmp/watch.log" "$@"; }
start_background watch "$build/tests/fakes/watch_session" main
say 'mock: say seen from the page' '[{"fileName":"b.png","mimeType":"image/png","content":"iVBORw0KGgo="}]'
seen '"chat".*seen from the page.*"state":"final"' >/dev/null
like "$(tail -n 1 "$tmp/requests")" 'seen from the page.*image/png;base64,iVBORw0KGgo=' "a picture goes with a message of the page"
is "$(message_form main 'seen from the page' | jq -S '.metadata.timestamp |= type')" "$(cat "$top/tests/e2e/golden/message-webchat.json")" \
    "its form inside the gateway is the one of all channels"
say "$send_table"
seen '"chat".*here it is.*"state":"final"' >/dev/null
page chat.history '{"sessionKey":"main"}'
hash=$(jq -r '[.answer.messages[].content[]? | select(.type == "file" and .fileName == "table.csv")] | last.hash' <<<"$out")
page chela.blob "{\"hash\":\"$hash\"}"
is "$(jq -r '.answer.base64' <<<"$out" | base64 -d)" "$(cat "$tmp/work/table.csv")" "a file comes with the answer, and is there to be fetched"
page chela.blob "{\"hash\":\"$(printf '%064d' 0)\"}"
like "$out" '"error"' "one that nobody has is none"

# --- a tool that has to be allowed

chela agent -m 'mock: tool exec {"command":"touch t-button; echo ran-$((1+1))"}' >"$tmp/agent.out" 2>"$tmp/agent.err" </dev/null &
agent=$!
id=$(waiting t-button)
like "$(wait_for_line "$tmp/agent.err" 'allow it with')" "chela approvals allow-once $id" "a terminal where nobody sits says how to allow a tool"
page exec.approval.resolve "{\"id\":\"$id\",\"decision\":\"allow-once\"}"
wait $agent
is "$?" 0 "the page's button allows it"
like "$(cat "$tmp/agent.out")" 'ran-2' "and the terminal has the answer"
chela agent -m 'mock: tool exec {"command":"touch t-text; echo ran-$((1+2))"}' >"$tmp/agent.out" 2>/dev/null </dev/null &
agent=$!
id=$(waiting t-text)
run chela agent -m "/approve $id allow-once"
wait $agent
like "$(cat "$tmp/agent.out")" 'ran-3' "/approve as text allows it from the terminal"
say 'mock: tool exec {"command":"touch p-text; echo ran-$((2+2))"}'
id=$(waiting p-text)
say "/approve $id allow-once"
like "$(seen '"chat".*ran-4.*"state":"final"')" ran-4 "and from the page"
say 'mock: tool exec {"command":"touch p-deny; echo ran-$((2+3))"}'
id=$(waiting p-deny)
say "/approve $id deny"
like "$(seen '"chat".*(denied|refused|not allowed).*"state":"final"')" 'final' "where no is no"
ok test ! -e p-deny -- "and nothing runs"

stop_background watch
stop_gateway
is "$status" 0 "the gateway ends well"
done_testing
