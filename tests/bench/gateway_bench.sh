#!/bin/bash
# The daemon with all its plugins against a model service in C that always answers the same: each figure with its
# target and what it is compared to, which is measured in the same run. Nothing passes or fails by a time.
# CHELA_TEST_QUICK=1: shorter runs. Called by tests/bench/run.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
tap_ended=1 # no test: tap.sh is here for its places and its background programs

quick=${CHELA_TEST_QUICK:-}
run_ms=$([ "$quick" ] && echo 1000 || echo 3000)
starts=$([ "$quick" ] && echo 5 || echo 15)
histories=$([ "$quick" ] && echo "10 1000" || echo "10 1000 10000")
chunks=20 # pieces of text in an answer
window=100000000
bench=$build/tests/bench
make -C "$build" -s bench-programs >/dev/null
export CHELA_GATEWAY__AUTH__MODE=none

# --- figures ------------------------------------------------------------------------------------------------------

figure() { printf '%-58s %14s   %s\n' "$1" "$2" "${3:-}"; } # NAME VALUE TARGET-AND-PEER
calc() { awk "BEGIN { printf \"%.${2:-2}f\", $1 }"; }
value() { sed -n "s/^\(.* \)\?$1=\([^ ]*\).*/\2/p" <<<"$2"; } # NAME LINE
ms() { calc "$1 / 1000"; }

