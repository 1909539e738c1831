#!/bin/bash
# config.get and config.patch: secrets are never shown, a change is written into the gateway's own file alone, and what
# doesn't fit is taken back.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

configure <<END_OF_CONFIG
providers : { demo : { type = "demo"; }; other : { type = "openai"; base_url = "http://models.example/v1"; api_key = "a-key-that-nobody-may-see"; }; };
agents : { main : { workspace = "$tmp/work"; model = "demo/demo"; }; };
END_OF_CONFIG
start_gateway
token=$(<"$CHELA_STATE_DIR/gateway.token")
ask() { # METHOD PARAMS: the answer in $answer, or {"error":...}
    run "$build/tests/gateway/device_client" "$gateway_port" - token="$token" scopes=operator.admin call="$1:$2"
    answer=$(tail -n 1 <<<"$out" | jq -c '.answer // {error}')
}
own=$tmp/conf.d/90-gateway.conf
before=$(sha256sum "$CHELA_CONFIG")

ask config.get '{}'
is "$(jq -r .path <<<"$answer")" "$own" "config.get names the gateway's own file"
is "$(jq -r '.exists' <<<"$answer")" false "which is not there yet"
is "$(jq -r '.config.agents.main.model' <<<"$answer")" demo/demo "it shows the values"
unlike "$answer" 'a-key-that-nobody|'"$token" "but no secret"
like "$(jq -r '.config.providers.other.api_key' <<<"$answer")" '^(\*+|<.*>|set|redacted.*)?$' "which are only said to be set"
hash=$(jq -r .hash <<<"$answer")

ask config.patch "{\"raw\":\"{\\\"logging\\\":{\\\"level\\\":\\\"debug\\\"}}\",\"baseHash\":\"$hash\"}"
is "$(jq -r '.ok' <<<"$answer")" true "a patch is taken" || diag "$answer"
like "$(<"$own")" 'level = "debug"' "and written into that file"
is "$(stat -c %a "$own")" 600 "which is its owner's alone"
is "$(jq -r '.config.logging.level' <<<"$answer")" debug "it counts at once"
first=$(jq -r .hash <<<"$answer")

ask config.patch "{\"raw\":\"{\\\"logging\\\":{\\\"level\\\":\\\"info\\\"}}\",\"baseHash\":\"$hash\"}"
like "$answer" 'baseHash' "an old baseHash is refused"
ask config.patch '{"raw":"{\"logging\":{\"level\":\"loud\"}}"}'
like "$answer" 'not kept' "a value that doesn't fit is refused"
like "$(<"$own")" 'level = "debug"' "and the file is as it was"
ask config.patch '{"raw":"{\"gateway\":{\"prot\":1}}"}'
like "$answer" 'port' "a wrong name is told with the nearest right one"
ask config.patch '{"raw":"[1]"}'
like "$answer" 'JSON object' "what is no object is refused"
ask config.get '{}'
is "$(jq -r .hash <<<"$answer")" "$first" "none of them changed anything"

ask config.patch '{"raw":"{\"logging\":{\"level\":null}}"}'
is "$(jq -r '.ok' <<<"$answer")" true "null takes a value out"
like "$(<"$own.before")" 'level = "debug"' "and the file before is kept"
is "$(sha256sum "$CHELA_CONFIG")" "$before" "nothing that a person wrote was touched"
ask chela.audit '{"limit":10}'
is "$(jq -r '[.entries[]|select(.action=="config.patch")|.what.changed[0]]|unique|join(" ")' <<<"$answer")" \
    "gateway.prot logging.level" "the audit log has who changed what"
stop_gateway
is "$status" 0 "the gateway ends well"
done_testing
