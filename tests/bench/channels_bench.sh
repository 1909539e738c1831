#!/bin/bash
# 50 accounts of a channel and 5,000 chats on one gateway, against a service in C: what a chat costs in memory, a message
# in processor time, and how long others wait while one person floods. CHELA_TEST_QUICK=1: a tenth of it.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
tap_ended=1 # no test: tap.sh is here for its places and its background programs

accounts=50 chats=100
[ -z "${CHELA_TEST_QUICK:-}" ] || chats=10
make -C "$build" -s tests/fakes/fake_telegram tests/fakes/mock_model >/dev/null
figure() { printf '%-58s %14s   %s\n' "$1" "$2" "${3:-}"; } # NAME VALUE TARGET-AND-PEER
calc() { awk "BEGIN { printf \"%.${2:-2}f\", $1 }"; }
cpu_ns() { cat /proc/"$1"/task/*/schedstat | awk '{ s += $1 } END { printf "%.0f", s }'; }
memory() { awk -v n="$2:" '$1 == n { print $2 }' "/proc/$1/smaps_rollup"; } # PID NAME, KiB

start_background mock "$build/tests/fakes/mock_model" --fixed 3
model=http://127.0.0.1:${ready##*port=}
start_background bot "$build/tests/fakes/fake_telegram" --token 4242:test --log "$tmp/calls"
bot=http://127.0.0.1:${ready##*port=}
{
    echo 'durability = "process"; logging : { level = "warn"; };'
    echo "providers : { mock : { type = \"openai\"; base_url = \"$model/v1\"; api_key = \"bench\"; models = ( { name = \"mock-1\"; } ); }; };"
    echo 'agents : { main : { model = "mock/mock-1"; }; };'
    echo 'session : { dm_scope = "per-account-channel-peer"; };'
    echo 'channels : {'
    for ((i = 0; i < accounts; i++)); do
        echo "bot$i : { type = \"telegram\"; token = \"4242:test\"; base_url = \"$bot/$i\"; commands = false; dm_policy = \"open\"; allow_from = [ \"*\" ]; };"
    done
    echo '};'
} | configure
start_gateway
wait_polls() { [ "$(timeout 60 tail -n +1 -F "$tmp/calls" 2>/dev/null | grep -m "$1" -c '"getUpdates"')" -ge "$1" ]; }
wait_polls "$accounts" || bail "not all accounts poll"
people() { curl -s --max-time 600 -X POST "$bot/control/people?accounts=$1&chats=$2&times=$3&slow=${4:-}" --data-binary 'How are you?'; }

all=$((accounts * chats))
idle=$(memory "$gateway_pid" Private_Dirty)
figure "$accounts accounts that poll: private dirty" "$(calc "$idle / 1024" 1) MiB" "$(calc "$idle / $accounts" 0) KiB each"
for round in first second; do
    before=$(cpu_ns "$gateway_pid") began=$(date +%s%N)
    said=$(people $accounts $chats 1)
    after=$(cpu_ns "$gateway_pid") ended=$(date +%s%N)
    now=$(memory "$gateway_pid" Private_Dirty)
    figure "$all chats, their $round message: each is answered after" "$(calc "$(jq .p50 <<<"$said") / 1000" 1) s" \
        "p95 $(calc "$(jq .p95 <<<"$said") / 1000" 1) s, $(calc "$all * 1e9 / ($ended - $began)" 0) messages a second"
    figure "  processor time of a message" "$(calc "($after - $before) / $all / 1e6") ms" "with its turn and the answer's way out"
    figure "  private dirty" "$(calc "$now / 1024" 1) MiB" "$(calc "($now - $idle) / $all") KiB for each chat"
done
quiet=$(people 10 5 1)
flooded=$(people 10 5 1 1)
figure "50 chats alone: answered after (p50, max)" "$(jq '.p50 | round' <<<"$quiet") ms" "$(jq '.max | round' <<<"$quiet") ms"
figure "the same while one person says 500 things" "$(jq '.p50 | round' <<<"$flooded") ms" "$(jq '.max | round' <<<"$flooded") ms"
stop_gateway
