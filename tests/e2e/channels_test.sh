#!/bin/bash
# What all channels share, on the running gateway: an unknown sender is paired, a group answers when it is meant, one
# conversation goes on from the terminal, a text is sent, what can't be delivered is told.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -e "$build/tests/plugin/.libs/channel_spool.so" ] || skip_all "the test's channel is not built here"
[ -e "$build/plugins/.libs/provider_openai.so" ] || skip_all "provider_openai is not built here"
export CHELA_PLUGIN_PATH="$CHELA_PLUGIN_PATH:$build/tests/plugin/.libs"
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
model_port=${ready##*port=}
configure <<CONF
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$model_port/v1"; }; };
agents : { main : { model = "model/mock-1"; }; };
owners = [ "spool:boss" ];
channels : { spool : { in = "$tmp/in"; out = "$tmp/out"; groups = ( { chat = "club"; } ); }; };
CONF
: >"$tmp/out"
start_gateway
say() { # TYPE CHAT SENDER FLAGS TEXT
    printf '%s\t%s\t%s\t%s\t%s\n' "$@" >"$tmp/in"
}

say direct 7 anna 0 "let me in"
line=$(wait_for_line "$tmp/out" "pairing approve")
like "$line" "send	7	m1	.*chela pairing approve spool [A-HJ-NP-Z2-9]{8}" "who isn't known gets a code"
code=$(grep -oE 'spool [A-HJ-NP-Z2-9]{8}' <<<"$line" | cut -d ' ' -f 2)
wait_for_line "$tmp/out" "^submit		[0-9]+	the sender may not" >/dev/null
run chela pairing list
like "$out" "spool +anna +anna +$code .*left" "and stands in the list"
run chela pairing approve spool WRONGONE
is "$status" 1 "a wrong code lets nobody in"
run chela pairing approve spool "$code"
is "$status" 0 "the owner lets the person in"
wait_for_line "$tmp/out" "You are paired now" >/dev/null

run chela agent -m "mock: say the word is marmalade"
is "$status" 0 "a conversation begins in the terminal"
say direct 7 anna 0 "mock: say still the same"
like "$(wait_for_line "$tmp/out" 'still the same')" "	7	" "the person is answered"
like "$(tail -n 1 "$tmp/requests")" "marmalade.*still the same" "and goes on in the same conversation"

say direct 8 mallory 0 "/new"
say direct 9 boss 0 "/whoami"
like "$(wait_for_line "$tmp/out" 'You are .?boss')" "owner" "an owner of the configuration is known without pairing"

say group club bob 0 "the sky is plaid"
say group other bob 1 "hello"
say group club bob 1 "mock: say heard you"
like "$(wait_for_line "$tmp/out" 'heard you')" "	club	" "a group is answered when the assistant is meant"
like "$(tail -n 1 "$tmp/requests")" "Said in this chat.*bob: the sky is plaid" "and has been listened to"
unlike "$(cat "$tmp/out")" "	other	" "a group that isn't configured hears nothing"

run chela message send --channel spool --to 7 -m "good **morning**"
is "$status" 0 "a text is sent by hand"
like "$(wait_for_line "$tmp/out" 'good morning')" "send	7	" "in the channel's own dialect"
run chela message send --channel nowhere --to 7 -m "x"
is "$status" 1 "not to a channel that isn't there"
run chela message send --channel spool --to blocked -m "x"
wait_for_line "$tmp/gateway.log" "could not be delivered" >/dev/null
run chela channels status
like "$out" "spool +spool +running .*1 failed" "the channels' traffic is shown"
like "$out" "to blocked on spool: not delivered: the person has blocked the bot" "and what failed"
run chela sessions export main
like "$out" "A message to blocked on spool could not be delivered" "the operator has been told in the main session"
run chela channels list
like "$out" "spool" "the channels are listed"
run chela channels login spool
is "$status" 1 "a channel without a login says so"
like "$out$err" "plugin options spool" "and where it gets it from"
run chela channels status spool --probe
is "$status" 0 "a channel that can't be probed shows its traffic"

printf 'fetch\thttp://127.0.0.1:%s/v1/models\n' "$model_port" >"$tmp/in"
line=$(wait_for_line "$tmp/out" "^blob")
like "$line" '^blob		([0-9a-f]{64})	[{]"object":"list"' "what a plugin fetches into a file is a blob of the store, and read again"
body=$(cut -f 4 <<<"$line")
is "$(printf %s "$body" | sha256sum | cut -d ' ' -f 1)" "$(cut -f 3 <<<"$line")" "named by its content"

run chela pairing revoke spool anna
is "$status" 0 "the person is shut out again"
: >"$tmp/out"
say direct 7 anna 0 "let me in"
like "$(wait_for_line "$tmp/out" 'pairing approve')" "	7	" "and is a stranger"
run chela pairing list
like "$out" "anna .*left" "and may ask again"

stop_gateway
is "$status" 0 "the gateway ends well"
done_testing
