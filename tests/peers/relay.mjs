// Stands between a client and the gateway and writes down every WebSocket message that passes, unchanged.
//
//   node relay.mjs GATEWAY_PORT FILE
//
// Prints "listening on port N". FILE gets a line {"connection":N,"from":"client"|"gateway","text":...} for each text message, and
// {"from":...,"close":CODE}. What is no WebSocket passes without a note.
import net from 'node:net';
import { appendFileSync, writeFileSync } from 'node:fs';

const [port, file] = process.argv.slice(2);
writeFileSync(file, '');
const note = (record) => appendFileSync(file, `${JSON.stringify(record)}\n`);

// Reads the frames of one direction (RFC 6455, section 5.2), after the HTTP head.
function reader(connection, from) {
    let bytes = Buffer.alloc(0);
    let head = true;
    let text = [];
    const frame = () => {
        if (bytes.length < 2) {
            return false;
        }
        const opcode = bytes[0] & 15;
        const masked = (bytes[1] & 128) !== 0;
        let length = bytes[1] & 127;
        let at = 2;
        if (length === 126) {
            if (bytes.length < 4) {
                return false;
            }
            length = bytes.readUInt16BE(2);
            at = 4;
        } else if (length === 127) {
            if (bytes.length < 10) {
                return false;
            }
            length = Number(bytes.readBigUInt64BE(2));
            at = 10;
        }
        const start = at + (masked ? 4 : 0);
        if (bytes.length < start + length) {
            return false;
        }
        const data = Buffer.from(bytes.subarray(start, start + length));
        for (let i = 0; masked && i < length; i++) {
            data[i] ^= bytes[at + (i & 3)];
        }
        if ((bytes[0] & 0x70) !== 0) {
            note({ connection, from, error: 'a reserved bit is set' });
        } else if (opcode === 8) {
            note({ connection, from, close: length >= 2 ? data.readUInt16BE(0) : 1005 });
        } else if (opcode < 2) {
            text.push(data);
            if ((bytes[0] & 128) !== 0) {
                note({ connection, from, text: new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(text)) });
                text = [];
            }
        }
        bytes = bytes.subarray(start + length);
        return true;
    };
    return (piece) => {
        bytes = Buffer.concat([bytes, piece]);
        if (head) {
            const end = bytes.indexOf('\r\n\r\n');
            if (end < 0) {
                return;
            }
            head = false;
            if (!/^upgrade: *websocket/im.test(bytes.subarray(0, end).toString('latin1'))) {
                bytes = Buffer.alloc(0);
                head = true;
                return;
            }
            bytes = bytes.subarray(end + 4);
        }
        while (frame());
    };
}

let connections = 0;
const server = net.createServer((client) => {
    const connection = ++connections;
    const gateway = net.connect(Number(port), '127.0.0.1');
    const pass = (from, to, name) => {
        const read = reader(connection, name);
        from.on('data', (piece) => {
            read(piece);
            to.write(piece);
        });
        from.on('end', () => to.end());
        from.on('error', () => to.destroy());
    };
    pass(client, gateway, 'client');
    pass(gateway, client, 'gateway');
});
server.listen(0, '127.0.0.1', () => console.log(`listening on port ${server.address().port}`));
