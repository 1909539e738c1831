#!/bin/bash
# Clients that mean harm (tests/gateway/hostile.c): the right code, memory bounded, others served. In make check a
# thousand wrong tokens and two hundred idle sockets; tests/gateway/long_test.sh is the same with a hundred thousand and
# ten thousand.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

tokens=${HOSTILE_TOKENS:-1000} sockets=${HOSTILE_SOCKETS:-200}
cat >"$CHELA_CONFIG" <<END
gateway : { port = 0; handshake_timeout = "2s"; body_timeout = "2s"; http : { openai = true; }; max_connections = $((sockets + 100)); };
providers : { demo : { type = "demo"; }; };
agents : { main : { workspace = "$tmp/work"; }; };
logging : { level = "warn"; };
END
chmod 600 "$CHELA_CONFIG"
ulimit -n "$(ulimit -Hn)"
[ "$(ulimit -n)" -gt $((sockets + 200)) ] || skip_all "only $(ulimit -n) files may be open"
start_gateway
# its points are ours
"$build/tests/gateway/hostile" "$gateway_port" "$(<"$CHELA_STATE_DIR/gateway.token")" "$gateway_pid" "$tokens" "$sockets" \
    >"$tmp/points" 2>&1
code=$?
grep -v '^1\.\.' "$tmp/points"
tap_count=$(grep -cE '^(not )?ok ' "$tmp/points")
tap_failed=$(grep -c '^not ok ' "$tmp/points")
is "$code" "$((tap_failed > 0))" "the hostile clients went through all they had"
stop_gateway
is "$status" 0 "the gateway ends well"
done_testing
