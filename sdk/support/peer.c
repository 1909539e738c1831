/*
 * A channel plugin's connection to its service (see peer.h).
 */
#include "support/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/json.h"

enum { BACK_OFF_MS = 1000, BACK_OFF_MOST_MS = 60000 };

void chela_peer_open(struct chela_peer *p, struct chela_inst *in, const struct chela_api *api)
{
    p->in = in;
    p->api = api;
    p->pending.next = p->pending.before = &p->pending;
    p->until = chela_json_new_object();
    in->self = p;
}

/* ---- requests that are under way ---- */

uint64_t chela_peer_tag(struct chela_peer *p, chela_ended_fn *fn, void *owner)
{
    struct chela_pending *q = chela_need(calloc(1, sizeof *q));
    q->p = p;
    q->fn = fn;
    q->owner = owner;
    q->next = &p->pending;
    q->before = p->pending.before;
    q->before->next = q;
    p->pending.before = q;
    return (uint64_t)(uintptr_t)q;
}

static void finish(struct chela_pending *q, const struct chela_done *d)
{
    q->before->next = q->next;
    q->next->before = q->before;
    struct chela_pending copy = *q;
    free(q);
    if (copy.fn)
        copy.fn(copy.p, copy.owner, d);
}

void chela_peer_done(struct chela_inst *in, const struct chela_done *d)
{
    (void)in;
    if (d->h.tag)
        finish((struct chela_pending *)(uintptr_t)d->h.tag, d);
}

void chela_peer_close(struct chela_peer *p)
{
    CHELA_ARGS(chela_done, d, 0);
    d.error = CHELA_E_CANCELLED;
    d.text = chela_s("the channel closes");
    p->closing = true;
    while (p->pending.next != &p->pending)
        finish(p->pending.next, &d);
    free(p->said);
    json_object_put(p->until);
    json_object_put(p->kept);
}

void chela_peer_end(struct chela_peer *p, uint64_t call, const struct chela_done *d)
{
    if (p->closing || !call)
        return;
    struct chela_done copy = *d;
    copy.h.size = (uint32_t)sizeof copy;
    copy.h.call = call;
    copy.h.tag = 0;
    p->in->host->answer->done(p->in, &copy);
}

uint64_t chela_peer_http(struct chela_peer *p, struct chela_http *a, chela_ended_fn *fn,
                         void *owner)
{
    if (p->closing) {
        CHELA_ARGS(chela_done, d, 0);
        d.error = CHELA_E_CANCELLED;
        fn(p, owner, &d);
        return 0;
    }
    a->h.call = p->in->host->local->new_call(p->in);
    a->h.tag = chela_peer_tag(p, fn, owner);
    p->in->host->net->http(p->in, a);
    return a->h.call;
}

/* ---- what people are told ---- */

void chela_peer_say(struct chela_peer *p, bool ok, const char *text)
{
    json_object *o = chela_json_new_object();
    chela_json_put_bool(o, "ok", ok);
    chela_json_put_text(o, "text", text);
    const char *state = chela_json_text(o, NULL);
    if (!p->closing && (!p->said || strcmp(p->said, state) != 0)) {
        struct chela_pair item = {CHELA_LIT("state"), chela_s(state)};
        chela_log(p->in, ok ? CHELA_INFO : CHELA_WARN, text);
        chela_publish_list(p->in, CHELA_STATE, ++p->revision, &item, 1);
        free(p->said);
        p->said = chela_need(strdup(state));
    }
    json_object_put(o);
}

void chela_peer_again(struct chela_peer *p, chela_callback *fn, void *arg, uint64_t least)
{
    const struct chela_local *local = p->in->host->local;
    uint64_t wait = BACK_OFF_MS;
    for (unsigned i = 0; i < p->failures && wait < BACK_OFF_MOST_MS; i++)
        wait *= 2;
    if (wait > BACK_OFF_MOST_MS)
        wait = BACK_OFF_MOST_MS;
    wait = wait * 3 / 4 + local->ticks_ms(p->in) % (wait / 2 + 1); /* jitter */
    p->failures++;
    if (p->closing || p->stopping)
        return;
    local->timer_stop(p->in, p->timer);
    p->timer = local->timer(p->in, least > wait ? least : wait, fn, arg);
}

/* ---- values that are kept ---- */

void chela_peer_keep(struct chela_peer *p, const char *key, const char *value)
{
    if (p->closing)
        return;
    CHELA_ARGS(chela_key, a, p->in->host->local->new_call(p->in));
    a.key = chela_s(key);
    a.value = chela_s(value);
    p->in->host->kv->put(p->in, &a);
}

struct recall {
    chela_recalled_fn *fn;
};

static void recalled(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    struct recall *q = owner;
    json_object *kept = p->kept;
    (void)d; /* what can't be read is not there */
    p->kept = NULL;
    if (!p->closing)
        q->fn(p, kept);
    json_object_put(kept);
    free(q);
}

void chela_peer_recall(struct chela_peer *p, const char *prefix, chela_recalled_fn *fn)
{
    struct recall *q = chela_need(malloc(sizeof *q));
    *q = (struct recall){fn};
    json_object_put(p->kept);
    p->kept = chela_json_new_object();
    CHELA_ARGS(chela_key, a, p->in->host->local->new_call(p->in));
    a.h.tag = chela_peer_tag(p, recalled, q);
    a.key = chela_s(prefix);
    p->in->host->kv->list(p->in, &a);
}

void chela_peer_rows(struct chela_inst *in, const struct chela_rows *r)
{
    struct chela_peer *p = in->self;
    for (uint64_t i = 0; p->kept && r->columns == 2 && i + 1 < r->values.n; i += 2) {
        char *key = chela_copy(r->values.v[i].s);
        chela_json_put_string(p->kept, key, r->values.v[i + 1].s.s, (size_t)r->values.v[i + 1].s.n);
        free(key);
    }
}

/* ---- text ---- */

size_t chela_utf16_bytes(const char *s, size_t n, int64_t units)
{
    size_t i = 0;
    while (i < n && units > 0) {
        unsigned char c = (unsigned char)s[i];
        size_t length = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        units -= length == 4 ? 2 : 1;
        if (units < 0 || i + length > n)
            break;
        i += length;
    }
    return i;
}

void chela_fingerprint(const char *text, char out[25])
{
    uint64_t a = 14695981039346656037u, b = 0x9ae16a3b2f90404fu; /* FNV-1a, from two beginnings */
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        a = (a ^ *p) * 1099511628211u;
        b = (b ^ *p ^ (a >> 32)) * 1099511628211u;
    }
    snprintf(out, 25, "%016llx%08llx", (unsigned long long)a, (unsigned long long)(b >> 32));
}
