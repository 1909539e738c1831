#!/bin/bash
# What a command of the tool exec may not do under each profile, through whole turns: once with bubblewrap (where it
# works), once with Landlock and seccomp.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
start_background listener "$build/tests/fakes/mock_model"
listener_port=${ready##*port=}
outside=$(mktemp -d /var/chela-outside-XXXXXX 2>/dev/null) || skip_all "no folder outside of the temporary ones"
trap 'rm -rf "$outside"; tap_cleanup' EXIT

gateway_with() { # BUBBLEWRAP PROFILE
    rm -rf "$CHELA_STATE_DIR"
    configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
tools : { exec : { bubblewrap = $1; low = "$2"; medium = "$2"; high = "$2"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$PWD";
    tools : { security = "full"; high_risk_free = true; }; }; };
END
    start_gateway
}

try() { # COMMAND: "yes" or "no" is the last word of the answer
    run chela agent -m "mock: tool exec {\"pty\":false,\"command\":$(jq -Rn --arg x "if ($1) >/dev/null 2>&1; then echo yes; else echo no; fi" '$x')}"
    out=$(grep -oE '\b(yes|no)\b' <<<"$out" | tail -n 1)
}

round() { # BUBBLEWRAP WITH
    gateway_with "$1" read-only
    try 'cat /etc/passwd'
    is "$out" yes "$2, read-only: reads"
    try 'echo x >here'
    is "$out" no "$2, read-only: writes nowhere, not even in the workspace"
    try 'echo x >/tmp/chela-confine-try'
    is "$out" no "$2, read-only: nor in /tmp"
    try 'echo x >/dev/null'
    is "$out" yes "$2, read-only: /dev/null is open"
    stop_gateway

    gateway_with "$1" workspace
    try 'echo x >here'
    is "$out" yes "$2, workspace: writes there"
    try "echo x >$outside/file"
    is "$out" no "$2, workspace: not outside"
    try "ln -s $outside link; echo x >link/file"
    is "$out" no "$2, workspace: not through a link"
    try "echo x >/proc/self/root$outside/file"
    is "$out" no "$2, workspace: not through /proc/self/root"
    try "echo x >../../../../../../../..$outside/file"
    is "$out" no "$2, workspace: not by .."
    echo original >"$outside.kept"
    try "ln $outside.kept hard && echo x >hard"
    is "$(<"$outside.kept")" original "$2, workspace: a hard link is no way to a file outside"
    try "mkdir mnt && unshare -rm sh -c 'mount --bind $outside mnt && echo x >mnt/file'"
    is "$(ls -A "$outside")" '' "$2, workspace: nor is a mount in a namespace of its own"
    rm -rf hard mnt "$outside.kept"
    try "bash -c 'exec 3<>/dev/tcp/127.0.0.1/$listener_port'"
    is "$out" yes "$2, workspace: the network is open"
    stop_gateway

    gateway_with "$1" workspace-no-network
    try "bash -c 'exec 3<>/dev/tcp/127.0.0.1/$listener_port'"
    is "$out" no "$2, no network: no connection"
    try 'echo x >here'
    is "$out" yes "$2, no network: the workspace is open"
    if [ "$2" = bubblewrap ]; then
        try "test -n \"\$(ls $CHELA_STATE_DIR)\""
        is "$out" no "bubblewrap: the gateway's own state can't be seen"
    fi
    stop_gateway
    is "$(ls -A "$outside")" '' "$2: nothing came outside"
    rm -f here link
}

if bwrap --ro-bind / / --unshare-net true 2>/dev/null; then
    round true bubblewrap
else
    skip "it is not here, or user namespaces are off" "bubblewrap confines commands"
fi
round false Landlock
done_testing
