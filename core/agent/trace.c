/*
 * Traces: the journal's rows of a run put in order, with the seven legs of a message's way computed
 * from the states. Called by the facade.
 */
#include "agent/trace.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/flow.h"
#include "agent/journal/journal.h"
#include "agent/runs.h"
#include "base/mem.h"

struct trace {
    char *run;
    struct json_object *out, *states, *attempts, *decisions, *calls, *approvals, *chunks, *messages;
    struct message *message;
    bool known;
    agent_json_fn *fn;
    void *owner;
};

static const struct {
    const char *state, *leg;
} legs[] = {
    {"RECEIVED", "gateway"},     {"CONTEXT_ASSEMBLY", "session"},
    {"ROUTING", "router"},       {"CALLING", "provider"},
    {"STREAMING", "provider"},   {"TOOL_DETECTED", "tools"},
    {"TOOL_EXECUTION", "tools"}, {"DONE", "reply"},
    {"FAILED", "reply"},         {"ABORTED", "reply"},
};

static const char *leg_of(const char *state)
{
    for (unsigned i = 0; state && i < ARRAY_LENGTH(legs); i++) {
        if (strcmp(legs[i].state, state) == 0)
            return legs[i].leg;
    }
    return NULL;
}

/* The channel's leg ends when the message was received; the others follow from the states. */
static void add_legs(struct trace *t)
{
    struct json_object *list = chela_json_put_array(t->out, "legs"), *last = NULL;
    if (t->message) {
        last = chela_json_push_object(list);
        chela_json_put_text(last, "leg", "channel");
        chela_json_put_int(last, "from", (int64_t)t->message->at * 1000);
    }
    for (size_t i = 0; i < chela_json_length(t->states); i++) {
        struct json_object *s = chela_json_at(t->states, i);
        const char *leg = leg_of(chela_json_string(s, "state", NULL));
        int64_t at = chela_json_int(s, "at", 0);
        if (!leg)
            continue;
        if (last)
            chela_json_put_int(last, "to", at);
        if (last && strcmp(chela_json_string(last, "leg", NULL), leg) == 0)
            continue;
        last = chela_json_push_object(list);
        chela_json_put_text(last, "leg", leg);
        chela_json_put_int(last, "from", at);
        chela_json_put_int(last, "to", at);
    }
    /* the reply is over when its last piece was received */
    for (size_t i = 0; last && i < chela_json_length(t->chunks); i++) {
        int64_t at = chela_json_int(chela_json_at(t->chunks, i), "at", 0);
        if (at > chela_json_int(last, "to", 0))
            chela_json_put_int(last, "to", at);
    }
}

static void row(void *owner, const struct journal_row *r)
{
    struct trace *t = owner;
    struct json_object *o = NULL;
    if (r->columns < 2 || chela_json_parse(r->values[1].s.s, r->values[1].s.n, NULL, &o, NULL) != 0)
        return;
    t->known = true;
    struct json_object *list = chela_str_is(r->values[0].s, "state")      ? t->states
                               : chela_str_is(r->values[0].s, "attempt")  ? t->attempts
                               : chela_str_is(r->values[0].s, "call")     ? t->calls
                               : chela_str_is(r->values[0].s, "approval") ? t->approvals
                               : chela_str_is(r->values[0].s, "decision") ? t->decisions
                               : chela_str_is(r->values[0].s, "chunk")    ? t->chunks
                               : chela_str_is(r->values[0].s, "message")  ? t->messages
                                                                          : NULL;
    if (list == t->decisions && list) {
        chela_json_push(list, json_object_get(chela_json_object(o, "decision")));
        json_object_put(o);
        return;
    }
    if (list) {
        chela_json_push(list, o);
        return;
    }
    if (chela_str_is(r->values[0].s, "inbox") && !t->message) {
        t->message = message_from_json(chela_json_object(o, "body"));
    } else if (chela_str_is(r->values[0].s, "run")) {
        chela_json_put_text(t->out, "session", chela_json_string(o, "session", NULL));
        chela_json_put_text(t->out, "agent", chela_json_string(o, "agent", NULL));
        chela_json_put_text(t->out, "state", chela_json_string(o, "state", NULL));
    }
    json_object_put(o);
}

