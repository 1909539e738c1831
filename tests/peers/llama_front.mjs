// A small front before a real model, as OpenAI's chat completions and as llama.cpp's own server: node-llama-cpp, on the
// processor, in one thread, temperature 0.
//
//   node llama_front.mjs NODE_LLAMA_CPP MODEL.gguf
//
// POST /v1/chat/completions (streamed as server-sent events, or whole) goes on from the last user message as a plain
// text, since the model only tells stories; GET /v1/models names it. GET /props, POST /apply-template and /completion are
// llama.cpp's native form: n_predict, stop, json_schema (a grammar of the engine), streamed or whole. Prints "listening on port N" when the model is
// loaded. One request at a time; a client that leaves ends the generation.
import http from 'node:http';
import { pathToFileURL } from 'node:url';

const [library, file] = process.argv.slice(2);
const { getLlama, LlamaCompletion } = await import(pathToFileURL(library));
const id = 'stories260K';

const llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: 'error', progressLogs: false });
const model = await llama.loadModel({ modelPath: file });
const context = await model.createContext({ contextSize: 256, threads: 1 });
let before = Promise.resolve();

function textOf(message) {
    const content = message?.content;
    if (Array.isArray(content)) {
        return content.filter((part) => part.type === 'text').map((part) => part.text).join('');
    }
    return typeof content === 'string' ? content : '';
}

async function generate(prompt, maxTokens, signal, onTextChunk, more = {}) {
    const sequence = context.getSequence();
    const completion = new LlamaCompletion({ contextSequence: sequence });
    try {
        const { metadata } = await completion.generateCompletionWithMeta(prompt, {
            maxTokens, signal, stopOnAbortSignal: true, temperature: 0, onTextChunk, ...more,
        });
        const usage = { prompt_tokens: model.tokenize(prompt).length, completion_tokens: sequence.nextTokenIndex };
        usage.completion_tokens = Math.max(0, usage.completion_tokens - usage.prompt_tokens);
        usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
        return { reason: metadata.stopReason === 'maxTokens' ? 'length' : 'stop', usage, stopped: metadata.stopReason };
    } finally {
        completion.dispose();
        sequence.dispose();
    }
}

function fail(response, status, message) {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', code: null } }));
}

async function complete(request, response, body) {
    const prompt = textOf(body.messages?.findLast((message) => message.role === 'user'));
    if (prompt === '') {
        return fail(response, 400, 'no text from the user');
    }
    const leaves = new AbortController();
    response.on('close', () => leaves.abort());
    const maxTokens = Math.min(body.max_completion_tokens ?? body.max_tokens ?? 80, 80);
    const head = { id: 'chatcmpl-1', created: Math.floor(Date.now() / 1000), model: id };
    if (!body.stream) {
        let text = '';
        const { reason, usage } = await generate(prompt, maxTokens, leaves.signal, (piece) => (text += piece));
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({
            ...head, object: 'chat.completion', usage,
            choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: reason }],
        }));
        return;
    }
    const send = (delta, reason, rest) => response.write(`data: ${JSON.stringify({
        ...head, object: 'chat.completion.chunk',
        choices: delta ? [{ index: 0, delta, finish_reason: reason }] : [], ...rest,
    })}\n\n`);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    send({ role: 'assistant', content: '' }, null);
    let pieces = 0;
    const { reason, usage } = await generate(prompt, maxTokens, leaves.signal, (piece) => {
        pieces += 1;
        send({ content: piece }, null);
    });
    send({}, reason);
    if (body.stream_options?.include_usage) {
        send(null, null, { usage });
    }
    response.end('data: [DONE]\n\n');
    console.log(`streamed ${pieces} pieces, ${reason}`);
}

// --- llama.cpp's native form: the fields that its server sends (recorded in testdata/streams/llamacpp)

// The window is larger than the engine's: only the last text reaches it (applyTemplate).
function props(response) {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({
        default_generation_settings: { n_ctx: 4096 }, total_slots: 1, model_path: file, model_alias: id,
        chat_template: '', modalities: { vision: false, audio: false },
    }));
}

function applyTemplate(response, body) {
    const prompt = textOf(body.messages?.findLast((message) => message.role === 'user'));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ prompt }));
}

async function completeNatively(response, body) {
    if (typeof body.prompt !== 'string' || body.prompt === '') {
        return fail(response, 400, '"prompt" must be a string');
    }
    const leaves = new AbortController();
    response.on('close', () => leaves.abort());
    const schema = body.json_schema && JSON.parse(JSON.stringify(body.json_schema).replaceAll('"anyOf"', '"oneOf"'));
    const more = {
        ...(body.stop?.length ? { customStopTriggers: body.stop } : {}),
        ...(schema ? { grammar: await llama.createGrammarForJsonSchema(schema) } : {}),
    };
    const maxTokens = Math.min(body.n_predict > 0 ? body.n_predict : 80, 80);
    const evaluated = model.tokenize(body.prompt).length;
    const send = (piece) => response.write(`data: ${JSON.stringify(piece)}\n\n`);
    let text = '';
    let pieces = 0;
    if (body.stream) {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    }
    const { usage, stopped } = await generate(body.prompt, maxTokens, leaves.signal, (piece) => {
        text += piece;
        pieces += 1;
        if (body.stream) {
            send({ index: 0, content: piece, stop: false, id_slot: -1, tokens_predicted: pieces, tokens_evaluated: evaluated });
        }
    }, more);
    const type = { maxTokens: 'limit', customStopTrigger: 'word' }[stopped] ?? 'eos';
    const end = {
        index: 0, content: body.stream ? '' : text, id_slot: body.id_slot ?? 0, stop: true, model: id,
        tokens_predicted: usage.completion_tokens, tokens_evaluated: evaluated, truncated: false, stop_type: type,
        stopping_word: type === 'word' ? body.stop[0] : '', timings: { cache_n: 0, prompt_n: evaluated },
    };
    if (!body.stream) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(end));
        return;
    }
    send(end);
    response.end();
    console.log(`completed ${pieces} pieces, ${type}${schema ? ', by a schema' : ''}`);
}

const routes = { '/v1/chat/completions': complete, '/completion': (request, response, body) => completeNatively(response, body) };

const server = http.createServer(async (request, response) => {
    if (request.method === 'GET' && request.url === '/v1/models') {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ object: 'list', data: [{ id, object: 'model', owned_by: 'test' }] }));
        return;
    }
    if (request.method === 'GET' && request.url === '/props') {
        props(response);
        return;
    }
    const route = routes[request.url];
    if (request.method !== 'POST' || (!route && request.url !== '/apply-template')) {
        fail(response, 404, `no such path: ${request.url}`);
        return;
    }
    request.setEncoding('utf8');
    let text = '';
    for await (const piece of request) {
        text += piece;
    }
    let body;
    try {
        body = JSON.parse(text);
    } catch (error) {
        fail(response, 400, error.message);
        return;
    }
    if (!route) {
        applyTemplate(response, body);
        return;
    }
    before = before.then(() => route(request, response, body)).catch((error) => {
        console.log(error.stack);
        response.destroy();
    });
});
server.listen(0, '127.0.0.1', () => console.log(`listening on port ${server.address().port}`));
