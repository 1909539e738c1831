// The page in real Chromium, driven by playwright-core; prints "ok NAME" or "not ok NAME: why" for each point.
//
//   node page.mjs NODE_MODULES CHROMIUM CHELAD SHOTS
//
// Starts its own model (a scripted one, which streams word by word), and the gateway with the environment that it was
// given, on one port also after a kill. Screenshots of each point go to SHOTS.
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import assert from 'node:assert/strict';

const [modules, browserPath, chelad, shots] = process.argv.slice(2);
const load = createRequire(join(resolve(modules), 'x.js'));
const { chromium } = load('playwright-core');
const axe = readFileSync(load.resolve('axe-core/axe.min.js'), 'utf8');
const only = process.env.CHELA_TEST_ONLY;
mkdirSync(shots, { recursive: true });
let failed = 0;

// ---- the model: what the last user message says ----

const held = [];
const model = http.createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => { body += piece; });
    request.on('end', async () => {
        const { messages } = JSON.parse(body || '{"messages":[]}');
        const at = messages.findLastIndex((m) => m.role === 'user');
        const content = messages[at]?.content;
        const said = typeof content === 'string' ? content : (content ?? []).map((p) => p.text ?? '').join(' ');
        const answered = messages.slice(at).some((m) => m.role === 'tool');
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const send = (delta, finish) => response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish ?? null }] })}\n\n`);
        const words = async (text, ms) => {
            for (const word of text.split(/(?<= )/)) {
                send({ content: word });
                await new Promise((go) => setTimeout(go, ms));
                if (response.destroyed) {
                    return;
                }
            }
        };
        const tool = /tool (\w+) (\{.*\})/.exec(said);
        if (tool && !answered) {
            await words('Let me look. ', 5);
            send({ tool_calls: [{ index: 0, id: `call_${Date.now()}`, type: 'function', function: { name: tool[1], arguments: tool[2] } }] });
            send({}, 'tool_calls');
        } else {
            if (/think/.test(said)) {
                for (const word of ['First ', 'I ', 'weigh ', 'it.']) {
                    send({ reasoning_content: word });
                    await new Promise((go) => setTimeout(go, 20));
                }
            }
            const slow = /slow (\d+)/.exec(said), hold = /hold/.test(said);
            if (slow) {
                await words(Array.from({ length: Number(slow[1]) }, (_, i) => `word${i} `).join(''), 30);
            } else if (/markdown/.test(said)) {
                await words('# Plan\n\nA **bold** start, then <script>alert(1)</script> as text.\n\n1. one\n2. two\n\n```python\nprint("hello")\nfor i in range(3):\n    print(i)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[a link](https://example.org) and [a bad one](javascript:alert(1)).\n', 4);
            } else {
                await words(answered ? 'The tool has answered.' : `You said: ${said.slice(0, 60)}`, 3);
            }
            if (hold) {
                await new Promise((go) => held.push(go));
            }
            send({}, 'stop');
        }
        response.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [], usage: { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 } })}\n\n`);
        response.end('data: [DONE]\n\n');
    });
});
await new Promise((go) => model.listen(0, '127.0.0.1', go));

// ---- the gateway ----

const config = readFileSync(process.env.CHELA_CONFIG, 'utf8').replace('MODEL_PORT', model.address().port);
writeFileSync(process.env.CHELA_CONFIG, config, { mode: 0o600 });
let gateway, port = 0;

function startGateway() {
    return new Promise((go, no) => {
        const env = { ...process.env, ...(port ? { CHELA_GATEWAY_PORT: String(port) } : {}) };
        gateway = spawn(chelad, ['--ready-fd', '3'], { env, stdio: ['ignore', 'ignore', 'pipe', 'pipe'] });
        gateway.stderr.on('data', (text) => process.stderr.write(text));
        gateway.stdio[3].on('data', (text) => { port = Number(/port=(\d+)/.exec(text)[1]); go(); });
        gateway.once('exit', (code) => no(new Error(`chelad ended with ${code}`)));
    });
}

const killGateway = (signal) => new Promise((go) => { gateway.removeAllListeners('exit'); gateway.once('exit', (code) => go(code)); gateway.kill(signal); });
await startGateway();
const secret = readFileSync(join(process.env.CHELA_STATE_DIR, 'gateway.token'), 'utf8').trim();

// ---- the browser ----

const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu', '--force-prefers-reduced-motion'] });
const foreign = [];

async function newContext(options = {}) {
    const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
    context.on('request', (r) => { new URL(r.url()).hostname !== '127.0.0.1' && !r.url().startsWith('blob:') && !r.url().startsWith('data:') && foreign.push(r.url()); });
    return context;
}

async function openPage(context, { enter = true } = {}) {
    const page = await context.newPage();
    page.errors = [];
    page.on('pageerror', (e) => page.errors.push(String(e)));
    page.on('console', (m) => m.type() === 'error' && page.errors.push(m.text()));
    await page.goto(`http://127.0.0.1:${port}/`);
    if (enter) {
        await page.waitForSelector('#connection[data-state="ready"], #login[open]');
        if (await page.locator('#login[open]').count()) {
            await page.fill('#secret', secret);
            await page.press('#secret', 'Enter');
        }
        await page.waitForSelector('html[data-ready]');
    }
    return page;
}

