// npm's ws against the gateway; prints lines "what: value". See websocket_test.sh.
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [modules, port, token] = process.argv.slice(2);
const WebSocket = createRequire(join(resolve(modules), 'x.js'))('ws');
const once = (socket, name) => new Promise((go) => socket.once(name, (...values) => go(values)));

const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { perMessageDeflate: true });
const frames = [];
const waiting = new Map();
socket.on('message', (data) => {
    const frame = JSON.parse(data);
    frames.push(frame);
    waiting.get(frame.id)?.(frame);
    waiting.delete(frame.id);
});
await once(socket, 'open');
console.log(`compressed: ${socket.extensions !== ''}`);
const answer = (id) => new Promise((go) => waiting.set(id, go));
const connect = JSON.stringify({
    type: 'req', id: 'c', method: 'connect',
    params: { minProtocol: 4, maxProtocol: 4, scopes: ['operator.read'], auth: { token },
        client: { id: 'test', mode: 'test', version: '1', platform: 'linux' } },
});
const hello = answer('c');
for (let i = 0; i < connect.length; i += 7) { // in fragments, with pings between
    socket.send(connect.slice(i, i + 7), { fin: i + 7 >= connect.length });
    if (i % 70 === 0) {
        socket.ping('beat');
    }
}
if (!(await hello).ok) {
    throw new Error('connect was refused');
}
let pongs = 0;
socket.on('pong', () => { pongs += 1; });
socket.ping('x'.repeat(125));
await once(socket, 'pong');
const answers = Array.from({ length: 1000 }, (_, i) => answer(`r${i}`));
for (let i = 0; i < 1000; i++) {
    socket.send(JSON.stringify({ type: 'req', id: `r${i}`, method: 'agents.list', params: {} }));
}
console.log(`answers: ${(await Promise.all(answers)).filter((frame) => frame.ok).length}`);
socket.close(1000, 'done');
console.log(`close: ${(await once(socket, 'close'))[0]}`);

const bare = new WebSocket(`ws://127.0.0.1:${port}/`);
await once(bare, 'open');
bare.send('{}', { mask: false });
console.log(`unmasked: ${(await once(bare, 'close'))[0]}`);
process.exit(0);
