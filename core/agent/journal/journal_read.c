/*
 * Reads: queries on the store's readers, never on its writer. Rows are handed on as they come.
 * Called by whoever shows something, and by the agent at start (what a crash left).
 */
#include <stdlib.h>
#include <string.h>

#include "agent/journal/journal_private.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "host/call.h"

struct journal_query {
    struct link link;
    enum sql sql;
    struct journal_ops ops;
    uint64_t call;
    journal_row_fn *row;
    journal_fn *fn;
    void *owner;
};

static struct link under_way = {&under_way, &under_way};

struct journal_query *query_new(enum sql s)
{
    struct journal_query *q = xcalloc(1, sizeof *q);
    q->sql = s;
    list_init(&q->link);
    return q;
}

struct journal_ops *query_ops(struct journal_query *q)
{
    return &q->ops;
}

static void query_free(struct journal_query *q)
{
    list_remove(&q->link);
    ops_free(&q->ops);
    free(q);
}

static void event(void *owner, uint64_t call, uint32_t fn, const void *args)
{
    struct journal_query *q = owner;
    const struct chela_rows *r = args;
    (void)call;
    if (fn != CHELA_FN_ROWS || r->columns == 0 || !q->row)
        return;
    for (uint64_t i = 0; i + r->columns <= r->values.n; i += r->columns) {
        struct journal_row row = {r->columns, r->values.v + i};
        q->row(q->owner, &row);
    }
}

static void done(void *owner, uint64_t call, const struct chela_done *d,
                 const struct chela_decide *decide)
{
    struct journal_query *q = owner;
    struct error e;
    (void)call;
    (void)decide;
    int r = error_from_done(&e, d);
    list_remove(&q->link);
    q->fn(q->owner, r == 0 ? NULL : &e);
    query_free(q);
}

void query_send(struct journal_query *q, journal_row_fn *row, journal_fn *fn, void *owner)
{
    static const struct call_ops ops = {.event = event, .done = done};
    q->row = row;
    q->fn = fn;
    q->owner = owner;
    if (!journal_store()) {
        journal_fail(fn, owner, CHELA_E_GONE, "the store is closed");
        query_free(q);
        return;
    }
    list_append(&under_way, &q->link);
    ops_seal(&q->ops);
    CHELA_ARGS(chela_query, a, 0);
    a.statement = q->sql;
    a.parameters.v = q->ops.values;
    a.parameters.n = q->ops.count;
    q->call = call_begin(journal_store(), CHELA_FN_STORE_QUERY, &a, 0, 0, &ops, q);
}

void queries_close(void)
{
    LIST_EACH(l, &under_way)
    {
        struct journal_query *q = CONTAINER_OF(l, struct journal_query, link);
        call_forget(q->call);
        query_free(q);
    }
}

/* ---- sessions and their transcripts ---- */

void journal_session_get(const char *session, journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct journal_query *q = query_new(SQL_SESSION_GET);
    ops_text(&q->ops, session);
    query_send(q, row, fn, owner);
}

/* What contains the words, whatever is special in them for LIKE. */
static char *pattern_of(const char *search)
{
    struct buf folded = {0}, b = {0};
    utf8_fold(&folded, search, strlen(search));
    buf_char(&b, '%');
    for (size_t i = 0; i < folded.n; i++) {
        if (strchr("%_\\", folded.p[i]))
            buf_char(&b, '\\');
        buf_char(&b, folded.p[i]);
    }
    buf_puts(&b, "%");
    buf_free(&folded);
    return buf_take(&b);
}

void journal_session_list(uint64_t before, const char *before_key, const char *search,
                          unsigned limit, journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct journal_query *q = query_new(SQL_SESSION_LIST);
    CLEANUP(freep) char *pattern = pattern_of(search ? search : "");
    ops_int(&q->ops, before ? before : INT64_MAX);
    ops_text(&q->ops, before_key ? before_key : "");
    ops_text(&q->ops, pattern);
    ops_int(&q->ops, limit ? limit : INT64_MAX);
    query_send(q, row, fn, owner);
}

void journal_history(const char *session, uint64_t after, unsigned limit, journal_row_fn *row,
                     journal_fn *fn, void *owner)
{
    struct journal_query *q = query_new(SQL_HISTORY);
    ops_text(&q->ops, session);
    ops_int(&q->ops, after);
    ops_int(&q->ops, limit ? limit : INT64_MAX);
    query_send(q, row, fn, owner);
}

void journal_history_tail(const char *session, uint64_t before, unsigned limit, journal_row_fn *row,
                          journal_fn *fn, void *owner)
{
    struct journal_query *q = query_new(SQL_HISTORY_TAIL);
    ops_text(&q->ops, session);
    ops_int(&q->ops, before ? before : INT64_MAX);
    ops_int(&q->ops, limit ? limit : INT64_MAX);
    query_send(q, row, fn, owner);
}

/* ---- across sessions ---- */

void journal_approvals(bool open_only, journal_row_fn *row, journal_fn *fn, void *owner)
{
    query_send(query_new(open_only ? SQL_APPROVAL_OPEN : SQL_APPROVAL_PAST), row, fn, owner);
}

void journal_search(const char *words, unsigned limit, journal_row_fn *row, journal_fn *fn,
                    void *owner)
{
    struct journal_query *q = query_new(SQL_SEARCH);
    ops_text(&q->ops, words);
    ops_int(&q->ops, limit);
    query_send(q, row, fn, owner);
}

void journal_usage(uint64_t from, uint64_t to, journal_row_fn *row, journal_fn *fn, void *owner)
{
    const uint64_t day = 24 * 3600 * 1000;
    struct journal_query *q = query_new(SQL_USAGE);
    ops_int(&q->ops, from / day);
    ops_int(&q->ops, to / day);
    query_send(q, row, fn, owner);
}

void journal_allow_list(journal_row_fn *row, journal_fn *fn, void *owner)
{
    query_send(query_new(SQL_ALLOW_LIST), row, fn, owner);
}

/* ---- what a crash left: four queries, one after the other ---- */

struct recovery {
    journal_row_fn *row[4];
    unsigned next;
    journal_fn *fn;
    void *owner;
};

static void recovery_row(void *owner, const struct journal_row *row)
{
    struct recovery *r = owner;
    if (r->row[r->next - 1])
        r->row[r->next - 1](r->owner, row);
}

static void recovery_next(void *owner, const struct error *e)
{
    static const enum sql order[] = {SQL_RECOVER_INBOX, SQL_RECOVER_RUN, SQL_RECOVER_CALL,
                                     SQL_RECOVER_CHUNK};
    struct recovery *r = owner;
    if (e || r->next == ARRAY_LENGTH(order)) {
        r->fn(r->owner, e);
        free(r);
        return;
    }
    query_send(query_new(order[r->next++]), recovery_row, recovery_next, r);
}

void journal_recover(const struct journal_recovery *what, journal_fn *fn, void *owner)
{
    struct recovery *r = xcalloc(1, sizeof *r);
    r->row[0] = what->inbox;
    r->row[1] = what->run;
    r->row[2] = what->call;
    r->row[3] = what->chunk;
    r->fn = fn;
    r->owner = owner;
    recovery_next(r, NULL);
}
