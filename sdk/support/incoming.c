/*
 * Messages on their way in (see incoming.h).
 */
#include "support/incoming.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/json.h"

enum { FILES_MOST = 32 };

/* ---- what a plugin fills in ---- */

void chela_arrival_put(struct chela_arrival *a, const char *fact, const char *text)
{
    chela_json_put_text(a->facts, fact, text ? text : "");
}

void chela_arrival_put_number(struct chela_arrival *a, const char *fact, int64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)number);
    chela_arrival_put(a, fact, text);
}

void chela_arrival_extra(struct chela_arrival *a, const char *name, const char *text)
{
    if (text)
        chela_json_put_text(chela_json_object(a->facts, "extra"), name, text);
}

void chela_arrival_from(struct chela_arrival *a, const char *id, const char *name,
                        const char *username)
{
    chela_arrival_put(a, "sender", id);
    chela_arrival_put(a, "sender_name", name);
    chela_arrival_extra(a, "username", username);
}

void chela_arrival_place(struct chela_arrival *a, bool direct, const char *chat, const char *thread)
{
    a->chat_type = direct ? CHELA_DIRECT : CHELA_GROUP;
    chela_arrival_put(a, "chat", chat);
    chela_arrival_put(a, "thread", thread);
}

void chela_arrival_add(struct chela_arrival *a, const char *reference, const char *url,
                       const char *name, const char *mime, int64_t size)
{
    if (!reference || chela_json_length(a->files) >= FILES_MOST)
        return;
    json_object *f = chela_json_push_object(a->files);
    chela_json_put_text(f, "id", reference);
    if (url)
        chela_json_put_text(f, "url", url);
    chela_json_put_text(f, "name", name && *name ? name : "file");
    chela_json_put_text(f, "mime", mime && *mime ? mime : "application/octet-stream");
    chela_json_put_int(f, "size", size);
}

/* ---- its end ---- */

bool chela_arrival_settled(const struct chela_done *d)
{
    switch (d->error) {
    case CHELA_OK:
    case CHELA_E_CONFLICT:
    case CHELA_E_DENIED:
    case CHELA_E_ARGS:
    case CHELA_E_TOO_LONG: return true; /* the last two: it never will be taken */
    default: return false;
    }
}

static void arrival_free(struct chela_arrival *a)
{
    json_object_put(a->event);
    json_object_put(a->facts);
    json_object_put(a->files);
    free(a);
}

/* All is read and over. */
static void settle(struct chela_queue *q)
{
    if (!q->running && !q->busy && !q->waiting && chela_queue_length(q) == 0 && q->how->empty)
        q->how->empty(q);
}

static void over(struct chela_arrival *a, const struct chela_done *d)
{
    struct chela_queue *q = a->queue;
    bool handed = a->handed;
    q->how->over(a, d);
    arrival_free(a);
    q->waiting--;
    if (handed) {
        settle(q);
    } else {
        q->busy = false;
        chela_queue_run(q);
    }
}

static void submitted(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    struct chela_arrival *a = owner;
    if ((d->error == CHELA_E_ARGS || d->error == CHELA_E_TOO_LONG) && !p->closing)
        chela_log(p->in, CHELA_WARN, d->text.s);
    over(a, d);
}

/* ---- files, then the host ---- */

static struct chela_str fact(const struct chela_arrival *a, const char *name)
{
    size_t n = 0;
    const char *s = chela_json_string(a->facts, name, &n);
    return s ? chela_sn(s, n) : chela_s("");
}

static void submit(struct chela_arrival *a)
{
    struct chela_inst *in = a->p->in;
    size_t n = chela_json_length(a->files), length;
    struct chela_pair *media = chela_need(calloc(n + 1, sizeof *media));
    for (size_t i = 0; i < n; i++) {
        json_object *f = chela_json_at(a->files, i);
        json_object_object_del(f, "id"); /* ours alone */
        json_object_object_del(f, "url");
        media[i].name = chela_s(chela_json_string(f, "name", NULL));
        media[i].value = chela_s(chela_json_text(f, NULL));
    }
    CHELA_ARGS(chela_submit, s, in->host->local->new_call(in));
    s.h.tag = chela_peer_tag(a->p, submitted, a);
    s.h.flags = a->flags;
    s.version = a->version;
    s.at = a->time;
    s.chat_type = a->chat_type;
    s.kind = fact(a, "kind");
    s.event = fact(a, "event");
    s.chat = fact(a, "chat");
    s.thread = fact(a, "thread");
    s.sender = fact(a, "sender");
    s.sender_name = fact(a, "sender_name");
    s.text = fact(a, "text");
    s.reply_to = fact(a, "reply_to");
    s.quote = fact(a, "quote");
    const char *extra = chela_json_text(chela_json_object(a->facts, "extra"), &length);
    s.extra = chela_sn(extra, length);
    s.media = (struct chela_pairs){media, n};
    in->host->chat->submit(in, &s);
    free(media);
}

