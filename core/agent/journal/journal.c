/*
 * The journal (see journal.h): opening, inbound messages, sessions, allow-list, counts. Runs are in
 * journal_run.c, reads in journal_read.c, the way of a commit in journal_batch.c.
 */
#include "agent/journal/journal.h"

#include <stdlib.h>
#include <string.h>

#include "agent/journal/journal_private.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "host/call.h"
#include "host/loop.h"
#include "host/metrics.h"
#include "support/json.h"

static struct instance *store;
static bool ready;

struct instance *journal_store(void)
{
    return store;
}

bool journal_ready(void)
{
    return ready;
}

struct journal_counts journal_counts(void)
{
    return journal_counted;
}

static double counted_batches(void)
{
    return (double)journal_counted.batches;
}

static double counted_barriers(void)
{
    return (double)journal_counted.barriers;
}

static double counted_statements(void)
{
    return (double)journal_counted.statements;
}

static void serve_counts(void)
{
    metrics_ask("chela_journal_batches", "", counted_batches);
    metrics_ask("chela_journal_barriers", "", counted_barriers);
    metrics_ask("chela_journal_statements", "", counted_statements);
}

/* ---- opening ---- */

struct opening {
    journal_fn *fn;
    void *owner;
};

static void opened(void *owner, uint64_t call, const struct chela_done *d,
                   const struct chela_decide *decide)
{
    struct opening *o = owner;
    struct error e;
    (void)call;
    (void)decide;
    int r = error_from_done(&e, d);
    if (r == 0) {
        log_info("journal", "store %s: %.*s", instance_name(store), (int)d->text.n, d->text.s);
        ready = true;
        upkeep_start();
    } else {
        error_prefix(&e, "store %s", instance_name(store));
        store = NULL;
    }
    o->fn(o->owner, r == 0 ? NULL : &e);
    free(o);
}

void journal_open(struct instance *in, bool power, journal_fn *fn, void *owner)
{
    static const struct call_ops ops = {.done = opened};
    struct chela_pair statements[SQL_COUNT];
    struct chela_pair *migrations = xcalloc(sql_migration_count, sizeof *migrations);
    char *texts[SQL_COUNT];
    for (unsigned i = 0; i < SQL_COUNT; i++) {
        const struct sql_statement *s = &sql_statements[i];
        texts[i] = xprintf("%s|%s|%s|%s", s->flags, s->parameters, s->results, s->text);
        statements[i] = (struct chela_pair){chela_s(s->name), chela_s(texts[i])};
    }
    for (size_t i = 0; i < sql_migration_count; i++)
        migrations[i] =
            (struct chela_pair){chela_s(sql_migrations[i].name), chela_s(sql_migrations[i].text)};
    store = in;
    journal_power = power;
    serve_counts();
    struct opening *o = xmalloc(sizeof *o);
    *o = (struct opening){fn, owner};
    CHELA_ARGS(chela_store_open, a, 0);
    a.statements = (struct chela_pairs){statements, SQL_COUNT};
    a.migrations = (struct chela_pairs){migrations, sql_migration_count};
    call_begin(in, CHELA_FN_STORE_OPEN_DB, &a, 0, 0, &ops, o);
    for (unsigned i = 0; i < SQL_COUNT; i++)
        free(texts[i]);
    free(migrations);
}

void journal_close(void)
{
    upkeep_stop();
    batches_close();
    queries_close();
    store = NULL;
    ready = false;
    memset(&journal_counted, 0, sizeof journal_counted);
}

struct failing {
    journal_fn *fn;
    void *owner;
    struct error error;
};

static void fail_now(void *arg)
{
    struct failing *f = arg;
    f->fn(f->owner, &f->error);
    free(f);
}

void journal_fail(journal_fn *fn, void *owner, uint32_t class, const char *text)
{
    struct failing *f = xcalloc(1, sizeof *f);
    f->fn = fn;
    f->owner = owner;
    error_set(&f->error, class, "%s", text);
    loop_defer(fail_now, f);
}

/* ---- inbound ---- */

struct inbound {
    journal_fn *fn;
    void *owner;
    char *conversation, *kind, *event;
    uint64_t version;
    struct error error;
    bool found;
};

static void inbound_free(struct inbound *w)
{
    free(w->conversation);
    free(w->kind);
    free(w->event);
    free(w);
}

static void first_one(void *owner, const struct journal_row *row)
{
    struct inbound *w = owner;
    error_set(&w->error, CHELA_E_CONFLICT, "%.*s", (int)row->values[0].s.n, row->values[0].s.s);
}

static void first_one_read(void *owner, const struct error *e)
{
    struct inbound *w = owner;
    w->fn(w->owner, e ? e : &w->error);
    inbound_free(w);
}

static void inbound_stored(void *owner, const struct error *e)
{
    struct inbound *w = owner;
    if (!e || e->class != CHELA_E_CONFLICT) {
        w->fn(w->owner, e);
        inbound_free(w);
        return;
    }
    w->error = *e;
    struct journal_query *q = query_new(SQL_DEDUP_GET);
    ops_text(query_ops(q), w->conversation);
    ops_text(query_ops(q), w->kind);
    ops_text(query_ops(q), w->event);
    ops_int(query_ops(q), w->version);
    query_send(q, first_one, first_one_read, w);
}

