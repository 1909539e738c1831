#!/bin/bash
# A sub-agent's result reaches its parent exactly once, also when the gateway is killed: while the sub-agent works, between
# its end and the parent's turn, in the midst of that turn. With fault points (--enable-fault-points) also at the store's
# commits on that way; all of them with CHELA_TEST_KILLS=all.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -e "$build/plugins/.libs/tool_sessions.so" ] || skip_all "tool_sessions is not built here"
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$tmp/work"; }; };
tools : { security = "full"; sessions : { type = "sessions"; }; };
END
turn() { run chela agent --session main -m "$1"; }
# How often the parent's history has the result, and the sub-agent's its task.
results() { "$build/chela" sessions export agent:main:main 2>/dev/null | grep -c '"role":"user".*Result of the sub-agent'; }
tasks() { # KEY
    "$build/chela" sessions export "$1" 2>/dev/null | grep -c '"role":"user"'
}
child() { "$build/chela" sessions list --keys | grep -m 1 subagent; }
# Until the parent has answered to the result.
answered() { # TEXT
    wait_most=60 wait_until has_answered "$1"
}
has_answered() { "$build/chela" sessions export agent:main:main | grep -q "\"role\":\"assistant\".*$1"; }

# 1. killed while the sub-agent works: it goes on, its result comes once
start_gateway
turn 'mock: tool sessions_spawn {"task":"work. mock: stall"}
mock: say waiting'
wait_for_line "$tmp/requests" '"work. mock: stall' >/dev/null
stop_gateway KILL
stop_background mock
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests2" --port "$mock_port" --scripts no
start_gateway
wait_for_line "$tmp/requests2" 'Result of the sub-agent' 60 >/dev/null
point $? "killed while the sub-agent works: it goes on, and the result comes"
answered 'You said' || diag "the parent did not answer"
is "$(results)" 1 "once"
is "$(tasks "$(child)")" 1 "and the task was given once"
stop_gateway

# 2. killed in the parent's turn about the result
stop_background mock
rm -rf "$CHELA_STATE_DIR" "$tmp/requests"
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests" --port "$mock_port"
start_gateway
turn 'mock: tool sessions_spawn {"task":"work. mock: say done: mock: stall"}
mock: say waiting'
wait_for_line "$tmp/requests" 'Result of the sub-agent' 60 >/dev/null
stop_gateway KILL
stop_background mock
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests3" --port "$mock_port" --scripts no
start_gateway
answered 'You said'
point $? "killed in the parent's turn: it goes on"
is "$(results)" 1 "with the result once"
stop_gateway

# 3. at the store's commits
fresh() { rm -rf "$CHELA_STATE_DIR"; }
scenario() {
    RUN_TIMEOUT=20 run chela agent --session main -m 'mock: tool sessions_spawn {"task":"work. mock: say done: mock: say the parent knows"}
mock: say waiting'
}
stop_background mock
start_background mock "$build/tests/fakes/mock_model" --port "$mock_port"
fresh
export CHELA_FAULT_LOG=$tmp/points
start_gateway
scenario
answered 'the parent knows'
point $? "without a kill it comes"
stop_gateway
unset CHELA_FAULT_LOG
if [ ! -s "$tmp/points" ]; then
    diag "this build has no fault points"
    done_testing
fi
count=$(grep -c "^store " "$tmp/points")
step=1
[ "${CHELA_TEST_KILLS:-}" = all ] || step=$(((count + 9) / 10))
for ((n = 1; n <= count; n += step)); do
    fresh
    fifo=$tmp/faulty.ready
    rm -f "$fifo"
    mkfifo "$fifo"
    CHELA_FAULT=store:$n setsid "$build/chelad" --ready-fd 3 3>"$fifo" >>"$tmp/gateway.log" 2>&1 </dev/null &
    background_pid[faulty]=$!
    ready=''
    read -r -t 30 ready <"$fifo"
    export CHELA_GATEWAY_PORT=${ready##*port=}
    [ -z "$ready" ] || scenario
    timeout 20 tail --pid="${background_pid[faulty]}" -f /dev/null
    kill -TERM "${background_pid[faulty]}" 2>/dev/null
    wait "${background_pid[faulty]}"
    unset 'background_pid[faulty]'
    start_gateway
    spawned=$(child)
    if [ -n "$spawned" ]; then
        answered 'the parent knows'
        got=$?
        [ $got = 0 ] && [ "$(results)" = 1 ] && [ "$(tasks "$spawned")" = 1 ]
        point $? "killed at commit $n of $count: the result is there once" ||
            diag "results $(results), tasks $(tasks "$spawned"), answered $got; $(tail -n 8 "$tmp/gateway.log")"
    else
        # it may have been recorded, and begin only now: then its result may be there, or not yet
        [ "$(results)" -le 1 ]
        point $? "killed at commit $n of $count, before there was a sub-agent's session: one result at most"
    fi
    stop_gateway
done
done_testing
