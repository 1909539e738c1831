#!/bin/bash
# The client without a terminal, against a gateway that plays scenes: answers, failures, exit statuses, approvals
# where nobody can be asked, and what is printed as JSON.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

fake() { # [ARGUMENT...]
    start_background fake "$build/tests/fakes/fake_gateway" "$@"
    export CHELA_GATEWAY_PORT=${ready##*:}
}

# --- no gateway ---------------------------------------------------------------------------------------------------

export CHELA_GATEWAY_PORT=1
run chela status
is "$status" 3 "without a gateway the status is 3"
like "$err" "no gateway runs at 127.0.0.1 port 1; start one with: chela gateway" "and it says how to start one"
run chela agent --json -m hello
is "$status" 3 "the same with --json"
is "$out" '{"ok":false,"error":{"type":"network","message":"no gateway runs at 127.0.0.1 port 1; start one with: chela gateway"}}' \
    "which tells of it on standard output"
is "$err" "" "and nothing on standard error"

# --- the command line -----------------------------------------------------------------------------------------------

run chela
is "$status" 2 "no subcommand is a mistake"
run chela nonsense
is "$status:$err" "2:chela: there is no subcommand nonsense; see chela help" "so is one that is unknown"
run chela status --nonsense
is "$status:$err" "2:chela: --nonsense is no option here; see chela status --help" "so is an unknown option"
run chela agent -m
like "$status:$err" "2:chela: -m needs a value" "so is an option without its value"
run chela trace
like "$status:$err" "2:chela: something is missing; usage: chela trace" "so is an argument that is missing"
run chela agent -m "  "
like "$status:$err" "2:chela: there is no message" "so is an empty message"
run chela agent -m x --approval-timeout soon
like "$status:$err" "2:chela: a time is a number" "so is a time that is none"
run chela sessions set KEY --json
like "$status:$out" '2:.*"type":"usage"' "with --json a mistake is JSON, wherever the option stands"
run chela agent -m x --gateway 'http://a/b'
is "$status" 2 "so is an address that is none"
for name in chat agent gateway status health doctor config reload trust sessions approvals trace route models plugin logs version; do
    run chela $name --help
    like "$status:$out" "^0:Usage: chela $name" "chela $name --help works without anything"
done
run chela help status
like "$out" "^Usage: chela status" "chela help NAME is the same"
run chela --version
like "$out" "^chela [0-9]" "the version is told"

# --- turns ----------------------------------------------------------------------------------------------------------

fake --token secret-of-this-test
run chela health
is "$status" 3 "without a token the gateway lets nobody in"
like "$err" "wants a token and none was found.*CHELA_GATEWAY_TOKEN" "and the client says where it looked"
CHELA_GATEWAY_TOKEN=wrong run chela health
like "$status:$err" "3:chela: the gateway at 127.0.0.1:[0-9]+ refuses the token" "a wrong token is told as such"
mkdir -p "$CHELA_STATE_DIR"
(umask 077 && echo secret-of-this-test >"$CHELA_STATE_DIR/gateway.token")
run chela health
is "$status:$out" "0:ok" "the token is taken from the state folder"
chmod 644 "$CHELA_STATE_DIR/gateway.token"
run chela health
like "$status:$err" "3:.*others can read .*gateway.token" "but not from a file that others can read"
export CHELA_GATEWAY_TOKEN=secret-of-this-test

run chela agent -m hello
is "$status" 0 "a message is answered"
is "$out" "$(printf 'Hello, **world**. 中文 works.\n\n- one\n- two')" "and the whole text is printed, as it is, into a pipe"
is "$err" "" "with nothing beside it"
out=$(printf 'from a pipe\n' | chela agent)
is "$out" "You said: from a pipe" "the message can come by standard input"
run chela agent -m hello --json
like "$out" '^\{"runId":"[-0-9a-f]+","status":"ok","result":' "with --json the result is JSON"
run chela agent -m fail
is "$status:$err" "1:chela: the model is out of order" "a failed turn has status 1 and says why"
run chela agent -m fail --json
is "$status:$out" '1:{"ok":false,"error":{"type":"turn_failed","message":"the model is out of order"}}' "as JSON too"
run chela agent -m hostile
is "$out" "x]0;owned[2Jy31mz" "control characters of a model reach nobody"

# --- approvals where nobody can be asked ------------------------------------------------------------------------------

run chela agent -m ask --approval-timeout 200ms
is "$status" 4 "an approval that nobody gives ends the turn with status 4"
like "$err" "approval a1b2-approval is needed: rm -rf 'build'.x1b.2K" "it says exactly what would run"
like "$err" "chela approvals allow-once a1b2-approval" "and the command that allows it"
like "$err" "nobody approved in time" "and why it ended"
run chela approvals
like "$out" "id: a1b2-approval.*risk: high.*rm -rf 'build'.x1b.2K.*in: /srv/project" "the list shows what waits"
run chela approvals deny nothing
like "$status:$err" "1:chela: unknown or expired approval id" "an unknown one is told"
run chela approvals deny a1b2-approval
is "$status:$out" "0:Denied." "one is denied"
chela agent -m ask >"$tmp/asked.out" 2>"$tmp/asked.err" </dev/null &
asked=$!
wait_for_line "$tmp/asked.err" "approvals allow-once" >/dev/null
run chela approvals allow-once a1b2-approval
is "$status" 0 "somebody allows it elsewhere"
wait $asked
is "$?:$(cat "$tmp/asked.out")" "0:The decision was allow-once." "and the turn goes on"

# --- the other subcommands --------------------------------------------------------------------------------------------

run chela sessions export main
is "$out" "$(printf '{"seq":%d}\n' 1 2 3 4 5 6)" "an export follows all pages"
run chela approvals --json
is "$out" "[]" "a list is JSON with --json"
run chela logs
like "$status:$err" "1:chela: unknown method: logs.tail" "what the gateway doesn't know is told"

# --- chat without a terminal --------------------------------------------------------------------------------------------

out=$(printf 'tool\n/status\n\nslow? no\n/quit\nnever\n' | chela chat)
like "$out" "I look\..*✓ files_list some/where  done  12 ms.*Two files\..*command /status was run.*You said: slow\? no" \
    "lines are sent one after the other"
unlike "$out" "never" "and none after /quit"
out=$(printf 'retry\n' | chela chat)
like "$out" "Good start\..*A better answer\." "a call of the model that is made anew goes on below"
is "$(grep -c 'better' <<<"$out")" 1 "and its text is there once"
printf 'fail\n' | chela chat >"$tmp/chat.out" 2>&1
is "$?" 1 "the status is that of the last turn"

# --- a connection that ends -------------------------------------------------------------------------------------------

out=$(printf 'drop\nafter\n' | chela chat)
like "$out" "The first half and the second\..*You said: after" "what was said during a lost connection is taken from the history"
is "$(grep -c 'The first half' <<<"$out")" 1 "and shown once"
out=$(printf 'vanish\n' | chela chat)
like "$out" "You said: vanish" "a message that got lost on the way is sent again"
is "$(grep -c '"message":"vanish"' "$tmp/fake.log")" 2 "under the same key"
is "$(grep '"message":"vanish"' "$tmp/fake.log" | grep -o '"idempotencyKey":"[^"]*"' | sort -u | wc -l)" 1 "so that it counts once"

# --- what listens there is no gateway -------------------------------------------------------------------------------------

stop_background fake
run chela health
is "$status" 3 "a gateway that has gone is none"

done_testing
