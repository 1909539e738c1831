#!/bin/bash
# Builds every fuzzer (tests/fuzz/*_fuzz.c) with clang, libFuzzer and the sanitizers, and runs it for a while from its
# seeds (tests/fuzz/seeds/<name>/, if there). fuzzers.txt says what each is linked with.
# CHELA_TEST_FUZZ_SECONDS (20) for each; CHELA_TEST_FUZZ_KEEP names a folder in which what was found stays.
set -uo pipefail
top=${CHELA_TEST_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$top" || exit 1
seconds=${CHELA_TEST_FUZZ_SECONDS:-20}
clang=${CHELA_TEST_CLANG:-clang}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0

point() { # RESULT NAME
    count=$((count + 1))
    if [ "$1" = 0 ]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        tail -n 40 "$work/log" | sed 's/^/# /'
    fi
}

echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n); int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n > 9 && 0; }' >"$work/probe.c"
if ! "$clang" -fsanitize=fuzzer "$work/probe.c" -o "$work/probe" >"$work/log" 2>&1; then
    echo "1..0 # SKIP no clang with libFuzzer here"
    exit 0
fi

for source in tests/fuzz/*_fuzz.c; do
    name=$(basename "$source" _fuzz.c)
    IFS=: read -r _ libraries sources < <(grep "^$name :" tests/fuzz/fuzzers.txt)
    eval "sources=($sources) libraries=($libraries)" # patterns and braces are meant to be expanded
    "$clang" -std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
        -Icore -Isdk/include -Isdk -I. "$source" "${sources[@]}" "${libraries[@]}" -o "$work/$name" >"$work/log" 2>&1
    result=$?
    point $result "the fuzzer of $name builds"
    [ $result = 0 ] || continue
    mkdir -p "$work/corpus-$name"
    [ ! -d "tests/fuzz/seeds/$name" ] || cp tests/fuzz/seeds/"$name"/* "$work/corpus-$name/"
    keep=${CHELA_TEST_FUZZ_KEEP:-$work}/
    "$work/$name" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$keep" \
        "$work/corpus-$name" >"$work/log" 2>&1
    point $? "$name survives $seconds seconds of it"
    grep -E '^Done|^stat::|DONE' "$work/log" | tail -n 1 | sed 's/^/# /'
done
echo "1..$count"
