#!/bin/bash
# The npm package openclaw: its own terminal, `openclaw tui`, driven in tmux as a person would, on our gateway: a turn,
# a tool call, an approval that is answered, /model, /new, an abort, another session. What is waited for is text on its
# screen. The frames are held against the schema that OpenClaw publishes.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need openclaw openclaw/package.json
command -v tmux >/dev/null || skip_all "tmux is not installed"
openclaw=$peers/openclaw/node_modules/.bin/openclaw
start_background model "$build/tests/fakes/mock_model"
configure <<END_OF_CONFIG
providers : {
    demo : { type = "demo"; };
    mock : { type = "openai"; base_url = "http://127.0.0.1:${ready##*port=}/v1"; api_key = "a-key-for-tests"; models = ( { name = "stalls"; } ); };
};
agents : { main : { model = "demo/demo"; workspace = "$tmp/work"; }; };
END_OF_CONFIG
touch "$tmp/work/first-file.txt" "$tmp/work/second-file.txt"
start_gateway
start_relay "$gateway_port"
mkdir -p "$tmp/openclaw/home" "$tmp/openclaw/state"
echo '{"plugins":{"enabled":false},"update":{"checkOnStart":false}}' >"$tmp/openclaw/state/openclaw.json"

terminal() { tmux -S "$tmp/tmux" "$@"; }
screen() { terminal capture-pane -p; }
# seen REGEX NAME [SECONDS]: a point: the screen shows it in time
seen() {
    local end=$((SECONDS + ${3:-30}))
    until out=$(screen) && grep -qE "$1" <<<"$out"; do
        [ $SECONDS -lt $end ] || break
        read -rt 0.2 <>"$tmp/never" || true
    done
    grep -qE "$1" <<<"$out"
    point $? "$2" || diag "$out"
}
# Enter must not come in the same read as the text, which would count as pasted: it is sent once the text is shown.
say() {
    terminal send-keys -l "$1"
    local end=$((SECONDS + 20))
    until grep -qF -- "${1:0:40}" <<<"$(screen | tail -n 6)" || [ $SECONDS -ge $end ]; do
        read -rt 0.1 <>"$tmp/never" || true
    done
    terminal send-keys Enter
}
mkfifo "$tmp/never"
terminal -f /dev/null new-session -d -x 120 -y 45 env -i PATH="${node%/*}:/usr/bin:/bin" HOME="$tmp/openclaw/home" \
    TERM=screen-256color LANG=C.UTF-8 XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" OPENCLAW_STATE_DIR="$tmp/openclaw/state" \
    OPENCLAW_NO_RESPAWN=1 OPENCLAW_CONFIG_PATH="$tmp/openclaw/state/openclaw.json" \
    "$openclaw" tui --url "ws://127.0.0.1:$relay_port" --token "$(<"$CHELA_STATE_DIR/gateway.token")"

seen 'connected \| idle' "openclaw tui connects" 120
say "/verbose full"
seen 'verbose full' "/verbose changes the session"
say "list the files here"
seen 'That is 2 entries' "a turn is answered"
seen 'List' "its tool call is seen"
seen 'first-file\.txt' "with the result"
seen 'connected \| idle' "and it is idle again"
is "$(screen | grep -c 'That is 2 entries')" 1 "what it saw live and what the history says is shown once"

say "run touch made.txt"
seen 'exec asks to run' "an approval is asked"
like "$out" 'touch made\.txt' "with what will run"
like "$out" 'Deny' "and a way to say no"
terminal send-keys Up
seen '→ Always allow' "the choice moves"
terminal send-keys Up
seen '→ Allow once' "to once"
terminal send-keys Enter
seen 'approval: allowed once|The command printed' "it is given"
seen 'connected \| idle' "the turn ends"
ok test -e "$tmp/work/made.txt" -- "and the command ran"
say "run touch refused.txt"
seen 'exec asks to run' "another one"
terminal send-keys Enter
seen 'denied permission' "is denied"
ok test ! -e "$tmp/work/refused.txt" -- "and did not run"
seen 'connected \| idle' "that turn ends as well"

say "/model mock/stalls"
seen 'model set to mock/stalls' "/model changes the model"
say "mock: stall"
seen '• [0-9]+s \| connected' "the other model answers"
terminal send-keys Escape
seen 'aborted|run aborted|cancelled' "Esc aborts the run"
say "/new"
seen 'new session' "/new begins a session"
say "/model demo/demo"
seen 'model set to demo/demo' "which has a model of its own"
say "run uname -s"
seen 'Linux' "and answers"
seen 'connected \| idle' "to its end"
say "/session main"
seen 'session main' "/session goes to another one"
seen 'touch refused\.txt' "with its history"
terminal kill-server

like "$(frames client 'map(.method)|unique|join(" ")')" 'chat.abort.*chat.send.*plugin.approval.resolve.*sessions.create.*sessions.patch' \
    "it asked all of that by the gateway's methods"
is "$(frames gateway '[.[] | select(.ok == false)]')" '[]' "and nothing that we had to refuse"
run chela audit --json
is "$(jq -r '[.entries[]|select(.action=="approval")|.what.decision]|join(" ")' <<<"$out")" "allow-once deny" \
    "the audit log knows both decisions"
check_frames "all frames are as OpenClaw publishes them"
done_testing
