#!/bin/bash
# etc/Caddyfile in a real Caddy in front of the gateway: TLS, the page, the probes, WebSockets, and who is believed.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

caddy=$(PATH="$PATH:/usr/sbin:/sbin" command -v caddy) || skip_all "caddy is not installed"
command -v openssl >/dev/null || skip_all "openssl is not installed"
cat >"$CHELA_CONFIG" <<END_OF_CONFIG
gateway : { port = 0; allowed_hosts = ["chela.example"]; trusted_proxies = ["127.0.0.1"]; http : { openai = true; }; };
providers : { demo : { type = "demo"; }; };
agents : { main : { workspace = "$tmp/work"; }; };
END_OF_CONFIG
chmod 600 "$CHELA_CONFIG"
start_gateway
token=$(<"$CHELA_STATE_DIR/gateway.token")

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=chela.example \
    -addext subjectAltName=DNS:chela.example -keyout "$tmp/key.pem" -out "$tmp/cert.pem" >"$tmp/openssl.log" 2>&1
# the example as it is, but for its addresses: it listens on a socket of the test, with a certificate of the test
{
    printf '{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system %s\n}\n' "$tmp/storage"
    sed -e "s|^chela.example {|chela.example {\n\tbind unix/$tmp/front\n\ttls $tmp/cert.pem $tmp/key.pem|" \
        -e "s|127.0.0.1:18789|127.0.0.1:$gateway_port|" "$top/etc/Caddyfile"
} >"$tmp/Caddyfile"
run "$caddy" validate --adapter caddyfile --config "$top/etc/Caddyfile"
is "$status" 0 "Caddy takes the example as it is" || diag "$err"
setsid "$caddy" run --adapter caddyfile --config "$tmp/Caddyfile" >"$tmp/caddy.log" 2>&1 </dev/null &
background_pid[caddy]=$!
wait_for_line "$tmp/caddy.log" 'serving initial configuration' >/dev/null || bail "$(<"$tmp/caddy.log")"

front() { # PATH CURL ARGUMENTS...
    local path=$1
    shift
    code=$(curl -s --max-time 20 --unix-socket "$tmp/front" --cacert "$tmp/cert.pem" -o "$tmp/body-out" -w '%{http_code}' "$@" \
        "https://chela.example$path")
    body=$(tr -d '\0' <"$tmp/body-out")
}
front /healthz
is "$code" 200 "a probe goes through" || diag "$(tail -n 3 "$tmp/caddy.log")"
front /
is "$code" 200 "the page too"
like "$body" '<title>' "as it is"
front /metrics
is "$code" 401 "without the secret nothing else"
front /metrics -H "authorization: Bearer $token"
is "$code" 200 "with it the rest"
front /v1/chat/completions -H "authorization: Bearer $token" -H 'content-type: application/json' \
    -d '{"model":"chela","stream":true,"messages":[{"role":"user","content":"help"}]}'
like "$code $body" '^200 .*data: \[DONE\]' "an answer is streamed"
front /metrics -H "authorization: Bearer $token" -H 'origin: https://evil.example'
is "$code" 403 "a page of another site is refused"
setsid curl -s -N --max-time 20 --unix-socket "$tmp/front" --cacert "$tmp/cert.pem" --http1.1 -D "$tmp/head" -o "$tmp/frames" \
    -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'origin: https://chela.example' \
    -H 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==' https://chela.example/ &
background_pid[socket]=$!
wait_for_line "$tmp/head" '[Ss]ec-[Ww]eb[Ss]ocket-[Aa]ccept' >/dev/null
like "$(<"$tmp/head")" '101' "a WebSocket is opened by the page's own origin"
challenged() { grep -aq connect.challenge "$tmp/frames"; }
ok wait_until challenged -- "and the gateway speaks on it"
done_testing
