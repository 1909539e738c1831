#!/bin/bash
# The client against the real gateway with the demo provider. Skipped where the daemon was not built.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

[ -x "$build/chelad" ] || skip_all "chelad is not built here"
start_gateway
unset CHELA_GATEWAY_PORT # from here on by the file that the gateway leaves

run chela status
is "$status" 0 "the running gateway is found by its file"
like "$out" "gateway .*pid [0-9]+.*provider +demo +provider_demo +running" "and shows what runs in it"
run chela agent -m "help" --json
is "$status" 0 "a turn is had"
like "$out" '"status":"ok".*The demo can do this' "and answered by the demo"
key=$(grep -o '"runId":"[^"]*"' <<<"$out" | cut -d '"' -f 4)
run chela trace "$key"
like "$out" "RECEIVED.*CONTEXT_ASSEMBLY.*ROUTING.*CALLING.*STREAMING.*DONE" "its trace shows the states"
run chela trace --message "$key"
like "$out" '"channel":"cli".*"role":"user","content":"help".*"platform":"terminal"' "and the message in its one form"
run chela sessions
like "$out" "agent:main:main" "the session is listed"
run chela sessions set main --instructions "Be brief."
is "$status" 0 "it gets instructions of its own"
run chela sessions export main
like "$out" '"role":"user".*"text":"help".*"role":"assistant"' "its transcript is JSON lines"
out=$(printf '/instructions show\nhelp\n' | chela chat)
like "$out" "Be brief\..*The demo can do this" "the chat reaches the same session"
run chela route hello
like "$out" "1\. demo/demo" "the route is explained"
run chela plugin options demo
is "$status" 0 "a plugin tells its options"
run chela reload
is "$status" 0 "the configuration is read anew"
run chela sessions reset main
is "$status" 0 "the session begins anew"

done_testing
