/*
 * A journal in memory with the contract of agent/journal.h, for tests of the agent. A commit is
 * applied at once and told from the top of the fake loop; a chain that failed skips what follows.
 * What is read of it: agent_fake_reads.c.
 */
#include "tests/unit/agent_fake_journal.h"

#include <json-c/json_object.h>
#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/digest.h"
#include "agent/journal/journal.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "tests/unit/agent_fake.h"

/* Rows are JSON objects in arrays; it is a test's journal. */
static struct json_object *sessions, *messages, *runs, *calls, *approvals, *chunks, *inbox,
    *allowed, *states, *attempts, *kv, *decisions, *spending;
static struct map blobs;
static struct buf journal_log;
static bool frozen;
static char fail_name[64];
static uint32_t fail_class;
static struct journal_counts counts;

static struct link queue = {&queue, &queue};

struct fake_told *fake_tell(journal_fn *fn, void *owner)
{
    struct fake_told *t = xcalloc(1, sizeof *t);
    t->fn = fn;
    t->owner = owner;
    list_append(&queue, &t->link);
    return t;
}

static void give_rows(struct fake_told *t)
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
            if (json_object_is_type(o, json_type_double)) {
                v[k].type = CHELA_V_REAL;
                v[k].d = json_object_get_double(o);
            }
        }
        struct journal_row row = {n, v};
        t->row(t->owner, &row);
    }
}

