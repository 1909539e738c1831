#!/bin/bash
# Holds tests/arch/layers.txt. Every source is compiled plainly (objects.mk, kept in the build tree); nm gives the
# symbols that it needs and has, the compiler's dependency list the headers that it sees (a struct read from an upper
# layer leaves no symbol). One TAP point for each row and rule.
set -euo pipefail
cd "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}"
build=${CHELA_TEST_BUILDDIR:-$PWD/build}
table=${1:-tests/arch/layers.txt}
objects=$build/arch-objects
mkdir -p "$objects"
unset MAKEFLAGS MFLAGS MAKELEVEL

flags=${CHELA_TEST_FLAGS:-$(make -s --no-print-directory -C "$build" print-arch-flags | tail -n 1)}
make -s --no-print-directory -j2 -f tests/arch/objects.mk OUT="$objects" FLAGS="$flags" CC="${CC:-gcc}"

# is FILE / has FILE SYMBOL / needs FILE SYMBOL / sees FILE HEADER
cd "$objects"
{
    find . -name '*.o' -exec nm -A {} + | sed 's|^\./||' |
        awk '{split($1, file, /:/); f = file[1]; sub(/o$/, "c", f)} !(f in seen) {seen[f]; print "is", f}
            $(NF - 1) == "U" {print "needs", f, $NF} $(NF - 1) ~ /^[A-TV-Z]$/ {print "has", f, $NF}'
    find . -name '*.d' -exec cat {} + | tr -s ' \\\n' '\n' | sed -E ':again; s|[^/.]+/\.\./||; t again' |
        awk '/\.o:$/ {next} /(^|\/)config\.h$/ {next} /\.c$/ {f = $0; next} /\.h$/ {print "sees", f, $0}'
} >facts
cd - >/dev/null

awk -f tests/arch/layers.awk "$table" "$objects/facts"
