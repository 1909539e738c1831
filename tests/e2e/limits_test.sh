#!/bin/bash
# What chela.conf says of the server's limits and of the way out holds in the running daemon.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -x "$build/chelad" ] || skip_all "chelad is not built here"
[ -e "$build/plugins/.libs/provider_openai.so" ] || skip_all "provider_openai is not built here"
start_background model "$build/tests/fakes/mock_model" --log "$tmp/requests"
configure <<CONF
network : { proxy = "http://127.0.0.1:${ready##*port=}"; no_proxy = [ "direct.invalid" ]; };
providers : { far : { type = "openai"; base_url = "http://service.invalid/v1"; api_key = "k-12345678"; };
              near : { type = "openai"; base_url = "http://direct.invalid/v1"; api_key = "k-12345678"; }; };
models : { retries = 0; };
CONF
unset no_proxy
export CHELA_GATEWAY__MAX_CONNECTIONS=2 CHELA_GATEWAY__FRAME_LIMIT=4096 CHELA_GATEWAY__HANDSHAKE_TIMEOUT=100ms
start_gateway
trap "" PIPE # the server may close while something is still written

connect() { # FD: one more connection, with one request that keeps it alive
    eval "exec $1<>/dev/tcp/127.0.0.1/$gateway_port"
    printf 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n' >&"$1"
}
connect 5
read -r -t 10 line <&5
like "$line" "200" "a connection is served"
connect 6
read -r -t 10 line <&6
like "$line" "200" "a second one, too"
connect 7
line=$(timeout 10 head -c 12 <&7)
is "$line" "" "the third is beyond gateway.max_connections"
exec 5>&- 6>&- 7>&-

until chela status >"$tmp/status" 2>&1; do :; done # the server has seen that they are closed
exec 5<>"/dev/tcp/127.0.0.1/$gateway_port"
printf 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n%s\r\n%s\r\n\r\n' \
    'Sec-WebSocket-Version: 13' 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' >&5
text=$(timeout 8 cat <&5 | tr -d '\0')
like "$text" "connect did not come in time" "a client that doesn't log in is closed after gateway.handshake_timeout"
exec 5>&-

run chela agent --model far/mock-1 -m "hello"
like "$out" "You said: hello" "the service is reached through network.proxy"
like "$(cat "$tmp/requests")" '"path":"http://service.invalid/v1/chat/completions"' "which was told the whole URL"
run chela agent --model near/mock-1 -m "hello"
isnt "$status" 0 "what network.no_proxy names is reached directly"
unlike "$(cat "$tmp/requests")" 'direct.invalid' "without the proxy"
run chela agent -m "$(head -c 5000 /dev/zero | tr '\0' x)"
isnt "$status" 0 "a frame beyond gateway.frame_limit is refused"

done_testing
