/*
 * Events of the gateway become messages of the host, one after the other; what came while we had no
 * session is asked for, chat by chat. Called by gateway.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "discord.h"

enum { QUEUE_MOST = 2000, PAGE = 100, EPOCH_S = 1420070400, THREADS_MOST = 20000 };

static const char *kind_of(json_object *message)
{
    return chela_json_has(message, "guild_id") ? "guild" : "direct";
}

/* ---- what was missed ---- */

static void push(struct discord *d, const char *type, json_object *data, int64_t seq, bool filled)
{
    json_object *e = chela_json_new_object();
    chela_json_put_text(e, "t", type);
    chela_json_put(e, "d", json_object_get(data));
    chela_json_put_int(e, "s", seq);
    chela_json_put_bool(e, "filled", filled);
    chela_queue_push(&d->queue, e);
}

static void page_came(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct discord *d = owner;
    const char *kind;
    size_t n = chela_json_length(r->body);
    if (p->closing || !chela_history_asked(&d->history, &kind))
        return;
    if (r->error != CHELA_OK) {
        chela_history_failed(&d->history, r->status == 403 || r->status == 404, r->retry_after_ms);
        return;
    }
    for (size_t i = n; i-- > 0;) { /* the newest comes first */
        json_object *m = chela_json_at(r->body, i);
        if (strcmp(kind, "guild") == 0 && !chela_json_has(m, "guild_id"))
            chela_json_put_text(m, "guild_id", "0");
        push(d, "MESSAGE_CREATE", m, 0, true);
    }
    chela_history_page(&d->history,
                       n == PAGE ? chela_member(chela_json_at(r->body, 0), "id") : NULL);
    chela_queue_run(&d->queue);
}

/* Asks for the messages of a channel behind one of them. */
static void ask(struct chela_peer *p, const char *channel, const char *after)
{
    char *path = chela_format("/channels/%s/messages?limit=%d&after=%s", channel, PAGE, after);
    rest_call((struct discord *)p, 0, "GET", path, NULL, page_came, p);
    free(path);
}

/* ---- guilds and threads ---- */

static bool is_thread(json_object *channel)
{
    int64_t type = chela_json_int(channel, "type", 0);
    return type >= 10 && type <= 12;
}

static void learn(struct discord *d, json_object *channel)
{
    const char *id = chela_json_string(channel, "id", NULL),
               *parent = chela_json_string(channel, "parent_id", NULL);
    if (id && parent && is_thread(channel) && chela_json_length(d->threads) < THREADS_MOST)
        chela_json_put_text(d->threads, id, parent);
    if (id && chela_json_has(channel, "last_message_id"))
        chela_history_newest(&d->history, id, chela_member(channel, "last_message_id"));
}

static void learn_all(struct discord *d, json_object *data)
{
    static const char *const lists[] = {"channels", "threads"};
    for (size_t k = 0; k < 2; k++) {
        json_object *list = chela_json_array(data, lists[k]);
        for (size_t i = 0; i < chela_json_length(list); i++)
            learn(d, chela_json_at(list, i));
    }
}

/* ---- parts of a message ---- */

static void put_sender(struct chela_arrival *a, json_object *user, json_object *member)
{
    const char *names[] = {chela_json_string(member, "nick", NULL),
                           chela_json_string(user, "global_name", NULL),
                           chela_json_string(user, "username", NULL)};
    size_t i = 0;
    while (i < 2 && !names[i])
        i++;
    chela_arrival_from(a, chela_member(user, "id"), names[i], chela_member(user, "username"));
}

/* parent: of the thread that it was written in, where that is known. */
static void put_place(struct chela_arrival *a, json_object *o, const char *parent)
{
    struct discord *d = (struct discord *)a->p;
    const char *channel = chela_member(o, "channel_id");
    if (!parent)
        parent = chela_json_string(d->threads, channel, NULL);
    chela_arrival_place(a, !chela_json_has(o, "guild_id"), parent ? parent : channel,
                        parent ? channel : NULL);
}

static uint64_t made_at(const char *id)
{
    return (strtoull(id, NULL, 10) >> 22) / 1000 + EPOCH_S;
}

