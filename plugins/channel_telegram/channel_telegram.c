/*
 * channel_telegram: a bot of Telegram's Bot API as a channel. This file holds its options and its
 * life: who the bot is, the long poll and its offset, which moves only when updates are stored, or
 * the webhook. It never decides who may write: that is the host's.
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

enum {
    BACK_OFF_MS = 1000,
    BACK_OFF_MOST_MS = 60000,
    POLL_GRACE_MS = 10000,
    COMMANDS_MOST = 100,
    ALBUM_MS = 500
};

static void poll_begin(struct chela_inst *in, void *arg);
static void greet(struct chela_inst *in, void *arg);

/* ---- what people are told ---- */

static void say(struct telegram *t, bool ok, const char *text)
{
    json_object *o = chela_json_new_object();
    chela_json_put_bool(o, "ok", ok);
    chela_json_put_text(o, "text", text);
    const char *state = chela_json_text(o, NULL);
    if (!t->closing && (!t->said || strcmp(t->said, state) != 0)) {
        struct chela_pair item = {CHELA_LIT("state"), chela_s(state)};
        chela_log(t->in, ok ? CHELA_INFO : CHELA_WARN, text);
        chela_publish_list(t->in, CHELA_STATE, ++t->revision, &item, 1);
        free(t->said);
        t->said = tg_need(strdup(state));
    }
    json_object_put(o);
}

static void say_failed(struct telegram *t, const struct reply *r)
{
    char *text;
    if (r->status == 401 || r->status == 404)
        text = tg_format("Telegram does not take the token (%s): get a new one from @BotFather",
                         r->text);
    else if (r->status == 409)
        text =
            tg_format("another program polls with this token, or a webhook is set (%s)", r->text);
    else
        text = tg_format("Telegram can't be reached: %s", r->text);
    say(t, false, text);
    free(text);
}

/* Later, and later each time: up to a minute, or when the service says. */
static void again(struct telegram *t, chela_callback *fn, uint64_t retry_after)
{
    uint64_t wait = BACK_OFF_MS;
    for (unsigned i = 0; i < t->failures && wait < BACK_OFF_MOST_MS; i++)
        wait *= 2;
    if (wait > BACK_OFF_MOST_MS)
        wait = BACK_OFF_MOST_MS;
    wait = wait * 3 / 4 + t->in->host->local->ticks_ms(t->in) % (wait / 2 + 1); /* jitter */
    t->failures++;
    if (t->closing || t->stopping)
        return;
    t->in->host->local->timer_stop(t->in, t->timer);
    t->timer = t->in->host->local->timer(t->in, retry_after > wait ? retry_after : wait, fn, t);
}

/* ---- values that are kept ---- */

static void keep(struct telegram *t, const char *key, const char *value)
{
    if (t->closing)
        return;
    CHELA_ARGS(chela_key, a, t->in->host->local->new_call(t->in));
    a.key = chela_s(key);
    a.value = chela_s(value);
    t->in->host->kv->put(t->in, &a);
}

static void recall(struct telegram *t, const char *key, ended_fn *fn)
{
    CHELA_ARGS(chela_key, a, t->in->host->local->new_call(t->in));
    a.h.tag = tg_pending(t, fn, NULL);
    a.key = chela_s(key);
    t->in->host->kv->get(t->in, &a);
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
    keep(t, "migrated", chela_json_text(t->migrated, NULL));
}

/* ---- polling ---- */

static json_object *wanted_updates(void)
{
    static const char *const kinds[] = {"message", "edited_message", "callback_query",
                                        "message_reaction"};
    json_object *list = chela_json_new_array();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        chela_json_push(list, chela_json_new_string(kinds[i], strlen(kinds[i])));
    return list;
}

static void polled_batch(struct telegram *t, uint64_t call, int64_t next,
                         const struct chela_done *d)
{
    (void)call;
    if (next > t->offset) {
        char text[32];
        t->offset = next;
        snprintf(text, sizeof text, "%lld", (long long)next);
        keep(t, "offset", text);
    }
    if (d->error == CHELA_OK) {
        poll_begin(t->in, t);
        return;
    }
    char *text = tg_format("a message could not be stored, it comes again: %s", d->text.s);
    say(t, false, text);
    free(text);
    again(t, poll_begin, d->retry_after_ms);
}

/* An album comes as single messages: where the list ends in one, it is asked for once more. */
static bool album_open(struct telegram *t, json_object *updates)
{
    size_t n = chela_json_length(updates);
    json_object *last = n ? chela_json_at(updates, n - 1) : NULL;
    int64_t id = chela_json_int(last, "update_id", 0);
    bool open =
        id != t->album && chela_json_has(chela_json_object(last, "message"), "media_group_id");
    t->album = id;
    return open;
}

