#!/bin/bash
# Every provider with every fault of its service: the class that it is given, what is tried next, what the person sees,
# and that nothing hangs. Prints the matrix.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

command -v jq >/dev/null || skip_all "no jq"
head -c 300M /dev/zero | gzip -9 >"$tmp/bomb.gz" # five times what a body may have

start_background fault "$build/tests/fakes/fault_model" "$top/tests/streams/own" "$tmp/bomb.gz"
port=${ready##*port=}
start_background spare "$build/tests/fakes/mock_model" --log "$tmp/spare" --scripts no
spare_port=${ready##*port=}
base=http://127.0.0.1:$port

# A stream that is cut off in the middle of an event is told as broken off or as no JSON, whatever the cut left of it.

# provider: its type and options but for base_url, and what stands behind the address in base_url
declare -A type=([anthropic]='type = "anthropic";' [openai]='type = "openai";' [responses]='type = "openai-responses";'
    [google]='type = "google";' [mistral]='type = "mistral";' [ollama]='type = "ollama";' [llamacpp]='type = "llama.cpp";')
declare -A path=([anthropic]='' [openai]=/v1 [responses]=/v1 [google]=/v1beta [mistral]=/mistral [ollama]='' [llamacpp]='')

# fault: class, by provider where it isn't the same for all
declare -A class=([refused]=network [tls]=network [dns]=network [400]=invalid_request [401]=auth [403]=auth [404]=not_found
    [408]=timeout [413]=context_length [429]=rate_limit [429-after]=rate_limit [500]=network [html]=network
    [503]=overloaded [529]=overloaded [empty]=unsupported [truncated]="network|protocol" [garbage]=protocol [reset]=network
    [stall]=timeout [endless]=protocol [bomb]=any)
# what each provider's own error in the middle of a stream says
declare -A inside=([anthropic]=overloaded [openai]=overloaded [responses]=rate_limit [google]=overloaded
    [mistral]=overloaded [ollama]=unknown [llamacpp]=context_length)
faults=(refused tls dns 400 401 403 404 408 413 429 429-after 500 html 503 529 empty truncated garbage reset stall
    error-event endless bomb)
providers=(anthropic openai responses google mistral ollama llamacpp)

address() { # PROVIDER FAULT
    case $2 in
    refused) echo "http://127.0.0.1:9${path[$1]}" ;;
    tls) echo "https://127.0.0.1:$port${path[$1]}" ;;
    dns) echo "http://nowhere.invalid${path[$1]}" ;;
    *) echo "$base${path[$1]}" ;;
    esac
}

configuration() {
    local p f
    echo "providers : {"
    for p in "${providers[@]}"; do
        for f in "${faults[@]}" ok; do
            echo "  ${p}-$f : { ${type[$p]} base_url = \"$(address "$p" "$f")\"; models = ( { name = \"m\"; context = 32000; } ); };"
        done
    done
    echo "  spare : { type = \"openai\"; base_url = \"http://127.0.0.1:$spare_port/v1\"; models = ( { name = \"mock-1\"; } ); };"
    echo "};"
    echo 'models : { retries = 0; };'
    echo 'tools : { files : { enabled = false; }; exec : { enabled = false; }; };'
    echo "agents : { main : { model = \"spare/mock-1\"; };"
    for p in "${providers[@]}"; do
        for f in "${faults[@]}" ok; do
            echo "  ${p}-$f : { model = \"${p}-$f/m\"; fallback = [ \"spare/mock-1\" ]; model_timeout = \"2s\"; };"
        done
    done
    echo "};"
}

configuration >"$tmp/matrix.conf"
configure <"$tmp/matrix.conf"
start_gateway

one() { # PROVIDER FAULT
    local wanted=${class[$2]:-${inside[$1]}} run got next seen
    run chela agent --timeout 30s --json --agent "$1-$2" --session "agent:$1-$2:main" -m "fault: $2"
    run=$(jq -r '.runId // empty' <<<"$out")
    seen=$(jq -r '[.result.payloads[]?.text] | join(" ")' <<<"$out")
    chela trace --json "$run" >"$tmp/trace"
    got=$(jq -r '.attempts[0].outcome' "$tmp/trace")
    next=$(jq -r '[.attempts[1:][].model] | unique | join(" ")' "$tmp/trace")
    printf '# %-10s %-12s %-18s then %-14s seen: %.60s\n' "$1" "$2" "$got" "${next:-nobody}" "$seen"
    [ "$wanted" = any ] || like "$got" "^($wanted)\$" "$1, $2: its class"
    is "$(jq '[.calls[] | select(.state != "COMPLETED" and .state != "FAILED")] | length' "$tmp/trace")" 0 \
        "$1, $2: no call is left open"
    is "$status" 0 "$1, $2: the turn ends with an answer" || diag "$err"
}

for provider in "${providers[@]}"; do
    for fault in "${faults[@]}"; do
        one "$provider" "$fault"
    done
    run chela agent --agent "$provider-ok" --session "agent:$provider-ok:main" -m "fault: ok"
    is "$status" 0 "$provider: without a fault it answers itself"
    unlike "$out" "You said" "$provider: and nobody else does"
done
done_testing
