#!/bin/bash
# Files that go along with a message of the terminal, and pipes into it and out of it: the one message form, what the
# model gets, what is refused.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -e "$build/plugins/.libs/provider_openai.so" ] || skip_all "provider_openai is not built here"
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:${ready##*port=}/v1"; }; };
agents : { main : { model = "model/mock-1"; }; };
END
start_gateway
asked() { tail -n 1 "$tmp/requests" | jq -c '.body.messages | map(select(.role == "user")) | last.content'; }

printf '\x89PNG\r\n\x1a\n' >photo.png
printf 'one\ntwo\n' >'my notes.txt'
run chela agent -m 'mock: say seen' photo.png
is "$status:$out" "0:seen" "a picture goes along"
like "$(asked)" '"image_url":\{"url":"data:image/png;base64,iVBORw0KGgo="' "and the model sees it"
is "$(message_form main 'say seen' | jq -S '.metadata.timestamp |= type')" "$(cat "$top/tests/e2e/golden/message-cli.json")" \
    "its form inside the gateway is the one of all channels"
out=$(printf 'mock: say by a pipe\n' | chela agent photo.png 'my notes.txt' | tr a-z A-Z)
is "$out" "BY A PIPE" "a message comes by a pipe, and the answer goes into one"
like "$(asked)" "\"filename\":\"my notes.txt\",\"file_data\":\"data:text/plain;base64,$(base64 <'my notes.txt')\"" \
    "a text goes along with its name"

run chela agent -m hello none.txt
like "$status:$err" "2:chela: none.txt can't be read: No such file" "a file that isn't there is named"
run chela agent -m hello .
like "$status:$err" "2:chela: \\. is no regular file" "a folder is none"
truncate -s 16M large
run chela agent -m hello large
like "$status:$err" "2:chela: large is larger than 15 MiB" "nor is what is too large"
run chela agent --json -m hello none.txt
like "$out" '"type":"usage".*none.txt' "as JSON, too"
is "$(chela sessions export main --json | jq -r 'select(.role == "user") | .body | tostring' | grep -c hello)" 0 "nothing of these was sent"
done_testing
