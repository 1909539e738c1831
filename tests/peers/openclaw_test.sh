#!/bin/bash
# The npm package openclaw: its own `openclaw agent --message` gets its answers from our gateway, which it takes for
# its own. A relay between them writes the frames down; they are held against the schema that OpenClaw publishes.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need openclaw openclaw/package.json
openclaw=$peers/openclaw/node_modules/.bin/openclaw

configure <<END_OF_CONFIG
providers : { demo : { type = "demo"; }; };
agents : { main : { workspace = "$tmp/work"; }; };
END_OF_CONFIG
touch "$tmp/work/first-file.txt" "$tmp/work/second-file.txt"
start_gateway
start_relay "$gateway_port"

openclaw_says() { # TOKEN WORDS...: as a person would who has OpenClaw and its configuration
    local token=$1
    shift
    mkdir -p "$tmp/openclaw/home" "$tmp/openclaw/state"
    cat >"$tmp/openclaw/state/openclaw.json" <<END_OF_CONFIG
{"gateway":{"mode":"local","port":$relay_port,"bind":"loopback","auth":{"mode":"token","token":"$token"}},
 "plugins":{"enabled":false},"update":{"checkOnStart":false}}
END_OF_CONFIG
    RUN_TIMEOUT=120 run env -i PATH="${node%/*}:/usr/bin:/bin" HOME="$tmp/openclaw/home" TERM=dumb \
        XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" OPENCLAW_STATE_DIR="$tmp/openclaw/state" OPENCLAW_NO_RESPAWN=1 \
        OPENCLAW_CONFIG_PATH="$tmp/openclaw/state/openclaw.json" \
        "$openclaw" "$@"
}
ask() { openclaw_says "$1" agent --agent main --message "$2"; } # TOKEN TEXT

ask "$(<"$CHELA_STATE_DIR/gateway.token")" "list the files here"
is "$status" 0 "openclaw agent ends well" || diag "$err"
like "$out" 'first-file\.txt.*second-file\.txt' "and prints our gateway's answer, from a real tool call"
like "$out" 'offline demo' "which our demo gave"
unlike "$out$err" '[Ww]arn|embedded|fallback' "it did not fall back on anything of its own"
is "$(frames client 'map(.method)')" '["connect","agent"]' "it asked our gateway by connect and agent"
is "$(frames gateway '[.[] | select(.type == "res") | [.ok, .payload.status]]')" \
    '[[true,null],[true,"accepted"],[true,"ok"]]' "and was answered thrice: hello, accepted, ok"
run chela sessions --json
like "$out" 'agent:main:main' "the conversation is one of our sessions"
check_frames "all frames are as OpenClaw publishes them"

token=$(<"$CHELA_STATE_DIR/gateway.token")
openclaw_says "$token" health --json
is "$status" 0 "openclaw health" || diag "$err"
is "$(jq -c '[.ok, .defaultAgentId, .channels.cli.running]' <<<"$out")" '[true,"main",true]' "shows our gateway and its channels"
openclaw_says "$token" status
is "$status" 0 "openclaw status" || diag "$err"
like "$out" "127\.0\.0\.1:$relay_port.*reachable" "reaches it"
openclaw_says "$token" gateway call sessions.list --json
is "$(jq -r '.sessions[0].key' <<<"$out")" agent:main:main "openclaw gateway call sessions.list" || diag "$out$err"
openclaw_says "$token" devices list
is "$status" 0 "openclaw devices list" || diag "$err"
openclaw_says "$token" config set session.dmScope per-peer
is "$status" 0 "openclaw config set" || diag "$out$err"
run chela import openclaw "$tmp/openclaw/state" --output "$tmp/imported.conf" --json
is "$status" 0 "chela import openclaw takes the folder that openclaw itself wrote" || diag "$out$err"
run env -u CHELA_GATEWAY_PORT CHELA_CONFIG="$tmp/imported.conf" "$build/chela" config show
like "$out" "session\.dm_scope.*per-peer" "with what it set"
like "$out" "gateway\.port.*$relay_port" "and its port"
is "$(frames gateway '[.[] | select(.ok == false)]')" '[]' "they asked nothing that we had to refuse"
check_frames "with the frames of health, status, gateway call and devices"

ask wrong-token-0123456789abcdef "hi"
isnt "$status" 0 "with a wrong token it gets no answer"
like "$out$err" "secret is not this gateway's" "and says why"

done_testing
