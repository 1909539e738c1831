// Asks the gateway every method that it advertises, around one turn that waits for an approval.
//
//   node every_method.mjs PORT TOKEN
//
// Prints a line "METHOD ok" or "METHOD refused: ..." for each, and ends with 0 when none was refused and none left out.
const [port, token] = process.argv.slice(2);
const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
const waiting = new Map();
const events = [];
let watchers = [];
let next = 0;

const fail = (why) => {
    console.log(why);
    process.exit(1);
};
socket.onclose = (event) => fail(`closed with ${event.code} ${event.reason}`);
socket.onmessage = ({ data }) => {
    const frame = JSON.parse(data);
    if (frame.type === 'res') {
        if (frame.ok && frame.payload?.status === 'accepted') {
            return; // the method agent answers twice
        }
        waiting.get(frame.id)?.(frame);
        waiting.delete(frame.id);
        return;
    }
    events.push(frame);
    watchers = watchers.filter((watcher) => !watcher(frame));
};

function event(name, test = () => true) {
    const found = events.find((frame) => frame.event === name && test(frame.payload));
    return found ? Promise.resolve(found.payload) : new Promise((resolve) => watchers.push((frame) => {
        const fits = frame.event === name && test(frame.payload);
        if (fits) {
            resolve(frame.payload);
        }
        return fits;
    }));
}

function request(method, params = {}) {
    const id = `${++next}`;
    socket.send(JSON.stringify({ type: 'req', id, method, params }));
    return new Promise((resolve) => {
        const late = setTimeout(() => fail(`${method} is not answered`), 20000);
        waiting.set(id, (frame) => {
            clearTimeout(late);
            resolve(frame);
        });
    });
}

const asked = new Set();
let refused = 0;
async function ask(method, params) {
    const frame = await request(method, params);
    asked.add(method);
    refused += frame.ok ? 0 : 1;
    console.log(frame.ok ? `${method} ok` : `${method} refused: ${JSON.stringify(frame.error)}`);
    return frame.payload;
}

// One that must be refused here: what it is about does not exist.
async function askInVain(method, params) {
    const frame = await request(method, params);
    asked.add(method);
    refused += frame.ok ? 1 : 0;
    console.log(frame.ok ? `${method} refused nothing` : `${method} ok: ${frame.error?.code}`);
}

await event('connect.challenge');
const hello = (await request('connect', {
    minProtocol: 4, maxProtocol: 4, role: 'operator', caps: ['tool-events'], auth: { token },
    client: { id: 'gateway-client', version: '1.0', platform: 'linux', mode: 'backend' },
    scopes: ['operator.admin', 'operator.read', 'operator.write', 'operator.approvals', 'operator.questions',
        'operator.pairing'],
})).payload ?? fail('connect was refused');
const { mainSessionKey: key, defaultAgentId: agentId } = hello.snapshot.sessionDefaults;

