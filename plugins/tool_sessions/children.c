/*
 * Sub-agents as they are kept, and their results on the way to the parent. A result is a message of
 * this channel to the parent's session whose event is the run that it came of: the host stores it
 * and takes it once, however often it is handed over; the answer that carries it stands in the
 * host's outbox until then. So it arrives exactly once, also when the gateway is killed in between.
 * Called by tool_sessions.c and spawn.c.
 */
#include "sessions.h"

#include <stdlib.h>
#include <string.h>

enum { RESULT_BYTES = 60000 };

/* ---- records ---- */

struct child *child_find(struct sessions *s, const char *session)
{
    for (struct child *c = s->children; c; c = c->next)
        if (strcmp(c->session, session) == 0)
            return c;
    return NULL;
}

const char *child_text(const struct child *c, const char *member)
{
    const char *text = chela_json_string(c->o, member, NULL);
    return text ? text : "";
}

bool child_running(const struct child *c)
{
    return strcmp(child_text(c, "state"), "running") == 0;
}

struct child *child_add(struct sessions *s, const char *session, json_object *o)
{
    struct child *c = chela_need(calloc(1, sizeof *c)), **end = &s->children;
    c->session = chela_need(strdup(session));
    c->o = o;
    while (*end) /* the oldest first */
        end = &(*end)->next;
    *end = c;
    return c;
}

static void child_free(struct child *c)
{
    json_object_put(c->o);
    free(c->session);
    free(c);
}

void children_free(struct sessions *s)
{
    while (s->children) {
        struct child *c = s->children;
        s->children = c->next;
        child_free(c);
    }
}

void child_put(struct sessions *s, struct child *c, chela_op_fn *fn, void *owner)
{
    char *key = chela_format("child/%s", c->session);
    chela_keep(s->in, key, c->o, fn, owner);
    free(key);
}

/* Ended ones beyond the number that is kept go, the oldest first. */
static void prune(struct sessions *s)
{
    int64_t ended = 0, keep = chela_option_number(s->in, "subagents.keep");
    for (struct child *c = s->children; c; c = c->next)
        ended += !child_running(c);
    for (struct child **at = &s->children; *at && ended > keep;) {
        struct child *c = *at;
        if (child_running(c)) {
            at = &c->next;
            continue;
        }
        char *key = chela_format("child/%s", c->session);
        CHELA_ARGS(chela_key, k, s->in->host->local->new_call(s->in));
        k.key = chela_s(key);
        s->in->host->kv->del(s->in, &k);
        free(key);
        *at = c->next;
        child_free(c);
        ended--;
    }
}

/* ---- results ---- */

struct delivery {
    uint64_t call; /* the answer that carries it, 0 = none */
    char *session, *status;
};

static void delivery_free(struct delivery *v)
{
    free(v->session);
    free(v->status);
    free(v);
}

static void delivered(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct sessions *s = in->self;
    struct delivery *v = owner;
    struct child *c = child_find(s, v->session);
    bool stored = d->error == CHELA_OK || d->error == CHELA_E_CONFLICT;
    if (c && stored && child_running(c)) {
        chela_json_put_text(c->o, "state", "ended");
        chela_json_put_text(c->o, "status", v->status);
        chela_json_put_int(c->o, "endedAt", (int64_t)s->in->host->local->now_ms(s->in));
        child_put(s, c, NULL, NULL);
        prune(s);
    }
    if (v->call) {
        char *error = chela_copy(d->text);
        chela_end(s->in, v->call, stored ? CHELA_OK : CHELA_E_BUSY, stored ? v->session : error);
        free(error);
    }
    delivery_free(v);
}

