/*
 * Messages of the gateway's clients (terminal, page): handed to the channel that owns them, whose
 * submit then comes in like any other channel's. This file only keeps the two ends together: what
 * the client wished for goes into the submit, what became of the submit goes back to the client.
 */
#include <json-c/linkhash.h>
#include <stdlib.h>
#include <string.h>
#include <support/base64.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/chats/ingress.h"
#include "agent/flow.h"
#include "agent/journal/journal.h"
#include "agent/runs.h"
#include "agent/session.h"
#include "base/id.h"
#include "base/list.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/loop.h"

enum { CLIENT_MS = 30000, KEY_BYTES = 128, MEDIA_MOST = 32 };

struct waiting {
    struct link link;
    char *channel, *session, *agent, *key, *event, *text, *client;
    struct json_object *request, *media;
    unsigned blobs;
    uint64_t call, timer;
    struct error error;
    agent_sent_fn *fn;
    void *owner;
};

static struct link all = {&all, &all};

static void waiting_free(struct waiting *w)
{
    list_remove(&w->link);
    loop_timer_stop(w->timer);
    call_forget(w->call);
    free(w->channel);
    free(w->session);
    free(w->agent);
    free(w->key);
    free(w->event);
    free(w->text);
    free(w->client);
    json_object_put(w->request);
    json_object_put(w->media);
    free(w);
}

static void finish(struct waiting *w, const char *run, const char *status, const struct error *e)
{
    agent_sent_fn *fn = w->fn;
    void *owner = w->owner;
    list_remove(&w->link);
    if (fn)
        fn(owner, run, status, e);
    waiting_free(w);
}

static void failed(struct waiting *w, uint32_t class, const char *text)
{
    struct error e = {0};
    error_set(&e, class, "%s", text);
    finish(w, "", "", &e);
}

static const char *status_of(const char *run)
{
    return runs_find(run) ? "in_flight" : "ok";
}

void ingress_client_submitted(const char *channel, const char *event, const char *run,
                              const struct error *e)
{
    LIST_EACH(l, &all)
    {
        struct waiting *w = CONTAINER_OF(l, struct waiting, link);
        if (!w->event || strcmp(w->event, event) != 0 || strcmp(w->channel, channel) != 0)
            continue;
        if (e && e->class == CHELA_E_CONFLICT)
            finish(w, run, status_of(run), NULL);
        else if (e)
            finish(w, "", "", e);
        else
            finish(w, run, runs_find(run) ? "started" : runs_result(run) ? "ok" : "queued", NULL);
        return;
    }
}

void ingress_client_amend(struct message *m)
{
    const char *passed = chela_json_string(message_wishes(m), "runId", NULL);
    LIST_EACH(l, &all)
    {
        struct waiting *w = CONTAINER_OF(l, struct waiting, link);
        if (w->event || strcmp(w->channel, m->channel) != 0 ||
            (strcmp(w->key, m->event) != 0 && (!passed || strcmp(w->key, passed) != 0)))
            continue;
        w->event = xstrdup(m->event);
        if (!m->extra)
            m->extra = chela_json_new_object();
        chela_json_put(m->extra, "request", json_object_get(w->request));
        if (*w->agent)
            chela_json_put_text(m->extra, "agent", w->agent);
        if (!*m->session) {
            free(m->session);
            m->session = xstrdup(w->session);
        }
        return;
    }
}

static void channel_done(void *owner, uint64_t call, const struct chela_done *d,
                         const struct chela_decide *v)
{
    struct waiting *w = owner;
    (void)call;
    (void)v;
    w->call = 0;
    if (d->error != CHELA_OK) {
        CLEANUP(freep) char *text = xmemdup(d->text.s ? d->text.s : "", d->text.n);
        failed(w, d->error, text);
    } else if (!w->event && d->text.n) { /* its submit comes under another id */
        w->event = xmemdup(d->text.s, d->text.n);
    }
}

static const struct call_ops ops = {NULL, channel_done};

static void late(void *arg)
{
    struct waiting *w = arg;
    w->timer = 0;
    failed(w, CHELA_E_TIMEOUT, "the channel did not submit the message in time");
}