await ask('sessions.subscribe', {});
const sent = await ask('chat.send', { sessionKey: key, message: 'run touch made.txt', idempotencyKey: 'key-1' });
await ask('sessions.messages.subscribe', { key });
const { id } = await event('exec.approval.requested');
await ask('exec.approval.list', {});
await ask('exec.approval.get', { id });
await ask('approval.get', { id });
const decision = ask('exec.approval.waitDecision', { id });
await ask('exec.approval.resolve', { id, decision: 'allow-once' });
await decision;
await event('exec.approval.resolved', (payload) => payload.id === id);
await event('chat', (payload) => payload.runId === sent.runId && payload.state === 'final');
await ask('agent.wait', { runId: sent.runId, timeoutMs: 1000 });
await ask('agent', { message: 'help', idempotencyKey: 'key-2', sessionKey: key });
await ask('chat.inject', { sessionKey: key, message: 'a note', label: 'note' });
await ask('chat.history', { sessionKey: key, limit: 100 });
const history = await ask('chat.startup', { sessionKey: key, limit: 100 });
await ask('chat.message.get', { sessionKey: key, messageId: history.messages.at(-1).__openclaw.id });
await ask('chat.metadata', { sessionKey: key });
await ask('chat.abort', { sessionKey: key });
await ask('approval.get', { id });
await ask('approval.resolve', { id, kind: 'exec', decision: 'deny' }); // too late: what was decided is shown
await ask('approval.history', { limit: 1 });
await ask('exec.approvals.get', {});
const made = await ask('sessions.create', { label: 'Made here', message: 'help', idempotencyKey: 'key-4' });
await event('chat', (payload) => payload.runId === made.runId && payload.state === 'final');
await ask('sessions.send', { key: made.key, message: 'help', idempotencyKey: 'key-5' });
await event('chat', (payload) => payload.runId === 'key-5' && payload.state === 'final');
await ask('sessions.abort', { key: made.key });
await ask('sessions.search', { query: 'note', limit: 5 });
await ask('tools.effective', { sessionKey: key });
await ask('tools.invoke', { name: 'ls', args: { path: '.' } });
await ask('plugins.list', {});
await ask('agent.identity.get', { agentId });
await ask('taskSuggestions.list', {});
await ask('usage.status', {});
await ask('usage.cost', { days: 7 });
await ask('config.schema.lookup', { path: 'gateway.auth' });
await ask('sessions.messages.unsubscribe', { key });
await ask('sessions.list', { limit: 10, includeDerivedTitles: true, includeLastMessage: true });
await ask('sessions.describe', { key });
await ask('sessions.resolve', { key });
await ask('sessions.preview', { keys: [key], limit: 5 });
await ask('sessions.patch', { key, label: 'A name' });
await ask('sessions.compact', { key });
await ask('sessions.reset', { key, reason: 'new' });
await ask('chela.trace', { run: sent.runId });
await ask('chela.route.explain', { text: 'hello' });
await ask('chela.plugins.options', { name: 'provider_demo' });
await ask('chela.sessions.export', { key });
await ask('chela.sessions.import', {
    key: 'agent:main:elsewhere', source: 'elsewhere-1', title: 'Held elsewhere',
    messages: [{ role: 'user', text: 'said elsewhere', at: 1700000000000 },
        { role: 'assistant', text: 'answered elsewhere', at: 1700000001000 }],
});
await ask('chela.sessions.instructions', { key, text: 'Be brief.' });
for (const method of ['health', 'status', 'system-presence', 'models.list', 'agents.list', 'channels.status', 'logs.tail',
    'question.list', 'plugin.approval.list', 'chela.plugins.list', 'chela.doctor', 'chela.reload', 'chela.usage',
    'chela.pairing.list', 'config.get', 'config.schema', 'chela.config.options', 'chela.models']) {
    await ask(method, {});
}
await ask('commands.list', { agentId, scope: 'text', includeArgs: true });
await ask('tools.catalog', { agentId });
await ask('chela.search', { text: 'note' });
await ask('chela.models.probe', { model: 'demo/demo' });
await ask('chela.models.set', { model: 'demo/demo', agent: 'main' });
await ask('webchat.render', { texts: ['**bold**'] });
await askInVain('chela.blob', { hash: '0'.repeat(64) });
await askInVain('send', { channel: 'nowhere', to: 'nobody', message: 'x', idempotencyKey: 'key-3' });
await askInVain('channels.login', { channel: 'nowhere' });
await askInVain('channels.logout', { channel: 'nowhere' });
await askInVain('chela.pairing.approve', { channel: 'nowhere', code: 'ABCDEFGH' });
await askInVain('chela.pairing.revoke', { channel: 'nowhere', sender: 'nobody' });
await askInVain('config.patch', { raw: '{}', baseHash: 'not-the-hash' });
await ask('chela.tools.explain', { name: 'exec' });
await ask('chela.allowlist.add', { kind: 'weather*' });
const [allowed] = (await ask('chela.allowlist.list', {})).entries;
await ask('chela.allowlist.remove', { kind: allowed.kind, source: allowed.source });
await ask('device.pair.list', {});
await askInVain('plugin.approval.resolve', { id: 'nothing', decision: 'deny' });
await askInVain('device.pair.approve', { requestId: 'nobody' });
await askInVain('device.pair.reject', { requestId: 'nobody' });
await askInVain('device.pair.remove', { deviceId: 'nobody' });
await askInVain('device.pair.rename', { deviceId: 'nobody', label: 'x' });
await askInVain('device.token.rotate', { deviceId: 'nobody', role: 'operator' });
await askInVain('device.token.revoke', { deviceId: 'nobody', role: 'operator' });
const job = await ask('cron.add', {
    name: 'tea', schedule: { kind: 'at', at: '2099-01-01T16:00:00Z' }, sessionTarget: 'isolated', wakeMode: 'now',
    payload: { kind: 'agentTurn', message: 'help' }, delivery: { mode: 'none' },
});
await ask('cron.get', { id: job.id });
await ask('cron.update', { id: job.id, patch: { description: 'at four' } });
await ask('cron.list', { includeDisabled: true });
await ask('cron.status', {});
const ran = await ask('cron.run', { id: job.id, mode: 'force' });
await ask('cron.runs', { id: job.id, limit: 5 });
await ask('cron.remove', { id: job.id });
console.log(`cron.run answered ${JSON.stringify(ran)}`);
await ask('wake', { mode: 'next-heartbeat', text: 'the bell rang' });
await ask('last-heartbeat', {});
await ask('memory.search', { query: 'note' });
await ask('memory.index', {});
await ask('skills.status', { agentId });
await ask('chela.dashboard.code', {});
await ask('chela.audit', { limit: 5 });
await ask('sessions.unsubscribe', {});
await ask('sessions.delete', { key });
const left = hello.features.methods.filter((method) => !asked.has(method));
const unknown = await request('no.such.method');
console.log(`no.such.method is refused as ${unknown.error?.code}`);
console.log(`${asked.size} methods asked, ${refused} refused, left out: ${left.join(' ') || 'none'}`);
process.exit(refused > 0 || left.length > 0 ? 1 : 0);
