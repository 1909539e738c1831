/*
 * What is read of the fake journal: the reads of agent/journal.h, its key-value rows, and what a
 * test asks.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/journal/journal.h"
#include "base/mem.h"
#include "tests/unit/agent_fake.h"
#include "tests/unit/agent_fake_journal.h"

/* ---- reads ---- */

static struct fake_told *begin_read(journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct fake_told *t = fake_tell(fn, owner);
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

static struct json_object *new_row(struct fake_told *t)
{
    struct json_object *row = chela_json_new_array();
    chela_json_push(t->rows, row);
    return row;
}

void journal_session_get(const char *session, journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct fake_told *t = begin_read(row, fn, owner);
    struct json_object *s = fake_row(fake_table("sessions"), "key", session);
    if (!s)
        return;
    struct json_object *r = new_row(t);
    add_text(r, fake_field(s, "key"));
    add_text(r, fake_field(s, "id"));
    add_text(r, fake_field(s, "agent"));
    add_text(r, chela_json_text(chela_json_get(s, "fields"), NULL));
    add_int(r, chela_json_int(s, "created", 0));
    add_int(r, chela_json_int(s, "updated", 0));
    add_int(r, chela_json_int(s, "epoch", 0));
    add_int(r, chela_json_int(s, "first", 0));
    add_int(r, chela_json_int(s, "last", 0));
    add_text(r, fake_field(s, "summary"));
    add_int(r, chela_json_int(s, "summarySeq", 0));
}

void journal_history(const char *session, uint64_t after, unsigned limit, journal_row_fn *row,
                     journal_fn *fn, void *owner)
{
    struct fake_told *t = begin_read(row, fn, owner);
    for (size_t i = 0; i < chela_json_length(fake_table("messages")); i++) {
        struct json_object *m = chela_json_at(fake_table("messages"), i);
        if (strcmp(fake_field(m, "session"), session) != 0 ||
            chela_json_int(m, "seq", 0) <= (int64_t)after || chela_json_length(t->rows) >= limit)
            continue;
        struct json_object *r = new_row(t);
        add_int(r, chela_json_int(m, "seq", 0));
        add_text(r, fake_field(m, "role"));
        add_text(r, fake_field(m, "body"));
    }
}

static void trace_rows(struct fake_told *t, const char *kind, struct json_object *table,
                       const char *run)
{
    for (size_t i = 0; i < chela_json_length(table); i++) {
        struct json_object *o = chela_json_at(table, i);
        if (strcmp(fake_field(o, "run"), run) != 0)
            continue;
        struct json_object *r = new_row(t);
        add_text(r, kind);
        add_text(r, chela_json_text(o, NULL));
    }
}

void journal_trace(const char *run, journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct fake_told *t = begin_read(row, fn, owner);
    trace_rows(t, "run", fake_table("runs"), run);
    trace_rows(t, "inbox", fake_table("inbox"), run);
    trace_rows(t, "state", fake_table("states"), run);
    trace_rows(t, "attempt", fake_table("attempts"), run);
    trace_rows(t, "call", fake_table("calls"), run);
    trace_rows(t, "chunk", fake_table("chunks"), run);
    trace_rows(t, "decision", fake_table("decisions"), run);
}

void journal_approvals(bool open_only, journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct fake_told *t = begin_read(row, fn, owner);
    for (size_t i = 0; i < chela_json_length(fake_table("approvals")); i++) {
        struct json_object *a = chela_json_at(fake_table("approvals"), i);
        if (open_only && strcmp(fake_field(a, "state"), "open") != 0)
            continue;
        struct json_object *r = new_row(t);
        static const char *const columns[] = {"id",     "session", "run",  "call",
                                              "record", "hash",    "state"};
        for (unsigned k = 0; k < ARRAY_LENGTH(columns); k++)
            add_text(r, fake_field(a, columns[k]));
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
    struct fake_told *t = begin_read(rec->inbox, NULL, owner);
    for (size_t i = 0; i < chela_json_length(fake_table("inbox")); i++) {
        struct json_object *o = chela_json_at(fake_table("inbox"), i);
        if (strcmp(fake_field(o, "state"), "waiting") != 0)
            continue;
        struct json_object *r = new_row(t);
        add_text(r, fake_field(o, "id"));
        add_text(r, fake_field(o, "session"));
        add_text(r, fake_field(o, "agent"));
        add_text(r, chela_json_text(chela_json_get(o, "body"), NULL));
    }
    t = begin_read(rec->run, NULL, owner);
    for (size_t i = 0; i < chela_json_length(fake_table("runs")); i++) {
        struct json_object *o = chela_json_at(fake_table("runs"), i);
        if (!is_open(fake_field(o, "state")))
            continue;
        struct json_object *r = new_row(t);
        add_text(r, fake_field(o, "run"));
        add_text(r, fake_field(o, "session"));
        add_text(r, fake_field(o, "agent"));
        add_text(r, fake_field(o, "state"));
    }
    t = begin_read(rec->chunk, fn, owner);
    for (size_t i = 0; i < chela_json_length(fake_table("chunks")); i++) {
        struct json_object *o = chela_json_at(fake_table("chunks"), i);
        if (strcmp(fake_field(o, "state"), "SENDING") != 0)
            continue;
        struct json_object *r = new_row(t);
        add_text(r, fake_field(o, "run"));
        add_text(r, fake_field(o, "session"));
        add_text(r, fake_field(o, "key"));
        add_text(r, fake_field(o, "body"));
        add_int(r, chela_json_int(o, "class", 0));
        add_int(r, chela_json_int(o, "at", 0));
    }
}

void journal_allow_list(journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct fake_told *t = begin_read(row, fn, owner);
    for (size_t i = 0; i < chela_json_length(fake_table("allowed")); i++)
        chela_json_push(t->rows, json_object_get(chela_json_at(fake_table("allowed"), i)));
}

/* ---- key-value: one table, by space and key ---- */

void journal_kv_list(const char *space, const char *prefix, journal_row_fn *row, journal_fn *fn,
                     void *owner)
{
    struct fake_told *t = begin_read(row, fn, owner);
    struct json_object *kv = fake_table("kv");
    for (size_t i = 0; i < chela_json_length(kv); i++) {
        struct json_object *o = chela_json_at(kv, i);
        const char *key = fake_field(o, "key");
        if (strcmp(fake_field(o, "space"), space) != 0 || strncmp(key, prefix, strlen(prefix)) != 0)
            continue;
        struct json_object *r = new_row(t);
        add_text(r, key);
        add_text(r, fake_field(o, "value"));
    }
}

static void kv_drop(const char *space, const char *key)
{
    struct json_object *kv = fake_table("kv");
    for (size_t i = chela_json_length(kv); i-- > 0;) {
        struct json_object *o = chela_json_at(kv, i);
        if (strcmp(fake_field(o, "space"), space) == 0 && strcmp(fake_field(o, "key"), key) == 0)
            json_object_array_del_idx(kv, i, 1);
    }
}

void journal_kv_put(const char *space, const char *key, struct chela_str value, bool durable,
                    journal_fn *fn, void *owner)
{
    if (!fake_commit(NULL, "kv", durable, fn, owner))
        return;
    kv_drop(space, key);
    struct json_object *o = chela_json_push_object(fake_table("kv"));
    chela_json_put_text(o, "space", space);
    chela_json_put_text(o, "key", key);
    chela_json_put_string(o, "value", value.s, value.n);
}

void journal_kv_delete(const char *space, const char *key, journal_fn *fn, void *owner)
{
    if (fake_commit(NULL, "kv_delete", true, fn, owner))
        kv_drop(space, key);
}

/* ---- the tests' side ---- */

static struct json_object *message_at(const char *session, unsigned n)
{
    for (size_t i = 0; i < chela_json_length(fake_table("messages")); i++) {
        struct json_object *m = chela_json_at(fake_table("messages"), i);
        if (strcmp(fake_field(m, "session"), session) == 0 && n-- == 0)
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
    return fake_field(message_at(session, n), "role");
}

const char *fake_message_body(const char *session, unsigned n)
{
    return fake_field(message_at(session, n), "body");
}

const char *fake_run_state(const char *run)
{
    return fake_field(fake_row(fake_table("runs"), "run", run), "state");
}

const char *fake_call_state(const char *call)
{
    return fake_field(fake_row(fake_table("calls"), "id", call), "state");
}

const char *fake_chunk_state(const char *key)
{
    return fake_field(fake_row(fake_table("chunks"), "key", key), "state");
}

const char *fake_inbox_state(const char *id)
{
    return fake_field(fake_row(fake_table("inbox"), "id", id), "state");
}
