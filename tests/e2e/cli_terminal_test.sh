#!/bin/bash
# The chat and a streaming turn on a real terminal: tmux is typed into and its screen is read. Skipped where there is
# no tmux.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

command -v tmux >/dev/null || skip_all "tmux is not installed"

socket="$tmp/tmux"
tmux() { command tmux -u -S "$socket" -f /dev/null "$@"; }

shopt -s extglob
screen() { # without the empty lines at its end
    local text
    text=$(tmux capture-pane -p -t test)
    printf '%s' "${text%%*([[:space:]])}"
}
history() { tmux capture-pane -p -S - -t test; }

# see REGEX NAME [capture]: the screen comes to show it, within 10 s. Each look waits for the terminal's own output.
see() {
    local text='' i
    for ((i = 0; i < 200; i++)); do
        text=$("${3:-screen}")
        if [[ $text =~ $1 ]]; then
            point 0 "$2"
            return
        fi
        read -r -t 0.05 _ <>"$tmp/pause" # the time until tmux has drawn; nothing else tells
    done
    point 1 "$2" || { diag "screen: $text" && diag "wanted: $1" && return 1; }
}
mkfifo "$tmp/pause"

keys() { tmux send-keys -t test "$@"; }
type_text() { tmux send-keys -t test -l -- "$1"; }
paste() { tmux set-buffer -- "$1" && tmux paste-buffer -p -r -t test; }

