// The gateway's WebSocket: challenge, connect, requests and events, and coming back after a loss. What was asked with
// `keep` is asked again then, under its idempotency key, so nothing is lost and nothing done twice.
import { codeFromAddress, deviceBlock, identity, secrets } from './identity.js';
import { uid } from './dom.js';

const SCOPES = ['operator.read', 'operator.write', 'operator.approvals', 'operator.questions', 'operator.admin', 'operator.pairing'];
const SILENT_MS = 80000;

export class Gateway extends EventTarget {
    state = 'connecting';
    hello = null;
    #socket = null;
    #pending = new Map();
    #waiting = [];
    #delay = 400;
    #code = codeFromAddress();
    #me = identity();
    #heard = 0;

    constructor() {
        super();
        setInterval(() => {
            if (this.state === 'ready' && Date.now() - this.#heard > SILENT_MS) {
                this.#socket.close(4000, 'no tick');
            }
        }, 10000);
        addEventListener('online', () => this.#again(true));
        document.addEventListener('visibilitychange', () => document.hidden || this.#again(true));
        this.open();
    }

    open() {
        clearTimeout(this.timer);
        this.#set(this.hello ? 'lost' : 'connecting');
        // always where the page came from: no address is ever given from outside
        const socket = this.#socket = new WebSocket(location.origin.replace(/^http/, 'ws') + '/');
        socket.onmessage = (message) => this.#socket === socket && this.#message(JSON.parse(message.data));
        socket.onclose = () => this.#socket === socket && this.#closed();
    }

    // Tries again at once (a secret was typed, the network came back).
    #again(quick) {
        if (this.state === 'lost' || this.state === 'connecting') {
            if (quick && this.#socket?.readyState !== WebSocket.CONNECTING && this.#socket?.readyState !== WebSocket.OPEN) {
                this.#delay = 400;
                this.open();
            }
        }
    }

    enter(secret) {
        secrets.typed = secret;
        this.open();
    }

    #set(state, detail) {
        this.state = state;
        this.dispatchEvent(new CustomEvent('state', { detail: { state, ...detail } }));
    }

    #closed() {
        for (const [id, { reject, keep, frame, resolve }] of this.#pending) {
            if (keep) {
                this.#waiting.push({ frame, resolve, reject, keep });
            } else {
                reject(new Error('the connection was lost'));
            }
            this.#pending.delete(id);
        }
        if (this.state === 'refused') {
            return;
        }
        this.#set('lost');
        this.timer = setTimeout(() => this.open(), this.#delay * (0.8 + Math.random() * 0.4));
        this.#delay = Math.min(this.#delay * 1.7, 8000);
    }

    async #connect(challenge) {
        const params = {
            minProtocol: 4, maxProtocol: 4, role: 'operator', scopes: SCOPES, caps: ['tool-events', 'approvals'],
            client: { id: 'webchat-ui', version: '1', platform: 'web', mode: 'webchat', displayName: 'web page' }, auth: {},
        };
        if (this.#code) {
            params.auth.bootstrapToken = this.#code;
        } else if (secrets.typed) {
            params.auth.token = secrets.typed;
        } else if (secrets.deviceToken) {
            params.auth.deviceToken = secrets.deviceToken;
        }
        const me = await this.#me;
        if (me) {
            params.device = await deviceBlock(me, challenge, params);
        }
        try {
            const hello = await this.#send('connect', params);
            this.#code = undefined;
            this.#delay = 400;
            this.hello = hello;
            if (hello.auth?.deviceToken) {
                secrets.deviceToken = hello.auth.deviceToken;
                secrets.typed = null;
            }
            this.#set('ready');
            for (const { frame, resolve, reject, keep } of this.#waiting.splice(0)) {
                this.#put(frame, resolve, reject, keep);
            }
        } catch (error) {
            if (error.details?.reason === 'startup-sidecars') {
                this.#socket.close();
                return;
            }
            if (this.#code || secrets.typed) {
                this.#code = undefined;
                secrets.typed = null;
            } else if (/DEVICE_TOKEN/.test(error.details?.code ?? '')) {
                secrets.deviceToken = null;
            }
            this.#set('refused', { error });
        }
    }

    #message(frame) {
        this.#heard = Date.now();
        if (frame.type === 'event' && frame.event === 'connect.challenge') {
            this.#connect(frame.payload);
        } else if (frame.type === 'event') {
            this.dispatchEvent(new CustomEvent(frame.event, { detail: frame.payload }));
        } else if (frame.type === 'res') {
            const waiting = this.#pending.get(frame.id);
            this.#pending.delete(frame.id);
            if (frame.ok) {
                waiting?.resolve(frame.payload);
            } else {
                waiting?.reject(Object.assign(new Error(frame.error.message), frame.error));
            }
        }
    }

    #put(frame, resolve, reject, keep) {
        this.#pending.set(frame.id, { resolve, reject, keep, frame });
        this.#socket.send(JSON.stringify(frame));
    }

    #send(method, params, keep) {
        return new Promise((resolve, reject) => this.#put({ type: 'req', id: uid(), method, params }, resolve, reject, keep));
    }

    has(method) {
        return this.hello?.features.methods.includes(method);
    }

    // keep: the request waits for the next connection if there is none, or if it is lost before the answer.
    request(method, params = {}, { keep = false } = {}) {
        if (this.state === 'ready') {
            return this.#send(method, params, keep);
        }
        if (!keep) {
            return Promise.reject(new Error('not connected'));
        }
        return new Promise((resolve, reject) => {
            this.#waiting.push({ frame: { type: 'req', id: uid(), method, params }, resolve, reject, keep });
        });
    }
}
