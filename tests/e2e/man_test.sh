#!/bin/bash
# The plugins' man pages say what the plugins themselves say of their options.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

command -v jq >/dev/null || skip_all "no jq"
mkdir "$tmp/pages"
ok bash "$top/doc/man/plugin-page" "$build" "$tmp/pages" -- "each plugin describes itself"
for page in "$tmp"/pages/*.7; do
    name=${page##*/}
    ok diff "$top/doc/man/$name" "$page" -- "$name is what its plugin says (else run doc/man/plugin-page)"
done
done_testing
