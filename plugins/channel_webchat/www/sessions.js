// The list of conversations: by day, pinned first, with what each can do.
import { $, h, button, toast } from './dom.js';
import { t } from './text.js';

const signs = { cli: '⌨', webchat: '', telegram: '✈', discord: '◆', slack: '#', whatsapp: '✆', http: '⇄', mail: '✉' };
const DAY = 86400000;

export class Sessions {
    constructor(gateway, store) {
        Object.assign(this, { gateway, store });
        this.gone = new Set(); // deleted, but may still be taken back
        store.addEventListener('sessions', () => this.show());
        store.addEventListener('open', () => this.show());
        this.relabel();
    }

    relabel() {
        button($('new'), 'plus', t('new'), () => this.start());
        $('find').replaceChildren(h('span', {}, t('find')), h('kbd', {}, 'Ctrl K'));
        this.show();
    }

    start() {
        this.store.open(this.store.newKey());
        $('input').focus();
    }

    groupOf(s, midnight) {
        return s.archived ? 'archived' : s.pinned ? 'pinned' : s.updatedAt >= midnight ? 'today'
            : s.updatedAt >= midnight - DAY ? 'yesterday' : s.updatedAt >= midnight - 6 * DAY ? 'week' : 'earlier';
    }

    show() {
        const groups = { pinned: [], today: [], yesterday: [], week: [], earlier: [], archived: [] };
        const midnight = new Date().setHours(0, 0, 0, 0);
        for (const s of this.store.sessions) {
            const hidden = this.gone.has(s.key) || /:openai:[0-9a-f-]{36}$/.test(s.key);
            hidden || groups[this.groupOf(s, midnight)].push(s);
        }
        const top = $('sessions').scrollTop;
        $('sessions').replaceChildren(...Object.entries(groups).filter(([, list]) => list.length).map(([name, list]) => {
            const rows = list.map((s) => this.row(s));
            return name === 'archived'
                ? h('details', {}, h('summary', { className: 'soft small' }, t('archived')), rows)
                : h('section', { 'aria-label': t(name) }, h('h2', {}, t(name)), rows);
        }));
        $('sessions').scrollTop = top;
        const here = this.store.session;
        $('title').textContent = this.store.titleOf(here) || t('untitled');
        document.title = `${document.title.startsWith('(!)') ? '(!) ' : ''}${this.store.titleOf(here) || 'Chela'}`;
    }

    row(s) {
        const name = this.store.titleOf(s) || t('untitled'), here = s.key === this.store.key;
        const sign = signs[s.channel] ?? (s.channel ? '·' : '');
        const go = h('button', { type: 'button', className: 'go', 'aria-current': here ? 'true' : null, title: name, onclick: () => { this.store.open(s.key); document.getElementById('side').classList.remove('open'); $('shade').hidden = true; } },
            s.hasActiveRun ? h('span', { className: 'dot runs', role: 'img', 'aria-label': t('running') }) : s.unread ? h('span', { className: 'dot' }) : '',
            h('span', { className: 'name', dir: 'auto' }, name), sign ? h('span', { className: 'mark', title: s.channel }, sign) : '');
        const more = button(h('button', { type: 'button', className: 'icon more', 'aria-haspopup': 'true' }), 'dots', t('more', { name }), () => this.menu(s, row));
        const row = h('div', { className: `session ${here ? 'here' : ''}` }, go, more);
        return row;
    }

    menu(s, row) {
        const open = row.nextElementSibling?.classList.contains('buttons');
        document.querySelectorAll('#sessions .buttons').forEach((b) => b.remove());
        if (open) {
            return;
        }
        const act = (label, run) => h('button', { type: 'button', className: 'small', onclick: () => { box.remove(); run(); } }, label);
        const box = h('div', { className: 'buttons' },
            act(t('rename'), () => this.rename(s, row)), act(t(s.pinned ? 'unpin' : 'pin'), () => this.store.patch(s.key, { pinned: !s.pinned })),
            act(t(s.archived ? 'unarchive' : 'archive'), () => this.store.patch(s.key, { archived: !s.archived })), act(t('delete'), () => this.remove(s)));
        box.onkeydown = (e) => { if (e.key === 'Escape') { e.stopPropagation(); box.remove(); row.querySelector('.more').focus(); } };
        row.after(box);
        box.firstChild.focus();
    }

    rename(s, row) {
        const field = h('input', { className: 'rename', value: this.store.titleOf(s), 'aria-label': t('rename') });
        let over = false;
        const end = (save) => {
            if (over) {
                return;
            }
            over = true;
            save && field.value.trim() ? this.store.patch(s.key, { label: field.value.trim() }).catch((e) => toast(e.message)) : this.show();
        };
        field.onkeydown = (e) => {
            e.stopPropagation();
            e.key === 'Enter' && !e.isComposing ? end(true) : e.key === 'Escape' && end(false);
        };
        field.onblur = () => end(true);
        row.replaceChildren(field);
        field.focus();
        field.select();
    }

    // Really deleted when it can't be taken back any more.
    remove(s) {
        this.gone.add(s.key);
        if (s.key === this.store.key) {
            this.start();
        }
        this.show();
        const timer = setTimeout(() => this.gateway.request('sessions.delete', { key: s.key }, { keep: true }).then(() => this.store.loadSessions(), (e) => toast(e.message)), 8000);
        toast(t('deleted'), t('undo'), () => {
            clearTimeout(timer);
            this.gone.delete(s.key);
            this.show();
        });
    }
}
