#!/bin/bash
# Verbose mode in a chat, the first of the four cases of debugging: what the model thinks, and each call with its
# arguments, risk, state and time; by the configuration (verbose = true) and by /verbose, for one conversation.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -e "$build/tests/plugin/.libs/channel_spool.so" ] || skip_all "the test's channel is not built here"
start_background mock "$build/tests/fakes/mock_model"
mock_port=${ready##*port=}
mkdir -p "$tmp/plugins"
ln -s "$build/tests/plugin/.libs/channel_spool.so" "$tmp/plugins/"
configure <<END
plugins : { path = [ "$tmp/plugins" ]; };
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$tmp/work"; verbose = true; }; };
owners = [ "spool:boss" ];
channels : { spool : { in = "$tmp/in"; out = "$tmp/out"; }; };
END
: >"$tmp/out"
start_gateway
say() { printf 'direct\t1\tboss\t0\t%s\n' "$1" >"$tmp/in"; }
sent() { wait_for_line "$tmp/out" "$@"; }

say 'mock: think no tool fits that | nothing was called'
like "$(sent 'Thinking')" 'no tool fits that' "debugging, not called: verbose = true shows what the model thinks"
like "$(sent $'^(send|edit)\t.*nothing was called')" 'nothing was called' "beside the answer"
say 'mock: tool list {"path":"."}'
like "$(sent 'Tool .?list')" 'low risk: COMPLETED after [0-9]+ ms.*"path"' "each call is shown with risk, state, time and arguments"
say 'mock: tool read {"file":"x"}'
like "$(sent 'Tool .?read')" 'FAILED after .*schema' "also one that failed, and why"
say '/verbose off'
sent 'Verbose mode is off' >/dev/null
: >"$tmp/out"
say 'mock: think secretly | said aloud'
sent 'said aloud' >/dev/null
unlike "$(cat "$tmp/out")" 'secretly' "/verbose off ends it for this conversation"
stop_gateway
is "$status" 0 "the gateway ends well"
done_testing
