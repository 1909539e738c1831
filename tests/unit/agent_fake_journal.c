/*
 * A journal in memory with the contract of agent/journal.h, for tests of the agent. A commit is
 * applied at once and told from the top of the fake loop; a chain that failed skips what follows.
 */
#include "tests/unit/agent_fake_journal.h"

#include <json-c/json_object.h>
#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/digest.h"
#include "agent/journal.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "tests/unit/agent_fake.h"

/* Rows are JSON objects in arrays; it is a test's journal. */
static struct json_object *sessions, *messages, *runs, *calls, *approvals, *chunks, *inbox,
    *allowed, *states, *attempts;
static struct map blobs;
static struct buf journal_log;
static bool frozen;
static char fail_name[64];
static uint32_t fail_class;
static struct journal_counts counts;

struct told {
    struct link link;
    journal_fn *fn;
    journal_blob_fn *blob_fn;
    void *owner;
    struct error error;
    char *data;
    size_t n;
    /* rows of a read */
    journal_row_fn *row;
    struct json_object *rows; /* array of arrays */
};

static struct link queue = {&queue, &queue};

struct journal_run {
    char *session, *run;
    bool failed;
};

static struct told *tell(journal_fn *fn, void *owner)
{
    struct told *t = xcalloc(1, sizeof *t);
    t->fn = fn;
    t->owner = owner;
    list_append(&queue, &t->link);
    return t;
}

static void give_rows(struct told *t)
{
    for (size_t i = 0; i < chela_json_length(t->rows); i++) {
        struct json_object *r = chela_json_at(t->rows, i);
        struct chela_value v[16];
        memset(v, 0, sizeof v);
        unsigned n = (unsigned)chela_json_length(r);
        for (unsigned k = 0; k < n && k < 16; k++) {
            struct json_object *o = chela_json_at(r, k);
            size_t length = 0;
            const char *s = chela_json_as_string(o, &length);
            v[k].type = s ? CHELA_V_TEXT : CHELA_V_INT;
            v[k].s = chela_sn(s, length);
            v[k].i = chela_json_int_or(o, 0);
        }
        struct journal_row row = {n, v};
        t->row(t->owner, &row);
    }
}

bool fake_journal_deliver(void)
{
    if (list_empty(&queue))
        return false;
    struct told *t = CONTAINER_OF(queue.next, struct told, link);
    list_remove(&t->link);
    if (t->row && !t->error.class)
        give_rows(t);
    struct error *e = t->error.class ? &t->error : NULL;
    if (t->blob_fn)
        t->blob_fn(t->owner, chela_sn(t->data, t->n), e);
    else if (t->fn)
        t->fn(t->owner, e);
    json_object_put(t->rows);
    free(t->data);
    free(t);
    return true;
}

/* Notes a commit; true if it is to be applied. */
static bool commit(struct journal_run *r, const char *name, bool barrier, journal_fn *fn,
                   void *owner)
{
    struct told *t = tell(fn, owner);
    if (frozen)
        return false;
    counts.batches++;
    counts.barriers += barrier;
    buf_printf(&journal_log, "%s%s%s", journal_log.n ? " " : "", name, barrier ? "!" : "");
    if (r && r->failed) {
        error_set(&t->error, CHELA_E_SKIPPED, "%s follows a batch that failed", name);
        return false;
    }
    if (strcmp(name, fail_name) == 0) {
        fail_name[0] = '\0';
        error_set(&t->error, fail_class, "%s failed by order of the test", name);
        if (r)
            r->failed = true;
        return false;
    }
    return true;
}

const char *fake_journal_log(void)
{
    return buf_text(&journal_log);
}

void fake_journal_log_clear(void)
{
    buf_clear(&journal_log);
    buf_text(&journal_log);
    journal_log.p[0] = '\0';
}

void fake_journal_fail(const char *name, uint32_t class)
{
    snprintf(fail_name, sizeof fail_name, "%s", name);
    fail_class = class;
}

static struct json_object *find(struct json_object *table, const char *key, const char *value)
{
    for (size_t i = 0; i < chela_json_length(table); i++) {
        struct json_object *o = chela_json_at(table, i);
        const char *s = chela_json_string(o, key, NULL);
        if (s && strcmp(s, value) == 0)
            return o;
    }
    return NULL;
}

