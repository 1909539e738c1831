#!/bin/bash
# The tables of the text about tool calls, a row a group of points: the three risks with their nine commands, PTY, and the
# four cases of debugging; beside them who may approve, who answers first, and the allow-list.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
configuration() { # MORE
    configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$PWD"; }; };
$1
END
}
configuration ''
start_gateway
git init -q . 2>/dev/null
echo text >file

ask() { # COMMAND: a turn in the background that runs it
    chela agent -m "mock: tool exec {\"command\":$(jq -cn --arg x "$1" '$x'),\"pty\":false}" >"$tmp/ask.out" 2>&1 </dev/null &
    asked=$!
}
waiting() { # the id of what waits
    local id
    until id=$(chela approvals list --json | jq -er '.[0].id'); do
        kill -0 "$asked" 2>/dev/null || return 1
    done
    echo "$id"
}

# --- risk low: runs by itself
for command in 'ls' 'cat file' 'git status'; do
    run chela agent -m "mock: tool exec {\"command\":\"$command\"}"
    is "$status $(chela approvals list --json)" '0 []' "risk low: $command runs at once"
done

# --- risk medium: needs approval
for command in 'echo x' 'mkdir made' 'npm install'; do
    ask "$command"
    id=$(waiting)
    is "$(chela approvals list --json | jq -r '.[0].request.risk')" medium "risk medium: $command waits for a person"
    chela approvals deny "$id" >/dev/null
    wait "$asked"
    like "$(<"$tmp/ask.out")" 'denied permission' "risk medium: $command does not run when denied"
done
ok test ! -e made -- "nothing was made"

# --- risk high: approval is forced, with a warning in the log
for command in 'rm -rf file' "kill $$" 'sudo true'; do
    ask "$command"
    id=$(waiting)
    record=$(chela approvals list --json | jq '.[0].request')
    is "$(jq -r .risk <<<"$record")" high "risk high: $command waits for a person"
    is "$(jq -c .allowedDecisions <<<"$record")" '["allow-once","deny"]' "risk high: $command is never offered for always"
    chela approvals deny "$id" >/dev/null
    wait "$asked"
    ok grep -qF "high risk: agent:main:main wants to run exec: $command" "$tmp/gateway.log" -- "risk high: $command is a warning in the log"
done
stop_gateway
configuration 'tools : { security = "full"; };'
start_gateway
ask 'rm -rf file'
ok test -n "$(waiting)" -- "risk high: forced at the level full as well"
chela approvals deny "$(waiting)" >/dev/null
wait "$asked"
ok test -e file -- "and the file is there"

# --- PTY
run chela agent -m 'mock: tool exec {"command":"test -t 1; echo $?"}'
like "$out" '(^|[^0-9])0' "PTY: by default a command runs on a terminal"
run chela agent -m 'mock: tool exec {"command":"test -t 1; echo $?","pty":false}'
like "$out" '(^|[^0-9])1' "PTY: pty false: it does not"
stop_gateway

# --- debugging 1: a tool is not called
configuration 'tools : { profile = "messaging"; };'
start_gateway
run chela tools explain exec --text 'run the tests'
like "$out" 'does not see it: the profile leaves its group out' "debugging, not called: explain says why a model doesn't see it"
like "$out" 'shares words with the text' "debugging, not called: and whether its description fits"
run chela tools explain exec --text 'weather forecast'
like "$out" 'Neither its name nor its description' "debugging, not called: or does not"
run chela tools explain nothing
isnt "$status" 0 "debugging, not called: a tool that nobody offers is an error"
stop_gateway
configuration 'tools : { security = "full"; };'
start_gateway
run chela tools list
like "$out" '\+ exec' "debugging, not called: the list shows what is seen"

# --- debugging 2: arguments don't fit
run chela agent -m 'mock: tool read {"file":"x"}'
like "$out" "don't fit the tool's schema.*path" "debugging, arguments: the error names what is wrong"

# --- debugging 3: the result is not right
run chela agent -m 'mock: tool exec {"command":"tail -f /dev/null","timeout":1,"yieldMs":0}'
like "$out" 'longer than its time limit' "debugging, result: timeout bounds it"
run chela agent -m 'mock: tool exec {"command":"cat","yieldMs":100}'
like "$out" 'goes on in the background' "debugging, result: yieldMs shows what it does meanwhile"
stop_gateway

