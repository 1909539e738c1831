/*
 * Approvals that wait. A service over the journal and events; never runs a tool, never judges one.
 */
#include "agent/tools/approval.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/digest.h"
#include "agent/events.h"
#include "agent/flow.h"
#include "agent/tools/allow.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/loop.h"

enum { DECIDED_KEPT = 200 };

struct approval {
    struct link link;
    char *id, *session, *run, *call, *hash, *kind, *source;
    struct json_object *record;
    uint64_t expires; /* wall clock */
    uint64_t timer;
    bool stored;     /* on disk, so that it may be shown */
    bool deciding;   /* a decision is on its way to the disk */
    bool cancelled;  /* forgotten before it was stored */
    approval_fn *fn; /* NULL: nobody waits (yet) */
    void *owner;
    char *decision, *by;
    journal_fn *decided;
    void *decided_owner;
};

static struct link waiting = {&waiting, &waiting};
static char *decided_ids[DECIDED_KEPT]; /* a ring: so that a second answer is told "decided" */
static unsigned decided_next;

static void expire(void *arg);
static void decide(struct approval *a, const char *decision, const char *by, journal_fn *fn,
                   void *owner);

static void approval_free(struct approval *a)
{
    list_remove(&a->link);
    loop_timer_stop(a->timer);
    free(a->id);
    free(a->session);
    free(a->run);
    free(a->call);
    free(a->hash);
    free(a->kind);
    free(a->source);
    free(a->decision);
    free(a->by);
    json_object_put(a->record);
    free(a);
}

static void remember_decided(const char *id)
{
    free(decided_ids[decided_next]);
    decided_ids[decided_next] = xstrdup(id);
    decided_next = (decided_next + 1) % DECIDED_KEPT;
}

static bool was_decided(const char *id)
{
    for (unsigned i = 0; i < DECIDED_KEPT; i++) {
        if (decided_ids[i] && strcmp(decided_ids[i], id) == 0)
            return true;
    }
    return false;
}

static uint64_t timeout_ms(void)
{
    int64_t ms = settings_number_or("tools.approval.timeout", 1800000);
    return ms > 0 ? (uint64_t)ms : 1800000;
}

static void push_word(struct json_object *list, const char *word)
{
    chela_json_push(list, chela_json_new_string(word, strlen(word)));
}

/* The record as exec.approval.list shows it. */
static struct json_object *make_record(const char *id, const struct approval_request *q,
                                       uint64_t now, uint64_t expires)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "approvalKind", strcmp(q->tool, "exec") == 0 ? "exec" : "plugin");
    chela_json_put_text(o, "id", id);
    struct json_object *r = chela_json_put_object(o, "request");
    chela_json_put_text(r, "command", q->summary);
    const char *cwd = chela_json_string(q->extra, "cwd", NULL);
    const char *path = chela_json_string(q->extra, "resolvedPath", NULL);
    chela_json_put_text(r, "cwd", cwd);
    chela_json_put_text(r, "host", "gateway");
    chela_json_put_text(r, "security", "allowlist");
    chela_json_put_text(r, "ask", "on-miss");
    chela_json_put_text(r, "resolvedPath", path);
    chela_json_put_text(r, "agentId", q->agent);
    chela_json_put_text(r, "sessionKey", q->session);
    chela_json_put_text(r, "runId", q->run);
    chela_json_put_text(r, "toolCallId", q->call);
    chela_json_put_text(r, "toolName", q->tool);
    struct json_object *arguments = NULL;
    if (chela_json_parse(q->arguments, strlen(q->arguments), NULL, &arguments, NULL) == 0)
        chela_json_put(r, "arguments", arguments);
    chela_json_put_text(r, "risk", q->risk);
    chela_json_put_text(r, "source", q->source);
    chela_json_put_text(r, "kind", q->kind);
    if (q->message) {
        chela_json_put_text(r, "turnSourceChannel", q->message->channel);
        chela_json_put_text(r, "turnSourceTo", q->message->chat);
        chela_json_put_text(r, "turnSourceAccountId", q->message->account);
        chela_json_put_text(r, "turnSourceThreadId", q->message->thread);
    }
    struct json_object *allowed = chela_json_put_array(r, "allowedDecisions");
    struct json_object *unavailable = chela_json_put_array(r, "unavailableDecisions");
    push_word(allowed, "allow-once");
    push_word(q->kind ? allowed : unavailable, "allow-always");
    push_word(allowed, "deny");
    struct json_object *analysis = chela_json_put_object(r, "commandAnalysis");
    struct json_object *warnings = chela_json_array(q->extra, "warnings");
    chela_json_put(analysis, "warningLines",
                   warnings ? json_object_get(warnings) : chela_json_new_array());
    struct json_object *kinds = chela_json_put_array(analysis, "riskKinds");
    push_word(kinds, q->risk);
    chela_json_put_int(o, "createdAtMs", (int64_t)now);
    chela_json_put_int(o, "expiresAtMs", (int64_t)expires);
    return o;
}

