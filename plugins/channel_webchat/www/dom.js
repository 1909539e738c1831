// Elements, icons, and the only place where HTML text becomes elements: what the gateway rendered and cleaned.
import { t } from './text.js';

const policy = window.trustedTypes?.createPolicy('chela', { createHTML: (html) => html }) ?? { createHTML: (html) => html };

export const $ = (id) => document.getElementById(id);

export function h(name, props = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(props ?? {})) {
        if (value === undefined || value === null || value === false) {
            continue;
        }
        if (key.startsWith('on')) {
            element.addEventListener(key.slice(2), value);
        } else if (key in element && !key.includes('-') && key !== 'list' && key !== 'role') {
            element[key] = value;
        } else {
            element.setAttribute(key, value === true ? '' : value);
        }
    }
    element.append(...children.flat(9).filter((c) => c !== undefined && c !== null && c !== false));
    return element;
}

const paths = {
    plus: 'M12 5v14M5 12h14', gear: 'M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.1 2.1M16.3 16.3l2.1 2.1M5.6 18.4l2.1-2.1M16.3 7.7l2.1-2.1',
    menu: 'M4 6h16M4 12h16M4 18h16', send: 'M12 20V5M5 12l7-7 7 7', stop: 'M7 7h10v10H7z', clip: 'M20 11l-8.5 8.5a5 5 0 0 1-7-7L13 4a3.4 3.4 0 0 1 5 5l-8.500 8.500a1.700 1.700 0 0 1-2.500-2.500L14 8',
    close: 'M6 6l12 12M18 6L6 18', dots: 'M5 12h.01M12 12h.01M19 12h.01', bars: 'M4 6h9M4 12h16M9 18h7',
};

export function icon(name) {
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('viewBox', '0 0 24 24');
    svg.setAttribute('aria-hidden', 'true');
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('d', paths[name]);
    svg.append(path);
    return svg;
}

// Gives a button its picture, name and what it does.
export function button(element, name, label, run) {
    element.replaceChildren(icon(name));
    element.setAttribute('aria-label', label);
    element.title = label;
    if (run) {
        element.onclick = run;
    }
    return element;
}

export async function copy(text, from) {
    await navigator.clipboard.writeText(text);
    if (from) {
        const before = from.textContent;
        from.textContent = t('copied');
        setTimeout(() => { from.textContent = before; }, 1500);
    }
}

// HTML that the gateway made of Markdown. Links leave the page without a trace of it, code gets its copy button.
export function putHtml(element, html) {
    element.innerHTML = policy.createHTML(html);
    for (const link of element.querySelectorAll('a[href]')) {
        link.target = '_blank';
        link.rel = 'noopener noreferrer';
    }
    for (const pre of element.querySelectorAll('pre')) {
        pre.tabIndex = 0;
        const wrap = h('div', { className: 'code' });
        pre.replaceWith(wrap);
        wrap.append(pre, h('button', { type: 'button', textContent: t('copy'), onclick: (e) => copy(pre.textContent, e.target) }));
    }
}

export function toast(text, action, run) {
    const box = $('toast');
    clearTimeout(toast.timer);
    const close = () => { box.hidden = true; };
    box.replaceChildren(h('span', {}, text), action ? h('button', { type: 'button', onclick: () => { close(); run(); } }, action) : '');
    box.hidden = false;
    toast.timer = setTimeout(close, 8000);
}

// One sentence for those who listen.
export const speak = (sentence) => { $('speak').textContent = sentence; };

export function showDialog(dialog, title, ...body) {
    const close = button(h('button', { type: 'button', className: 'icon' }), 'close', t('close'), () => dialog.close());
    dialog.setAttribute('aria-label', title);
    dialog.replaceChildren(h('header', {}, h('h2', {}, title), close), ...body);
    if (!dialog.open) {
        dialog.showModal();
    }
}

export const uid = () => crypto.randomUUID?.() ?? [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('');
export const duration = (ms) => ms < 1000 ? `${Math.round(ms)} ms` : ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60000)} min ${Math.round(ms % 60000 / 1000)} s`;
export const money = (cost) => cost ? `$${cost < 0.01 ? cost.toFixed(4) : cost.toFixed(2)}` : '';