static void add_live(struct trace *t, const struct run *r)
{
    chela_json_put_text(t->out, "session", r->session);
    chela_json_put_text(t->out, "agent", r->agent);
    chela_json_put_text(t->out, "state", turn_state_name(r->state));
    json_object_put(t->states);
    t->states = chela_json_new_array();
    for (unsigned i = 0; i < r->step_count; i++) {
        struct json_object *s = chela_json_push_object(t->states);
        chela_json_put_text(s, "state", turn_state_name(r->steps[i].state));
        chela_json_put_int(s, "at", (int64_t)r->steps[i].at);
    }
    if (r->decisions) {
        json_object_put(t->decisions);
        t->decisions = json_object_get(r->decisions);
    }
    t->known = true;
}

static void trace_end(struct trace *t, const struct error *e)
{
    agent_json_fn *fn = t->fn;
    void *owner = t->owner;
    struct json_object *out = t->out;
    json_object_put(t->states);
    json_object_put(t->attempts);
    json_object_put(t->decisions);
    json_object_put(t->calls);
    json_object_put(t->approvals);
    json_object_put(t->chunks);
    json_object_put(t->messages);
    message_free(t->message);
    free(t->run);
    free(t);
    fn(owner, e ? NULL : out, e);
    json_object_put(out);
}

static void done(void *owner, const struct error *e)
{
    struct trace *t = owner;
    struct error none = {0};
    const struct run *live = runs_find(t->run);
    if (live)
        add_live(t, live);
    if (!e && !t->known) {
        error_set(&none, CHELA_E_NOT_FOUND, "no run %s is known", t->run);
        e = &none;
    }
    if (e) {
        struct error copy = *e;
        trace_end(t, &copy);
        return;
    }
    chela_json_put(t->out, "states", json_object_get(t->states));
    add_legs(t);
    struct json_object *route = chela_json_put_object(t->out, "route");
    struct json_object *first = chela_json_at(t->attempts, 0);
    size_t tries = chela_json_length(t->attempts);
    struct json_object *last = tries ? chela_json_at(t->attempts, tries - 1) : NULL;
    chela_json_put_text(route, "reason", chela_json_string(first, "reason", NULL));
    chela_json_put_text(route, "chosen", chela_json_string(first, "model", NULL));
    chela_json_put_text(route, "answered", chela_json_string(last, "model", NULL));
    chela_json_put(t->out, "decisions", json_object_get(t->decisions));
    chela_json_put(t->out, "attempts", json_object_get(t->attempts));
    chela_json_put(t->out, "calls", json_object_get(t->calls));
    chela_json_put(t->out, "approvals", json_object_get(t->approvals));
    chela_json_put(t->out, "chunks", json_object_get(t->chunks));
    chela_json_put(t->out, "messages", json_object_get(t->messages));
    const char *session = chela_json_string(t->out, "session", NULL);
    if (live && live->message)
        chela_json_put(t->out, "message", json_object_get(live->message));
    else if (t->message)
        chela_json_put(t->out, "message", message_form(t->message, session ? session : ""));
    trace_end(t, NULL);
}

struct named {
    struct json_object *out;
    agent_json_fn *fn;
    void *owner;
};

/* The session's id, which the one message form shows. */
static void session_row(void *owner, const struct journal_row *r)
{
    struct json_object *message = chela_json_object(((struct named *)owner)->out, "message");
    if (r->columns > 1 && r->values[1].s.n)
        chela_json_put_string(message, "sessionId", r->values[1].s.s, r->values[1].s.n);
}

static void session_done(void *owner, const struct error *e)
{
    struct named *n = owner;
    (void)e; /* the key stands there then */
    n->fn(n->owner, n->out, NULL);
    json_object_put(n->out);
    free(n);
}

static void name_session(void *owner, struct json_object *o, const struct error *e)
{
    struct named *n = owner;
    const char *session = chela_json_string(o, "session", NULL);
    struct json_object *message = chela_json_object(o, "message");
    if (e || !session || !message) {
        n->fn(n->owner, o, e);
        free(n);
        return;
    }
    n->out = json_object_get(o);
    journal_session_get(session, session_row, session_done, n);
}

void trace_read(const char *run, agent_json_fn *fn, void *owner)
{
    struct trace *t = xcalloc(1, sizeof *t);
    t->run = xstrdup(run);
    t->out = chela_json_new_object();
    t->states = chela_json_new_array();
    t->attempts = chela_json_new_array();
    t->decisions = chela_json_new_array();
    t->calls = chela_json_new_array();
    t->approvals = chela_json_new_array();
    t->chunks = chela_json_new_array();
    t->messages = chela_json_new_array();
    chela_json_put_text(t->out, "run", run);
    struct named *n = xcalloc(1, sizeof *n);
    n->fn = fn;
    n->owner = owner;
    t->fn = name_session;
    t->owner = n;
    journal_trace(run, row, done, t);
}