static struct json_object *session_of(const char *key, const char *agent)
{
    struct json_object *s = find(sessions, "key", key);
    if (s)
        return s;
    s = chela_json_push_object(sessions);
    CLEANUP(freep) char *id = xprintf("sess_%zu", chela_json_length(sessions));
    chela_json_put_text(s, "key", key);
    chela_json_put_text(s, "id", id);
    chela_json_put_text(s, "agent", agent);
    chela_json_put_object(s, "fields");
    chela_json_put_int(s, "created", (int64_t)clock_now_ms());
    chela_json_put_int(s, "updated", (int64_t)clock_now_ms());
    chela_json_put_int(s, "epoch", 1);
    chela_json_put_int(s, "first", 1);
    chela_json_put_int(s, "last", 0);
    chela_json_put_text(s, "summary", "");
    chela_json_put_int(s, "summarySeq", 0);
    return s;
}

static const char *text(struct json_object *o, const char *key)
{
    const char *s = chela_json_string(o, key, NULL);
    return s ? s : "";
}

static void put_state(struct json_object *table, const char *key, const char *value,
                      const char *state)
{
    struct json_object *o = find(table, key, value);
    if (o)
        chela_json_put_text(o, "state", state);
}

/* ---- inbound ---- */

void journal_inbound(const struct journal_message_in *in, journal_fn *fn, void *owner)
{
    if (!commit(NULL, "inbound", true, fn, owner))
        return;
    CLEANUP(freep)
    char *key = xprintf("%s|%s|%s|%llu", in->conversation, in->kind, in->event,
                        (unsigned long long)in->version);
    struct json_object *seen = find(inbox, "dedup", key);
    if (seen) {
        struct told *t = CONTAINER_OF(queue.prev, struct told, link);
        error_set(&t->error, CHELA_E_CONFLICT, "%s", text(seen, "id"));
        return;
    }
    session_of(in->session, in->agent);
    struct json_object *o = chela_json_push_object(inbox), *body = NULL;
    chela_json_put_text(o, "dedup", key);
    chela_json_put_text(o, "id", in->id);
    chela_json_put_text(o, "session", in->session);
    chela_json_put_text(o, "agent", in->agent);
    chela_json_parse(in->body, strlen(in->body), NULL, &body, NULL);
    chela_json_put(o, "body", body);
    chela_json_put_text(o, "state", "waiting");
}

void journal_inbox_drop(const char *session, const char *id, journal_fn *fn, void *owner)
{
    (void)session;
    if (commit(NULL, "inbox_drop", false, fn, owner))
        put_state(inbox, "id", id, "dropped");
}

/* ---- runs ---- */

struct journal_run *journal_run_begin(const char *session, const char *run)
{
    struct journal_run *r = xcalloc(1, sizeof *r);
    r->session = xstrdup(session);
    r->run = xstrdup(run);
    return r;
}

void journal_run_end(struct journal_run *r)
{
    if (!r)
        return;
    free(r->session);
    free(r->run);
    free(r);
}

static void add_messages(struct journal_run *r, const struct journal_message *m, unsigned count)
{
    struct json_object *s = session_of(r->session, "main");
    for (unsigned i = 0; i < count; i++) {
        if ((int64_t)m[i].seq != chela_json_int(s, "last", 0) + 1) {
            fprintf(stderr, "journal: message %llu follows %lld\n", (unsigned long long)m[i].seq,
                    (long long)chela_json_int(s, "last", 0));
            abort();
        }
        chela_json_put_int(s, "last", (int64_t)m[i].seq);
        struct json_object *o = chela_json_push_object(messages);
        chela_json_put_text(o, "session", r->session);
        chela_json_put_text(o, "run", r->run);
        chela_json_put_int(o, "seq", (int64_t)m[i].seq);
        chela_json_put_text(o, "role", m[i].role);
        chela_json_put_text(o, "body", m[i].body);
        if (m[i].inbox) {
            put_state(inbox, "id", m[i].inbox, "consumed");
            chela_json_put_text(find(inbox, "id", m[i].inbox), "run", r->run);
        }
    }
}

void journal_run_start(struct journal_run *r, const char *agent, uint64_t plan_revision,
                       const struct journal_message *m, unsigned count, journal_fn *fn, void *owner)
{
    (void)plan_revision;
    if (!commit(r, "start", false, fn, owner))
        return;
    struct json_object *o = chela_json_push_object(runs);
    chela_json_put_text(o, "run", r->run);
    chela_json_put_text(o, "session", r->session);
    chela_json_put_text(o, "agent", agent);
    chela_json_put_text(o, "state", "RECEIVED");
    add_messages(r, m, count);
}