start_background fake "$build/tests/fakes/fake_gateway"
export CHELA_GATEWAY_PORT=${ready##*:} TERM=tmux-256color
infocmp tmux-256color >/dev/null 2>&1 || export TERM=screen
start_terminal() { # COMMAND...
    tmux kill-session -t test 2>/dev/null
    tmux new-session -d -s test -x 60 -y 20 -e NO_COLOR= -e TERM="$TERM" "PS1='shell> ' exec bash --norc --noprofile" &&
        tmux set-option -t test status off >/dev/null
    see 'shell>' "a terminal is there"
    type_text "$*"
    keys Enter
}

# --- a conversation -------------------------------------------------------------------------------------------------

start_terminal "stty -a | grep -c echok; '$build/chela' chat"
see '/help lists the commands.*'$'\n''>$' "the chat opens with a prompt"
type_text 'hello'
keys Enter
see '> hello'$'\n\n''Hello, world. 中文 works.'$'\n\n''• one'$'\n''• two'$'\n\n''>$' "an answer is rendered above the prompt"
type_text 'tool'
keys Enter
see 'I look.'$'\n\n''✓ files_list some/where  done  12 ms'$'\n\n''Two files.'$'\n\n''>$' "a tool call is one line"
type_text '/sta'
keys Tab Enter
see 'command /status  was run' "Tab completes a command and the gateway answers it"
type_text 'hostile'
keys Enter
see 'x\]0;owned\[2Jy31mz' "an answer's escape sequences are only text"

# --- editing ----------------------------------------------------------------------------------------------------------

type_text '宽字符e'
tmux send-keys -t test -l $'\u0301'
keys Left Left
type_text 'x'
see $'> 宽字x符e\u0301$' "wide and combining characters are stepped over as one"
keys C-u C-k
paste $'first line\n\tsecond 行\nthird'
see '> first line'$'\n''      second 行'$'\n''  third$' "a paste of several lines is not sent"
keys Enter
see 'You said: first line' "until Enter sends it whole"
grep -q '"message":"first line\\n\\tsecond 行\\nthird"' "$tmp/fake.log"
point $? "just as it was pasted"
keys Up
see '> first line'$'\n''      second 行'$'\n''  third$' "the history has it as one entry"
keys C-u C-k Up Up Up Up Up
see '> hostile$|> /status' "and what was typed before"
keys C-r
type_text 'hel'
see 'search: hel  hello' "Ctrl-R searches it"
keys Enter
see 'search|Hello, world' "and Enter sends what was found"
type_text 'one'
keys M-Enter
type_text 'two'
see '> one'$'\n''  two$' "Alt-Enter begins a new line"
keys C-c
see '>$' "Ctrl-C clears what was typed"

# --- a turn under way --------------------------------------------------------------------------------------------------

type_text 'slow'
keys Enter
see 'It has begun'$'\n\n''and goes on'$'\n\n''>$' "an open block is shown as it grows"
type_text 'typed meanwhile'
see 'and goes on'$'\n\n''> typed meanwhile$' "and one can type below it"
tmux resize-window -t test -x 40 -y 20
see 'and goes on'$'\n\n''> typed meanwhile$' "also after the terminal has become narrower"
is "$(history | grep -c 'typed meanwhile')" 1 "with the prompt there once"
tmux resize-window -t test -x 60 -y 20
keys C-c
see 'and goes on'$'\n\n''Stopped.'$'\n\n''> typed meanwhile'$'\n''stopping; Ctrl-C again leaves' "Ctrl-C stops it and keeps the text"
keys C-u

# --- approvals --------------------------------------------------------------------------------------------------------

type_text 'ask'
keys Enter
see "exec asks to run   risk: high"$'\n'".*rm -rf 'build'.x1b.2K"$'\n'".*in: /srv/project" "an approval shows all that would run"
see 'Allow it\?  \[a\] once  \[A\] always  \[d\] deny:$' "and asks"
keys Enter
paste 'a'
see 'deny:$' "Enter and a paste are no answer"
keys d
see 'denied'$'\n''.*The decision was deny.' "a key is"

# --- the connection ends ------------------------------------------------------------------------------------------------

type_text 'drop'
keys Enter
see 'The first half and the second.'$'\n\n''>$' "a lost connection loses nothing"
stop_background fake
see 'no connection: .*; trying again' "a gateway that is gone is told"
type_text 'are you there'
keys Enter
start_background fake "$build/tests/fakes/fake_gateway" --port "$CHELA_GATEWAY_PORT"
see 'You said: are you there' "what was said meanwhile is sent when it is back"

# --- leaving ------------------------------------------------------------------------------------------------------------

keys C-z
see $'Stopped .*\nshell>$' "Ctrl-Z stops the program"
type_text 'stty -a | tr " ;" "\n\n" | grep -c "^echo$"; fg'
keys Enter
see $'\n''1'$'\n' "with a terminal that echoes"
see '>$' "and the prompt is back in the foreground"
keys C-d
see 'shell>$' "Ctrl-D leaves"
type_text 'clear; stty -a | tr " ;" "\n\n" | grep -c -e "^echo$" -e "^icanon$" -e "^isig$" -e "^icrnl$"'
keys Enter
see $'^4\nshell>$' "and the terminal is as it was"
is "$(stat -c %a "$CHELA_STATE_DIR/history")" 600 "the history is its owner's alone"

type_text "clear; '$build/chela' chat"
keys Enter
see '>$' "the chat opens again"
type_text 'kill me'
tmux list-panes -t test -F '#{pane_pid}' >"$tmp/shell"
kill -TERM "$(pgrep -P "$(cat "$tmp/shell")" -x chela)"
see 'Terminated' "a signal ends it"
type_text 'clear; stty -a | tr " ;" "\n\n" | grep -c -e "^echo$" -e "^icanon$" -e "^isig$" -e "^icrnl$"'
keys Enter
see $'^4\nshell>$' "and the terminal is put back"

# --- agent on a terminal ------------------------------------------------------------------------------------------------

type_text "clear; '$build/chela' agent -m tool; echo status \$?"
keys Enter
see 'I look.'$'\n\n''✓ files_list some/where  done  12 ms'$'\n\n''Two files.'$'\n''status 0' "agent streams onto a terminal"
type_text "clear; '$build/chela' agent -m slow; echo status \$?"
keys Enter
see 'and goes on$' "a turn goes on"
keys C-c
see 'Stopped.'$'\n''status 5' "until Ctrl-C stops it, with status 5"
type_text "clear; '$build/chela' agent -m ask; echo status \$?"
keys Enter
see 'Allow it\?  \[a\] once  \[A\] always  \[d\] deny, then Enter:' "an approval is asked at the terminal"
type_text 'a'
keys Enter
see 'The decision was allow-once.'$'\n''status 0' "and answered there"

# --- a terminal that can't move its cursor ------------------------------------------------------------------------------

type_text "clear; TERM=dumb '$build/chela' chat"
keys Enter
type_text 'hello'
keys Enter
see 'Hello, world. 中文 works.'$'\n\n''• one' "a dumb terminal gets plain lines"
keys C-d
see 'shell>$' "and Ctrl-D leaves"

done_testing
