#!/bin/bash
# A real model: llama.cpp (the npm package node-llama-cpp) with stories260K, behind a small front that speaks the
# chat completions API and llama.cpp's own. A story streams from it through provider, turn and gateway to the client; the
# native endpoint tells the same one, and a grammar forces a call.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need llama node-llama-cpp/dist/index.js
model=$shared/testdata/model/stories260K.gguf
[ -e "$model" ] || skip_all "the model is not there: $model (CHELA_SHARED names the folder of test data)"
PEER_READY=120 start_peer front '^listening on port' "$node" "$here/llama_front.mjs" "$peer_file" "$model"
front=http://127.0.0.1:${ready##* }/v1

configure <<END_OF_CONFIG
providers : { vllm : { type = "openai"; preset = "vllm"; base_url = "$front"; models = ( { name = "stories260K"; } ); }; };
tools : { files : { enabled = false; }; exec : { enabled = false; }; };
agents : { main : { model = "vllm/stories260K"; }; };
END_OF_CONFIG
start_gateway
start_relay "$gateway_port"

run chela agent --gateway "127.0.0.1:$relay_port" -m 'Once upon a time'
is "$status" 0 "the turn ends well" || diag "$err"
story=$out
like "$story" '^, there was a (little )?[a-z]+' "the model goes on with the story"
[ "$(wc -w <<<"$story")" -ge 30 ]
point $? "in at least thirty words: $(wc -w <<<"$story")" || diag "$story"

said=$(wait_for_line "$tmp/front.log" '^streamed')
like "$said" '^streamed [0-9]{2,} pieces' "the model's front streamed it: $said"
deltas=$(frames gateway 'map(select(.event == "chat" and .payload.state == "delta") | .payload.deltaText)')
[ "$(jq length <<<"$deltas")" -ge 2 ]
point $? "it reached the client in several deltas: $(jq length <<<"$deltas")" || diag "$deltas"
is "$(jq -r 'add' <<<"$deltas")" "$story" "which together are the story"
is "$(frames gateway 'map(select(.event == "agent" and .payload.stream == "usage") | .payload.data.output > 0)')" \
    '[true]' "its tokens are counted"
is "$(frames gateway 'map(select(.event == "chat" and .payload.state == "final")) | length')" 1 "and it has one end"
check_frames "all frames are as OpenClaw publishes them"

run chela agent -m 'Lily wanted to'
is "$status" 0 "another story in the same session" || diag "$err"
like "$out" '[a-z]+ [a-z]+ [a-z]+' "comes too"
stop_gateway

# --- the native endpoint ------------------------------------------------------------------------------------------------
native=${front%/v1}
configure <<END_OF_CONFIG
providers : { here : { type = "llama.cpp"; base_url = "$native"; }; };
tools : { files : { enabled = false; }; exec : { enabled = false; }; };
END_OF_CONFIG
start_gateway
run chela models
like "$out" "here/stories260K +4096 +0 +0 +0 +local" "native: the server says which model it has, and its window"
run chela agent -m 'Once upon a time' -s native --json
is "$status:$(jq -r '.result.payloads[0].text' <<<"$out")" "0:$story" "native: the same story, by /apply-template and /completion"
is "$(jq -r '.result.meta.stopReason, (.result.meta.agentMeta.usage | .input > 0 and .output > 0)' <<<"$out" | tr '\n' ' ')" \
    "length true " "native: it ends at the limit of tokens, and they are counted"
like "$(wait_for_line "$tmp/front.log" '^completed')" '^completed [0-9]{2,} pieces, limit' "native: it was streamed"
run chela models probe here/stories260K
like "$status:$out" '^0:here/stories260K answers in ' "native: a probe is answered"
stop_gateway

# a tool call by force: whatever the model is like, the grammar lets it write nothing else
export CHELA_PLUGIN_PATH="$CHELA_PLUGIN_PATH:$build/tests/plugin/.libs"
configure <<END_OF_CONFIG
providers : { here : { type = "llama.cpp"; base_url = "$native"; tool_calls = "schema"; }; };
tools : { weather : { type = "weather"; }; files : { enabled = false; }; exec : { enabled = false; }; };
END_OF_CONFIG
start_gateway
run chela agent -m 'Once upon a time' -s forced
like "$(wait_for_line "$tmp/front.log" 'by a schema')" '^completed [0-9]+ pieces, (limit|eos), by a schema' "native: the engine wrote by the schema"
unlike "$out" '"calls"' "native: and what it wrote is read as an answer or a call, not shown as JSON"
stop_gateway
is "$status" 0 "native: the gateway ends well" || diag "$(tail -n 20 "$tmp/gateway.log")"

done_testing
