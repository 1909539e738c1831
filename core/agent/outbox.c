/*
 * The outbox: replies cut into pieces for their channel, stored with the turn's end, sent one at a
 * time for each chat, their receipts stored. Called by turn.c; asks hooks and channels; never
 * repeats a send whose outcome is unknown unless the configuration says so.
 */
#include "agent/outbox.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/flow.h"
#include "agent/hooks.h"
#include "agent/journal.h"
#include "agent/markup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/loop.h"
#include "host/settings.h"

enum { SEND_MS = 60000, TRIES_MOST = 8, BACK_OFF_MS = 500, BACK_OFF_MOST_MS = 60000 };

struct outbox_chunks {
    struct journal_chunk *rows;
    unsigned count;
};

/* One piece on its way. */
struct item {
    struct link link;
    char *run, *session, *key; /* run "": a notice, nothing is stored */
    struct json_object *body;
    uint32_t send_class;
    unsigned tries;
    bool query; /* ask first whether it was sent */
    bool doubt; /* it may have been sent before a crash, and nobody can tell */
};

struct lane {
    char *name;
    struct link items;
    uint64_t call, timer;
    bool storing; /* a receipt that the next piece waits for */
};

static struct map lanes;

static void pump(struct lane *l);

static void item_free(struct item *i)
{
    list_remove(&i->link);
    free(i->run);
    free(i->session);
    free(i->key);
    json_object_put(i->body);
    free(i);
}

static struct instance *channel_of(const char *name)
{
    struct instance *in = instance_find(ROLE_CHANNEL, name);
    const struct chela_channel *c = in ? instance_iface(in)->channel : NULL;
    return c && c->send ? in : NULL;
}

/* ---- preparing ---- */

struct preparing {
    struct reply *r;
    outbox_fn *fn;
    void *owner;
};

static char *make_body(const struct reply *r, const char *piece, bool first, bool last)
{
    const struct message *m = r->message;
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "channel", m->channel);
    chela_json_put_text(o, "account", m->account);
    chela_json_put_text(o, "chat", m->chat);
    chela_json_put_text(o, "thread", m->thread);
    chela_json_put_text(o, "replyTo", first && m->chat_type != CHELA_DIRECT ? m->event : "");
    chela_json_put_text(o, "text", piece);
    if (last && r->media)
        chela_json_put(o, "media", json_object_get(r->media));
    if (r->extra)
        chela_json_put(o, "extra", json_object_get(r->extra));
    char *text = xstrdup(chela_json_text(o, NULL));
    json_object_put(o);
    return text;
}

static void cut(struct preparing *p)
{
    struct reply *r = p->r;
    struct outbox_chunks *c = xcalloc(1, sizeof *c);
    struct instance *in = channel_of(r->message->channel);
    if (in && *r->text) {
        const struct chela_channel *ch = instance_iface(in)->channel;
        char **pieces;
        c->count = pieces_make(r->text, ch->dialect, ch->text_limit, ch->unit, &pieces);
        c->rows = xcalloc(c->count ? c->count : 1, sizeof *c->rows);
        for (unsigned i = 0; i < c->count; i++) {
            c->rows[i].key = xprintf("%s.%u", r->run, i);
            c->rows[i].body = make_body(r, pieces[i], i == 0, i + 1 == c->count);
            c->rows[i].send_class = ch->send_class;
        }
        pieces_free(pieces, c->count);
    }
    outbox_fn *fn = p->fn;
    void *owner = p->owner;
    free(p);
    fn(owner, c);
}

static void hooks_done(void *owner, const struct hooks_result *h)
{
    struct preparing *p = owner;
    if (h->blocked || h->text) {
        free(p->r->text);
        p->r->text = xstrdup(h->blocked ? "" : h->text);
    }
    cut(p);
}

