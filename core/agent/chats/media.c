/*
 * Fetching media (see media.h), one after the other for each message. What can't be fetched is
 * named to the model with the reason, and the message goes on without it.
 */
#include "agent/chats/media.h"

#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/flow.h"
#include "agent/journal/journal.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/call.h"

enum { FETCH_MS = 120000 };

struct fetching {
    struct link link;
    struct message *m;
    struct json_object *item; /* the one that is being fetched; the message's */
    uint64_t call;
    bool storing, gone;
    char hash[65];
    media_fn *fn;
    void *owner;
};

static struct link all = {&all, &all};

static struct instance *channel_of(const struct message *m)
{
    struct instance *in = instance_find(ROLE_CHANNEL, m->channel);
    return in && instance_iface(in)->channel && instance_iface(in)->channel->fetch ? in : NULL;
}

static struct json_object *next_item(const struct message *m)
{
    for (size_t i = 0; i < chela_json_length(m->media); i++) {
        struct json_object *o = chela_json_at(m->media, i);
        if (chela_json_string(o, "reference", NULL) && !chela_json_string(o, "hash", NULL) &&
            !chela_json_string(o, "failed", NULL))
            return o;
    }
    return NULL;
}

bool media_wanted(const struct message *m)
{
    return next_item(m) && channel_of(m);
}

static void step(struct fetching *f);

static void describe(struct fetching *f, const char *hash, struct chela_str extra, uint64_t size)
{
    struct json_object *about = NULL;
    if (extra.n)
        chela_json_parse(extra.s, (size_t)extra.n, NULL, &about, NULL);
    const char *mime = chela_json_string(about, "mime", NULL);
    if (hash)
        chela_json_put_text(f->item, "hash", hash);
    chela_json_put_int(f->item, "size", chela_json_int(about, "size", (int64_t)size));
    if (mime && *mime && !chela_json_string(f->item, "mime", NULL))
        chela_json_put_text(f->item, "mime", mime);
    json_object_put(about);
}

static void fail(struct fetching *f, const char *why)
{
    log_warning("ingress", "%s: an attachment could not be fetched: %s", f->m->channel, why);
    chela_json_put_text(f->item, "failed", *why ? why : "the channel gave no reason");
}

static void stored(void *owner, const struct error *e)
{
    struct fetching *f = owner;
    f->storing = false;
    if (f->gone) {
        free(f);
        return;
    }
    if (e)
        fail(f, e->text);
    else
        chela_json_put_text(f->item, "hash", f->hash);
    step(f);
}

static void fetched(void *owner, uint64_t call, const struct chela_done *d,
                    const struct chela_decide *v)
{
    struct fetching *f = owner;
    (void)call;
    (void)v;
    f->call = 0;
    CLEANUP(freep)
    char *text = d->error || (d->h.flags & CHELA_BLOB)
                     ? xmemdup(d->text.s ? d->text.s : "", (size_t)d->text.n)
                     : NULL;
    if (d->error != CHELA_OK) {
        fail(f, text);
    } else if (d->h.flags & CHELA_BLOB) {
        describe(f, text, d->extra, 0);
    } else {
        describe(f, NULL, d->extra, d->text.n);
        f->storing = true;
        journal_blob_put(d->text, f->hash, stored, f);
        return;
    }
    step(f);
}

static const struct call_ops ops = {NULL, fetched};

static void step(struct fetching *f)
{
    struct instance *in = channel_of(f->m);
    f->item = in ? next_item(f->m) : NULL;
    if (!f->item) {
        media_fn *fn = f->fn;
        void *owner = f->owner;
        list_remove(&f->link);
        free(f);
        fn(owner, true);
        return;
    }
    CHELA_ARGS(chela_fetch, a, 0);
    a.account = chela_s(f->m->account);
    a.reference = chela_s(chela_json_string(f->item, "reference", NULL));
    f->call = call_begin(in, CHELA_FN_CHANNEL_FETCH, &a, FETCH_MS, 0, &ops, f);
}

void media_fetch(struct message *m, media_fn *fn, void *owner)
{
    struct fetching *f = xcalloc(1, sizeof *f);
    f->m = m;
    f->fn = fn;
    f->owner = owner;
    list_append(&all, &f->link);
    step(f);
}

void media_reset(void)
{
    while (!list_empty(&all)) {
        struct fetching *f = CONTAINER_OF(all.next, struct fetching, link);
        list_remove(&f->link);
        call_forget(f->call);
        f->fn(f->owner, false);
        f->gone = true;
        if (!f->storing)
            free(f);
    }
}
