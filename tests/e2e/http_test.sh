#!/bin/bash
# HTTP on the gateway's port: what is off, who is let in, limits, single tools, hooks, metrics.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

write_config() { # TEXT of the gateway group
    printf 'gateway : { port = 0; %s };\nproviders : { demo : { type = "demo"; }; };\n' "$1" >"$CHELA_CONFIG"
    printf 'agents : { main : { workspace = "%s"; }; };\n' "$tmp/work" >>"$CHELA_CONFIG"
    chmod 600 "$CHELA_CONFIG"
}

# http METHOD PATH [CURL ARGUMENTS...]: fills $code, $body, $head
http() {
    local method=$1 path=$2
    shift 2
    code=$(curl -s --max-time 30 -X "$method" -o "$tmp/body" -D "$tmp/head" -w '%{http_code}' "$@" \
        "http://127.0.0.1:$gateway_port$path")
    body=$(tr -d '\0' <"$tmp/body")
    head=$(<"$tmp/head")
}

json() { http POST "$1" -H 'content-type: application/json' -H "authorization: Bearer $token" "${@:3}" -d "$2"; }

write_config ''
start_gateway
token=$(<"$CHELA_STATE_DIR/gateway.token")
is "$(stat -c %a "$CHELA_STATE_DIR/gateway.token")" 600 "the token that the first start made is its owner's alone"
for path in /v1/chat/completions /v1/responses /v1/messages /v1/embeddings /api/chat /tools/invoke /hooks/agent /hooks/wake; do
    json "$path" '{}'
    is "$code" 404 "$path is off until it is turned on"
    like "$body" 'this is off: set gateway\.' "and says how"
done
for path in /healthz /readyz /startupz; do
    http GET "$path"
    is "$code" 200 "$path answers without a secret"
done
http GET /metrics
is "$code" 401 "/metrics wants the secret"
like "$head" 'WWW-Authenticate: Bearer' "and says which"
http GET /metrics -H "authorization: Bearer $token"
like "$code $body" '^200 .*# TYPE chela_' "with it they come as Prometheus reads them"
stop_gateway

write_config 'body_limit = "64k"; http : { openai = true; anthropic = true; ollama = true; tools = true; max_turns = 1; };
    hooks : { enabled = true; token = "a-token-for-hooks-only"; };'
start_gateway
http POST /v1/chat/completions -d '{}'
is "$code" 401 "without the secret: 401"
is "$(jq -r .error.type <<<"$body")" invalid_api_key "in OpenAI's words"
http POST /v1/messages -H 'x-api-key: no' -d '{}'
is "$(jq -r '.type + " " + .error.type' <<<"$body")" 'error authentication_error' "in Anthropic's words"
http POST /v1/chat/completions -H "authorization: Bearer $token" -H 'origin: http://evil.example' -d '{}'
is "$code" 403 "a page of another site is refused before anything else"
http POST /v1/chat/completions -H "authorization: Bearer $token" -H 'host: evil.example' -d '{}'
is "$code" 403 "and a name that was rebound to this machine"
json /v1/chat/completions 'no json'
is "$code" 400 "what is no JSON: 400"
http GET /v1/chat/completions -H "authorization: Bearer $token"
is "$code" 405 "another method: 405"
head -c 70000 /dev/zero | tr '\0' x >"$tmp/large"
http POST /v1/chat/completions -H "authorization: Bearer $token" --data-binary "@$tmp/large"
is "$code" 413 "a body above gateway.body_limit: 413"
json /v1/chat/completions '{"model":"chela","messages":[{"role":"user","content":"hello"}]}'
is "$code" 200 "a completion comes"
like "$(jq -r '.choices[0].message.content' <<<"$body")" 'demo' "from the demo model"
json /v1/chat/completions '{"model":"chela","messages":[{"role":"user","content":"/status"}]}'
unlike "$(jq -r '.choices[0].message.content' <<<"$body")" 'queue' "a prompt that begins with a slash is no command"
run chela sessions --json
unlike "$out" ':openai:' "sessions that were made for one request don't stand in the list"
json /v1/embeddings '{"model":"demo/demo","input":"text"}'
is "$code" 400 "a provider without embeddings says so"

# a browser's requests count as guesses even from this machine
for _ in {1..10}; do
    http GET /v1/models -H 'authorization: Bearer wrong' -H "origin: http://127.0.0.1:$gateway_port"
done
http GET /v1/models -H "authorization: Bearer $token" -H "origin: http://127.0.0.1:$gateway_port"
is "$code" 429 "after ten wrong secrets a page has to wait"
like "$head" 'Retry-After: (29|30)[0-9]' "five minutes"
http GET /v1/models -H "authorization: Bearer $token"
is "$code" 200 "a program on this machine does not"

echo 'found me' >"$tmp/work/note.txt"
json /tools/invoke '{"tool":"read","args":{"path":"note.txt"}}'
is "$code" 200 "a tool that only reads runs"
like "$(jq -r '.result.content[0].text' <<<"$body")" 'found me' "and its result comes"
json /tools/invoke '{"tool":"read","args":{"nonsense":1}}'
is "$code" 400 "its arguments are checked"
for name in exec process write edit apply_patch cron gateway sessions_send; do
    json /tools/invoke "{\"tool\":\"$name\",\"args\":{\"command\":\"id\",\"path\":\"x\",\"content\":\"x\"}}"
    is "$code" 403 "$name is never run by HTTP"
done
json /tools/invoke '{"tool":"no_such_tool"}'
is "$code" 404 "an unknown tool: 404"

http POST /hooks/agent -H "authorization: Bearer $token" -d '{"message":"hi"}'
is "$code" 401 "the gateway's secret opens no hook"
http POST "/hooks/agent?token=a-token-for-hooks-only" -d '{"message":"hi"}'
is "$code" 401 "nor does a token in the address"
http GET /v1/models -H 'authorization: Bearer a-token-for-hooks-only'
is "$code" 401 "and the hooks' token opens nothing else"
hook() { http POST "$1" -H 'authorization: Bearer a-token-for-hooks-only' "${@:3}" -d "$2"; }
hook /hooks/agent '{"message":"hello","name":"ci","waitForCompletion":true}'
is "$(jq -r '"\(.ok) \(.status)"' <<<"$body")" 'true ok' "a hook's task runs"
like "$(jq -r .text <<<"$body")" 'demo' "and answers where it was waited for"
hook /hooks/agent '{"message":"hello"}' -H 'idempotency-key: once-1'
first=$(jq -r .runId <<<"$body")
hook /hooks/agent '{"message":"hello"}' -H 'idempotency-key: once-1'
is "$(jq -r .runId <<<"$body")" "$first" "the same Idempotency-Key is the same run"
hook /hooks/wake '{"text":"the build is broken","mode":"next-heartbeat"}'
is "$code" 200 "an event can wait for the next turn"
hook /hooks/wake '{"text":"the build is broken"}'
is "$(jq -r .ok <<<"$body")" true "or begin one"
hook /hooks/wake '{}'
is "$code" 400 "without a text there is nothing to say"
stop_gateway
is "$status" 0 "the gateway ends well"

write_config 'hooks : { enabled = true; token = "short"; };'
run "$build/chelad" --check
isnt "$status" 0 "a short token for hooks is refused at the check"
write_config "hooks : { enabled = true; token = \"$token\"; };"
RUN_TIMEOUT=20 run "$build/chelad"
isnt "$status" 0 "and the gateway's own token at the start"
like "$err" 'own secret' "with the reason"

done_testing
