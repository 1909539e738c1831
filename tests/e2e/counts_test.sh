#!/bin/bash
# What a turn costs in commits, by the gateway's own counts: two barriers on a plain turn's way, one more for a batch
# of tools with effects, none for one that only reads, and nothing for the pieces that an answer comes in.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

start_background mock "$build/tests/fakes/mock_model"
mock_port=${ready##*port=}
configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
tools : { security = "full"; };
agents : { main : { model = "model/mock-1"; workspace = "$tmp/work"; }; };
END
export CHELA_GATEWAY__AUTH__MODE=none
start_gateway

metric() { # NAME
    exec 8<>"/dev/tcp/127.0.0.1/$gateway_port"
    printf 'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n' >&8
    tr -d '\r' <&8 | sed -n "s/^$1 //p"
    exec 8>&-
}

# turn TEXT NAME: a turn; $barriers and $batches are what it cost. All are of one session: the first turn of a session
# also gives it a title, behind the answer.
turn() {
    local before_barriers before_batches
    before_barriers=$(metric chela_journal_barriers) before_batches=$(metric chela_journal_batches)
    run chela agent --session counts -m "$1"
    is "$status" 0 "$2: the turn ends well" || diag "$err"
    barriers=$(($(metric chela_journal_barriers) - before_barriers))
    batches=$(($(metric chela_journal_batches) - before_batches))
}

like "$(metric chela_journal_barriers)" '^[0-9]+$' "barriers are counted"
turn "the first one, which gives the session its title" "first turn"

turn "mock: say short" "plain turn"
is "$barriers" 2 "a plain turn has two barriers: the message accepted, and the answer before it goes out"
plain=$batches

turn "mock: say $(printf 'word %.0s' {1..400})" "answer of many pieces"
is "$barriers" 2 "an answer of hundreds of pieces has two barriers as well"
# (the index of the search may be brought up to date meanwhile)
ok test "$batches" -le $((plain + 2)) -- "and no commit for the pieces"

turn 'look around
mock: tool list {"path":"."}
mock: say done' "tool that reads"
is "$barriers" 2 "a tool that only reads adds no barrier"

turn 'write one
mock: tool write {"path":"one.txt","content":"1"}
mock: say done' "tool with effects"
is "$barriers" 3 "a tool with effects adds one: that it starts is on disk before it does"
is "$(cat "$tmp/work/one.txt")" 1 "and it ran"

turn 'write two
mock: tool write {"path":"two.txt","content":"2"} && write {"path":"three.txt","content":"3"}
mock: say done' "batch with effects"
is "$barriers" 3 "so does a batch of two of them"
is "$(cat "$tmp/work/two.txt" "$tmp/work/three.txt")" 23 "and both ran"

done_testing
