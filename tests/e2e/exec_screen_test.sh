#!/bin/bash
# The tools exec and process through whole turns: editors and top driven by their keys, their screens as text, commands
# that go to the background, are typed into, resized, and killed.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$PWD";
    tools : { security = "full"; high_risk_free = true; }; }; };
END
start_gateway

turn() { # LINE...: the rounds of one turn; the last tool result is in $out
    printf -v text 'mock: %s\n' "$@"
    run chela agent -m "${text%$'\n'}"
    [ "$status" = 0 ] || diag "$err"
}

keys() { # UNTIL KEY...
    local list
    list=$(jq -cn --args '$ARGS.positional' "${@:2}")
    printf 'tool process {"action":"send-keys","keys":%s,"until":%s,"timeout":20000}' "$list" "$(jq -cn --arg x "$1" '$x')"
}

vim=$(command -v vim || command -v vim.tiny || command -v vi)
if [ -n "$vim" ]; then
    turn "tool exec {\"command\":\"$vim -u NONE -N note.txt\",\"background\":true}" \
        'tool process {"action":"poll","until":"~","timeout":20000}'
    like "$out" 'session s1, running.*~' "vim: poll shows its screen"
    turn "$(keys 'INSERT' i)" "$(keys 'second' 'first line' Enter 'second line')" "$(keys 'second' Escape)"
    like "$out" 'first line.second line.*~' "vim: what is typed stands on the screen"
    turn "$(keys 'exit code' ':wq' Enter)"
    like "$out" 'exit code 0' "vim: it ends by its own command"
    is "$(cat note.txt)" $'first line\nsecond line' "vim: and has written the file"
else
    skip "no vim here" "vim is driven by its keys"
fi

if command -v nano >/dev/null; then
    turn 'tool exec {"command":"nano plain.txt","background":true}' \
        'tool process {"action":"poll","until":"GNU nano","timeout":20000}'
    like "$out" 'GNU nano' "nano: poll shows its screen"
    turn 'tool process {"action":"paste","text":"one\ntwo","until":"two","timeout":20000}'
    like "$out" 'one.*two' "nano: a paste arrives"
    turn "$(keys 'Write' C-o)" "$(keys 'Wrote' Enter)" "$(keys 'exit code' C-x)"
    like "$out" 'exit code 0' "nano: it ends by its keys"
    is "$(cat plain.txt)" $'one\ntwo' "nano: and has written the file"
else
    skip "no nano here" "nano is driven by its keys"
fi

if command -v top >/dev/null; then
    turn 'tool exec {"command":"top -d 1","background":true}' \
        'tool process {"action":"poll","until":"PID","timeout":20000}'
    like "$out" 'load average.*PID +USER' "top: poll shows its screen"
    turn 'tool process {"action":"resize","rows":12,"columns":60,"timeout":20000}' \
        "$(keys 'to continue' h)"
    like "$out" 'Toggle.*to continue' "top: a key is obeyed"
    ok test "$(grep -c . <<<"$out")" -le 15 -- "top: on a screen of another size"
    turn "$(keys 'PID' q)" "$(keys 'exit code' q)"
    like "$out" 'exit code 0' "top: it ends by its key"
else
    skip "no top here" "top is driven by its keys"
fi

# yieldMs: what takes longer goes to the background, and nothing is lost
turn 'tool exec {"command":"echo begun; read answer; echo \"got $answer\"","yieldMs":300}'
like "$out" 'begun.*goes on in the background as session s[0-9]+' "yieldMs: what takes longer goes on beside"
turn 'tool process {"action":"list"}'
like "$out" 'running.*read answer' "list names what runs"
turn 'tool process {"action":"write","text":"yes\n","until":"exit code","timeout":20000}'
like "$out" 'exit code 0.*got yes' "write types into it"
turn 'tool process {"action":"log","offset":0,"limit":8}'
like "$out" 'bytes 0 to 8 of.*begun' "log gives the raw bytes, by range"

turn 'tool exec {"command":"cat; echo over","pty":false,"background":true}' \
    'tool process {"action":"write","text":"piped","eof":true,"until":"exit code","timeout":20000}'
like "$out" 'exit code 0.*pipedover' "write ends the input of one without a terminal"

turn 'tool exec {"command":"tail -f /dev/null & tail -f /dev/null","background":true}' \
    'tool process {"action":"kill","timeout":20000}'
like "$out" 'ended: it was killed' "kill ends it with all that it started"

turn 'tool exec {"command":"tail -f /dev/null","timeout":1,"yieldMs":0}'
like "$out" 'longer than its time limit' "timeout ends it, in seconds"

# somebody else's conversation sees nothing of it
turn 'tool exec {"command":"tail -f /dev/null","background":true}'
run chela agent --session other -m $'mock: tool process {"action":"list"}'
like "$out" 'no command runs in the background' "another session does not see it"
run chela agent --session other -m $'mock: tool process {"action":"kill","sessionId":"s1"}'
like "$out" 'no command in the background has the id s1' "nor may it end it"

stop_gateway
is "$status" 0 "the gateway ends well"
is "$(pgrep -c -f 'sleep [1]000')" 0 "and nothing that was started is left"
done_testing
