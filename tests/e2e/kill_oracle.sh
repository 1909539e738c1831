#!/bin/bash
# Ends the daemon at each of its fault points in a turn with a tool that has an effect, starts it again, and looks
# whether everything holds: what was accepted is answered once, the tool has run at most once, calls and results are
# paired, nothing is left open. A few points of each scope in `make check`; all of them with CHELA_TEST_KILLS=all.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -x "$build/tests/e2e/oracle" ] || skip_all "the oracle is not built"
start_background mock "$build/tests/fakes/mock_model"
mock_port=${ready##*port=}
effect=$tmp/effect
first="append a line
mock: tool exec {\"command\":\"echo x >> $effect\"}
mock: say it is done"

settings() {
    configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; }; };
tools : { security = "full"; };
END
}

# The daemon with a fault: may end before it is ready.
start_faulty() { # SCOPE:NUMBER
    local fifo="$tmp/faulty.ready"
    rm -f "$fifo"
    mkfifo "$fifo"
    CHELA_FAULT=$1 setsid "$build/chelad" --ready-fd 3 3>"$fifo" >>"$tmp/gateway.log" 2>&1 </dev/null &
    background_pid[faulty]=$!
    ready=''
    read -r -t 30 ready <"$fifo"
    export CHELA_GATEWAY_PORT=${ready##*port=}
    [ -n "$ready" ]
}

ask() { # TEXT
    RUN_TIMEOUT=30 run chela agent --session oracle -m "$1"
}

fresh() {
    rm -rf "$CHELA_STATE_DIR" "$effect"
    : >"$tmp/gateway.log"
}

effects() { if [ -e "$effect" ]; then wc -l <"$effect"; else echo 0; fi; }

judge() { # NAME: after a restart
    start_gateway
    ask "and now
mock: say this is the second"
    local second=$status
    stop_gateway
    verdict=$("$build/tests/e2e/oracle" "$CHELA_STATE_DIR/chela.db" "append a line" 2>&1)
    local sound=$?
    accepted=${verdict##*accepted }
    [ $sound = 0 ] && [ "$second" = 0 ] && [ "$(effects)" -le 1 ]
    point $? "$1: all holds after the restart" || {
        diag "$verdict"
        diag "second message: $second $err; effects: $(effects)"
        diag "$(tail -n 25 "$tmp/gateway.log")"
    }
}

# --- without a fault: the turn is as it should be, and the points are counted ---------------------------------------

settings
fresh
export CHELA_FAULT_LOG=$tmp/points
start_gateway
ask "$first"
is "$status:$out" "0:it is done" "without a fault the turn ends well"
is "$(effects)" 1 "and the tool has run"
stop_gateway
unset CHELA_FAULT_LOG
[ -s "$tmp/points" ] || {
    diag "this build has no fault points"
    done_testing
}
judge "no fault"

# --- each point -------------------------------------------------------------------------------------------------------

for scope in core store; do
    count=$(grep -c "^$scope " "$tmp/points")
    [ "$count" -gt 0 ] || continue
    step=1
    [ "${CHELA_TEST_KILLS:-}" = all ] || step=$(((count + 5) / 6))
    for ((n = 1; n <= count; n += step)); do
        name="$scope $n ($(sed -n "s/^$scope $n //p" "$tmp/points" | head -n 1))"
        fresh
        if start_faulty "$scope:$n"; then
            ask "$first"
            answered=$status
            [ "$answered" != 0 ] || kill -TERM "${background_pid[faulty]}" 2>/dev/null
        else
            answered=1
        fi
        wait "${background_pid[faulty]}"
        died=$?
        unset 'background_pid[faulty]'
        [ "$died" = 99 ] || diag "$name: not reached (status $died)"
        judge "$name"
        [ "$answered" != 0 ] || is "$accepted" 1 "$name: what was answered is in the history, once"
    done
done

done_testing