/* Begins with the partition's short hash; has the form of a UUID, which clients expect. */
static void make_id(const char *session, char out[ID_UUID_SIZE])
{
    char hash[65];
    id_uuid(out);
    digest_hex(session, strlen(session), hash);
    memcpy(out, hash, 8);
}

static void watch_expiry(struct approval *a)
{
    uint64_t now = clock_now_ms();
    a->timer = loop_timer(a->expires > now ? a->expires - now : 0, expire, a);
}

static void asked(void *arg, const struct error *e)
{
    struct approval *a = arg;
    if (e) {
        approval_fn *fn = a->fn;
        void *owner = a->owner;
        struct error copy = *e;
        approval_free(a);
        if (fn)
            fn(owner, "", "", &copy);
        return;
    }
    a->stored = true;
    if (!a->fn) { /* forgotten meanwhile */
        if (a->cancelled)
            decide(a, "cancelled", "abort", NULL, NULL);
        return;
    }
    events_emit(EVENT_APPROVAL_REQUESTED, a->session, a->run, json_object_get(a->record));
    watch_expiry(a);
}

static struct approval *find_call(const struct approval_request *q)
{
    LIST_EACH(l, &waiting)
    {
        struct approval *a = CONTAINER_OF(l, struct approval, link);
        if (!a->fn && a->stored && strcmp(a->run, q->run) == 0 && strcmp(a->call, q->call) == 0 &&
            strcmp(a->hash, q->hash) == 0)
            return a;
    }
    return NULL;
}

void approval_ask(struct journal_run *r, const struct approval_request *q, approval_fn *fn,
                  void *owner)
{
    struct approval *a = find_call(q);
    if (a) { /* asked before the restart: the same question goes on */
        a->fn = fn;
        a->owner = owner;
        events_emit(EVENT_APPROVAL_REQUESTED, a->session, a->run, json_object_get(a->record));
        return;
    }
    char id[ID_UUID_SIZE];
    make_id(q->session, id);
    uint64_t now = clock_now_ms();
    a = xcalloc(1, sizeof *a);
    a->id = xstrdup(id);
    a->session = xstrdup(q->session);
    a->run = xstrdup(q->run);
    a->call = xstrdup(q->call);
    a->hash = xstrdup(q->hash);
    a->kind = xstrdup(q->kind);
    a->source = xstrdup(q->source);
    a->expires = now + timeout_ms();
    a->record = make_record(id, q, now, a->expires);
    a->fn = fn;
    a->owner = owner;
    list_append(&waiting, &a->link);
    struct journal_approval row = {.id = a->id,
                                   .call = a->call,
                                   .record = chela_json_text(a->record, NULL),
                                   .hash = a->hash,
                                   .expires = a->expires};
    journal_approval_ask(r, &row, asked, a);
}

static void tell_resolved(const struct approval *a)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "id", a->id);
    chela_json_put_text(o, "decision", a->decision);
    chela_json_put_text(o, "resolvedBy", a->by);
    chela_json_put_int(o, "ts", (int64_t)clock_now_ms());
    chela_json_put(o, "request", json_object_get(chela_json_object(a->record, "request")));
    events_emit(EVENT_APPROVAL_RESOLVED, a->session, a->run, o);
}

static const char *summary_of(const struct approval *a)
{
    const char *text = chela_json_string(chela_json_object(a->record, "request"), "command", NULL);
    return text ? text : "";
}

static void decision_stored(void *arg, const struct error *e)
{
    struct approval *a = arg;
    journal_fn *decided = a->decided;
    void *decided_owner = a->decided_owner;
    a->decided = NULL;
    if (e && e->class != CHELA_E_CONFLICT) {
        /* not on disk, so it doesn't count: it can be answered again */
        log_warning("agent", "approval %s: the decision could not be stored: %s", a->id, e->text);
        a->deciding = false;
        free(a->decision);
        a->decision = NULL;
        if (decided)
            decided(decided_owner, e);
        return;
    }
    log_info("approval", "%s: %s by %s, for %s: %s", a->id, a->decision, a->by, a->session,
             summary_of(a));
    if (strcmp(a->decision, "allow-always") == 0 && a->kind)
        allow_add(a->source, a->kind, a->by);
    tell_resolved(a);
    remember_decided(a->id);
    list_remove(&a->link);
    if (decided)
        decided(decided_owner, NULL);
    if (a->fn)
        a->fn(a->owner, a->id, a->decision, NULL);
    approval_free(a);
}

