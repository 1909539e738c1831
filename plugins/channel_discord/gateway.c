/*
 * Discord's gateway, version 10: one WebSocket, its session, the heartbeat. A connection that dies
 * is resumed where it was; a session that Discord does not know any more is begun anew; what
 * Discord refuses for good is said and not tried again. Hands the events on to inbound.c.
 *
 * Format: Discord's documentation for developers, "Gateway".
 */
#include <stdlib.h>
#include <string.h>

#include "discord.h"

/* Events that we want: guilds, their messages and reactions, direct messages and reactions. */
enum {
    INTENT_GUILDS = 1 << 0,
    INTENT_GUILD_MESSAGES = 1 << 9,
    INTENT_GUILD_REACTIONS = 1 << 10,
    INTENT_DIRECT_MESSAGES = 1 << 12,
    INTENT_DIRECT_REACTIONS = 1 << 13,
    INTENT_CONTENT = 1 << 15 /* what they say: has to be allowed in the developer portal */
};

enum opcode {
    OP_DISPATCH = 0,
    OP_HEARTBEAT = 1,
    OP_IDENTIFY = 2,
    OP_RESUME = 6,
    OP_RECONNECT = 7,
    OP_INVALID = 9,
    OP_HELLO = 10,
    OP_ACK = 11
};

enum { GREETING_MS = 30000, INTERVAL_LEAST_MS = 50, INTERVAL_MOST_MS = 600000, ANEW_MS = 1000 };

static void send_op(struct discord *d, enum opcode op, json_object *data)
{
    struct chela_inst *in = d->peer.in;
    json_object *o = chela_json_new_object();
    chela_json_put_int(o, "op", op);
    chela_json_put(o, "d", data);
    size_t n;
    const char *text = chela_json_text(o, &n);
    CHELA_ARGS(chela_ws_send, s, d->socket);
    s.kind = CHELA_WS_TEXT;
    s.data = chela_sn(text, n);
    in->host->net->ws_send(in, &s);
    json_object_put(o);
}

static void stop_timer(struct discord *d, uint64_t *timer)
{
    d->peer.in->host->local->timer_stop(d->peer.in, *timer);
    *timer = 0;
}

static void forget_session(struct discord *d)
{
    free(d->session);
    free(d->resume_url);
    d->session = d->resume_url = NULL;
    d->seq = 0;
}

/* The connection is over, for us; the next one comes by itself. */
static void drop(struct discord *d, const char *why, uint64_t least)
{
    uint64_t socket = d->socket;
    d->socket = 0;
    stop_timer(d, &d->beat);
    if (socket)
        chela_cancel(d->peer.in, socket);
    if (d->peer.stopping || d->peer.closing)
        return;
    chela_peer_say(&d->peer, false, why);
    chela_peer_again(&d->peer, gateway_open, d, least);
}

/* ---- the heartbeat ---- */

static void heartbeat(struct discord *d)
{
    send_op(d, OP_HEARTBEAT, d->seq ? json_object_new_int64(d->seq) : NULL);
}

static void beat_due(struct chela_inst *in, void *arg)
{
    struct discord *d = arg;
    d->beat = 0;
    if (!d->acked) {
        drop(d, "Discord has not answered the heartbeat: the connection is dead", 0);
        return;
    }
    d->acked = false;
    heartbeat(d);
    d->beat = in->host->local->timer(in, d->interval, beat_due, d);
}

static void silent(struct chela_inst *in, void *arg)
{
    struct discord *d = arg;
    (void)in;
    d->beat = 0;
    drop(d, "Discord has not greeted us in time", 0);
}

/* ---- the session ---- */

static void identify(struct discord *d)
{
    json_object *o = chela_json_new_object(), *properties;
    int64_t intents = INTENT_GUILDS | INTENT_GUILD_MESSAGES | INTENT_GUILD_REACTIONS |
                      INTENT_DIRECT_MESSAGES | INTENT_DIRECT_REACTIONS;
    if (chela_option_number(d->peer.in, "message_content"))
        intents |= INTENT_CONTENT;
    chela_json_put_text(o, "token", chela_option_text(d->peer.in, "token").s);
    chela_json_put_int(o, "intents", intents);
    properties = chela_json_put_object(o, "properties");
    chela_json_put_text(properties, "os", "linux");
    chela_json_put_text(properties, "browser", "chela");
    chela_json_put_text(properties, "device", "chela");
    send_op(d, OP_IDENTIFY, o);
}

