// The npm package @openclaw/gateway-client against our gateway, by itself and with a device identity.
//
//   node client.mjs NODE_MODULES PORT TOKEN TOKEN_FILE
//
// Prints lines "what: value"; client_test.sh knows what they must be. Between two of them it waits for "gateway back"
// on standard input.
import { createHash, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { join, resolve } from 'node:path';

const [modules, port, token] = process.argv.slice(2);
const { GatewayClient } = await import(pathToFileURL(join(resolve(modules), '@openclaw/gateway-client/dist/index.mjs')));
const url = `ws://127.0.0.1:${port}`;
const say = (what, value) => console.log(`${what}: ${value}`);
const tokens = new Map();
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const raw = (pem) => createPublicKey(pem).export({ type: 'spki', format: 'der' }).subarray(-32);
const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' });
const identity = {
    deviceId: createHash('sha256').update(raw(publicKeyPem)).digest('hex'), publicKeyPem,
    privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }),
};
const hostDeps = {
    signDevicePayload: (pem, text) => sign(null, Buffer.from(text), pem).toString('base64url'),
    publicKeyRawBase64UrlFromPem: (pem) => raw(pem).toString('base64url'),
    loadDeviceAuthToken: ({ deviceId }) => tokens.get(deviceId) ?? null,
    storeDeviceAuthToken: ({ deviceId, token: given, scopes }) => tokens.set(deviceId, { token: given, scopes }),
    clearDeviceAuthToken: ({ deviceId }) => tokens.delete(deviceId),
};

function connect(options) {
    const events = [], hellos = [], watchers = new Set();
    const wake = () => watchers.forEach((watcher) => watcher());
    const client = new GatewayClient({
        url, minProtocol: 4, maxProtocol: 4, hostDeps, ...options,
        onEvent: (event) => { events.push(event); wake(); },
        onHelloOk: (hello) => { hellos.push(hello); wake(); },
        onConnectError: (error) => { client.failed ??= error; wake(); },
    });
    const until = (test) => new Promise((go) => {
        const watcher = () => { const found = test(); if (found) { watchers.delete(watcher); go(found); } };
        watchers.add(watcher);
        watcher();
    });
    client.start();
    return { client, events, hellos, until };
}

const plain = connect({ token, deviceIdentity: null, scopes: ['operator.read', 'operator.write'] });
await plain.until(() => plain.hellos.length);
say('scopes', plain.hellos[0].auth.scopes.join(' '));
say('status', typeof (await plain.client.request('status', {})).version);
const { runId } = await plain.client.request('chat.send', { sessionKey: 'main', message: 'help', idempotencyKey: 'client-1' });
const final = await plain.until(() => plain.events.find((e) => e.event === 'chat' && e.payload.runId === runId && e.payload.state === 'final'));
say('answer', /offline demo/.test(JSON.stringify(final.payload.message)));
say('unknown method', await plain.client.request('no.such.method', {}).catch((error) => error.message));
say('missing scope', await plain.client.request('logs.tail', {}).catch((error) => error.details?.code ?? error.message));

const own = connect({ token, deviceIdentity: identity, scopes: ['operator.read'] });
await own.until(() => own.hellos.length);
say('device token', /^chd_/.test(tokens.get(identity.deviceId)?.token));
own.client.stop();
const again = connect({ deviceIdentity: identity, scopes: ['operator.read'] });
await again.until(() => again.hellos.length);
say('by its token', again.hellos[0].auth.scopes.join(' '));
again.client.stop();

const wrong = connect({ token: 'wrong-token-0123456789', deviceIdentity: null });
await wrong.until(() => wrong.client.failed);
say('wrong token', wrong.client.failed.details?.code);
wrong.client.stop();

say('restart', 'please');
for await (const line of createInterface({ input: process.stdin })) {
    if (line === 'gateway back') {
        break;
    }
}
await plain.until(() => plain.hellos.length === 2);
say('shutdown event', plain.events.some((e) => e.event === 'shutdown'));
const same = await plain.client.request('chat.send', { sessionKey: 'main', message: 'help', idempotencyKey: 'client-1' });
say('after the restart', `${same.runId === runId} ${same.status}`);
plain.client.stop();
process.exit(0);