void outbox_prepare(struct reply *r, outbox_fn *fn, void *owner)
{
    struct preparing *p = xcalloc(1, sizeof *p);
    p->r = r;
    p->fn = fn;
    p->owner = owner;
    if (!*r->text || !hooks_any(CHELA_MESSAGE_OUT)) {
        cut(p);
        return;
    }
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "text", r->text);
    chela_json_put_text(o, "channel", r->message->channel);
    chela_json_put_text(o, "chat", r->message->chat);
    chela_json_put_text(o, "run", r->run);
    hooks_ask(CHELA_MESSAGE_OUT, r->message->channel, r->session, o, "text", hooks_done, p);
}

const struct journal_chunk *outbox_rows(const struct outbox_chunks *chunks, unsigned *ret_count)
{
    *ret_count = chunks->count;
    return chunks->rows;
}

void outbox_drop(struct outbox_chunks *c)
{
    if (!c)
        return;
    for (unsigned i = 0; i < c->count; i++) {
        free((char *)(uintptr_t)c->rows[i].key);
        free((char *)(uintptr_t)c->rows[i].body);
    }
    free(c->rows);
    free(c);
}

/* ---- sending ---- */

static const char *of(struct json_object *o, const char *key)
{
    const char *s = chela_json_string(o, key, NULL);
    return s ? s : "";
}

static struct lane *lane_of(struct json_object *body)
{
    CLEANUP(freep)
    char *name = xprintf("%s\n%s\n%s", of(body, "channel"), of(body, "account"), of(body, "chat"));
    struct lane *l = map_get(&lanes, name);
    if (l)
        return l;
    l = xcalloc(1, sizeof *l);
    l->name = xstrdup(name);
    list_init(&l->items);
    map_set(&lanes, name, l);
    return l;
}

static void lane_free(void *p)
{
    struct lane *l = p;
    loop_timer_stop(l->timer);
    call_forget(l->call);
    while (!list_empty(&l->items))
        item_free(CONTAINER_OF(l->items.next, struct item, link));
    free(l->name);
    free(l);
}

static void receipt_stored(void *owner, const struct error *e)
{
    char *lane = owner;
    if (e)
        log_warning("outbox", "a receipt could not be stored: %s", e->text);
    struct lane *l = *lane ? map_get(&lanes, lane) : NULL;
    free(lane);
    if (l && l->storing) {
        l->storing = false;
        pump(l);
    }
}

/* The front piece is over: SENT, FAILED or UNKNOWN. */
static void settle(struct lane *l, const char *state, const char *external)
{
    struct item *i = CONTAINER_OF(l->items.next, struct item, link);
    if (*i->run) {
        bool wait = i->send_class == CHELA_SEND_NEITHER;
        l->storing = wait;
        journal_chunk_state(i->session, i->run, i->key, i->send_class, state, external,
                            receipt_stored, xstrdup(wait ? l->name : ""));
    }
    item_free(i);
    pump(l);
}

static bool resend_unknown(void)
{
    return strcmp(settings_text(settings_now(), "on_unknown"), "resend") == 0;
}

/* Nobody can tell whether it was sent. */
static void unknown(struct lane *l)
{
    struct item *i = CONTAINER_OF(l->items.next, struct item, link);
    if (!resend_unknown()) {
        log_warning("outbox",
                    "delivery unknown: piece %s to %s; not sent again "
                    "(on_unknown = \"hold\")",
                    i->key, of(i->body, "chat"));
        settle(l, "UNKNOWN", "");
        return;
    }
    CLEANUP(freep)
    char *marked = xprintf("%s\n\n(This may be delivered twice.)", of(i->body, "text"));
    chela_json_put_text(i->body, "text", marked);
    i->send_class = CHELA_SEND_IDEMPOTENT; /* decided: from here on it is only repeated */
    pump(l);
}

static void due(void *arg)
{
    struct lane *l = arg;
    l->timer = 0;
    pump(l);
}

static bool passing(const struct chela_done *d)
{
    if (d->h.flags & CHELA_RETRY)
        return true;
    switch (d->error) {
    case CHELA_E_RATE:
    case CHELA_E_NETWORK:
    case CHELA_E_TIMEOUT:
    case CHELA_E_OVERLOADED:
    case CHELA_E_BUSY:
    case CHELA_E_GONE: return true;
    default: return false;
    }
}