static void deliver(struct sessions *s, struct child *c, const char *run, const char *status,
                    const char *text, uint64_t call)
{
    struct delivery *v = chela_need(calloc(1, sizeof *v));
    const char *parent = child_text(c, "parent"), *label = child_text(c, "label");
    json_object *extra = chela_json_new_object(),
                *request = chela_json_put_object(extra, "request"),
                *origin = chela_json_object(c->o, "origin");
    size_t n = strlen(text), cut = n > RESULT_BYTES ? RESULT_BYTES : n;
    while (cut < n && cut && ((unsigned char)text[cut] & 0xc0) == 0x80)
        cut--;
    char *said = chela_format("[Result of the sub-agent %s%s%s(%s): %s. It comes from your own "
                              "sub-agent, not from the person.]\n\n%.*s%s",
                              *label ? "\"" : "", label, *label ? "\" " : "", c->session, status,
                              (int)cut, text, cut < n ? "\n[... cut]" : "");
    char *to = chela_format("to:%s", parent), *event = chela_format("result:%s", run);
    v->call = call;
    v->session = chela_need(strdup(c->session));
    v->status = chela_need(strdup(status));
    chela_json_put_text(extra, "agent", child_text(c, "parentAgent"));
    chela_json_put_bool(request, "suppressCommandInterpretation", true);
    chela_json_put(request, "onBehalfOf", json_object_get(origin));
    CHELA_ARGS(chela_submit, m, s->in->host->local->new_call(s->in));
    m.h.tag = chela_op_new(delivered, v);
    m.h.flags = CHELA_OWNER;
    m.kind = chela_s("message");
    m.event = chela_s(event);
    m.chat = chela_s(to);
    m.thread = chela_s(c->session);
    m.chat_type = CHELA_DIRECT;
    m.sender = chela_s(c->session);
    m.session = chela_s(parent);
    m.text = chela_s(said);
    m.extra = chela_s(chela_json_text(extra, NULL));
    s->in->host->chat->submit(s->in, &m);
    json_object_put(extra);
    free(said);
    free(to);
    free(event);
}

/* What a run that ended without anything for the outbox leaves: a silent one, one that was stopped,
 * one whose end this process has not seen. */
static void history_came(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct sessions *s = in->self;
    char *session = owner;
    struct child *c = child_find(s, session);
    json_object *payload = chela_object_of(d->text), *list = chela_json_array(payload, "messages");
    const char *text = NULL;
    for (size_t i = chela_json_length(list); i-- > 0 && !text;) {
        json_object *m = chela_json_at(list, i), *parts = chela_json_get(m, "content");
        const char *role = chela_json_string(m, "role", NULL);
        for (size_t k = chela_json_length(parts);
             role && strcmp(role, "assistant") == 0 && k-- > 0;)
            if (!text)
                text = chela_json_string(chela_json_at(parts, k), "text", NULL);
    }
    if (c && child_running(c))
        deliver(s, c, child_text(c, "run"), "ok", text ? text : "(It said nothing.)", 0);
    json_object_put(payload);
    free(session);
}

static void run_ended(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct sessions *s = in->self;
    char *session = owner;
    struct child *c = child_find(s, session);
    json_object *o = chela_object_of(d->text);
    const char *status = chela_json_string(o, "status", NULL);
    char *text = chela_answer_text(o);
    if (!c || !child_running(c) || d->error != CHELA_OK || !status) {
        /* known already; or the gateway ends, and the next start asks again */
    } else if (strcmp(status, "aborted") == 0) {
        deliver(s, c, child_text(c, "run"), "stopped",
                text ? text : "It was stopped before it had a result.", 0);
    } else if (strcmp(status, "ok") == 0 && !text) {
        json_object *params = chela_json_new_object();
        chela_json_put_text(params, "sessionKey", c->session);
        chela_json_put_int(params, "limit", 5);
        chela_ask_gateway(s->in, 0, "chat.history", params, history_came,
                          chela_need(strdup(session)));
    } else if (strcmp(status, "error") == 0 && !chela_json_has(o, "result")) {
        deliver(s, c, child_text(c, "run"), "failed", "It failed before it had a result.", 0);
    } /* else its answer, or what is said of its failure, brings it */
    free(text);
    json_object_put(o);
    free(session);
}

/* ---- beginning ---- */

struct beginning {
    char *session;
    chela_op_fn *fn;
    void *owner;
};

static void task_stored(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct sessions *s = in->self;
    struct beginning *b = owner;
    struct child *c = child_find(s, b->session);
    struct chela_done ok = *d;
    bool stored = d->error == CHELA_OK || d->error == CHELA_E_CONFLICT;
    if (stored)
        ok.error = CHELA_OK;
    if (stored && c) {
        json_object *params = chela_json_new_object();
        chela_json_put_text(params, "runId", child_text(c, "run"));
        chela_json_put_int(params, "timeoutMs", 0); /* no bound: the run has its own */
        chela_ask_gateway(s->in, 0, "agent.wait", params, run_ended,
                          chela_need(strdup(c->session)));
    }
    if (b->fn)
        b->fn(s->in, b->owner, &ok);
    free(b->session);
    free(b);
}