static void hand_over(struct waiting *w)
{
    struct instance *in = instance_find(ROLE_CHANNEL, w->channel);
    const struct chela_channel *c = in ? instance_iface(in)->channel : NULL;
    if (!c || !c->client || instance_state(in) != INSTANCE_RUNNING) {
        CLEANUP(freep)
        char *text = xprintf("the channel \"%s\" is not there or takes no messages "
                             "of clients: enable its plugin",
                             w->channel);
        failed(w, CHELA_E_NOT_FOUND, text);
        return;
    }
    struct chela_pair media[MEDIA_MOST];
    unsigned n = 0;
    for (size_t i = 0; i < chela_json_length(w->media) && n < MEDIA_MOST; i++) {
        struct json_object *o = chela_json_at(w->media, i);
        media[n++] = (struct chela_pair){chela_s(chela_json_string(o, "name", NULL)),
                                         chela_s(chela_json_text(o, NULL))};
    }
    struct json_object *extra = chela_json_new_object();
    chela_json_put(extra, "request", json_object_get(w->request));
    CHELA_ARGS(chela_client_message, a, 0);
    a.client = chela_s(w->client);
    a.session = chela_s(w->session);
    a.key = chela_s(w->key);
    a.text = chela_s(w->text);
    size_t length;
    const char *json = chela_json_text(extra, &length);
    a.extra = chela_sn(json, length);
    a.media = (struct chela_pairs){media, n};
    w->timer = loop_timer(CLIENT_MS, late, w);
    w->call = call_begin(in, CHELA_FN_CHANNEL_CLIENT, &a, CLIENT_MS, 0, &ops, w);
    json_object_put(extra);
}

/* ---- attachments ---- */

/* NULL if it is no base64. */
static char *bytes_of(const char *text, size_t length, size_t *ret_n)
{
    char *bytes = xmalloc(CHELA_BASE64_BYTES(length));
    if (chela_base64_decode(text, length, true, bytes, ret_n))
        return bytes;
    free(bytes);
    return NULL;
}

static void start_later(void *arg)
{
    struct waiting *w = arg;
    w->timer = 0;
    if (w->error.class)
        failed(w, w->error.class, w->error.text);
    else
        hand_over(w);
}

static void blob_stored(void *owner, const struct error *e)
{
    struct waiting *w = owner;
    if (e && !w->error.class)
        w->error = *e;
    if (--w->blobs == 0)
        w->timer = loop_timer(0, start_later, w);
}

static void store_media(struct waiting *w, struct json_object *media)
{
    w->media = chela_json_new_array();
    w->blobs = 1;
    for (size_t i = 0; i < chela_json_length(media) && i < MEDIA_MOST; i++) {
        struct json_object *o = chela_json_at(media, i);
        const char *name = chela_json_string(o, "name", NULL);
        const char *mime = chela_json_string(o, "mime", NULL);
        size_t length = 0, n = 0;
        const char *content = chela_json_string(o, "content", &length);
        char *data = content ? bytes_of(content, length, &n) : NULL;
        if (!data) {
            error_set(&w->error, CHELA_E_ARGS, "attachment \"%s\" has no base64 content",
                      name ? name : "?");
            break;
        }
        char hash[65] = "";
        w->blobs++;
        journal_blob_put(chela_sn(data, n), hash, blob_stored, w);
        free(data);
        struct json_object *kept = chela_json_push_object(w->media);
        chela_json_put_text(kept, "name", name ? name : "attachment");
        chela_json_put_text(kept, "hash", hash);
        chela_json_put_text(kept, "mime", mime ? mime : "application/octet-stream");
        chela_json_put_int(kept, "size", (int64_t)n);
    }
    blob_stored(w, NULL); /* the one that was counted for this function */
}

void ingress_client_send(const struct agent_client_message *q, agent_sent_fn *fn, void *owner)
{
    struct error e = {0};
    char uuid[ID_UUID_SIZE];
    id_uuid(uuid);
    const char *key = q->key && *q->key ? q->key : uuid;
    if (strlen(key) > KEY_BYTES) {
        error_set(&e, CHELA_E_ARGS, "the idempotency key is longer than %d bytes", KEY_BYTES);
        fn(owner, "", "", &e);
        return;
    }
    if (runs_find(key) || runs_result(key)) {
        fn(owner, key, status_of(key), NULL);
        return;
    }
    struct waiting *w = xcalloc(1, sizeof *w);
    w->channel = xstrdup(q->channel);
    w->agent = xstrdup(q->agent ? q->agent : "");
    w->session = session_key_full(w->agent, q->session);
    w->key = xstrdup(key);
    w->text = xstrdup(q->text ? q->text : "");
    w->client = xstrdup(chela_json_text(q->client, NULL));
    w->request = chela_json_new_object();
    if (json_object_is_type(q->request, json_type_object)) {
        json_object_object_foreach(q->request, name, value)
            chela_json_put(w->request, name, json_object_get(value));
    }
    chela_json_put_text(w->request, "runId", key);
    w->fn = fn;
    w->owner = owner;
    list_append(&all, &w->link);
    store_media(w, q->media);
}

void ingress_client_reset(void)
{
    while (!list_empty(&all))
        waiting_free(CONTAINER_OF(all.next, struct waiting, link));
}
