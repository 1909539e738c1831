#!/bin/bash
# Every frame that the gateway sent in the whole end-to-end suite, held against the schema that OpenClaw publishes
# (@openclaw/gateway-protocol, ajv). The suite leaves them in $build/frames when it runs with CHELA_TEST_RECORD, as
# .ci/run does.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$top/tests/peers/peers.sh"

need protocol @openclaw/gateway-protocol/protocol.schema.json
shopt -s nullglob
for record in "$build"/frames/*; do
    if [ ! -s "$record" ]; then
        continue # no client came
    fi
    run "$node" "$here/check_frames.mjs" "$peers/protocol/node_modules" "$record"
    is "$status" 0 "$(basename "${record%.*}"): $(tail -n 1 <<<"$out")" || diag "$out$err"
done
[ "$tap_count" -gt 0 ] || skip_all "no frames were recorded: run the end-to-end suite with CHELA_TEST_RECORD=$build/frames"
done_testing
