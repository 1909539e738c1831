#!/bin/bash
# The file tools through whole turns: a patch, /undo of the turn, an image, and a long result read by range from its blob.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
tools : { output_limit = "4k"; };
agents : { main : { model = "model/mock-1"; workspace = "$PWD"; tools : { security = "full"; }; }; };
END
start_gateway

printf 'one\ntwo\n' >a
run chela agent -m 'mock: tool apply_patch {"input":"*** Begin Patch\n*** Update File: a\n@@\n one\n-two\n+2\n*** Add File: b\n+new\n*** End Patch"}
mock: tool write {"path":"a","content":"other\n"}'
is "$status $(cat a) $(cat b)" '0 other new' "a patch and a write change files"
run chela agent -m '/undo'
like "$out" 'a.*as it was before' "/undo says what it takes back"
is "$(cat a)" $'one\ntwo' "and does, for the whole turn"
ok test ! -e b -- "a new file is gone"
run chela agent -m '/undo'
like "$out" 'nothing to take back' "there is no more"

# a long result is shortened, and can be read on
seq 1 2000 >numbers
run chela agent -m 'mock: tool read {"path":"numbers"}'
like "$out" 'bytes left out; the tool read shows all of it: path blob:[0-9a-f]{64}' "a long result has a head, a tail and a name"
hash=$(grep -oE 'blob:[0-9a-f]{64}' <<<"$out" | head -n 1)
run chela agent -m "mock: tool read {\"path\":\"$hash\",\"offset\":1000,\"limit\":2}"
like "$out" $'1000\n1001\n' "by that name any part of it is read"
like "$out" 'read on with offset 1002' "and is said to go on"

printf '\x89PNG\r\n\x1a\n....' >i.png
: >"$tmp/requests"
run chela agent -m 'mock: tool read {"path":"i.png"}'
like "$(tail -n 1 "$tmp/requests")" 'image/png;base64,iVBORw0KGgou' "an image reaches the model as an image"

mkdir .git
run chela agent -m 'mock: tool write {"path":".git/hooks","content":"x"}' 2>&1 &
pid=$!
wait_for_line "$tmp/gateway.log" 'high risk: .* wants to run write' >/dev/null
run chela approvals list
like "$out" 'write .git/hooks' "a file that other programs obey is asked about, even at full"
run chela approvals deny "$(grep -oE '[0-9a-f]{8}-[0-9a-f-]+|\b[0-9a-f]{8}\b' <<<"$out" | head -n 1)"
wait "$pid"
ok test ! -e .git/hooks -- "and not written when denied"
stop_gateway
is "$status" 0 "the gateway ends well"
done_testing