const say = async (page, text) => { await page.fill('#input', text); await page.press('#input', 'Enter'); };
const lastAnswer = (page) => page.locator('.message.assistant').last();
const answered = (page, text) => page.waitForFunction((t) => [...document.querySelectorAll('.message.assistant')].at(-1)?.textContent.includes(t) && !document.querySelector('.message.now'), text);
const fresh = async (page) => { await page.click('#new'); await page.waitForSelector('.empty'); };

async function point(name, run) {
    if (only && !name.includes(only)) {
        return;
    }
    let page;
    try {
        await run((p) => { page = p; return p; }, (p, shot) => p.screenshot({ path: join(shots, `${shot}.png`) }));
        console.log(`ok ${name}`);
    } catch (error) {
        failed += 1;
        await page?.keyboard.press('Escape').catch(() => {});
        await page?.screenshot({ path: join(shots, `failed-${name.replace(/\W+/g, '-').slice(0, 60)}.png`) }).catch(() => {});
        console.log(`not ok ${name}: ${String(error.stack ?? error).split('\n').slice(0, 8).join(' | ')}${page?.errors.length ? ` || ${page.errors.join(' | ')}` : ''}`);
    }
}

const context = await newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
let page;

await point('a stranger sees a door and nothing behind it', async (is, shot) => {
    const other = await newContext(), p = is(await openPage(other, { enter: false }));
    await p.waitForSelector('#login[open]');
    await shot(p, 'login');
    await p.fill('#secret', 'not-the-secret-0123456789');
    await p.press('#secret', 'Enter');
    await p.waitForSelector('#login .bad');
    assert.equal(await p.locator('.message').count(), 0);
    await other.close();
});

// A code as `chela dashboard` asks for one.
const dashboardCode = () => new Promise((go) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
    const ask = (id, method, params) => socket.send(JSON.stringify({ type: 'req', id, method, params }));
    socket.onmessage = ({ data }) => {
        const frame = JSON.parse(data);
        if (frame.event === 'connect.challenge') {
            ask('c', 'connect', { minProtocol: 4, maxProtocol: 4, role: 'operator', scopes: ['operator.admin'],
                client: { id: 'cli', version: '1', platform: 'x', mode: 'cli' }, auth: { token: secret } });
        } else if (frame.id === 'c') {
            ask('d', 'chela.dashboard.code', {});
        } else if (frame.id === 'd') {
            socket.close();
            go(frame.payload.code);
        }
    };
});

await point('a link of chela dashboard lets this browser in, once, and it is known from then on', async (is) => {
    const other = await newContext(), p = is(await other.newPage()), link = `http://127.0.0.1:${port}/#code=${await dashboardCode()}`;
    p.errors = [];
    await p.goto(link);
    await p.waitForSelector('html[data-ready]');
    assert.equal(new URL(p.url()).hash, '', 'the code is wiped from the address');
    await p.reload();
    await p.waitForSelector('html[data-ready]');
    const again = await newContext(), q = is(await again.newPage());
    q.errors = [];
    await q.goto(link);
    await q.waitForSelector('#login[open]');
    await other.close();
    await again.close();
});

