#!/bin/bash
# Devices: who is let in by what, tokens of their own, revocation, proxies in front, the audit log.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

write_config() { # TEXT of the gateway group
    printf 'gateway : { port = 0; %s };\nproviders : { demo : { type = "demo"; }; };\n' "$1" >"$CHELA_CONFIG"
    printf 'agents : { main : { workspace = "%s"; }; };\n' "$tmp/work" >>"$CHELA_CONFIG"
    chmod 600 "$CHELA_CONFIG"
}
device() { run "$build/tests/gateway/device_client" "$gateway_port" "$@"; }
# device_in_background FILE ...: waits for its hello and goes on while it stays connected
device_in_background() {
    local file=$1
    shift
    : >"$file"
    setsid "$build/tests/gateway/device_client" "$gateway_port" "$@" wait >"$file" 2>&1 </dev/null &
    background_pid[$file]=$!
    wait_for_line "$file" . >"$tmp/first"
}
got() { jq -r "$1" <<<"${out%%$'\n'*}"; } # of the first line
all=operator.read,operator.write,operator.admin,operator.approvals,operator.pairing
away="header=X-Forwarded-For: 192.0.2.7"

write_config ''
start_gateway
token=$(<"$CHELA_STATE_DIR/gateway.token")

# --- signatures
device phone token="$token"
is "$status" 0 "a device of this machine that knows the secret is let in" || diag "$out$err"
own=$(got .hello.auth.deviceToken)
like "$own" '^chd_[0-9a-f]{64}$' "and gets a token of its own"
is "$(got '.hello.auth.scopes|join(",")')" operator.read "for the scopes that it asked for"
device phone token="$token" version=2
is "$status" 0 "signatures of version 2 count too"
for pair in nonce:DEVICE_AUTH_SIGNATURE_INVALID old-nonce:DEVICE_AUTH_NONCE_MISMATCH signature:DEVICE_AUTH_SIGNATURE_INVALID \
    key:DEVICE_AUTH_DEVICE_ID_MISMATCH id:DEVICE_AUTH_DEVICE_ID_MISMATCH time:DEVICE_AUTH_SIGNATURE_EXPIRED; do
    device phone token="$token" wrong="${pair%%:*}"
    is "$(got .error.details.code) $(tail -n 1 <<<"$out")" "${pair#*:} {\"closed\":1008}" "a wrong ${pair%%:*} is refused"
done

# --- the device's own token
device phone device-token="$own"
is "$status" 0 "its token opens without the secret"
device phone token="$own"
is "$status" 0 "also where older clients put it"
device tablet device-token="$own"
is "$(got .error.details.code)" AUTH_DEVICE_TOKEN_MISMATCH "another device can't use it"
device - device-token="$own"
is "$(got .error.details.code)" AUTH_DEVICE_TOKEN_MISMATCH "nor can somebody without the key"
device phone device-token="$own" scopes="$all"
is "$(got '.error.code + " " + .error.details.code + " " + .error.details.reason')" "NOT_PAIRED PAIRING_REQUIRED scope-upgrade" \
    "more scopes than it was let in for need a yes"
run chela devices reject "$(got .error.details.requestId)"
is "$status" 0 "which chela devices reject can refuse"

# --- from elsewhere: a proxy that is not trusted makes nobody local
device laptop token="$token" "$away" scopes=operator.read,operator.write
is "$(got '.error.code + " " + .error.details.reason')" "NOT_PAIRED not-paired" "a device from elsewhere waits, with the right secret"
request=$(got .error.details.requestId)
device laptop token="$token" "$away" scopes=operator.read,operator.write
is "$(got .error.details.requestId)" "$request" "and waits with one request, however often it asks"
run chela devices
like "$out" "^$request +laptop +Linux +waits" "chela devices shows it"
device weak token="$token" scopes=operator.pairing call="device.pair.approve:{\"requestId\":\"$request\"}"
is "$(tail -n 1 <<<"$out" | jq -r .error.code)" FORBIDDEN "who has fewer scopes can't give them away"
run chela devices approve "${request:0:8}"
is "$status" 0 "chela devices approve lets it in, by the beginning of its id" || diag "$err"
device_in_background "$tmp/laptop" laptop token="$token" "$away" scopes=operator.read,operator.write
other=$(jq -r .hello.auth.deviceToken "$tmp/first")
like "$other" '^chd_' "now it is welcome"
laptop=$(chela devices --json | jq -r '.paired[]|select(.displayName=="laptop")|.deviceId')
run chela devices revoke "${laptop:0:12}"
is "$status" 0 "chela devices revoke ends its token" || diag "$err"
like "$(wait_for_line "$tmp/laptop" closed)" 1008 "its connection ends at once"
device laptop device-token="$other" "$away"
is "$(got .error.details.code)" AUTH_DEVICE_TOKEN_MISMATCH "and its token is worthless"
run chela devices rotate "${laptop:0:12}"
device laptop token="$token" "$away"
isnt "$(got .hello.auth.deviceToken)" "$other" "after chela devices rotate it gets another one"
run chela devices remove "${laptop:0:12}"
device laptop token="$token" "$away"
is "$(got .error.code)" NOT_PAIRED "a removed one is a stranger again"

