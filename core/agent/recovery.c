/*
 * Recovery: open approvals and the allow-list into memory, runs that had begun go on where they
 * were, messages that were accepted but not consumed become jobs, pieces that were being sent go by
 * their send class. Effects are never repeated blindly: see toolcall.c and outbox.c.
 */
#include "agent/recovery.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/chats/ingress.h"
#include "agent/chats/outbox.h"
#include "agent/flow.h"
#include "agent/session.h"
#include "agent/tools/allow.h"
#include "agent/tools/approval.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"

enum { RESUMES_MOST = 3 };

struct found {
    struct link link;
    char *run, *session, *agent, *key, *body, *state, *draft;
    uint32_t send_class;
    uint64_t at;
    unsigned received;         /* how often it was begun */
    int64_t attempts;          /* model calls that it had made */
    struct json_object *calls; /* id -> {"state","result"} */
    struct message *message;
};

struct recovery {
    struct link inbox, runs, chunks;
    unsigned left; /* traces to be read */
    journal_fn *fn;
    void *owner;
};

static char *text(const struct journal_row *row, unsigned i)
{
    return i < row->columns && row->values[i].s.s ? xmemdup(row->values[i].s.s, row->values[i].s.n)
                                                  : xstrdup("");
}

static void found_free(struct found *f)
{
    list_remove(&f->link);
    free(f->run);
    free(f->session);
    free(f->agent);
    free(f->key);
    free(f->body);
    free(f->state);
    free(f->draft);
    json_object_put(f->calls);
    message_free(f->message);
    free(f);
}

static struct found *add(struct link *list)
{
    struct found *f = xcalloc(1, sizeof *f);
    list_append(list, &f->link);
    return f;
}

/* id, session, agent, body */
static void inbox_row(void *owner, const struct journal_row *row)
{
    struct found *f = add(&((struct recovery *)owner)->inbox);
    f->run = text(row, 0);
    f->session = text(row, 1);
    f->agent = text(row, 2);
    f->body = text(row, 3);
}

/* run, session, agent, state, plan revision, messages consumed */
static void run_row(void *owner, const struct journal_row *row)
{
    struct found *f = add(&((struct recovery *)owner)->runs);
    f->run = text(row, 0);
    f->session = text(row, 1);
    f->agent = text(row, 2);
    f->state = text(row, 3);
    f->calls = chela_json_new_object();
}

static void call_row(void *owner, const struct journal_row *row)
{
    (void)owner; /* the trace of its run has it, with those that have ended */
    (void)row;
}

/* run, session, key, body, send class, at */
static void chunk_row(void *owner, const struct journal_row *row)
{
    struct found *f = add(&((struct recovery *)owner)->chunks);
    f->run = text(row, 0);
    f->session = text(row, 1);
    f->key = text(row, 2);
    f->body = text(row, 3);
    f->send_class = row->columns > 4 ? (uint32_t)row->values[4].i : CHELA_SEND_NEITHER;
    f->at = row->columns > 5 ? (uint64_t)row->values[5].i : 0;
}

static struct message *parse_message(const char *body)
{
    struct json_object *o = NULL;
    struct message *m = NULL;
    if (chela_json_parse(body, strlen(body), NULL, &o, NULL) == 0)
        m = message_from_json(o);
    json_object_put(o);
    return m;
}

/* ---- a run that had begun ---- */

/* The message that shows the run's draft is edited on. */
static void keep_draft(struct found *f, struct json_object *chunk, const char *state)
{
    const char *key = chela_json_string(chunk, "key", NULL);
    const char *external = chela_json_string(chunk, "external", NULL);
    size_t n = key ? strlen(key) : 0;
    if (n < 6 || strcmp(key + n - 6, ".draft") != 0 || !state || strcmp(state, "SENT") != 0)
        return;
    free(f->draft);
    f->draft = xstrdup(external);
}

static void trace_row(void *owner, const struct journal_row *row)
{
    struct found *f = owner;
    CLEANUP(freep) char *kind = text(row, 0);
    CLEANUP(freep) char *json = text(row, 1);
    struct json_object *o = NULL;
    if (chela_json_parse(json, strlen(json), NULL, &o, NULL) != 0)
        return;
    const char *state = chela_json_string(o, "state", NULL);
    const char *id = chela_json_string(o, "id", NULL);
    if (strcmp(kind, "state") == 0 && state && strcmp(state, "RECEIVED") == 0) {
        f->received++;
    } else if (strcmp(kind, "call") == 0 && id) {
        chela_json_put(f->calls, id, json_object_get(o));
    } else if (strcmp(kind, "attempt") == 0) {
        int64_t number = chela_json_int(o, "number", 0);
        f->attempts = number > f->attempts ? number : f->attempts;
    } else if (strcmp(kind, "chunk") == 0) {
        keep_draft(f, o, state);
    } else if (strcmp(kind, "inbox") == 0) {
        message_free(f->message);
        f->message = message_from_json(chela_json_object(o, "body"));
    }
    json_object_put(o);
}

