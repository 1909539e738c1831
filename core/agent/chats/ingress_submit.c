/*
 * What plugins submit: a message of a channel becomes a struct message and goes to ingress.c, how
 * it ended goes back; receipts go to traffic.c.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/chats/ingress.h"
#include "agent/chats/traffic.h"
#include "agent/flow.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "host/call.h"

enum { EXTRA_BYTES = 256 << 10, MEDIA_MOST = 32, EARLY_MOST = 1000 };

static char *copy(struct chela_str s)
{
    return xmemdup(s.s ? s.s : "", s.n);
}

static struct json_object *parse_object(struct chela_str s)
{
    struct json_object *o = NULL;
    if (s.n && s.n <= EXTRA_BYTES && chela_json_parse(s.s, s.n, NULL, &o, NULL) == 0 &&
        json_object_is_type(o, json_type_object))
        return o;
    json_object_put(o);
    return NULL;
}

static struct json_object *media_of(struct chela_pairs pairs)
{
    if (pairs.n == 0)
        return NULL;
    struct json_object *list = chela_json_new_array();
    for (uint64_t i = 0; i < pairs.n && i <= MEDIA_MOST; i++) {
        struct json_object *o = parse_object(pairs.v[i].value);
        if (!o)
            o = chela_json_new_object();
        chela_json_put_string(o, "name", pairs.v[i].name.s ? pairs.v[i].name.s : "",
                              pairs.v[i].name.n);
        chela_json_push(list, o);
    }
    return list;
}

struct submit {
    struct link link; /* of `early` */
    uint64_t call;
    char *channel, *event;
    struct message *m; /* while it waits */
};

/* Plugins start before the agent has read what a crash left: what they hand over meanwhile waits,
 * in its order, so that no plugin has to know when to ask again. */
static struct link early = {&early, &early};
static unsigned early_count;
static bool is_open;

static void submit_free(struct submit *s)
{
    list_remove(&s->link);
    message_free(s->m);
    free(s->channel);
    free(s->event);
    free(s);
}

static void submitted(void *owner, const char *run, const struct error *e)
{
    struct submit *s = owner;
    if (e) {
        call_answer_error(s->call, e->class, e->text);
    } else {
        CHELA_ARGS(chela_done, d, 0);
        d.text = chela_s(run);
        call_answer(s->call, &d);
    }
    ingress_client_submitted(s->channel, s->event, run, e);
    submit_free(s);
}

static void hand_on(struct submit *s)
{
    struct message *m = s->m;
    s->m = NULL;
    ingress_client_amend(m);
    ingress_accept(m, submitted, s);
}

static void plugin_submits(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_submit *q = args;
    const struct chela_channel *c = instance_iface(in)->channel;
    struct message *m = xcalloc(1, sizeof *m);
    m->channel = xstrdup(instance_name(in));
    m->platform = xstrdup(c && c->platform ? c->platform : instance_type(in));
    m->kind = q->kind.n ? copy(q->kind) : xstrdup("message");
    m->event = copy(q->event);
    m->version = q->version;
    m->account = copy(q->account);
    m->chat = copy(q->chat);
    m->thread = copy(q->thread);
    m->chat_type = q->chat_type;
    m->flags = q->h.flags & (CHELA_MENTIONED | CHELA_OWNER | CHELA_BUTTON);
    m->sender = copy(q->sender);
    m->sender_name = copy(q->sender_name);
    m->session = copy(q->session);
    m->text = copy(q->text);
    m->reply_to = copy(q->reply_to);
    m->quote = copy(q->quote);
    m->media = media_of(q->media);
    m->extra = parse_object(q->extra);
    m->at = q->at ? q->at : clock_now_ms() / 1000;
    struct submit *s = xcalloc(1, sizeof *s);
    s->call = id;
    s->channel = xstrdup(m->channel);
    s->event = xstrdup(m->event);
    s->m = m;
    list_init(&s->link);
    if (is_open) {
        hand_on(s);
    } else if (early_count < EARLY_MOST) {
        early_count++;
        list_append(&early, &s->link);
    } else {
        call_answer_error(id, CHELA_E_BUSY, "the gateway is starting");
        submit_free(s);
    }
}

void ingress_open(void)
{
    is_open = true;
    while (!list_empty(&early)) {
        struct submit *s = CONTAINER_OF(early.next, struct submit, link);
        list_remove(&s->link);
        hand_on(s);
    }
    early_count = 0;
}

void ingress_submit_reset(void)
{
    is_open = false;
    while (!list_empty(&early))
        submit_free(CONTAINER_OF(early.next, struct submit, link));
    early_count = 0;
}

static void plugin_receipt(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_receipt *r = args;
    (void)id;
    CLEANUP(freep) char *account = copy(r->account);
    CLEANUP(freep) char *chat = copy(r->chat);
    CLEANUP(freep) char *message = copy(r->message);
    CLEANUP(freep) char *state = copy(r->state);
    CLEANUP(freep) char *text = copy(r->text);
    traffic_receipt(instance_name(in), account, chat, message, state, text);
}

void ingress_register(void)
{
    call_handle(CHELA_FN_SUBMIT, plugin_submits, NULL);
    call_handle(CHELA_FN_RECEIPT, plugin_receipt, NULL);
}
