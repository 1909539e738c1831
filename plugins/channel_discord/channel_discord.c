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

static void method(struct chela_inst *in, const struct chela_method *m)
{
    uint64_t *call = chela_probe_open(in, m);
    if (call)
        rest_call(in->self, m->h.call, "GET", "/users/@me", NULL, chela_probe_end, call);
}

static void fetch(struct chela_inst *in, const struct chela_fetch *f)
{
    chela_wanted_slot(in, f, rest_bring);
}

/* ---- life ---- */

static int32_t opened(struct chela_inst *in)
{
    struct discord *d = chela_need(calloc(1, sizeof *d));
    chela_peer_open(&d->peer, in, &api);
    gateway_start(d);
    inbound_start(d);
    d->me = chela_need(strdup(""));
    d->application = chela_need(strdup(""));
    return CHELA_OK;
}

static void closed(struct chela_inst *in)
{
    struct discord *d = in->self;
    chela_peer_close(&d->peer);
    chela_queue_close(&d->queue);
    json_object_put(d->threads);
    chela_history_close(&d->history);
    free(d->me);
    free(d->application);
    free(d->session);
    free(d->resume_url);
    free(d);
}

static void recalled(struct chela_peer *p, json_object *kept)
{
    struct discord *d = (struct discord *)p;
    chela_history_recall(&d->history, kept);
    gateway_open(p->in, d);
}

/* The gateway comes up without Discord: what is wrong is published, and tried again. */
static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct discord *d = in->self;
    chela_peer_recall(&d->peer, CHELA_HISTORY_PREFIX, recalled);
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void socket_event(struct chela_inst *in, const struct chela_ws_event *e)
{
    struct discord *d = in->self;
    chela_socket_event(&d->socket, e);
}

static void stop(struct chela_inst *in, const struct chela_arg *a)
{
    struct discord *d = in->self;
    d->peer.stopping = true;
    in->host->local->timer_stop(in, d->history.timer);
    chela_socket_stop(&d->socket, a->h.call);
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
    .fetch = fetch,
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
    .ws = socket_event,
    .rows = chela_peer_rows,
    .done = chela_peer_done,
    .channel = &channel,
    .service = &service,
};

CHELA_PLUGIN(channel_discord, "0.9.0", "Discord, by its gateway and HTTP API", "MIT", "", &discord);
