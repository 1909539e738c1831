#!/bin/bash
# chela import openclaw: its configuration, JSON5 with includes, in ours; what is carried is good and what is not is told.
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/lib/tap.sh"

mkdir -p "$tmp/claw/parts" "$tmp/claw/agents/main/sessions"
# rules as the example of OpenClaw's own description has them
cat >"$tmp/claw/openclaw.json" <<'END'
{
  "routing": [
    {"patterns": ["hello", "hi", "thanks"], "model": "ollama/qwen2.5:0.5b"},
    {"patterns": ["code", "bug", "error", "fix"], "model": "ollama/qwen2.5-coder:14b"},
    {"patterns": ["analyze", "design", "architecture"], "model": "anthropic/claude-sonnet-4-5"},
    {"default": "ollama/llama3.1:8b"}
  ]
}
END
run chela import openclaw "$tmp/claw" --output "$tmp/rules.conf" --json
is "$status" 0 "rules alone are taken" || diag "$out$err"
cp "$tmp/rules.conf" "$CHELA_CONFIG"
ANTHROPIC_API_KEY=a-key-for-tests run chela config check
is "$status" 0 "and are good" || diag "$err$(<"$tmp/rules.conf")"
ANTHROPIC_API_KEY=a-key-for-tests run chela config show
like "$out" 'routing\.rules\.2\.model.*anthropic/claude-sonnet-4-5' "in their order"
like "$out" 'routing\.default.*ollama/llama3\.1:8b' "with the default"

cat >"$tmp/claw/openclaw.json" <<'END'
// JSON5, as people write it
{
  $include: ['./parts/models.json5', 'parts/servers.json'],
  gateway: { port: 0x4965, bind: 'loopback', auth: { mode: "token", token: 'bench-token-0123456789abcdef' }, },
  agents: {
    defaults: { model: { primary: 'mock/mock-1', fallbacks: ['mock/mock-2'] }, workspace: '/tmp' },
    list: [ { id: 'work', name: "Work", default: true, }, ],
  },
  channels: {
    telegram: { botToken: { source: 'env', provider: 'default', id: 'TELEGRAM_TOKEN' }, dmPolicy: 'open', allowFrom: ['*', 12345],
      groups: { '-100123': { requireMention: false } } },
    whatsapp: { dmPolicy: 'pairing' },
  },
  bindings: [ { agentId: 'work', match: { channel: 'telegram', peer: { kind: 'group', id: '-100123' } } } ],
  session: { dmScope: 'per-peer', identityLinks: { anna: ['telegram:12345'] } },
  tools: { exec: { mode: 'full' } },
  talk: { voice: 'x' }, /* nothing of ours */
}
END
cat >"$tmp/claw/parts/models.json5" <<'END'
{ models: { providers: { mock: { baseUrl: 'http://models.example/v1', apiKey: "${MOCK_KEY}", api: 'openai-completions',
  models: [ { id: 'mock-1', contextWindow: 128000 }, { id: "mock-2" }, ] } } } }
END
cat >"$tmp/claw/parts/servers.json" <<'END'
{"mcp":{"servers":{
  "files":{"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/tmp"],"env":{"A":"b"}},
  "notes":{"url":"https://notes.example/mcp","headers":{"X-A":"b"}}}}}
END
rm "$CHELA_CONFIG"
run chela import openclaw "$tmp/claw" --json
is "$status" 0 "a whole configuration is taken" || diag "$out$err"
report=$out
is "$(jq -r .file <<<"$report")" "$tmp/conf.d/50-openclaw.conf" "into a file of its own"
is "$(stat -c %a "$tmp/conf.d/50-openclaw.conf")" 600 "that is its owner's alone"
how() { jq -r --arg what "$1" '[.report[]|select(.what==$what)|.how]|unique|join(" ")' <<<"$report"; }
is "$(how models.providers.mock) $(how agents.work) $(how bindings)" "carried carried carried" "models, agents, bindings are carried"
is "$(how mcp.servers.files) $(how mcp.servers.notes)" "changed carried" "a server that fetches itself is warned of"
is "$(how channels.whatsapp) $(how talk)" "left left" "what there is nothing for is told"
is "$(how tools.exec)" changed "no permission gets wider"
touch "$CHELA_CONFIG"
export MOCK_KEY=a-key-for-tests TELEGRAM_TOKEN=12345:a-token-for-tests
run chela config check
is "$status" 0 "what was written is good" || diag "$err$(<"$tmp/conf.d/50-openclaw.conf")"
run chela config show
like "$out" 'gateway\.port.*18789' "a hexadecimal port"
like "$out" 'agents\.defaults\.fallback\.0.*mock/mock-2|agents\.work\.fallback\.0.*mock/mock-2' "fallbacks"
like "$out" 'channels\.telegram\.dm_policy.*pairing' "strangers have to be let in anew"
like "$out" 'tools\.mcp\.servers\.0\.args\.1.*server-filesystem' "arguments of servers"
unlike "$out" 'bench-token' "no secret is shown"
echo '# mine now' >>"$tmp/conf.d/50-openclaw.conf"
before=$(<"$tmp/conf.d/50-openclaw.conf")
run chela import openclaw "$tmp/claw"
like "$status:$out" '^0:.*was changed and stays as it is' "what was changed since is told"
is "$(<"$tmp/conf.d/50-openclaw.conf")" "$before" "and stays"

