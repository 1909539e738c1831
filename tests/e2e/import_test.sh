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
is "$(how "$tmp/claw/agents")" left "and that conversations stay where they are"
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
run chela import openclaw "$tmp/claw"
isnt "$status" 0 "a second time nothing is written over"
like "$err" 'is there already' "which is said"

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
done_testing