static void resume(struct discord *d)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "token", chela_option_text(d->peer.in, "token").s);
    chela_json_put_text(o, "session_id", d->session);
    chela_json_put_int(o, "seq", d->seq);
    send_op(d, OP_RESUME, o);
}

static void hello(struct discord *d, json_object *data)
{
    struct chela_inst *in = d->peer.in;
    int64_t ms = chela_json_int(data, "heartbeat_interval", 0);
    if (ms < INTERVAL_LEAST_MS || ms > INTERVAL_MOST_MS) {
        drop(d, "Discord's greeting has no heartbeat interval", 0);
        return;
    }
    char noise[25]; /* so that many accounts do not beat at one moment */
    chela_fingerprint(in->name, noise);
    noise[8] = '\0';
    d->interval = (uint64_t)ms;
    d->acked = true;
    stop_timer(d, &d->beat);
    uint64_t first = (in->host->local->ticks_ms(in) + strtoull(noise, NULL, 16)) % (uint64_t)ms;
    d->beat = in->host->local->timer(in, first, beat_due, d);
    if (d->session)
        resume(d);
    else
        identify(d);
}

static void set(char **to, const char *text)
{
    free(*to);
    *to = chela_need(strdup(text ? text : ""));
}

static void menu_set(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    (void)owner;
    if (r->error != CHELA_OK && !p->closing)
        chela_log(p->in, CHELA_INFO, "Discord did not take the list of commands");
}

static void menu_known(struct chela_peer *p, void *owner, const struct chela_done *done)
{
    struct discord *d = owner;
    json_object *list = chela_json_new_array();
    chela_commands_list(done, list, "name", 100, 100);
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *o =
            chela_json_push_object(chela_json_put_array(chela_json_at(list, i), "options"));
        chela_json_put_int(o, "type", 3); /* a string */
        chela_json_put_text(o, "name", "arguments");
        chela_json_put_text(o, "description", "what the command takes");
    }
    char *path = chela_format("/applications/%s/commands", d->application);
    if (p->closing || chela_json_length(list) == 0)
        json_object_put(list);
    else
        rest_call(d, 0, "PUT", path, list, menu_set, NULL);
    free(path);
}

static void ready(struct discord *d, json_object *data)
{
    set(&d->session, chela_json_string(data, "session_id", NULL));
    set(&d->resume_url, chela_json_string(data, "resume_gateway_url", NULL));
    set(&d->me, chela_json_string(chela_json_object(data, "user"), "id", NULL));
    set(&d->application, chela_json_string(chela_json_object(data, "application"), "id", NULL));
    d->peer.failures = 0;
    chela_peer_say(&d->peer, true, "connected");
    if (chela_option_number(d->peer.in, "commands") && *d->application)
        chela_peer_commands(&d->peer, menu_known, d);
    chela_history_restart(&d->history, "direct"); /* of guilds Discord says the newest */
}

static void dispatch(struct discord *d, json_object *o)
{
    const char *type = chela_json_string(o, "t", NULL);
    json_object *data = chela_json_object(o, "d");
    d->seq = chela_json_int(o, "s", d->seq);
    if (!type)
        return;
    if (strcmp(type, "READY") == 0) {
        ready(d, data);
    } else if (strcmp(type, "RESUMED") == 0) {
        d->peer.failures = 0;
        chela_peer_say(&d->peer, true, "connected");
    } else if (data) {
        inbound_event(d, type, data, d->seq);
    }
}

static void received(struct discord *d, struct chela_str text)
{
    json_object *o = NULL;
    if (chela_json_parse(text.s, (size_t)text.n, NULL, &o, NULL) != 0 ||
        !json_object_is_type(o, json_type_object)) {
        json_object_put(o);
        drop(d, "Discord sent what is no JSON object", 0);
        return;
    }
    switch (chela_json_int(o, "op", -1)) {
    case OP_DISPATCH: dispatch(d, o); break;
    case OP_HEARTBEAT: heartbeat(d); break;
    case OP_RECONNECT: drop(d, "Discord wants us to connect anew", 0); break;
    case OP_INVALID:
        if (!chela_json_bool(o, "d", false))
            forget_session(d);
        drop(d, "Discord does not know our session", ANEW_MS);
        break;
    case OP_HELLO: hello(d, chela_json_object(o, "d")); break;
    case OP_ACK: d->acked = true; break;
    default: break; /* what came later */
    }
    json_object_put(o);
}

/* ---- the connection ---- */