void journal_run_state(struct journal_run *r, const char *state, uint64_t at)
{
    if (frozen)
        return;
    struct json_object *o = chela_json_push_object(states);
    chela_json_put_text(o, "run", r->run);
    chela_json_put_text(o, "state", state);
    chela_json_put_int(o, "at", (int64_t)at);
}

void journal_attempt(struct journal_run *r, unsigned number, const char *model, const char *reason,
                     bool effects, journal_fn *fn, void *owner)
{
    if (!commit(r, "attempt", effects, fn, owner))
        return;
    for (size_t i = 0; i < chela_json_length(attempts); i++) {
        struct json_object *a = chela_json_at(attempts, i);
        if (strcmp(text(a, "run"), r->run) == 0 && chela_json_int(a, "number", 0) == number) {
            struct told *t = CONTAINER_OF(queue.prev, struct told, link);
            error_set(&t->error, CHELA_E_CONFLICT, "attempt %u is there already", number);
            r->failed = true;
            return;
        }
    }
    struct json_object *o = chela_json_push_object(attempts);
    chela_json_put_text(o, "run", r->run);
    chela_json_put_int(o, "number", number);
    chela_json_put_text(o, "model", model);
    chela_json_put_text(o, "reason", reason);
}

void journal_attempt_end(struct journal_run *r, unsigned number, const char *outcome, uint64_t ms,
                         uint64_t tokens_in, uint64_t tokens_out)
{
    (void)ms;
    (void)tokens_in;
    (void)tokens_out;
    for (size_t i = 0; i < chela_json_length(attempts); i++) {
        struct json_object *o = chela_json_at(attempts, i);
        if (strcmp(text(o, "run"), r->run) == 0 && chela_json_int(o, "number", 0) == number)
            chela_json_put_text(o, "outcome", outcome);
    }
}

void journal_reply(struct journal_run *r, const struct journal_message *assistant,
                   const struct journal_call *c, unsigned count, journal_fn *fn, void *owner)
{
    if (!commit(r, "reply", false, fn, owner))
        return;
    add_messages(r, assistant, 1);
    for (unsigned i = 0; i < count; i++) {
        struct json_object *o = chela_json_push_object(calls);
        chela_json_put_text(o, "id", c[i].id);
        chela_json_put_text(o, "run", r->run);
        chela_json_put_text(o, "session", r->session);
        chela_json_put_text(o, "name", c[i].name);
        chela_json_put_text(o, "arguments", c[i].arguments);
        chela_json_put_text(o, "state", "PENDING");
    }
}

void journal_approval_ask(struct journal_run *r, const struct journal_approval *a, journal_fn *fn,
                          void *owner)
{
    if (!commit(r, "ask", true, fn, owner))
        return;
    struct json_object *o = chela_json_push_object(approvals);
    chela_json_put_text(o, "id", a->id);
    chela_json_put_text(o, "session", r->session);
    chela_json_put_text(o, "run", r->run);
    chela_json_put_text(o, "call", a->call);
    chela_json_put_text(o, "record", a->record);
    chela_json_put_text(o, "hash", a->hash);
    chela_json_put_text(o, "state", "open");
    chela_json_put_int(o, "expires", (int64_t)a->expires);
    put_state(calls, "id", a->call, "APPROVAL_REQUIRED");
}

void journal_approval_decide(const char *session, const char *id, const char *decision,
                             const char *by, uint64_t at, journal_fn *fn, void *owner)
{
    (void)session;
    (void)by;
    (void)at;
    if (commit(NULL, "decide", true, fn, owner))
        put_state(approvals, "id", id, decision);
}

void journal_call_start(struct journal_run *r, const char *call, const char *approval,
                        const char *hash, bool reads_only, journal_fn *fn, void *owner)
{
    (void)approval;
    (void)hash;
    if (commit(r, "call_start", !reads_only, fn, owner))
        put_state(calls, "id", call, "EXECUTING");
}

void journal_call_end(struct journal_run *r, const char *call, const char *state,
                      const char *result, uint64_t ms, journal_fn *fn, void *owner)
{
    (void)ms;
    if (!commit(r, "call_end", false, fn, owner))
        return;
    struct json_object *o = find(calls, "id", call), *part = NULL;
    put_state(calls, "id", call, state);
    if (o && chela_json_parse(result, strlen(result), NULL, &part, NULL) == 0)
        chela_json_put(o, "result", part);
}

