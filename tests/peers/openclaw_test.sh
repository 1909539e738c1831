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

ask() { # TOKEN TEXT: as a person would who has OpenClaw and its configuration
    mkdir -p "$tmp/openclaw/home" "$tmp/openclaw/state"
    cat >"$tmp/openclaw/state/openclaw.json" <<END_OF_CONFIG
{"gateway":{"mode":"local","port":$relay_port,"bind":"loopback","auth":{"mode":"token","token":"$1"}},
 "plugins":{"enabled":false},"update":{"checkOnStart":false}}
END_OF_CONFIG
    RUN_TIMEOUT=120 run env -i PATH="${node%/*}:/usr/bin:/bin" HOME="$tmp/openclaw/home" TERM=dumb \
        XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" OPENCLAW_STATE_DIR="$tmp/openclaw/state" OPENCLAW_NO_RESPAWN=1 \
        OPENCLAW_CONFIG_PATH="$tmp/openclaw/state/openclaw.json" \
        "$openclaw" agent --agent main --message "$2"
}

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

ask wrong-token-0123456789abcdef "hi"
isnt "$status" 0 "with a wrong token it gets no answer"
like "$out$err" "secret is not this gateway's" "and says why"

done_testing
