// The page: brings its parts together, keyboard, connection state, notifications.
import { $, h, button, toast } from './dom.js';
import { t, useLanguage, language } from './text.js';
import { Gateway } from './transport.js';
import { Store } from './store.js';
import { Transcript } from './transcript.js';
import { Composer } from './composer.js';
import { Sessions } from './sessions.js';
import { Palette } from './palette.js';
import { Settings } from './settings.js';
import { Trace } from './trace.js';

useLanguage(language);
const gateway = new Gateway();
const store = new Store(gateway);
const transcript = new Transcript(gateway, store, {
    running: (run, state) => { composer?.showRunning(run); state && settled(); },
    edit: (text) => composer.set(text), send: (text) => composer.send(text), retry: () => composer.retry(),
    chooseModel: () => palette.open(true), approval: (record) => approval(record),
});
const composer = new Composer(gateway, store, transcript);
const sessions = new Sessions(gateway, store);
const settings = new Settings(gateway, store, { language: (name) => { useLanguage(name); location.reload(); } });
const trace = new Trace(gateway, store, transcript);
const palette = new Palette(gateway, store, {
    edit: (text) => composer.set(text), start: () => sessions.start(), settings: () => settings.open(), trace: () => trace.open(), model: chooseModel,
});

// ---- connection ----

gateway.addEventListener('state', async ({ detail: { state, error } }) => {
    const box = $('connection');
    box.dataset.state = state;
    box.textContent = t(state === 'ready' ? 'connected' : state);
    if (state === 'refused') {
        login(error);
    } else if (state === 'ready') {
        $('login').close();
        await ready();
    }
});

async function ready() {
    try {
        const main = gateway.hello.snapshot.sessionDefaults?.mainSessionKey ?? 'agent:main:main';
        const first = !store.key;
        store.key ??= main;
        const lists = store.loadLists();
        await Promise.all([store.loadSessions(), gateway.request('sessions.subscribe', {}), lists]);
        await transcript.load();
        if (first) {
            localStorage.setItem('chela.session', store.key);
        }
        composer.restore();
        showModel();
        document.documentElement.dataset.ready = 'true';
    } catch (error) {
        gateway.state === 'ready' && toast(error.message);
    }
}

function login(error) {
    const dialog = $('login'), code = error?.details?.code ?? '';
    const why = /PAIRING/.test(code) ? t('pairing', { id: error.details.requestId }) : /RATE/.test(code) ? t('locked') : /MISMATCH/.test(code) ? t('wrong') : /MISSING/.test(code) ? '' : error?.message ?? '';
    const field = h('input', { type: 'password', id: 'secret', autocomplete: 'current-password', required: true });
    dialog.setAttribute('aria-label', t('loginTitle'));
    dialog.replaceChildren(h('form', { method: 'dialog', onsubmit: (e) => { e.preventDefault(); field.value && gateway.enter(field.value); } },
        h('h2', {}, t('loginTitle')), h('p', { className: 'soft' }, t('loginHelp')), h('label', { htmlFor: 'secret' }, t('token')), field,
        why ? h('p', { className: 'bad', role: 'alert' }, why) : '', h('button', { type: 'submit', className: 'primary' }, t('enter'))));
    dialog.oncancel = (e) => e.preventDefault();
    dialog.open || dialog.showModal();
    field.focus();
}

gateway.addEventListener('sessions.changed', () => store.sessionsSoon());
gateway.addEventListener('session.message', () => store.sessionsSoon());
store.addEventListener('open', async () => {
    composer.restore();
    showModel();
    const s = store.session;
    s?.unread && store.patch(s.key, { unread: false }).catch(() => {});
    await transcript.load().catch((e) => toast(e.message));
});
store.addEventListener('sessions', () => showModel());
store.addEventListener('cost', () => { $('cost').textContent = store.cost ? `$${store.cost.toFixed(2)}` : ''; });
store.addEventListener('options', () => {
    const { theme } = store.options;
    theme === 'auto' ? delete document.documentElement.dataset.theme : document.documentElement.dataset.theme = theme;
});
store.tell('options');

// ---- model ----

function showModel() {
    const s = store.session, name = s?.model ? `${s.modelProvider}/${s.model}` : store.defaults?.model ? `${store.defaults.modelProvider}/${store.defaults.model}` : t('modelAuto');
    $('model').textContent = `${name} ▾`;
    $('model').setAttribute('aria-label', `${t('model')}: ${name}`);
    const used = s && (s.inputTokens || s.outputTokens) ? t('totals', { in: s.inputTokens ?? 0, out: s.outputTokens ?? 0 }) : '';
    $('model').title = used;
}

async function chooseModel(id) {
    try {
        await store.patch(store.key, { model: id });
        showModel();
    } catch (error) {
        toast(error.message);
    }
}

// ---- attention ----

function approval(record) {
    const open = store.approvals.size > 0;
    document.title = `${open ? '(!) ' : ''}${document.title.replace(/^\(!\) /, '')}`;
    if (record && document.hidden) {
        const what = record.request.command ?? record.request.toolName ?? '';
        note(t('approvalTitle'), t('approvalNote', { tool: record.request.toolName ?? 'exec', what }));
    }
}

function settled() {
    store.loadCost();
    store.sessionsSoon();
    document.hidden && note(store.titleOf(store.session) || 'Chela', t('finished'));
}

function note(title, body) {
    if (store.options.notify && 'Notification' in window && Notification.permission === 'granted') {
        const notification = new Notification(title, { body, tag: 'chela', icon: '/webchat/icon.svg' });
        notification.onclick = () => { window.focus(); notification.close(); };
    }
}

addEventListener('pointerdown', () => {
    // asked for once, by something that a person did
    if (store.options.notify && 'Notification' in window && Notification.permission === 'default' && !localStorage.getItem('chela.asked')) {
        localStorage.setItem('chela.asked', '1');
        Notification.requestPermission();
    }
}, { once: true });

// ---- frame and keyboard ----

$('skip').textContent = t('skip');
button($('menu'), 'menu', t('menu'), () => side(!$('side').classList.contains('open')));
button($('open-settings'), 'gear', t('settings'), () => settings.open());
button($('open-trace'), 'bars', t('trace'), () => trace.open());
$('model').onclick = () => palette.open(true);
$('shade').onclick = () => side(false);
$('log').setAttribute('aria-label', t('session'));

function side(open) {
    $('side').classList.toggle('open', open);
    $('shade').hidden = !open;
    $('menu').setAttribute('aria-expanded', String(open));
    open ? $('new').focus() : $('menu').focus();
}

addEventListener('keydown', (e) => {
    const modal = document.querySelector('dialog[open]');
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k') {
        e.preventDefault();
        modal || palette.open();
    } else if (e.key === 'Escape' && !modal) {
        if ($('side').classList.contains('open')) {
            side(false);
        } else if (transcript.running) {
            composer.stop();
        }
    } else if (e.altKey && e.key.toLowerCase() === 'n' && !modal) {
        e.preventDefault();
        sessions.start();
    }
});
$('input').focus();
