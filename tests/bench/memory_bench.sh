#!/bin/bash
# Memory over many notes: how long the first index takes, and a search by the gateway's method beside what SQLite's own
# FTS5 takes for the same words in the same file. Nothing passes or fails by a time. CHELA_TEST_QUICK=1: 10,000 notes
# instead of 100,000. Called by tests/bench/run.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
tap_ended=1 # no test: tap.sh is here for its places and its background programs

count=$([ "${CHELA_TEST_QUICK:-}" ] && echo 10000 || echo 100000)
bench=$build/tests/bench
make -C "$build" -s bench-programs tests/bench/fts >/dev/null
export CHELA_GATEWAY__AUTH__MODE=none
value() { sed -n "s/^\(.* \)\?$1=\([^ ]*\).*/\2/p" <<<"$2"; } # NAME LINE
figure() { printf '%-58s %14s   %s\n' "$1" "$2" "${3:-}"; }      # NAME VALUE REMARK
ms() { awk "BEGIN { printf \"%.2f ms\", $1 / 1000 }"; }

# 90 words each, by Zipf's law out of 30,000; the searches have two or three words of all ranks but the commonest 50
awk -v count="$count" -v folder="$tmp/notes" -v queries="$tmp/queries" '
    function word(least,    u) { u = least + rand() * (1 - least); return "w" int(exp(u * log(30000))) }
    BEGIN {
        srand(7)
        for (i = 0; i < count; i++) {
            if (i % 1000 == 0)
                system("mkdir -p " folder "/" i / 1000)
            file = folder "/" int(i / 1000) "/" i ".md"
            text = "# note " i "\n\n"
            for (k = 0; k < 90; k++)
                text = text word(0) (k % 12 == 11 ? ".\n" : " ")
            print text >file
            close(file)
        }
        for (i = 0; i < 500; i++)
            print word(0.38), word(0.38) (i % 2 ? " " word(0.38) : "") >queries
    }'
configure <<CONF
logging : { level = "warn"; };
agents : { main : { workspace = "$tmp/work"; }; };
tools : { memory : { type = "memory"; folders = [ "$tmp/notes" ]; }; };
CONF
start_gateway
begin=$EPOCHREALTIME
until RUN_TIMEOUT=600 run chela memory index && grep -q "^$count notes" <<<"$out"; do
    [ "$status" = 0 ] || bail "$err"
done
seconds=$(awk "BEGIN { printf \"%.0f\", $EPOCHREALTIME - $begin }")
figure "$count notes are indexed in" "$seconds s" "$((count / (seconds + 1))) a second"
figure "the gateway's private memory with them" "$(awk '$1 == "Private_Dirty:" { printf "%.1f MiB", $2 / 1024 }' \
    "/proc/$gateway_pid/smaps_rollup")"
head -n 50 "$tmp/queries" >"$tmp/warm"
for round in 1 2 3; do
    "$bench/load" "$gateway_port" search "$tmp/warm" >/dev/null
    ours=$("$bench/load" "$gateway_port" search "$tmp/queries")
    theirs=$("$bench/fts" "$CHELA_STATE_DIR/chela.db" memory/memory "$tmp/queries")
    figure "search, p50 (run $round)" "$(ms "$(value p50 "$ours")")" \
        "target 20 ms; SQLite's FTS5 alone $(ms "$(value p50 "$theirs")")"
    figure "search, p99 (run $round)" "$(ms "$(value p99 "$ours")")" \
        "SQLite's FTS5 alone $(ms "$(value p99 "$theirs")"); $(value with_hits "$ours") of $(value searches "$ours") found something"
done
stop_gateway
