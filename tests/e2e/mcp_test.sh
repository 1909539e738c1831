#!/bin/bash
# MCP servers that behave badly, by the whole way: a model's call, the gateway, the server's process.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; }; };
models : { classifier = "model/mock-1"; };
tools : { security = "full"; mcp : { type = "mcp"; servers = (
    { name = "fake"; command = "$build/tests/fakes/fake_mcp"; args = ["$tmp/diary"];
      env = ( { name = "GIVEN"; value = "given"; } ); roots = [ "$tmp/work" ]; request_timeout = "20s"; },
    { name = "gone"; command = "/nonexistent/program"; } ); }; };
END
start_gateway
wait_for_line "$tmp/gateway.log" 'fake has 12 tools' >/dev/null
is "$(grep -c '^start' "$tmp/diary")" 1 "one process, although the list changed before the greeting"
like "$(wait_for_line "$tmp/diary" '^roots')" '"id":0.*file://.*/work' "a request with id 0 before the greeting is answered"

run chela mcp list --json
is "$(jq -c '[.servers[] | [.name, .state, .version]]' <<<"$out")" '[["fake","ready","2025-06-18"],["gone","restarting",null]]' \
    "an older version is agreed on; a program that is not there is tried again"
run chela mcp probe fake --json
is "$(jq -c '[.toolList[].name]' <<<"$out")" \
    '["fake__hang","fake__held","fake__release","fake__env","fake__ask","fake__crash","fake__progress","fake__grow","fake__change","fake__stray","fake__sample","fake__log"]' "both pages of tools"

"$build/chela" mcp call fake held >"$tmp/first" 2>&1 &
first=$!
wait_for_line "$tmp/diary" '^held' >/dev/null
run chela mcp call fake release
is "$out" second "a call is answered while another waits"
wait $first
is "$(cat "$tmp/first")" first "answers out of order reach their calls; a second answer and one to nothing are dropped"

run chela mcp call fake env
is "$out" given/clean "the server has the variables that it was given, and not the gateway's"