void journal_results(struct journal_run *r, const struct journal_message *m, unsigned count,
                     journal_fn *fn, void *owner)
{
    if (commit(r, "results", false, fn, owner))
        add_messages(r, m, count);
}

void journal_draft(struct journal_run *r, const struct journal_chunk *draft, journal_fn *fn,
                   void *owner)
{
    (void)draft;
    commit(r, "draft", true, fn, owner);
}

void journal_final(struct journal_run *r, const struct journal_message *message,
                   const struct journal_chunk *c, unsigned count, const char *state, journal_fn *fn,
                   void *owner)
{
    if (!commit(r, "final", true, fn, owner))
        return;
    if (message)
        add_messages(r, message, 1);
    put_state(runs, "run", r->run, state);
    for (unsigned i = 0; i < count; i++) {
        struct json_object *o = chela_json_push_object(chunks);
        chela_json_put_text(o, "key", c[i].key);
        chela_json_put_text(o, "run", r->run);
        chela_json_put_text(o, "session", r->session);
        chela_json_put_text(o, "body", c[i].body);
        chela_json_put_int(o, "class", c[i].send_class);
        chela_json_put_text(o, "state", "SENDING");
        chela_json_put_int(o, "at", (int64_t)clock_now_ms());
    }
}

void journal_abort(struct journal_run *r, const struct journal_message *m, unsigned count,
                   journal_fn *fn, void *owner)
{
    if (!commit(r, "abort", true, fn, owner))
        return;
    add_messages(r, m, count);
    put_state(runs, "run", r->run, "ABORTED");
}

void journal_chunk_state(const char *session, const char *run, const char *key, uint32_t send_class,
                         const char *state, const char *external, journal_fn *fn, void *owner)
{
    (void)session;
    (void)run;
    (void)external;
    if (commit(NULL, "chunk", send_class == CHELA_SEND_NEITHER, fn, owner))
        put_state(chunks, "key", key, state);
}

/* ---- sessions ---- */

void journal_session_patch(const char *session, const char *fields, journal_fn *fn, void *owner)
{
    if (!commit(NULL, "patch", true, fn, owner))
        return;
    struct json_object *o = NULL, *kept = chela_json_object(session_of(session, "main"), "fields");
    chela_json_parse(fields, strlen(fields), NULL, &o, NULL);
    json_object_object_foreach(o, key, value) chela_json_put(kept, key, json_object_get(value));
    json_object_put(o);
}

void journal_session_reset(const char *session, const char *reason, uint64_t at, journal_fn *fn,
                           void *owner)
{
    (void)reason;
    (void)at;
    if (!commit(NULL, "reset", true, fn, owner))
        return;
    struct json_object *s = session_of(session, "main");
    chela_json_put_int(s, "epoch", chela_json_int(s, "epoch", 1) + 1);
    chela_json_put_int(s, "first", chela_json_int(s, "last", 0) + 1);
}

void journal_session_delete(const char *session, journal_fn *fn, void *owner)
{
    (void)session;
    commit(NULL, "delete", true, fn, owner);
}

void journal_compaction(const char *session, uint64_t seq, const char *summary, uint64_t at,
                        journal_fn *fn, void *owner)
{
    (void)at;
    if (!commit(NULL, "compaction", true, fn, owner))
        return;
    struct json_object *s = session_of(session, "main");
    chela_json_put_text(s, "summary", summary);
    chela_json_put_int(s, "summarySeq", (int64_t)seq);
}

/* ---- reads ---- */

static struct told *read(journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct told *t = tell(fn, owner);
    t->row = row;
    t->rows = chela_json_new_array();
    return t;
}

static void add_text(struct json_object *row, const char *s)
{
    chela_json_push(row, chela_json_new_string(s, strlen(s)));
}

static void add_int(struct json_object *row, int64_t n)
{
    chela_json_push(row, json_object_new_int64(n));
}

static struct json_object *new_row(struct told *t)
{
    struct json_object *row = chela_json_new_array();
    chela_json_push(t->rows, row);
    return row;
}

void journal_session_get(const char *session, journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct told *t = read(row, fn, owner);
    struct json_object *s = find(sessions, "key", session);
    if (!s)
        return;
    struct json_object *r = new_row(t);
    add_text(r, text(s, "key"));
    add_text(r, text(s, "id"));
    add_text(r, text(s, "agent"));
    add_text(r, chela_json_text(chela_json_get(s, "fields"), NULL));
    add_int(r, chela_json_int(s, "created", 0));
    add_int(r, chela_json_int(s, "updated", 0));
    add_int(r, chela_json_int(s, "epoch", 0));
    add_int(r, chela_json_int(s, "first", 0));
    add_int(r, chela_json_int(s, "last", 0));
    add_text(r, text(s, "summary"));
    add_int(r, chela_json_int(s, "summarySeq", 0));
}