/* What Discord's close code means where trying again would not help; NULL: it may. */
static const char *permanent(unsigned code)
{
    switch (code) {
    case 4004:
        return "Discord does not take the token (4004): get a new one in the developer portal";
    case 4010:
    case 4011:
        return "this bot is in so many servers that Discord wants shards (4011): this channel has "
               "one, which serves fewer than 2,500 servers";
    case 4012: return "Discord no longer speaks version 10 of its gateway (4012)";
    case 4013: return "Discord does not know an intent that we asked for (4013)";
    case 4014:
        return "Discord does not allow an intent (4014): switch on \"Message Content Intent\" for "
               "the bot in the developer portal, or set message_content = false";
    default: return NULL;
    }
}

void gateway_event(struct chela_inst *in, const struct chela_ws_event *e)
{
    struct discord *d = in->self;
    if (e->h.call != d->socket)
        return; /* of one that we have dropped */
    if (e->kind == CHELA_WS_TEXT)
        received(d, e->data);
    else if (e->kind == CHELA_WS_CLOSE)
        d->close_code = e->code;
}

static void disconnected(struct chela_peer *p, void *owner, const struct chela_done *done)
{
    struct discord *d = owner;
    if (p->closing || done->h.call != d->socket)
        return;
    const char *why = permanent(d->close_code);
    d->socket = 0;
    stop_timer(d, &d->beat);
    if (p->stopping) {
        chela_end(p->in, d->stop_call, CHELA_OK, "");
        return;
    }
    if (d->close_code == 4007 || d->close_code == 4009)
        forget_session(d);
    if (why) {
        d->refused = true;
        chela_peer_say(p, false, why);
        return;
    }
    char *text = done->error == CHELA_OK
                     ? chela_format("Discord closed the connection (%u)", d->close_code)
                     : chela_format("the connection to Discord is lost: %s", done->text.s);
    drop(d, text, 0);
    free(text);
}

static void connect_to(struct discord *d, const char *address)
{
    struct chela_inst *in = d->peer.in;
    bool plain = strncmp(chela_option_text(in, "base_url").s, "http://", 7) == 0;
    if (!address ||
        (strncmp(address, "wss://", 6) != 0 && !(plain && strncmp(address, "ws://", 5) == 0))) {
        forget_session(d);
        drop(d, "Discord named no address of its gateway that we may use", 0);
        return;
    }
    size_t n = strlen(address);
    char *url = chela_format("%s%s?v=10&encoding=json", address, address[n - 1] == '/' ? "" : "/");
    CHELA_ARGS(chela_ws_connect, a, in->host->local->new_call(in));
    a.h.tag = chela_peer_tag(&d->peer, disconnected, d);
    a.url = chela_s(url);
    d->socket = a.h.call;
    d->close_code = 0;
    d->beat = in->host->local->timer(in, GREETING_MS, silent, d);
    in->host->net->ws_connect(in, &a);
    free(url);
}

static void address_known(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct discord *d = owner;
    json_object *limit = chela_json_object(r->body, "session_start_limit");
    int64_t wait = chela_json_int(limit, "reset_after", 0);
    if (p->closing || p->stopping)
        return;
    if (r->error == CHELA_OK && chela_json_int(limit, "remaining", 1) <= 0) {
        drop(d, "Discord lets this bot begin no more sessions today",
             wait > 0 && wait < 86400000 ? (uint64_t)wait : 0);
        return;
    }
    if (r->error == CHELA_OK) {
        connect_to(d, chela_json_string(r->body, "url", NULL));
        return;
    }
    char *text = r->status == 401 ? chela_format("Discord does not take the token (%s): get a new "
                                                 "one in the developer portal",
                                                 r->text)
                                  : chela_format("Discord can't be reached: %s", r->text);
    drop(d, text, r->retry_after_ms);
    free(text);
}

void gateway_open(struct chela_inst *in, void *arg)
{
    struct discord *d = arg;
    (void)in;
    d->peer.timer = 0;
    if (d->peer.closing || d->peer.stopping || d->refused || d->socket)
        return;
    if (d->session && d->resume_url && *d->resume_url)
        connect_to(d, d->resume_url);
    else
        rest_call(d, 0, "GET", "/gateway/bot", NULL, address_known, d);
}

void gateway_close(struct discord *d, uint64_t call)
{
    struct chela_inst *in = d->peer.in;
    in->host->local->timer_stop(in, d->peer.timer);
    stop_timer(d, &d->beat);
    d->stop_call = call;
    if (!d->socket) {
        chela_end(in, call, CHELA_OK, "");
        return;
    }
    CHELA_ARGS(chela_ws_send, s, d->socket);
    s.kind = CHELA_WS_CLOSE;
    s.code = 1000;
    in->host->net->ws_send(in, &s);
}
