// Where one types: drafts, files, commands, sending and stopping.
import { $, h, button, icon, toast, uid } from './dom.js';
import { t } from './text.js';

const ATTACHMENT_MB = 20, IMAGE_MB = 6, LINES = 10;

const base64 = (file) => new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
});

export class Composer {
    files = [];

    constructor(gateway, store, transcript) {
        Object.assign(this, { gateway, store, transcript });
        this.input = $('input');
        this.list = $('commands');
        $('composer').onsubmit = (e) => { e.preventDefault(); this.transcript.running && !this.input.value.trim() && !this.files.length ? this.stop() : this.submit(); };
        button($('attach'), 'clip', t('attach'), () => $('file').click());
        $('file').onchange = () => { this.take($('file').files); $('file').value = ''; };
        this.input.oninput = () => this.changed();
        this.input.onkeydown = (e) => this.key(e);
        this.input.onpaste = (e) => {
            if (e.clipboardData.files.length) {
                e.preventDefault();
                this.take(e.clipboardData.files);
            }
        };
        const main = $('main');
        main.ondragover = (e) => { e.preventDefault(); main.classList.add('dropping'); };
        main.ondragleave = () => main.classList.remove('dropping');
        main.ondrop = (e) => { e.preventDefault(); main.classList.remove('dropping'); this.take(e.dataTransfer.files); };
        this.relabel();
    }

    relabel() {
        this.input.placeholder = t('placeholder');
        this.input.setAttribute('aria-label', t('placeholder'));
        this.showRunning(this.transcript.running);
    }

    showRunning(run) {
        const stops = run && !this.input.value.trim() && !this.files.length;
        $('send').replaceChildren(icon(stops ? 'stop' : 'send'));
        $('send').setAttribute('aria-label', t(stops ? 'stop' : 'send'));
        $('hint').textContent = run ? t('hintRuns') : t('hint');
    }

    restore() {
        this.input.value = this.store.draft();
        this.grow();
        this.showRunning(this.transcript.running);
    }

    set(text) {
        this.input.value = text;
        this.changed();
        this.input.focus();
        this.input.setSelectionRange(text.length, text.length);
    }

    changed() {
        this.store.setDraft(this.input.value);
        this.grow();
        this.suggest();
        this.showRunning(this.transcript.running);
    }

    grow() {
        this.input.style.height = 'auto';
        const line = parseFloat(getComputedStyle(this.input).lineHeight);
        this.input.style.height = `${Math.min(this.input.scrollHeight, line * LINES + 12)}px`;
    }

    key(e) {
        if (e.isComposing || e.keyCode === 229) {
            return; // an input method is at work: Enter is its own
        }
        if (!this.list.hidden && ['ArrowDown', 'ArrowUp', 'Tab', 'Enter', 'Escape'].includes(e.key) && !e.shiftKey) {
            e.preventDefault();
            this.choose(e.key);
        } else if (e.key === 'Enter' && (this.store.options.enterSends ? !e.shiftKey : e.ctrlKey || e.metaKey)) {
            e.preventDefault();
            this.submit();
        } else if (e.key === 'ArrowUp' && !this.input.value) {
            e.preventDefault();
            this.set(this.transcript.lastUserText());
        }
    }

    // ---- commands ----

    suggest() {
        const word = /^\/([\w-]*)$/.exec(this.input.value)?.[1];
        const found = word === undefined ? [] : this.store.commands.filter((c) => c.name.startsWith(word)).slice(0, 30);
        this.list.hidden = found.length === 0;
        this.list.replaceChildren(...found.map((c, i) => h('li', {
            role: 'option', id: `command-${i}`, 'aria-selected': String(i === 0), onmousedown: (e) => { e.preventDefault(); this.complete(c); },
        }, h('b', {}, `/${c.name}`), h('span', { className: 'soft' }, c.description))));
        this.found = found;
        this.at = 0;
        this.mark();
    }

    mark() {
        [...this.list.children].forEach((li, i) => li.setAttribute('aria-selected', String(i === this.at)));
        this.list.children[this.at]?.scrollIntoView({ block: 'nearest' });
        this.list.hidden ? this.input.removeAttribute('aria-activedescendant') : this.input.setAttribute('aria-activedescendant', `command-${this.at}`);
    }

    choose(key) {
        if (key === 'Escape') {
            this.list.hidden = true;
        } else if (key === 'ArrowDown' || key === 'ArrowUp') {
            this.at = (this.at + (key === 'ArrowDown' ? 1 : -1) + this.found.length) % this.found.length;
        } else if (key === 'Enter' && this.input.value === `/${this.found[this.at].name}`) {
            this.list.hidden = true;
            this.submit();
        } else {
            this.complete(this.found[this.at]);
        }
        this.mark();
    }

    complete(command) {
        this.set(`/${command.name}${command.acceptsArgs ? ' ' : ''}`);
        this.list.hidden = true;
    }

    // ---- files ----

    take(files) {
        for (const file of files) {
            const image = file.type.startsWith('image/'), mb = image ? IMAGE_MB : ATTACHMENT_MB;
            if (file.size > mb * 1024 * 1024) {
                toast(t('tooLarge', { name: file.name, mb }));
                continue;
            }
            const thing = { file, image, url: image ? URL.createObjectURL(file) : null, content: base64(file) };
            this.files.push(thing);
        }
        this.showFiles();
        this.input.focus();
    }

    showFiles() {
        $('attached').hidden = this.files.length === 0;
        $('attached').replaceChildren(...this.files.map((thing) => h('div', { className: 'thing' },
            thing.image ? h('img', { src: thing.url, alt: '' }) : '', h('span', {}, thing.file.name || t('image')),
            button(h('button', { type: 'button', className: 'icon' }), 'close', t('remove', { name: thing.file.name }), () => {
                this.files = this.files.filter((f) => f !== thing);
                this.showFiles();
            }))));
        this.showRunning(this.transcript.running);
    }

    // ---- sending ----

    async submit() {
        const text = this.input.value.trim(), files = this.files;
        if (!text && files.length === 0) {
            return;
        }
        this.input.value = '';
        this.files = [];
        this.showFiles();
        this.changed();
        await this.send(text, files);
    }

    async send(text, files = []) {
        const id = uid(), key = this.store.key;
        this.transcript.pending(id, text, files.map((f) => ({ type: f.image ? 'image' : 'file', url: f.url, name: f.file.name })));
        this.last = { text, files };
        try {
            const attachments = await Promise.all(files.map(async (f) => ({
                type: f.image ? 'image' : 'file', mimeType: f.file.type || 'application/octet-stream', fileName: f.file.name || 'image.png', content: await f.content,
            })));
            await this.gateway.request('chat.send', { sessionKey: key, message: text, idempotencyKey: id, ...(attachments.length ? { attachments } : {}) }, { keep: true });
            this.transcript.accepted(id);
        } catch (error) {
            this.transcript.sendFailed(id, error);
            if (!this.input.value) {
                this.set(text);
            }
        }
    }

    retry() {
        this.send(this.last?.text ?? this.transcript.lastUserText(), this.last?.files ?? []);
    }

    stop() {
        const runId = this.transcript.running;
        runId && this.gateway.request('chat.abort', { sessionKey: this.store.key, runId }, { keep: true }).catch((e) => toast(e.message));
    }
}
