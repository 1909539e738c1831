#!/bin/sh
# Lists the sources of core and the build fragments of the tree, so that nobody has to: writes m4/fragments.mk
# (included by the top Makefile.am) and m4/plugins.m4 (the plugins' names for configure.ac), each only if its text changed.
# Run by configure.ac when autoconf reads it and by every make. Never writes anything else.
set -eu
cd "$(dirname "$0")/.."
LC_ALL=C; export LC_ALL

include() { [ ! -f "$1" ] || echo "include \$(top_srcdir)/$1"; }

# Every source of a folder, but for what its local.mk names already.
sources() {
    find "$2" -name '*.[ch]' | sort |
        awk -v variable="$1" 'NR == FNR {for (i = 1; i <= NF; i++) named[$i]; next} !($0 in named) {print variable, "+=", $0}' \
            "$2/local.mk" -
}

fragments() {
    echo "# Made by m4/fragments.sh; do not edit."
    for f in sdk/local.mk sdk/*/local.mk core/local.mk core/*/local.mk etc/local.mk doc/local.mk \
        tests/local.mk tests/*/local.mk tests/unit/*.mk; do
        case $f in */unit/local.mk) continue ;; esac
        include "$f"
    done
    for folder in base host net proc agent gateway cli; do
        sources "core_lib${folder}_a_SOURCES" "core/$folder"
    done
    for folder in support wire; do
        sources "sdk_${folder}_lib${folder}_la_SOURCES" "sdk/$folder"
    done
    for f in client gateway child openclaw; do
        include core/main_$f.mk
    done
    for f in tests/e2e/*.sh; do
        [ ! -f "$f" ] || echo "e2e_tests += $f"
    done
    for f in plugins/*/local.mk; do
        [ -f "$f" ] || continue
        name=$(basename "$(dirname "$f")")
        echo "if PLUGIN_$name"
        include "$f"
        echo "endif"
    done
}

plugins() {
    echo "dnl Made by m4/fragments.sh; do not edit."
    for f in plugins/*/local.mk; do
        [ -f "$f" ] || continue
        d=$(dirname "$f")
        echo "CHELA_PLUGIN([$(basename "$d")], [$([ ! -f "$d/configure.m4" ] || echo "m4_include([$d/configure.m4])")])"
    done
}

update() {
    if [ ! -f "$1" ] || [ "$(cat "$1")" != "$2" ]; then
        printf '%s\n' "$2" >"$1.new" && mv "$1.new" "$1"
    fi
}

update m4/fragments.mk "$(fragments)"
update m4/plugins.m4 "$(plugins)"