void journal_history(const char *session, uint64_t after, unsigned limit, journal_row_fn *row,
                     journal_fn *fn, void *owner)
{
    struct told *t = read(row, fn, owner);
    for (size_t i = 0; i < chela_json_length(messages); i++) {
        struct json_object *m = chela_json_at(messages, i);
        if (strcmp(text(m, "session"), session) != 0 ||
            chela_json_int(m, "seq", 0) <= (int64_t)after || chela_json_length(t->rows) >= limit)
            continue;
        struct json_object *r = new_row(t);
        add_int(r, chela_json_int(m, "seq", 0));
        add_text(r, text(m, "role"));
        add_text(r, text(m, "body"));
    }
}

static void trace_rows(struct told *t, const char *kind, struct json_object *table, const char *run)
{
    for (size_t i = 0; i < chela_json_length(table); i++) {
        struct json_object *o = chela_json_at(table, i);
        if (strcmp(text(o, "run"), run) != 0)
            continue;
        struct json_object *r = new_row(t);
        add_text(r, kind);
        add_text(r, chela_json_text(o, NULL));
    }
}

void journal_trace(const char *run, journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct told *t = read(row, fn, owner);
    trace_rows(t, "run", runs, run);
    trace_rows(t, "inbox", inbox, run);
    trace_rows(t, "state", states, run);
    trace_rows(t, "attempt", attempts, run);
    trace_rows(t, "call", calls, run);
    trace_rows(t, "chunk", chunks, run);
}

void journal_approvals(bool open_only, journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct told *t = read(row, fn, owner);
    for (size_t i = 0; i < chela_json_length(approvals); i++) {
        struct json_object *a = chela_json_at(approvals, i);
        if (open_only && strcmp(text(a, "state"), "open") != 0)
            continue;
        struct json_object *r = new_row(t);
        static const char *const columns[] = {"id",     "session", "run",  "call",
                                              "record", "hash",    "state"};
        for (unsigned k = 0; k < ARRAY_LENGTH(columns); k++)
            add_text(r, text(a, columns[k]));
        add_int(r, chela_json_int(a, "expires", 0));
        add_text(r, "");
    }
}

static bool is_open(const char *state)
{
    return strcmp(state, "DONE") && strcmp(state, "FAILED") && strcmp(state, "ABORTED");
}

void journal_recover(const struct journal_recovery *rec, journal_fn *fn, void *owner)
{
    struct told *t = read(rec->inbox, NULL, owner);
    for (size_t i = 0; i < chela_json_length(inbox); i++) {
        struct json_object *o = chela_json_at(inbox, i);
        if (strcmp(text(o, "state"), "waiting") != 0)
            continue;
        struct json_object *r = new_row(t);
        add_text(r, text(o, "id"));
        add_text(r, text(o, "session"));
        add_text(r, text(o, "agent"));
        add_text(r, chela_json_text(chela_json_get(o, "body"), NULL));
    }
    t = read(rec->run, NULL, owner);
    for (size_t i = 0; i < chela_json_length(runs); i++) {
        struct json_object *o = chela_json_at(runs, i);
        if (!is_open(text(o, "state")))
            continue;
        struct json_object *r = new_row(t);
        add_text(r, text(o, "run"));
        add_text(r, text(o, "session"));
        add_text(r, text(o, "agent"));
        add_text(r, text(o, "state"));
    }
    t = read(rec->chunk, fn, owner);
    for (size_t i = 0; i < chela_json_length(chunks); i++) {
        struct json_object *o = chela_json_at(chunks, i);
        if (strcmp(text(o, "state"), "SENDING") != 0)
            continue;
        struct json_object *r = new_row(t);
        add_text(r, text(o, "run"));
        add_text(r, text(o, "session"));
        add_text(r, text(o, "key"));
        add_text(r, text(o, "body"));
        add_int(r, chela_json_int(o, "class", 0));
        add_int(r, chela_json_int(o, "at", 0));
    }
}

/* ---- allow-list, blobs, counts ---- */

