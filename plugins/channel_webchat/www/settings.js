// Options of the page itself, and of the gateway: forms made from the option tables that it sends.
import { $, h, showDialog, toast } from './dom.js';
import { languages, language, t } from './text.js';

export class Settings {
    constructor(gateway, store, actions) {
        Object.assign(this, { gateway, store, actions });
        this.dialog = $('settings');
    }

    async open() {
        const page = h('div', { className: 'page', tabIndex: 0, role: 'region', 'aria-label': t('settings') });
        const tabs = h('div', { className: 'tabs', role: 'tablist' });
        const tab = (name, label, show) => h('button', { type: 'button', role: 'tab', 'aria-selected': 'false', onclick: (e) => {
            tabs.querySelectorAll('button').forEach((b) => b.setAttribute('aria-selected', String(b === e.currentTarget)));
            page.scrollTop = 0;
            show(page);
        } }, label);
        tabs.append(tab('page', t('general'), (p) => this.own(p)));
        showDialog(this.dialog, t('settings'), h('div', { className: 'body' }, tabs, page));
        tabs.firstChild.click();
        if (this.gateway.has('chela.config.options')) {
            const { sections } = await this.gateway.request('chela.config.options', {});
            tabs.append(...sections.map((s) => tab(s.name, s.title ?? s.name, (p) => this.section(p, s))));
        }
    }

    // ---- the page's own ----

    own(page) {
        const { options } = this.store;
        const check = (name) => h('div', { className: 'field' }, h('label', {}, h('input', { type: 'checkbox', checked: options[name], onchange: (e) => this.store.setOption(name, e.target.checked) }), ' ', t(name)));
        const choose = (label, value, choices, run) => {
            const id = `own-${label}`;
            return h('div', { className: 'field' }, h('label', { htmlFor: id }, t(label)),
                h('select', { id, onchange: (e) => run(e.target.value) }, Object.entries(choices).map(([key, text]) => h('option', { value: key, selected: key === value }, text))));
        };
        page.replaceChildren(
            choose('theme', options.theme, { auto: t('auto'), light: t('light'), dark: t('dark') }, (v) => this.store.setOption('theme', v)),
            choose('language', language, languages, (v) => this.actions.language(v)),
            check('enterSends'), check('showTools'), check('notify'));
        page.querySelectorAll('input[type=checkbox]').forEach((box) => { box.style.width = 'auto'; });
    }

    // ---- the gateway's ----

    section(page, section) {
        const fields = section.options.map((option) => this.field(option));
        const diff = h('div', {});
        const review = h('button', { type: 'button', className: 'primary', onclick: () => { review.hidden = this.show(page, section, fields, diff); } }, t('review'));
        const form = h('div', { oninput: () => { diff.replaceChildren(); review.hidden = false; } }, fields.map((f) => f.element));
        page.replaceChildren(h('h3', {}, section.title ?? section.name), section.why ? h('p', { className: section.ok ? 'good' : 'bad' }, section.why) : '', form, review, diff);
    }

    field(option) {
        const id = `option-${option.path}`;
        const { value } = option;
        let input;
        if (option.type === 'bool') {
            input = h('select', { id }, ['true', 'false'].map((v) => h('option', { value: v, selected: String(value) === v }, v)));
        } else if (option.choices?.length) {
            input = h('select', { id }, ['', ...option.choices].map((v) => h('option', { value: v, selected: v === (value ?? '') }, v)));
        } else if (option.type === 'list') {
            input = h('textarea', { id, rows: Math.min(6, (value?.length ?? 0) + 1), value: (value ?? []).join('\n') });
        } else {
            input = h('input', { id, type: option.secret ? 'password' : option.type === 'int' ? 'number' : 'text', value: option.secret ? '' : value ?? '', placeholder: option.secret ? t(option.set ? 'secretSet' : 'secretUnset') : option.default ?? '', autocomplete: 'off' });
        }
        const before = input.value;
        const element = h('div', { className: 'field' }, h('label', { htmlFor: id }, option.name, option.required ? ` (${t('required')})` : ''),
            h('p', { className: 'help', id: `${id}-help` }, option.help ?? ''), input,
            h('p', { className: 'origin' }, t('from', { origin: option.origin ?? 'default' })));
        input.setAttribute('aria-describedby', `${id}-help`);
        input.disabled = option.readOnly;
        return { option, element, changed: () => input.value !== before, before, get value() { return input.value; }, typed: () => this.typed(option, input.value) };
    }

    typed(option, text) {
        return text === '' ? null : option.type === 'bool' ? text === 'true' : option.type === 'int' ? Number(text)
            : option.type === 'real' ? Number(text) : option.type === 'list' ? text.split('\n').map((s) => s.trim()).filter(Boolean) : text;
    }

    // What would change is shown first, a second button writes it. False: nothing would.
    show(page, section, fields, diff) {
        const changed = fields.filter((f) => f.changed());
        if (changed.length === 0) {
            diff.replaceChildren(h('p', { className: 'soft' }, t('nothingChanged')));
            return false;
        }
        const lines = changed.map(({ option, before, value }) => (option.secret ? `${option.path} = ••••` : `- ${option.path} = ${before || '—'}\n+ ${option.path} = ${value || '—'}`)).join('\n');
        diff.replaceChildren(h('p', {}, t('changes')), h('pre', { className: 'diff', tabIndex: 0 }, lines),
            h('button', { type: 'button', className: 'primary', onclick: () => this.save(page, section, changed) }, t('save')));
        diff.lastChild.focus();
        return true;
    }

    async save(page, section, changed) {
        const patch = {};
        for (const f of changed) {
            const steps = f.option.path.split('.');
            const last = steps.pop();
            steps.reduce((at, step) => (at[step] ??= {}), patch)[last] = f.typed();
        }
        try {
            const { hash } = await this.gateway.request('config.get', {});
            const answer = await this.gateway.request('config.patch', { raw: JSON.stringify(patch), baseHash: hash });
            toast(answer.restartRequired ? `${t('saved')} ${t('needsRestart')}` : t('saved'));
            const { sections } = await this.gateway.request('chela.config.options', {});
            this.section(page, sections.find((s) => s.name === section.name) ?? section);
        } catch (error) {
            toast(t('unsaved', { why: error.message }));
        }
    }
}
