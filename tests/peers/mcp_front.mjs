// Any MCP server of standard input and output, by streamable HTTP: node mcp_front.mjs PACKAGES COMMAND [ARGUMENT...]
// Built on the official SDK on both sides. Prints "listening on port N".
import http from 'node:http';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [packages, command, ...args] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Server } = await load('server/index.js');
const { StreamableHTTPServerTransport } = await load('server/streamableHttp.js');
const { Client } = await load('client/index.js');
const { StdioClientTransport } = await load('client/stdio.js');
const { ListToolsRequestSchema, CallToolRequestSchema } = await load('types.js');

const behind = new Client({ name: 'front', version: '1' }, { capabilities: {} });
await behind.connect(new StdioClientTransport({ command, args }));
const server = new Server({ name: 'front', version: '1' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, (request) => behind.listTools(request.params));
server.setRequestHandler(CallToolRequestSchema, (request) => behind.callTool(request.params));
const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
await server.connect(transport);
const web = http.createServer((request, response) => transport.handleRequest(request, response));
web.listen(0, '127.0.0.1', () => console.log(`listening on port ${web.address().port}`));