static void retry(struct lane *l, struct item *i, uint64_t retry_after)
{
    uint64_t wait = BACK_OFF_MS;
    for (unsigned k = 1; k < i->tries && wait < BACK_OFF_MOST_MS; k++)
        wait *= 2;
    l->timer = loop_timer(retry_after > wait ? retry_after : wait, due, l);
}

static void sent(void *owner, uint64_t call, const struct chela_done *d,
                 const struct chela_decide *v)
{
    struct lane *l = owner;
    struct item *i = CONTAINER_OF(l->items.next, struct item, link);
    (void)call;
    (void)v;
    l->call = 0;
    CLEANUP(freep) char *text = xmemdup(d->text.s ? d->text.s : "", d->text.n);
    if (i->query) {
        i->query = false;
        if (d->error == CHELA_OK)
            settle(l, "SENT", text);
        else if (d->error == CHELA_E_NOT_FOUND)
            pump(l);
        else
            unknown(l);
        return;
    }
    if (d->error == CHELA_OK) {
        settle(l, "SENT", text);
        return;
    }
    bool effect =
        (d->h.flags & CHELA_EFFECT) || d->error == CHELA_E_TIMEOUT || d->error == CHELA_E_GONE;
    log_warning("outbox", "%s: piece %s: %s (%s)", of(i->body, "channel"), i->key, text,
                error_class_name(d->error));
    if (effect && i->send_class == CHELA_SEND_NEITHER && *i->run) {
        unknown(l);
    } else if (passing(d) && i->tries < TRIES_MOST) {
        i->query = effect && i->send_class == CHELA_SEND_QUERY;
        retry(l, i, d->retry_after_ms);
    } else {
        settle(l, "FAILED", "");
    }
}

static const struct call_ops send_ops = {NULL, sent};

struct pair_list {
    struct chela_pair *v;
    unsigned n;
};

static struct pair_list pairs_of(struct json_object *list, const char *name, const char *value)
{
    struct pair_list p = {0};
    p.v = xcalloc(chela_json_length(list) + 1, sizeof *p.v);
    for (size_t i = 0; i < chela_json_length(list); i++) {
        struct json_object *o = chela_json_at(list, i);
        const char *text = value ? of(o, value) : chela_json_text(o, NULL);
        p.v[p.n++] = (struct chela_pair){chela_s(of(o, name)), chela_s(text)};
    }
    return p;
}

static void pump(struct lane *l)
{
    if (l->call || l->timer || l->storing)
        return;
    if (list_empty(&l->items)) {
        map_remove(&lanes, l->name);
        lane_free(l);
        return;
    }
    struct item *i = CONTAINER_OF(l->items.next, struct item, link);
    struct instance *in = channel_of(of(i->body, "channel"));
    if (i->doubt) {
        i->doubt = false;
        unknown(l);
        return;
    }
    if (!in) {
        settle(l, "FAILED", "");
        return;
    }
    struct pair_list media = pairs_of(chela_json_array(i->body, "media"), "name", NULL);
    struct pair_list buttons = pairs_of(chela_json_array(i->body, "buttons"), "label", "value");
    CHELA_ARGS(chela_send, a, 0);
    a.account = chela_s(of(i->body, "account"));
    a.chat = chela_s(of(i->body, "chat"));
    a.thread = chela_s(of(i->body, "thread"));
    a.reply_to = chela_s(of(i->body, "replyTo"));
    a.key = chela_s(i->key);
    a.text = chela_s(of(i->body, "text"));
    size_t n;
    const char *extra = chela_json_text(chela_json_object(i->body, "extra"), &n);
    a.extra = chela_sn(extra, n);
    a.media = (struct chela_pairs){media.v, media.n};
    a.buttons = (struct chela_pairs){buttons.v, buttons.n};
    i->tries += !i->query;
    l->call = call_begin(in, i->query ? CHELA_FN_CHANNEL_FIND : CHELA_FN_CHANNEL_SEND, &a, SEND_MS,
                         0, &send_ops, l);
    free(media.v);
    free(buttons.v);
}

