/*
 * Discord's gateway, version 10: one WebSocket, its session, the heartbeat. A connection that dies
 * is resumed where it was; a session that Discord does not know any more is begun anew; what
 * Discord refuses for good is said and not tried again. Hands the events on to inbound.c.
 *
 * Format: Discord's documentation for developers, "Gateway".
 */
#include <stdlib.h>
#include <string.h>

#include "support/menu.h"

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
enum { COMMANDS_MOST = 100, DESCRIPTION_MOST = 100 };

static void send_op(struct discord *d, enum opcode op, json_object *data)
{
    json_object *o = chela_json_new_object();
    chela_json_put_int(o, "op", op);
    chela_json_put(o, "d", data);
    chela_socket_send(&d->socket, o);
}

static void forget_session(struct discord *d)
{
    free(d->session);
    free(d->resume_url);
    d->session = d->resume_url = NULL;
    d->seq = 0;
}

/* ---- the heartbeat ---- */

static void heartbeat(struct discord *d)
{
    send_op(d, OP_HEARTBEAT, d->seq ? json_object_new_int64(d->seq) : NULL);
}

static void beat_due(struct chela_inst *in, void *arg)
{
    struct discord *d = arg;
    (void)in;
    if (!d->acked) {
        chela_socket_drop(&d->socket,
                          "Discord has not answered the heartbeat: the connection is dead", 0);
        return;
    }
    d->acked = false;
    heartbeat(d);
    chela_socket_timer(&d->socket, d->interval, beat_due);
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
        chela_socket_drop(&d->socket, "Discord's greeting has no heartbeat interval", 0);
        return;
    }
    char noise[25]; /* so that many accounts do not beat at one moment */
    chela_fingerprint(in->name, noise);
    noise[8] = '\0';
    d->interval = (uint64_t)ms;
    d->acked = true;
    uint64_t first = (in->host->local->ticks_ms(in) + strtoull(noise, NULL, 16)) % (uint64_t)ms;
    chela_socket_timer(&d->socket, first, beat_due);
    if (d->session)
        resume(d);
    else
        identify(d);
}

static void set(char **to, const char *text)
{
    free(*to);
    *to = chela_need(strdup(text));
}

static void set_menu(struct chela_peer *p, json_object *list)
{
    static char what[] = "the menu of commands";
    struct discord *d = (struct discord *)p;
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *o =
            chela_json_push_object(chela_json_put_array(chela_json_at(list, i), "options"));
        chela_json_put_int(o, "type", 3); /* a string */
        chela_json_put_text(o, "name", "arguments");
        chela_json_put_text(o, "description", "what the command takes");
    }
    char *path = chela_format("/applications/%s/commands", d->application);
    rest_call(d, 0, "PUT", path, list, chela_api_unneeded, what);
    free(path);
}

static void ready(struct discord *d, json_object *data)
{
    static const struct chela_menu menu = {"name", COMMANDS_MOST, DESCRIPTION_MOST, set_menu};
    set(&d->session, chela_member(data, "session_id"));
    set(&d->resume_url, chela_member(data, "resume_gateway_url"));
    set(&d->me, chela_member(chela_json_object(data, "user"), "id"));
    set(&d->application, chela_member(chela_json_object(data, "application"), "id"));
    d->peer.failures = 0;
    chela_peer_say(&d->peer, true, "connected");
    if (*d->application)
        chela_menu_begin(&d->peer, &menu);
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

static void received(struct chela_socket *s, json_object *o)
{
    struct discord *d = (struct discord *)s->p;
    switch (chela_json_int(o, "op", -1)) {
    case OP_DISPATCH: dispatch(d, o); break;
    case OP_HEARTBEAT: heartbeat(d); break;
    case OP_RECONNECT: chela_socket_drop(&d->socket, "Discord wants us to connect anew", 0); break;
    case OP_INVALID:
        if (!chela_json_bool(o, "d", false))
            forget_session(d);
        chela_socket_drop(&d->socket, "Discord does not know our session", ANEW_MS);
        break;
    case OP_HELLO: hello(d, chela_json_object(o, "d")); break;
    case OP_ACK: d->acked = true; break;
    default: break; /* what came later */
    }
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

static const char *closed(struct chela_socket *s, unsigned code)
{
    if (code == 4007 || code == 4009)
        forget_session((struct discord *)s->p);
    return permanent(code);
}

static void connect_to(struct discord *d, const char *address)
{
    struct chela_inst *in = d->peer.in;
    bool plain = strncmp(chela_option_text(in, "base_url").s, "http://", 7) == 0;
    if (!address ||
        (strncmp(address, "wss://", 6) != 0 && !(plain && strncmp(address, "ws://", 5) == 0))) {
        forget_session(d);
        chela_socket_drop(&d->socket, "Discord named no address of its gateway that we may use", 0);
        return;
    }
    size_t n = strlen(address);
    char *url = chela_format("%s%s?v=10&encoding=json", address, address[n - 1] == '/' ? "" : "/");
    chela_socket_connect(&d->socket, url, GREETING_MS);
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
        chela_socket_drop(&d->socket, "Discord lets this bot begin no more sessions today",
                          wait > 0 && wait < 86400000 ? (uint64_t)wait : 0);
        return;
    }
    if (r->error == CHELA_OK) {
        connect_to(d, chela_json_string(r->body, "url", NULL));
        return;
    }
    char *text = chela_api_why(p, r);
    chela_socket_drop(&d->socket, text, r->retry_after_ms);
    free(text);
}

void gateway_open(struct chela_inst *in, void *arg)
{
    struct discord *d = arg;
    (void)in;
    d->peer.timer = 0;
    if (!chela_socket_idle(&d->socket))
        return;
    if (d->session && d->resume_url && *d->resume_url)
        connect_to(d, d->resume_url);
    else
        rest_call(d, 0, "GET", "/gateway/bot", NULL, address_known, d);
}

void gateway_start(struct discord *d)
{
    static const struct chela_socket_way way = {gateway_open, received, closed};
    chela_socket_open(&d->socket, &d->peer, &way);
}
