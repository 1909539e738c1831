// The vendors' own SDKs as clients of our gateway: prints "ok NAME" or "not ok NAME: why" for each point.
//
//   node sdks.mjs openai|anthropic|ollama NODE_MODULES PORT SECRET
//
// The model behind the gateway is tests/fakes/mock_model.c, which does what the last message says.
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import assert from 'node:assert/strict';

const [which, modules, port, secret] = process.argv.slice(2);
const load = createRequire(join(resolve(modules), 'x.js'));
const base = `http://127.0.0.1:${port}`;
let failed = 0;

async function point(name, run) {
    try {
        await run();
        console.log(`ok ${name}`);
    } catch (error) {
        failed += 1;
        console.log(`not ok ${name}: ${String(error.stack ?? error).split('\n').slice(0, 6).join(' | ')}`);
    }
}

const weather = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const callWeather = 'mock: tool get_weather {"city":"北京"}\nmock: say It is sunny.';

async function openai() {
    const { default: OpenAI } = load('openai');
    const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: secret, maxRetries: 0 });
    const tools = [{ type: 'function', function: { name: 'get_weather', description: 'weather', parameters: weather } }];
    const flat = [{ type: 'function', name: 'get_weather', description: 'weather', parameters: weather, strict: false }];

    await point('models.list names the agent and the provider\'s models', async () => {
        const ids = (await client.models.list()).data.map((m) => m.id);
        assert(ids.includes('chela') && ids.includes('chela/main') && ids.includes('model/mock-1'), ids.join());
    });
    await point('chat.completions.create answers', async () => {
        const r = await client.chat.completions.create({ model: 'chela', messages: [{ role: 'user', content: 'mock: say Hello 😀' }] });
        assert.equal(r.choices[0].message.content, 'Hello 😀');
        assert.equal(r.choices[0].finish_reason, 'stop');
        assert(r.usage.total_tokens > 0);
    });
    await point('chat.completions streams, with usage at the end', async () => {
        const stream = await client.chat.completions.create({
            model: 'model/mock-1', stream: true, stream_options: { include_usage: true },
            messages: [{ role: 'system', content: 'Be short.' }, { role: 'user', content: 'mock: say a long answer in pieces' }],
        });
        let text = '', usage, finish;
        for await (const chunk of stream) {
            text += chunk.choices[0]?.delta?.content ?? '';
            finish ??= chunk.choices[0]?.finish_reason ?? undefined;
            usage ??= chunk.usage ?? undefined;
        }
        assert.equal(text, 'a long answer in pieces');
        assert.equal(finish, 'stop');
        assert(usage.prompt_tokens > 0);
    });
    await point('a tool of the client is called, and its result comes back', async () => {
        const messages = [{ role: 'user', content: callWeather }];
        const first = await client.chat.completions.create({ model: 'chela', messages, tools });
        const { message, finish_reason } = first.choices[0];
        assert.equal(finish_reason, 'tool_calls');
        assert.equal(message.tool_calls[0].function.name, 'get_weather');
        assert.deepEqual(JSON.parse(message.tool_calls[0].function.arguments), { city: '北京' });
        messages.push(message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: '28 °C' });
        const second = await client.chat.completions.create({ model: 'chela', messages, tools });
        assert.equal(second.choices[0].message.content, 'It is sunny.');
    });
    await point('the same streamed, by the SDK\'s own runner', async () => {
        const runner = client.chat.completions.runTools({
            model: 'chela', stream: true, messages: [{ role: 'user', content: callWeather }],
            tools: [{ type: 'function', function: { name: 'get_weather', description: 'w', parameters: weather, parse: JSON.parse,
                function: ({ city }) => `${city}: 28 °C` } }],
        });
        assert.equal(await runner.finalContent(), 'It is sunny.');
        assert(runner.messages.some((m) => m.role === 'tool' && m.content.includes('28 °C')));
    });
    await point('with a user the session is kept', async () => {
        const ask = (content) => client.chat.completions.create({ model: 'chela', user: 'anna', messages: [{ role: 'user', content }] });
        await ask('mock: say noted');
        const again = await ask('what did I ask before?');
        assert.match(again.choices[0].message.content, /what did I ask before/);
    });
    await point('responses.create answers, and previous_response_id goes on', async () => {
        const r = await client.responses.create({ model: 'chela', instructions: 'Be kind.', input: 'mock: say first' });
        assert.equal(r.output_text, 'first');
        assert.equal(r.status, 'completed');
        const next = await client.responses.create({ model: 'chela', previous_response_id: r.id, input: 'mock: say second' });
        assert.equal(next.output_text, 'second');
    });
    await point('responses stream with their typed events', async () => {
        const stream = client.responses.stream({ model: 'chela', input: [{ role: 'user', content: [{ type: 'input_text', text: 'mock: say one two three' }] }] });
        const types = new Set();
        let text = '';
        for await (const event of stream) {
            types.add(event.type);
            text += event.type === 'response.output_text.delta' ? event.delta : '';
        }
        assert.equal(text, 'one two three');
        assert.equal((await stream.finalResponse()).output_text, 'one two three');
        for (const t of ['response.created', 'response.output_item.added', 'response.content_part.added', 'response.output_text.done', 'response.completed'])
            assert(types.has(t), t);
    });
    await point('responses hand a function call over and take its output', async () => {
        const input = [{ role: 'user', content: callWeather }];
        const stream = client.responses.stream({ model: 'chela', input, tools: flat });
        const first = await stream.finalResponse();
        const call = first.output.find((item) => item.type === 'function_call');
        assert.deepEqual(JSON.parse(call.arguments), { city: '北京' });
        const second = await client.responses.create({ model: 'chela', tools: flat,
            input: [...input, call, { type: 'function_call_output', call_id: call.call_id, output: '28 °C' }] });
        assert.equal(second.output_text, 'It is sunny.');
    });
    await point('an image comes along', async () => {
        const png = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
        const r = await client.chat.completions.create({ model: 'chela', messages: [{ role: 'user', content: [
            { type: 'text', text: 'mock: say seen' }, { type: 'image_url', image_url: { url: png } }] }] });
        assert.equal(r.choices[0].message.content, 'seen');
    });
    await point('an unknown model is 404, a wrong key 401, a bad request 400', async () => {
        const say = (model, messages) => client.chat.completions.create({ model, messages });
        await assert.rejects(say('no/such', [{ role: 'user', content: 'x' }]), (e) => e instanceof OpenAI.NotFoundError);
        await assert.rejects(say('chela', []), (e) => e instanceof OpenAI.BadRequestError);
        const other = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'wrong', maxRetries: 0 });
        await assert.rejects(other.models.list(), (e) => e instanceof OpenAI.AuthenticationError && /secret/.test(e.message));
    });
    await point('a stream that is given up ends', async () => {
        const stream = await client.chat.completions.create({ model: 'chela', stream: true, user: 'hangup',
            messages: [{ role: 'user', content: 'mock: stall' }] });
        for await (const _ of stream) {
            break; // the SDK hangs up; the shell looks for the aborted run in the log
        }
    });
}

