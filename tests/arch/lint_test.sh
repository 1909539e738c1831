#!/bin/bash
# The rules of CONTRIBUTING.md that a script can check; `make lint` and part of make check. One TAP point for each.
# Prints the longest files and functions at the end. Never changes a file.
set -uo pipefail
cd "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}" || exit 1
readonly longest_file=600 longest_test=600 longest_function=90 clang_format_version=14
count=0
findings=$(mktemp)
trap 'rm -f "$findings"' EXIT

rule() { # NAME: a point; what stands in $findings is against it
    count=$((count + 1))
    if [ -s "$findings" ]; then
        echo "not ok $count - $1"
        head -n 40 "$findings" | sed 's/^/#   /'
    else
        echo "ok $count - $1"
    fi
    : >"$findings"
}

skip_rule() { # NAME REASON
    count=$((count + 1))
    echo "ok $count # SKIP $1: $2"
}

# What git knows or could know; in a tarball, what is there.
mapfile -t files < <({ git ls-files --cached --others --exclude-standard 2>/dev/null || find . -type f; } | sed 's|^\./||' |
    grep -v -E '^(build[^/]*|autom4te\.cache|\.git)/' | sort -u | while read -r f; do [ -f "$f" ] && echo "$f"; done)
pick() { printf '%s\n' "${files[@]}" | grep -E "$1" || true; }
mapfile -t sources < <(pick '^(core|sdk|plugins|tests)/.*\.[ch]$')
mapfile -t headers < <(pick '^(core|sdk|plugins|tests)/.*\.h$')
mapfile -t texts < <(pick '\.([chm]k?|m4|ac|am|sh|awk|md|conf|in|[1-8]|txt|service|bash)$|^(bootstrap|\.ci/run)$' |
    grep -v -E '^tests/(data|vectors)/|/data/|/golden/')

if [ "$(clang-format --version 2>/dev/null | sed 's/.*version \([0-9]*\).*/\1/')" = $clang_format_version ]; then
    clang-format --dry-run "${sources[@]}" 2>&1 | grep -E 'warning:|error:' | sed 's/ code should.*//' >"$findings"
    rule "every C file is laid out by clang-format"
else
    skip_rule "every C file is laid out by clang-format" "needs version $clang_format_version"
fi

awk 'FNR == 1 && !/^\/\*/ {print FILENAME}' "${sources[@]}" >"$findings"
rule "a file begins with a comment that says what it owns"

awk 'function check() {if (file != "" && (guard == "" || !defined || substr(guard, length(guard) - length(wanted) + 1) != wanted))
        print file ": " (guard == "" ? "no guard" : guard) ", should end in " wanted}
    FNR == 1 {check(); file = FILENAME; guard = ""; defined = 0; wanted = toupper(file); sub(/.*\//, "", wanted); gsub(/[.-]/, "_", wanted)}
    guard == "" && /^#ifndef [A-Z0-9_]*_H$/ {guard = $2; if (guard in seen) print file ": " guard " is also the guard of " seen[guard]; seen[guard] = file}
    guard != "" && $1 == "#define" && $2 == guard {defined = 1}
    END {check()}' "${headers[@]}" >"$findings"
rule "a header has a guard of its own name, and no other header has it"

grep -nE '\b(json_tokener_parse|json_object_from_f(ile|d)|json_object_to_json_string|json_object_object_get)\b *\(' \
    "${sources[@]}" | grep -vE '^sdk/(support|template)/' >"$findings"
rule "JSON is read and written by sdk/support/json.h only"

wc -l "${sources[@]}" | awk -v most=$longest_file -v test=$longest_test '
    $2 != "total" && $1 > ($2 ~ /^tests\// ? test : most) {print $2 ": " $1 " lines"}' >"$findings"
rule "no file is longer than $longest_file lines, no test than $longest_test"

# a function begins at a brace in the first column and ends at one; its name stands above
awk 'FNR == 1 {start = 0}
    /^[A-Za-z_].*[^;]$/ && !/^(typedef|struct [a-z_]+ \{|enum|union)/ {name = $0}
    /^\{/ {start = FNR}
    /^\}/ {if (start) print FNR - start + 1, FILENAME ":" start, substr(name, 1, 70); start = 0}' \
    "${sources[@]}" | sort -rn >"$findings.functions"
awk -v most=$longest_function '$1 > most' "$findings.functions" >"$findings"
rule "no function is longer than $longest_function lines"

# written so that this line does not find itself
grep -nE '(^|[^.[:alnum:]_$}])/(wor[k]|far[m]|hom[e]/[a-z]{3,}|User[s]|roo[t])/|/var/tm[p]/[a-z]+/|[.]librar[y]/' "${texts[@]}" |
    grep -v -E '^doc/.*@|/home/(user|you)' >"$findings"
rule "no path of somebody's machine"
grep -nE '(registr[y]\.npmjs|deb\.debia[n]\.org|pypi\.or[g]|proxy\.golan[g])' "${texts[@]}" >"$findings"
rule "no host of a package registry"
grep -nwE 'TOD[O]|FIXM[E]|XX[X]|HAC[K]' "${texts[@]}" >"$findings"
rule "no notes of unfinished work"
grep -nE '[[:blank:]]+$' "${texts[@]}" | grep -v '\.md:' >"$findings"
rule "no blanks at the end of a line"
pick '^tests/.*\.sh$' | xargs -r grep -nwE '^[^#]*\bsleep [0-9.]+' >"$findings"
rule "no test sleeps"
pick '^tests/.*\.(sh|c)$' | xargs -r grep -nE '(127\.0\.0\.1|localhost):[1-9][0-9]{3,4}\b' | grep -v -E ':18789|:9\b|// any' >"$findings"
rule "no test uses a fixed port"

if command -v shellcheck >/dev/null; then
    mapfile -t others < <(pick '^tests/lib/[a-z-]+$|^tests/[a-z]+/run$')
    mapfile -t scripts < <(awk 'FNR == 1 && /^#!\/bin\/(ba)?sh/ {print FILENAME}' "${texts[@]}" "${others[@]}" | sort -u)
    shellcheck -x -S warning -f gcc "${scripts[@]}" >"$findings" 2>&1
    rule "shell scripts pass shellcheck"
else
    skip_rule "shell scripts pass shellcheck" "not installed"
fi

echo "1..$count"
echo "# longest functions:"
head -n 8 "$findings.functions" | sed 's/^/#   /'
echo "# longest files:"
wc -l "${sources[@]}" | grep -v ' total$' | sort -rn | head -n 5 | sed 's/^/#  /'
rm -f "$findings.functions"