bool fake_journal_deliver(void)
{
    if (list_empty(&queue))
        return false;
    struct fake_told *t = CONTAINER_OF(queue.next, struct fake_told, link);
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
bool fake_commit(struct journal_run *r, const char *name, bool barrier, journal_fn *fn, void *owner)
{
    struct fake_told *t = fake_tell(fn, owner);
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

struct json_object *fake_row(struct json_object *table, const char *key, const char *value)
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
    struct json_object *s = fake_row(sessions, "key", key);
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

const char *fake_field(struct json_object *o, const char *key)
{
    const char *s = chela_json_string(o, key, NULL);
    return s ? s : "";
}

static void put_state(struct json_object *table, const char *key, const char *value,
                      const char *state)
{
    struct json_object *o = fake_row(table, key, value);
    if (o)
        chela_json_put_text(o, "state", state);
}

/* ---- inbound ---- */

void journal_inbound(const struct journal_message_in *in, journal_fn *fn, void *owner)
{
    if (!fake_commit(NULL, "inbound", true, fn, owner))
        return;
    CLEANUP(freep)
    char *key = xprintf("%s|%s|%s|%llu", in->conversation, in->kind, in->event,
                        (unsigned long long)in->version);
    struct json_object *seen = fake_row(inbox, "dedup", key);
    if (seen) {
        struct fake_told *t = CONTAINER_OF(queue.prev, struct fake_told, link);
        error_set(&t->error, CHELA_E_CONFLICT, "%s", fake_field(seen, "id"));
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
    if (fake_commit(NULL, "inbox_drop", false, fn, owner))
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
        if (m[i].spent)
            journal_run_spent(r, m[i].spent);
        if (m[i].inbox) {
            put_state(inbox, "id", m[i].inbox, "consumed");
            chela_json_put_text(fake_row(inbox, "id", m[i].inbox), "run", r->run);
        }
    }
}

void journal_run_start(struct journal_run *r, const char *agent, uint64_t plan_revision,
                       const struct journal_message *m, unsigned count, journal_fn *fn, void *owner)
{
    (void)plan_revision;
    if (!fake_commit(r, "start", false, fn, owner))
        return;
    struct json_object *o = chela_json_push_object(runs);
    chela_json_put_text(o, "run", r->run);
    chela_json_put_text(o, "session", r->session);
    chela_json_put_text(o, "agent", agent);
    chela_json_put_text(o, "state", "RECEIVED");
    add_messages(r, m, count);
    chela_json_put_int(session_of(r->session, agent), "updated", (int64_t)clock_now_ms());
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
    if (!fake_commit(r, "attempt", effects, fn, owner))
        return;
    for (size_t i = 0; i < chela_json_length(attempts); i++) {
        struct json_object *a = chela_json_at(attempts, i);
        if (strcmp(fake_field(a, "run"), r->run) == 0 && chela_json_int(a, "number", 0) == number) {
            struct fake_told *t = CONTAINER_OF(queue.prev, struct fake_told, link);
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
        if (strcmp(fake_field(o, "run"), r->run) == 0 && chela_json_int(o, "number", 0) == number)
            chela_json_put_text(o, "outcome", outcome);
    }
}

void journal_reply(struct journal_run *r, const struct journal_message *assistant,
                   const struct journal_call *c, unsigned count, journal_fn *fn, void *owner)
{
    if (!fake_commit(r, "reply", false, fn, owner))
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
    if (!fake_commit(r, "ask", true, fn, owner))
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
    if (fake_commit(NULL, "decide", true, fn, owner))
        put_state(approvals, "id", id, decision);
}

void journal_call_start(struct journal_run *r, const char *call, const char *approval,
                        const char *hash, bool reads_only, journal_fn *fn, void *owner)
{
    (void)approval;
    (void)hash;
    if (fake_commit(r, "call_start", !reads_only, fn, owner))
        put_state(calls, "id", call, "EXECUTING");
}

void journal_call_end(struct journal_run *r, const char *call, const char *state,
                      const char *result, uint64_t ms, journal_fn *fn, void *owner)
{
    (void)ms;
    if (!fake_commit(r, "call_end", false, fn, owner))
        return;
    struct json_object *o = fake_row(calls, "id", call), *part = NULL;
    put_state(calls, "id", call, state);
    if (o && chela_json_parse(result, strlen(result), NULL, &part, NULL) == 0)
        chela_json_put(o, "result", part);
}

void journal_results(struct journal_run *r, const struct journal_message *m, unsigned count,
                     journal_fn *fn, void *owner)
{
    if (fake_commit(r, "results", false, fn, owner))
        add_messages(r, m, count);
}

static void add_chunk(const struct journal_run *r, const struct journal_chunk *c)
{
    struct json_object *o = chela_json_push_object(chunks);
    chela_json_put_text(o, "key", c->key);
    chela_json_put_text(o, "run", r->run);
    chela_json_put_text(o, "session", r->session);
    chela_json_put_text(o, "body", c->body);
    chela_json_put_int(o, "class", c->send_class);
    chela_json_put_text(o, "state", "SENDING");
    chela_json_put_int(o, "at", (int64_t)clock_now_ms());
}

void journal_draft(struct journal_run *r, const struct journal_chunk *draft, journal_fn *fn,
                   void *owner)
{
    if (fake_commit(r, "draft", true, fn, owner))
        add_chunk(r, draft);
}

void journal_final(struct journal_run *r, const struct journal_message *message,
                   const struct journal_chunk *c, unsigned count, const char *state, journal_fn *fn,
                   void *owner)
{
    if (!fake_commit(r, "final", true, fn, owner))
        return;
    if (message)
        add_messages(r, message, 1);
    put_state(runs, "run", r->run, state);
    for (unsigned i = 0; i < count; i++)
        add_chunk(r, &c[i]);
}

void journal_abort(struct journal_run *r, const struct journal_message *m, unsigned count,
                   journal_fn *fn, void *owner)
{
    if (!fake_commit(r, "abort", true, fn, owner))
        return;
    add_messages(r, m, count);
    put_state(runs, "run", r->run, "ABORTED");
}

void journal_chunk_state(const char *session, const char *run, const char *key, uint32_t send_class,
                         const char *state, const char *external, journal_fn *fn, void *owner)
{
    (void)session;
    (void)run;
    if (!fake_commit(NULL, "chunk", send_class == CHELA_SEND_NEITHER, fn, owner))
        return;
    put_state(chunks, "key", key, state);
    if (fake_row(chunks, "key", key))
        chela_json_put_text(fake_row(chunks, "key", key), "external", external);
}

/* ---- sessions ---- */

void journal_session_patch(const char *session, const char *fields, journal_fn *fn, void *owner)
{
    if (!fake_commit(NULL, "patch", true, fn, owner))
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
    if (!fake_commit(NULL, "reset", true, fn, owner))
        return;
    struct json_object *s = session_of(session, "main");
    chela_json_put_int(s, "epoch", chela_json_int(s, "epoch", 1) + 1);
    chela_json_put_int(s, "first", chela_json_int(s, "last", 0) + 1);
}

void journal_session_delete(const char *session, journal_fn *fn, void *owner)
{
    (void)session;
    fake_commit(NULL, "delete", true, fn, owner);
}

void journal_compaction(const char *session, uint64_t seq, const char *summary, uint64_t at,
                        journal_fn *fn, void *owner)
{
    (void)at;
    if (!fake_commit(NULL, "compaction", true, fn, owner))
        return;
    struct json_object *s = session_of(session, "main");
    chela_json_put_text(s, "summary", summary);
    chela_json_put_int(s, "summarySeq", (int64_t)seq);
}

void journal_allow(const char *source, const char *kind, const char *by, uint64_t at,
                   journal_fn *fn, void *owner)
{
    (void)at;
    if (!fake_commit(NULL, "allow", true, fn, owner))
        return;
    struct json_object *r = chela_json_new_array();
    const char *const row[] = {source, kind, by};
    for (unsigned i = 0; i < ARRAY_LENGTH(row); i++)
        chela_json_push(r, chela_json_new_string(row[i], strlen(row[i])));
    chela_json_push(allowed, r);
}

void journal_allow_remove(const char *source, const char *kind, journal_fn *fn, void *owner)
{
    (void)source;
    (void)kind;
    fake_commit(NULL, "allow_remove", true, fn, owner);
}

void journal_blob_put(struct chela_str data, char *hash, journal_fn *fn, void *owner)
{
    digest_hex(data.s, data.n, hash);
    free(map_set(&blobs, hash, xmemdup(data.s, data.n)));
    fake_tell(fn, owner);
}

void journal_blob_get(const char *hash, journal_blob_fn *fn, void *owner)
{
    struct fake_told *t = fake_tell(NULL, owner);
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

bool fake_frozen(void)
{
    return frozen;
}

void fake_journal_freeze(bool on)
{
    frozen = on;
}

static const struct {
    const char *name;
    struct json_object **rows;
} tables[] = {{"sessions", &sessions},
              {"messages", &messages},
              {"runs", &runs},
              {"calls", &calls},
              {"approvals", &approvals},
              {"chunks", &chunks},
              {"inbox", &inbox},
              {"allowed", &allowed},
              {"states", &states},
              {"attempts", &attempts},
              {"decisions", &decisions},
              {"spent", &spending},
              {"kv", &kv}};

struct json_object *fake_table(const char *name)
{
    for (unsigned i = 0; i < ARRAY_LENGTH(tables); i++)
        if (strcmp(tables[i].name, name) == 0)
            return *tables[i].rows;
    abort();
}

void fake_journal_open(void)
{
    for (unsigned i = 0; i < ARRAY_LENGTH(tables); i++)
        *tables[i].rows = chela_json_new_array();
    memset(&counts, 0, sizeof counts);
    fail_name[0] = '\0';
    fake_journal_log_clear();
}

void fake_journal_close(void)
{
    for (unsigned i = 0; i < ARRAY_LENGTH(tables); i++) {
        json_object_put(*tables[i].rows);
        *tables[i].rows = NULL;
    }
    while (!list_empty(&queue)) {
        struct fake_told *t = CONTAINER_OF(queue.next, struct fake_told, link);
        list_remove(&t->link);
        json_object_put(t->rows);
        free(t->data);
        free(t);
    }
    map_free(&blobs, free);
    memset(&blobs, 0, sizeof blobs);
    buf_free(&journal_log);
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