await point('with the secret the page opens and greets', async (is, shot) => {
    page = is(await openPage(context));
    await page.waitForSelector('.empty');
    await shot(page, 'empty');
});
page ??= await openPage(context);

await point('what is sent is answered, streamed and rendered', async (is, shot) => {
    is(page);
    await say(page, 'markdown please');
    await page.waitForSelector('.message.user .said');
    await answered(page, 'a bad one');
    await page.waitForSelector('.message.assistant table');
    const html = await lastAnswer(page).innerHTML();
    assert.equal(await lastAnswer(page).locator('h1, strong, ol li, pre').count() >= 5, true, html);
    assert.equal(await lastAnswer(page).locator('script').count(), 0);
    assert.equal(await lastAnswer(page).locator('a[href^="javascript"]').count(), 0);
    assert.equal(await lastAnswer(page).locator('a[rel="noopener noreferrer"]').count(), 1);
    assert.equal(await page.locator('.message.user.pending').count(), 0);
    const [column, box] = await Promise.all(['.column', '.box'].map((of) => page.locator(of).first().boundingBox()));
    assert.ok(Math.abs(column.x - box.x) < 1 && Math.abs(column.width - box.width) < 1, 'the composer stands under the text');
    await shot(page, 'markdown');
});

await point('code is copied as it stands', async (is) => {
    is(page);
    await page.locator('.code').last().hover();
    await page.locator('.code > button').last().click();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^print\("hello"\)\nfor i/);
});

await point('thinking is there, folded', async (is, shot) => {
    is(page);
    await say(page, 'think about it');
    await answered(page, 'You said: think');
    const card = page.locator('.thinking').last();
    assert.equal(await card.evaluate((e) => e.open), false);
    await card.locator('summary').click();
    await page.waitForFunction(() => [...document.querySelectorAll('.thinking .inside')].at(-1).textContent.includes('First I weigh it.'));
    await shot(page, 'thinking');
});

await point('a tool call is a line that unfolds', async (is, shot) => {
    is(page);
    await say(page, 'tool list {"path":"."}');
    await answered(page, 'The tool has answered.');
    const card = page.locator('.card.tool').last();
    assert.match(await card.locator('summary').innerText(), /list[\s\S]*done/);
    await card.locator('summary').click();
    await card.locator('pre').nth(1).waitFor();
    assert.match(await card.locator('.inside').innerText(), /first-file\.txt/);
    await shot(page, 'tool-card');
});

await point('an approval can be given: A, when its card has the focus', async (is, shot) => {
    is(page);
    await say(page, 'tool exec {"command":"touch approved.txt && rm -rf nothing-there"}');
    await page.waitForSelector('.approval:not(.over)');
    await shot(page, 'approval');
    const text = await page.locator('.approval').innerText();
    assert.match(text, /touch approved\.txt/);
    assert.match(text, /risk: high/);
    assert.equal(await page.evaluate(() => document.activeElement.textContent.startsWith('Deny')), true, 'the focus is on Deny');
    await page.locator('.approval .allow').focus();
    await page.keyboard.press('Enter');
    assert.equal(existsSync('approved.txt'), false, 'Enter approves nothing');
    await page.keyboard.press('a');
    await answered(page, 'The tool has answered.');
    assert.equal(existsSync('approved.txt'), true);
    assert.match(await page.locator('.approval.over').last().innerText(), /Allowed by web page/);
    await shot(page, 'approved');
});

await point('an approval can be denied', async (is, shot) => {
    is(page);
    await say(page, 'tool exec {"command":"touch denied.txt && rm -rf nothing-there"}');
    await page.waitForSelector('.approval:not(.over)');
    await page.locator('.approval:not(.over) button', { hasText: 'Deny' }).click();
    await answered(page, 'The tool has answered.');
    assert.equal(existsSync('denied.txt'), false);
    assert.match(await page.locator('.approval.over').last().innerText(), /Denied/);
    await shot(page, 'denied');
});

