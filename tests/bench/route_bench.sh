#!/bin/bash
# What routing and passing on cost: a piece of an answer from the provider's socket to a WebSocket client, and a turn that a
# small model classifies before another one answers. Beside it what libcurl needs for the same requests, in the same run.
# Nothing passes or fails by a time. CHELA_TEST_QUICK=1: shorter runs. Called by tests/bench/run.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
tap_ended=1 # no test: tap.sh is here for its places and its background programs

run_ms=$([ "${CHELA_TEST_QUICK:-}" ] && echo 1000 || echo 4000)
bench=$build/tests/bench
make -C "$build" -s bench-programs >/dev/null
export CHELA_GATEWAY__AUTH__MODE=none
figure() { printf '%-58s %18s   %s\n' "$1" "$2" "${3:-}"; } # NAME VALUE TARGET-AND-PEER
calc() { awk "BEGIN { printf \"%.${2:-2}f\", $1 }"; }
value() { sed -n "s/^\(.* \)\?$1=\([^ ]*\).*/\2/p" <<<"$2"; } # NAME LINE
ms() { calc "$1 / 1000"; }
load() { "$bench/load" "$gateway_port" "$@"; }

echo "machine: $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), load average $(cut -d' ' -f1 /proc/loadavg)"

# --- a piece on its way -------------------------------------------------------------------------------------------------

# Pieces of one answer share a frame each 75 ms (core/agent/stream.c); the one that opens a frame goes out at once. Answers
# of one piece show how long that takes, answers of a hundred, sent every 3 ms, how long a piece waits on the average.
forward() { # NAME FORM PORT
    local url=http://127.0.0.1:$3 line
    [ "$2" = openai ] && url=$url/v1
    configure <<END
logging : { level = "warn"; };
durability = "process";
providers : { mock : { type = "$2"; base_url = "$url"; $([ "$2" = ollama ] || echo 'api_key = "k";') models = ( { name = "mock-1"; } ); }; };
agents : { main : { model = "mock/mock-1"; }; };
END
    rm -rf "$CHELA_STATE_DIR"
    start_gateway
    load turns 1 300 warm >/dev/null
    line=$(load turns 1 "$run_ms" forward)
    figure "$2, $1, p50 / p99" "$(ms "$(value piece_p50 "$line")") / $(ms "$(value piece_p99 "$line")") ms" \
        "$(value pieces "$line") pieces"
    stop_gateway
}

echo
echo "-- a piece of an answer, from the provider's socket to a WebSocket client"
start_background single "$build/tests/fakes/mock_model" --fixed 1 --pace 1
single=${ready##*port=}
start_background paced "$build/tests/fakes/mock_model" --fixed 100 --pace 3000
paced=${ready##*port=}
for form in openai anthropic ollama; do
    forward "at once" $form "$single"
done
forward "in a stream of 300 pieces a second" openai "$paced"

# --- classified, then answered ------------------------------------------------------------------------------------------

start_background small "$build/tests/fakes/mock_model" --log "$tmp/requests"
url=http://127.0.0.1:${ready##*port=}
configure <<END
logging : { level = "warn"; };
durability = "process";
providers : {
    small : { type = "openai"; base_url = "$url/v1"; models = ( { name = "mock-1"; }, { name = "mock-2"; } ); };
};
models : { classifier = "small/mock-1"; };
routing : { classes : { simple = "small/mock-2"; complex = "small/mock-1"; }; };
END
rm -rf "$CHELA_STATE_DIR"
start_gateway
export LOAD_TEXT='\\nmock: say {\\"class\\":\\"SIMPLE\\"}'
LOAD_TEXT=${LOAD_TEXT//\\\\/\\}
load turns 1 300 warm >/dev/null
sed -n 1p "$tmp/requests" | jq -c .body >"$tmp/classify"
sed -n 2p "$tmp/requests" | jq -c .body >"$tmp/answer"
line=$(load turns 1 "$run_ms" classified)
first=$("$bench/curl_rate" "$url/v1/chat/completions" "$tmp/classify" 1 "$run_ms")
second=$("$bench/curl_rate" "$url/v1/chat/completions" "$tmp/answer" 1 "$run_ms")
both=$(calc "$(value final_p50 "$first") + $(value final_p50 "$second")" 0)
echo
echo "-- a turn that is classified as SIMPLE and answered, on the mock ($(value turns "$line"))"
is=$(jq -r .body.model "$tmp/requests" | sort | uniq -c | sort -rn | awk '{ printf "%s%s %s", s, $1, $2; s = ", " }')
figure "requests that the mock got" "" "$is"
figure "both requests by libcurl, one after the other (p50)" "$(ms "$both") ms"
figure "the whole turn, p50 / p99" "$(ms "$(value final_p50 "$line")") / $(ms "$(value final_p99 "$line")") ms" "the mission: under 100 ms"
figure "the host's own share, p50" "$(ms "$(calc "$(value final_p50 "$line") - $both" 0)") ms" "target: under 2 ms"
stop_gateway
