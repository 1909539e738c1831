// What the page remembers: the sessions, the one that is shown, drafts, and its own options. No element is touched here.
export class Store extends EventTarget {
    sessions = [];
    models = [];
    commands = [];
    approvals = new Map();
    key = null;
    cost = 0;

    constructor(gateway) {
        super();
        this.gateway = gateway;
        this.key = localStorage.getItem('chela.session');
        this.options = { theme: 'auto', enterSends: true, notify: true, showTools: false, ...JSON.parse(localStorage.getItem('chela.options') ?? '{}') };
    }

    tell(what, detail) {
        this.dispatchEvent(new CustomEvent(what, { detail }));
    }

    setOption(name, value) {
        this.options[name] = value;
        localStorage.setItem('chela.options', JSON.stringify(this.options));
        this.tell('options');
    }

    get agent() {
        return this.gateway.hello?.snapshot.sessionDefaults?.defaultAgentId ?? 'main';
    }

    get session() {
        return this.sessions.find((s) => s.key === this.key);
    }

    newKey() {
        return `agent:${this.agent}:web-${Date.now().toString(36)}${Math.random().toString(36).slice(2, 6)}`;
    }

    open(key) {
        if (this.key === key) {
            return;
        }
        this.key = key;
        localStorage.setItem('chela.session', key);
        this.tell('open');
    }

    draft(key = this.key) {
        return localStorage.getItem(`chela.draft.${key}`) ?? '';
    }

    setDraft(text, key = this.key) {
        text ? localStorage.setItem(`chela.draft.${key}`, text) : localStorage.removeItem(`chela.draft.${key}`);
    }

    async loadSessions() {
        clearTimeout(this.timer);
        const answer = await this.gateway.request('sessions.list', { limit: 500, includeDerivedTitles: true, archived: 'all' });
        this.sessions = answer.sessions;
        this.defaults = answer.defaults;
        this.tell('sessions');
    }

    // Many changes in a row are one reading.
    sessionsSoon() {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.loadSessions().catch(() => {}), 250);
    }

    async loadLists() {
        const [models, commands, approvals] = await Promise.all([
            this.gateway.request('models.list', {}), this.gateway.request('commands.list', { scope: 'text', includeArgs: true }),
            this.gateway.request('exec.approval.list', {}),
        ]);
        this.models = models.models;
        this.commands = commands.commands;
        this.approvals = new Map(approvals.map((a) => [a.id, a]));
        this.tell('lists');
        this.loadCost();
    }

    async loadCost() {
        const day = new Date();
        day.setHours(0, 0, 0, 0);
        const usage = await this.gateway.request('chela.usage', { from: day.getTime() }).catch(() => null);
        this.cost = (usage?.rows ?? usage?.usage ?? []).reduce((sum, row) => sum + (row.cost ?? 0), 0);
        this.tell('cost');
    }

    patch(key, fields) {
        return this.gateway.request('sessions.patch', { key, ...fields }).then(() => this.loadSessions());
    }

    titleOf(session) {
        return session?.label || session?.derivedTitle || session?.displayName || '';
    }
}
