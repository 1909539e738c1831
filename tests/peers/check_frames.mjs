// Validates recorded frames (of relay.mjs or of the gateway's own record) against OpenClaw's published schema of its
// gateway protocol.
//
//   node check_frames.mjs NODE_MODULES FILE...
//
// NODE_MODULES holds @openclaw/gateway-protocol and ajv. Each frame is checked as a frame; beyond that the hello, the
// parameters and results of methods and the payloads of events, wherever the schema defines them under the method's
// or event's name. Prints what is wrong, then "F frames, D of them by a definition of their own, W wrong"; fails when
// W is not 0.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [modules, ...files] = process.argv.slice(2);
const Ajv = createRequire(join(resolve(modules), 'x.js'))('ajv');
const schema = JSON.parse(readFileSync(join(modules, '@openclaw/gateway-protocol/protocol.schema.json'), 'utf8'));
// The published definition is closed and leaves out what OpenClaw's own gateway sends beside it in each agent event.
for (const name of ['sessionKey', 'agentId', 'sessionId']) {
    schema.definitions.AgentEvent.properties[name] ??= { type: 'string', minLength: 1 };
}
schema.definitions.PresenceEvent ??= {
    type: 'object', required: ['presence'],
    properties: { presence: { type: 'array', items: { $ref: '#/definitions/PresenceEntry' } } },
};
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema(schema, 'protocol');

const camel = (name) => name.replace(/(^|[.-])([a-z])/g, (_, dot, letter) => letter.toUpperCase());
let asked = new Map(); // methods by request id, of the connection that is looked at
let frames = 0, defined = 0, wrong = 0;
const seen = new Map();

function check(definition, value, what) {
    if (!schema.definitions[definition]) {
        return false;
    }
    const validate = ajv.getSchema(`protocol#/definitions/${definition}`);
    if (!validate(value)) {
        wrong += 1;
        console.log(`${what} is no ${definition}: ${ajv.errorsText(validate.errors, { dataVar: '' })}`);
        console.log(`    ${JSON.stringify(value).slice(0, 600)}`);
    }
    seen.set(definition, (seen.get(definition) ?? 0) + 1);
    return true;
}

function checkPayload(frame) {
    if (frame.type === 'req') {
        asked.set(frame.id, frame.method);
        return check(`${camel(frame.method)}Params`, frame.params ?? {}, `params of ${frame.method}`);
    }
    if (frame.type === 'event') {
        return check(`${camel(frame.event)}Event`, frame.payload, `event ${frame.event}`);
    }
    const method = asked.get(frame.id);
    if (!frame.ok) {
        return false;
    }
    return method === 'connect' ? check('HelloOk', frame.payload, 'the hello')
                                : check(`${camel(method)}Result`, frame.payload, `result of ${method}`);
}

const connections = new Map(); // file, start of the gateway and number: {asked, seq}
function checkRecord(file, record) {
    if (record.error) {
        wrong += 1;
        console.log(`from ${record.from}: ${record.error}`);
    }
    const key = `${file} ${record.start} ${record.connection}`;
    const connection = connections.get(key) ?? { asked: new Map(), seq: 0 };
    connections.set(key, connection);
    asked = connection.asked;
    if (record.method !== undefined) {
        asked.set(record.id, record.method);
    }
    if (record.text === undefined) {
        return;
    }
    const frame = JSON.parse(record.text);
    const kind = { req: 'RequestFrame', res: 'ResponseFrame', event: 'EventFrame' }[frame.type];
    frames += 1;
    if (!kind || (record.from === 'client') !== (frame.type === 'req')) {
        wrong += 1;
        console.log(`from ${record.from}: no frame of its side: ${record.text.slice(0, 200)}`);
        return;
    }
    check(kind, frame, 'a frame');
    if (frame.seq !== undefined && frame.seq !== ++connection.seq) {
        wrong += 1;
        console.log(`event ${frame.event} has seq ${frame.seq}, wanted ${connection.seq}`);
        connection.seq = frame.seq;
    }
    if (frame.type === 'res' && !asked.has(frame.id)) {
        wrong += 1;
        console.log(`an answer to nothing: ${record.text.slice(0, 200)}`);
        return;
    }
    defined += checkPayload(frame) ? 1 : 0;
}
for (const file of files) {
    for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
        checkRecord(file, JSON.parse(line));
    }
}
console.log([...seen].map(([name, count]) => `${name} ${count}`).sort().join(', '));
console.log(`${frames} frames, ${defined} of them by a definition of their own, ${wrong} wrong`);
process.exit(wrong === 0 && frames > 0 ? 0 : 1);
