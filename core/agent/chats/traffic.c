/*
 * Traffic of channels and receipts (see traffic.h). In memory; what must survive is in the outbox's
 * rows.
 */
#include "agent/chats/traffic.h"

#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include <chela/channel.h>

#include "agent/agents.h"
#include "agent/journal/journal.h"
#include "agent/session.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

enum { SENT_MOST = 4096, FAILURES_MOST = 50, TOLD_MOST = 1000 };

struct traffic {
    uint64_t in_at, out_at, in, out, failed;
    char *error;
};

/* A message that is out; the newest at the end. */
struct sent {
    struct link link;
    char *id; /* its key in `by_id` */
    char *channel, *account, *chat, *run, *session, *key;
    uint32_t send_class;
    int rank; /* of the last receipt: a later one that says less doesn't count */
};

static struct map channels, by_id, told; /* told: "channel\nchat\nclass" that the operator knows */
static struct link all = {&all, &all};
static struct json_object *failures;

static struct traffic *of(const char *channel)
{
    struct traffic *t = map_get(&channels, channel);
    if (t)
        return t;
    t = xcalloc(1, sizeof *t);
    map_set(&channels, channel, t);
    return t;
}

static void traffic_free(void *p)
{
    struct traffic *t = p;
    free(t->error);
    free(t);
}

void traffic_in(const char *channel)
{
    struct traffic *t = of(channel);
    t->in_at = clock_now_ms();
    t->in++;
}

/* ---- what was sent ---- */

static void sent_free(struct sent *s)
{
    list_remove(&s->link);
    map_remove(&by_id, s->id);
    free(s->id);
    free(s->channel);
    free(s->account);
    free(s->chat);
    free(s->run);
    free(s->session);
    free(s->key);
    free(s);
}

static char *id_of(const char *channel, const char *account, const char *chat, const char *message)
{
    return xprintf("%s\n%s\n%s\n%s", channel, account, chat, message);
}

static char *reason_of(const struct traffic_piece *p, uint32_t class)
{
    return xprintf("%s\n%s\n%u", p->channel, p->chat, class);
}

/* It goes again: the next failure is news. */
static void forgive(const struct traffic_piece *p)
{
    CLEANUP(freep) char *chat = xprintf("%s\n%s\n", p->channel, p->chat);
    const struct map_slot *slot;
    char *gone = NULL;
    for (size_t i = 0; !gone && told.count && map_next(&told, &i, &slot);)
        if (strncmp(slot->key, chat, strlen(chat)) == 0)
            gone = xstrdup(slot->key);
    if (gone)
        map_remove(&told, gone);
    free(gone);
}

void traffic_sent(const struct traffic_piece *p, const char *external)
{
    struct traffic *t = of(p->channel);
    t->out_at = clock_now_ms();
    t->out++;
    forgive(p);
    if (!*external)
        return;
    char *id = id_of(p->channel, p->account, p->chat, external);
    struct sent *s = map_get(&by_id, id);
    if (s)
        sent_free(s);
    s = xcalloc(1, sizeof *s);
    s->id = id;
    s->channel = xstrdup(p->channel);
    s->account = xstrdup(p->account);
    s->chat = xstrdup(p->chat);
    s->run = xstrdup(p->run);
    s->session = xstrdup(p->session);
    s->key = xstrdup(p->key);
    s->send_class = p->send_class;
    list_append(&all, &s->link);
    map_set(&by_id, id, s);
    if (by_id.count > SENT_MOST)
        sent_free(CONTAINER_OF(all.next, struct sent, link));
}

/* ---- what failed ---- */

static void operator_told(void *owner, const struct error *e)
{
    (void)owner;
    if (e)
        log_warning("outbox", "the operator could not be told: %s", e->text);
}

/* Into the main session, where the terminal and the page show it; once for a chat and a reason. */
static void tell_operator(const struct traffic_piece *p, const char *state, uint32_t class,
                          const char *why)
{
    CLEANUP(freep) char *reason = reason_of(p, class);
    if (map_get(&told, reason) || told.count >= TOLD_MOST)
        return;
    map_set(&told, reason, &told);
    CLEANUP(freep)
    char *text = xprintf("A message to %s on %s %s: %s", p->chat, p->channel,
                         strcmp(state, "UNKNOWN") == 0
                             ? "may or may not have been delivered, and was not sent again"
                             : "could not be delivered",
                         *why ? why : error_class_name(class));
    CLEANUP(freep) char *session = session_key_full(agents_default(), "");
    session_inject(session, text, "delivery", operator_told, NULL);
}

