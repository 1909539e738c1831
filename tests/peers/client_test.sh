#!/bin/bash
# The npm package @openclaw/gateway-client, OpenClaw's reference client, on our gateway: scopes, a turn, refusals, a
# device identity with its token, and a restart in between.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need client @openclaw/gateway-client/package.json
configure <<END_OF_CONFIG
providers : { demo : { type = "demo"; }; };
agents : { main : { workspace = "$tmp/work"; }; };
END_OF_CONFIG
start_gateway
start_relay "$gateway_port"
mkfifo "$tmp/words"
setsid "$node" "$here/client.mjs" "$peers/client/node_modules" "$relay_port" "$(<"$CHELA_STATE_DIR/gateway.token")" \
    <"$tmp/words" >"$tmp/said" 2>"$tmp/client.err" &
background_pid[client]=$!
exec 5>"$tmp/words"

said() { # WHAT WANTED NAME
    local line
    line=$(wait_for_line "$tmp/said" "^$1: ")
    is "${line#*: }" "$2" "$3" || diag "$(<"$tmp/client.err")"
}
said scopes "operator.read operator.write" "it connects and has the scopes that it asked for"
said status string "asks"
said answer true "holds a turn with its events"
said "unknown method" "unknown method: no.such.method" "is told of a method that there isn't"
said "missing scope" MISSING_SCOPE "and of a right that it hasn't"
said "device token" true "with a device identity it is given a token"
said "by its token" operator.read "which opens later without the secret"
said "wrong token" AUTH_TOKEN_MISMATCH "a wrong secret is named"
said restart please "the gateway restarts"
stop_gateway
CHELA_GATEWAY__PORT=$gateway_port start_gateway
echo "gateway back" >&5
said "shutdown event" true "it was told before"
said "after the restart" "true ok" "it comes back by itself, and the same message is not sent twice"
wait "${background_pid[client]}"
is $? 0 "and ends well" || diag "$(<"$tmp/client.err")"
unset "background_pid[client]"
check_frames "all frames are as OpenClaw publishes them"
done_testing
