#!/bin/bash
# The frames of every method and event that the gateway has, held against the schema of the gateway protocol that
# OpenClaw publishes as the npm package @openclaw/gateway-protocol, with ajv.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need protocol @openclaw/gateway-protocol/protocol.schema.json
configure <<END_OF_CONFIG
providers : { demo : { type = "demo"; }; };
agents : { main : { workspace = "$tmp/work"; }; };
END_OF_CONFIG
start_gateway
start_relay "$gateway_port"

run "$node" "$here/every_method.mjs" "$relay_port" "$(<"$CHELA_STATE_DIR/gateway.token")"
is "$status" 0 "every method that the gateway advertises is asked and answers" || diag "$out$err"
while read -r method answer; do
    is "$answer" ok "$method" || diag "$(grep -F "$method " <<<"$out")"
done < <(sed -n -E 's/^([a-zA-Z.-]+) (ok|refused)\b.*/\1 \2/p' <<<"$out" | sort -u)
like "$out" 'no.such.method is refused as INVALID_REQUEST' "and one that it hasn't is refused"
ok test -e made.txt -- "the approved command ran"
is "$(frames gateway 'map(select(.type == "event") | .event) | unique - ["tick", "health", "shutdown"]')" \
    '["agent","chat","config.changed","connect.challenge","exec.approval.requested","exec.approval.resolved","presence","session.message","sessions.changed"]' \
    "every event came that a turn with an approval brings"
check_frames "all frames are as OpenClaw publishes them"

# Our own client's requests, too.
for words in "agent -m help" "status" "sessions" "approvals"; do
    # shellcheck disable=SC2086  # a list
    run chela $words --gateway "127.0.0.1:$relay_port"
    is "$status" 0 "chela $words" || diag "$err"
done
check_frames "with the frames of our own client"

done_testing