# --- debugging 4: an approval hangs
configuration 'tools : { approval : { timeout = "1s"; }; };'
start_gateway
run chela agent -m 'mock: tool exec {"command":"mkdir made"}'
like "$out" 'nobody gave permission in time. This counts as a denial' "debugging, approval: it expires as configured, and says so"
ok test ! -e made -- "debugging, approval: and nothing ran"
stop_gateway

# --- two clients answer at once: one decides
configuration ''
start_gateway
ask 'mkdir made'
id=$(waiting)
chela approvals allow-once "$id" >"$tmp/one" 2>&1 &
one=$!
chela approvals deny "$id" >"$tmp/two" 2>&1 &
two=$!
wait "$one"
first=$?
wait "$two"
second=$?
wait "$asked"
is "$(((first == 0) + (second == 0)))" 1 "two clients at once: one decides, the other is told"
if [ "$first" = 0 ]; then wanted=yes; else wanted=no; fi
is "$([ -e made ] && echo yes || echo no)" "$wanted" "two clients at once: what that one said is done"
rm -rf made

# --- a changed binary
printf '#!/bin/sh\necho first\n' >tool
chmod +x tool
ask './tool'
id=$(waiting)
printf '#!/bin/sh\necho other\n' >tool
chela approvals allow-once "$id" >/dev/null
wait "$asked"
like "$(<"$tmp/ask.out")" 'has changed since it was approved' "a changed binary is refused"

# --- a restart while it waits
ask 'mkdir made'
id=$(waiting)
stop_background gateway KILL
wait "$asked"
start_gateway
is "$(chela approvals list --json | jq -r '.[0].id')" "$id" "restart: the same question waits"
chela approvals allow-once "$id" >/dev/null
until [ -e made ]; do chela health >/dev/null; done
ok test -d made -- "restart: and its answer counts"
rm -rf made

# --- confirmBeforeRun, a name each, at the level full
stop_gateway
for name in shell file_write file_delete; do
    configuration "tools : { security = \"full\"; confirm_before_run = [ \"$name\" ]; };"
    start_gateway
    for call in 'shell exec {"command":"ls","pty":false}' 'file_write write {"path":"n","content":"x"}' \
        'file_write edit {"path":"file","edits":[{"oldText":"text","newText":"t"}]}' \
        'file_write apply_patch {"input":"*** Begin Patch\n*** Add File: p\n+x\n*** End Patch"}' \
        'file_delete delete {"path":"none"}'; do
        [ "${call%% *}" = "$name" ] || continue
        call=${call#* }
        chela agent -m "mock: tool $call" >"$tmp/ask.out" 2>&1 </dev/null &
        asked=$!
        id=$(waiting)
        is "$(chela approvals list --json | jq -r '.[0].request.toolName')" "${call%% *}" "confirm_before_run $name: ${call%% *} waits"
        chela approvals deny "$id" >/dev/null
        wait "$asked"
    done
    stop_gateway
done
is "$(cat file)$(ls n p 2>/dev/null)" text "confirm_before_run: what was denied did not run"
configuration ''
start_gateway

# --- the allow-list
touch_path=$(command -v touch)
run chela allowlist add "exec|$touch_path made*"
is "$status" 0 "allow-list: a pattern is added"
run chela agent -m 'mock: tool exec {"command":"touch made1"}'
ok test -e made1 -- "allow-list: what it covers runs without asking"
run chela allowlist add 'exec|/bin/sh *'
like "$err$out" 'never allowed for always' "allow-list: an interpreter is refused"
run chela allowlist list
like "$out" "exec\|$touch_path made" "allow-list: it is listed"
run chela allowlist remove "~exec|$touch_path made*" '~*'
ask 'touch made2'
ok test -n "$(waiting)" -- "allow-list: what was removed is asked about again"
chela approvals deny "$(waiting)" >/dev/null
wait "$asked"
stop_gateway
is "$status" 0 "the gateway ends well"
done_testing