# Nanoseconds of processor time of all threads so far.
cpu_ns() {
    if [ -r "/proc/$1/schedstat" ]; then
        cat /proc/"$1"/task/*/schedstat | awk '{ s += $1 } END { printf "%.0f", s }'
    else
        awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%.0f", ($12 + $13) * 1e9 / hz }' "/proc/$1/stat"
    fi
}

memory() { awk -v n="$2:" '$1 == n { print $2 }' "/proc/$1/smaps_rollup"; } # PID NAME, KiB

# --- the gateway and the mock -------------------------------------------------------------------------------------

pin=()
[ "$(nproc)" -gt 1 ] && taskset -c 0 true 2>/dev/null && pin=(taskset -c 0)
start_background mock "${pin[@]}" "$build/tests/fakes/mock_model" --fixed $chunks
mock=http://127.0.0.1:${ready##*port=}
start_background logged "$build/tests/fakes/mock_model" --fixed $chunks --log "$tmp/requests"
logged=http://127.0.0.1:${ready##*port=}

settings() { # DURABILITY
    configure <<CONF
durability = "$1";
logging : { level = "warn"; };
providers : {
    # a window that the longest history fits into, else it would be compacted
    mock : { type = "openai"; base_url = "$mock/v1"; api_key = "bench"; models = ( { name = "mock-1"; context = $window; } ); };
    logged : { type = "openai"; base_url = "$logged/v1"; api_key = "bench"; models = ( { name = "mock-1"; context = $window; } ); };
    anthropic : { api_key = "bench"; };
    ollama : { base_url = "$mock"; };
    demo : { type = "demo"; };
};
agents : {
    main : { model = "mock/mock-1"; };
    logged : { model = "logged/mock-1"; };
};
CONF
}

load() { "$bench/load" "$gateway_port" "$@"; }

# The bytes of the request that a session of the agent `logged` sends, into $tmp/body.
capture() { # SESSION
    "$build/chela" agent --session "$1" -m 'a message of the bench' >/dev/null
    tail -n 1 "$tmp/requests" | tr -d "\0" | jq -c .body >"$tmp/body"
}

echo "machine: $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)," \
    "state on $(stat -f -c %T "$tmp"), load average $(cut -d' ' -f1 /proc/loadavg)"
[ ${#pin[@]} -gt 0 ] && echo "the mock model is pinned to one core" || echo "the mock model is not pinned"

# --- start ----------------------------------------------------------------------------------------------------------

settings process
start_gateway && stop_gateway # makes the database
empty=$("$bench/start" "$starts" "$bench/empty")
daemon=$("$bench/start" "$starts" --listens "$build/chelad" --ready-fd 3)
empty_us=$(value ready_us "$empty")
echo
echo "-- start (median of $starts)"
figure "an empty program with the same libraries" "$(ms "$empty_us") ms" "$(ms "$(value cpu_us "$empty")") ms of the processor"
figure "chelad, until it listens" "$(ms "$(value listening_us "$daemon")") ms" \
    "target: 5 ms above the empty program, it is $(calc "($(value listening_us "$daemon") - $empty_us) / 1000")"
figure "chelad, until it is ready" "$(ms "$(value ready_us "$daemon")") ms" "$(ms "$(value cpu_us "$daemon")") ms of the processor"

# --- memory ---------------------------------------------------------------------------------------------------------

start_gateway
wait_for_line "$CHELA_STATE_DIR/gateway.json" port >/dev/null
echo
echo "-- memory when idle"
dirty=$(memory "$gateway_pid" Private_Dirty) pss=$(memory "$gateway_pid" Pss)
figure "private dirty" "$(calc "$dirty / 1024") MiB" "target: 3 MiB"
figure "proportional (Pss)" "$(calc "$pss / 1024") MiB"
connections=200
mkfifo "$tmp/idle.end"
load idle $connections <"$tmp/idle.end" >"$tmp/idle" &
exec 9>"$tmp/idle.end"
wait_for_line "$tmp/idle" connections >/dev/null
figure "each idle WebSocket connection ($connections)" \
    "$(calc "($(memory "$gateway_pid" Private_Dirty) - $dirty) / $connections" 1) KiB" "private dirty"
exec 9>&-
wait $!

# --- latency and rate -----------------------------------------------------------------------------------------------

capture agent:logged:first
echo
echo "-- the same request ($(stat -c %s "$tmp/body") bytes, answer of $chunks pieces) sent straight to the mock by libcurl"
direct=$("$bench/curl_rate" "$mock/v1/chat/completions" "$tmp/body" 1 "$run_ms")
figure "to the first delta, p50 / p99" "$(ms "$(value first_p50 "$direct")") / $(ms "$(value first_p99 "$direct")") ms"
figure "to the final, p50 / p99" "$(ms "$(value final_p50 "$direct")") / $(ms "$(value final_p99 "$direct")") ms"
declare -A limit=()
for n in 1 50 500; do
    line=$("$bench/curl_rate" "$mock/v1/chat/completions" "$tmp/body" $n "$run_ms")
    limit[curl-$n]=$(value rate "$line")
    figure "requests per second, $n at a time" "$(calc "${limit[curl-$n]}" 0)" "$(value cpu_us "$line") us of its processor time each"
done
stop_gateway

disk=$("$bench/disk" "$tmp" 1000)
echo
echo "-- limits of the store"
figure "the disk: 4 KiB appended and fdatasync, p50 / p99" "$(ms "$(value p50 "$disk")") / $(ms "$(value p99 "$disk")") ms"
if [ -f "$top/tests/bench/store_bench.c" ] && make -C "$build" -s tests/bench/store_bench >/dev/null; then
    CHELA_TEST_BUILDDIR=$build "$bench/store_bench" >"$tmp/store"
    kind=power
    while read -r a b _ d e _; do
        case "$a $b" in
        "-- durability") kind=${d//[\";]/} ;;
        "turns, "*) limit[$kind-$b]=$e && figure "turns' commits per second, $b in flight, \"$kind\"" "$e" ;;
        esac
    done <"$tmp/store"
fi

lower() { # A B: the smaller that is known
    [ -n "$2" ] && [ "$(calc "$2 < $1" 0)" = 1 ] && echo "$2 store" || echo "$1 libcurl"
}

for durability in process power; do
    settings $durability
    start_gateway
    load turns 1 300 "warm" >/dev/null
    cpu=$(cpu_ns "$gateway_pid")
    line=$(load turns 1 "$run_ms" "one-$durability")
    cpu=$(($(cpu_ns "$gateway_pid") - cpu))
    added=$([ $durability = process ] && echo "target: under 1 ms added" || echo "target: two fdatasync ($(calc "2 * $(value p50 "$disk") / 1000") ms) and 1 ms")
    echo
    echo "-- durability \"$durability\": one turn after the other ($(value turns "$line"))"
    figure "added to the first delta, p50 / p99" \
        "$(calc "($(value first_p50 "$line") - $(value first_p50 "$direct")) / 1000") / $(calc "($(value first_p99 "$line") - $(value first_p99 "$direct")) / 1000") ms" "$added"
    figure "added to the final, p50 / p99" \
        "$(calc "($(value final_p50 "$line") - $(value final_p50 "$direct")) / 1000") / $(calc "($(value final_p99 "$line") - $(value final_p99 "$direct")) / 1000") ms" "$added"
    figure "processor time of a turn" "$(calc "$cpu / 1000 / $(value turns "$line")" 0) us"
    for n in 1 50 500; do
        [ $n = 1 ] || line=$(load turns $n "$run_ms" "rate-$durability-$n")
        rate=$(value rate "$line")
        read -r least whose <<<"$(lower "${limit[curl-$n]}" "${limit[$durability-$n]:-}")"
        figure "turns per second, $n sessions" "$(calc "$rate" 0)" \
            "$(calc "100 * $rate / $least" 0) % of the lower limit ($whose: $(calc "$least" 0)); target: 70 %"
    done
    stop_gateway
done

# --- long histories -------------------------------------------------------------------------------------------------

settings process
start_gateway
echo
echo "-- processor time of a turn by length of its session, less that of libcurl posting the same bytes"
base=
for n in $histories; do
    # short sessions are several, so that none grows by much while it is measured
    sessions=$([ "$n" -lt 100 ] && echo 40 || echo 1) turns=$([ "$n" -ge 10000 ] && echo 20 || echo 120)
    for ((i = 0; i < sessions; i++)); do
        load inject "agent:main:history-$n-$i" "$n" >/dev/null
    done
    load inject "agent:logged:history-$n" "$n" >/dev/null
    capture "agent:logged:history-$n"
    load chain $sessions 60000 "history-$n" $sessions >/dev/null # reads them from the store once
    cpu=$(cpu_ns "$gateway_pid")
    line=$(load chain $sessions 60000 "history-$n" "$turns")
    cpu=$(calc "($(cpu_ns "$gateway_pid") - $cpu) / 1000 / $turns" 1)
    direct=$("$bench/curl_rate" "$mock/v1/chat/completions" "$tmp/body" 1 10000 "$turns")
    own=$(calc "$cpu - $(value cpu_us "$direct")" 1)
    base=${base:-$own}
    figure "$n messages (request of $(calc "$(value bytes "$direct") / 1024" 0) KiB)" "$(calc "$own" 0) us" \
        "whole $(calc "$cpu" 0), libcurl $(calc "$(value cpu_us "$direct")" 0); $(calc "$own / $base" 2) times that at 10; target: 1.5"
done
stop_gateway
