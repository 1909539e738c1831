/*
 * Messages on their way out (see outgoing.h).
 */
#include "support/outgoing.h"

#include <stdlib.h>
#include <string.h>

#include "support/json.h"

static void add_files(struct chela_outgoing *o, struct chela_pairs media)
{
    o->files = chela_need(calloc((size_t)media.n + 1, sizeof *o->files));
    for (uint64_t i = 0; i < media.n; i++) {
        json_object *facts = NULL;
        chela_json_parse(media.v[i].value.s, (size_t)media.v[i].value.n, NULL, &facts, NULL);
        const char *hash = chela_json_string(facts, "hash", NULL),
                   *mime = chela_json_string(facts, "mime", NULL);
        if (hash) {
            struct chela_file *f = &o->files[o->count++];
            bool sound = mime && !strpbrk(mime, "\r\n");
            f->name = chela_copy(media.v[i].name.n ? media.v[i].name : chela_s("file"));
            f->hash = chela_need(strdup(hash));
            f->mime = chela_need(strdup(sound ? mime : "application/octet-stream"));
        }
        json_object_put(facts);
    }
}

void *chela_outgoing_open(struct chela_inst *in, const struct chela_send *s, size_t size,
                          chela_step_fn *step)
{
    struct chela_outgoing *o = chela_need(calloc(1, size));
    o->p = in->self;
    o->call = s->h.call;
    o->step = step;
    o->chat = chela_copy(s->chat);
    o->thread = chela_copy(s->thread);
    o->reply_to = chela_copy(s->reply_to);
    o->message = chela_copy(s->message);
    o->text = chela_copy(s->text);
    o->key = chela_copy(s->key);
    add_files(o, s->media);
    return o;
}

static void outgoing_free(struct chela_outgoing *o)
{
    for (size_t i = 0; i < o->count; i++) {
        free(o->files[i].name);
        free(o->files[i].mime);
        free(o->files[i].hash);
        free(o->files[i].bytes);
    }
    free(o->files);
    free(o->chat);
    free(o->thread);
    free(o->reply_to);
    free(o->message);
    free(o->text);
    free(o->key);
    free(o->id);
    json_object_put(o->keyboard);
    free(o);
}

void chela_outgoing_end(struct chela_outgoing *o, uint32_t error, uint32_t flags,
                        uint64_t retry_after, const char *text)
{
    CHELA_ARGS(chela_done, d, 0);
    d.error = error;
    d.h.flags = flags | (error && o->id ? (uint32_t)CHELA_EFFECT : 0);
    d.retry_after_ms = retry_after;
    d.text = chela_s(error ? text : o->id ? o->id : "");
    chela_peer_end(o->p, o->call, &d);
    outgoing_free(o);
}

void chela_outgoing_fail(struct chela_outgoing *o, const struct chela_reply *r)
{
    uint32_t error = r->status == 403 ? CHELA_E_DENIED : r->error;
    chela_outgoing_end(o, error ? error : CHELA_E_PROTOCOL, r->flags, r->retry_after_ms, r->text);
}

void chela_outgoing_changed(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct chela_outgoing *o = owner;
    (void)p;
    if (r->error != CHELA_OK) {
        chela_outgoing_fail(o, r);
        return;
    }
    o->id = chela_need(strdup(o->message));
    chela_outgoing_end(o, CHELA_OK, 0, 0, "");
}

/* ---- files and parts ---- */

static void file_read(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    struct chela_outgoing *o = owner;
    (void)p;
    if (d->error != CHELA_OK) {
        chela_outgoing_end(o, d->error, d->h.flags & CHELA_RETRY, 0,
                           "a file to send is not in the store");
        return;
    }
    struct chela_file *f = &o->files[o->loaded];
    f->n = (size_t)d->text.n;
    f->bytes = chela_need(malloc(f->n + 1));
    memcpy(f->bytes, d->text.s ? d->text.s : "", f->n);
    o->loaded++;
    o->step(o);
}

void chela_outgoing_read(struct chela_outgoing *o)
{
    struct chela_inst *in = o->p->in;
    if (o->p->closing) {
        chela_outgoing_end(o, CHELA_E_CANCELLED, 0, 0, "");
        return;
    }
    CHELA_ARGS(chela_key, a, in->host->local->new_call(in));
    a.h.tag = chela_peer_tag(o->p, file_read, o);
    a.parent = o->call;
    a.key = chela_s(o->files[o->loaded].hash);
    in->host->kv->blob_get(in, &a);
}

void chela_outgoing_went(struct chela_outgoing *o, const char *id)
{
    if (!o->id)
        o->id = chela_need(strdup(id));
    for (; o->at < o->loaded; o->at++) {
        free(o->files[o->at].bytes);
        o->files[o->at].bytes = NULL;
    }
    *o->text = '\0';
    o->step(o);
}

void chela_outgoing_files(const struct chela_outgoing *o, struct chela_form *f, const char *before,
                          const char *after)
{
    for (size_t i = o->at; i < o->loaded; i++) {
        char *field = chela_format("%s%zu%s", before, i - o->at, after);
        chela_form_file(f, field, &o->files[i]);
        free(field);
    }
}