static void decide(struct approval *a, const char *decision, const char *by, journal_fn *fn,
                   void *owner)
{
    a->deciding = true;
    a->decision = xstrdup(decision);
    free(a->by);
    a->by = xstrdup(by);
    a->decided = fn;
    a->decided_owner = owner;
    loop_timer_stop(a->timer);
    a->timer = 0;
    journal_approval_decide(a->session, a->id, decision, by, clock_now_ms(), decision_stored, a);
}

static void expire(void *arg)
{
    struct approval *a = arg;
    a->timer = 0;
    if (!a->deciding)
        decide(a, "expired", "clock", NULL, NULL);
}

static struct approval *find_id(const char *id, struct error *e)
{
    struct approval *found = NULL;
    size_t n = strlen(id);
    LIST_EACH(l, &waiting)
    {
        struct approval *a = CONTAINER_OF(l, struct approval, link);
        if (strcmp(a->id, id) == 0)
            return a;
        if (n < 8 || strncmp(a->id, id, n) != 0)
            continue;
        if (found) {
            error_set(e, CHELA_E_ARGS, "more than one approval begins with %s: give more of it",
                      id);
            return NULL;
        }
        found = a;
    }
    if (!found && was_decided(id))
        error_set(e, CHELA_E_CONFLICT, "approval %s was decided already", id);
    else if (!found)
        error_set(e, CHELA_E_NOT_FOUND, "no approval %s waits", id);
    return found;
}

void approval_resolve(const char *id, const char *decision, const char *by, journal_fn *fn,
                      void *owner)
{
    struct error e = {0};
    struct approval *a = find_id(id, &e);
    if (a && a->deciding)
        error_set(&e, CHELA_E_CONFLICT, "approval %s was decided already", a->id);
    else if (a && !a->stored)
        error_set(&e, CHELA_E_NOT_FOUND, "no approval %s waits", id);
    else if (a && strcmp(decision, "allow-once") != 0 && strcmp(decision, "allow-always") != 0 &&
             strcmp(decision, "deny") != 0)
        error_set(&e, CHELA_E_ARGS, "\"%s\" is none of allow-once, allow-always, deny", decision);
    else if (a && strcmp(decision, "allow-always") == 0 && !a->kind)
        error_set(&e, CHELA_E_ARGS, "this call can't be allowed for always: use allow-once");
    if (e.class) {
        fn(owner, &e);
        return;
    }
    decide(a, decision, by, fn, owner);
}

void approval_forget(void *owner, bool cancel)
{
    LIST_EACH(l, &waiting)
    {
        struct approval *a = CONTAINER_OF(l, struct approval, link);
        if (a->owner != owner || !a->fn)
            continue;
        a->fn = NULL;
        a->owner = NULL;
        a->cancelled = cancel;
        if (cancel && a->stored && !a->deciding)
            decide(a, "cancelled", "abort", NULL, NULL);
    }
}

struct json_object *approval_list(const char *session)
{
    struct json_object *list = chela_json_new_array();
    LIST_EACH(l, &waiting)
    {
        struct approval *a = CONTAINER_OF(l, struct approval, link);
        if (a->stored && !a->deciding && (!session || strcmp(session, a->session) == 0))
            chela_json_push(list, json_object_get(a->record));
    }
    return list;
}

static char *column(const struct journal_row *row, unsigned i)
{
    return i < row->columns ? xmemdup(row->values[i].s.s, row->values[i].s.n) : xstrdup("");
}

/* approval id, session, run, call, record, hash, state, expires, decided by */
static void load_row(void *owner, const struct journal_row *row)
{
    (void)owner;
    if (row->columns < 8)
        return;
    struct json_object *record = NULL;
    if (chela_json_parse(row->values[4].s.s, row->values[4].s.n, NULL, &record, NULL) != 0)
        return;
    struct approval *a = xcalloc(1, sizeof *a);
    a->id = column(row, 0);
    a->session = column(row, 1);
    a->run = column(row, 2);
    a->call = column(row, 3);
    a->record = record;
    a->hash = column(row, 5);
    a->expires = (uint64_t)row->values[7].i;
    a->kind = xstrdup(chela_json_string(chela_json_object(record, "request"), "kind", NULL));
    const char *source = chela_json_string(chela_json_object(record, "request"), "source", NULL);
    a->source = xstrdup(source ? source : "");
    a->stored = true;
    list_append(&waiting, &a->link);
    watch_expiry(a);
}

void approval_load(journal_fn *fn, void *owner)
{
    journal_approvals(true, load_row, fn, owner);
}

void approval_reset(void)
{
    LIST_EACH(l, &waiting)
    {
        struct approval *a = CONTAINER_OF(l, struct approval, link);
        list_remove(&a->link);
        a->fn = NULL;
        if (a->stored && !a->deciding) /* else its commit still calls back, and frees it */
            approval_free(a);
    }
    for (unsigned i = 0; i < DECIDED_KEPT; i++) {
        free(decided_ids[i]);
        decided_ids[i] = NULL;
    }
    decided_next = 0;
}