async function anthropic() {
    const { default: Anthropic } = load('@anthropic-ai/sdk');
    const client = new Anthropic({ baseURL: base, apiKey: secret, maxRetries: 0 });
    const tools = [{ name: 'get_weather', description: 'weather', input_schema: weather }];
    const common = { model: 'chela', max_tokens: 500 };

    await point('messages.create answers', async () => {
        const r = await client.messages.create({ ...common, system: 'Be short.', messages: [{ role: 'user', content: 'mock: say Hello 😀' }] });
        assert.deepEqual(r.content.map((b) => [b.type, b.text]), [['text', 'Hello 😀']]);
        assert.equal(r.stop_reason, 'end_turn');
        assert(r.usage.output_tokens > 0);
    });
    await point('messages.stream streams', async () => {
        const stream = client.messages.stream({ ...common, messages: [{ role: 'user', content: 'mock: say in several pieces' }] });
        let text = '';
        stream.on('text', (t) => { text += t; });
        const final = await stream.finalMessage();
        assert.equal(text, 'in several pieces');
        assert.equal(final.content[0].text, 'in several pieces');
    });
    await point('thinking comes as blocks of its own', async () => {
        const stream = client.messages.stream({ ...common, max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 1024 },
            messages: [{ role: 'user', content: 'mock: think hmm | the answer' }] });
        const final = await stream.finalMessage();
        assert.deepEqual(final.content.map((b) => b.type), ['thinking', 'text']);
        assert.equal(final.content.at(-1).text, 'the answer');
    });
    await point('a tool of the client is used', async () => {
        const messages = [{ role: 'user', content: callWeather }];
        const first = await client.messages.stream({ ...common, messages, tools }).finalMessage();
        assert.equal(first.stop_reason, 'tool_use');
        const use = first.content.find((b) => b.type === 'tool_use');
        assert.deepEqual(use.input, { city: '北京' });
        messages.push({ role: 'assistant', content: first.content },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: '28 °C' }] });
        const second = await client.messages.create({ ...common, messages, tools });
        assert.equal(second.content[0].text, 'It is sunny.');
    });
    await point('a wrong key and a bad request have the vendor\'s errors', async () => {
        const other = new Anthropic({ baseURL: base, apiKey: 'wrong', maxRetries: 0 });
        const say = (c) => c.messages.create({ ...common, messages: [{ role: 'user', content: 'x' }] });
        await assert.rejects(say(other), (e) => e instanceof Anthropic.AuthenticationError);
        await assert.rejects(client.messages.create({ ...common, messages: [] }), (e) => e instanceof Anthropic.BadRequestError);
    });
}

async function ollama() {
    const { Ollama } = load('ollama');
    const client = new Ollama({ host: base, headers: { Authorization: `Bearer ${secret}` } });
    const tools = [{ type: 'function', function: { name: 'get_weather', description: 'weather', parameters: weather } }];

    await point('list names the models', async () => {
        const names = (await client.list()).models.map((m) => m.name);
        assert(names.includes('chela:latest') && names.includes('model/mock-1'), names.join());
    });
    await point('chat answers at once', async () => {
        const r = await client.chat({ model: 'chela:latest', messages: [{ role: 'user', content: 'mock: say Hello 😀' }] });
        assert.equal(r.message.content, 'Hello 😀');
        assert.equal(r.done_reason, 'stop');
    });
    await point('chat streams', async () => {
        let text = '', done = false;
        for await (const part of await client.chat({ model: 'chela', stream: true, messages: [{ role: 'user', content: 'mock: say line by line' }] })) {
            text += part.message.content;
            done = part.done;
        }
        assert.equal(text, 'line by line');
        assert(done);
    });
    await point('a tool of the client is called', async () => {
        const messages = [{ role: 'user', content: callWeather }];
        const first = await client.chat({ model: 'chela', messages, tools });
        assert.deepEqual(first.message.tool_calls[0].function, { name: 'get_weather', arguments: { city: '北京' } });
        messages.push(first.message, { role: 'tool', content: '28 °C', tool_name: 'get_weather' });
        const second = await client.chat({ model: 'chela', messages, tools });
        assert.equal(second.message.content, 'It is sunny.');
    });
    await point('without the secret it is refused', async () => {
        await assert.rejects(new Ollama({ host: base }).list(), /secret/);
    });
}

await { openai, anthropic, ollama }[which]();
process.exit(failed ? 1 : 0);
