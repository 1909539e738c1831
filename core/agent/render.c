/*
 * The wire forms of a transcript's messages: asked of the provider's `render` once for each message
 * and model, a window of them at a time, and kept beside the message. A provider without `render`
 * gets the SDK's own form. Part of transcript.h; called by turn.c through it.
 */
#include "agent/transcript.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/journal/journal.h"
#include "agent/models/models.h"
#include "base/buf.h"
#include "base/mem.h"
#include "host/call.h"

enum { WINDOW = 64, WINDOW_BYTES = 1 << 20, BLOBS_MOST = 32, RENDER_MS = 10000 };

struct blob {
    char *hash;
    char *data;
    size_t n;
};

struct item {
    struct link link;
    struct rendering *r;
    unsigned index;
    uint64_t call;
    struct blob *blobs;
    unsigned blob_count, blobs_left;
};

struct rendering {
    struct link link, items;
    struct transcript *t;
    char *model;
    struct instance *in;
    unsigned next, end, open;
    size_t bytes;
    bool forgotten, busy;
    struct error error;
    transcript_ready_fn *fn;
    void *owner;
};

static struct link all = {&all, &all};

static void rendering_free(struct rendering *r)
{
    list_remove(&r->link);
    transcript_release(r->t);
    free(r->model);
    free(r);
}

static void item_free(struct item *i)
{
    list_remove(&i->link);
    for (unsigned k = 0; k < i->blob_count; k++) {
        free(i->blobs[k].hash);
        free(i->blobs[k].data);
    }
    free(i->blobs);
    free(i);
}

static void set(struct transcript *t, unsigned index, char *text, size_t n)
{
    struct entry *e = &t->entries[index];
    size_t before = e->rendered_n;
    free(e->rendered);
    e->rendered = text;
    e->rendered_n = n;
    t->pairs[index].value = chela_sn(text, n);
    transcript_charge(t, before, n);
}

static char *message_json(const struct entry *e, size_t *ret_n)
{
    struct buf b = {0};
    buf_printf(&b, "{\"role\":\"%s\",\"content\":", entry_role_name(e->role));
    buf_add(&b, e->body, e->body_n);
    buf_char(&b, '}');
    *ret_n = b.n;
    return buf_take(&b);
}

static void go_on(struct rendering *r);

static void item_done(void *owner, uint64_t call, const struct chela_done *d,
                      const struct chela_decide *v)
{
    struct item *i = owner;
    struct rendering *r = i->r;
    (void)call;
    (void)v;
    if (d->error != CHELA_OK && !r->error.class) {
        error_from_done(&r->error, d);
        error_prefix(&r->error, "rendering a message");
    } else if (d->error == CHELA_OK) {
        set(r->t, i->index, xmemdup(d->text.s ? d->text.s : "", d->text.n), d->text.n);
    }
    r->open--;
    r->bytes -= r->t->entries[i->index].body_n;
    item_free(i);
    go_on(r);
}

static const struct call_ops ops = {NULL, item_done};

static void begin(struct item *i)
{
    struct rendering *r = i->r;
    const struct entry *e = &r->t->entries[i->index];
    struct chela_pair pairs[BLOBS_MOST];
    unsigned n = 0;
    for (unsigned k = 0; k < i->blob_count; k++) {
        if (i->blobs[k].data)
            pairs[n++] = (struct chela_pair){chela_s(i->blobs[k].hash),
                                             chela_sn(i->blobs[k].data, i->blobs[k].n)};
    }
    CHELA_ARGS(chela_render, a, 0);
    a.model = chela_s(strchr(r->model, '/') + 1);
    a.role = chela_s(entry_role_name(e->role));
    size_t length;
    CLEANUP(freep) char *message = message_json(e, &length);
    a.message = chela_sn(message, length);
    a.blobs = (struct chela_pairs){pairs, n};
    i->call = call_begin(r->in, CHELA_FN_PROVIDER_RENDER, &a, RENDER_MS, 0, &ops, i);
}

struct blob_wait {
    struct item *item;
    unsigned index;
};

static void blob_came(void *owner, struct chela_str data, const struct error *e)
{
    struct blob_wait *w = owner;
    struct item *i = w->item;
    if (!e) { /* one that is gone is told by the provider as missing */
        i->blobs[w->index].data = xmemdup(data.s ? data.s : "", data.n);
        i->blobs[w->index].n = data.n;
    }
    free(w);
    if (--i->blobs_left)
        return;
    if (!i->r->forgotten) {
        begin(i);
        return;
    }
    struct rendering *r = i->r;
    r->open--;
    item_free(i);
    if (r->open == 0)
        rendering_free(r);
}

static void collect(struct json_object *part, struct json_object *hashes)
{
    const char *hash = chela_json_string(part, "hash", NULL);
    if (hash && chela_json_length(hashes) < BLOBS_MOST)
        chela_json_push(hashes, chela_json_new_string(hash, strlen(hash)));
    struct json_object *content = chela_json_array(part, "content");
    for (size_t i = 0; i < chela_json_length(content); i++)
        collect(chela_json_at(content, i), hashes);
}