# the token that was carried is used by the local client, also where an older one lies in the state folder
mkdir -p "$CHELA_STATE_DIR" && echo stale >"$CHELA_STATE_DIR/gateway.token" && chmod 600 "$CHELA_STATE_DIR/gateway.token"
CHELA_GATEWAY_PORT=0 start_gateway --port 0
run chela health
is "$status" 0 "the local client knows the token that was carried" || diag "$err"
stop_gateway
unset CHELA_GATEWAY_PORT

echo '{"$include":"../outside.json"}' >"$tmp/claw/openclaw.json"
echo '{}' >"$tmp/outside.json"
run chela import openclaw "$tmp/claw" --output -
isnt "$status" 0 "an include outside of the folder is refused"
echo '{"$include":"openclaw.json"}' >"$tmp/claw/openclaw.json"
run chela import openclaw "$tmp/claw" --output -
isnt "$status" 0 "one that never ends too"
echo '{a: [1,,2]}' >"$tmp/claw/openclaw.json"
run chela import openclaw "$tmp/claw" --output -
like "$err" 'line 1' "a mistake is told with its line"

# --- the state folder: files, as until the middle of 2026 -------------------------------------------------------------

claw="$tmp/claw"
rm -rf "$claw" "$tmp/conf.d" "$CHELA_STATE_DIR"
configure <<'END'
providers : { demo : { type = "demo"; }; };
agents : { main : { workspace = "/tmp"; }; };
END
mkdir -p "$claw"/{agents/main/sessions,credentials,cron,skills/poem/scripts}
cat >"$claw/openclaw.json" <<'END'
{"channels":{"telegram":{"botToken":"12345:token","allowFrom":["7"],"enabled":false}}}
END
cat >"$claw/agents/main/sessions/sessions.json" <<'END'
{"agent:main:main":{"sessionId":"11111111-aaaa","displayName":"Garden","updatedAt":1700000000000},
 "agent:main:empty":{"sessionId":"22222222-bbbb"}, "agent:main:evil":{"sessionId":"../../../etc/passwd"}}
END
cat >"$claw/agents/main/sessions/11111111-aaaa.jsonl" <<'END'
{"type":"session","version":3,"id":"11111111-aaaa","timestamp":"2026-01-01T00:00:00Z"}
{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"when do I sow tomatoes?","timestamp":1700000000000}}
{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[{"type":"text","text":"In March."},{"type":"toolCall","id":"t","name":"read","arguments":{}}],"timestamp":1700000001000}}
{"type":"message","id":"x","parentId":"b","message":{"role":"user","content":"a question that was edited away","timestamp":1700000002000}}
{"type":"message","id":"c","parentId":"b","message":{"role":"toolResult","toolCallId":"t","content":[{"type":"text","text":"a file"}],"timestamp":1700000003000}}
{"type":"message","id":"d","parentId":"c","message":{"role":"user","content":[{"type":"text","text":"und Gurken? 黄瓜"}],"timestamp":1700000004000}}
{"type":"message","id":"e","parentId":"d","message":{"role":"assistant","content":[{"type":"toolCall","id":"u","name":"exec","arguments":{"command":"date"}},{"type":"toolCall","id":"v","name":"exec","arguments":{"command":"cal"}}],"timestamp":1700000005000}}
{"type":"message","id":"f","parentId":"e","message":{"role":"toolResult","toolCallId":"v","isError":true,"content":[{"type":"text","text":"no cal here"}],"timestamp":1700000005500}}
{"type":"message","id":"g","parentId":"f","message":{"role":"assistant","content":[{"type":"text","text":"In April."}],"timestamp":1700000006000}}
this line is no JSON
END
echo '{"version":1,"allowFrom":["7","8"]}' >"$claw/credentials/telegram-allowFrom.json"
cat >"$claw/cron/jobs.json" <<'END'
{"version":1,"jobs":[
 {"id":"1","name":"report","enabled":false,"schedule":{"kind":"cron","expr":"0 9 * * *","tz":"Europe/Berlin"},"sessionTarget":"isolated","wakeMode":"now","payload":{"kind":"agentTurn","message":"morning report"},"delivery":{"mode":"announce","channel":"last"}},
 {"id":"2","name":"script","enabled":true,"schedule":{"kind":"every","everyMs":60000},"sessionTarget":"main","wakeMode":"now","payload":{"kind":"script","path":"/x"}}]}
END
cat >"$claw/exec-approvals.json" <<'END'
{"version":1,"agents":{"main":{"allowlist":[{"pattern":"/usr/bin/uptime"},{"pattern":"/usr/bin/python3"},{"pattern":"~/bin/*"}]}}}
END
printf -- '---\nname: poem\ndescription: writes a poem\n---\nWrite one.\n' >"$claw/skills/poem/SKILL.md"
echo 'echo rhyme' >"$claw/skills/poem/scripts/rhyme.sh"
ln -s /etc/passwd "$claw/skills/poem/stolen"

