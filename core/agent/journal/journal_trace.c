/*
 * All that the journal knows of a run, for `chela trace RUN`: its rows as JSON, by time. Reads
 * only.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/journal/journal_private.h"
#include "base/mem.h"
#include "support/json.h"

struct item {
    uint64_t at;
    unsigned order;
    const char *kind;
    json_object *json;
};

struct trace {
    char *run, *session;
    uint64_t first_seq;
    struct item *items;
    unsigned count, next;
    journal_row_fn *row;
    journal_fn *fn;
    void *owner;
};

/* Columns behind the time; '*': JSON text, which becomes part of the whole. */
static const struct {
    const char *kind;
    enum sql sql;
    const char *names[12];
} kinds[] = {
    {"inbox", SQL_TRACE_INBOX, {"id", "conversation", "*body"}},
    {"message", SQL_TRACE_MESSAGE, {"seq", "role", "*body", "model", "in", "out", "cost"}},
    {"attempt",
     SQL_TRACE_ATTEMPT,
     {"number", "model", "reason", "outcome", "ms", "in", "out", "effects"}},
    {"call",
     SQL_TRACE_CALL,
     {"id", "name", "*arguments", "hash", "state", "*result", "attempt", "started", "ended", "ms",
      "approval"}},
    {"approval",
     SQL_TRACE_APPROVAL,
     {"id", "call", "*record", "hash", "expires", "state", "by", "decided", "used"}},
    {"decision", SQL_TRACE_DECISION, {"*decision"}},
    {"chunk", SQL_TRACE_CHUNK, {"n", "key", "*body", "sendClass", "state", "external"}},
};

static json_object *add_item(struct trace *t, const char *kind, uint64_t at)
{
    t->items = xrealloc(t->items, (t->count + 1) * sizeof *t->items);
    json_object *o = chela_json_new_object();
    chela_json_put_int(o, "at", (int64_t)at);
    t->items[t->count] = (struct item){at, t->count, kind, o};
    t->count++;
    return o;
}

static void put(json_object *o, const char *name, const struct chela_value *v)
{
    bool is_json = *name == '*';
    name += is_json;
    json_object *parsed = NULL;
    if (v->type == CHELA_V_INT)
        chela_json_put_int(o, name, v->i);
    else if (v->type == CHELA_V_REAL)
        chela_json_put_double(o, name, v->d);
    else if (v->type == CHELA_V_TEXT && is_json &&
             chela_json_parse(v->s.s, v->s.n, NULL, &parsed, NULL) == 0)
        chela_json_put(o, name, parsed);
    else if (v->type == CHELA_V_TEXT)
        chela_json_put_string(o, name, v->s.s, v->s.n);
}

static void kind_row(void *owner, const struct journal_row *row)
{
    struct trace *t = owner;
    unsigned k = t->next - 1;
    json_object *o = add_item(t, kinds[k].kind, (uint64_t)row->values[0].i);
    for (unsigned i = 1; i < row->columns && kinds[k].names[i - 1]; i++)
        put(o, kinds[k].names[i - 1], &row->values[i]);
}

/* "NAME@ms NAME@ms " */
static void add_states(struct trace *t, const char *p)
{
    while (*p) {
        size_t n = strcspn(p, "@");
        char *end = NULL;
        uint64_t at = p[n] ? strtoull(p + n + 1, &end, 10) : 0;
        if (!p[n])
            return;
        chela_json_put_string(add_item(t, "state", at), "state", p, n);
        p = end + strspn(end, " ");
    }
}

static void run_row(void *owner, const struct journal_row *row)
{
    static const char *const names[] = {"session",   "agent",    "state", NULL,   "plan",
                                        "*consumed", "firstSeq", NULL,    "ended"};
    struct trace *t = owner;
    if (t->session) /* an id is unique, but not by the schema */
        return;
    t->session = xmemdup(row->values[0].s.s, row->values[0].s.n);
    t->first_seq = (uint64_t)row->values[6].i;
    json_object *o = add_item(t, "run", (uint64_t)row->values[7].i);
    chela_json_put_text(o, "run", t->run);
    for (unsigned i = 0; i < ARRAY_LENGTH(names); i++)
        if (names[i])
            put(o, names[i], &row->values[i]);
    CLEANUP(freep) char *states = xmemdup(row->values[3].s.s, row->values[3].s.n);
    add_states(t, states);
}

static int by_time(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static void finish(struct trace *t, const struct error *e)
{
    if (t->count > 0)
        qsort(t->items, t->count, sizeof *t->items, by_time);
    for (unsigned i = 0; i < t->count; i++) {
        size_t n;
        const char *text = chela_json_text(t->items[i].json, &n);
        struct chela_value v[2] = {
            {.type = CHELA_V_TEXT, .s = chela_s(t->items[i].kind)},
            {.type = CHELA_V_TEXT, .s = chela_sn(text, n)},
        };
        struct journal_row row = {2, v};
        if (!e)
            t->row(t->owner, &row);
        json_object_put(t->items[i].json);
    }
    t->fn(t->owner, e);
    free(t->items);
    free(t->session);
    free(t->run);
    free(t);
}

static void next(void *owner, const struct error *e)
{
    struct trace *t = owner;
    struct error none;
    if (!e && !t->session) {
        error_set(&none, CHELA_E_NOT_FOUND, "there is no run %s", t->run);
        e = &none;
    }
    if (e || t->next == ARRAY_LENGTH(kinds)) {
        finish(t, e);
        return;
    }
    struct journal_query *q = query_new(kinds[t->next].sql);
    ops_text(query_ops(q), t->session);
    ops_text(query_ops(q), t->run);
    if (kinds[t->next].sql == SQL_TRACE_MESSAGE)
        ops_int(query_ops(q), t->first_seq);
    t->next++;
    query_send(q, kind_row, next, t);
}

void journal_trace(const char *run, journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct trace *t = xcalloc(1, sizeof *t);
    t->run = xstrdup(run);
    t->row = row;
    t->fn = fn;
    t->owner = owner;
    struct journal_query *q = query_new(SQL_RUN_FIND);
    ops_text(query_ops(q), run);
    query_send(q, run_row, next, t);
}