/* "2024-05-01T10:00:00.123000+00:00" in ms, 0: none. */
static uint64_t time_of(const char *s)
{
    struct tm t = {0};
    const char *end = strptime(s, "%Y-%m-%dT%H:%M:%S", &t);
    if (!end)
        return 0;
    return (uint64_t)timegm(&t) * 1000 + (uint64_t)(*end == '.' ? strtod(end, NULL) * 1000 : 0);
}

/* ---- the end of one ---- */

/* What the person sees of a command or of a button: 4 a message, 7 the message without buttons. */
static void tell(struct chela_arrival *a, json_object *interaction, const struct chela_done *done)
{
    bool button = chela_json_int(interaction, "type", 0) == 3,
         well = done->error == CHELA_OK || done->error == CHELA_E_CONFLICT;
    json_object *o = chela_json_new_object();
    chela_json_put_int(o, "type", button && well ? 7 : 4);
    json_object *data = chela_json_put_object(o, "data");
    if (button && well) {
        chela_json_put_array(data, "components");
    } else {
        chela_json_put_text(data, "content",
                            well                            ? chela_member(a->facts, "text")
                            : done->error == CHELA_E_DENIED ? "This is not yours to use."
                                                            : "This did not work, try again.");
        chela_json_put_int(data, "flags", 64); /* for this person only */
        chela_json_put_array(chela_json_put_object(data, "allowed_mentions"), "parse");
    }
    char *path = chela_format("/interactions/%s/%s/callback", chela_member(interaction, "id"),
                              chela_member(interaction, "token"));
    rest_call((struct discord *)a->p, 0, "POST", path, o, chela_api_unneeded, NULL);
    free(path);
}

static void over(struct chela_arrival *a, const struct chela_done *done)
{
    struct discord *d = (struct discord *)a->p;
    const char *type = chela_member(a->event, "t");
    json_object *data = chela_json_object(a->event, "d");
    if (a->p->closing)
        return;
    if (strcmp(type, "MESSAGE_CREATE") == 0)
        chela_history_over(&d->history, chela_member(data, "channel_id"), chela_member(data, "id"),
                           kind_of(data), done);
    else if (strcmp(type, "INTERACTION_CREATE") == 0)
        tell(a, data, done);
}

/* ---- events ---- */

static bool read_message(struct chela_arrival *a, json_object *m, bool edited)
{
    const struct discord *d = (const struct discord *)a->p;
    json_object *author = chela_json_object(m, "author"),
                *replied = chela_json_object(m, "referenced_message"),
                *reference = chela_json_object(m, "message_reference"),
                *forwarded = chela_json_object(
                    chela_json_at(chela_json_array(m, "message_snapshots"), 0), "message");
    int64_t type = chela_json_int(m, "type", 0);
    a->version = edited ? time_of(chela_member(m, "edited_timestamp")) : 0;
    if (!author || chela_json_bool(author, "bot", false) || chela_json_has(m, "webhook_id") ||
        (type != 0 && type != 19) || (edited && !a->version))
        return false; /* of the service or a program; an edit of what only Discord has changed */
    char *text = said_text(d, m);
    chela_arrival_put(a, "kind", edited ? "edit" : "message");
    chela_arrival_put(a, "event", chela_member(m, "id"));
    chela_arrival_put(a, "text", text);
    chela_arrival_put(a, "reply_to", forwarded ? "" : chela_member(reference, "message_id"));
    chela_arrival_put(a, "quote", chela_member(forwarded ? forwarded : replied, "content"));
    put_sender(a, author, chela_json_object(m, "member"));
    put_place(a, m, NULL);
    said_files(a, m);
    a->time = edited ? a->version / 1000 : made_at(chela_member(m, "id"));
    a->flags = said_to_us(d, m) ? CHELA_MENTIONED : 0;
    free(text);
    return true;
}

