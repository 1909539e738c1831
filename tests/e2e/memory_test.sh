#!/bin/bash
# Memory by the whole way: where MEMORY.md and found notes stand in what a model is sent, saving, searching, restarts.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
work=$tmp/work
mkdir -p "$work/memory" "$tmp/library"
echo 'The person is called Ada.' >"$work/MEMORY.md"
printf '# Trip\n\nThe hotel in Lisbon is called Aurora.\n' >"$work/memory/2026-01-02.md"
printf 'The boiler was repaired by Weber in May.\n' >"$tmp/library/house.md"
ln -s /etc/passwd "$work/memory/linked.md"
configure <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$work"; }; };
tools : { security = "full"; memory : { type = "memory"; folders = [ "$tmp/library" ]; }; };
END
start_gateway
run chela memory index
is "$out" '3 notes are in the index' "the notes are indexed; a link is not followed"
run chela memory search 'Lisbon hotel' --json
is "$(jq -c '[.results[] | [.path, .lines]]' <<<"$out")" '[["memory/2026-01-02.md","1-3"]]' "found by all of its words"
run chela memory search 'who is Weber' --json
is "$(jq -r '.results[0].path' <<<"$out")" "$tmp/library/house.md" "also in a folder that the configuration names"

turn() { run chela agent -m "$1
mock: say done"; }
turn 'Hello there'
turn 'What was the hotel in Lisbon called?'
# The golden array: system, memory, history, what was found, the question (mission 003, 2.4); of the system prompt only
# the beginning, paths shortened.
array() {
    sed -n "${1}p" "$tmp/requests" | jq '[.body.messages[] | {role, content: (.content | if type == "array" then map(.text) | join("") else . end)}] |
        .[0].content |= (split("\n")[0] | .[0:40])' | sed "s|$tmp|TMP|g"
}
array '$' >"$tmp/array.json"
diff "$top/tests/e2e/memory_array.json" "$tmp/array.json" >"$tmp/difference"
is "$(cat "$tmp/difference")" '' "the array of messages is the golden one: memory before the history, what was found just before the question"
like "$(tail -n 1 "$tmp/requests" | jq -r '.body.messages[1].content | if type == "array" then .[0].text else . end')" 'called Ada' "MEMORY.md is told"
like "$(tail -n 1 "$tmp/requests" | jq -r '.body.messages[-2].content | if type == "array" then .[0].text else . end')" 'Aurora' "and the note that fits"
is "$(tail -n 2 "$tmp/requests" | jq -sc '(.[0].body.messages[0:2] == .[1].body.messages[0:2])')" true \
    "the beginning stays the same bytes from turn to turn"

run chela agent -m '/compact'
turn 'And in Lisbon?'
array '$' >"$tmp/array.json"
diff "$top/tests/e2e/memory_array_summary.json" "$tmp/array.json" >"$tmp/difference"
is "$(cat "$tmp/difference")" '' "with a summary of what was said before: memory, summary, what was found, the question"

turn 'Remember it
mock: tool memory_save {"text":"The garage code is kept by Nora."}'
is "$status" 0 "something is saved"
like "$(cat "$work"/memory/*.md 2>/dev/null)" 'kept by Nora' "in today's plain file"
run chela memory search Nora --json
is "$(jq '.results | length' <<<"$out")" 1 "and found"
turn 'mock: tool memory_get {"path":"/etc/passwd"}'
like "$(tail -n 1 "$tmp/requests" | jq -r '[.body.messages[] | select(.role == "tool")] | last | .content')" 'no such note' \
    "only notes are read"
echo 'The alarm is tested in spring.' >"$work/memory/2020-03-01.md"
cp "$work/memory/2020-03-01.md" "$work/memory/$(date +%F -d yesterday).md"
run chela memory search 'alarm tested' --json
is "$(jq -c '[.results[].path]' <<<"$out")" "[\"memory/$(date +%F -d yesterday).md\",\"memory/2020-03-01.md\"]" \
    "of two dated notes that say the same the newer stands first"
mv "$work/memory/2020-03-01.md" "$work/memory/spring.md"
run chela memory search 'alarm tested' --json
is "$(jq -r '.results[0].path' <<<"$out")" memory/spring.md "a note without a date doesn't age; one that was renamed is found there"
mkdir -p "$tmp/library/deep/deeper"
echo 'The lantern hangs behind the door.' >"$tmp/library/deep/deeper/shed.md"
run chela memory search lantern --json
is "$(jq -r '.results[0].path' <<<"$out")" "$tmp/library/deep/deeper/shed.md" "a new folder is found at once"
rm "$work/memory/2026-01-02.md"
run chela memory search Lisbon --json
is "$(jq '.results | length' <<<"$out")" 0 "a note that is gone is no longer found"
stop_gateway
start_gateway
run chela memory search 'Weber boiler' --json
is "$(jq '.results | length' <<<"$out")" 1 "the index is there after a restart"
stop_gateway
is "$status" 0 "the gateway ends well"
done_testing
