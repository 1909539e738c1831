// One field for everything (Ctrl K): conversations, what was said in them, commands, models.
import { $, h } from './dom.js';
import { t } from './text.js';

export class Palette {
    constructor(gateway, store, actions) {
        Object.assign(this, { gateway, store, actions });
        this.dialog = $('palette');
        $('find').onclick = () => this.open();
    }

    open(models) {
        this.models = models;
        this.input = h('input', { type: 'text', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'found', 'aria-label': t('palette'), placeholder: models ? t('model') : t('palette'), oninput: () => this.search(), onkeydown: (e) => this.key(e) });
        this.list = h('ul', { id: 'found', role: 'listbox', 'aria-label': t('palette') });
        this.dialog.replaceChildren(this.input, this.list);
        this.dialog.setAttribute('aria-label', t('palette'));
        this.dialog.open || this.dialog.showModal();
        this.input.focus();
        this.search();
    }

    matches(words, text) {
        const low = text.toLowerCase();
        return words.every((w) => low.includes(w));
    }

    search() {
        const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
        const found = [];
        if (!this.models) {
            for (const s of this.store.sessions) {
                const title = this.store.titleOf(s) || t('untitled');
                this.matches(words, title) && found.push({ text: title, kind: '', run: () => this.store.open(s.key) });
            }
            found.splice(12);
            for (const c of this.store.commands) {
                this.matches(words, `/${c.name} ${c.description}`) && words.length && found.push({ text: `/${c.name}  ${c.description}`, kind: t('command'), run: () => this.actions.edit(`/${c.name} `) });
            }
            [['new', this.actions.start], ['settings', this.actions.settings], ['trace', this.actions.trace]].forEach(([key, run]) => {
                this.matches(words, t(key)) && found.push({ text: t(key), kind: '', run });
            });
        }
        if (this.models || words.length) {
            const auto = { text: t('modelAuto'), kind: t('model'), run: () => this.actions.model(null) };
            this.models && this.matches(words, auto.text) && found.push(auto);
            for (const m of this.store.models) {
                this.matches(words, `${m.id} ${m.name ?? ''}`) && found.push({ text: m.id, kind: `${t('model')}${m.available === false ? ' ✗' : ''}`, run: () => this.actions.model(m.id) });
            }
        }
        this.show(found);
        clearTimeout(this.timer);
        if (!this.models && this.input.value.trim().length > 1 && this.gateway.has('chela.search')) {
            this.timer = setTimeout(() => this.inside(this.input.value, found), 150);
        }
    }

    // Hits in what was said, with the words marked.
    async inside(text, found) {
        const answer = await this.gateway.request('chela.search', { text, limit: 20 }).catch(() => ({ hits: [] }));
        if (this.input.value !== text) {
            return;
        }
        const hits = answer.hits.map((hit) => ({ text: hit.snippet, kind: t('contents'), hit: true, run: () => this.store.open(hit.session) }));
        this.show([...found, ...hits]);
    }

    show(found) {
        this.found = found.slice(0, 60);
        this.at = 0;
        this.list.replaceChildren(...(this.found.length ? this.found.map((f, i) => h('li', {
            role: 'option', id: `found-${i}`, 'aria-selected': String(i === 0), onclick: () => this.take(i),
        }, h('span', { dir: 'auto' }, f.hit ? this.marked(f.text) : f.text), h('span', { className: 'soft small' }, f.kind))) : [h('li', { className: 'soft', role: 'option', 'aria-selected': 'false' }, t('nothing'))]));
        this.mark();
    }

    // The store puts \u0001 and \u0002 around what fits; without them the words are looked for here.
    marked(text) {
        const words = this.input.value.trim().split(/\s+/).filter(Boolean).map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
        return text.replace(/[\u0001\u0002]/g, '').split(new RegExp(`(${words.join('|')})`, 'i')).map((piece, i) => (i % 2 ? h('mark', {}, piece) : piece));
    }

    mark() {
        [...this.list.children].forEach((li, i) => li.setAttribute('aria-selected', String(i === this.at)));
        this.list.children[this.at]?.scrollIntoView({ block: 'nearest' });
        this.input.setAttribute('aria-activedescendant', `found-${this.at}`);
    }

    key(e) {
        if (e.isComposing) {
            return;
        }
        if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
            e.preventDefault();
            this.at = (this.at + (e.key === 'ArrowDown' ? 1 : -1) + this.found.length) % Math.max(this.found.length, 1);
            this.mark();
        } else if (e.key === 'Enter') {
            e.preventDefault();
            this.take(this.at);
        }
    }

    take(i) {
        this.dialog.close();
        this.found[i]?.run();
    }
}
