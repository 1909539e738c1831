#!/bin/bash
# Memory finds by what is meant, where a provider has embeddings: beside words, merged with them, kept over a restart.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -e "$build/plugins/.libs/provider_openai.so" ] || skip_all "provider_openai is not built here"
[ -e "$build/plugins/.libs/tool_memory.so" ] || skip_all "tool_memory is not built here"
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests"
mock_port=${ready##*port=}
work=$tmp/work
mkdir -p "$work/memory" "$tmp/library"
echo 'The automobile stands in the barn.' >"$work/memory/barn.md"
echo 'The puppy sleeps in the kitchen.' >"$work/memory/kitchen.md"
echo 'Ada takes the ferry on Mondays.' >"$work/memory/monday.md"
echo 'The boiler was repaired by Weber.' >"$tmp/library/house.md"
text() { # EMBEDDING
    cat <<END
providers : { model : { type = "openai"; base_url = "http://127.0.0.1:$mock_port/v1"; }; };
agents : { main : { model = "model/mock-1"; workspace = "$work"; }; };
models : { $1 };
tools : { memory : { type = "memory"; folders = [ "$tmp/library" ]; }; };
END
}
text 'embedding = "model/mock-1";' | configure
embedded() { jq -c 'select(.path == "/v1/embeddings") | .body.input | length' "$tmp/requests" | paste -sd' '; }
found() { # WORDS: fills $out with the paths
    run chela memory search "$1" --json
    out=$(jq -r '.results[].path' <<<"$out" | sed "s|$tmp/||" | paste -sd' ')
}
# until each note has its vector: the provider may be ready a moment after the memory
index() {
    local end=$((SECONDS + 20))
    while [ $SECONDS -lt $end ]; do
        run chela memory index --json
        [ "$(jq '.vectors == .notes' <<<"$out")" != true ] || return
    done
}
start_gateway
index
is "$(jq -c '[.notes, .vectors]' <<<"$out")" '[4,4]' "each note has a vector"
is "$(embedded)" 4 "asked for in one request"
found 'where is my car'
is "${out%% *}" memory/barn.md "a car finds the automobile"
found 'hound'
is "${out%% *}" memory/kitchen.md "one word, and no note has it"
found 'boiler'
is "${out%% *}" library/house.md "words count as before"
echo 'The ship is painted white.' >"$work/memory/harbour.md"
index
found 'ferry'
is "$out" "memory/monday.md memory/harbour.md" "a note with the word itself stands before one that means the same"
run chela agent -m 'How is the dog?
mock: say done'
like "$(jq -c 'select(.path == "/v1/chat/completions") | .body.messages[-2].content' "$tmp/requests" | tail -n 1)" 'puppy sleeps' \
    "a turn is told what its question means"

before=$(embedded)
stop_gateway
start_gateway
index
is "$(jq -c '[.notes, .vectors]' <<<"$out")" '[5,5]' "vectors are there after a restart"
is "$(embedded)" "$before" "without asking for them again"
echo 'The vehicle was sold.' >"$work/memory/barn.md"
found 'hospital'
run chela memory index --json
is "$(embedded | awk '{print NF}')" "$(awk '{print NF + 2}' <<<"$before")" "a note that changed gets a new one, and a question has its own"
rm "$work/memory/kitchen.md"
found 'hound'
unlike "$out" kitchen "a note that is gone is not found by its meaning"

stop_background mock KILL
found 'boiler'
is "${out%% *}" library/house.md "without the provider words find"
like "$(cat "$tmp/gateway.log")" 'embeddings fail' "and the log says so"
stop_gateway
is "$status" 0 "the gateway ends well"

: >"$tmp/requests"
start_background mock "$build/tests/fakes/mock_model" --log "$tmp/requests" --port "$mock_port"
text '' | configure
start_gateway
run chela memory index --json
is "$(jq -c '[.notes, .vectors]' <<<"$out")" '[4,0]' "without a model for them there are none"
found 'boiler'
is "$out $(embedded)" "library/house.md " "and nobody is asked for any"
stop_gateway
done_testing
