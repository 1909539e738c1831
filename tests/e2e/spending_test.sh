#!/bin/bash
# Limits of money through the real gateway and its store: a turn beyond the limit waits for "continue", also after a
# restart; what is not known to be cheap counts as dear.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

start_background service "$build/tests/fakes/mock_model" --log "$tmp/asked"
port=${ready##*port=}
settings() { # LIMITS
    configure <<END
providers : { far : { type = "openai"; base_url = "http://127.0.0.1:$port/v1"; api_key = "k"; models = (
    { name = "dear"; local = false; price_in = 1000.0; price_out = 1000000.0; },
    { name = "unknown"; local = false; }, { name = "here"; } ); }; };
models : { limits = ( $1 ); };
agents : { defaults : { model = "far/dear"; }; };
END
}

# An answer has 9 tokens: 9 at a million each, and 0.02 for the 20 that are read.
settings '{ provider = "far"; daily = 9.5; }'
start_gateway
run chela agent -m "mock: say one" -s a
is "$status:$out" "0:one" "within the limit a turn runs"
run chela agent -m "mock: say two" -s b --approval-timeout 100ms
like "$status:$err" "^4:.*Continue with far/dear\? \(the daily limit of provider far is reached: 9\.02 spent of 9\.5\)" \
    "beyond it, it waits and asks whether to go on"
like "$err" "approvals allow-once" "and says how to answer"
stop_gateway
start_gateway
run chela agent -m "mock: say three" -s c --approval-timeout 100ms
like "$status:$err" "^4:.*9\.02 spent of 9\.5" "after a restart the limit is as far used as before"
run chela agent -m "mock: say here" -s d --model far/here
is "$status:$out" "0:here" "what runs on this machine has no limit"
chela agent -m "mock: say four" -s e >"$tmp/four.out" 2>"$tmp/four.err" </dev/null &
four=$!
id=$(wait_for_line "$tmp/four.err" "approvals allow-once" | sed 's/.*allow-once //; s/ .*//')
run chela approvals allow-once "$id"
wait $four
is "$?:$(cat "$tmp/four.out")" "0:four" "a yes lets the turn go on"
run chela usage --by provider
like "$out" "far +60 +27 +0 +3 " "and what it cost is counted"
run chela agent -m "/status" -s e
like "$out" "continued by a person" "/status says that somebody said so"
stop_gateway

settings '{ agent = "*"; monthly = 18.5; }'
start_gateway
run chela agent -m "mock: say five" -s f --model far/unknown --approval-timeout 100ms
like "$status:$err" "^4:.*the monthly limit of agent main is reached: 18\.04 spent of 18\.5.*its price is not known" \
    "a model without a price counts as the dearest one, and that is said"
stop_gateway

settings '{ agent = "main"; monthly = "much"; }'
run "$build/chelad" --check
like "$status:$err" "^78:.*limits.*monthly" "a limit that is no number is a mistake of the configuration"

done_testing
