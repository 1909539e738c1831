#!/bin/bash
# Jobs and the heartbeat by the whole way: the command line, the tool behind a person's yes, a chat that the answer goes
# to, a kill, times that were missed.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -e "$build/plugins/.libs/tool_cron.so" ] || skip_all "tool_cron is not built here"
[ -e "$build/tests/plugin/.libs/channel_spool.so" ] || skip_all "the test's channel is not built here"
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
mkdir -p "$tmp/plugins"
ln -s "$build/tests/plugin/.libs/channel_spool.so" "$tmp/plugins/"
configure <<END
plugins : { path = [ "$tmp/plugins" ]; };
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$tmp/work"; }; };
channels : { spool : { in = "$tmp/in"; out = "$tmp/out"; };
    heartbeat : { every = "0"; channel = "spool"; chat = "boss"; }; };
tools : { cron : { type = "cron"; }; };
END
: >"$tmp/out"
start_gateway

run chela cron
is "$out" 'There are no jobs: chela cron add --help' "there are none yet"
run chela cron add 'mock: say it is nine' --cron '0 9 * * mon-fri' --tz Europe/Berlin --name morning
if [ -e /usr/share/zoneinfo/Europe/Berlin ]; then
    like "$out" '^Job [0-9a-f-]+; it runs at 20[0-9-]+T0[78]:00Z' "a job is made; nine in Berlin is seven or eight in UTC"
else
    like "$err" 'time zone' "without zone files it says so"
    run chela cron add 'mock: say it is nine' --cron '0 9 * * mon-fri' --name morning
fi
id=$(chela cron list --json | jq -r '.jobs[0].id')
like "$(chela cron show "$id")" '"kind":"cron"' "it is shown"
run chela cron
like "$out" "^$id .*0 9 \* \* mon-fri.* morning\$" "and listed"
run chela cron add 'x' --cron '99 * * * *'
like "$status $err" '^1 .*minutes' "a wrong expression is refused, and why"
run chela cron add 'x' --every 1h --at 20m
is "$status" 2 "two times are one too many"

# it runs, in a conversation of its own, and the answer goes to the chat
run chela cron add 'mock: say the answer to all' --every 1h --channel spool --to boss --name telling
job=$(grep -oE '[0-9a-f]+-[0-9a-f]+' <<<"$out" | head -n 1)
run chela cron run "$job"
like "$out" "chela trace cron-$job-m" "it is started by hand"
like "$(wait_for_line "$tmp/out" 'the answer to all')" $'^send\tboss\t' "its answer reaches the chat"
has_run() { chela cron runs "$1" --json | jq -e '.entries | length > 0'; }
wait_until has_run "$job"
run chela cron runs "$job"
like "$out" 'Z +ok .*the answer to all' "what came of it is kept"
like "$(chela sessions list --keys)" "agent:main:cron:$job:run:" "it had a conversation of its own"
run chela cron disable "$job"
like "$(chela cron)" "$job +off" "it can be switched off"

# at its time
run chela cron add 'mock: say ding' --at 1s --channel spool --to boss --delete-after-run
like "$(wait_for_line "$tmp/out" 'ding')" $'^send\tboss\t' "a job runs at its time"
gone() { ! chela cron list --json | grep -q 'say ding'; }
wait_until gone
point $? "and is gone, as was wished"
run chela cron add 'think of the milk. mock: say milk it is' --at 1s --session main
wait_for_line "$tmp/requests" 'think of the milk' >/dev/null
like "$(chela sessions export agent:main:main | grep 'think of the milk')" '"role":"user"' "an event is said in the main conversation"

# a model makes one: a person is asked, and sees what
ask() { RUN_TIMEOUT=30 run chela agent --session main -m "$1"; }
(ask 'mock: tool cron {"action":"add","job":{"name":"from a model","schedule":{"kind":"every","everyMs":3600000},"payload":{"kind":"agentTurn","message":"look"}}}
mock: say made') &
asker=$!
waits() { chela approvals --json | jq -e 'length > 0 or (.approvals | length > 0)'; }
wait_until waits
record=$(chela approvals --json | jq -c 'if type == "array" then .[0] else .approvals[0] end')
like "$record" 'cron add: .*"name\\*":\\*"from a model' "a model's job waits for a yes, and the person sees what it is"
unlike "$(jq -c .request.allowedDecisions <<<"$record")" 'allow-always' "which is never given for always"
run chela approvals allow-once "$(jq -r .id <<<"$record")"
wait $asker
like "$(chela cron)" 'from a model' "then it is made"
ask 'mock: tool cron {"action":"list"}
mock: say listed'
like "$(tail -n 1 "$tmp/requests" | jq -r '[.body.messages[] | select(.role == "tool")] | last | .content')" 'from a model' "an agent lists its own jobs freely"

# killed, and late
run chela cron add 'mock: say after the kill' --at 3s --channel spool --to boss --name late
stop_gateway KILL
timeout 4 tail -f /dev/null
start_gateway
like "$(wait_for_line "$tmp/out" 'after the kill')" $'^send\tboss\t' "what was due while nothing ran is made up for"
stop_gateway KILL
start_gateway
run chela cron
unlike "$out" 'late.*running' "and done"
is "$(grep -c $'^send\tboss\t.*\tafter the kill$' "$tmp/out")" 1 "once, also after another kill"

# the heartbeat
run chela agent --session main -m 'mock: say hello'
printf '# Tasks\n- look at the oven. mock: say The oven is still on!\n' >"$tmp/work/HEARTBEAT.md"
run chela cron add 'the bell rang' --at 1s --session main --next-heartbeat
wait_until eval 'chela cron list --json | jq -e ".jobs[] | select(.name == \"the bell rang\") | .state.lastRunStatus == \"ok\""'
point $? "an event is put down for the next heartbeat"
stop_gateway
sed -i 's/every = "0"/every = "1s"/' "$CHELA_CONFIG"
start_gateway
like "$(wait_for_line "$tmp/out" 'oven is still on')" $'^send\tboss\t' "the heartbeat says what there is to say, in its chat"
like "$(wait_for_line "$tmp/requests" 'Heartbeat: no person' | jq -r '.body.messages[-1].content | tostring')" 'the bell rang' "it was told of the event"
printf '# Tasks\n- look at the oven. mock: say HEARTBEAT_OK\n' >"$tmp/work/HEARTBEAT.md"
wait_for_line "$tmp/requests" 'mock: say HEARTBEAT_OK' >/dev/null
stop_gateway
unlike "$(cat "$tmp/out")" 'HEARTBEAT_OK' "its word for nothing reaches nobody"
is "$status" 0 "the gateway ends well"
done_testing
