/*
 * What the journal does behind the turns: the full-text index, which follows the messages with a
 * cursor of its own, and the removal of rows that have served. Nobody waits for it.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/journal/journal_private.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/loop.h"
#include "support/json.h"

enum {
    INDEX_DELAY_MS = 2000, /* after the first message that isn't in it: turns come first */
    INDEX_ROWS = 64,
    INDEX_TEXT_MAX = 100000,
    PURGE_FIRST_MS = 10 * 60 * 1000,
    PURGE_EVERY_MS = 6 * 3600 * 1000,
    PURGE_ROWS = 500
};

static uint64_t index_timer, purge_timer;
static bool indexing;

/* ---- words ---- */

static void add_text(struct buf *out, const char *text, size_t n)
{
    if (n == 0 || out->n >= INDEX_TEXT_MAX)
        return;
    if (out->n > 0)
        buf_char(out, '\n');
    buf_add(out, text, n);
}

static void add_parts(json_object *parts, struct buf *out, unsigned depth)
{
    for (size_t i = 0; i < chela_json_length(parts) && depth < 3; i++) {
        json_object *part = chela_json_at(parts, i);
        const char *type = chela_json_string(part, "type", NULL);
        size_t n = 0;
        const char *text = chela_json_string(part, "text", &n);
        if (type && strcmp(type, "text") == 0 && text)
            add_text(out, text, n);
        else if (type && strcmp(type, "toolResult") == 0)
            add_parts(chela_json_array(part, "content"), out, depth + 1);
    }
}

void upkeep_text(const char *body, struct buf *out)
{
    json_object *o = NULL;
    size_t n = 0;
    if (chela_json_parse(body, strlen(body), NULL, &o, NULL) < 0)
        return;
    const char *text = chela_json_as_string(o, &n);
    if (text)
        add_text(out, text, n);
    else
        add_parts(o, out, 0);
    json_object_put(o);
    for (char *p = out->p; p && (p = memchr(p, '\0', (size_t)(out->p + out->n - p))); p++)
        *p = ' '; /* JSON may hold what a text column may not */
}

/* ---- the index ---- */

struct job {
    journal_fn *fn;
    void *owner;
    uint64_t cursor;
    unsigned rows;
    struct journal_batch *batch;
};

static void job_end(struct job *j, const struct error *e)
{
    indexing = false;
    j->fn(j->owner, e);
    free(j);
}

static void index_row(void *owner, const struct journal_row *row)
{
    struct job *j = owner;
    const struct chela_value *v = row->values;
    struct buf text = {0};
    CLEANUP(freep) char *body = xmemdup(v[4].s.s, v[4].s.n);
    j->cursor = (uint64_t)v[0].i;
    j->rows++;
    if (!j->batch)
        j->batch = batch_new("index", false);
    if (v[3].s.n == 0 ||
        v[3].s.s[0] != 't') /* what a tool said is found in the answer, if at all */
        upkeep_text(body, &text);
    if (text.n > 0) {
        CLEANUP(freep) char *session = xmemdup(v[1].s.s, v[1].s.n);
        CLEANUP(freep) char *role = xmemdup(v[3].s.s, v[3].s.n);
        ops_statement(&j->batch->ops, SQL_FOUND_PUT);
        ops_int(&j->batch->ops, j->cursor);
        ops_text(&j->batch->ops, session);
        ops_int(&j->batch->ops, (uint64_t)v[2].i);
        ops_text(&j->batch->ops, role);
        ops_int(&j->batch->ops, (uint64_t)v[5].i);
        ops_text(&j->batch->ops, buf_text(&text));
        ops_statement(&j->batch->ops, SQL_FOUND_WORDS);
        ops_int(&j->batch->ops, j->cursor);
        ops_text(&j->batch->ops, buf_text(&text));
    }
    buf_free(&text);
}

static void index_next(void *owner, const struct error *e);

static void index_read(void *owner, const struct error *e)
{
    struct job *j = owner;
    if (e || !j->batch) {
        if (j->batch)
            batch_drop(j->batch);
        job_end(j, e);
        return;
    }
    struct journal_batch *b = j->batch;
    j->batch = NULL;
    ops_statement(&b->ops, SQL_CURSOR_PUT);
    ops_text(&b->ops, "index");
    ops_text(&b->ops, "message");
    ops_int(&b->ops, j->cursor);
    ops_int(&b->ops, clock_now_ms());
    batch_send(b, index_next, j);
}

