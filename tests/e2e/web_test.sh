#!/bin/bash
# web_fetch and web_search by the whole way: what is asked about, where a page may be, where a redirect may lead, and
# each of the services that can be searched.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

for plugin in tool_web provider_openai; do
    [ -e "$build/plugins/.libs/$plugin.so" ] || skip_all "$plugin is not built here"
done
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
start_background web "$build/tests/fakes/fake_web" "$tmp/web"
port=${ready##*port=}
cat >"$tmp/web" <<END
/page 200 text/html <html><head><title>A page</title><script>evil()</script></head><body><h1>Head</h1><p>Text with a <a href="/next">link</a>.</p></body></html>
/here 302 location /page
/there 302 location http://localhost:$port/page
/meta 302 location http://169.254.169.254/latest/meta-data/
/file 302 location file:///etc/passwd
/round 302 location /round
/search?format=json&q=tea%20%26%20milk 200 application/json {"results":[{"title":"From SearXNG","url":"https://a.test/","content":"one"}]}
/res/v1/web/search?count=2&q=tea 200 application/json {"web":{"results":[{"title":"From Brave","url":"https://b.test/","description":"two"},{"title":"Second","url":"https://c.test/"},{"title":"Third"}]}}
/find?lang=en&words=tea 200 application/json {"data":{"hits":[{"name":"From JSON","href":"https://d.test/","text":"three"}]}}
END
# with OPTIONS [SECURITY]: a gateway with these options of the web
with() {
    configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; }; };
tools : { security = "${2:-full}"; web : { type = "web"; $1 }; };
END
    rm -rf "$CHELA_STATE_DIR"
    start_gateway
}
result() { tail -n 1 "$tmp/requests" | jq -r '[.body.messages[] | select(.role == "tool")] | last | .content'; }
fetch() {
    run chela agent -m "mock: tool web_fetch {\"url\":\"$1\"}
mock: say done"
    out=$(result)
}
search() {
    run chela agent -m "mock: tool web_search $1
mock: say done"
    out=$(result)
}

with '' ask
run chela tools list --json
like "$out" 'web_fetch' "web_fetch is there without configuration"
unlike "$out" 'web_search' "web_search only with a service"
"$build/chela" agent -m "mock: tool web_fetch {\"url\":\"http://127.0.0.1:$port/page\"}
mock: say done" >"$tmp/asked" 2>&1 &
asked=$!
for ((i = 0; i < 200; i++)); do
    run chela approvals list --json
    id=$(jq -r '[.. | .id? // empty] | first // empty' <<<"$out")
    [ -z "$id" ] || break
done
like "$out" "fetch http://127.0.0.1:$port/page" "a host that is not on the allow-list is asked about"
run chela approvals deny "$id"
wait $asked
is "$(cat "$tmp/web.log" 2>/dev/null)" '' "and nothing is fetched before"
stop_gateway

with 'private = [ "127.0.0.1" ]; allow = [ "127.0.0.1" ];' ask
fetch "http://127.0.0.1:$port/page"
like "$out" '# Head' "a host on it is not; HTML comes as Markdown"
like "$out" "\[link\]\(http://127.0.0.1:$port/next\)" "links are whole"
unlike "$out" 'evil' "scripts are left out"
fetch "http://127.0.0.1:$port/here"
like "$out" 'Text with a' "a redirect on the same host is followed"
fetch "http://127.0.0.1:$port/there"
like "$out" "redirects to another host.*localhost:$port/page" "one to another host is told, not followed"
fetch "http://127.0.0.1:$port/meta"
like "$out" 'redirects to another host' "nor one to the metadata of a cloud"
fetch "http://127.0.0.1:$port/file"
like "$out" 'redirects to nowhere' "nor one to a file"
fetch "http://127.0.0.1:$port/round"
like "$out" 'again and again' "one that goes round ends"
stop_gateway

with 'private = [ "127.0.0.1" ]; allow = [ "*" ];'
for url in "http://localhost:$port/page" "http://[::1]:$port/page" "http://127.1:$port/page" "http://2130706433:$port/page" \
    "http://0x7f.0.0.1:$port/page" "http://[::ffff:127.0.0.1]:$port/page" 'http://169.254.169.254/latest/meta-data/' \
    'http://10.0.0.1/' 'http://192.168.1.1/' 'http://172.16.0.1/' 'http://100.64.0.1/' 'http://[fe80::1]/' 'http://[fd00::1]/' \
    'http://0.0.0.0/'; do
    fetch "$url"
    like "$out" 'not public' "refused after resolution: $url"
done
fetch "http://127.0.0.1:$port/there"
like "$out" 'not public' "so is where an allowed redirect leads"
stop_gateway
is "$(grep -cvE '^GET /(page|here|there|meta|file|round) ' "$tmp/web.log")" 0 "nobody else was reached"

{
    printf '/long 200 text/plain '
    head -c 5000 /dev/zero | tr '\0' x
    printf '\n/silent 0 text/plain x\n'
} >>"$tmp/web"
with 'private = [ "127.0.0.1" ]; max_bytes = "4k"; timeout = "500ms"; max_chars = 200;'
fetch "http://127.0.0.1:$port/long"
like "$out" 'could not be fetched' "a page that is too long is not read"
fetch "http://127.0.0.1:$port/silent"
like "$out" 'could not be fetched' "one that takes too long is not waited for"
stop_gateway
with 'private = [ "127.0.0.1" ]; max_chars = 200;'
fetch "http://127.0.0.1:$port/long"
like "$out" 'x{200}.\[more follows\]' "a model is given so much of a text, and told that there is more"
stop_gateway

with "private = [ \"127.0.0.1\" ]; search : { backend = \"searxng\"; url = \"http://127.0.0.1:$port\"; };"
search '{"query":"tea & milk"}'
like "$out" '1. From SearXNG.*https://a.test/.*one' "SearXNG is searched"
stop_gateway
with "search : { backend = \"brave\"; url = \"http://127.0.0.1:$port\"; key = \"s3cret\"; };"
search '{"query":"tea","count":2}'
like "$out" '1. From Brave.*two.*2. Second' "Brave is searched"
unlike "$out" 'Third' "for as many as are wanted"
like "$(tail -n 1 "$tmp/web.log")" 'x-subscription-token=s3cret' "with its key"
stop_gateway
with "search : { backend = \"json\"; url = \"http://127.0.0.1:$port/find?lang=en\"; key = \"s3cret\"; key_header = \"X-Key\";
    query = \"words\"; results = \"/data/hits\"; title = \"name\"; link = \"href\"; snippet = \"text\"; };"
search '{"query":"tea"}'
like "$out" '1. From JSON.*https://d.test/.*three' "any service with JSON is searched"
like "$(tail -n 1 "$tmp/web.log")" 'x-key=s3cret' "with its key in the header of its choice"
search '{"query":"coffee"}'
like "$out" 'search failed: HTTP status 404' "a service that fails is told"
stop_gateway
is "$status" 0 "the gateway ends well"
done_testing