static void polled(struct telegram *t, void *owner, const struct reply *r)
{
    (void)owner;
    t->poll = 0;
    if (t->closing || t->stopping)
        return;
    if (r->error != CHELA_OK) {
        say_failed(t, r);
        again(t, poll_begin, r->retry_after_ms);
        return;
    }
    t->failures = 0;
    say(t, true, "polls");
    if (album_open(t, r->result)) {
        t->timer = t->in->host->local->timer(t->in, ALBUM_MS, poll_begin, t);
        return;
    }
    inbound_take(t, r->result, 0, polled_batch);
}

static void poll_begin(struct chela_inst *in, void *arg)
{
    struct telegram *t = arg;
    int64_t timeout = chela_option_number(in, "poll_timeout") / 1000;
    if (t->closing || t->stopping || t->poll)
        return;
    t->timer = 0;
    json_object *body = chela_json_new_object();
    chela_json_put_int(body, "offset", t->offset);
    chela_json_put_int(body, "timeout", t->failures ? 0 : timeout);
    chela_json_put(body, "allowed_updates", wanted_updates());
    t->poll =
        api_call(t, 0, "getUpdates", body, (uint32_t)(timeout * 1000 + POLL_GRACE_MS), polled, t);
}

/* ---- webhook ---- */

static bool secret_right(struct telegram *t, const struct chela_request *r)
{
    struct chela_str secret = chela_option_text(t->in, "webhook.secret"), given = {NULL, 0};
    unsigned char differs = 0;
    for (uint64_t i = 0; i < r->headers.n; i++) {
        if (chela_str_is(r->headers.v[i].name, "x-telegram-bot-api-secret-token"))
            given = r->headers.v[i].value;
    }
    if (given.n != secret.n)
        return false;
    for (uint64_t i = 0; i < secret.n; i++)
        differs |= (unsigned char)(secret.s[i] ^ given.s[i]);
    return differs == 0;
}

static void answer_hook(struct telegram *t, uint64_t call, uint32_t status)
{
    CHELA_ARGS(chela_done, d, 0);
    d.http_status = status;
    tg_end(t, call, &d);
}

static void hooked(struct telegram *t, uint64_t call, int64_t next, const struct chela_done *d)
{
    (void)next;
    answer_hook(t, call, d->error == CHELA_OK ? 200 : 503);
}

static void hook(struct chela_inst *in, const struct chela_request *r)
{
    struct telegram *t = in->self;
    json_object *update = NULL;
    if (!secret_right(t, r)) {
        answer_hook(t, r->h.call, 401);
        return;
    }
    if (chela_json_parse(r->body.s, (size_t)r->body.n, NULL, &update, NULL) != 0) {
        answer_hook(t, r->h.call, 400);
        return;
    }
    json_object *list = chela_json_new_array();
    chela_json_push(list, update);
    inbound_take(t, list, r->h.call, hooked);
    json_object_put(list);
}

static void hook_set(struct telegram *t, void *owner, const struct reply *r)
{
    (void)owner;
    if (r->error == CHELA_OK) {
        t->failures = 0;
        if (t->webhook)
            say(t, true, "its webhook is set");
        else
            poll_begin(t->in, t);
        return;
    }
    say_failed(t, r);
    again(t, greet, r->retry_after_ms);
}

static void hook_begin(struct telegram *t)
{
    json_object *body = chela_json_new_object();
    if (!t->webhook) {
        chela_json_put_bool(body, "drop_pending_updates", false);
        api_call(t, 0, "deleteWebhook", body, 0, hook_set, NULL);
        return;
    }
    char *url = tg_format("%s/telegram/%s", chela_option_text(t->in, "webhook.url").s, t->in->name);
    chela_json_put_text(body, "url", url);
    chela_json_put_text(body, "secret_token", chela_option_text(t->in, "webhook.secret").s);
    chela_json_put(body, "allowed_updates", wanted_updates());
    api_call(t, 0, "setWebhook", body, 0, hook_set, NULL);
    free(url);
}

/* ---- the bot and its menu ---- */

static void menu_set(struct telegram *t, void *owner, const struct reply *r)
{
    (void)owner;
    if (r->error != CHELA_OK && !t->closing)
        chela_log(t->in, CHELA_INFO, "Telegram did not take the menu of commands");
}

static bool command_ok(const char *name, const char *description)
{
    size_t n = name ? strlen(name) : 0;
    return n && n <= 32 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == n &&
           description && *description;
}

static void menu_known(struct telegram *t, void *owner, const struct chela_done *d)
{
    json_object *o = NULL, *body = chela_json_new_object();
    (void)owner;
    if (d->error == CHELA_OK)
        chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL);
    json_object *from = chela_json_array(o, "commands"),
                *list = chela_json_put_array(body, "commands");
    for (size_t i = 0; i < chela_json_length(from) && chela_json_length(list) < COMMANDS_MOST;
         i++) {
        json_object *c = chela_json_at(from, i);
        const char *name = chela_json_string(c, "name", NULL),
                   *description = chela_json_string(c, "description", NULL);
        if (!command_ok(name, description))
            continue;
        json_object *to = chela_json_push_object(list);
        chela_json_put_text(to, "command", name);
        chela_json_put_string(to, "description", description,
                              inbound_utf16(description, strlen(description), 256));
    }
    json_object_put(o);
    if (t->closing || chela_json_length(list) == 0)
        json_object_put(body);
    else
        api_call(t, 0, "setMyCommands", body, 0, menu_set, NULL);
}

