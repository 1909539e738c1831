#!/bin/bash
# MCP servers of other people: the reference servers "everything" and "filesystem" over standard input and over HTTP,
# each of their tools called once by a model's turn; a real server killed in the middle of a call; the official client
# on `chela mcp serve`; and the protocol's conformance suite for clients.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need mcp @modelcontextprotocol/server-everything/dist/index.js
everything=$peer_file
need mcp @modelcontextprotocol/server-filesystem/dist/index.js
filesystem=$peer_file
need mcp @modelcontextprotocol/conformance/dist/index.js
conformance=$peer_file

start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}

# use NAME SERVERS: a gateway with these servers, their tools listed in $tools
use() {
    configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; }; };
models : { classifier = "model/mock-1"; };
logging : { level = "debug"; };
tools : { security = "full"; mcp : { type = "mcp"; servers = ( $2 ); }; };
END
    rm -rf "$CHELA_STATE_DIR"
    : >"$tmp/gateway.log"
    start_gateway
    run chela mcp probe "$1" --json
    is "$status" 0 "$1: it is there" || diag "$err"
    tools=$(jq -r '.toolList[].name' <<<"$out")
}

# once TOOL [ARGUMENTS [REGEX]]: a model calls it; what it then is told of the result must match
once() {
    local arguments=${2:-} result
    [ -n "$arguments" ] || arguments='{}'
    run chela agent -m "mock: tool $1 $arguments
mock: say done"
    is "$status" 0 "$1: the turn ends well" || diag "$err"
    result=$(tail -n 1 "$tmp/requests" | jq -r '[.body.messages[] | select(.role == "tool")] | last | .content')
    like "$result" "${3:-.}" "$1: its result reaches the model"
    called="$called $1"
}

all_called() { # NAME
    is "$(tr ' ' '\n' <<<"$called" | sort -u | grep . | paste -sd' ')" "$(sort -u <<<"$tools" | paste -sd' ')" \
        "$1: each tool was called"
}

everything_tools() { # NAME
    called=''
    once "$1__echo" '{"message":"hello"}' 'Echo: hello'
    once "$1__get-annotated-message" '{"messageType":"error","includeImage":true}' 'Error'
    once "$1__get-env" '{}' 'PATH'
    once "$1__get-resource-links" '{"count":2}' 'resource '
    once "$1__get-resource-reference" '{"resourceType":"Text","resourceId":1}' 'resource uri'
    once "$1__get-structured-content" '{"location":"New York"}' 'temperature'
    once "$1__get-sum" '{"a":2,"b":3}' '5'
    once "$1__get-tiny-image" '{}' 'image'
    once "$1__gzip-file-as-resource" '{"name":"a.gz","data":"data:text/plain;base64,aGVsbG8=","outputType":"resourceLink"}'
    once "$1__toggle-simulated-logging"
    once "$1__toggle-subscriber-updates"
    once "$1__trigger-long-running-operation" '{"duration":1,"steps":2}' 'completed'
    once "$1__simulate-research-query" '{"topic":"tea"}'
    questions "$1"
    all_called "$1"
}

# What asks the person in the middle of the call: answered by the command line.
questions() {
    local tool asked
    for tool in $(grep -E 'elicitation|sampling' <<<"$tools"); do
        asked=$(grep -cE 'asks \(q[0-9]+\)' "$tmp/gateway.log")
        (
            id=$(timeout 40 tail -n +1 -F "$tmp/gateway.log" 2>/dev/null | grep -oE --line-buffered 'asks \(q[0-9]+\)' |
                sed -u -n "$((asked + 1)){s/[^q]*(\(q[0-9]*\))/\1/p;q}")
            "$build/chela" mcp answer "$id" accept '{"name":"Ada","integer":42}' >"$tmp/answer" 2>&1
        ) &
        case $tool in
        *sampling*) once "$tool" '{"prompt":"tea","maxTokens":20}' 'tea' ;;
        *url*) once "$tool" '{"url":"https://example.org/login"}' 'accept' ;;
        *) once "$tool" '{}' 'Ada' ;;
        esac
        wait $!
    done
}

