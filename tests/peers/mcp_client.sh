#!/bin/bash
# What the MCP conformance suite runs as the client for one scenario: a gateway of its own with the one server at URL,
# and what the scenario wants done, by chela mcp. The login page is "opened" by curl, a question answered with accept.
#   mcp_client.sh URL      environment: MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_CONTEXT, CHELA_TEST_BUILDDIR
set -uo pipefail
url=${*: -1}
scenario=${MCP_CONFORMANCE_SCENARIO:-initialize}
context=${MCP_CONFORMANCE_CONTEXT:-{\}}
build=$CHELA_TEST_BUILDDIR
tmp=$(mktemp -d)
export HOME=$tmp CHELA_CONFIG=$tmp/chela.conf CHELA_CONF_DIR=$tmp/etc CHELA_STATE_DIR=$tmp/state XDG_RUNTIME_DIR=$tmp/run
export CHELA_LIBEXEC_DIR=$build CHELA_PLUGIN_PATH=$build/plugins/.libs no_proxy='*'
unset CHELA_GATEWAY_PORT http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
mkdir -p "$tmp/etc" "$tmp/run"
chmod 700 "$tmp/run"
printf '#!/bin/sh\nexec curl -sL --max-time 20 "$1"\n' >"$tmp/browser"
chmod 755 "$tmp/browser"

extra=''
member() { jq -r --arg name "$1" '.[$name] // empty' <<<"$context"; }
[ -z "$(member client_id)" ] || extra="client_id = \"$(member client_id)\"; client_secret = \"$(member client_secret)\";"
case $scenario in
auth/client-credentials-*) extra="$extra grant = \"client_credentials\";" ;;
auth/basic-cimd) extra="$extra client_metadata = \"https://conformance-test.local/client-metadata.json\";" ;;
esac
cat >"$CHELA_CONFIG" <<END
gateway : { port = 0; };
tools : { mcp : { type = "mcp"; browser = "$tmp/browser";
    servers = ( { name = "peer"; url = "$url"; $extra } ); }; };
END
chmod 600 "$CHELA_CONFIG"
mkfifo "$tmp/ready"
"$build/chelad" --ready-fd 3 3>"$tmp/ready" >"$tmp/log" 2>&1 &
gateway=$!
finish() {
    kill "$gateway" 2>/dev/null
    wait "$gateway"
    cat "$tmp/log"
    rm -rf "$tmp"
}
trap finish EXIT
read -r -t 20 line <"$tmp/ready"
export CHELA_GATEWAY_PORT=${line##*port=}
chela() { timeout 25 "$build/chela" "$@"; }

# answers a question of the server, once it is asked
accept() {
    local id
    id=$(timeout 20 tail -n +1 -F "$tmp/log" 2>/dev/null | grep -m 1 -oE 'asks \(q[0-9]+\)' | grep -oE 'q[0-9]+')
    chela mcp answer "$id" accept
}

case $scenario in
initialize) chela mcp probe peer ;;
tools_call) chela mcp probe peer && chela mcp call peer add_numbers '{"a":5,"b":3}' ;;
elicitation-sep1034-client-defaults)
    accept &
    chela mcp call peer test_client_elicitation_defaults
    ;;
sse-retry) chela mcp call peer test_reconnection ;;
auth/resource-mismatch) chela mcp probe peer || true ;;
auth/*)
    chela mcp probe peer --json >"$tmp/probe"
    cat "$tmp/probe"
    chela mcp call peer "$(jq -r '.toolList[0].name // "peer__test-tool" | ltrimstr("peer__")' "$tmp/probe")" '{}'
    ;;
*) chela mcp probe peer ;;
esac