/* Nothing is known of what was asked: the run ends, so that it isn't found again. */
static void end_unknown(const struct found *f)
{
    log_warning("agent", "run %s was interrupted and its message is gone: ended", f->run);
    struct journal_run *r = journal_run_begin(f->session, f->run);
    journal_abort(r, NULL, 0, NULL, NULL);
    journal_run_end(r);
}

static void resume_run(struct found *f)
{
    if (!f->message) {
        end_unknown(f);
        return;
    }
    log_info("agent", "run %s was interrupted in %s: it goes on", f->run, f->state);
    struct job *j = xcalloc(1, sizeof *j);
    j->run = xstrdup(f->run);
    j->session = xstrdup(f->session);
    j->agent = xstrdup(f->agent);
    j->message = f->message;
    f->message = NULL;
    if (!j->message->extra)
        j->message->extra = chela_json_new_object();
    chela_json_put(j->message->extra, "recovered", json_object_get(f->calls));
    chela_json_put_int(j->message->extra, "attempts", f->attempts);
    if (f->draft)
        chela_json_put_text(j->message->extra, "draft", f->draft);
    if (f->received > RESUMES_MOST)
        chela_json_put_bool(j->message->extra, "giveUp", true);
    j->fresh = chela_json_new_array();
    j->recovered = true;
    j->accepted_ms = clock_ticks_ms();
    session_submit(j);
}

static void resume_all(struct recovery *r)
{
    while (!list_empty(&r->runs)) {
        struct found *f = CONTAINER_OF(r->runs.next, struct found, link);
        resume_run(f);
        found_free(f);
    }
    while (!list_empty(&r->inbox)) {
        struct found *f = CONTAINER_OF(r->inbox.next, struct found, link);
        struct message *m = parse_message(f->body);
        if (m)
            ingress_resume(f->run, f->session, f->agent, m);
        else
            journal_inbox_drop(f->session, f->run, NULL, NULL);
        found_free(f);
    }
    while (!list_empty(&r->chunks)) {
        struct found *f = CONTAINER_OF(r->chunks.next, struct found, link);
        struct outbox_left left = {f->run, f->session, f->key, f->body, f->send_class, f->at};
        outbox_resume(&left);
        found_free(f);
    }
    journal_fn *fn = r->fn;
    void *owner = r->owner;
    free(r);
    fn(owner, NULL);
}

static void trace_done(void *owner, const struct error *e)
{
    struct recovery *r = owner;
    if (e)
        log_warning("agent", "an interrupted run can't be read: %s", e->text);
    if (--r->left == 0)
        resume_all(r);
}

struct trace_of {
    struct recovery *r;
    struct found *f;
};

static void one_row(void *owner, const struct journal_row *row)
{
    trace_row(((struct trace_of *)owner)->f, row);
}

static void one_done(void *owner, const struct error *e)
{
    struct recovery *r = ((struct trace_of *)owner)->r;
    free(owner);
    trace_done(r, e);
}

static void found_all(void *owner, const struct error *e)
{
    struct recovery *r = owner;
    if (e) {
        journal_fn *fn = r->fn;
        void *fn_owner = r->owner;
        struct error copy = *e;
        free(r);
        fn(fn_owner, &copy);
        return;
    }
    r->left = 1;
    LIST_EACH(l, &r->runs)
    {
        struct trace_of *t = xcalloc(1, sizeof *t);
        t->r = r;
        t->f = CONTAINER_OF(l, struct found, link);
        r->left++;
        journal_trace(t->f->run, one_row, one_done, t);
    }
    trace_done(r, NULL);
}

static void approvals_loaded(void *owner, const struct error *e)
{
    struct recovery *r = owner;
    static const struct journal_recovery rows = {inbox_row, run_row, call_row, chunk_row};
    if (e) {
        found_all(r, e);
        return;
    }
    journal_recover(&rows, found_all, r);
}

static void allowed_loaded(void *owner, const struct error *e)
{
    if (e)
        found_all(owner, e);
    else
        approval_load(approvals_loaded, owner);
}

void recovery_run(journal_fn *fn, void *owner)
{
    struct recovery *r = xcalloc(1, sizeof *r);
    list_init(&r->inbox);
    list_init(&r->runs);
    list_init(&r->chunks);
    r->fn = fn;
    r->owner = owner;
    allow_load(allowed_loaded, r);
}
