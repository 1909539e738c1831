#!/bin/bash
# `chela mcp serve`: the gateway as an MCP server on standard input and output, spoken to line by line, and by the
# gateway's own client.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -e "$build/tests/plugin/.libs/channel_spool.so" ] || skip_all "the test's channel is not built here"
[ -e "$build/plugins/.libs/provider_openai.so" ] || skip_all "provider_openai is not built here"
[ -e "$build/plugins/.libs/tool_mcp.so" ] || skip_all "tool_mcp is not built here"
export CHELA_PLUGIN_PATH="$CHELA_PLUGIN_PATH:$build/tests/plugin/.libs"
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
model_port=${ready##*port=}
# the server finds this gateway by its socket's port, which is known only once it runs
cat >"$tmp/self" <<'END'
#!/bin/bash
read -r CHELA_GATEWAY_PORT <"$SELF/port"
export CHELA_GATEWAY_PORT CHELA_STATE_DIR="$SELF/state" CHELA_CONFIG="$SELF/chela.conf" XDG_RUNTIME_DIR="$SELF/run"
exec "$BUILD/chela" mcp serve
END
chmod 755 "$tmp/self"
configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$model_port/v1"; }; };
agents : { main : { model = "model/mock-1"; }; };
channels : { spool : { in = "$tmp/in"; out = "$tmp/out"; }; };
tools : { mcp : { type = "mcp"; servers = (
    { name = "self"; command = "$tmp/self"; idle = "1h";
      env = ( { name = "SELF"; value = "$tmp"; }, { name = "BUILD"; value = "$build"; }, { name = "PATH"; value = "$PATH"; } );
    } ); }; };
END
mkfifo "$tmp/port"
: >"$tmp/out"
start_gateway

n=0
lines=()
ask() { # METHOD PARAMS: adds a request
    n=$((n + 1))
    lines+=("{\"jsonrpc\":\"2.0\",\"id\":$n,\"method\":\"$1\",\"params\":$2}")
}
send() { # fills $out
    printf '%s\n' "${lines[@]}" >"$tmp/lines"
    timeout 60 "$build/chela" mcp serve <"$tmp/lines" >"$tmp/answers" 2>"$tmp/errors"
    status=$?
    lines=() n=0
    out=$(cat "$tmp/answers")
}
answer() { jq -c "select(.id == $1) | $2" <<<"$out"; }

ask initialize '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}'
lines+=('{"jsonrpc":"2.0","method":"notifications/initialized"}')
ask tools/list '{}'
ask tools/call '{"name":"message_send","arguments":{"session":"agent:main:main","message":"mock: say hello back"}}'
ask tools/call '{"name":"messages_read","arguments":{"session":"agent:main:main","limit":10}}'
ask tools/call '{"name":"sessions_list","arguments":{}}'
ask tools/call '{"name":"channel_send","arguments":{"channel":"spool","to":"7","message":"by hand"}}'
ask tools/call '{"name":"channel_send","arguments":{"channel":"nowhere","to":"7","message":"x"}}'
ask tools/call '{"name":"message_send","arguments":{"session":"agent:main:main"}}'
ask tools/call '{"name":"nothing","arguments":{}}'
ask ping '{}'
ask resources/list '{}'
lines+=('no json at all' '[' '{"jsonrpc":"2.0","id":"last","method":"ping"}')
send
is "$status" 0 "it ends with its input"
is "$(answer 1 '[.result.protocolVersion, .result.serverInfo.name]')" '["2025-06-18","chela"]' "the client's version is agreed on"
is "$(answer 2 '[.result.tools[].name]')" '["sessions_list","messages_read","message_send","channel_send"]' "its tools"
is "$(answer 3 '[.result.content[0].text, .result.isError]')" '["hello back",false]' "a message is sent and its answer waited for"
like "$(answer 4 '.result.structuredContent')" 'hello back' "messages are read"
is "$(answer 5 '[.result.structuredContent.sessions[].key]')" '["agent:main:main"]' "sessions are listed"
is "$(answer 6 .result.isError)" false "a text goes to a channel"
like "$(wait_for_line "$tmp/out" 'by hand')" "send	7	" "and arrives"
is "$(answer 7 .result.isError)" true "a channel that isn't there is an error of the tool"
is "$(answer 8 .error.code)" -32602 "a missing argument is an error"
is "$(answer 9 .error.code)" -32602 "so is a tool that isn't there"
is "$(answer 10 .result)" '{}' "ping"
is "$(answer 11 .error.code)" -32601 "what it hasn't is said so"
is "$(answer null .error.code | paste -sd' ')" "-32700 -32700" "what is no JSON is refused"
is "$(answer '"last"' .result)" '{}' "and harms nothing"
is "$(jq -s length <<<"$out")" 14 "one answer for each request"

(while echo "$gateway_port" >"$tmp/port"; do :; done) &
writer=$!
run chela mcp probe self --json
is "$(jq -r '[.server, .version, (.toolList | length)] | join(" ")' <<<"$out")" "chela 2025-11-25 4" "the gateway's own client speaks to it"
run chela mcp call self message_send '{"session":"agent:main:other","message":"mock: say round and round"}'
is "$out" "round and round" "and starts a turn through it"
kill $writer
wait $writer 2>/dev/null
stop_gateway
is "$status" 0 "the gateway ends well"
run timeout 20 "$build/chela" mcp serve
isnt "$status" 0 "without a gateway it says so"
done_testing
