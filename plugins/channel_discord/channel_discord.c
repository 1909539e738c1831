/*
 * channel_discord: a bot of Discord as a channel. This file holds its options and its life. It
 * never decides who may write: that is the host's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discord.h"

static const struct chela_option options[] = {
    {"token", CHELA_STRING, CHELA_REQUIRED | CHELA_SECRET | CHELA_REVEAL, NULL,
     "the bot's token, of the developer portal", NULL},
    {"base_url", CHELA_STRING, CHELA_URL, "https://discord.com/api/v10", "another HTTP API", NULL},
    {"cdn_url", CHELA_STRING, CHELA_URL, "https://cdn.discordapp.com",
     "where attachments may come from", NULL},
    {"message_content", CHELA_BOOL, 0, "true",
     "read what is said in guilds without a mention; has to be allowed in the developer portal",
     NULL},
    {"media_limit", CHELA_SIZE, 0, "25M",
     "the largest file that is fetched; larger ones are only named", NULL},
    {"commands", CHELA_BOOL, 0, "true", "tell Discord the commands for its menu", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum { NONCE_MS = 120000, EDIT_MS = 1500 };

/* ---- chela channels status --probe ---- */

static void probed(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    uint64_t *call = owner;
    CHELA_ARGS(chela_done, d, 0);
    d.error = r->error;
    d.text = chela_s(r->error == CHELA_OK ? chela_json_text(r->body, NULL) : r->text);
    chela_peer_end(p, *call, &d);
    free(call);
}

static void method(struct chela_inst *in, const struct chela_method *m)
{
    if (!chela_str_is(m->name, "channel.probe")) {
        chela_end(in, m->h.call, CHELA_E_UNSUPPORTED, "a bot has its token: there is no login");
        return;
    }
    uint64_t *call = chela_need(malloc(sizeof *call));
    *call = m->h.call;
    rest_call(in->self, m->h.call, "GET", "/users/@me", NULL, probed, call);
}

/* ---- life ---- */

static int32_t opened(struct chela_inst *in)
{
    struct discord *d = chela_need(calloc(1, sizeof *d));
    chela_peer_open(&d->peer, in, discord_read);
    d->events = chela_json_new_array();
    d->threads = chela_json_new_object();
    chela_history_open(&d->history, &d->peer, inbound_ask);
    d->me = chela_need(strdup(""));
    d->application = chela_need(strdup(""));
    return CHELA_OK;
}

static void closed(struct chela_inst *in)
{
    struct discord *d = in->self;
    chela_peer_close(&d->peer);
    json_object_put(d->events);
    json_object_put(d->threads);
    chela_history_close(&d->history);
    free(d->me);
    free(d->application);
    free(d->session);
    free(d->resume_url);
    free(d);
}

static void recalled(struct chela_inst *in, const struct chela_rows *r)
{
    struct discord *d = in->self;
    for (uint64_t i = 0; r->columns == 2 && i + 1 < r->values.n; i += 2)
        chela_history_recall(&d->history, r->values.v[i].s, r->values.v[i + 1].s);
}

static void all_recalled(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    (void)d;
    if (!p->closing)
        gateway_open(p->in, owner);
}

/* The gateway comes up without Discord: what is wrong is published, and tried again. */
static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct discord *d = in->self;
    CHELA_ARGS(chela_key, k, in->host->local->new_call(in));
    k.h.tag = chela_peer_tag(&d->peer, all_recalled, d);
    k.key = chela_s(CHELA_HISTORY_PREFIX);
    in->host->kv->list(in, &k);
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void stop(struct chela_inst *in, const struct chela_arg *a)
{
    struct discord *d = in->self;
    d->peer.stopping = true;
    in->host->local->timer_stop(in, d->history.timer);
    gateway_close(d, a->h.call);
}

static const struct chela_channel channel = {
    .size = (uint32_t)sizeof(struct chela_channel),
    .send_class = CHELA_SEND_IDEMPOTENT, /* a nonce that Discord enforces, "the past few minutes" */
    .key_window_ms = NONCE_MS,
    .can = CHELA_CAN_EDIT | CHELA_CAN_THREAD | CHELA_CAN_MEDIA | CHELA_CAN_TYPING |
           CHELA_CAN_BUTTONS | CHELA_CAN_DRAFT,
    .unit = CHELA_UNIT_UTF16, /* never fewer than the characters that Discord speaks of */
    .text_limit = 2000,
    .dialect = "discord",
    .platform = "discord",
    .send = outbound_send,
    .edit = outbound_edit,
    .typing = outbound_typing,
    .fetch = outbound_fetch,
    .edit_ms = EDIT_MS,
};

static const struct chela_service service = {
    .size = (uint32_t)sizeof(struct chela_service),
    .method = method,
};

static const struct chela_iface discord = {
    CHELA_IFACE("discord", "a bot of Discord", 0, options),
    .open = opened,
    .close = closed,
    .start = start,
    .stop = stop,
    .ws = gateway_event,
    .rows = recalled,
    .done = chela_peer_done,
    .channel = &channel,
    .service = &service,
};

CHELA_PLUGIN(channel_discord, "0.9.0", "Discord, by its gateway and HTTP API", "MIT", "", &discord);
