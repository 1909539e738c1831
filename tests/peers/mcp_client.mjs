// The official MCP client on `chela mcp serve`: node mcp_client.mjs PACKAGES CHELA. Prints a TAP line for each step; the
// client itself checks every answer against the protocol's schema.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [packages, chela] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load('client/index.js');
const { StdioClientTransport } = await load('client/stdio.js');

const is = (got, wanted, name) => {
    const same = JSON.stringify(got) === JSON.stringify(wanted);
    console.log(`${same ? 'ok' : 'not ok'} - ${name}${same ? '' : ` # got ${JSON.stringify(got)}`}`);
};
const client = new Client({ name: 'official', version: '1' }, { capabilities: {} });
await client.connect(new StdioClientTransport({ command: chela, args: ['mcp', 'serve'], env: process.env }));
is(client.getServerVersion().name, 'chela', 'the official client connects');
const { tools } = await client.listTools();
is(tools.map((tool) => tool.name), ['sessions_list', 'messages_read', 'message_send', 'channel_send'], 'its tools');
const session = 'agent:main:official';
const sent = await client.callTool({ name: 'message_send', arguments: { session, message: 'mock: say hello official' } });
is(sent.content[0].text, 'hello official', 'a message is answered');
const read = await client.callTool({ name: 'messages_read', arguments: { session } });
is(/hello official/.test(JSON.stringify(read.structuredContent)), true, 'and read');
const list = await client.callTool({ name: 'sessions_list', arguments: {} });
is(list.structuredContent.sessions.some((one) => one.key === session), true, 'and its session listed');
const wrong = await client.callTool({ name: 'message_send', arguments: {} }).catch((error) => error.code);
is(wrong, -32602, 'a missing argument is an error of the protocol');
await client.close();
