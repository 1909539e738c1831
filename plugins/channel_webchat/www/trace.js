// A run as its seven legs with times, and the gateway's log as it is written.
import { $, h, showDialog, duration } from './dom.js';
import { t } from './text.js';

export class Trace {
    constructor(gateway, store, transcript) {
        Object.assign(this, { gateway, store, transcript });
        this.dialog = $('trace');
        this.dialog.onclose = () => clearTimeout(this.timer);
        gateway.addEventListener('session.message', (e) => this.#saw(e.detail.sessionKey, e.detail.message.__openclaw?.runId));
        gateway.addEventListener('agent', (e) => this.#saw(e.detail.sessionKey, e.detail.runId));
        this.last = new Map();
    }

    #saw(key, run) {
        run && this.last.set(key, run);
    }

    async open(tab = 'run') {
        const page = h('div', { className: 'page', tabIndex: 0, role: 'region', 'aria-label': t('trace') });
        const choose = (name) => {
            clearTimeout(this.timer);
            tabs.querySelectorAll('button').forEach((b) => b.setAttribute('aria-selected', String(b.dataset.name === name)));
            name === 'run' ? this.run(page) : this.log(page);
        };
        const tabs = h('div', { className: 'tabs', role: 'tablist' }, ['run', 'log'].map((name) => h('button', { type: 'button', role: 'tab', 'data-name': name, onclick: () => choose(name) }, t(name))));
        showDialog(this.dialog, t('trace'), h('div', { className: 'body' }, tabs, page));
        choose(tab);
    }

    async newestRun() {
        if (this.last.has(this.store.key)) {
            return this.last.get(this.store.key);
        }
        const { messages } = await this.gateway.request('chat.history', { sessionKey: this.store.key, limit: 20 });
        return messages.findLast((m) => m.__openclaw?.runId)?.__openclaw.runId;
    }

    async run(page) {
        const run = await this.newestRun();
        if (!run) {
            page.replaceChildren(h('p', { className: 'soft' }, t('noRun')));
            return;
        }
        const trace = await this.gateway.request('chela.trace', { run });
        const legs = trace.legs ?? [], from = Math.min(...legs.map((l) => l.from)), to = Math.max(...legs.map((l) => l.to ?? l.from), from + 1);
        const chart = h('div', { className: 'legs' }, legs.flatMap((leg) => {
            const ms = (leg.to ?? leg.from) - leg.from, fill = h('div', { className: 'fill' });
            fill.style.insetInlineStart = `${(leg.from - from) / (to - from) * 100}%`;
            fill.style.width = `${ms / (to - from) * 100}%`;
            return [h('span', {}, t(`leg_${leg.leg}`)), h('div', { className: 'rail', role: 'img', 'aria-label': duration(ms) }, fill), h('span', { className: 'ms' }, duration(ms))];
        }));
        const facts = ['route', 'attempts', 'calls', 'approvals', 'states', 'message'].filter((name) => trace[name] && Object.keys(trace[name]).length).map((name) =>
            h('details', { className: 'card facts' }, h('summary', {}, name), h('div', { className: 'inside' }, h('pre', { tabIndex: 0 }, JSON.stringify(trace[name], null, 2)))));
        page.replaceChildren(h('p', { className: 'soft small mono' }, run), chart, ...facts);
        if (run === this.transcript.running && this.dialog.open) {
            this.timer = setTimeout(() => this.run(page), 1000);
        }
    }

    log(page) {
        const lines = h('pre', { className: 'lines', tabIndex: 0 });
        let cursor;
        page.replaceChildren(lines);
        const more = async () => {
            const answer = await this.gateway.request('logs.tail', cursor === undefined ? { limit: 400 } : { cursor, limit: 400 }).catch(() => null);
            if (!this.dialog.open || !lines.isConnected) {
                return;
            }
            if (answer) {
                const stay = page.scrollHeight - page.scrollTop - page.clientHeight < 40;
                cursor = answer.cursor;
                answer.lines.length && lines.append(`${answer.lines.join('\n')}\n`);
                stay && (page.scrollTop = page.scrollHeight);
            }
            this.timer = setTimeout(more, 1000);
        };
        more();
    }
}
