// Cards inside the transcript: a tool call with its state and output, thinking, an approval with its three buttons.
import { h, copy, duration, speak } from './dom.js';
import { t } from './text.js';

const textOf = (content) => (typeof content === 'string' ? content : (content ?? []).filter((p) => !p.hash).map((p) => p.text ?? `[${p.type}]`).join('\n'));
const inLine = (args) => { const text = JSON.stringify(args ?? {}); return text === '{}' ? '' : text.slice(0, 300); };

// One tool call: a line that unfolds. update() takes what is known of it, in any order.
export class ToolCard {
    sent = []; // elements of what it sent to the person; they stand behind the card

    constructor(call, store) {
        this.store = store;
        this.began = Date.now();
        this.args = h('span', { className: 'args mono' });
        this.how = h('span', { className: 'how', role: 'status' });
        this.what = h('span', { className: 'what' }, call.name ?? '');
        this.inside = h('div', { className: 'inside' });
        this.element = h('details', { className: 'card tool' }, h('summary', {}, this.what, this.args, this.how), this.inside);
        this.state = 'running';
        this.update(call);
    }

    update({ name, arguments: args, partial, result, isError, ms, note }) {
        if (name) {
            this.what.textContent = name;
        }
        if (args !== undefined) {
            this.arguments = args;
            this.args.textContent = inLine(args);
        }
        if (partial !== undefined) {
            this.partial = partial;
            if (this.store.options.showTools) {
                this.element.open = true;
            }
        }
        if (note) {
            this.note = note;
        }
        if (result !== undefined) {
            this.state = isError ? 'error' : 'done';
            this.result = textOf(result);
            this.ms = ms;
        }
        const word = t(this.note && this.state === 'running' ? 'open' : this.state);
        this.how.className = `how ${this.state === 'error' ? 'bad' : this.state === 'done' ? 'good' : 'soft'}`;
        this.how.textContent = `${this.state === 'done' ? '✓ ' : this.state === 'error' ? '✗ ' : '… '}${word}${this.ms ? `  ${duration(this.ms)}` : ''}`;
        if (this.element.open) {
            this.fill();
        } else {
            this.element.ontoggle = () => this.fill();
        }
    }

    fill() {
        const output = this.result ?? this.partial;
        this.inside.replaceChildren(
            h('p', { className: 'label' }, t('arguments')), h('pre', { tabIndex: 0 }, JSON.stringify(this.arguments ?? {}, null, 2)),
            h('p', { className: 'label' }, t('output'), ' ', output ? h('button', { type: 'button', className: 'small', onclick: (e) => copy(output, e.target) }, t('copy')) : ''),
            h('pre', { tabIndex: 0, className: this.result === undefined ? 'live-output' : '' }, output || t('noOutput')),
            this.note ? h('p', { className: 'soft' }, this.note) : '');
    }

    // A restart or an abort ended it without a result.
    interrupt() {
        if (this.state === 'running') {
            this.update({ result: '', isError: true });
        }
    }
}

export class ThinkingCard {
    text = '';
    began = Date.now();

    constructor(text, running) {
        this.word = h('span', { className: 'soft' });
        this.inside = h('div', { className: 'inside' });
        this.element = h('details', { className: 'card thinking' }, h('summary', {}, this.word), this.inside);
        this.add(text ?? '');
        running ? this.tick() : this.end(true);
    }

    add(text) {
        this.text += text;
        this.inside.textContent = this.text;
    }

    tick() {
        const seconds = Math.round((Date.now() - this.began) / 1000);
        this.word.textContent = `${t('thinking')} · ${t('seconds', { n: seconds })}`;
        this.timer = setTimeout(() => this.tick(), 1000);
    }

    end(old) {
        clearTimeout(this.timer);
        const seconds = Math.round((Date.now() - this.began) / 1000);
        this.word.textContent = old ? t('thought') : `${t('thought')} · ${t('seconds', { n: seconds })}`;
    }
}