static bool read_interaction(struct chela_arrival *a, json_object *o)
{
    json_object *data = chela_json_object(o, "data"), *member = chela_json_object(o, "member"),
                *user = chela_json_object(member ? member : o, "user"),
                *channel = chela_json_object(o, "channel"),
                *option = chela_json_at(chela_json_array(data, "options"), 0);
    int64_t type = chela_json_int(o, "type", 0);
    const char *value = chela_member(option, "value");
    if (!user || (type != 2 && type != 3))
        return false;
    char *event = chela_format("interaction-%s", chela_member(o, "id")),
         *command = chela_format("/%s%s%s", chela_member(data, "name"), *value ? " " : "", value);
    chela_arrival_put(a, "kind", "message");
    chela_arrival_put(a, "event", event);
    chela_arrival_put(a, "text", type == 3 ? chela_member(data, "custom_id") : command);
    put_sender(a, user, member);
    put_place(a, o, is_thread(channel) ? chela_json_string(channel, "parent_id", NULL) : NULL);
    a->time = made_at(chela_member(o, "id"));
    a->flags = type == 3 ? CHELA_BUTTON : CHELA_MENTIONED;
    free(event);
    free(command);
    return true;
}

/* It has no id of its own: the place in its session tells a repetition. */
static bool read_reaction(struct chela_arrival *a, json_object *o, int64_t seq)
{
    const struct discord *d = (const struct discord *)a->p;
    const char *id = chela_member(o, "user_id");
    char session[25];
    json_object *member = chela_json_object(o, "member"),
                *user = json_object_get(chela_json_object(member, "user"));
    if (strcmp(id, d->me) == 0 || !*id) {
        json_object_put(user);
        return false;
    }
    if (!user) {
        user = chela_json_new_object();
        chela_json_put_text(user, "id", id);
    }
    chela_arrival_put(a, "kind", "reaction");
    chela_arrival_put(a, "event", chela_member(o, "message_id"));
    chela_arrival_put(a, "text", chela_member(chela_json_object(o, "emoji"), "name"));
    put_sender(a, user, member);
    put_place(a, o, NULL);
    chela_fingerprint(d->session ? d->session : "", session);
    session[7] = '\0';
    a->version = strtoull(session, NULL, 16) << 32 | (uint32_t)seq;
    a->time = a->p->in->host->local->now_ms(a->p->in) / 1000;
    json_object_put(user);
    return true;
}

static bool read_event(struct chela_arrival *a)
{
    struct discord *d = (struct discord *)a->p;
    json_object *data = chela_json_object(a->event, "d");
    const char *type = chela_member(a->event, "t"), *channel = chela_member(data, "channel_id");
    bool created = strcmp(type, "MESSAGE_CREATE") == 0;
    if (strcmp(type, "INTERACTION_CREATE") == 0)
        return read_interaction(a, data);
    if (strcmp(type, "MESSAGE_REACTION_ADD") == 0)
        return read_reaction(a, data, chela_json_int(a->event, "s", 0));
    if (!chela_history_id(chela_member(data, "id")))
        return false; /* one without a number would stand in front of all that come later */
    if (created && !chela_json_bool(a->event, "filled", false) &&
        chela_history_waits(&d->history, channel))
        return false;
    return read_message(a, data, !created);
}

void inbound_event(struct discord *d, const char *type, json_object *data, int64_t seq)
{
    static const char *const kinds[] = {"MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE",
                                        "MESSAGE_REACTION_ADD"};
    if (strcmp(type, "GUILD_CREATE") == 0 || strcmp(type, "THREAD_LIST_SYNC") == 0) {
        learn_all(d, data);
        return;
    }
    if (strcmp(type, "THREAD_CREATE") == 0 || strcmp(type, "THREAD_UPDATE") == 0) {
        learn(d, data);
        return;
    }
    if (strcmp(type, "THREAD_DELETE") == 0) {
        json_object_object_del(d->threads, chela_member(data, "id"));
        return;
    }
    size_t i = 0;
    while (i < 4 && strcmp(type, kinds[i]) != 0)
        i++;
    if (i == 4)
        return;
    if (chela_queue_length(&d->queue) >= QUEUE_MOST) {
        if (i == 0)
            chela_history_lost(&d->history, chela_member(data, "channel_id"),
                               chela_member(data, "id"), kind_of(data), 0);
        return;
    }
    push(d, type, data, seq, false);
    chela_queue_run(&d->queue);
}

void inbound_start(struct discord *d)
{
    static const struct chela_reading reading = {read_event, rest_bring, over, NULL};
    chela_queue_open(&d->queue, &d->peer, &reading);
    chela_history_open(&d->history, &d->peer, ask);
    d->threads = chela_json_new_object();
}
