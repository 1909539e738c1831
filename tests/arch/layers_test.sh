#!/bin/bash
# Holds tests/arch/layers.txt. Every source is compiled plainly (-O0, no sanitizer); nm gives the symbols that it
# needs and has, the compiler's dependency list the headers that it sees (a struct read from an upper layer leaves no
# symbol). One TAP point for each row and rule.
set -euo pipefail
cd "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}"
build=${CHELA_TEST_BUILDDIR:-$PWD/build}
table=${1:-tests/arch/layers.txt}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags="-Isdk/include -Isdk $(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s --no-print-directory -C "$build" print-arch-flags | tail -n 1)"

compile() { # FLAGS FILES...: objects and dependency lists in $work
    local flags=$1
    shift
    # shellcheck disable=SC2086,SC2016  # FLAGS is a list; sh expands its own
    printf '%s\0' "$@" | xargs -0 -r -P 2 -I{} sh -c '
        o=$1/$(printf %s "$2" | tr / @); shift 2
        "$@" -o "$o.o" -MD -MF "$o.d" || exit 255' sh "$work" {} ${CC:-gcc} -std=c11 $flags -O0 -fno-builtin -w -c {}
}
mapfile -t core < <(find core sdk/support sdk/wire -name '*.c' | sort)
mapfile -t plugins < <(find plugins -name '*.c' ! -name '*_test.c' | sort)
[ ${#core[@]} = 0 ] || compile "-Icore $flags -U_FORTIFY_SOURCE -DCHELA_FAULT_POINTS -DCHELA_PLUGIN_DIR=\"\" -DCHELA_LIBEXEC_DIR=\"\"
    -DCHELA_CONF_DIR=\"\" -DCHELA_DATA_DIR=\"\"" "${core[@]}"
[ ${#plugins[@]} = 0 ] || compile "$flags" "${plugins[@]}"

# is FILE / has FILE SYMBOL / needs FILE SYMBOL / sees FILE HEADER
for object in "$work"/*.o; do
    file=$(basename "$object" .o | tr @ /)
    echo "is $file"
    nm "$object" | awk -v file="$file" '$(NF - 1) == "U" {print "needs", file, $NF} $(NF - 1) ~ /^[A-TV-Z]$/ {print "has", file, $NF}'
    tr -s ' \\\n' '\n' <"${object%.o}.d" | sed -E ':again; s|[^/.]+/\.\./||; t again' | awk -v file="$file" '/\.h$/ {print "sees", file, $0}'
done >"$work/facts"

awk -f tests/arch/layers.awk "$table" "$work/facts"