void journal_allow(const char *source, const char *kind, const char *by, uint64_t at,
                   journal_fn *fn, void *owner)
{
    (void)at;
    if (!commit(NULL, "allow", true, fn, owner))
        return;
    struct json_object *r = chela_json_new_array();
    add_text(r, source);
    add_text(r, kind);
    add_text(r, by);
    chela_json_push(allowed, r);
}

void journal_allow_remove(const char *source, const char *kind, journal_fn *fn, void *owner)
{
    (void)source;
    (void)kind;
    commit(NULL, "allow_remove", true, fn, owner);
}

void journal_allow_list(journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct told *t = read(row, fn, owner);
    for (size_t i = 0; i < chela_json_length(allowed); i++)
        chela_json_push(t->rows, json_object_get(chela_json_at(allowed, i)));
}

void journal_blob_put(struct chela_str data, char *hash, journal_fn *fn, void *owner)
{
    digest_hex(data.s, data.n, hash);
    free(map_set(&blobs, hash, xmemdup(data.s, data.n)));
    tell(fn, owner);
}

void journal_blob_get(const char *hash, journal_blob_fn *fn, void *owner)
{
    struct told *t = tell(NULL, owner);
    const char *data = map_get(&blobs, hash);
    t->blob_fn = fn;
    t->data = xstrdup(data);
    t->n = data ? strlen(data) : 0;
    if (!data)
        error_set(&t->error, CHELA_E_NOT_FOUND, "no blob %s", hash);
}

struct journal_counts journal_counts(void)
{
    return counts;
}

/* ---- the tests' side ---- */

void fake_journal_freeze(bool on)
{
    frozen = on;
}

static struct json_object **const tables[] = {&sessions, &messages, &runs,    &calls,  &approvals,
                                              &chunks,   &inbox,    &allowed, &states, &attempts};

void fake_journal_open(void)
{
    for (unsigned i = 0; i < ARRAY_LENGTH(tables); i++)
        *tables[i] = chela_json_new_array();
    memset(&counts, 0, sizeof counts);
    fail_name[0] = '\0';
    fake_journal_log_clear();
}

void fake_journal_close(void)
{
    for (unsigned i = 0; i < ARRAY_LENGTH(tables); i++) {
        json_object_put(*tables[i]);
        *tables[i] = NULL;
    }
    while (!list_empty(&queue)) {
        struct told *t = CONTAINER_OF(queue.next, struct told, link);
        list_remove(&t->link);
        json_object_put(t->rows);
        free(t->data);
        free(t);
    }
    map_free(&blobs, free);
    memset(&blobs, 0, sizeof blobs);
    buf_free(&journal_log);
}

static struct json_object *message_at(const char *session, unsigned n)
{
    for (size_t i = 0; i < chela_json_length(messages); i++) {
        struct json_object *m = chela_json_at(messages, i);
        if (strcmp(text(m, "session"), session) == 0 && n-- == 0)
            return m;
    }
    return NULL;
}

unsigned fake_messages(const char *session)
{
    unsigned n = 0;
    while (message_at(session, n))
        n++;
    return n;
}

const char *fake_message_role(const char *session, unsigned n)
{
    return text(message_at(session, n), "role");
}

const char *fake_message_body(const char *session, unsigned n)
{
    return text(message_at(session, n), "body");
}

const char *fake_run_state(const char *run)
{
    return text(find(runs, "run", run), "state");
}

const char *fake_call_state(const char *call)
{
    return text(find(calls, "id", call), "state");
}

const char *fake_chunk_state(const char *key)
{
    return text(find(chunks, "key", key), "state");
}

const char *fake_inbox_state(const char *id)
{
    return text(find(inbox, "id", id), "state");
}

void fake_fill(const char *session, unsigned count, unsigned bytes)
{
    struct json_object *s = session_of(session, "main");
    char *words = xmalloc(bytes + 1);
    memset(words, 'w', bytes);
    words[bytes] = '\0';
    for (unsigned i = 0; i < count; i++) {
        struct json_object *o = chela_json_push_object(messages);
        CLEANUP(freep) char *body = xprintf("[{\"type\":\"text\",\"text\":\"%u %s\"}]", i, words);
        chela_json_put_text(o, "session", session);
        chela_json_put_text(o, "run", "old");
        chela_json_put_int(o, "seq", (int64_t)i + 1);
        chela_json_put_text(o, "role", i % 2 ? "assistant" : "user");
        chela_json_put_text(o, "body", body);
    }
    chela_json_put_int(s, "last", count);
    free(words);
}