void traffic_failed(const struct traffic_piece *p, const char *state, uint32_t class,
                    const char *why)
{
    struct traffic *t = of(p->channel);
    t->failed++;
    free(t->error);
    t->error = xstrdup(*why ? why : error_class_name(class));
    if (!failures)
        failures = chela_json_new_array();
    if (chela_json_length(failures) >= FAILURES_MOST)
        json_object_array_del_idx(failures, 0, 1);
    struct json_object *o = chela_json_push_object(failures);
    chela_json_put_text(o, "channel", p->channel);
    chela_json_put_text(o, "account", p->account);
    chela_json_put_text(o, "chat", p->chat);
    chela_json_put_text(o, "run", p->run);
    chela_json_put_text(o, "key", p->key);
    chela_json_put_text(o, "state", state);
    chela_json_put_text(o, "error", t->error);
    chela_json_put_text(o, "class", error_class_name(class));
    chela_json_put_int(o, "at", (int64_t)clock_now_ms());
    log_error("outbox", "%s: a message to %s %s: %s", p->channel, p->chat,
              strcmp(state, "UNKNOWN") == 0 ? "may not have arrived" : "could not be delivered",
              t->error);
    tell_operator(p, state, class, why);
}

/* ---- receipts ---- */

static void receipt_stored(void *owner, const struct error *e)
{
    (void)owner;
    if (e)
        log_warning("outbox", "a receipt could not be stored: %s", e->text);
}

void traffic_receipt(const char *channel, const char *account, const char *chat,
                     const char *message, const char *state, const char *text)
{
    static const struct {
        const char *said, *state;
        int rank;
    } states[] = {{"delivered", "DELIVERED", 1}, {"read", "READ", 2}, {"failed", "FAILED", 3}};
    CLEANUP(freep) char *id = id_of(channel, account, chat, message);
    struct sent *s = map_get(&by_id, id);
    log_debug("outbox", "%s: message %s in %s: %s", channel, message, chat, state);
    for (unsigned i = 0; s && i < ARRAY_LENGTH(states); i++) {
        if (strcmp(states[i].said, state) != 0 || states[i].rank <= s->rank)
            continue;
        s->rank = states[i].rank;
        struct traffic_piece p = {s->channel, s->account, s->chat,      s->run,
                                  s->session, s->key,     s->send_class};
        if (*s->run)
            journal_chunk_state(s->session, s->run, s->key, (uint32_t)CHELA_SEND_IDEMPOTENT,
                                states[i].state, message, receipt_stored, NULL);
        if (states[i].rank == 3)
            traffic_failed(&p, "FAILED", CHELA_E_OTHER, text);
        return;
    }
}

/* ---- shown ---- */

static void put_time(struct json_object *o, const char *name, uint64_t at)
{
    if (at)
        chela_json_put_int(o, name, (int64_t)at);
    else
        chela_json_put(o, name, NULL);
}

void traffic_describe(const char *channel, struct json_object *o)
{
    static const struct traffic nothing;
    const struct traffic *t = map_get(&channels, channel);
    if (!t)
        t = &nothing;
    put_time(o, "lastInboundAt", t->in_at);
    put_time(o, "lastOutboundAt", t->out_at);
    chela_json_put_int(o, "inbound", (int64_t)t->in);
    chela_json_put_int(o, "outbound", (int64_t)t->out);
    chela_json_put_int(o, "failed", (int64_t)t->failed);
    if (t->error)
        chela_json_put_text(o, "lastDeliveryError", t->error);
    else
        chela_json_put(o, "lastDeliveryError", NULL);
}

struct json_object *traffic_failures(void)
{
    return failures ? json_object_get(failures) : chela_json_new_array();
}

void traffic_reset(void)
{
    while (!list_empty(&all))
        sent_free(CONTAINER_OF(all.next, struct sent, link));
    map_free(&by_id, NULL);
    map_free(&channels, traffic_free);
    map_free(&told, NULL);
    memset(&by_id, 0, sizeof by_id);
    memset(&channels, 0, sizeof channels);
    memset(&told, 0, sizeof told);
    json_object_put(failures);
    failures = NULL;
}