static void collect_entry(const struct entry *e, struct json_object *hashes)
{
    struct json_object *parts = NULL;
    if (!e->media || chela_json_parse(e->body, e->body_n, NULL, &parts, NULL) != 0)
        return;
    for (size_t i = 0; i < chela_json_length(parts); i++)
        collect(chela_json_at(parts, i), hashes);
    json_object_put(parts);
}

struct json_object *transcript_blobs(const struct transcript *t, unsigned from)
{
    struct json_object *hashes = chela_json_new_array();
    for (unsigned i = from; i < t->count; i++)
        collect_entry(&t->entries[i], hashes);
    return hashes;
}

static void start(struct rendering *r, unsigned index)
{
    struct item *i = xcalloc(1, sizeof *i);
    i->r = r;
    i->index = index;
    list_append(&r->items, &i->link);
    r->open++;
    r->bytes += r->t->entries[index].body_n;
    if (!r->t->entries[index].media) {
        begin(i);
        return;
    }
    struct json_object *hashes = chela_json_new_array();
    collect_entry(&r->t->entries[index], hashes);
    i->blob_count = i->blobs_left = (unsigned)chela_json_length(hashes);
    i->blobs = xcalloc(i->blob_count ? i->blob_count : 1, sizeof *i->blobs);
    for (unsigned k = 0; k < i->blob_count; k++) {
        i->blobs[k].hash = xstrdup(chela_json_as_string(chela_json_at(hashes, k), NULL));
        struct blob_wait *w = xcalloc(1, sizeof *w);
        w->item = i;
        w->index = k;
        journal_blob_get(i->blobs[k].hash, blob_came, w);
    }
    json_object_put(hashes);
    if (i->blob_count == 0)
        begin(i);
}

static void finish(struct rendering *r)
{
    transcript_ready_fn *fn = r->fn;
    void *owner = r->owner;
    struct error e = r->error;
    if (!e.class) {
        r->t->rendered = r->end;
    } else { /* what was made is made again: it may have holes */
        r->t->rendered = r->t->rendered_from;
    }
    rendering_free(r);
    fn(owner, e.class ? &e : NULL);
}

static void go_on(struct rendering *r)
{
    if (r->forgotten) {
        if (r->open == 0 && !r->busy)
            rendering_free(r);
        return;
    }
    r->busy = true;
    while (r->next < r->end && !r->error.class && r->open < WINDOW && r->bytes < WINDOW_BYTES) {
        unsigned index = r->next++;
        if (!r->t->entries[index].rendered)
            start(r, index);
    }
    r->busy = false;
    if (r->open == 0 && (r->next == r->end || r->error.class))
        finish(r);
}

static void forget_rendered(struct transcript *t, unsigned from)
{
    for (unsigned i = 0; i < t->count; i++) {
        if (!t->entries[i].rendered)
            continue;
        transcript_charge(t, t->entries[i].rendered_n, 0);
        free(t->entries[i].rendered);
        t->entries[i].rendered = NULL;
        t->entries[i].rendered_n = 0;
    }
    t->rendered = t->rendered_from = from;
}

void transcript_render(struct transcript *t, const char *model, unsigned from,
                       transcript_ready_fn *fn, void *owner)
{
    struct model_info info;
    if (!models_info(model, &info)) {
        struct error e = {0};
        error_set(&e, CHELA_E_NOT_FOUND, "there is no provider for \"%s\"", model);
        fn(owner, &e);
        return;
    }
    if (!t->rendered_for || strcmp(t->rendered_for, model) != 0) {
        forget_rendered(t, from);
        free(t->rendered_for);
        t->rendered_for = xstrdup(model);
    }
    unsigned begin_at = t->rendered;
    if (from < t->rendered_from || from > t->rendered)
        begin_at = t->rendered_from = from;
    const struct chela_provider *p = instance_iface(info.instance)->provider;
    if (!p || !p->render) {
        for (unsigned i = begin_at; i < t->count; i++) {
            size_t n;
            if (!t->entries[i].rendered) {
                char *text = message_json(&t->entries[i], &n);
                set(t, i, text, n);
            }
        }
        t->rendered = t->count;
        fn(owner, NULL);
        return;
    }
    struct rendering *r = xcalloc(1, sizeof *r);
    list_init(&r->items);
    r->t = transcript_ref(t);
    r->model = xstrdup(model);
    r->in = info.instance;
    r->next = begin_at;
    r->end = t->count;
    r->fn = fn;
    r->owner = owner;
    list_append(&all, &r->link);
    go_on(r);
}

void transcript_render_forget(void *owner)
{
    LIST_EACH(l, &all)
    {
        struct rendering *r = CONTAINER_OF(l, struct rendering, link);
        if (r->owner != owner)
            continue;
        r->forgotten = true;
        r->t->rendered = r->t->rendered_from;
        LIST_EACH(k, &r->items)
        {
            struct item *i = CONTAINER_OF(k, struct item, link);
            if (i->blobs_left)
                continue; /* its blobs still come */
            call_forget(i->call);
            r->open--;
            item_free(i);
        }
        if (r->open == 0)
            rendering_free(r);
    }
}