static void go(struct chela_arrival *a);

static bool passing(uint32_t error)
{
    return error == CHELA_E_NETWORK || error == CHELA_E_TIMEOUT || error == CHELA_E_RATE ||
           error == CHELA_E_OVERLOADED || error == CHELA_E_CANCELLED;
}

/* files[at] came (d->text: the blob's hash) or did not. A failure that passes is the message's end;
 * others leave the file named only. */
static void file_came(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    struct chela_arrival *a = owner;
    json_object *f = chela_json_at(a->files, a->at), *o = NULL;
    (void)p;
    if (passing(d->error)) {
        over(a, d);
        return;
    }
    if (d->error == CHELA_OK) {
        chela_json_put_string(f, "hash", d->text.s, (size_t)d->text.n);
        chela_json_parse(d->extra.s, (size_t)d->extra.n, NULL, &o, NULL);
        chela_json_put_int(f, "size", chela_json_int(o, "size", chela_json_int(f, "size", 0)));
        json_object_put(o);
    } else {
        chela_json_put_text(f, "reference", chela_json_string(f, "id", NULL));
    }
    if (d->error == CHELA_E_TOO_LONG) /* nobody need try again */
        chela_json_put_text(f, "failed", "it is larger than media_limit");
    a->at++;
    go(a);
}

static void go(struct chela_arrival *a)
{
    json_object *f = chela_json_at(a->files, a->at);
    int64_t most = a->p->closing ? 0 : chela_option_number(a->p->in, "media_limit");
    CHELA_ARGS(chela_done, d, 0);
    if (a->p->closing) {
        d.error = CHELA_E_CANCELLED;
        d.text = chela_s("the channel closes");
        over(a, &d);
    } else if (f && chela_json_int(f, "size", 0) > most) {
        d.error = CHELA_E_TOO_LONG;
        file_came(a->p, a, &d);
    } else if (f) {
        chela_wanted_begin(a->p, 0, chela_member(f, "id"), chela_json_string(f, "url", NULL),
                           a->queue->how->bring, file_came, a);
    } else {
        struct chela_queue *q = a->queue;
        a->handed = true;
        submit(a); /* it may be over now */
        q->busy = false;
        chela_queue_run(q);
    }
}

/* ---- the queue ---- */

void chela_queue_open(struct chela_queue *q, struct chela_peer *p, const struct chela_reading *how)
{
    q->p = p;
    q->how = how;
    q->events = chela_json_new_array();
}

void chela_queue_close(struct chela_queue *q)
{
    json_object_put(q->events);
}

void chela_queue_push(struct chela_queue *q, json_object *event)
{
    chela_json_push(q->events, event);
}

size_t chela_queue_length(const struct chela_queue *q)
{
    return chela_json_length(q->events) - q->at;
}

json_object *chela_queue_first(const struct chela_queue *q)
{
    return chela_json_at(q->events, q->at);
}

void chela_queue_skip(struct chela_queue *q)
{
    if (++q->at >= chela_json_length(q->events))
        chela_queue_drop(q);
}

void chela_queue_drop(struct chela_queue *q)
{
    json_object_put(q->events);
    q->events = chela_json_new_array();
    q->at = 0;
}

static void read_next(struct chela_queue *q)
{
    struct chela_arrival *a = chela_need(calloc(1, sizeof *a));
    a->p = q->p;
    a->queue = q;
    a->event = json_object_get(chela_queue_first(q));
    a->facts = chela_json_new_object();
    chela_json_put_object(a->facts, "extra");
    a->files = chela_json_new_array();
    chela_queue_skip(q);
    if (q->p->closing || !q->how->read(a)) {
        arrival_free(a);
        return;
    }
    q->busy = true;
    q->waiting++;
    go(a);
}

void chela_queue_run(struct chela_queue *q)
{
    if (q->running)
        return; /* the loop below goes on */
    q->running = true;
    while (!q->busy && chela_queue_length(q))
        read_next(q);
    q->running = false;
    settle(q);
}
