// Who this browser is to the gateway: an Ed25519 key that never leaves it, and the token that it was given for it.
const base64url = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
const hex = (bytes) => [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, '0')).join('');

function database(mode, run) {
    return new Promise((resolve, reject) => {
        const open = indexedDB.open('chela', 1);
        open.onupgradeneeded = () => open.result.createObjectStore('keys');
        open.onerror = () => reject(open.error);
        open.onsuccess = () => {
            const request = run(open.result.transaction('keys', mode).objectStore('keys'));
            request.onsuccess = () => resolve(request.result);
            request.onerror = () => reject(request.error);
        };
    });
}

// {id, publicKey, sign(text)}; null where the browser can't (no secure context, an old one).
export async function identity() {
    try {
        let pair = await database('readonly', (store) => store.get('device'));
        if (!pair) {
            pair = await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']);
            await database('readwrite', (store) => store.put(pair, 'device'));
        }
        const raw = await crypto.subtle.exportKey('raw', pair.publicKey);
        return {
            id: hex(await crypto.subtle.digest('SHA-256', raw)), publicKey: base64url(raw),
            sign: async (text) => base64url(await crypto.subtle.sign('Ed25519', pair.privateKey, new TextEncoder().encode(text))),
        };
    } catch {
        return null;
    }
}

// The device block of `connect`, signed over the challenge (version 3 of the text).
export async function deviceBlock(me, challenge, connect) {
    const { client, role, scopes, auth } = connect;
    const token = auth.token ?? auth.deviceToken ?? auth.bootstrapToken ?? '';
    const text = ['v3', me.id, client.id, client.mode, role, scopes.join(','), challenge.ts, token, challenge.nonce,
        client.platform.trim().toLowerCase(), ''].join('|');
    return { id: me.id, publicKey: me.publicKey, signature: await me.sign(text), signedAt: challenge.ts, nonce: challenge.nonce };
}

const KEY = 'chela.device-token';
export const secrets = {
    get deviceToken() { return localStorage.getItem(KEY); },
    set deviceToken(value) { value ? localStorage.setItem(KEY, value) : localStorage.removeItem(KEY); },
    // what was typed lives as long as the tab
    get typed() { return sessionStorage.getItem('chela.secret'); },
    set typed(value) { value ? sessionStorage.setItem('chela.secret', value) : sessionStorage.removeItem('chela.secret'); },
};

// "#code=..." of `chela dashboard`: taken once and wiped from the address. Nothing else is ever read from the address.
export function codeFromAddress() {
    const found = /^#code=([0-9a-f]{32,128})$/.exec(location.hash);
    if (location.hash) {
        history.replaceState(null, '', location.pathname);
    }
    return found?.[1];
}
