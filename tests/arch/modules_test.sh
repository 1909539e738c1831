#!/bin/bash
# What the built files show to others: a plugin exports its one symbol, the programs export nothing, the client links
# little, and everything is hardened.
set -uo pipefail
build=${CHELA_TEST_BUILDDIR:-$(cd "$(dirname "$0")/../.." && pwd)/build}
sanitizer=${CHELA_TEST_SANITIZER:-none}
count=0

point() { # RESULT NAME
    count=$((count + 1))
    [ "$1" = 0 ] && echo "ok $count - $2" || echo "not ok $count - $2"
}

# A sanitizer and the C run time put names of their own into a program.
exported() {
    nm -D --defined-only "$1" | awk '{print $NF}' |
        grep -v -E '@GLIBC|^(__asan_|__ubsan_|__tsan_|__odr_asan|_IO_stdin_used$|__bss_start$|_edata$|_end$)'
}
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

for plugin in ${CHELA_TEST_PLUGINS:-}; do
    file="$build/plugins/.libs/$plugin.so"
    names=$(exported "$file")
    [ "$names" = "${plugin}_LTX_chela_plugin" ]
    point $? "$plugin.so exports ${plugin}_LTX_chela_plugin and nothing else"
    [ "$names" = "${plugin}_LTX_chela_plugin" ] || echo "#   it exports: $(echo "$names" | head -n 20 | tr '\n' ' ')"
    readelf -d "$file" | grep -q 'BIND_NOW\|FLAGS.*NOW'
    point $? "$plugin.so is bound at once"
done

for program in chela chelad chela-child chela-supervise; do
    [ -e "$build/$program" ] || continue
    names=$(exported "$build/$program")
    [ -z "$names" ]
    point $? "$program exports nothing"
    [ -z "$names" ] || echo "#   it exports: $(echo "$names" | head -n 20 | tr '\n' ' ')"
    readelf -h "$build/$program" | grep -q 'Type:.*DYN' && readelf -d "$build/$program" | grep -q 'FLAGS_1.*NOW' &&
        readelf -lW "$build/$program" | grep -q GNU_RELRO
    point $? "$program is position independent, bound at once, with read-only relocations"
    if [ "$sanitizer" = none ]; then
        readelf -lW "$build/$program" | grep GNU_STACK | grep -qv ' RWE '
        point $? "$program has no executable stack"
    fi
done

if [ -e "$build/chela" ]; then
    heavy=$(needed "$build/chela" | grep -E 'libcurl|libmicrohttpd|libuv|libsqlite|libltdl|libpcre')
    [ -z "$heavy" ]
    point $? "the client links neither libcurl, libmicrohttpd, libuv, SQLite nor libltdl"
    [ -z "$heavy" ] || echo "#   it links: $heavy"
fi
if [ -e "$build/chelad" ] && [[ " ${CHELA_TEST_BUILTINS:-} " != *" store_sqlite "* ]]; then
    ! needed "$build/chelad" | grep -q libsqlite
    point $? "the daemon does not link SQLite"
fi
if [ $count = 0 ]; then
    echo "1..0 # SKIP nothing is built yet"
else
    echo "1..$count"
fi
