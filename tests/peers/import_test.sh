#!/bin/bash
# chela import openclaw, from a state folder that the npm package openclaw made itself: its gateway runs here, holds a
# conversation, is given jobs, and ends; then all of it is in our gateway, once.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need openclaw openclaw/package.json
openclaw=$peers/openclaw/node_modules/.bin/openclaw
claw="$tmp/claw"
mkdir -p "$claw" "$tmp/claw-home" "$tmp/ws"

start_background model "$build/tests/fakes/mock_model"
model=${ready##*port=}
port=$("$node" -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
cat >"$claw/openclaw.json" <<END_OF_CONFIG
{"gateway":{"mode":"local","port":$port,"bind":"loopback","auth":{"mode":"token","token":"import-token-0123456789abcdef"}},
 "models":{"mode":"replace","providers":{"mock":{"baseUrl":"http://127.0.0.1:$model/v1","apiKey":"sk-mock","api":"openai-completions",
  "models":[{"id":"mock-1","name":"Mock","contextWindow":128000,"maxTokens":4096}]}}},
 "agents":{"defaults":{"model":{"primary":"mock/mock-1"},"workspace":"$tmp/ws","skipBootstrap":true,"heartbeat":{"every":"0m"}}},
 "plugins":{"enabled":false},"update":{"checkOnStart":false}}
END_OF_CONFIG
theirs() { # WORDS...: the program openclaw, on its own state folder
    exec env -i PATH="${node%/*}:/usr/bin:/bin" HOME="$tmp/claw-home" TERM=dumb XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" \
        OPENCLAW_STATE_DIR="$claw" OPENCLAW_CONFIG_PATH="$claw/openclaw.json" OPENCLAW_NO_RESPAWN=1 \
        OPENCLAW_GATEWAY_TOKEN=import-token-0123456789abcdef "$openclaw" "$@"
}
configure <<END_OF_CONFIG
agents : { main : { workspace = "$tmp/ws"; }; };
END_OF_CONFIG
theirs gateway run --port "$port" >"$tmp/theirs.log" 2>&1 &
background_pid[theirs]=$!
answers() { [ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/readyz")" = 200 ]; }
wait_most=300 wait_until answers || bail "openclaw's gateway did not start: $(tail -n 5 "$tmp/theirs.log")"
export -f theirs
export node tmp claw openclaw
RUN_TIMEOUT=120 run bash -c 'theirs agent --agent main --message "my cat is called Minka"'
is "$status" 0 "openclaw holds a conversation" || diag "$out$err"
RUN_TIMEOUT=120 run bash -c 'theirs cron add --name daily --cron "0 9 * * *" --tz Europe/Berlin --session isolated --message "morning report" --json'
is "$status" 0 "and is given a job" || diag "$out$err"
# while it still runs, on the port and with the token that the configuration carries: ours is never mistaken for it
run chela import openclaw "$claw" --json
unlike "$out" 'unknown method' "their gateway is not taken for ours"
like "$(theirs cron list --json)" '"daily"' "which keeps its job"
kill -TERM "${background_pid[theirs]}"
wait "${background_pid[theirs]}"
unset 'background_pid[theirs]'
rm -rf "$tmp/conf.d" "$CHELA_STATE_DIR"
ok test -s "$claw/agents/main/agent/openclaw-agent.sqlite" -- "it left its database"

run chela import openclaw "$claw" --json
is "$status" 0 "chela import openclaw takes its folder" || diag "$out$err"
how() { jq -r --arg what "$1" '[.report[]|select(.what==$what)|.how]|unique|join(" ")' <<<"$out"; }
is "$(how 'session agent:main:main') $(how 'job daily')" "carried carried" "the conversation and the job are carried" ||
    diag "$out"
is "$(jq '[.report[] | select(.how == "left" and (.what | startswith("job ")) and .what == "job daily")] | length' <<<"$out")" 0 \
    "nothing of the person's own is left"
run chela config check
is "$status" 0 "the configuration is good" || diag "$err"
CHELA_GATEWAY_PORT=0 start_gateway --port 0
run chela sessions export agent:main:main --json
like "$out" 'my cat is called Minka.*You said' "our session has what was said"
run chela agent -m "what is it called?"
like "$status:$out" "^0:You said: what is it called" "and goes on, with its model" || diag "$err"
run chela cron list --json
is "$(jq -r '.jobs[] | .name + " " + .schedule.tz' <<<"$out")" "daily Europe/Berlin" "our gateway has the job"
run chela import openclaw "$claw" --json
is "$(how 'session agent:main:main') $(how 'job daily')" "there there" "a second time changes nothing"
done_testing