const risky = { low: 'good', medium: 'warn', high: 'bad' };

// What exactly shall run. Enter never approves: the focus goes to "Deny", and A and D count inside the card only.
export class ApprovalCard {
    constructor(record, gateway, isHere) {
        this.record = record;
        const { request } = record;
        const tool = request.toolName ?? 'exec';
        const allowed = request.allowedDecisions ?? ['allow-once', 'deny'];
        const decide = (decision) => this.decide(gateway, decision);
        const choice = (decision, label, key, className) => allowed.includes(decision)
            && h('button', { type: 'button', className, onclick: () => decide(decision) }, label, key && h('kbd', {}, key));
        const what = request.command ?? JSON.stringify(request.arguments ?? {}, null, 2);
        const facts = [
            [t('folder'), what.includes(`(in ${request.cwd})`) ? null : request.cwd], [t('binary'), request.resolvedPath],
            [t('session'), isHere ? null : request.sessionKey],
            [t('warnings'), (request.commandAnalysis?.warningLines ?? []).join('\n')],
        ].filter(([, value]) => value);
        this.count = h('span', { className: 'count' });
        this.deny = choice('deny', t('deny'), 'D', 'plain');
        this.buttons = h('div', { className: 'buttons' },
            choice('allow-once', t('allowOnce'), 'A', 'plain allow'), choice('allow-always', t('allowAlways'), null, 'plain'), this.deny, this.count);
        this.element = h('section', { className: 'approval', 'aria-label': t('asks', { tool }), tabIndex: -1 },
            h('p', { className: 'head' }, h('span', {}, `! ${t('asks', { tool })}`), h('span', { className: risky[request.risk] ?? 'warn' }, t('risk', { risk: t(request.risk ?? 'medium') }))),
            h('pre', { tabIndex: 0 }, what),
            facts.length ? h('dl', {}, facts.map(([name, value]) => [h('dt', {}, name), h('dd', { className: 'mono' }, value)])) : '',
            this.buttons);
        this.element.addEventListener('keydown', (e) => {
            const key = e.key.toLowerCase();
            if (e.ctrlKey || e.metaKey || e.altKey) {
                return;
            }
            if (key === 'enter' && e.target.classList?.contains('allow')) {
                e.preventDefault(); // A does it, or a press of the space bar
            } else if (key === 'a' && allowed.includes('allow-once')) {
                decide('allow-once');
            } else if (key === 'd') {
                decide('deny');
            }
        });
        this.tick();
        speak(t('approvalNote', { tool, what: what.slice(0, 200) }));
    }

    tick() {
        const left = this.record.expiresAtMs - Date.now();
        if (left <= 0) {
            this.over(null);
            return;
        }
        const time = `${Math.floor(left / 60000)}:${String(Math.floor(left / 1000) % 60).padStart(2, '0')}`;
        this.count.textContent = t('expires', { time });
        this.timer = setTimeout(() => this.tick(), 1000);
    }

    async decide(gateway, decision) {
        for (const b of this.buttons.querySelectorAll('button')) {
            b.disabled = true;
        }
        try {
            await gateway.request('exec.approval.resolve', { id: this.record.id, decision }, { keep: true });
        } catch (error) {
            if (!/unknown or expired/.test(error.message)) {
                for (const b of this.buttons.querySelectorAll('button')) {
                    b.disabled = false;
                }
            }
            this.count.textContent = error.message;
        }
    }

    over(decision, who) {
        clearTimeout(this.timer);
        const words = { 'allow-once': 'decidedAllow', 'allow-always': 'decidedAlways', deny: 'decidedDeny' };
        this.element.classList.add('over');
        this.buttons.replaceChildren(h('span', { className: decision === 'deny' || !decision ? 'bad' : 'good' },
            t(words[decision] ?? 'decidedGone', { who: who ?? '' }), ' · ', new Date().toLocaleTimeString()));
    }
}