turn() { run chela agent -m "$1
mock: say done"; }
turn 'mock: tool fake__progress {}'
is "$status $out" "0 done" "a model's call goes through; progress and something that is no JSON in between"
is "$(tail -n 1 "$tmp/requests" | jq -r '.body.messages[-1].content')" whole "with its result"

"$build/chela" mcp call fake ask >"$tmp/asked" 2>&1 &
asked=$!
id=$(wait_for_line "$tmp/gateway.log" 'asks \(q1\)' >/dev/null && echo q1)
run chela mcp questions
like "$out" 'Which\?' "a server's question to the person is shown"
run chela mcp answer "$id" accept '{"colour":"blue"}'
wait $asked
is "$(cat "$tmp/asked")" blue "and answered"
"$build/chela" mcp call fake ask >"$tmp/asked" 2>&1 &
asked=$!
wait_for_line "$tmp/gateway.log" 'asks \(q2\)' >/dev/null
run chela mcp answer q2 accept
wait $asked
is "$(cat "$tmp/asked")" red "what is left out takes the form's default"

"$build/chela" mcp call fake sample >"$tmp/asked" 2>&1 &
asked=$!
wait_for_line "$tmp/gateway.log" 'asks \(q3\).*wants to ask a model' >/dev/null
run chela mcp answer q3 accept
wait $asked
is "$(cat "$tmp/asked")" "the model says so" "sampling: a model answers for the server, once a person has said yes"
"$build/chela" mcp call fake sample >"$tmp/asked" 2>&1 &
asked=$!
wait_for_line "$tmp/gateway.log" 'asks \(q4\)' >/dev/null
run chela mcp answer q4 decline
wait $asked
is "$(cat "$tmp/asked")" refused "and doesn't after a no"

run chela mcp call fake log
like "$(grep 'nearly full' "$tmp/gateway.log")" 'warn .*fake/part: the disk is nearly full' "what a server logs is in the log, with its level"
like "$(cat "$tmp/diary")" 'level .*"level":"info"' "it was told what to log"
run chela agent -m '/fake__greet Ada'
is "$status" 0 "a prompt of a server is a command"
like "$(wait_for_line "$tmp/requests" 'Please greet Ada')" 'Please greet Ada' "and what it says goes to the model"

turn 'mock: tool fake__crash {}'
is "$status" 0 "a server that crashes in a call does not end the turn"
like "$(tail -n 1 "$tmp/requests" | jq -r '.body.messages[-1].content')" 'signal 6' "the model is told"
like "$(grep 'about to crash' "$tmp/gateway.log")" 'fake: about to crash' "its standard error is in the log"
run chela mcp call fake env
is "$out" given/clean "the next call starts it anew"
is "$(grep -c '^start' "$tmp/diary")" 2 "once"

offered() { sed -n "${1}p" "$tmp/requests" | jq -c '[.body.tools[].function.name | select(test("grown"))]'; }
before=$(wc -l <"$tmp/requests")
run chela agent -m 'mock: tool fake__grow {}
mock: tool fake__grown {}
mock: say done'
is "$status $out" "0 done" "a list that changes in the middle of a turn"
is "$(offered $((before + 1))) $(offered $((before + 2)))" '[] []' "leaves the turn's tools as they were"
wait_for_line "$tmp/gateway.log" 'fake has 13 tools' >/dev/null
before=$(wc -l <"$tmp/requests")
turn 'mock: tool fake__grown {}'
is "$(offered $((before + 1)))" '["fake__grown"]' "the next turn has the new one"
is "$(tail -n 1 "$tmp/requests" | jq -r '.body.messages[-1].content')" "the new one" "and can call it"

# the last message that is no question and no answer, of the request before the last
told() { tail -n 2 "$tmp/requests" | head -n 1 | jq -r '.body.messages[-2].content | if type == "array" then .[0].text else . end'; }
turn 'mock: tool mcp_list_resources {"server":"fake"}'
like "$(tail -n 1 "$tmp/requests" | jq -r '.body.messages[-1].content')" 'mem://a' "resources are listed"
turn 'mock: tool mcp_read_resource {"server":"fake","uri":"mem://a"}'
like "$(tail -n 1 "$tmp/requests" | jq -r '.body.messages[-1].content')" 'what a holds' "and read"
turn 'mock: tool mcp_subscribe_resource {"server":"fake","uri":"mem://a"}'
is "$(tail -n 1 "$tmp/requests" | jq -r '.body.messages[-1].content')" Subscribed. "and subscribed to"
run chela mcp call fake change
turn 'mock: tool fake__env {}'
like "$(told)" 'mem://a of the server fake has changed' "the next turn of that session is told that it has changed"
turn 'mock: tool fake__env {}'
unlike "$(told)" 'has changed' "once"
run chela mcp call fake crash
run chela mcp call fake env
is "$(wait_for_line "$tmp/diary" '^subscribe' >/dev/null && grep -c '^subscribe mem://a' "$tmp/diary")" 2 \
    "a server that was started anew is subscribed to anew"

"$build/chela" agent -m 'mock: tool fake__hang {}' >"$tmp/hang" 2>&1 &
hang=$!
wait_for_line "$tmp/diary" '^hang' >/dev/null
pid=$(awk '/^start/ {pid = $2} END {print pid}' "$tmp/diary")
kill -KILL "$pid"
wait $hang
like "$(wait_for_line "$tmp/gateway.log" 'signal 9')" 'fake: it was ended by signal 9' "kill -9 in the middle of a call"

run chela mcp call fake env
is "$out" given/clean "and it is back"
stop_gateway
is "$status" 0 "the gateway ends well"
is "$(pgrep -f "$tmp/diary" || echo none)" none "no server is left"
unlike "$(cat "$tmp/gateway.log")" 'left .* behind' "and nothing else"
done_testing