# --- a restart
stop_gateway
start_gateway
device phone device-token="$own"
is "$status" 0 "tokens outlive the gateway"

# --- the page's code
run chela dashboard --no-open
like "$out" "^http://127\\.0\\.0\\.1:$gateway_port/#code=[0-9a-f]{64}\$" "chela dashboard prints a link with a code"
code=${out##*=}
device - code="$code" scopes="$all" "$away"
is "$status" 0 "a code opens the page, once"
page=$(got .hello.auth.deviceToken)
device - code="$code" scopes="$all"
is "$(got .error.details.code)" AUTH_BOOTSTRAP_TOKEN_INVALID "and never again"
device - device-token="$page" scopes="$all"
is "$status" 0 "the token that it brought goes on"

# --- who did what
run chela audit --json
is "$(jq -r '[.entries[].action]|unique|join(" ")' <<<"$out")" \
    "dashboard.code device.approve device.reject device.remove device.revoke device.rotate" "the audit log has all of it"
like "$(jq -r '.entries[]|select(.action=="device.remove")|.by' <<<"$out")" '^chela \(' "with who did it"
unlike "$out$(<"$CHELA_STATE_DIR/audit.jsonl")" "$token|chd_|$code" "and no secret"
is "$(stat -c %a "$CHELA_STATE_DIR/audit.jsonl")" 600 "its file is its owner's alone"
run chela audit -n 1
like "$out" 'device\.approve' "chela audit shows the newest"
stop_gateway

# --- guesses
write_config 'devices : { required = true; };'
start_gateway
for ((i = 0; i < 10; i++)); do device - token="wrong-$i" "$away"; done
device - token="$token" "$away"
is "$(got .error.details.code)" AUTH_RATE_LIMITED "ten wrong secrets lock who comes from elsewhere out"
device - token="$token"
is "$status" 0 "programs of this machine are not"
stop_gateway
start_gateway
device - token="$token" "$away"
is "$(got .error.details.code)" DEVICE_IDENTITY_REQUIRED "gateway.devices.required: no device, no way in from elsewhere"
stop_gateway

# --- a proxy that is trusted
write_config 'trusted_proxies = ["127.0.0.0/8"]; devices : { required = true; };'
start_gateway
for ((i = 0; i < 10; i++)); do device - token="wrong-$i" "header=X-Forwarded-For: 203.0.113.9, 192.0.2.7"; done
device - token="$token" "header=X-Forwarded-For: 192.0.2.7"
is "$(got .error.details.code)" AUTH_RATE_LIMITED "its X-Forwarded-For is believed, from the end"
device x token="$token" "header=X-Forwarded-For: 203.0.113.9"
is "$(got .error.code)" NOT_PAIRED "what the client forged before it is not"
stop_gateway
write_config 'auth : { mode = "trusted-proxy"; };'
run "$build/chelad"
is "$status" 78 "trusted-proxy without a trusted proxy doesn't start"
like "$err" 'trusted_proxies' "and says what is missing"
write_config 'trusted_proxies = ["127.0.0.1"]; auth : { mode = "trusted-proxy"; allowed_users = ["anna"]; };'
start_gateway
device - "$away" "header=X-Forwarded-User: anna" scopes="$all"
is "$status" 0 "trusted-proxy: the person that it names is let in" || diag "$out"
device - "$away" "header=X-Forwarded-User: ben"
is "$(got .error.details.code)" AUTH_UNAUTHORIZED "another one is not"
device - "$away" "header=X-Forwarded-User: anna" "header=X-Forwarded-User: ben"
is "$(got .error.details.code)" AUTH_UNAUTHORIZED "nor a name given twice"
device - "header=X-Forwarded-User: anna"
isnt "$status" 0 "nor who brings that header alone"
run chela status
is "$status" 0 "programs of this machine show the token"
code=$(curl -s -o "$tmp/body" -w '%{http_code}' -H 'X-Forwarded-For: 192.0.2.7' -H 'X-Forwarded-User: anna' \
    "http://127.0.0.1:$gateway_port/metrics")
is "$code" 200 "HTTP the same"
code=$(curl -s -o "$tmp/body" -w '%{http_code}' -H 'X-Forwarded-For: 192.0.2.7' "http://127.0.0.1:$gateway_port/metrics")
is "$code" 401 "without a name not"
stop_gateway
write_config 'auth : { mode = "none"; };'
start_gateway
device -
is "$status" 0 "mode none lets programs of this machine in"
device - "$away"
is "$(got .error.details.code)" AUTH_REQUIRED "but nobody by a proxy"

done_testing
