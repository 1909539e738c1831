/*
 * channel_telegram: a bot of Telegram's Bot API as a channel. This file holds its options and its
 * life, and who the bot is. It never decides who may write: that is the host's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/menu.h"
#include "support/webhook.h"

#include "telegram.h"

static const struct chela_option options[] = {
    {"token", CHELA_STRING, CHELA_REQUIRED | CHELA_SECRET, NULL, "the bot's token, of @BotFather",
     NULL},
    {"base_url", CHELA_STRING, CHELA_URL, "https://api.telegram.org",
     "another Bot API server, e.g. one of your own", NULL},
    {"poll_timeout", CHELA_DURATION, 0, "50s", "how long Telegram may hold a poll", NULL},
    {"media_limit", CHELA_SIZE, 0, "20M",
     "the largest file that is fetched; larger ones are only named", NULL},
    {"commands", CHELA_BOOL, 0, "true", "tell Telegram the commands for its menu", NULL},
    {"previews", CHELA_BOOL, 0, "true",
     "an answer grows in a private chat as a draft that passes by itself, where the bot may show "
     "them; else in a message that is edited",
     NULL},
    {"webhook.url", CHELA_STRING, 0, NULL,
     "address of this gateway from outside: updates come there instead of by polling", NULL},
    {"webhook.secret", CHELA_STRING, CHELA_SECRET | CHELA_REVEAL, NULL,
     "what Telegram proves itself with at the webhook (A-Z a-z 0-9 _ -)", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum { COMMANDS_MOST = 100, DESCRIPTION_MOST = 256 };

void telegram_failed(struct telegram *t, const struct chela_reply *r, chela_callback *again)
{
    if (r->status != 409) {
        chela_api_failed(&t->peer, r, again, t);
        return;
    }
    char *text =
        chela_format("another program polls with this token, or a webhook is set (%s)", r->text);
    chela_peer_say(&t->peer, false, text);
    chela_peer_again(&t->peer, again, t, r->retry_after_ms);
    free(text);
}

const char *migrated_id(const struct telegram *t, const char *chat)
{
    const char *id = chela_json_string(t->migrated, chat, NULL);
    return id ? id : chat;
}

void migrated_set(struct telegram *t, const char *chat, int64_t id)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)id);
    chela_json_put_text(t->migrated, chat, text);
    chela_peer_keep(&t->peer, "migrated", chela_json_text(t->migrated, NULL));
}

/* ---- the bot and its menu ---- */

static void set_menu(struct chela_peer *p, json_object *list)
{
    static char what[] = "the menu of commands";
    json_object *body = chela_json_new_object();
    chela_json_put(body, "commands", list);
    api_call((struct telegram *)p, 0, "setMyCommands", body, chela_api_unneeded, what);
}

static const struct chela_menu menu = {"command", COMMANDS_MOST, DESCRIPTION_MOST, set_menu};

static void greet(struct chela_inst *in, void *arg);

static void greeted(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct telegram *t = owner;
    if (p->closing || p->stopping)
        return;
    if (r->error != CHELA_OK) {
        telegram_failed(t, r, greet);
        return;
    }
    t->me = chela_json_int(r->result, "id", 0);
    free(t->username);
    t->username = chela_need(strdup(chela_member(r->result, "username")));
    chela_menu_begin(p, &menu);
    hook_begin(p->in, t);
}

static void greet(struct chela_inst *in, void *arg)
{
    struct telegram *t = arg;
    (void)in;
    t->peer.timer = 0;
    api_call(t, 0, "getMe", NULL, greeted, t);
}

static void recalled(struct chela_peer *p, json_object *kept)
{
    struct telegram *t = (struct telegram *)p;
    const char *migrated = chela_member(kept, "migrated");
    json_object *o = NULL;
    chela_json_parse(migrated, strlen(migrated), NULL, &o, NULL);
    if (json_object_is_type(o, json_type_object)) {
        json_object_put(t->migrated);
        t->migrated = json_object_get(o);
    }
    json_object_put(o);
    t->offset = strtoll(chela_member(kept, "offset"), NULL, 10);
    greet(p->in, t);
}

static void method(struct chela_inst *in, const struct chela_method *m)
{
    uint64_t *call = chela_probe_open(in, m);
    if (call)
        api_call(in->self, m->h.call, "getMe", NULL, chela_probe_end, call);
}

static void fetch(struct chela_inst *in, const struct chela_fetch *f)
{
    chela_wanted_slot(in, f, api_bring);
}

/* ---- life ---- */

static int32_t opened(struct chela_inst *in)
{
    bool webhook = chela_option_text(in, "webhook.url").n > 0;
    if (webhook && chela_option_text(in, "webhook.secret").n == 0) {
        chela_log(in, CHELA_ERR, "webhook.secret: without it anybody could post updates");
        return CHELA_E_ARGS;
    }
    if (chela_option_number(in, "poll_timeout") > 3600000) {
        chela_log(in, CHELA_ERR, "poll_timeout: an hour is the most");
        return CHELA_E_ARGS;
    }
    struct telegram *t = chela_need(calloc(1, sizeof *t));
    chela_peer_open(&t->peer, in, &api);
    t->webhook = webhook;
    t->migrated = chela_json_new_object();
    t->username = chela_need(strdup(""));
    t->path = chela_format("/bot%s/", chela_option_text(in, "token").s);
    return CHELA_OK;
}

static void closed(struct chela_inst *in)
{
    struct telegram *t = in->self;
    chela_peer_close(&t->peer);
    json_object_put(t->migrated);
    free(t->username);
    free(t->path);
    free(t);
}

/* The gateway comes up without Telegram: what is wrong is published, and tried again. */
static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct telegram *t = in->self;
    if (t->webhook)
        chela_webhook_publish(&t->peer, "telegram");
    chela_peer_recall(&t->peer, "", recalled);
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void stop(struct chela_inst *in, const struct chela_arg *a)
{
    struct telegram *t = in->self;
    t->peer.stopping = true;
    in->host->local->timer_stop(in, t->peer.timer);
    if (t->poll)
        chela_cancel(in, t->poll);
    chela_end(in, a->h.call, CHELA_OK, "");
}

static const struct chela_channel channel = {
    .size = (uint32_t)sizeof(struct chela_channel),
    .send_class = CHELA_SEND_NEITHER, /* the Bot API knows no key of ours, and no history */
    .can = CHELA_CAN_EDIT | CHELA_CAN_THREAD | CHELA_CAN_MEDIA | CHELA_CAN_REACT |
           CHELA_CAN_TYPING | CHELA_CAN_BUTTONS | CHELA_CAN_DRAFT | CHELA_CAN_PREVIEW,
    .unit = CHELA_UNIT_UTF16,
    .text_limit = 4096,
    .dialect = "telegram-html",
    .platform = "telegram",
    .send = outbound_send,
    .edit = outbound_edit,
    .react = outbound_react,
    .typing = outbound_typing,
    .fetch = fetch,
    .edit_ms = 1500,
};

static const struct chela_service service = {
    .size = (uint32_t)sizeof(struct chela_service),
    .request = hook_request,
    .method = method,
};

static const struct chela_iface telegram = {
    CHELA_IFACE("telegram", "a bot of Telegram", 0, options),
    .open = opened,
    .close = closed,
    .start = start,
    .stop = stop,
    .rows = chela_peer_rows,
    .done = chela_peer_done,
    .channel = &channel,
    .service = &service,
};

CHELA_PLUGIN(channel_telegram, "0.9.0", "Telegram, by its Bot API", "MIT", "", &telegram);
