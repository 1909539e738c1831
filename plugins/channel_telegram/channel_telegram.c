/*
 * channel_telegram: a bot of Telegram's Bot API as a channel. This file holds its options and its
 * life, and who the bot is. It never decides who may write: that is the host's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    {"webhook.url", CHELA_STRING, 0, NULL,
     "address of this gateway from outside: updates come there instead of by polling", NULL},
    {"webhook.secret", CHELA_STRING, CHELA_SECRET | CHELA_REVEAL, NULL,
     "what Telegram proves itself with at the webhook (A-Z a-z 0-9 _ -)", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum { COMMANDS_MOST = 100, DESCRIPTION_MOST = 256 };

void telegram_say_failed(struct telegram *t, const struct chela_reply *r)
{
    char *text;
    if (r->status == 401 || r->status == 404)
        text = chela_format("Telegram does not take the token (%s): get a new one from @BotFather",
                            r->text);
    else if (r->status == 409)
        text = chela_format("another program polls with this token, or a webhook is set (%s)",
                            r->text);
    else
        text = chela_format("Telegram can't be reached: %s", r->text);
    chela_peer_say(&t->peer, false, text);
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

static void greet(struct chela_inst *in, void *arg);

static void menu_set(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    (void)owner;
    if (r->error != CHELA_OK && !p->closing)
        chela_log(p->in, CHELA_INFO, "Telegram did not take the menu of commands");
}

static void menu_known(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    json_object *body = chela_json_new_object(), *list = chela_json_put_array(body, "commands");
    chela_commands_list(d, list, "command", COMMANDS_MOST, DESCRIPTION_MOST);
    if (p->closing || chela_json_length(list) == 0)
        json_object_put(body);
    else
        api_call(owner, 0, "setMyCommands", body, 0, menu_set, NULL);
}

static void greeted(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct telegram *t = owner;
    json_object *result = chela_json_object(r->body, "result");
    if (p->closing || p->stopping)
        return;
    if (r->error != CHELA_OK) {
        telegram_say_failed(t, r);
        chela_peer_again(p, greet, t, r->retry_after_ms);
        return;
    }
    const char *name = chela_json_string(result, "username", NULL);
    t->me = chela_json_int(result, "id", 0);
    free(t->username);
    t->username = chela_need(strdup(name ? name : ""));
    if (chela_option_number(p->in, "commands"))
        chela_peer_commands(p, menu_known, t);
    hook_begin(p->in, t);
}

static void greet(struct chela_inst *in, void *arg)
{
    struct telegram *t = arg;
    (void)in;
    t->peer.timer = 0;
    api_call(t, 0, "getMe", NULL, 0, greeted, t);
}

static void migrated_known(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    struct telegram *t = owner;
    json_object *o = NULL;
    if (p->closing)
        return;
    if (d->error == CHELA_OK)
        chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL);
    if (json_object_is_type(o, json_type_object)) {
        json_object_put(t->migrated);
        t->migrated = json_object_get(o);
    }
    json_object_put(o);
    greet(p->in, t);
}

static void offset_known(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    struct telegram *t = owner;
    if (p->closing)
        return;
    if (d->error == CHELA_OK && d->text.n)
        t->offset = strtoll(d->text.s, NULL, 10);
    chela_peer_recall(p, "migrated", migrated_known, t);
}

/* ---- chela channels status --probe ---- */

static void probed(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    uint64_t *call = owner;
    CHELA_ARGS(chela_done, d, 0);
    d.error = r->error;
    d.text =
        chela_s(r->error == CHELA_OK ? chela_json_text(chela_json_object(r->body, "result"), NULL)
                                     : r->text);
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
    api_call(in->self, m->h.call, "getMe", NULL, 0, probed, call);
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
    chela_peer_open(&t->peer, in, api_read);
    t->webhook = webhook;
    t->migrated = chela_json_new_object();
    t->username = chela_need(strdup(""));
    return CHELA_OK;
}

static void closed(struct chela_inst *in)
{
    struct telegram *t = in->self;
    chela_peer_close(&t->peer);
    json_object_put(t->migrated);
    free(t->username);
    free(t);
}

/* The gateway comes up without Telegram: what is wrong is published, and tried again. */
static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct telegram *t = in->self;
    if (t->webhook) {
        char *path = chela_format("/telegram/%s", in->name);
        struct chela_pair route = {
            chela_s(path), CHELA_LIT("{\"methods\":[\"POST\"],\"body_limit\":1048576,\"auth\":"
                                     "\"none\"}")};
        chela_publish_list(in, CHELA_ROUTES, 1, &route, 1);
        free(path);
    }
    chela_peer_recall(&t->peer, "offset", offset_known, t);
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
           CHELA_CAN_TYPING | CHELA_CAN_BUTTONS | CHELA_CAN_DRAFT,
    .unit = CHELA_UNIT_UTF16,
    .text_limit = 4096,
    .dialect = "telegram-html",
    .platform = "telegram",
    .send = outbound_send,
    .edit = outbound_edit,
    .react = outbound_react,
    .typing = outbound_typing,
    .fetch = outbound_fetch,
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
    .done = chela_peer_done,
    .channel = &channel,
    .service = &service,
};

CHELA_PLUGIN(channel_telegram, "0.9.0", "Telegram, by its Bot API", "MIT", "", &telegram);
