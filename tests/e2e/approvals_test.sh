#!/bin/bash
# Approvals from chats, over real processes: who may answer, "always" for the same and for another source, a restart while
# it waits, expiry while nobody runs, and the record of who answered what.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -e "$build/tests/plugin/.libs/channel_spool.so" ] || skip_all "the test's channel is not built here"
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
mkdir -p "$tmp/plugins"
ln -s "$build/tests/plugin/.libs/channel_spool.so" "$tmp/plugins/"
settings() { # TIMEOUT
    configure <<END
plugins : { path = [ "$tmp/plugins" ]; };
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$tmp/work"; }; };
owners = [ "spool:boss" ];
session : { dm_scope = "per-channel-peer"; };
tools : { approval : { timeout = "$1"; }; };
channels : { spool : { in = "$tmp/in"; out = "$tmp/out"; dm_policy = "open"; allow_from = [ "*" ]; }; };
END
}
: >"$tmp/out"
settings 30m
start_gateway
say() { printf 'direct\t%s\t%s\t0\t%s\n' "$1" "$2" "$3" >"$tmp/in"; } # CHAT SENDER TEXT; the model's script after it
make() { # CHAT SENDER FOLDER
    say "$1" "$2" "mock: tool exec {\"command\":\"mkdir $3\",\"pty\":false}"
}
sent() { wait_for_line "$tmp/out" "$@"; }
asks() { # TEXT: the id of what waits with this in its command
    chela approvals list --json | jq -er --arg t "$1" '[.[] | select(.request.command | contains($t))][0].id'
}
waiting() { wait_until asks "$1" && asks "$1"; } # the same, once it waits

# who may not
make 7 anna one
like "$(sent 'May I run this')" $'^send\t7\t.*medium risk.*mkdir one.*/approve' "the chat that asked is shown what would run"
id=$(waiting 'mkdir one')
say 7 anna "/approve $id allow-once"
like "$(sent 'Only the owner')" $'^send\t7\t' "/approve from a sender who may not is refused, and says so"
is "$(chela approvals list --json | jq length)" 1 "and the call waits on"
say 9 carl "/approve $id deny"
like "$(sent $'^send\t9\t')" 'Only the owner' "from another chat as well"
ok test ! -e one -- "nothing ran"

# the owner, from another chat
say 1 boss "/approve $id allow-always"
wait_for_line "$tmp/gateway.log" "approval: .*allow-always by boss [(]spool:boss[)]" >/dev/null
point $? "the owner's answer counts, from wherever, and is in the log"
ok wait_until test -d one -- "the call runs"

# always: the same source, another source, another call
make 7 anna one2
id=$(waiting 'mkdir one2')
isnt "$id" '' "another call of the same source is asked about: always covered that one"
chela approvals deny "$id" >/dev/null
rmdir one
make 7 anna one
ok wait_until test -d one -- "the same call of the same source runs unasked"
rmdir one
make 9 carl one
id=$(waiting 'mkdir one')
isnt "$id" '' "the same call of another source is asked about"
ok test ! -e one -- "and has not run"

# a restart while it waits
stop_gateway KILL
: >"$tmp/out"
start_gateway
is "$(waiting 'mkdir one')" "$id" "after a kill the same question waits"
say 9 carl "/approve $id allow-once"
like "$(sent $'^send\t9\t.*Only the owner')" 'Only the owner' "who may not before, may not after"
say 1 boss "/approve $id allow-once"
ok wait_until test -d one -- "and the owner's answer still counts"
say 1 boss "/approve $id deny"
like "$(sent $'^send\t1\t.*(already|no approval|None|nothing)')" 'send' "a second answer is told that it comes too late"

# expiry
stop_gateway
settings 1s
start_gateway
: >"$tmp/out"
make 11 dora never # a chat in which no number was used
like "$(sent 'nobody gave permission in time')" $'^send\t11\t' "what nobody answers is a no, and the model is told so"
ok test ! -e never -- "it did not run"

# the record
run chela audit --json
record() { jq -r --arg d "$1" '[.entries[] | select(.action == "approval" and .what.decision == $d)] | .[0] | [.by, (.what | tostring)] | join(" ")' <<<"$out"; }
like "$(record allow-always)" '^boss [(]spool:boss[)] .*mkdir one' "the record says who allowed what for always, by the id that the channel gives"
like "$(record deny)" '^chela .*mkdir one2' "who denied what"
like "$(record expired)" '^clock .*mkdir never' "and what the clock decided"
stop_gateway
is "$status" 0 "the gateway ends well"
done_testing
