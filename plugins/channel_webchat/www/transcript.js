// The conversation that is shown: what is stored, and the turn that runs. Text of a running turn is put in place by its
// byte offset, so that a connection which was lost in its middle goes on without a gap or a repetition.
import { $, h, putHtml, copy, speak, duration, toast } from './dom.js';
import { ApprovalCard, ThinkingCard, ToolCard } from './cards.js';
import { t } from './text.js';

const PAGE = 200, MORE = 1000;
const bytes = (text) => new TextEncoder().encode(text);
const count = (text) => bytes(text).length;

// History and events tell the same in two shapes; this is the one that the page uses.
function partsOf(message) {
    const content = typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content ?? [];
    if (message.role === 'toolResult' && message.toolCallId) {
        return [{ type: 'toolResult', callId: message.toolCallId, content, isError: message.isError }];
    }
    return content.map((p) => (p.type === 'thinking' ? { type: 'thinking', text: p.text ?? p.thinking ?? '' } : p));
}

const plainText = (parts) => parts.filter((p) => p.type === 'text').map((p) => p.text).join('\n\n');

export class Transcript {
    #column = h('div', { className: 'column' });
    #entries = new Map(); // by seq
    #tools = new Map(); // by call id
    #approvals = new Map();
    #run = null;
    #unseen = 0;
    #render = [];
    #pendingSends = new Map();
    #stick = true; // the reader is at the end, and stays there
    #top = 0;

