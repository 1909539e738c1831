/*
 * Key-value pairs of plugins, and blobs. Called by kv_group.c, and by whoever keeps media or long
 * results.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "agent/journal/journal_private.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "host/call.h"

void journal_kv_get(const char *space, const char *key, journal_row_fn *row, journal_fn *fn,
                    void *owner)
{
    struct journal_query *q = query_new(SQL_KV_GET);
    ops_text(query_ops(q), space);
    ops_text(query_ops(q), key);
    query_send(q, row, fn, owner);
}

void journal_kv_put(const char *space, const char *key, struct chela_str value, bool durable,
                    journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_new(space, durable);
    ops_statement(&b->ops, SQL_KV_PUT);
    ops_text(&b->ops, space);
    ops_text(&b->ops, key);
    ops_bytes(&b->ops, value);
    ops_int(&b->ops, clock_now_ms());
    batch_send(b, fn, owner);
}

void journal_kv_delete(const char *space, const char *key, journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_new(space, false);
    ops_statement(&b->ops, SQL_KV_DROP);
    ops_text(&b->ops, space);
    ops_text(&b->ops, key);
    batch_send(b, fn, owner);
}

void journal_kv_list(const char *space, const char *prefix, journal_row_fn *row, journal_fn *fn,
                     void *owner)
{
    struct journal_query *q = query_new(SQL_KV_LIST);
    /* behind all that begin so: the last character there is */
    CLEANUP(freep) char *last = xprintf("%s\xf4\x8f\xbf\xbf", prefix);
    ops_text(query_ops(q), space);
    ops_text(query_ops(q), prefix);
    ops_text(query_ops(q), last);
    query_send(q, row, fn, owner);
}

/* ---- the index of documents ---- */

void journal_index(const char *space, const char *document, uint64_t at, struct chela_pairs parts,
                   journal_fn *fn, void *owner)
{
    struct journal_batch *b = batch_new(space, false);
    ops_statement(&b->ops, SQL_NOTE_DROP);
    ops_text(&b->ops, space);
    ops_text(&b->ops, document);
    for (uint64_t i = 0; i < parts.n; i++) {
        CLEANUP(freep) char *part = xmemdup(parts.v[i].name.s, parts.v[i].name.n);
        CLEANUP(freep) char *text = xmemdup(parts.v[i].value.s, parts.v[i].value.n);
        ops_statement(&b->ops, SQL_NOTE_PUT);
        ops_text(&b->ops, space);
        ops_text(&b->ops, document);
        ops_text(&b->ops, part);
        ops_int(&b->ops, at);
        ops_text(&b->ops, text);
    }
    ops_statement(&b->ops, SQL_NOTE_WORDS);
    ops_text(&b->ops, space);
    ops_text(&b->ops, document);
    batch_send(b, fn, owner);
}

void journal_index_search(const char *space, const char *words, bool any, unsigned limit,
                          journal_row_fn *row, journal_fn *fn, void *owner)
{
    struct journal_query *q = query_new(any ? SQL_NOTE_SEARCH_ANY : SQL_NOTE_SEARCH);
    ops_text(query_ops(q), space);
    ops_text(query_ops(q), words);
    ops_int(query_ops(q), limit ? limit : 20);
    query_send(q, row, fn, owner);
}

/* ---- blobs ---- */

struct put {
    journal_fn *fn;
    void *owner;
};

static void put_done(void *owner, uint64_t call, const struct chela_done *d,
                     const struct chela_decide *decide)
{
    struct put *p = owner;
    struct error e;
    (void)call;
    (void)decide;
    int r = error_from_done(&e, d);
    fault_point("a blob's answer");
    p->fn(p->owner, r == 0 ? NULL : &e);
    free(p);
}

static void hash_of(struct chela_str data, char *hash)
{
    unsigned char sum[32];
    unsigned length = 0;
    if (EVP_Digest(data.s, data.n, sum, &length, EVP_sha256(), NULL) != 1 || length != sizeof sum)
        abort();
    for (size_t i = 0; i < sizeof sum; i++)
        snprintf(hash + 2 * i, 3, "%02x", sum[i]);
}

void journal_blob_put(struct chela_str data, char *hash, journal_fn *fn, void *owner)
{
    static const struct call_ops ops = {.done = put_done};
    hash_of(data, hash);
    if (!journal_store()) {
        journal_fail(fn, owner, CHELA_E_GONE, "the store is closed");
        return;
    }
    fault_point("a blob");
    struct put *p = xmalloc(sizeof *p);
    *p = (struct put){fn, owner};
    CHELA_ARGS(chela_blob, a, 0);
    a.hash = chela_sn(hash, 64);
    a.data = data;
    call_begin(journal_store(), CHELA_FN_STORE_BLOB_PUT, &a, 0, 0, &ops, p);
}

struct get {
    journal_blob_fn *fn;
    void *owner;
};

static void get_done(void *owner, uint64_t call, const struct chela_done *d,
                     const struct chela_decide *decide)
{
    struct get *g = owner;
    struct error e;
    (void)call;
    (void)decide;
    int r = error_from_done(&e, d);
    g->fn(g->owner, r == 0 ? d->text : chela_s(""), r == 0 ? NULL : &e);
    free(g);
}

static void get_failed(void *owner, const struct error *e)
{
    struct get *g = owner;
    g->fn(g->owner, chela_s(""), e);
    free(g);
}

void journal_blob_get(const char *hash, journal_blob_fn *fn, void *owner)
{
    static const struct call_ops ops = {.done = get_done};
    struct get *g = xmalloc(sizeof *g);
    *g = (struct get){fn, owner};
    if (!journal_store()) {
        journal_fail(get_failed, g, CHELA_E_GONE, "the store is closed");
        return;
    }
    CHELA_ARGS(chela_blob, a, 0);
    a.hash = chela_s(hash);
    call_begin(journal_store(), CHELA_FN_STORE_BLOB_GET, &a, 0, 0, &ops, g);
}
