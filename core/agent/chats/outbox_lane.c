/*
 * The lanes of the outbox: pieces go out one at a time for each chat, in order; what passes by
 * itself is tried again, receipts are stored. Never repeats a send whose outcome is unknown unless
 * the configuration says so. Called by outbox.c and draft.c.
 */
#include "agent/chats/outbox_lane.h"

#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/chats/outbox.h"
#include "agent/chats/traffic.h"
#include "agent/journal/journal.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/loop.h"
#include "host/settings.h"

enum { SEND_MS = 60000, TRIES_MOST = 8, BACK_OFF_MS = 500, BACK_OFF_MOST_MS = 60000 };

/* One piece on its way. */
struct item {
    struct link link;
    char *run, *session, *key; /* run "": a notice, nothing is stored */
    struct json_object *body;
    uint32_t send_class;
    unsigned tries;
    bool query;  /* ask first whether it was sent */
    bool doubt;  /* it may have been sent before a crash, and nobody can tell */
    lane_fn *fn; /* a draft: who is told; it has one try, and nothing is stored */
    void *owner;
    bool draft;
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

struct instance *lane_channel(const char *name)
{
    struct instance *in = instance_find(ROLE_CHANNEL, name);
    const struct chela_channel *c = in ? instance_iface(in)->channel : NULL;
    return c && c->send ? in : NULL;
}

static struct lane *lane_of(struct json_object *body)
{
    CLEANUP(freep)
    char *name = xprintf("%s\n%s\n%s", chela_member(body, "channel"), chela_member(body, "account"),
                         chela_member(body, "chat"));
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
    while (!list_empty(&l->items)) {
        struct item *i = CONTAINER_OF(l->items.next, struct item, link);
        struct error gone = {.class = CHELA_E_GONE, .text = "the gateway ends"};
        if (i->fn)
            i->fn(i->owner, &gone, "");
        item_free(i);
    }
    free(l->name);
    free(l);
}

/* owner: the lane's name, where it waits for this. */
static void receipt_stored(void *owner, const struct error *e)
{
    char *lane = owner;
    if (e)
        log_warning("outbox", "a receipt could not be stored: %s", e->text);
    struct lane *l = lane ? map_get(&lanes, lane) : NULL;
    free(lane);
    if (l && l->storing) {
        l->storing = false;
        pump(l);
    }
}

/* The front piece is over: SENT, FAILED or UNKNOWN, with the service's id or the reason. */
static void settle(struct lane *l, const char *state, const char *external, uint32_t class,
                   const char *why)
{
    struct item *i = CONTAINER_OF(l->items.next, struct item, link);
    struct traffic_piece p = {.channel = chela_member(i->body, "channel"),
                              .account = chela_member(i->body, "account"),
                              .chat = chela_member(i->body, "chat"),
                              .run = i->run,
                              .session = i->session,
                              .key = i->key,
                              .send_class = i->send_class};
    if (class == CHELA_OK)
        traffic_sent(&p, external);
    else
        traffic_failed(&p, state, class, why);
    if (*i->run && !i->draft) {
        bool wait = i->send_class == CHELA_SEND_NEITHER;
        l->storing = wait;
        journal_chunk_state(i->session, i->run, i->key, i->send_class, state, external,
                            receipt_stored, wait ? xstrdup(l->name) : NULL);
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
                    i->key, chela_member(i->body, "chat"));
        settle(l, "UNKNOWN", "", CHELA_E_TIMEOUT, "the connection or the gateway ended meanwhile");
        return;
    }
    CLEANUP(freep)
    char *marked = xprintf("%s\n\n(This may be delivered twice.)", chela_member(i->body, "text"));
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

static uint32_t send_class_of(const struct item *i)
{
    struct instance *in = lane_channel(chela_member(i->body, "channel"));
    return in ? instance_iface(in)->channel->send_class : (uint32_t)CHELA_SEND_NEITHER;
}

/* Whatever came of it: the next draft, or the final, shows more. */
static void draft_over(struct lane *l, struct item *i, const struct chela_done *d, const char *text)
{
    lane_fn *fn = i->fn;
    void *owner = i->owner;
    struct error e = {0};
    if (d->error != CHELA_OK)
        error_set(&e, d->error, "%s", text);
    e.retry_after_ms = d->retry_after_ms;
    CLEANUP(freep) char *name = xstrdup(l->name);
    item_free(i);
    if (d->retry_after_ms) /* the service wants to hear nothing of this chat until then */
        l->timer = loop_timer(d->retry_after_ms, due, l);
    if (fn)
        fn(owner, d->error ? &e : NULL, text);
    l = map_get(&lanes, name);
    if (l)
        pump(l);
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
    if (i->draft) {
        draft_over(l, i, d, text);
        return;
    }
    if (i->query) {
        i->query = false;
        if (d->error == CHELA_OK)
            settle(l, "SENT", text, CHELA_OK, "");
        else if (d->error == CHELA_E_NOT_FOUND)
            pump(l);
        else
            unknown(l);
        return;
    }
    if (d->error == CHELA_OK) {
        settle(l, "SENT", *text ? text : chela_member(i->body, "edits"), CHELA_OK, "");
        return;
    }
    bool effect =
        (d->h.flags & CHELA_EFFECT) || d->error == CHELA_E_TIMEOUT || d->error == CHELA_E_GONE;
    log_warning("outbox", "%s: piece %s: %s (%s)", chela_member(i->body, "channel"), i->key, text,
                error_class_name(d->error));
    if (effect && i->send_class == CHELA_SEND_NEITHER && *i->run) {
        unknown(l);
    } else if (passing(d) && i->tries < TRIES_MOST) {
        i->query = effect && i->send_class == CHELA_SEND_QUERY;
        retry(l, i, d->retry_after_ms);
    } else if (*chela_member(i->body,
                             "edits")) { /* the draft is gone: it becomes a message of its own */
        json_object_object_del(i->body, "edits");
        i->send_class = send_class_of(i);
        i->tries = 0;
        pump(l);
    } else {
        settle(l, "FAILED", "", d->error, text);
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
        const char *text = value ? chela_member(o, value) : chela_json_text(o, NULL);
        p.v[p.n++] = (struct chela_pair){chela_s(chela_member(o, name)), chela_s(text)};
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
    struct instance *in = lane_channel(chela_member(i->body, "channel"));
    if (i->doubt) {
        i->doubt = false;
        unknown(l);
        return;
    }
    if (!in && i->draft) {
        draft_over(l, i, &(struct chela_done){.error = CHELA_E_GONE}, "the channel is not there");
        return;
    }
    if (!in) {
        settle(l, "FAILED", "", CHELA_E_GONE, "the channel is not there");
        return;
    }
    struct pair_list media = pairs_of(chela_json_array(i->body, "media"), "name", NULL);
    struct pair_list buttons = pairs_of(chela_json_array(i->body, "buttons"), "label", "value");
    CHELA_ARGS(chela_send, a, 0);
    a.account = chela_s(chela_member(i->body, "account"));
    a.chat = chela_s(chela_member(i->body, "chat"));
    a.thread = chela_s(chela_member(i->body, "thread"));
    a.reply_to = chela_s(chela_member(i->body, "replyTo"));
    a.key = chela_s(i->key);
    a.message = chela_s(chela_member(i->body, "edits"));
    a.text = chela_s(chela_member(i->body, "text"));
    size_t n;
    const char *extra = chela_json_text(chela_json_object(i->body, "extra"), &n);
    a.extra = chela_sn(extra, n);
    a.media = (struct chela_pairs){media.v, media.n};
    a.buttons = (struct chela_pairs){buttons.v, buttons.n};
    i->tries += !i->query;
    uint32_t fn = i->query      ? CHELA_FN_CHANNEL_FIND
                  : a.message.n ? CHELA_FN_CHANNEL_EDIT
                                : CHELA_FN_CHANNEL_SEND;
    l->call = call_begin(in, fn, &a, SEND_MS, 0, &send_ops, l);
    free(media.v);
    free(buttons.v);
}

void lane_enqueue(const struct lane_piece *p)
{
    struct item *i = xcalloc(1, sizeof *i);
    i->run = xstrdup(p->run);
    i->session = xstrdup(p->session);
    i->key = xstrdup(p->key);
    i->body = p->body;
    i->send_class = p->send_class;
    i->query = p->query;
    i->doubt = p->doubt;
    i->draft = p->draft;
    i->fn = p->fn;
    i->owner = p->owner;
    struct lane *l = lane_of(p->body);
    list_append(&l->items, &i->link);
    pump(l);
}

void lane_forget(const void *owner)
{
    const struct map_slot *slot;
    for (size_t at = 0; map_next(&lanes, &at, &slot);) {
        struct lane *l = slot->value;
        LIST_EACH(k, &l->items)
        {
            struct item *i = CONTAINER_OF(k, struct item, link);
            if (i->owner != owner)
                continue;
            i->fn = NULL;
            i->owner = NULL;
            if (!l->call || k != l->items.next)
                item_free(i);
        }
    }
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