static void enqueue(const char *run, const char *session, const char *key, struct json_object *body,
                    uint32_t send_class, bool query, bool doubt)
{
    struct item *i = xcalloc(1, sizeof *i);
    i->run = xstrdup(run);
    i->session = xstrdup(session);
    i->key = xstrdup(key);
    i->body = body;
    i->send_class = send_class;
    i->query = query;
    i->doubt = doubt;
    struct lane *l = lane_of(body);
    list_append(&l->items, &i->link);
    pump(l);
}

void outbox_send(struct reply *r, struct outbox_chunks *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        struct json_object *body = NULL;
        if (chela_json_parse(c->rows[i].body, strlen(c->rows[i].body), NULL, &body, NULL) == 0)
            enqueue(r->run, r->session, c->rows[i].key, body, c->rows[i].send_class, false, false);
    }
    outbox_drop(c);
    reply_free(r);
}

void outbox_resume(const struct outbox_left *left)
{
    struct json_object *body = NULL;
    if (chela_json_parse(left->body, strlen(left->body), NULL, &body, NULL) != 0)
        return;
    struct instance *in = instance_find(ROLE_CHANNEL, of(body, "channel"));
    const struct chela_channel *c = in ? instance_iface(in)->channel : NULL;
    uint64_t age = clock_now_ms() > left->at ? clock_now_ms() - left->at : 0;
    uint32_t class = left->send_class;
    if (class == CHELA_SEND_IDEMPOTENT && c && age > c->key_window_ms)
        class = c->find ? CHELA_SEND_QUERY : CHELA_SEND_NEITHER;
    if (class == CHELA_SEND_QUERY && c && !c->find)
        class = CHELA_SEND_NEITHER;
    enqueue(left->run, left->session, left->key, body, class, class == CHELA_SEND_QUERY,
            class == CHELA_SEND_NEITHER);
}

void outbox_notice(const struct message *m, const char *text, struct json_object *buttons)
{
    struct instance *in = channel_of(m->channel);
    if (!in || !*text)
        return;
    const struct chela_channel *c = instance_iface(in)->channel;
    char **pieces;
    unsigned count = pieces_make(text, c->dialect, c->text_limit, c->unit, &pieces);
    for (unsigned i = 0; i < count; i++) {
        struct json_object *o = chela_json_new_object();
        chela_json_put_text(o, "channel", m->channel);
        chela_json_put_text(o, "account", m->account);
        chela_json_put_text(o, "chat", m->chat);
        chela_json_put_text(o, "thread", m->thread);
        chela_json_put_text(o, "text", pieces[i]);
        if (buttons && i + 1 == count && (c->can & CHELA_CAN_BUTTONS))
            chela_json_put(o, "buttons", json_object_get(buttons));
        CLEANUP(freep) char *key = xprintf("notice.%s.%u", m->event, i);
        enqueue("", "", key, o, CHELA_SEND_NEITHER, false, false);
    }
    pieces_free(pieces, count);
}

void outbox_typing(const struct message *m, bool on)
{
    struct instance *in = instance_find(ROLE_CHANNEL, m->channel);
    const struct chela_channel *c = in ? instance_iface(in)->channel : NULL;
    if (!c || !c->typing || !(c->can & CHELA_CAN_TYPING))
        return;
    CHELA_ARGS(chela_send, a, 0);
    a.account = chela_s(m->account);
    a.chat = chela_s(m->chat);
    a.thread = chela_s(m->thread);
    a.text = chela_s(on ? "on" : "off");
    call_tell(in, CHELA_FN_CHANNEL_TYPING, &a);
}

unsigned outbox_waiting(void)
{
    unsigned n = 0;
    const struct map_slot *slot;
    for (size_t i = 0; map_next(&lanes, &i, &slot);) {
        const struct lane *l = slot->value;
        for (const struct link *k = l->items.next; k != &l->items; k = k->next)
            n++;
    }
    return n;
}

void outbox_reset(void)
{
    map_free(&lanes, lane_free);
    memset(&lanes, 0, sizeof lanes);
}