    constructor(gateway, store, actions) {
        Object.assign(this, { gateway, store, actions });
        this.log = $('log');
        this.log.append(this.#column);
        this.tail = h('div');
        this.queue = h('div'); // what waits behind the running turn
        this.#column.append(this.tail, this.queue);
        this.log.addEventListener('scroll', () => this.#scrolled(), { passive: true });
        // what is read stays in view while heights that were guessed become real
        new ResizeObserver(() => this.#stick && this.#down()).observe(this.#column);
        new ResizeObserver(() => this.#stick && this.#down()).observe(this.log);
        $('latest').onclick = () => this.toEnd();
        this.watch = new IntersectionObserver((seen) => this.#near(seen), { root: this.log, rootMargin: '1200px' });
        gateway.addEventListener('agent', (e) => this.#agent(e.detail));
        gateway.addEventListener('chat', (e) => this.#chat(e.detail));
        gateway.addEventListener('session.message', (e) => this.#stored(e.detail));
        gateway.addEventListener('exec.approval.requested', (e) => this.#asked(e.detail));
        gateway.addEventListener('exec.approval.resolved', (e) => this.#resolved(e.detail));
    }

    get running() {
        return this.#run?.id;
    }

    // ---- loading ----

    async load() {
        const { key } = this.store, load = this.loading = {};
        const history = await this.gateway.request('chat.history', { sessionKey: key, limit: PAGE });
        if (load !== this.loading) {
            return;
        }
        const again = this.shown === key;
        const where = again ? this.#place() : null;
        this.shown = key;
        this.#clear();
        this.#add(history.messages, null);
        const flight = history.inFlightRun;
        if (flight) {
            this.#begin(flight.runId, this.#uncommitted(flight, history.messages));
        } else {
            for (const card of this.#tools.values()) {
                card.interrupt();
            }
        }
        for (const record of this.store.approvals.values()) {
            this.#asked(record, true);
        }
        for (const pending of this.#pendingSends.values()) {
            pending.key === key && this.#putPending(pending.element);
        }
        this.#empty();
        if (where) {
            this.#restore(where);
        } else {
            this.toEnd();
        }
        await this.#older(load, history.messages);
        if (load === this.loading && !again) {
            const saved = sessionStorage.getItem(`chela.place.${key}`);
            saved && this.#restore(JSON.parse(saved));
        }
    }

    #clear() {
        this.#entries.clear();
        this.#tools.clear();
        this.#approvals.clear();
        this.watch.disconnect();
        this.#run?.end();
        this.#run = null;
        this.#column.replaceChildren(this.tail, this.queue);
        this.tail.replaceChildren();
        this.queue.replaceChildren();
        this.actions.running(null);
    }

    // The rest of a long history, page by page, put before what is there without moving what is read.
    async #older(load, messages) {
        while (messages.length && load === this.loading) {
            const first = messages[0].__openclaw.seq;
            if (first <= 1) {
                return;
            }
            const answer = await this.gateway.request('chat.history', { sessionKey: this.store.key, limit: MORE, cursor: String(first) }).catch(() => ({ messages: [] }));
            messages = answer.messages;
            if (load !== this.loading || messages.length === 0) {
                return;
            }
            const height = this.log.scrollHeight, top = this.log.scrollTop;
            this.#add(messages, this.#column.firstChild);
            this.#stick ? this.#down() : this.log.scrollTop = top + this.log.scrollHeight - height;
        }
    }

    // What of a running turn's text isn't in the stored messages yet, and where it begins.
    #uncommitted(flight, messages) {
        let { text } = flight, start = 0;
        for (const m of messages) {
            const said = m.role === 'assistant' && m.__openclaw?.runId === flight.runId ? plainText(partsOf(m)) : '';
            if (!said) {
                continue;
            }
            const skipped = text.startsWith('\n\n') ? 2 : 0;
            if (text.slice(skipped).startsWith(said)) {
                start += skipped + count(said);
                text = text.slice(skipped + said.length);
            }
        }
        return { text, start };
    }

    #add(messages, before) {
        const box = document.createDocumentFragment();
        for (const message of messages) {
            const element = this.#element(message);
            element && box.append(element);
        }
        this.#column.insertBefore(box, before ?? this.tail);
    }

    #element(message) {
        const seq = message.__openclaw?.seq ?? message.seq, parts = partsOf(message);
        if (message.role === 'toolResult' || message.role === 'tool') {
            for (const p of parts) {
                const card = this.#tools.get(p.callId), sent = Array.isArray(p.content) ? p.content.filter((c) => c.hash) : [];
                if (sent.length && card?.sent.length === 0) {
                    card.sent = sent.map((c) => this.#media(c));
                    card.element.after(...card.sent);
                }
                if (card) {
                    card.update({ result: p.content, isError: p.isError, ms: card.ms });
                } else { // its call stands on an older page
                    const late = new ToolCard({ name: p.name ?? message.toolName, result: p.content, isError: p.isError }, this.store);
                    this.#tools.set(p.callId, late);
                }
            }
            return null;
        }
        if (this.#entries.has(seq)) {
            return null;
        }
        const element = message.role === 'user' ? this.#userElement(message, parts) : this.#answerElement(message, parts);
        element.dataset.seq = seq;
        this.#entries.set(seq, element);
        return element;
    }

    #userElement(message, parts) {
        const text = plainText(parts);
        const pictures = parts.filter((p) => p.type === 'image' || p.type === 'file').map((p) => this.#media(p));
        return h('article', { className: 'message user', 'aria-label': t('you') },
            pictures, text && h('div', { className: 'said', dir: 'auto' }, text), this.#tools_(text, true));
    }

    #media(part) {
        if (part.type === 'file') {
            const name = part.fileName ?? part.name ?? '', word = t('file', { name });
            return part.hash ? h('button', { type: 'button', className: 'small fetch', onclick: () => this.#fetch(part, name) }, word)
                : h('p', { className: 'soft small' }, word);
        }
        const image = h('img', { className: 'picture', alt: part.fileName ?? part.name ?? t('image'), loading: 'lazy' });
        if (part.url) {
            image.src = part.url;
        } else {
            this.#blob(part).then((url) => { image.src = url; }, () => {});
        }
        return image;
    }

    // An address of what the store has under the hash, for pictures of the page and for saving.
    #blob(part) {
        const load = Transcript.blobs.get(part.hash) ?? this.gateway.request('chela.blob', { hash: part.hash }).then(({ base64 }) => {
            const raw = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
            return URL.createObjectURL(new Blob([raw], { type: part.mimeType ?? part.mime }));
        });
        Transcript.blobs.set(part.hash, load);
        load.catch(() => Transcript.blobs.delete(part.hash));
        return load;
    }

    // A file is saved, never opened in the page.
    async #fetch(part, name) {
        const href = await this.#blob(part).catch(() => null);
        href && h('a', { href, download: name || 'file' }).click();
    }

    static blobs = new Map();

    #answerElement(message, parts) {
        const element = h('article', { className: 'message assistant', 'aria-label': t('assistant') });
        for (const p of parts) {
            if (p.type === 'text' && p.text) {
                const block = h('div', { className: 'answer', dir: 'auto' });
                block.textContent = p.text;
                block.classList.add('live');
                block.source = p.text;
                this.watch.observe(block);
                element.append(block);
            } else if (p.type === 'thinking' && p.text) {
                element.append(new ThinkingCard(p.text, false).element);
            } else if (p.type === 'toolCall') {
                const known = this.#tools.get(p.id);
                const card = known ?? new ToolCard({ name: p.name, arguments: p.arguments }, this.store);
                known?.update({ name: p.name, arguments: p.arguments });
                this.#tools.set(p.id, card);
                element.append(card.element, ...card.sent);
            } else if (p.type === 'image') {
                element.append(this.#media(p));
            }
        }
        const text = plainText(parts);
        text && element.append(this.#tools_(text, false));
        return element;
    }

    #tools_(text, mine) {
        return h('div', { className: 'tools' },
            h('button', { type: 'button', onclick: (e) => copy(text, e.target) }, t('copy')),
            mine && h('button', { type: 'button', onclick: () => this.actions.edit(text) }, t('edit')),
            mine && h('button', { type: 'button', onclick: () => this.actions.send(text) }, t('again')));
    }

    // ---- Markdown, rendered by the gateway when it comes near the eye ----

    #near(seen) {
        for (const { isIntersecting, target } of seen) {
            if (isIntersecting && target.source !== undefined) {
                this.watch.unobserve(target);
                this.#renderSoon(target, target.source);
            }
        }
    }

    #renderSoon(element, text) {
        this.#render.push({ element, text });
        if (this.#render.length === 1) {
            queueMicrotask(() => this.#renderNow());
        }
    }

    async #renderNow() {
        const all = this.#render.splice(0);
        for (let i = 0; i < all.length; i += 64) {
            const some = all.slice(i, i + 64);
            const answer = await this.gateway.request('webchat.render', { texts: some.map((s) => s.text) }).catch(() => null);
            const stay = this.#stick;
            some.forEach(({ element }, k) => {
                if (answer?.html[k] !== undefined) {
                    element.classList.remove('live', 'fence');
                    element.source = undefined;
                    putHtml(element, answer.html[k]);
                }
            });
            stay && this.toEnd();
        }
    }

    // ---- the running turn ----

    #begin(id, from) {
        if (this.#run?.id === id) {
            return this.#run;
        }
        this.#run?.end();
        const box = h('article', { className: 'message assistant now', 'aria-label': t('assistant') });
        const state = h('div', { className: 'state', role: 'status' });
        const run = this.#run = {
            id, box, state, text: '', start: from?.start ?? 0, end_: from?.start ?? 0, blocks: 0, live: null, held: '', tools: [],
            end: () => { clearTimeout(run.slow); run.thinking?.end(); },
        };
        this.tail.replaceChildren(box, state);
        state.hidden = true;
        run.slow = setTimeout(() => this.#say(run.model ? t('waiting', { model: run.model }) : t('waitingAny')), 400);
        if (from?.text) {
            this.#place_(run, from.start, from.text);
        }
        this.actions.running(id);
        this.#empty();
        return run;
    }

    #say(text, kind) {
        const run = this.#run;
        if (!run) {
            return;
        }
        run.state.hidden = !text;
        run.state.className = `state ${kind ?? ''}`;
        run.state.textContent = text ?? '';
        this.#follow();
    }

    // Text with a byte offset: what is known already is cut off.
    #place_(run, offset, text) {
        const over = run.end_ - offset;
        if (over > 0) {
            const raw = bytes(text);
            if (over >= raw.length) {
                return;
            }
            text = new TextDecoder().decode(raw.subarray(over));
        }
        run.end_ += count(text);
        run.text += run.text || text.trim() ? text : '';
        run.thinking?.end();
        run.thinking = null;
        if (!run.frame) {
            run.frame = requestAnimationFrame(() => {
                run.frame = null;
                this.#paint(run);
            });
        }
    }

    // At most once a frame: finished paragraphs and fences become blocks of their own, the rest is plain text.
    #paint(run) {
        if (this.#run !== run) {
            return;
        }
        const stay = this.#stick;
        let rest = run.text.slice(run.blocks);
        for (let cut; (cut = this.#cut(rest)) > 0; rest = run.text.slice(run.blocks)) {
            const block = h('div', { className: 'answer live', dir: 'auto' });
            block.textContent = rest.slice(0, cut).replace(/\n+$/, '');
            run.live ? run.live.before(block) : run.box.append(block);
            this.#renderSoon(block, rest.slice(0, cut));
            run.blocks += cut;
            speak(block.textContent.slice(0, 500));
        }
        rest = rest.replace(/^\n+/, '');
        if (rest && !run.live) {
            run.live = h('div', { className: 'answer live', dir: 'auto' });
            run.box.append(run.live);
        }
        if (run.live) {
            const fence = /^(```|~~~)[^\n]*\n?/.exec(rest);
            run.live.classList.toggle('fence', Boolean(fence));
            run.live.textContent = fence ? rest.slice(fence[0].length) : rest;
            run.live.hidden = !rest;
        }
        rest && this.#say(null);
        stay ? this.toEnd() : this.#news();
    }

    // Where the first whole block ends: behind a blank line that stands in no fence, list or table.
    #cut(text) {
        let at = 0, fence = null;
        for (const line of text.split(/(?<=\n)/)) {
            const mark = /^\s{0,3}(```|~~~)/.exec(line)?.[1];
            if (fence) {
                fence = mark === fence ? null : fence;
                if (!fence && line.endsWith('\n')) {
                    return at + line.length;
                }
            } else if (mark) {
                if (at > 0 && text.slice(0, at).trim()) {
                    return at;
                }
                fence = mark;
            } else if (line === '\n' && text.slice(0, at).trim()) {
                const next = text[at + 1];
                if (next === undefined) {
                    return 0;
                }
                if (!/[\s>|*+\-\d]/.test(next)) {
                    return at + 1;
                }
            }
            at += line.length;
        }
        return 0;
    }

    #agent({ runId, sessionKey, stream, data }) {
        if (sessionKey !== this.shown) {
            return;
        }
        const run = this.#run?.id === runId ? this.#run : stream === 'lifecycle' && data.phase === 'start' ? this.#begin(runId) : null;
        if (!run) {
            return;
        }
        if (stream === 'assistant') {
            if (data.replace) {
                run.text = '';
                run.blocks = 0;
                run.end_ = run.start;
                run.box.querySelectorAll('.answer').forEach((e) => e.remove());
                run.live = null;
                const whole = bytes(data.text);
                this.#place_(run, run.start, new TextDecoder().decode(whole.subarray(run.start)));
            } else {
                this.#place_(run, data.offset ?? run.end_, data.delta);
            }
        } else if (stream === 'thinking') {
            if (!run.thinking) {
                run.thinking = new ThinkingCard('', true);
                run.box.append(run.thinking.element);
                this.#say(null);
            }
            run.thinking.add(data.delta ?? '');
            this.#follow();
        } else if (stream === 'tool') {
            this.#tool(run, data);
        } else if (stream === 'lifecycle') {
            this.#lifecycle(run, data);
        }
    }

