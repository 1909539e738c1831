#!/bin/bash
# etc/nginx.conf in a real nginx in front of the gateway: TLS, the page, the probes, WebSockets, and who is believed.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

nginx=$(PATH="$PATH:/usr/sbin:/sbin" command -v nginx) || skip_all "nginx is not installed"
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
# the example as it is, but for its addresses: it listens on a socket of the test
sed -e "s|listen 443 ssl|listen unix:$tmp/front ssl|" -e "s|/etc/ssl/certs/chela.example.pem|$tmp/cert.pem|" \
    -e "s|/etc/ssl/private/chela.example.key|$tmp/key.pem|" -e "s|127.0.0.1:18789|127.0.0.1:$gateway_port|" \
    "$top/etc/nginx.conf" >"$tmp/chela-nginx.conf"
cat >"$tmp/nginx.conf" <<END_OF_CONFIG
daemon off;
pid $tmp/nginx.pid;
error_log stderr notice;
worker_processes 1;
events { }
http {
    access_log off;
    client_body_temp_path $tmp/body; proxy_temp_path $tmp/proxy; fastcgi_temp_path $tmp/f; uwsgi_temp_path $tmp/u; scgi_temp_path $tmp/s;
    include $tmp/chela-nginx.conf;
}
END_OF_CONFIG
run "$nginx" -e stderr -t -c "$tmp/nginx.conf" -p "$tmp"
is "$status" 0 "nginx takes the example" || diag "$err"
setsid "$nginx" -e stderr -c "$tmp/nginx.conf" -p "$tmp" >"$tmp/nginx.log" 2>&1 </dev/null &
background_pid[nginx]=$!
wait_for_line "$tmp/nginx.log" 'start worker process ' >/dev/null || bail "$(<"$tmp/nginx.log")"

mkfifo "$tmp/never"
front() { # PATH CURL ARGUMENTS...
    local path=$1
    shift
    code=$(curl -s --max-time 20 --unix-socket "$tmp/front" --cacert "$tmp/cert.pem" -o "$tmp/body-out" -w '%{http_code}' "$@" \
        "https://chela.example$path")
    body=$(tr -d '\0' <"$tmp/body-out")
}
front /healthz
is "$code" 200 "a probe goes through"
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
front /metrics -H "authorization: Bearer $token" -H 'host: evil.example'
is "$code" 403 "another name is refused"
front /metrics -H "authorization: Bearer $token" -H 'origin: https://evil.example'
is "$code" 403 "so is a page of another site"

setsid curl -s -N --max-time 20 --unix-socket "$tmp/front" --cacert "$tmp/cert.pem" --http1.1 -D "$tmp/head" -o "$tmp/frames" \
    -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'origin: https://chela.example' \
    -H 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==' https://chela.example/ &
background_pid[socket]=$!
wait_for_line "$tmp/head" 'Sec-WebSocket-Accept' >/dev/null
like "$(<"$tmp/head")" '101' "a WebSocket is opened by the page's own origin"
ok timeout 20 bash -c "until grep -qa connect.challenge '$tmp/frames'; do read -rt 0.1 <>'$tmp/never' || true; done" -- "and greets"

# who comes by the proxy is nobody of this machine, whatever it says
run "$build/tests/gateway/device_client" "$gateway_port" phone token="$token" "header=X-Forwarded-For: 192.0.2.7"
like "$out" 'PAIRING_REQUIRED' "a device that comes by the proxy waits for a yes"
done_testing
