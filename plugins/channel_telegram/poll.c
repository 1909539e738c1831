/*
 * How updates come: the long poll and its offset, which moves only when they are stored, or the
 * webhook. Called by channel_telegram.c; hands updates on to inbound.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/webhook.h"

#include "telegram.h"

enum { POLL_GRACE_MS = 10000, ALBUM_MS = 500, UNHELD_MS = 500 };

static json_object *wanted_updates(void)
{
    static const char *const kinds[] = {"message", "edited_message", "callback_query",
                                        "message_reaction"};
    json_object *list = chela_json_new_array();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        chela_json_push(list, chela_json_new_string(kinds[i], strlen(kinds[i])));
    return list;
}

/* ---- polling ---- */

static void polled_batch(struct telegram *t, uint64_t call, int64_t next,
                         const struct chela_done *d)
{
    (void)call;
    if (next > t->offset) {
        char text[32];
        t->offset = next;
        snprintf(text, sizeof text, "%lld", (long long)next);
        chela_peer_keep(&t->peer, "offset", text);
    }
    if (d->error == CHELA_OK) {
        poll_begin(t->peer.in, t);
        return;
    }
    char *text = chela_format("a message could not be stored, it comes again: %s", d->text.s);
    chela_peer_say(&t->peer, false, text);
    free(text);
    chela_peer_again(&t->peer, poll_begin, t, d->retry_after_ms);
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

static void polled(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct telegram *t = owner;
    json_object *updates = json_object_is_type(r->result, json_type_array) ? r->result : NULL;
    t->poll = 0;
    if (p->closing || p->stopping)
        return;
    if (r->error != CHELA_OK) {
        telegram_failed(t, r, poll_begin);
        return;
    }
    p->failures = 0;
    chela_peer_say(p, true, "polls");
    if (album_open(t, updates)) {
        p->timer = p->in->host->local->timer(p->in, ALBUM_MS, poll_begin, t);
        return;
    }
    bool unheld = chela_json_length(updates) == 0 &&
                  p->in->host->local->ticks_ms(p->in) - t->polled_at < UNHELD_MS &&
                  chela_option_number(p->in, "poll_timeout") >= 1000;
    if (unheld) { /* a server that answers at once is not to be asked without end */
        p->timer = p->in->host->local->timer(p->in, UNHELD_MS, poll_begin, t);
        return;
    }
    inbound_take(t, updates, 0, polled_batch);
}

void poll_begin(struct chela_inst *in, void *arg)
{
    struct telegram *t = arg;
    int64_t timeout = chela_option_number(in, "poll_timeout") / 1000;
    if (t->peer.closing || t->peer.stopping || t->poll)
        return;
    t->peer.timer = 0;
    t->polled_at = in->host->local->ticks_ms(in);
    json_object *body = chela_json_new_object();
    chela_json_put_int(body, "offset", t->offset);
    chela_json_put_int(body, "timeout", t->peer.failures ? 0 : timeout);
    chela_json_put(body, "allowed_updates", wanted_updates());
    struct chela_api_call c = {.body = body,
                               .timeout_ms = (uint32_t)(timeout * 1000 + POLL_GRACE_MS)};
    t->poll = api_post(t, "getUpdates", c, polled, t);
}

/* ---- webhook ---- */

static void hooked(struct telegram *t, uint64_t call, int64_t next, const struct chela_done *d)
{
    (void)next;
    chela_webhook_answer(&t->peer, call, d->error == CHELA_OK ? 200 : 503);
}

void hook_request(struct chela_inst *in, const struct chela_request *r)
{
    struct telegram *t = in->self;
    json_object *update = chela_webhook_body(&t->peer, r, "x-telegram-bot-api-secret-token");
    if (!update)
        return;
    json_object *list = chela_json_new_array();
    chela_json_push(list, update);
    inbound_take(t, list, r->h.call, hooked);
    json_object_put(list);
}

static void hook_set(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct telegram *t = owner;
    if (p->closing || p->stopping)
        return;
    if (r->error != CHELA_OK) {
        telegram_failed(t, r, hook_begin);
        return;
    }
    p->failures = 0;
    if (t->webhook)
        chela_peer_say(p, true, "its webhook is set");
    else
        poll_begin(p->in, t);
}

void hook_begin(struct chela_inst *in, void *arg)
{
    struct telegram *t = arg;
    json_object *body = chela_json_new_object();
    t->peer.timer = 0;
    if (!t->webhook) {
        chela_json_put_bool(body, "drop_pending_updates", false);
        api_call(t, 0, "deleteWebhook", body, hook_set, t);
        return;
    }
    char *url = chela_webhook_url(&t->peer, "telegram");
    chela_json_put_text(body, "url", url);
    chela_json_put_text(body, "secret_token", chela_option_text(in, "webhook.secret").s);
    chela_json_put(body, "allowed_updates", wanted_updates());
    api_call(t, 0, "setWebhook", body, hook_set, t);
    free(url);
}
