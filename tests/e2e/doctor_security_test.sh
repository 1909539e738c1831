#!/bin/bash
# chela doctor --security: a set-up as it comes is fine; each opening of it is told with its place and its cure.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

configure <<END_OF_CONFIG
providers : { demo : { type = "demo"; }; };
END_OF_CONFIG
start_gateway
stop_gateway
run chela doctor --security
is "$status" 0 "nothing is wrong with what is made by itself" || diag "$out$err"
like "$out" "nothing is wrong" "and it says so"

cat >"$CHELA_CONFIG" <<'END_OF_CONFIG'
gateway : { bind = "lan"; record = "/tmp/frames"; trusted_proxies = ["0.0.0.0/0"]; allowed_origins = ["http://page.example"];
    auth : { mode = "password"; password = "short"; }; };
agents : { main : { tools : { security = "full"; high_risk_free = true; }; }; };
tools : { exec : { confine = false; };
    mcp : { servers = ( { name = "files"; command = "npx"; args = ["-y", "@modelcontextprotocol/server-filesystem"]; } ); }; };
END_OF_CONFIG
chmod 644 "$CHELA_CONFIG"
chmod 755 "$CHELA_STATE_DIR"
run chela doctor --security --json
is "$status" 1 "an open set-up fails" || diag "$out$err"
level() { jq -r --arg name "$1" '.checks[]|select(.name==$name)|.level' <<<"$out" | head -n 1; }
is "$(level gateway.bind)" warn "a bind beyond this machine"
is "$(level gateway.record)" warn "frames that are written down"
is "$(level gateway.devices.required)" warn "without devices"
is "$(level gateway.trusted_proxies.0)" error "a proxy that is everybody"
is "$(level gateway.allowed_origins.0)" warn "an origin that can be spoofed"
is "$(level gateway.auth.password)" warn "a password that can be guessed"
is "$(level agents.main.tools.high_risk_free)" error "high risks without a question"
is "$(level agents.main.tools.security)" warn "medium ones"
is "$(level tools.exec.confine)" warn "commands without confinement"
is "$(level tools.mcp.servers.0.command)" warn "a program that is fetched at each start"
is "$(level "$CHELA_CONFIG")" error "a secret in a file that others can read"
is "$(level "$CHELA_STATE_DIR")" error "a state folder that others can read"
is "$(jq -r '[.checks[]|select(.level=="error" or .level=="warn")|select(.fix=="")]|length' <<<"$out")" 0 "each with its cure"
unlike "$out" '"short"' "no secret is shown"
done_testing