static void menu_begin(struct telegram *t)
{
    if (!chela_option_number(t->in, "commands"))
        return;
    CHELA_ARGS(chela_invoke, a, t->in->host->local->new_call(t->in));
    a.h.tag = tg_pending(t, menu_known, NULL);
    a.name = chela_s("commands.list");
    a.params = chela_s("{}");
    t->in->host->chat->invoke(t->in, &a);
}

static void greeted(struct telegram *t, void *owner, const struct reply *r)
{
    (void)owner;
    if (t->closing || t->stopping)
        return;
    if (r->error != CHELA_OK) {
        say_failed(t, r);
        again(t, greet, r->retry_after_ms);
        return;
    }
    const char *name = chela_json_string(r->result, "username", NULL);
    t->me = chela_json_int(r->result, "id", 0);
    free(t->username);
    t->username = tg_need(strdup(name ? name : ""));
    menu_begin(t);
    hook_begin(t);
}

static void greet(struct chela_inst *in, void *arg)
{
    struct telegram *t = arg;
    (void)in;
    t->timer = 0;
    api_call(t, 0, "getMe", NULL, 0, greeted, NULL);
}

static void migrated_known(struct telegram *t, void *owner, const struct chela_done *d)
{
    json_object *o = NULL;
    (void)owner;
    if (t->closing)
        return;
    if (d->error == CHELA_OK)
        chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL);
    if (json_object_is_type(o, json_type_object)) {
        json_object_put(t->migrated);
        t->migrated = json_object_get(o);
    }
    json_object_put(o);
    greet(t->in, t);
}

static void offset_known(struct telegram *t, void *owner, const struct chela_done *d)
{
    (void)owner;
    if (t->closing)
        return;
    if (d->error == CHELA_OK && d->text.n)
        t->offset = strtoll(d->text.s, NULL, 10);
    recall(t, "migrated", migrated_known);
}

/* ---- chela channels status --probe ---- */

static void probed(struct telegram *t, void *owner, const struct reply *r)
{
    uint64_t *call = owner;
    CHELA_ARGS(chela_done, d, 0);
    d.error = r->error;
    d.text = chela_s(r->error == CHELA_OK ? chela_json_text(r->result, NULL) : r->text);
    tg_end(t, *call, &d);
    free(call);
}

static void method(struct chela_inst *in, const struct chela_method *m)
{
    if (!chela_str_is(m->name, "channel.probe")) {
        chela_end(in, m->h.call, CHELA_E_UNSUPPORTED, "a bot has its token: there is no login");
        return;
    }
    uint64_t *call = tg_need(malloc(sizeof *call));
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
    struct telegram *t = tg_need(calloc(1, sizeof *t));
    t->in = in;
    t->webhook = webhook;
    t->pending.next = t->pending.before = &t->pending;
    t->migrated = chela_json_new_object();
    t->username = tg_need(strdup(""));
    in->self = t;
    return CHELA_OK;
}

static void closed(struct chela_inst *in)
{
    struct telegram *t = in->self;
    tg_pending_close(t);
    json_object_put(t->migrated);
    free(t->username);
    free(t->said);
    free(t);
}

/* The gateway comes up without Telegram: what is wrong is published, and tried again. */
static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct telegram *t = in->self;
    if (t->webhook) {
        char *path = tg_format("/telegram/%s", in->name);
        struct chela_pair route = {
            chela_s(path), CHELA_LIT("{\"methods\":[\"POST\"],\"body_limit\":1048576,\"auth\":"
                                     "\"none\"}")};
        chela_publish_list(in, CHELA_ROUTES, 1, &route, 1);
        free(path);
    }
    recall(t, "offset", offset_known);
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void stop(struct chela_inst *in, const struct chela_arg *a)
{
    struct telegram *t = in->self;
    t->stopping = true;
    in->host->local->timer_stop(in, t->timer);
    if (t->poll)
        chela_cancel(in, t->poll);
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    tg_ended(in->self, d);
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
    .request = hook,
    .method = method,
};

static const struct chela_iface telegram = {
    CHELA_IFACE("telegram", "a bot of Telegram", 0, options),
    .open = opened,
    .close = closed,
    .start = start,
    .stop = stop,
    .done = done,
    .channel = &channel,
    .service = &service,
};

CHELA_PLUGIN(channel_telegram, "0.9.0", "Telegram, by its Bot API", "MIT", "", &telegram);