void journal_inbound(const struct journal_message_in *in, journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_new(in->session, true);
    CLEANUP(freep) char *channel = xmemdup(in->conversation, strcspn(in->conversation, "|"));
    ops_statement(&b->ops, SQL_DEDUP_PUT);
    ops_text(&b->ops, in->conversation);
    ops_text(&b->ops, in->kind);
    ops_text(&b->ops, in->event);
    ops_int(&b->ops, in->version);
    ops_text(&b->ops, in->id);
    ops_int(&b->ops, in->at);
    ops_statement(&b->ops, SQL_INBOX_PUT);
    ops_text(&b->ops, in->session);
    ops_text(&b->ops, in->id);
    ops_text(&b->ops, in->agent);
    ops_text(&b->ops, in->conversation);
    ops_text(&b->ops, channel);
    ops_text(&b->ops, in->body);
    ops_int(&b->ops, in->at);
    struct inbound *w = xcalloc(1, sizeof *w);
    w->fn = fn;
    w->owner = owner;
    w->conversation = xstrdup(in->conversation);
    w->kind = xstrdup(in->kind);
    w->event = xstrdup(in->event);
    w->version = in->version;
    batch_send(b, inbound_stored, w);
}

void journal_inbox_drop(const char *session, const char *id, journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_new(session, false);
    ops_statement(&b->ops, SQL_INBOX_TAKE);
    ops_text(&b->ops, session);
    ops_text(&b->ops, id);
    ops_text(&b->ops, "-");
    batch_send(b, fn, owner);
}

/* ---- sessions ---- */

/* What a list's search looks in: the key, and the title if there is one, folded. */
static char *find_text(const char *session, const char *title)
{
    struct buf b = {0};
    utf8_fold(&b, session, strlen(session));
    buf_char(&b, '\n');
    if (title)
        utf8_fold(&b, title, strlen(title));
    return buf_take(&b);
}

void session_touch(struct journal_ops *o, const char *session, const char *agent, uint64_t at)
{
    char id[ID_UUID_SIZE];
    id_uuid(id);
    CLEANUP(freep) char *find = find_text(session, NULL);
    ops_statement(o, SQL_SESSION_PUT);
    ops_text(o, session);
    ops_text(o, id);
    ops_text(o, agent);
    ops_text(o, find);
    ops_int(o, at);
}

void session_fields(struct journal_ops *o, const char *session, json_object *fields, uint64_t at)
{
    char id[ID_UUID_SIZE];
    id_uuid(id);
    CLEANUP(freep)
    char *find = chela_json_has(fields, "title")
                     ? find_text(session, chela_json_string(fields, "title", NULL))
                     : NULL;
    CLEANUP(freep) char *plain = find_text(session, NULL);
    ops_statement(o, SQL_SESSION_PATCH);
    ops_text(o, session);
    ops_text(o, id);
    ops_text(o, chela_json_string(fields, "agent", NULL));
    ops_text(o, find);
    ops_text(o, plain);
    ops_text(o, chela_json_text(fields, NULL));
    ops_int(o, at);
}

void journal_session_patch(const char *session, const char *fields, journal_fn *fn, void *owner)
{
    json_object *o = NULL;
    struct chela_json_error bad;
    if (chela_json_parse(fields, strlen(fields), NULL, &o, &bad) < 0 ||
        !json_object_is_type(o, json_type_object)) {
        json_object_put(o);
        journal_fail(fn, owner, CHELA_E_ARGS, "the fields of a session are a JSON object");
        return;
    }
    struct journal_batch *b = batch_new(session, true);
    session_fields(&b->ops, session, o, clock_now_ms());
    json_object_put(o);
    batch_send(b, fn, owner);
}

void journal_session_reset(const char *session, const char *reason, uint64_t at, journal_fn *fn,
                           void *owner)
{
    char id[ID_UUID_SIZE];
    id_uuid(id);
    struct journal_batch *b = batch_new(session, true);
    ops_statement(&b->ops, SQL_SESSION_RESET);
    ops_text(&b->ops, session);
    ops_text(&b->ops, id);
    ops_text(&b->ops, reason ? reason : "");
    ops_int(&b->ops, at);
    batch_send(b, fn, owner);
}

/* Usage stays: money that was spent was spent. */
void journal_session_delete(const char *session, journal_fn *fn, void *owner)
{
    static const enum sql drops[] = {
        SQL_SESSION_DROP,  SQL_MESSAGE_DROP, SQL_RUN_DROP,   SQL_ATTEMPT_DROP, SQL_CALL_DROP,
        SQL_APPROVAL_DROP, SQL_OUTBOX_DROP,  SQL_INBOX_DROP, SQL_FOUND_DROP,   SQL_DECISION_DROP};
    struct journal_batch *b = batch_new(session, true);
    for (size_t i = 0; i < ARRAY_LENGTH(drops); i++) {
        ops_statement(&b->ops, drops[i]);
        ops_text(&b->ops, session);
    }
    batch_send(b, fn, owner);
}

void journal_compaction(const char *session, uint64_t seq, const char *summary, uint64_t at,
                        journal_fn *fn, void *owner)
{
    (void)at;
    struct journal_batch *b = batch_new(session, true);
    ops_statement(&b->ops, SQL_SESSION_SUMMARY);
    ops_text(&b->ops, session);
    ops_int(&b->ops, seq);
    ops_text(&b->ops, summary);
    batch_send(b, fn, owner);
}

/* ---- allow-list ---- */

void journal_allow(const char *source, const char *kind, const char *by, uint64_t at,
                   journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_new(source, true);
    ops_statement(&b->ops, SQL_ALLOW_PUT);
    ops_text(&b->ops, source);
    ops_text(&b->ops, kind);
    ops_text(&b->ops, by);
    ops_int(&b->ops, at);
    batch_send(b, fn, owner);
}

void journal_allow_remove(const char *source, const char *kind, journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_new(source, true);
    ops_statement(&b->ops, SQL_ALLOW_DROP);
    ops_text(&b->ops, source);
    ops_text(&b->ops, kind);
    batch_send(b, fn, owner);
}
