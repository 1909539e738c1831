/*
 * The SDK's kv group: plugins' small values and blobs. A plugin's space is its instance's type and
 * name, so that no other can read it. Registered once by main; called by the host's call table.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/journal/journal.h"
#include "base/mem.h"
#include "host/call.h"

enum { KEY_MAX = 1024, VALUE_MAX = 1 << 20 };

struct request {
    uint64_t id;
    char hash[65];
    char *found; /* kv get */
    size_t length;
    bool has;
};

static char *space_of(const struct instance *in)
{
    return xprintf("%s/%s", instance_type(in), instance_name(in));
}

static struct request *request_new(uint64_t id)
{
    struct request *r = xcalloc(1, sizeof *r);
    r->id = id;
    return r;
}

static void request_free(struct request *r)
{
    free(r->found);
    free(r);
}

/* Ends a request that only had to be done. */
static void stored(void *owner, const struct error *e)
{
    struct request *r = owner;
    CHELA_ARGS(chela_done, d, 0);
    if (e) {
        d.error = e->class;
        d.text = chela_s(e->text);
    } else {
        d.text = chela_s(r->hash);
    }
    call_answer(r->id, &d);
    request_free(r);
}

/* True if a key can be used; else the call has been answered. */
static bool good(uint64_t id, const struct chela_key *k)
{
    if (k->key.n > KEY_MAX || (k->key.n && memchr(k->key.s, 0, k->key.n))) {
        call_answer_error(id, CHELA_E_ARGS, "a key has at most 1,024 bytes and no NUL");
        return false;
    }
    return true;
}

static void get_row(void *owner, const struct journal_row *row)
{
    struct request *r = owner;
    r->found = xmemdup(row->values[0].s.s, row->values[0].s.n);
    r->length = row->values[0].s.n;
    r->has = true;
}

static void get_done(void *owner, const struct error *e)
{
    struct request *r = owner;
    CHELA_ARGS(chela_done, d, 0);
    if (e || !r->has) {
        d.error = e ? e->class : CHELA_E_NOT_FOUND;
        d.text = chela_s(e ? e->text : "there is no such key");
    } else {
        d.text = chela_sn(r->found, r->length);
    }
    call_answer(r->id, &d);
    request_free(r);
}

static void kv_get(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_key *k = args;
    CLEANUP(freep) char *space = space_of(in), *key = xmemdup(k->key.s, k->key.n);
    if (good(id, k))
        journal_kv_get(space, key, get_row, get_done, request_new(id));
}

static void kv_put(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_key *k = args;
    CLEANUP(freep) char *space = space_of(in), *key = xmemdup(k->key.s, k->key.n);
    if (!good(id, k))
        return;
    if (k->value.n > VALUE_MAX) {
        call_answer_error(id, CHELA_E_TOO_LONG, "a value has at most 1 MiB; keep it as a blob");
        return;
    }
    journal_kv_put(space, key, k->value, k->h.flags & CHELA_DURABLE, stored, request_new(id));
}

static void kv_del(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_key *k = args;
    CLEANUP(freep) char *space = space_of(in), *key = xmemdup(k->key.s, k->key.n);
    if (good(id, k))
        journal_kv_delete(space, key, stored, request_new(id));
}

static void list_row(void *owner, const struct journal_row *row)
{
    struct request *r = owner;
    CHELA_ARGS(chela_rows, a, 0);
    a.columns = row->columns;
    a.values.v = row->values;
    a.values.n = row->columns;
    call_event(r->id, CHELA_FN_INST_ROWS, &a);
}

static void kv_list(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_key *k = args;
    CLEANUP(freep) char *space = space_of(in), *prefix = xmemdup(k->key.s, k->key.n);
    if (good(id, k))
        journal_kv_list(space, prefix, list_row, stored, request_new(id));
}

static void index_begin(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_index *a = args;
    CLEANUP(freep) char *space = space_of(in), *document = xmemdup(a->document.s, a->document.n);
    uint64_t size = 0;
    for (uint64_t i = 0; i < a->parts.n; i++)
        size += a->parts.v[i].name.n + a->parts.v[i].value.n;
    if (a->document.n > KEY_MAX || size > VALUE_MAX)
        call_answer_error(id, CHELA_E_TOO_LONG,
                          "a document's name has at most 1,024 bytes, its parts 1 MiB");
    else
        journal_index(space, document, a->at, a->parts, stored, request_new(id));
}

static void search_begin(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_search *a = args;
    CLEANUP(freep) char *space = space_of(in), *words = xmemdup(a->text.s, a->text.n);
    if (a->text.n > KEY_MAX)
        call_answer_error(id, CHELA_E_TOO_LONG, "a search has at most 1,024 bytes");
    else
        journal_index_search(space, words, a->h.flags & CHELA_ANY, a->limit, list_row, stored,
                             request_new(id));
}

static void blob_put(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_key *k = args;
    struct request *r = request_new(id);
    (void)in;
    journal_blob_put(k->value, r->hash, stored, r);
}

static void blob_came(void *owner, struct chela_str data, const struct error *e)
{
    struct request *r = owner;
    CHELA_ARGS(chela_done, d, 0);
    d.error = e ? e->class : CHELA_OK;
    d.text = e ? chela_s(e->text) : data;
    call_answer(r->id, &d);
    request_free(r);
}

/* Any plugin that knows a hash has seen the bytes, or was given the hash for that. */
static void blob_get(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_key *k = args;
    CLEANUP(freep) char *hash = xmemdup(k->key.s, k->key.n);
    (void)in;
    if (good(id, k))
        journal_blob_get(hash, blob_came, request_new(id));
}

void journal_serve_plugins(void)
{
    call_handle(CHELA_FN_KV_GET, kv_get, NULL);
    call_handle(CHELA_FN_KV_PUT, kv_put, NULL);
    call_handle(CHELA_FN_KV_DEL, kv_del, NULL);
    call_handle(CHELA_FN_KV_LIST, kv_list, NULL);
    call_handle(CHELA_FN_KV_INDEX, index_begin, NULL);
    call_handle(CHELA_FN_KV_SEARCH, search_begin, NULL);
    call_handle(CHELA_FN_KV_BLOB_PUT, blob_put, NULL);
    call_handle(CHELA_FN_KV_BLOB_GET, blob_get, NULL);
}
