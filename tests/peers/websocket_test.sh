#!/bin/bash
# WebSocket clients that we did not write: Debian's python3-autobahn over the list of cases of the Autobahn test suite
# (websocket_cases.py), and npm's ws.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

configure <<END_OF_CONFIG
providers : { demo : { type = "demo"; }; };
agents : { main : { workspace = "$tmp/work"; }; };
END_OF_CONFIG
start_gateway
if /usr/bin/python3 -c 'import autobahn.twisted' 2>/dev/null; then
    timeout 120 /usr/bin/python3 "$here/websocket_cases.py" "$gateway_port" >"$tmp/points" 2>&1
    grep -v '^1\.\.' "$tmp/points"
    tap_count=$(grep -cE '^(not )?ok ' "$tmp/points")
    tap_failed=$(grep -c '^not ok ' "$tmp/points")
    like "$(tail -n 1 "$tmp/points")" '^1\.\.248$' "all of Autobahn's cases were gone through"
else
    skip "python3-autobahn is not installed" "the cases of the Autobahn test suite"
fi

if [ -e "$peers/page/node_modules/ws" ]; then
    run "$node" "$here/ws.mjs" "$peers/page/node_modules" "$gateway_port" "$(<"$CHELA_STATE_DIR/gateway.token")"
    is "$status" 0 "ws: connects, asks with compression offered, in fragments, with pings, a thousand at once, closes" || diag "$out$err"
    like "$out" 'answers: 1000' "each of a thousand requests was answered once"
    like "$out" 'compressed: false' "no compression was agreed on"
    like "$out" 'close: 1000' "the close is answered"
    like "$out" 'unmasked: 1002' "its frames without a mask are refused"
else
    skip "ws is not installed" "npm's ws"
fi
run chela status
is "$status" 0 "the gateway is well"
done_testing
