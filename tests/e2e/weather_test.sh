#!/bin/bash
# The weather example: two model calls, one tool call, and the message arrays as drawn there, for both wire forms.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
export CHELA_PLUGIN_PATH="$CHELA_PLUGIN_PATH:$build/tests/plugin/.libs"

conversation() { # NAME CONFIG: asks, and keeps the two requests in $first and $second
    configure <<END
providers : { model : { $2 }; };
tools : { weather : { type = "weather"; }; files : { enabled = false; }; exec : { enabled = false; }; };
agents : { main : { model = "model/mock-1"; max_tokens = 4096; temperature = 0.7; }; };
END
    : >"$tmp/requests"
    rm -rf "$CHELA_STATE_DIR"
    start_gateway
    run chela agent -m 'Beijing weather, and a tip for the trip
mock: tool get_weather {"city":"北京"}
mock: say 北京今天晴天，28°C，湿度45%。建议穿短袖☀️'
    is "$status" 0 "$1: the turn ends well"
    like "$out" "北京今天晴天，28°C" "$1: the answer arrives, in its own characters"
    is "$(wc -l <"$tmp/requests")" 2 "$1: the model was called twice"
    first=$(sed -n 1p "$tmp/requests") second=$(sed -n 2p "$tmp/requests")
    stop_gateway
}

at() { # JSON FILTER: of jq, on the request's body
    jq -c ".body | $2" <<<"$1"
}

conversation "chat completions" "type = \"openai\"; base_url = \"http://127.0.0.1:$mock_port/v1\";"
is "$(at "$first" '[.messages[].role]')" '["system","user"]' "first call: system and user"
is "$(at "$first" '[.tools[].function.name | select(test("get_weather|web_search"))]')" \
    '["get_weather","web_search"]' "both tools are offered, sorted by name"
is "$(at "$first" '.temperature')" 0.7 "the temperature is passed on"
is "$(at "$second" '[.messages[].role]')" '["system","user","assistant","tool"]' \
    "second call: the assistant's call and its result follow"
is "$(at "$second" '.messages[2].tool_calls[0].function.arguments | fromjson')" '{"city":"北京"}' \
    "arguments go as a string"
is "$(at "$second" '.messages[3].tool_call_id == .messages[2].tool_calls[0].id')" true "the result names its call"
is "$(at "$second" '.messages[3].content | fromjson')" '{"temp":28,"condition":"晴","humidity":"45%"}' \
    "the result is the tool's"
is "$(at "$second" '.messages[:2]')" "$(at "$first" '.messages')" "the prompt's beginning stays the same bytes"

conversation "Messages" "type = \"anthropic\"; base_url = \"http://127.0.0.1:$mock_port\"; models = ( { name = \"mock-1\"; } );"
is "$(at "$first" 'if .system then [.messages[].role] else "no system" end')" '["user"]' "system is taken out of the messages"
is "$(at "$first" '.max_tokens')" 4096 "max_tokens is passed on"
is "$(at "$first" '.tools[0] | keys | map(select(. != "cache_control" and . != "eager_input_streaming"))')" '["description","input_schema","name"]' "tools have an input_schema"
is "$(at "$second" '[.messages[].role]')" '["user","assistant","user"]' "the result comes as a user message"
is "$(at "$second" '[.messages[1].content[] | [.type, .name, .input]]')" \
    '[["tool_use","get_weather",{"city":"北京"}]]' "the call is a tool_use block"
is "$(at "$second" '[.messages[2].content[] | [.type, (.content | fromjson | .temp)]]')" \
    '[["tool_result",28]]' "the result is a tool_result block"
is "$(at "$second" '.messages[2].content[0].tool_use_id == .messages[1].content[0].id')" true "and names its call"

done_testing
