#!/bin/bash
# Plugins in processes of their own: a whole turn, with tools, reads the same wherever they run; a killed one takes
# nobody along and is started again.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

mkdir files
touch files/one files/two files/three

turn() { # NAME ISOLATED: the answer in $out, the daemon stays
    rm -rf "$CHELA_STATE_DIR"
    configure <<END
isolated = [ $2 ];
agents : { main : { workspace = "$PWD/files"; }; };
END
    start_gateway
    run chela agent -m 'list the files here, then tell me how many there are'
    is "$status" 0 "$1: the turn ends well"
    children=$(ps -o args= --ppid "$gateway_pid" | grep -c 'chela-child run')
}

turn 'everything in the daemon' ''
is "$children" 0 "no plugin has a process of its own"
like "$out" 'three.*\*\*3\*\* entries' "the answer came through the tool"
here=$out
stop_gateway
is "$status" 0 "the gateway ends well"

turn 'provider and tool isolated' '"provider_demo", "tool_files"'
is "$children" 2 "each of them has a process"
is "$out" "$here" "the answer is the same"
stop_gateway
is "$status" 0 "the gateway ends well"

turn 'every plugin isolated' \
    '"store_sqlite", "provider_demo", "router_rules", "tool_files", "tool_exec", "channel_cli"'
is "$children" 6 "each of them has a process"
is "$out" "$here" "the answer is the same"

provider=$(pgrep -P "$gateway_pid" -f 'chela-child run .*provider_demo')
kill -KILL "$provider"
like "$(wait_for_line "$tmp/gateway.log" 'provider_demo: its process was ended by signal 9')" 'signal 9' \
    "a process that is killed is named in the log"
run chela status
is "$status" 0 "the gateway lives on"
isnt "$(wait_for_line "$tmp/gateway.log" 'provider_demo: its process was started again')" '' \
    "and starts the process again"
for _ in 1 2 3 4 5; do # until the instance in it has started too
    run chela agent -m 'list the files here, then tell me how many there are'
    [ "$status" != 0 ] || break
done
is "$status" 0 "in which turns go on"
isnt "$(pgrep -P "$gateway_pid" -f 'chela-child run .*provider_demo')" "$provider" "as another process"
stop_gateway
is "$status" 0 "the gateway ends well"
export CHELA_PLUGIN_PATH="$CHELA_PLUGIN_PATH:$build/tests/plugin/.libs"
turn 'one that comes later' '"tool_weather"'
is "$children" 0 "a plugin that isn't used has no process"
configure <<END
isolated = [ "tool_weather" ];
tools : { weather : { type = "weather"; }; };
END
run chela reload
is "$status" 0 "a reload brings it, and waits for its description without standing still"
run chela status
like "$out" "tool +weather +tool_weather +running" "it runs"
stop_gateway
is "$status" 0 "the gateway ends well"

turn 'the store isolated' '"store_sqlite"'
store=$(pgrep -P "$gateway_pid" -f 'chela-child run .*store_sqlite')
kill -KILL "$store"
wait "$gateway_pid"
is "$?" 1 "without its store the gateway ends, so that it is started again"
like "$(cat "$tmp/gateway.log")" "the store sqlite has failed .*nothing that was accepted is lost" "and says why"
start_gateway
run chela sessions export main
like "$out" "list the files here" "what was said is there after the next start"
run chela agent -m 'list the files here, then tell me how many there are'
is "$status" 0 "and the conversation goes on"
stop_gateway
is "$status" 0 "the gateway ends well"
is "$(grep -c 'AddressSanitizer\|runtime error' "$tmp/gateway.log")" 0 "nothing was seen by a sanitizer" ||
    diag "$(grep -B 2 -A 40 -m 1 'Sanitizer\|runtime error' "$tmp/gateway.log")"
done_testing
