#!/bin/bash
# Starts and stops of an MCP server leave no process, not even one that it has left behind itself. CHELA_TEST_CYCLES
# says how many; a hundred in make check, a thousand in make check-long.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
cycles=${CHELA_TEST_CYCLES:-100}

configure <<END
tools : { mcp : { type = "mcp"; servers = (
    { name = "fake"; command = "$build/tests/fakes/fake_mcp"; args = ["$tmp/diary"]; idle = "5ms"; } ); }; };
END
start_gateway
wait_for_line "$tmp/gateway.log" "fake was not used for a while" >/dev/null
mapfile -t children < <(pgrep -P "$gateway_pid")
for pid in "${children[@]}"; do
    timeout 10 tail --pid="$pid" -f /dev/null
done
descriptors=$(find "/proc/$gateway_pid/fd" -type l | wc -l)
failed=0
for ((i = 0; i < cycles; i++)); do
    wait_for_line "$tmp/gateway.log" "fake was not used for a while" >/dev/null
    : >"$tmp/gateway.log"
    "$build/chela" mcp call fake stray >"$tmp/called" 2>&1
    [ "$(cat "$tmp/called")" = left ] || failed=$((failed + 1))
done
is "$failed" 0 "a server that idles is stopped and started by the next call, $cycles times"
wait_for_line "$tmp/gateway.log" "fake was not used for a while" >/dev/null
starts=$(grep -c '^start' "$tmp/diary")
ok [ "$starts" -ge "$cycles" ] -- "each time as a new process ($starts)"
mapfile -t left < <(pgrep -P "$gateway_pid"; pgrep -f "$tmp/diary")
for pid in "${left[@]}"; do
    timeout 10 tail --pid="$pid" -f /dev/null
done
is "$(pgrep -f "$tmp/diary" || echo none)" none "no server and no child of one is left while the gateway runs"
is "$(pgrep -P "$gateway_pid" || echo none)" none "nor any supervisor"
is "$(find "/proc/$gateway_pid/fd" -type l | wc -l)" "$descriptors" "nor any descriptor"
stop_gateway
is "$status" 0 "the gateway ends well"
unlike "$(cat "$tmp/gateway.log")" 'left .* behind' "and leaves nothing"
done_testing