static void index_next(void *owner, const struct error *e)
{
    struct job *j = owner;
    if (e) {
        job_end(j, e);
        return;
    }
    j->rows = 0;
    struct journal_query *q = query_new(SQL_INDEX_NEXT);
    ops_int(query_ops(q), j->cursor);
    ops_int(query_ops(q), INDEX_ROWS);
    query_send(q, index_row, index_read, j);
}

static void cursor_row(void *owner, const struct journal_row *row)
{
    struct job *j = owner;
    j->cursor = (uint64_t)row->values[0].i;
}

void upkeep_index(journal_fn *fn, void *owner)
{
    if (indexing) {
        journal_fail(fn, owner, CHELA_E_BUSY, "the index is being written");
        return;
    }
    indexing = true;
    struct job *j = xcalloc(1, sizeof *j);
    j->fn = fn;
    j->owner = owner;
    struct journal_query *q = query_new(SQL_CURSOR_GET);
    ops_text(query_ops(q), "index");
    ops_text(query_ops(q), "message");
    query_send(q, cursor_row, index_next, j);
}

static void logged(void *owner, const struct error *e)
{
    if (e && e->class != CHELA_E_BUSY)
        log_warning("journal", "%s: %s", (const char *)owner, e->text);
}

static void index_due(void *arg)
{
    (void)arg;
    index_timer = 0;
    if (indexing) { /* it may have read what it will before this message was there */
        upkeep_messages();
        return;
    }
    upkeep_index(logged, (void *)(uintptr_t) "the search index");
}

void upkeep_messages(void)
{
    if (index_timer == 0 && journal_ready())
        index_timer = loop_timer(INDEX_DELAY_MS, index_due, NULL);
}

/* ---- old rows ---- */

struct purge {
    journal_fn *fn;
    void *owner;
    uint64_t now;
    bool inbox; /* the second of the two */
    unsigned rows;
    struct journal_batch *batch;
};

static void purge_row(void *owner, const struct journal_row *row)
{
    struct purge *p = owner;
    if (!p->batch)
        p->batch = batch_new("upkeep", false);
    p->rows++;
    ops_statement(&p->batch->ops, p->inbox ? SQL_INBOX_PURGE : SQL_DEDUP_DROP);
    for (unsigned i = 0; i < row->columns; i++) {
        CLEANUP(freep) char *text = xmemdup(row->values[i].s.s, row->values[i].s.n);
        if (row->values[i].type == CHELA_V_INT)
            ops_int(&p->batch->ops, (uint64_t)row->values[i].i);
        else
            ops_text(&p->batch->ops, text);
    }
}

static void purge_next(void *owner, const struct error *e);

static void purge_read(void *owner, const struct error *e)
{
    struct purge *p = owner;
    struct journal_batch *b = p->batch;
    p->batch = NULL;
    if (!e && b) {
        batch_send(b, purge_next, p);
        return;
    }
    if (b)
        batch_drop(b);
    if (!e && !p->inbox) {
        p->inbox = true;
        purge_next(p, NULL);
        return;
    }
    p->fn(p->owner, e);
    free(p);
}

static void purge_next(void *owner, const struct error *e)
{
    struct purge *p = owner;
    if (e) {
        p->fn(p->owner, e);
        free(p);
        return;
    }
    uint64_t keep = p->inbox ? (uint64_t)INBOX_KEEP_DAYS * 24 * 3600 * 1000 : DEDUP_KEEP_MS;
    struct journal_query *q = query_new(p->inbox ? SQL_INBOX_OLD : SQL_DEDUP_OLD);
    ops_int(query_ops(q), p->now > keep ? p->now - keep : 0);
    ops_int(query_ops(q), PURGE_ROWS);
    query_send(q, purge_row, purge_read, p);
}

void upkeep_purge(uint64_t now, journal_fn *fn, void *owner)
{
    struct purge *p = xcalloc(1, sizeof *p);
    p->now = now;
    p->fn = fn;
    p->owner = owner;
    purge_next(p, NULL);
}

static void purge_due(void *arg)
{
    (void)arg;
    purge_timer = loop_timer(PURGE_EVERY_MS, purge_due, NULL);
    upkeep_purge(clock_now_ms(), logged, (void *)(uintptr_t) "removal of old rows");
}

void upkeep_start(void)
{
    purge_timer = loop_timer(PURGE_FIRST_MS, purge_due, NULL);
    upkeep_messages(); /* what the last process left */
}

void upkeep_stop(void)
{
    loop_timer_stop(index_timer);
    loop_timer_stop(purge_timer);
    index_timer = purge_timer = 0;
    indexing = false;
}
