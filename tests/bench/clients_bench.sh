#!/bin/bash
# What clients wait for: a whole `chela agent -m`, from connecting to hello-ok, memory of an idle connection; beside
# `openclaw agent` on the same gateway where that package is installed (build/peers). Called by tests/bench/run.
# The page's first paint and bytes are measured in a browser by tests/peers/page_test.sh.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
tap_ended=1 # no test: tap.sh is here for its places and its background programs

runs=20 sockets=2000 turns=100
[ -z "${CHELA_TEST_QUICK:-}" ] || runs=5 sockets=200 turns=10
make -C "$build" -s tests/bench/clients tests/bench/start tests/fakes/mock_model >/dev/null
start_background mock "$build/tests/fakes/mock_model" --fixed 20
model_port=${ready##*port=}
cat >"$CHELA_CONFIG" <<CONF
gateway : { port = 0; max_connections = 3000; };
logging : { level = "warn"; };
durability = "process";
providers : { mock : { type = "openai"; base_url = "http://127.0.0.1:${ready##*port=}/v1"; api_key = "bench"; models = ( { name = "mock-1"; } ); }; };
agents : { main : { model = "mock/mock-1"; workspace = "$tmp/work"; }; };
CONF
chmod 600 "$CHELA_CONFIG"
start_gateway
token=$(<"$CHELA_STATE_DIR/gateway.token")
figure() { printf '%-58s %14s   %s\n' "$1" "$2" "${3:-}"; }

# median of N runs of a command, ms
median() {
    local n=$1 times=()
    shift
    for ((i = 0; i < n; i++)); do
        local begin=${EPOCHREALTIME/[.,]/}
        "$@" >/dev/null 2>&1 </dev/null || return
        times+=($((${EPOCHREALTIME/[.,]/} - begin)))
    done
    printf '%s\n' "${times[@]}" | sort -n | awk '{ t[NR] = $1 } END { printf "%.1f ms", t[int((NR + 1) / 2)] / 1000 }'
}
chela agent -m "warm up" >/dev/null
figure "chela --version, whole process" "$(median 20 "$build/chela" --version)"
figure "chela agent -m, whole process" "$(median "$runs" "$build/chela" agent -m hi)"
line=$("$build/tests/bench/clients" "$gateway_port" "$token" "$gateway_pid" "$sockets")
value() { sed -n "s/^\(.* \)\?$1=\([^ ]*\).*/\2/p" <<<"$line"; }
figure "connect to hello-ok, median" "$(awk -v us="$(value hello_us)" 'BEGIN { printf "%.2f ms", us / 1000 }')" \
    "p99 $(awk -v us="$(value p99_us)" 'BEGIN { printf "%.2f ms", us / 1000 }')"
figure "private memory of an idle connection" "$(value bytes) bytes" "of $(value connections)"

line=$("$build/tests/bench/clients" "$gateway_port" "$token" turns "$turns")
figure "turns by chat.send, ten sockets at once" "$(value turns_per_s) turns/s" "of $(value turns)"

openclaw=${CHELA_TEST_PEERS:-$build/peers}/openclaw/node_modules/.bin/openclaw
node=$(compgen -G "${CHELA_TEST_PEERS:-$build/peers}/node/node_modules/node-linux-*/bin" | head -n 1)
if [ -x "$openclaw" ] && [ -n "$node" ]; then
    mkdir -p "$tmp/openclaw"
    echo "{\"gateway\":{\"mode\":\"local\",\"port\":$gateway_port,\"auth\":{\"mode\":\"token\",\"token\":\"$token\"}},\"plugins\":{\"enabled\":false},\"update\":{\"checkOnStart\":false}}" \
        >"$tmp/openclaw/openclaw.json"
    figure "openclaw agent --message, whole process, same gateway" "$(median 3 env -i PATH="$node:/usr/bin:/bin" HOME="$tmp/openclaw" \
        OPENCLAW_STATE_DIR="$tmp/openclaw" OPENCLAW_CONFIG_PATH="$tmp/openclaw/openclaw.json" OPENCLAW_NO_RESPAWN=1 \
        "$openclaw" agent --agent main --message hi)"
    # its own gateway with the same model, where there is time for its start
    their_port=$("$node/node" -e 'const s=require("net").createServer().listen(0,"127.0.0.1",()=>{console.log(s.address().port);s.close()})')
    mkdir -p "$tmp/theirs/ws"
    cat >"$tmp/theirs/openclaw.json" <<CONF
{"gateway":{"mode":"local","port":$their_port,"bind":"loopback","auth":{"mode":"token","token":"bench-token-0123456789abcdef"}},
 "models":{"mode":"replace","providers":{"mock":{"baseUrl":"http://127.0.0.1:$model_port/v1","apiKey":"sk-mock","api":"openai-completions",
  "models":[{"id":"mock-1","name":"Mock","contextWindow":128000,"maxTokens":4096}]}}},
 "agents":{"defaults":{"model":{"primary":"mock/mock-1"},"workspace":"$tmp/theirs/ws","skipBootstrap":true,"heartbeat":{"every":"0m"}}},
 "plugins":{"enabled":false},"cron":{"enabled":false},"update":{"checkOnStart":false}}
CONF
    setsid env -i PATH="$node:/usr/bin:/bin" HOME="$tmp/theirs" OPENCLAW_STATE_DIR="$tmp/theirs" OPENCLAW_NO_RESPAWN=1 \
        OPENCLAW_CONFIG_PATH="$tmp/theirs/openclaw.json" "$openclaw" gateway run --port "$their_port" >"$tmp/theirs.log" 2>&1 </dev/null &
    background_pid[theirs]=$!
    answers() { [ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$their_port/readyz")" = 200 ]; }
    if [ -z "${CHELA_TEST_QUICK:-}" ] && wait_most=200 wait_until answers; then
        line=$("$build/tests/bench/clients" "$their_port" bench-token-0123456789abcdef turns 3)
        figure "the same, openclaw's own gateway" "$(value turns_per_s) turns/s" "of $(value turns)"
        line=$("$build/tests/bench/clients" "$their_port" bench-token-0123456789abcdef "${background_pid[theirs]}" 100)
        figure "connect to hello-ok, openclaw's own gateway" "$(awk -v us="$(value hello_us)" 'BEGIN { printf "%.2f ms", us / 1000 }')"
        figure "private memory of an idle connection, openclaw's" "$(value bytes) bytes" "of $(value connections)"
    fi
else
    figure "openclaw agent --message, whole process" "-" "not installed (tests/peers/run BUILD openclaw)"
fi
