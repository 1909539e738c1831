/*
 * Messages on their way in (see incoming.h).
 */
#include "support/incoming.h"

#include <stdlib.h>
#include <string.h>

#include "support/json.h"

enum { FILES_MOST = 32 };

void *chela_arrival_open(struct chela_peer *p, size_t size)
{
    struct chela_arrival *a = chela_need(calloc(1, size));
    a->p = p;
    a->facts = chela_json_new_object();
    a->files = chela_json_new_array();
    return a;
}

void chela_arrival_free(struct chela_arrival *a)
{
    json_object_put(a->facts);
    json_object_put(a->files);
    free(a);
}

void chela_arrival_add(struct chela_arrival *a, const char *reference, const char *name,
                       const char *mime, int64_t size)
{
    if (!reference || chela_json_length(a->files) >= FILES_MOST)
        return;
    json_object *f = chela_json_push_object(a->files);
    chela_json_put_text(f, "id", reference);
    chela_json_put_text(f, "name", name && *name ? name : "file");
    chela_json_put_text(f, "mime", mime && *mime ? mime : "application/octet-stream");
    chela_json_put_int(f, "size", size);
}

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

static void submitted(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    struct chela_arrival *a = owner;
    if ((d->error == CHELA_E_ARGS || d->error == CHELA_E_TOO_LONG) && !p->closing)
        chela_log(p->in, CHELA_WARN, d->text.s);
    a->over(a, d);
}

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

void chela_arrival_go(struct chela_arrival *a)
{
    json_object *f = chela_json_at(a->files, a->at);
    int64_t most = a->p->closing ? 0 : chela_option_number(a->p->in, "media_limit");
    CHELA_ARGS(chela_done, d, 0);
    if (a->p->closing) {
        d.error = CHELA_E_CANCELLED;
        d.text = chela_s("the channel closes");
        a->over(a, &d);
    } else if (f && chela_json_int(f, "size", 0) > most) {
        d.error = CHELA_E_TOO_LONG;
        chela_arrival_file(a, &d);
    } else if (f) {
        a->fetch(a);
    } else {
        submit(a);
        a->handed = true;
        a->next(a);
    }
}

static bool passing(uint32_t error)
{
    return error == CHELA_E_NETWORK || error == CHELA_E_TIMEOUT || error == CHELA_E_RATE ||
           error == CHELA_E_OVERLOADED || error == CHELA_E_CANCELLED;
}

void chela_arrival_file(struct chela_arrival *a, const struct chela_done *d)
{
    json_object *f = chela_json_at(a->files, a->at), *o = NULL;
    if (passing(d->error)) {
        a->over(a, d);
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
    chela_arrival_go(a);
}

void chela_arrival_no_file(struct chela_arrival *a, const struct chela_reply *r)
{
    CHELA_ARGS(chela_done, d, 0);
    d.error = r->error ? r->error : CHELA_E_PROTOCOL;
    d.retry_after_ms = r->retry_after_ms;
    d.text = chela_s(r->text);
    chela_arrival_file(a, &d);
}
