# Helpers for tests/e2e/*.sh (bash): TAP output, a home of its own for each test, the gateway and other background
# programs with readiness by event, and the end of everything that was started. Source it first:
#
#   . "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
#   configure <<'END'                  # the text of chela.conf; the port is chosen by the kernel
#   providers : { demo : { type = "demo"; }; };
#   END
#   start_gateway
#   run chela agent -m "hello"         # fills $out, $err, $status
#   is "$status" 0 "the answer comes"
#   like "$out" "offline demo" "and says who gave it"
#   done_testing
#
# A background program tells that it is ready by one line on the file descriptor 3; the daemon is given
# --ready-fd 3 and writes "ready port=N". Never sleep: wait_for_line follows a file until a line comes.
# shellcheck shell=bash disable=SC2034
set -uo pipefail

top=${CHELA_TEST_SRCDIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
build=${CHELA_TEST_BUILDDIR:-$top/build}
tap_count=0
tap_failed=0
out='' err='' status=0
declare -A background_pid=()

# --- points -------------------------------------------------------------------------------------------------------

diag() { printf '# %s\n' "${*//$'\n'/$'\n'# }"; }

point() { # RESULT NAME: the one place where a point is printed
    tap_count=$((tap_count + 1))
    if [ "$1" = 0 ]; then
        printf 'ok %d - %s\n' "$tap_count" "${2//#/}"
    else
        printf 'not ok %d - %s\n' "$tap_count" "${2//#/}"
        tap_failed=$((tap_failed + 1))
        diag "at ${BASH_SOURCE[-1]}, line ${BASH_LINENO[1]}"
    fi
    return "$1"
}

ok() { # COMMAND... -- NAME: the command succeeds
    local command=()
    while [ $# -gt 1 ] && [ "$1" != -- ]; do
        command+=("$1")
        shift
    done
    shift
    "${command[@]}" >"$tmp/ok.out" 2>&1
    point $? "$1" || { diag "${command[*]}" && diag "$(head -c 2000 "$tmp/ok.out")" && false; }
}

is() { # GOT WANTED NAME
    [ "$1" = "$2" ]
    point $? "$3" || { diag "got:    $1" && diag "wanted: $2" && false; }
}

isnt() { # GOT UNWANTED NAME
    [ "$1" != "$2" ]
    point $? "$3" || { diag "got:    $1" && false; }
}

like() { # GOT REGEX NAME: bash's extended regular expressions
    [[ $1 =~ $2 ]]
    point $? "$3" || { diag "got:    ${1:0:2000}" && diag "wanted: $2" && false; }
}

unlike() { # GOT REGEX NAME
    ! [[ $1 =~ $2 ]]
    point $? "$3" || { diag "got:    ${1:0:2000}" && diag "unwanted: $2" && false; }
}

skip() { # REASON NAME: one point that can't be tested here
    tap_count=$((tap_count + 1))
    printf 'ok %d # SKIP %s: %s\n' "$tap_count" "${2//#/}" "$1"
}

skip_all() { # REASON: ends the test
    echo "1..0 # SKIP $1"
    tap_ended=1
    exit 0
}

bail() { # the test can't go on
    diag "$*"
    [ ! -s "$tmp/gateway.log" ] || diag "gateway.log: $(tail -n 30 "$tmp/gateway.log")"
    exit 1
}

done_testing() {
    echo "1..$tap_count"
    tap_ended=1
    exit $((tap_failed > 0))
}

# --- a place of its own ---------------------------------------------------------------------------------------------

# Short, since a socket's path has 107 bytes at most.
tmp=$(mktemp -d "${TMPDIR:-/tmp}/chela-XXXXXX")
tap_ended=0
for name in "${!CHELA_@}"; do
    [[ $name == CHELA_TEST_* ]] || unset "$name"
done
export HOME="$tmp/home" XDG_CONFIG_HOME="$tmp/home/.config" XDG_STATE_HOME="$tmp/home/.local/state"
export XDG_DATA_HOME="$tmp/home/.local/share" XDG_CACHE_HOME="$tmp/home/.cache" XDG_RUNTIME_DIR="$tmp/run"
export CHELA_CONFIG="$tmp/chela.conf" CHELA_CONF_DIR="$tmp/etc" CHELA_STATE_DIR="$tmp/state"
export CHELA_LIBEXEC_DIR="$build" CHELA_PLUGIN_PATH="$build/plugins/.libs"
export LC_ALL=C.UTF-8 TZ=UTC TERM=dumb
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
export no_proxy='*'
mkdir -p "$HOME" "$CHELA_CONF_DIR" "$XDG_RUNTIME_DIR" "$tmp/work"
chmod 700 "$XDG_RUNTIME_DIR"
cd "$tmp/work" || exit 1
# A build with built-in plugins must do without files.
if [ -n "${CHELA_TEST_BUILTINS:-}" ]; then
    CHELA_PLUGIN_PATH="$tmp/no-plugins"
    mkdir "$CHELA_PLUGIN_PATH"
    for plugin in "$build"/plugins/.libs/*.so; do
        name=$(basename "$plugin" .so)
        case " $CHELA_TEST_BUILTINS " in *" $name "*) ;; *) ln -s "$plugin" "$CHELA_PLUGIN_PATH/" ;; esac
    done
fi

tap_cleanup() {
    local code=$? name
    trap - EXIT INT TERM
    for name in "${!background_pid[@]}"; do
        kill -TERM "${background_pid[$name]}" 2>/dev/null
    done
    for name in "${!background_pid[@]}"; do
        timeout 5 tail --pid="${background_pid[$name]}" -f /dev/null
        kill -KILL -- "-${background_pid[$name]}" 2>/dev/null
    done
    wait 2>/dev/null
    # what got away into a group of its own still carries this test's environment
    local strays file
    mapfile -t strays < <(grep -lsF "XDG_RUNTIME_DIR=$tmp/" /proc/[0-9]*/environ)
    for file in "${strays[@]}"; do
        file=${file#/proc/}
        [ "${file%/environ}" = $$ ] || kill -KILL "${file%/environ}" 2>/dev/null
    done
    cd /
    if [ $tap_ended = 0 ]; then
        echo "Bail out! the test ended early (status $code)"
        code=1
    fi
    rm -rf "$tmp"
    exit "$code"
}
trap tap_cleanup EXIT
trap 'exit 129' INT TERM

# --- programs -------------------------------------------------------------------------------------------------------

chela() { "$build/chela" "$@"; }

# run COMMAND...: fills $out, $err (without their last newlines) and $status; at most 60 s.
run() {
    local command=("$@")
    [ "$1" = chela ] && command[0]="$build/chela"
    timeout --kill-after=5 "${RUN_TIMEOUT:-60}" "${command[@]}" >"$tmp/run.out" 2>"$tmp/run.err" </dev/null
    status=$?
    out=$(tr -d '\0' <"$tmp/run.out")
    err=$(tr -d '\0' <"$tmp/run.err")
    return 0
}

# start_background NAME COMMAND...: a process group of its own; output in $tmp/NAME.log; returns when the program
# has written a line to descriptor 3, which is left in $ready. 30 s at most.
start_background() {
    local name=$1 fifo="$tmp/$1.ready"
    shift
    rm -f "$fifo"
    mkfifo "$fifo"
    setsid "$@" 3>"$fifo" >>"$tmp/$name.log" 2>&1 </dev/null &
    background_pid[$name]=$!
    ready=''
    read -r -t 30 ready <"$fifo"
    [ -n "$ready" ] || bail "$name did not become ready: $(tail -n 20 "$tmp/$name.log")"
}

# stop_background NAME [SIGNAL]: ends it (default TERM) and waits; its status is left in $status.
stop_background() {
    local pid=${background_pid[$1]}
    kill "-${2:-TERM}" "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    status=$?
    kill -KILL -- "-$pid" 2>/dev/null
    unset "background_pid[$1]"
}

# wait_for_line FILE REGEX [SECONDS]: until a line matches, new ones included; prints it.
wait_for_line() {
    local line
    line=$(timeout "${3:-30}" tail -n +1 -F "$1" 2>/dev/null | grep -m 1 -E -- "$2")
    [ -n "$line" ] && printf '%s\n' "$line"
}

# wait_until COMMAND...: until it succeeds, for what no line of a file tells; $wait_most seconds at most. Silent.
wait_until() {
    local end=$((SECONDS + ${wait_most:-20}))
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        timeout 0.05 tail -f /dev/null
    done
    return 0
}

# configure: the text on standard input becomes the user's chela.conf.
configure() {
    {
        echo 'gateway : { port = 0; };'
        cat
    } >"$CHELA_CONFIG"
    chmod 600 "$CHELA_CONFIG"
}

# start_gateway [ARGUMENT...]: sets $gateway_pid, $gateway_port; clients of this shell find it from now on. Where
# $CHELA_TEST_RECORD names a folder, what it sends to clients is left there for tests/peers/frames_test.sh.
start_gateway() {
    [ -e "$CHELA_CONFIG" ] || configure </dev/null
    unset CHELA_GATEWAY_PORT
    local recording=()
    [ -z "${CHELA_TEST_RECORD-}" ] || recording=(env CHELA_GATEWAY__RECORD="$CHELA_TEST_RECORD/$(basename "$0").$$")
    start_background gateway "${recording[@]}" "$build/chelad" --ready-fd 3 "$@"
    gateway_pid=${background_pid[gateway]}
    gateway_port=${ready##*port=}
    export CHELA_GATEWAY_PORT=$gateway_port
}

# message_form SESSION TEXT: the form inside the gateway of the message that said TEXT, without its session's id.
message_form() {
    local run_id
    run_id=$(chela sessions export "$1" --json | jq -r --arg text "$2" \
        'select(.role == "user" and (.body | tostring | contains($text))).run' | head -n 1)
    chela trace --message "$run_id" | jq -S '.sessionId |= (type + " of " + (length | tostring))'
}

stop_gateway() { stop_background gateway "$@"; }