    #tool(run, data) {
        let card = this.#tools.get(data.toolCallId);
        if (!card) {
            card = new ToolCard({ name: data.name }, this.store);
            this.#tools.set(data.toolCallId, card);
            run.box.append(card.element);
        }
        if (data.phase === 'start') {
            card.began = Date.now();
            card.update({ name: data.name, arguments: data.args });
            this.#say(t('toolRuns', { name: data.name }));
        } else if (data.phase === 'update') {
            card.update({ partial: (data.partialResult?.content ?? []).map((p) => p.text ?? '').join('') });
        } else if (data.phase === 'result') {
            card.update({ result: data.result?.content ?? '', isError: data.isError, ms: data.result?.details?.durationMs ?? Date.now() - card.began });
        }
        this.#follow();
    }

    #lifecycle(run, data) {
        if (data.phase === 'model') {
            run.model = data.model;
            clearTimeout(run.slow);
            run.slow = setTimeout(() => this.#say(t('waiting', { model: data.model ?? '' })), 400);
        } else if (data.phase === 'waiting-approval') {
            this.#say(t('waitsForYou'));
        } else if (data.phase === 'approval-resolved') {
            this.#say(null);
        }
    }

    #chat({ runId, sessionKey, state, errorMessage, errorDetail, message }) {
        if (sessionKey !== this.shown) {
            return;
        }
        if (!this.#run && state === 'final' && message) { // a command's answer has no run
            const element = this.#element({ role: 'assistant', content: message.content, seq: `c-${runId}` });
            element && this.tail.before(element);
            this.#dropPending(runId);
            this.#follow();
            return;
        }
        if (this.#run?.id !== runId || !['final', 'aborted', 'error'].includes(state)) {
            return;
        }
        const run = this.#run;
        run.end();
        this.#run = null;
        this.#dropPending(runId);
        const stay = this.#stick;
        run.box.querySelectorAll('.answer').forEach((e) => !e.stored && e.remove());
        this.tail.replaceChildren();
        if (run.box.childNodes.length) {
            this.tail.before(run.box);
            run.box.classList.remove('now');
        }
        if (state === 'aborted') {
            this.tail.append(h('div', { className: 'state stopped', role: 'status' }, t('stopped')));
        } else if (state === 'error') {
            this.tail.append(h('div', { className: 'state failed', role: 'alert' }, t('failed', { why: [errorMessage, errorDetail?.providerErrorMessagePreview].filter(Boolean).join(' ') }),
                h('button', { type: 'button', className: 'plain', onclick: () => this.actions.retry() }, t('retry')),
                h('button', { type: 'button', className: 'plain', onclick: () => this.actions.chooseModel() }, t('otherModel'))));
        } else {
            speak(t('finished'));
        }
        this.tail.before(...this.queue.childNodes);
        this.actions.running(null, state);
        stay ? this.toEnd() : this.#news();
    }

    // A message is in the store now: it takes the place of what was shown of it.
    #stored({ sessionKey, message, messageSeq }) {
        if (sessionKey !== this.shown) {
            return;
        }
        const stay = this.#stick, run = this.#run;
        if (message.role === 'user') {
            this.#dropPending(message.__openclaw?.runId, plainText(partsOf(message)));
        }
        if (message.role === 'assistant' && run) {
            run.start = run.end_;
            run.text = '';
            run.blocks = 0;
            run.box.querySelectorAll(':scope > .answer').forEach((e) => e.remove());
            run.live = null;
            run.box.querySelectorAll(':scope > .thinking').forEach((e) => e.remove());
            run.thinking = null;
        }
        const element = this.#element({ ...message, seq: messageSeq, __openclaw: { seq: messageSeq } });
        element && this.tail.before(element);
        this.#empty();
        stay ? this.toEnd() : this.#news();
    }

    // ---- what was sent and isn't stored yet ----

    pending(id, text, pictures) {
        const key = this.store.key;
        const element = this.#userElement({}, [...pictures, { type: 'text', text }]);
        element.classList.add('pending');
        element.append(h('span', { className: 'soft small', role: 'status' }, t('sending')));
        this.#pendingSends.set(id, { key, element, text });
        this.#putPending(element);
        this.#empty();
        this.toEnd();
    }

    #putPending(element) {
        this.#run ? this.queue.append(element) : this.tail.before(element);
    }

    #dropPending(id, text) {
        for (const [key, pending] of this.#pendingSends) {
            if (key === id || (text !== undefined && pending.text === text)) {
                pending.element.remove();
                this.#pendingSends.delete(key);
                return;
            }
        }
    }

    sendFailed(id, error) {
        const pending = this.#pendingSends.get(id);
        pending?.element.lastChild.replaceWith(h('span', { className: 'bad small', role: 'alert' }, t('failed', { why: error.message })));
        this.#pendingSends.delete(id);
    }

    accepted(id) {
        this.#pendingSends.get(id)?.element.lastChild.remove();
    }

    // ---- approvals ----

    #asked(record, quiet) {
        this.store.approvals.set(record.id, record);
        if (this.#approvals.has(record.id)) {
            return;
        }
        const here = record.request.sessionKey === this.shown;
        const card = new ApprovalCard(record, this.gateway, here);
        this.#approvals.set(record.id, card);
        const stay = this.#stick;
        this.tail.after(card.element);
        this.#tools.get(record.request.toolCallId)?.update({ note: t('waitsForYou') });
        (stay || here) && this.toEnd();
        if (document.activeElement === document.body || document.activeElement === $('input') && !$('input').value) {
            card.deny?.focus();
        }
        quiet || this.actions.approval(record);
    }

    #resolved({ id, decision, resolvedBy }) {
        this.store.approvals.delete(id);
        const card = this.#approvals.get(id);
        if (!card) {
            return;
        }
        const focused = card.element.contains(document.activeElement);
        card.over(decision, resolvedBy);
        this.#tools.get(card.record.request.toolCallId)?.update({ note: card.buttons.textContent });
        this.tail.before(card.element);
        focused && $('input').focus();
        this.actions.approval(null);
    }

    // ---- where the reader is ----

    #atEnd() {
        return this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 40;
    }

    #down() {
        this.log.scrollTop = this.log.scrollHeight;
        this.#top = this.log.scrollTop;
    }

    toEnd() {
        this.#stick = true;
        this.#down();
        this.#unseen = 0;
        $('latest').hidden = true;
    }

    #follow() {
        this.#stick && this.#down();
    }

    #news() {
        this.#unseen += 1;
        $('latest').textContent = this.#run ? t('latest') : t('latestN', { n: this.#unseen });
        $('latest').hidden = false;
    }

    #scrolled() {
        if (this.#atEnd()) {
            this.#stick = true;
        } else if (this.log.scrollTop < this.#top - 2) {
            this.#stick = false; // upwards: a person did that
        }
        this.#top = this.log.scrollTop;
        if (this.#stick) {
            this.#unseen = 0;
            $('latest').hidden = true;
        } else if ($('latest').hidden && this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight > 600) {
            $('latest').textContent = t('latest');
            $('latest').hidden = false;
        }
        clearTimeout(this.saving);
        this.saving = setTimeout(() => {
            const key = `chela.place.${this.shown}`;
            this.#stick ? sessionStorage.removeItem(key) : sessionStorage.setItem(key, JSON.stringify(this.#place()));
        }, 300);
    }

    // The message at the top of the view, and how far it is scrolled: survives other heights.
    #place() {
        if (this.#stick) {
            return null;
        }
        const top = this.log.getBoundingClientRect().top;
        for (const element of this.#column.children) {
            const box = element.getBoundingClientRect();
            if (box.bottom > top && element.dataset.seq) {
                return { seq: element.dataset.seq, shift: box.top - top };
            }
        }
        return null;
    }

    #restore({ seq, shift }) {
        const element = this.#entries.get(Number(seq)) ?? this.#entries.get(seq);
        if (element) {
            this.#stick = false;
            element.scrollIntoView();
            this.log.scrollTop -= shift;
        }
    }

    #empty() {
        const none = this.#entries.size === 0 && this.#pendingSends.size === 0 && !this.#run;
        this.welcome?.remove();
        this.welcome = null;
        if (none) {
            const example = (key) => h('button', { type: 'button', onclick: () => this.actions.edit(t(key)) }, t(key));
            this.welcome = h('section', { className: 'empty' }, h('h2', {}, t('emptyTitle')), example('try1'), example('try2'), example('try3'),
                h('p', { className: 'soft small' }, t('addModel')));
            this.tail.before(this.welcome);
        }
    }

    lastUserText() {
        const mine = [...this.#column.querySelectorAll('.message.user .said')];
        return mine.at(-1)?.textContent ?? '';
    }
}
