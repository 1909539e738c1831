#!/bin/bash
# What a plain turn costs the daemon in system calls and instructions, against a model service that always answers the
# same 20 pieces: counts, which don't depend on the machine's load. The limits are a half above what was measured, so
# that another compiler or library passes and a loop that was added doesn't.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
readonly system_calls_most=150 instructions_most=5000000
command -v strace >/dev/null && command -v valgrind >/dev/null || skip_all "needs strace and valgrind"
grep -qs '^SANITIZE = .*fsanitize' "$build/Makefile" && skip_all "a build with sanitizers does more"
make -C "$build" -s tests/bench/load >"$tmp/make.log" 2>&1 || bail "$(cat "$tmp/make.log")"

export CHELA_GATEWAY__AUTH__MODE=none
start_background mock "$build/tests/fakes/mock_model" --fixed 20
configure <<END
durability = "process";
logging : { level = "warn"; };
providers : { mock : { type = "openai"; base_url = "http://127.0.0.1:${ready##*port=}/v1"; api_key = "x"; }; };
agents : { main : { model = "mock/mock-1"; }; };
END

# turns PORT PREFIX COUNT: COUNT turns, one after the other, in ten sessions
turns() { "$build/tests/bench/load" "$1" chain 10 60000 "$2" "$3" >"$tmp/turns" && grep -q "turns=$3 errors=0" "$tmp/turns"; }

# --- system calls -------------------------------------------------------------------------------------------------

start_gateway
turns "$gateway_port" warm 20
strace -f -c -o "$tmp/calls" -p "$gateway_pid" 2>"$tmp/strace.err" &
strace_pid=$!
wait_for_line "$tmp/strace.err" attached >/dev/null
ok turns "$gateway_port" warm 100 -- "100 turns under strace"
kill -INT $strace_pid
wait $strace_pid
stop_gateway
# what the threads say to each other is left out: it depends on who runs first
calls=$(awk '$NF != "total" && $NF !~ /^(futex|epoll_wait|sched_yield|syscall|-+)$/ && $4 ~ /^[0-9]+$/ { n += $4 } END { print int(n / 100) }' "$tmp/calls")
ok test "$calls" -gt 10 -a "$calls" -le $system_calls_most -- "a turn takes at most $system_calls_most system calls" ||
    diag "$(head -n 15 "$tmp/calls")"
diag "$calls system calls a turn"

# --- instructions -------------------------------------------------------------------------------------------------

instructions() { # COUNT: of a daemon that has answered so many turns
    local fifo="$tmp/ready-$1" pid line
    mkfifo "$fifo"
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$tmp/valgrind-$1" \
        "$build/chelad" --ready-fd 3 3>"$fifo" 2>"$tmp/chelad-$1" &
    pid=$!
    read -r line <"$fifo"
    turns "${line##*port=}" "few$1" "$1" || diag "$(cat "$tmp/turns")"
    kill -TERM $pid
    wait $pid
    sed -n 's/.*Collected : //p' "$tmp/valgrind-$1"
}

few=$(instructions 20) many=$(instructions 70)
a_turn=$(((many - few) / 50))
ok test "$a_turn" -gt 100000 -a "$a_turn" -le $instructions_most -- "a turn takes at most $instructions_most instructions"
diag "$a_turn instructions a turn; $((few - 20 * a_turn)) for start and end"
done_testing