await point('a picture is pasted, sent, and shown from the store', async (is, shot) => {
    is(page);
    const png = 'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mM4YeBEEmIY1TCqYfhqAABsLAwQ8s2rhgAAAABJRU5ErkJggg==';
    await page.setInputFiles('#file', { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') });
    await page.waitForSelector('#attached img');
    await say(page, 'what is this?');
    await answered(page, 'You said: what is this');
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    await page.waitForFunction(() => [...document.querySelectorAll('.picture')].some((i) => i.naturalWidth === 16));
    await shot(page, 'picture');
});

await point('what a tool sends is shown, and a file can be saved', async (is, shot) => {
    is(page);
    writeFileSync('report.txt', 'the report of today');
    writeFileSync('dot.png', Buffer.from('iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mM4YeBEEmIY1TCqYfhqAABsLAwQ8s2rhgAAAABJRU5ErkJggg==', 'base64'));
    await say(page, 'tool send_file {"path":"report.txt"}');
    await answered(page, 'The tool has answered.');
    const saved = async () => {
        const [file] = await Promise.all([page.waitForEvent('download'), page.locator('button.fetch').last().click()]);
        assert.equal(file.suggestedFilename(), 'report.txt');
        assert.equal(readFileSync(await file.path(), 'utf8'), 'the report of today');
    };
    await page.locator('button.fetch').last().waitFor();
    await saved();
    const before = await page.locator('.message.assistant .picture').count();
    await say(page, 'tool send_file {"path":"dot.png"}');
    await answered(page, 'The tool has answered.');
    await page.waitForFunction((n) => [...document.querySelectorAll('.message.assistant .picture')].filter((i) => i.naturalWidth === 16).length > n, before);
    await shot(page, 'sent-files');
    await page.reload();
    await page.waitForSelector('html[data-ready]');
    await page.locator('button.fetch').last().waitFor();
    await saved();
});

await point('Esc stops a run', async (is, shot) => {
    is(page);
    await say(page, 'slow 400');
    await page.waitForFunction(() => document.querySelector('.message.now')?.textContent.includes('word5 '));
    await page.keyboard.press('Escape');
    await page.waitForSelector('.state.stopped');
    await shot(page, 'stopped');
    assert.equal(await page.locator('.message.now').count(), 0);
});

await point('two pages on one conversation see the same', async (is, shot) => {
    const second = is(await openPage(context));
    await say(page, 'hello from the first page');
    await answered(second, 'You said: hello from the first page');
    await say(second, 'and one from the second');
    await answered(page, 'You said: and one from the second');
    const texts = (p) => p.locator('.message .said, .message .answer').allInnerTexts();
    await page.waitForFunction(() => !document.querySelector('.answer.live'));
    await second.waitForFunction(() => !document.querySelector('.answer.live'));
    assert.deepEqual((await texts(page)).slice(-4), (await texts(second)).slice(-4));
    await shot(second, 'two-pages');
    await second.close();
});

await point('the list finds, renames, pins, deletes and takes back', async (is, shot) => {
    is(page);
    await fresh(page);
    await say(page, 'a conversation about zebras');
    await answered(page, 'zebras');
    const row = page.locator('.session.here');
    await row.locator('.name', { hasText: 'zebras' }).waitFor();
    await row.locator('.more').click();
    await page.locator('#sessions .buttons button', { hasText: 'Rename' }).click();
    await page.fill('.rename', 'Striped animals');
    await page.press('.rename', 'Enter');
    await row.locator('.name', { hasText: 'Striped animals' }).waitFor();
    await row.locator('.more').click();
    await page.locator('#sessions .buttons button', { hasText: 'Pin' }).click();
    await page.locator('section[aria-label="Pinned"] .session', { hasText: 'Striped' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.waitForFunction(() => { // the index of what was said is written behind
        const input = document.querySelector('#palette input');
        if ([...document.querySelectorAll('#palette .small')].some((e) => e.textContent === 'Contents')) {
            return true;
        }
        input.value = 'zebras';
        input.dispatchEvent(new Event('input'));
        return false;
    }, null, { polling: 600 });
    await shot(page, 'palette');
    await page.keyboard.press('Escape');
    await page.locator('.session', { hasText: 'Striped' }).locator('.more').click();
    await page.locator('#sessions .buttons button', { hasText: 'Delete' }).click();
    await page.locator('.session', { hasText: 'Striped' }).waitFor({ state: 'detached' });
    await page.locator('#toast button').click();
    await page.locator('.session', { hasText: 'Striped' }).waitFor();
});

await point('the gateway is killed in mid-stream: nothing is lost, nothing doubled', async (is, shot) => {
    is(page);
    await fresh(page);
    await say(page, 'slow 120');
    await page.waitForFunction(() => document.querySelector('.message.now')?.textContent.includes('word12 '));
    await killGateway('SIGKILL');
    await page.waitForSelector('#connection[data-state="lost"]');
    await page.fill('#input', 'sent while it was away');
    await page.press('#input', 'Enter');
    await page.fill('#input', 'a draft that stays');
    const [running, waiting] = await Promise.all(['.message.now', '.message.pending'].map((of) => page.locator(of).boundingBox()));
    assert.ok(waiting.y > running.y, 'what waits stands behind what runs');
    await shot(page, 'lost');
    await startGateway();
    await page.waitForSelector('#connection[data-state="ready"]');
    await page.waitForFunction(() => document.querySelectorAll('.message.user').length === 2 && !document.querySelector('.pending')
        && !document.querySelector('.message.now') && [...document.querySelectorAll('.message.assistant')].some((m) => m.textContent.includes('word119'))
        && !document.querySelector('.answer.live'), null, { timeout: 30000 });
    const text = (await page.locator('.message.assistant').allInnerTexts()).join(' ');
    const words = text.match(/word\d+/g);
    assert.equal(words.length, 120, `${words.length} words`);
    assert.deepEqual(words, Array.from({ length: 120 }, (_, i) => `word${i}`));
    assert.equal((await page.locator('.message.user .said').allInnerTexts()).filter((s) => s === 'sent while it was away').length, 1);
    assert.equal(await page.inputValue('#input'), 'a draft that stays');
    await shot(page, 'back');
    await page.fill('#input', '');
});

await point('the connection alone is cut in mid-stream: the text goes on without a seam', async (is) => {
    is(page);
    await fresh(page);
    await say(page, 'slow 100');
    await page.waitForFunction(() => document.querySelector('.message.now')?.textContent.includes('word10 '));
    await context.setOffline(true);
    await page.evaluate(() => dispatchEvent(new Event('chela-test-cut')));
    await page.reload({ waitUntil: 'commit' }).catch(() => {});
    await context.setOffline(false);
    await page.goto(`http://127.0.0.1:${port}/`);
    await page.waitForSelector('html[data-ready]');
    await answered(page, 'word99');
    const words = (await lastAnswer(page).innerText()).match(/word\d+/g);
    assert.deepEqual(words, Array.from({ length: 100 }, (_, i) => `word${i}`));
});

await point('a run shows its legs with times, and the log', async (is, shot) => {
    is(page);
    await page.click('#open-trace');
    await page.waitForSelector('.legs .fill');
    assert((await page.locator('.legs > span').count()) >= 10);
    await shot(page, 'trace');
    await page.locator('#trace [role=tab]', { hasText: 'Log' }).click();
    await page.waitForFunction(() => document.querySelector('#trace .lines')?.textContent.includes('ready on port'));
    await page.keyboard.press('Escape');
});

await point('settings are forms made from the option tables, and a change is shown before it is saved', async (is, shot) => {
    is(page);
    await page.click('#open-settings');
    await page.locator('#settings [role=tab]', { hasText: 'logging' }).click();
    await page.selectOption('[id="option-logging.level"]', 'debug');
    await page.locator('#settings .page > button', { hasText: 'Show what changes' }).click();
    await page.waitForSelector('.diff');
    assert.match(await page.locator('.diff').innerText(), /logging\.level = debug/);
    assert.equal(await page.locator('#settings .page button:visible').count(), 1, 'one button: it saves');
    await shot(page, 'settings');
    await page.locator('#settings .page div button', { hasText: 'Save' }).click();
    await page.locator('#toast', { hasText: 'Saved' }).waitFor();
    await page.waitForFunction(() => document.querySelector('[id="option-logging.level"]').closest('.field').textContent.includes('90-gateway.conf'));
    await page.keyboard.press('Escape');
});

await point('all of it by keyboard alone', async (is, shot) => {
    const p = is(await openPage(context));
    await p.keyboard.press('Alt+n');
    await p.waitForSelector('.empty');
    await p.keyboard.type('typed without a mouse');
    await p.keyboard.press('Enter');
    await answered(p, 'typed without a mouse');
    await p.keyboard.press('ArrowUp');
    assert.equal(await p.inputValue('#input'), 'typed without a mouse');
    await p.keyboard.press('Control+a');
    await p.keyboard.type('/sta');
    await p.waitForSelector('#commands li');
    await p.keyboard.press('Tab');
    assert.match(await p.inputValue('#input'), /^\/status/);
    await p.keyboard.press('Enter');
    await p.waitForFunction(() => [...document.querySelectorAll('.message.assistant')].length >= 2);
    await p.keyboard.press('Control+k');
    await p.keyboard.type('settings');
    await p.keyboard.press('Enter');
    await p.waitForSelector('#settings[open]');
    await p.keyboard.press('Escape');
    const seen = new Set();
    for (let i = 0; i < 60; i++) {
        await p.keyboard.press('Tab');
        seen.add(await p.evaluate(() => document.activeElement.id || document.activeElement.className));
    }
    for (const id of ['new', 'find', 'open-settings', 'model', 'open-trace', 'log', 'attach', 'input', 'send']) {
        assert(seen.has(id), `Tab reaches ${id}: ${[...seen].join()}`);
    }
    const ring = await p.evaluate(() => { document.querySelector('#new').focus(); return getComputedStyle(document.activeElement).outlineStyle; });
    assert.equal(ring, 'solid');
    await shot(p, 'keyboard');
    await p.close();
});

await point('a phone: the list is a drawer, buttons are large enough', async (is, shot) => {
    const phone = await newContext({ viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true, storageState: await context.storageState() });
    const p = is(await openPage(phone));
    await p.waitForSelector('.message, .empty');
    assert.equal(await p.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'nothing is wider than the screen');
    await shot(p, 'phone');
    await p.tap('#menu');
    await p.waitForFunction(() => document.querySelector('#side').getBoundingClientRect().left >= 0);
    await shot(p, 'phone-drawer');
    for (const id of ['#new', '#open-settings', '#find']) {
        const box = await p.locator(id).boundingBox();
        assert(box.height >= 44, `${id} is ${box.height} high`);
    }
    await phone.close();
});

await point('dark, Chinese and right to left', async (is, shot) => {
    const other = await newContext({ colorScheme: 'dark', locale: 'zh-CN' }), p = is(await openPage(other));
    await p.waitForSelector('.message, .empty');
    assert.equal(await p.getAttribute('html', 'lang'), 'zh-CN');
    assert.match(await p.locator('#hint').innerText(), /发送/);
    await shot(p, 'dark-zh');
    await other.close();
    const right = await newContext({ locale: 'ar' }), q = is(await openPage(right));
    await q.waitForSelector('.message, .empty');
    assert.equal(await q.getAttribute('html', 'dir'), 'rtl');
    await say(q, 'مرحبا، كيف الحال؟');
    await answered(q, 'مرحبا');
    assert.equal(await q.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
    await shot(q, 'rtl');
    await right.close();
});

await point('5,000 messages scroll at once and are found by their text', async (is, shot) => {
    const key = 'agent:main:long', p = is(await openPage(context));
    await p.evaluate(async ({ key, secret }) => {
        const socket = new WebSocket(location.origin.replace('http', 'ws') + '/');
        const asked = new Map();
        let id = 0;
        const ask = (method, params) => new Promise((go) => { asked.set(String(++id), go); socket.send(JSON.stringify({ type: 'req', id: String(id), method, params })); });
        await new Promise((go) => {
            socket.onmessage = async (m) => {
                const frame = JSON.parse(m.data);
                if (frame.event === 'connect.challenge') {
                    await ask('connect', { minProtocol: 4, maxProtocol: 4, role: 'operator', scopes: ['operator.admin'], client: { id: 'cli', version: '1', platform: 'x', mode: 'cli' }, auth: { token: secret } });
                    for (let i = 0; i < 5000; i += 100) {
                        await Promise.all(Array.from({ length: 100 }, (_, k) => ask('chat.inject', { sessionKey: key, message: `Message **${i + k}** of a long history.\n\n- a point\n- another` })));
                    }
                    go();
                } else if (frame.type === 'res') {
                    asked.get(frame.id)?.(frame);
                }
            };
        });
        socket.close();
    }, { key, secret });
    await p.evaluate((k) => localStorage.setItem('chela.session', k), key);
    const began = Date.now();
    await p.reload();
    await p.waitForFunction(() => [...document.querySelectorAll('.message')].at(-1)?.textContent.includes('4999'));
    const first = Date.now() - began;
    await p.waitForFunction(() => document.querySelectorAll('.message').length === 5000, null, { timeout: 30000 });
    const all = Date.now() - began;
    const frames = await p.evaluate(async () => {
        const log = document.querySelector('#log'), times = [];
        let last = performance.now();
        for (let i = 0; i < 60; i++) {
            log.scrollTop = (log.scrollHeight - log.clientHeight) * (1 - i / 59);
            await new Promise((go) => requestAnimationFrame(go));
            times.push(performance.now() - last);
            last = performance.now();
        }
        times.sort((a, b) => a - b);
        return { median: times[30], worst: times[59] };
    });
    await p.waitForFunction(() => document.querySelector('.message strong')?.textContent === '0');
    assert.equal(await p.evaluate(() => window.find('of a long history', false, false, true)), true);
    console.log(`# first of 5,000 messages after ${first} ms, all after ${all} ms, a frame of scrolling ${frames.median.toFixed(1)} ms (worst ${frames.worst.toFixed(0)})`);
    assert(frames.median < 500, `${frames.median} ms a frame`);
    await shot(p, 'long-history');
    await p.evaluate(() => localStorage.removeItem('chela.session'));
    await p.close();
});

await point('axe finds no violation, light and dark, list and dialogs', async (is) => {
    for (const colorScheme of ['light', 'dark']) {
        const other = await newContext({ colorScheme, bypassCSP: true }), p = is(await openPage(other));
        await say(p, 'markdown please');
        await answered(p, 'a bad one');
        await p.waitForSelector('.message.assistant table');
        await p.evaluate(axe);
        const check = async (where) => {
            const { violations } = await p.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
            assert.equal(violations.length, 0, `${colorScheme} ${where}: ${violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).slice(0, 3).join(', ')} (${v.nodes[0].failureSummary?.split('\n')[1]})`).join('; ')}`);
        };
        await check('conversation');
        await say(p, 'tool exec {"command":"rm -rf nothing-there"}');
        await p.waitForSelector('.approval:not(.over)');
        await check('approval');
        await p.keyboard.press('d');
        await answered(p, 'The tool has answered.');
        await p.click('#open-settings');
        await p.locator('#settings [role=tab]').nth(1).waitFor();
        await check('settings');
        await p.keyboard.press('Escape');
        await p.keyboard.press('Control+k');
        await p.waitForSelector('#palette li');
        await check('palette');
        await p.keyboard.press('Escape');
        await p.click('#open-trace');
        await p.waitForSelector('.legs');
        await check('trace');
        await other.close();
    }
});

await point('the whole page is under 120 KB', async (is) => {
    const other = await newContext(), p = is(await other.newPage());
    p.errors = [];
    let size = 0;
    p.on('response', async (r) => { size += Number(r.headers()['content-length'] ?? 0); });
    await p.goto(`http://127.0.0.1:${port}/`, { waitUntil: 'networkidle' });
    const paint = await p.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
    console.log(`# first contentful paint ${Math.round(paint)} ms, ${size} bytes`);
    assert(size > 20000 && size < 120 * 1024, `${size} bytes`);
    await other.close();
});

await point('no request went to another host, and nothing was in the console', async (is) => {
    is(page);
    assert.deepEqual(foreign, []);
    const errors = page.errors.filter((e) => !/WebSocket connection|ERR_INTERNET|ERR_CONNECTION/.test(e));
    assert.deepEqual(errors, []);
});

await browser.close();
model.closeAllConnections();
model.close();
const code = await killGateway('SIGTERM');
console.log(code === 0 ? 'ok the gateway ends well' : `not ok the gateway ends well: ${code}`);
process.exit(failed || code ? 1 : 0);