use every "{ name = \"every\"; command = \"$node\"; args = [ \"$everything\", \"stdio\" ]; }"
everything_tools every
run chela mcp probe every --json
is "$(jq -r .version <<<"$out")" 2025-11-25 "every: the newest version is spoken"
run chela agent -m 'mock: tool mcp_list_resources {"server":"every"}
mock: say done'
like "$(tail -n 1 "$tmp/requests" | jq -r '.body.messages[-1].content')" 'demo://' "resources are listed"
uri=$(tail -n 1 "$tmp/requests" | jq -r '.body.messages[-1].content' | grep -oE -m 1 'demo://[^ ]+')
run chela agent -m "mock: tool mcp_read_resource {\"server\":\"every\",\"uri\":\"$uri\"}
mock: say done"
like "$(tail -n 1 "$tmp/requests" | jq -r '.body.messages[-1].content')" 'resource uri=' "and read"
"$build/chela" agent -m 'mock: tool every__trigger-long-running-operation {"duration":300,"steps":300}
mock: say done' >"$tmp/killed" 2>&1 &
turn=$!
wait_for_line "$tmp/gateway.log" 'long-running.*EXECUTING' >/dev/null
kill -KILL "$(pgrep -P "$(pgrep -P "$gateway_pid")")"
wait $turn
like "$(tail -n 1 "$tmp/requests" | jq -r '.body.messages[-1].content')" 'signal 9' "kill -9 in the middle of a call is told to the model"
once every__echo '{"message":"back"}' 'Echo: back'
stop_gateway

mkdir -p "$tmp/files/sub"
printf 'GIF89a\001\000\001\000\000\000\000;' >"$tmp/files/c.gif"
f=$tmp/files
filesystem_tools() { # NAME
    called=''
    rm -rf "$f/made" "$f/d.txt" "$f/new.txt"
    echo hello >"$f/a.txt"
    echo hello >"$f/b.txt"
    once "$1__read_file" "{\"path\":\"$f/a.txt\"}" hello
    once "$1__read_text_file" "{\"path\":\"$f/a.txt\"}" hello
    once "$1__read_media_file" "{\"path\":\"$f/c.gif\"}" .
    once "$1__read_multiple_files" "{\"paths\":[\"$f/a.txt\",\"$f/b.txt\"]}" 'b.txt'
    once "$1__write_file" "{\"path\":\"$f/new.txt\",\"content\":\"new\"}" .
    once "$1__edit_file" "{\"path\":\"$f/new.txt\",\"edits\":[{\"oldText\":\"new\",\"newText\":\"newer\"}]}" newer
    once "$1__create_directory" "{\"path\":\"$f/made\"}" .
    once "$1__list_directory" "{\"path\":\"$f\"}" 'a.txt'
    once "$1__list_directory_with_sizes" "{\"path\":\"$f\"}" 'a.txt'
    once "$1__directory_tree" "{\"path\":\"$f\"}" 'a.txt'
    once "$1__move_file" "{\"source\":\"$f/b.txt\",\"destination\":\"$f/d.txt\"}" .
    once "$1__search_files" "{\"path\":\"$f\",\"pattern\":\"a.txt\"}" 'a.txt'
    once "$1__get_file_info" "{\"path\":\"$f/a.txt\"}" size
    once "$1__list_allowed_directories" '{}' "$f"
    all_called "$1"
    is "$(cat "$f/new.txt")" newer "$1: what was written is on disk"
    once "$1__read_text_file" '{"path":"/etc/passwd"}' 'denied'
}
use fs "{ name = \"fs\"; command = \"$node\"; args = [ \"$filesystem\", \"$f\" ]; }"
filesystem_tools fs
stop_gateway
start_peer front '^listening on port' "$node" "$here/mcp_front.mjs" "$peers/mcp/node_modules" "$node" "$filesystem" "$f"
use webfs "{ name = \"webfs\"; url = \"http://127.0.0.1:${ready##* }/mcp\"; }"
filesystem_tools webfs
stop_background front
stop_gateway

configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; }; };
END
rm -rf "$CHELA_STATE_DIR"
start_gateway
while read -r verdict rest; do
    case $verdict in
    ok) point 0 "mcp serve: ${rest#- }" ;;
    not) point 1 "mcp serve: ${rest#ok - }" ;;
    *) diag "$verdict $rest" ;;
    esac
done < <(timeout 60 "$node" "$here/mcp_client.mjs" "$peers/mcp/node_modules" "$build/chela" 2>&1)
stop_gateway

# no fixed port: the server takes PORT, so one that is free now is tried until it listens
http() { # TRANSPORT
    local port
    for _ in 1 2 3 4 5; do
        port=$((20000 + RANDOM % 20000))
        : >"$tmp/http.log"
        PORT=$port setsid "$node" "$everything" "$1" >"$tmp/http.log" 2>&1 </dev/null &
        background_pid[http]=$!
        if wait_for_line "$tmp/http.log" 'listening|running|ready' 60 >/dev/null; then
            http_port=$port
            return
        fi
        kill -KILL "-${background_pid[http]}"
    done
    bail "server-everything does not start"
}

http streamableHttp
use web "{ name = \"web\"; url = \"http://127.0.0.1:$http_port/mcp\"; }"
everything_tools web
stop_background http KILL
wait_for_line "$tmp/gateway.log" 'web: .*started again' >/dev/null
run chela mcp list --json
is "$(jq -r '.servers[0].state' <<<"$out")" restarting "web: a server that is gone is noticed"
stop_gateway
http sse
use old "{ name = \"old\"; url = \"http://127.0.0.1:$http_port/sse\"; transport = \"sse\"; }"
called=''
once old__echo '{"message":"over SSE"}' 'over SSE'
stop_background http KILL
stop_gateway
is "$status" 0 "the gateway ends well"
is "$(pgrep -f "$everything" || pgrep -f "$filesystem" || echo none)" none "no server is left"

# The scenarios of the suites core and auth, and of the extensions what we have, two at a time.
scenarios=(initialize tools_call elicitation-sep1034-client-defaults sse-retry
    auth/{metadata-default,metadata-var1,metadata-var2,metadata-var3,basic-cimd,scope-from-www-authenticate}
    auth/{scope-from-scopes-supported,scope-omitted-when-undefined,scope-step-up,scope-retry-limit}
    auth/token-endpoint-auth-{basic,post,none} auth/{pre-registration,2025-03-26-oauth-metadata-backcompat}
    auth/{2025-03-26-oauth-endpoint-fallback,resource-mismatch,offline-access-scope,offline-access-not-supported}
    auth/client-credentials-basic)
conform() { # SCENARIO
    local log=$tmp/conformance-${1//\//-}
    timeout 120 "$node" "$conformance" client --command "bash $here/mcp_client.sh" --scenario "$1" --timeout 90000 \
        -o "$tmp/conformance" >"$log" 2>&1 </dev/null
    echo $? >"$log.status"
}
export CHELA_TEST_BUILDDIR=$build
PATH="$(dirname "$node"):$PATH"
for ((i = 0; i < ${#scenarios[@]}; i += 2)); do
    conform "${scenarios[i]}" &
    conform "${scenarios[i + 1]}"
    wait $!
done
for scenario in "${scenarios[@]}"; do
    log=$tmp/conformance-${scenario//\//-}
    is "$(cat "$log.status")" 0 "conformance: $scenario" || diag "$(tail -n 30 "$log")"
done
done_testing