unset CHELA_GATEWAY_PORT
run chela import openclaw "$claw" --json
is "$status" 0 "a state folder is taken, without a gateway that runs" || diag "$out$err"
report=$out
is "$(how 'session agent:main:main, 1 events')" left "a line that is broken is told"
is "$(how 'session agent:main:main'):$(how 'session agent:main:empty')" carried:left "a conversation is carried, an empty one isn't"
is "$(how 'job report'):$(how 'job script')" carried:left "a job is carried, one of a kind that there is none of isn't"
is "$(how 'pairing telegram 8')" carried "so is who was let in"
is "$(how 'allow /usr/bin/uptime (main)'):$(how 'allow /usr/bin/python3 (main)'):$(how 'allow ~/bin/* (main)')" carried:left:left \
    "an allowed program is, but none that runs others"
is "$(how 'skill poem')" carried "and a skill"
unlike "$report" 'root:' "no path of theirs leads elsewhere"
start_gateway
run chela sessions --json
like "$out" 'agent:main:main.*Garden|Garden.*agent:main:main' "the session is there by its name"
run chela sessions export agent:main:main --json
is "$(jq -r 'select(.role) | .role + ": " + ([.body[]? | .text // .arguments.command // .content[0].text] | join(", "))' <<<"$out")" \
    $'user: when do I sow tomatoes?\nassistant: In March., \ntool: a file\nuser: und Gurken? 黄瓜\nassistant: date, cal\ntool: no cal here, (the result was not kept)\nassistant: In April.' \
    "with what was said and what tools did, without what was edited away" || diag "$out"
is "$(jq -c 'select(.role == "tool") | [.body[] | [.callId, .name, .isError]]' <<<"$out")" \
    $'[["t","read",false]]\n[["v","exec",true],["u","exec",true]]' "each call has its result"
run chela agent -m "hello again"
is "$status" 0 "and goes on" || diag "$err"
run chela cron list --json
is "$(jq -r '.jobs[] | .name + " " + .schedule.expr + " " + .schedule.tz + " " + (.enabled | tostring)' <<<"$out")" \
    'report 0 9 * * * Europe/Berlin false' "the job is as it was" || diag "$out"
run chela allowlist list
like "$out" 'exec\|/usr/bin/uptime' "the allowed program is on the list"
run chela skills list
like "$out" 'poem' "the skill is known"
is "$(cd "$CHELA_STATE_DIR/skills/poem" && find . -type f | sort | tr '\n' ' ')" './SKILL.md ./scripts/rhyme.sh ' "without what its links led to"
like "$(cat "$tmp/conf.d/50-openclaw.conf")" 'allow_from = \[ "7", "8" \];' "people are in the configuration"
counted() { chela sessions export agent:main:main --json | wc -l; chela cron list --json | jq '.jobs | length'; cat "$tmp/conf.d/50-openclaw.conf"; }
before=$(counted)
run chela import openclaw "$claw" --json
report=$out
is "$(how 'session agent:main:main') $(how 'job report') $(how 'skill poem')" 'there there there' "a second time all of it is there"
is "$(counted)" "$before" "and nothing changes"

# The form since the middle of 2026: a database, whose longer events are packed.
if command -v sqlite3 >/dev/null && command -v zstd >/dev/null && grep -q openclaw-agent "$build/chela-openclaw"; then
    mkdir -p "$claw/agents/packed/agent"
    long=$(jq -cn '{type: "message", id: "b", parentId: "a", message: {role: "assistant", timestamp: 2,
        content: [{type: "text", text: ("long " * 300)}]}}')
    packed=$(printf %s "$long" | zstd -c | od -An -v -tx1 | tr -d ' \n')
    sqlite3 "$claw/agents/packed/agent/openclaw-agent.sqlite" <<END_OF_SQL
CREATE TABLE session_nodes (session_key TEXT, current_session_id TEXT, entry_json TEXT);
CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB, event_utf8_bytes INTEGER);
INSERT INTO session_nodes VALUES ('agent:main:packed', '33333333-cccc', '{"label":"Packed"}');
INSERT INTO transcript_events VALUES ('33333333-cccc', 1, '{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"tell me","timestamp":1}}', NULL, NULL),
    ('33333333-cccc', 2, NULL, x'$packed', ${#long}), ('33333333-cccc', 3, NULL, x'28b52ffd2400', 9), ('33333333-cccc', 4, NULL, x'00', 1);
END_OF_SQL
    run chela import openclaw "$claw" --json
    report=$out
    is "$(how 'session agent:main:packed')" carried "a conversation is carried out of the database" || diag "$out$err"
    is "$(how 'session agent:main:packed, 2 events')" left "what is broken in it is told"
    run chela sessions export agent:main:packed --json
    is "$(jq -r 'select(.role) | .role + " " + (.body[0].text | length | tostring)' <<<"$out")" $'user 7\nassistant 1500' \
        "with the packed event" || diag "$out"
else
    skip "sqlite3, zstd or the store's plugin is not there" "a database with packed events"
fi
done_testing
