#!/bin/bash
# 64 tool calls at once: one is slow, one crashes, one prints a gigabyte. Results come in the order of the calls, memory
# stays bounded, the others are unharmed.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$PWD";
    tools : { security = "full"; high_risk_free = true; }; }; };
END
start_gateway
before=$(awk '/VmRSS/ {print $2}' "/proc/$gateway_pid/status")

calls=()
for i in {1..64}; do
    case $i in
    3) line='timeout 2 tail -f /dev/null; echo result 3' ;;
    7) line='echo result 7; kill -SEGV $$' ;;
    11) line='head -c 1073741824 /dev/zero | tr "\\000" x; echo; echo result 11' ;;
    *) line="echo result $i" ;;
    esac
    calls+=("tool exec {\"command\":\"${line//\"/\\\"}\",\"pty\":false,\"yieldMs\":0}")
done
script=$(printf ' && %s' "${calls[@]}")
# the second and later calls of the mock's line begin with the tool's name
script=${script# && }
script="tool ${script//tool exec/exec}"
RUN_TIMEOUT=300 run chela agent -m "mock: $script"
is "$status" 0 "the turn ends well"
last=$(tail -n 1 "$tmp/requests")
is "$(jq '[.body.messages[] | select(.role == "tool")] | length' <<<"$last")" 64 "there are 64 results"
is "$(jq -r '[.body.messages[] | select(.role == "tool") | .content | (capture("result (?<n>[0-9]+)") // {n:"?"}) | .n] | join(" ")' <<<"$last")" \
    "$(seq -s ' ' 1 64)" "in the order of the calls, whichever ended first"
is "$(jq -r '.body.messages as $m | [$m[] | select(.role == "assistant") | .tool_calls[]?.id] == [$m[] | select(.role == "tool") | .tool_call_id]' <<<"$last")" \
    true "each names its call"
content() { jq -r "[.body.messages[] | select(.role == \"tool\")][$1 - 1].content" <<<"$last"; }
like "$(content 7)" 'ended by signal 11' "the one that crashed says so"
like "$(content 11)" 'bytes left out' "the gigabyte is shortened"
ok test "$(content 11 | wc -c)" -lt 70000 -- "to what a result may have"
is "$(content 12)" 'result 12' "the others are unharmed"
peak=$(awk '/VmHWM/ {print $2}' "/proc/$gateway_pid/status")
diag "resident before: $before kB, at most: $peak kB"
[ -n "${CHELA_TEST_SANITIZER:-}" ] || ok test "$peak" -lt $((before + 120000)) -- "memory stays bounded"
stop_gateway
is "$status" 0 "the gateway ends well"
done_testing