void child_start(struct sessions *s, struct child *c, chela_op_fn *fn, void *owner)
{
    struct beginning *b = chela_need(calloc(1, sizeof *b));
    json_object *extra = chela_json_new_object();
    char *chat = chela_format("sub:%s", c->session);
    b->session = chela_need(strdup(c->session));
    b->fn = fn;
    b->owner = owner;
    chela_json_put_text(extra, "agent", child_text(c, "agent"));
    chela_json_put(extra, "request", json_object_get(chela_json_object(c->o, "request")));
    CHELA_ARGS(chela_submit, m, s->in->host->local->new_call(s->in));
    m.h.tag = chela_op_new(task_stored, b);
    m.h.flags = CHELA_OWNER;
    m.kind = chela_s("message");
    m.event = chela_s(child_text(c, "run"));
    m.chat = chela_s(chat);
    m.thread = chela_s(c->session);
    m.chat_type = CHELA_DIRECT;
    m.sender = chela_s(child_text(c, "parent"));
    m.session = chela_s(c->session);
    m.text = chela_s(child_text(c, "task"));
    m.extra = chela_s(chela_json_text(extra, NULL));
    s->in->host->chat->submit(s->in, &m);
    json_object_put(extra);
    free(chat);
}

/* ---- what the host hands over ---- */

/* To the chat that the sub-agent's work began in: what the parent says to its result, and what is
 * asked or shown while it works. */
static void forward(struct sessions *s, const struct child *c, const struct chela_send *m,
                    const char *text)
{
    static const char *const names[][2] = {
        {"channel", "channel"}, {"chat", "to"}, {"account", "accountId"}, {"thread", "threadId"}};
    json_object *origin = chela_json_object(c->o, "origin"), *to = chela_json_new_object();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        chela_json_put_text(to, names[i][1], chela_member(origin, names[i][0]));
    chela_send_on(s->in, m, to, text, child_text(c, "parent"));
    json_object_put(to);
}

void children_answer(struct sessions *s, const struct chela_send *m)
{
    json_object *extra = chela_object_of(m->extra);
    const char *session = chela_json_string(extra, "session", NULL),
               *run = chela_json_string(extra, "run", NULL),
               *status = chela_json_string(extra, "status", NULL);
    struct child *own = session ? child_find(s, session) : NULL,
                 *about = m->thread.n ? child_find(s, m->thread.s) : NULL;
    char *text = chela_copy(m->text);
    if (own && run)
        deliver(s, own, run, status ? "failed" : "ok", text, m->h.call);
    else if (about)
        forward(s, about, m, text);
    else /* an answer to sessions_send: who asked has it by waiting */
        chela_end(s->in, m->h.call, CHELA_OK, "");
    free(text);
    json_object_put(extra);
}

/* ---- start ---- */

static void row(struct chela_inst *in, void *owner, const struct chela_rows *r)
{
    struct sessions *s = in->self;
    (void)owner;
    for (uint64_t i = 0; i + 1 < r->values.n; i += 2) {
        json_object *o = chela_object_of(r->values.v[i + 1].s);
        struct chela_str key = r->values.v[i].s;
        if (o && key.n > 6) {
            char *session = chela_copy(chela_sn(key.s + 6, (size_t)key.n - 6));
            child_add(s, session, o);
            free(session);
        } else {
            json_object_put(o);
        }
    }
}

static void loaded(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct sessions *s = in->self;
    (void)owner;
    chela_end(s->in, s->starting, d->error, d->error ? d->text.s : "");
    for (struct child *c = s->children; d->error == CHELA_OK && c; c = c->next)
        if (child_running(c))
            child_start(s, c, NULL, NULL);
}

void children_load(struct sessions *s)
{
    CHELA_ARGS(chela_key, k, s->in->host->local->new_call(s->in));
    k.h.tag = chela_op_new_rows(loaded, row, NULL);
    k.key = chela_s("child/");
    s->in->host->kv->list(s->in, &k);
}
