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

/* One event on its way. */
struct arrival {
    struct chela_arrival a;
    char *channel, *message;  /* for the chat's cursor; NULL: not a new message */
    json_object *interaction; /* its id, token and kind are needed for the answer */
    bool guild;
};

static void take(struct discord *d);

static const char *text_of(json_object *o, const char *name)
{
    const char *s = chela_json_string(o, name, NULL);
    return s ? s : "";
}

static uint64_t number(const char *id)
{
    return id ? strtoull(id, NULL, 10) : 0;
}

/* ---- what was missed ---- */

static void push(struct discord *d, const char *type, json_object *data, int64_t seq, bool filled)
{
    json_object *e = chela_json_push_object(d->events);
    chela_json_put_text(e, "t", type);
    chela_json_put(e, "d", json_object_get(data));
    chela_json_put_int(e, "s", seq);
    chela_json_put_bool(e, "filled", filled);
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
    chela_history_page(&d->history, n == PAGE ? text_of(chela_json_at(r->body, 0), "id") : NULL);
    take(d);
}

void inbound_ask(struct chela_peer *p, const char *channel, const char *after)
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
        chela_history_newest(&d->history, id, text_of(channel, "last_message_id"));
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

/* ---- what a message says ---- */

/* Text with names for the people in it, and without the mention of us in front. Free it. */
static char *named(const struct discord *d, json_object *m)
{
    const char *s = text_of(m, "content");
    char *out = NULL;
    size_t n;
    json_object *people = chela_json_array(m, "mentions");
    FILE *f = chela_need(open_memstream(&out, &n));
    for (const char *p = s; *p;) {
        const char *id = p[0] == '<' && p[1] == '@' ? p + 2 + (p[2] == '!') : NULL;
        size_t digits = id ? strspn(id, "0123456789") : 0;
        if (!digits || id[digits] != '>') {
            fputc(*p++, f);
            continue;
        }
        char *who = chela_format("%.*s", (int)digits, id);
        bool front = p == s, me = strcmp(who, d->me) == 0;
        p = id + digits + 1;
        for (size_t i = 0; !(front && me) && i < chela_json_length(people); i++) {
            json_object *user = chela_json_at(people, i);
            if (strcmp(text_of(user, "id"), who) == 0)
                fprintf(f, "@%s", text_of(user, "username"));
        }
        free(who);
        if (front && me)
            p += strspn(p, " \n");
    }
    fclose(f);
    return out;
}

static bool mentioned(const struct discord *d, json_object *m)
{
    json_object *people = chela_json_array(m, "mentions"),
                *replied = chela_json_object(m, "referenced_message");
    for (size_t i = 0; i < chela_json_length(people); i++) {
        if (strcmp(text_of(chela_json_at(people, i), "id"), d->me) == 0)
            return true;
    }
    return strcmp(text_of(chela_json_object(replied, "author"), "id"), d->me) == 0;
}

static void add_files(struct arrival *a, json_object *m)
{
    json_object *list = chela_json_array(m, "attachments");
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *o = chela_json_at(list, i);
        char *reference =
            chela_format("%s/%s/%s", text_of(m, "channel_id"), text_of(m, "id"), text_of(o, "id"));
        chela_arrival_add(&a->a, reference, chela_json_string(o, "filename", NULL),
                          chela_json_string(o, "content_type", NULL), chela_json_int(o, "size", 0));
        json_object *f = chela_json_at(a->a.files, chela_json_length(a->a.files) - 1);
        chela_json_put_text(f, "url", chela_json_string(o, "url", NULL));
        free(reference);
    }
}

static void put(struct arrival *a, const char *name, const char *text)
{
    chela_json_put_text(a->a.facts, name, text ? text : "");
}

static void put_sender(struct arrival *a, json_object *user, json_object *member)
{
    const char *names[] = {chela_json_string(member, "nick", NULL),
                           chela_json_string(user, "global_name", NULL),
                           chela_json_string(user, "username", NULL)};
    size_t i = 0;
    while (i < 2 && !names[i])
        i++;
    put(a, "sender", text_of(user, "id"));
    put(a, "sender_name", names[i]);
    json_object *extra = chela_json_put_object(a->a.facts, "extra");
    chela_json_put_text(extra, "username", text_of(user, "username"));
}

static void put_place(struct discord *d, struct arrival *a, json_object *o, const char *parent)
{
    const char *channel = text_of(o, "channel_id");
    if (!parent)
        parent = chela_json_string(d->threads, channel, NULL);
    a->guild = chela_json_has(o, "guild_id");
    a->a.chat_type = a->guild ? CHELA_GROUP : CHELA_DIRECT;
    put(a, "chat", parent ? parent : channel);
    put(a, "thread", parent ? channel : "");
}

static uint64_t made_at(const char *id)
{
    return (number(id) >> 22) / 1000 + EPOCH_S;
}

/* "2024-05-01T10:00:00.123000+00:00" in ms, 0: none. */
static uint64_t time_of(const char *s)
{
    struct tm t = {0};
    const char *end = s ? strptime(s, "%Y-%m-%dT%H:%M:%S", &t) : NULL;
    if (!end)
        return 0;
    return (uint64_t)timegm(&t) * 1000 + (uint64_t)(*end == '.' ? strtod(end, NULL) * 1000 : 0);
}

/* ---- the end of one ---- */

static void arrival_free(struct arrival *a)
{
    free(a->channel);
    free(a->message);
    json_object_put(a->interaction);
    chela_arrival_free(&a->a);
}

static void told(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    (void)owner;
    if (r->error != CHELA_OK && !p->closing)
        chela_log(p->in, CHELA_DEBUG, r->text); /* the person sees that nothing happened */
}

/* What the person sees of a command or of a button: 4 a message, 7 the message without buttons. */
static void tell(struct discord *d, const struct arrival *a, const struct chela_done *done)
{
    bool button = chela_json_int(a->interaction, "type", 0) == 3,
         well = done->error == CHELA_OK || done->error == CHELA_E_CONFLICT;
    json_object *o = chela_json_new_object();
    chela_json_put_int(o, "type", button && well ? 7 : 4);
    json_object *data = chela_json_put_object(o, "data");
    if (button && well) {
        chela_json_put_array(data, "components");
    } else {
        chela_json_put_text(data, "content",
                            well                            ? text_of(a->a.facts, "text")
                            : done->error == CHELA_E_DENIED ? "This is not yours to use."
                                                            : "This did not work, try again.");
        chela_json_put_int(data, "flags", 64); /* for this person only */
        chela_json_put_array(chela_json_put_object(data, "allowed_mentions"), "parse");
    }
    char *path = chela_format("/interactions/%s/%s/callback", text_of(a->interaction, "id"),
                              text_of(a->interaction, "token"));
    rest_call(d, 0, "POST", path, o, told, NULL);
    free(path);
}

static void over(struct chela_arrival *arrival, const struct chela_done *done)
{
    struct arrival *a = (struct arrival *)arrival;
    struct discord *d = (struct discord *)arrival->p;
    bool stored = done->error == CHELA_OK || done->error == CHELA_E_CONFLICT;
    const char *kind = a->guild ? "guild" : "direct";
    if (!d->peer.closing && a->message && !chela_arrival_settled(done)) {
        chela_log(d->peer.in, CHELA_WARN, "a message could not be stored, it is fetched again");
        chela_history_lost(&d->history, a->channel, a->message, kind, done->retry_after_ms);
    } else if (!d->peer.closing && a->message && stored) {
        chela_history_stored(&d->history, a->channel, a->message, kind);
    }
    if (a->interaction && !d->peer.closing)
        tell(d, a, done);
    bool handed = arrival->handed;
    arrival_free(a);
    if (!handed && !d->peer.closing) {
        d->busy = false;
        take(d);
    }
}

static void handed(struct chela_arrival *a)
{
    struct discord *d = (struct discord *)a->p;
    d->busy = false;
    take(d);
}

static void file_came(struct chela_peer *p, void *owner, const struct chela_done *done)
{
    (void)p;
    chela_arrival_file(owner, done);
}

static void fetch(struct chela_arrival *a)
{
    const char *url = chela_json_string(chela_json_at(a->files, a->at), "url", NULL);
    if (rest_file((struct discord *)a->p, 0, url, file_came, a))
        return;
    CHELA_ARGS(chela_done, d, 0);
    d.error = CHELA_E_PROTOCOL;
    chela_arrival_file(a, &d);
}

/* ---- events ---- */

static struct arrival *arrive(struct discord *d, const char *kind)
{
    struct arrival *a = chela_arrival_open(&d->peer, sizeof *a);
    a->a.fetch = fetch;
    a->a.next = handed;
    a->a.over = over;
    put(a, "kind", kind);
    return a;
}

static struct arrival *message(struct discord *d, json_object *m, bool edited)
{
    json_object *author = chela_json_object(m, "author"),
                *replied = chela_json_object(m, "referenced_message"),
                *reference = chela_json_object(m, "message_reference"),
                *forwarded = chela_json_object(
                    chela_json_at(chela_json_array(m, "message_snapshots"), 0), "message");
    int64_t type = chela_json_int(m, "type", 0);
    uint64_t version = edited ? time_of(chela_json_string(m, "edited_timestamp", NULL)) : 0;
    if (!author || chela_json_bool(author, "bot", false) || chela_json_has(m, "webhook_id") ||
        (type != 0 && type != 19) || (edited && !version))
        return NULL; /* of the service or a program; an edit of what only Discord has changed */
    struct arrival *a = arrive(d, edited ? "edit" : "message");
    char *text = named(d, m);
    put(a, "event", text_of(m, "id"));
    put(a, "text", text);
    put(a, "reply_to", forwarded ? "" : text_of(reference, "message_id"));
    put(a, "quote", text_of(forwarded ? forwarded : replied, "content"));
    put_sender(a, author, chela_json_object(m, "member"));
    put_place(d, a, m, NULL);
    add_files(a, m);
    a->a.version = version;
    a->a.time = edited ? version / 1000 : made_at(text_of(m, "id"));
    a->a.flags = mentioned(d, m) ? CHELA_MENTIONED : 0;
    free(text);
    if (!edited) {
        a->channel = chela_need(strdup(text_of(m, "channel_id")));
        a->message = chela_need(strdup(text_of(m, "id")));
    }
    return a;
}

static struct arrival *interaction(struct discord *d, json_object *o)
{
    json_object *data = chela_json_object(o, "data"), *member = chela_json_object(o, "member"),
                *user = chela_json_object(member ? member : o, "user"),
                *channel = chela_json_object(o, "channel"),
                *option = chela_json_at(chela_json_array(data, "options"), 0);
    int64_t type = chela_json_int(o, "type", 0);
    if (!user || (type != 2 && type != 3))
        return NULL;
    struct arrival *a = arrive(d, "message");
    char *event = chela_format("interaction-%s", text_of(o, "id")),
         *command = chela_format("/%s %s", text_of(data, "name"), text_of(option, "value"));
    size_t n = strlen(command);
    if (command[n - 1] == ' ')
        command[n - 1] = '\0';
    put(a, "event", event);
    put(a, "text", type == 3 ? text_of(data, "custom_id") : command);
    put_sender(a, user, member);
    put_place(d, a, o, is_thread(channel) ? chela_json_string(channel, "parent_id", NULL) : NULL);
    a->a.time = made_at(text_of(o, "id"));
    a->a.flags = type == 3 ? CHELA_BUTTON : CHELA_MENTIONED;
    a->interaction = json_object_get(o);
    free(event);
    free(command);
    return a;
}

/* It has no id of its own: the place in its session tells a repetition. */
static struct arrival *reaction(struct discord *d, json_object *o, int64_t seq)
{
    const char *user = text_of(o, "user_id");
    char session[25];
    if (strcmp(user, d->me) == 0 || !*user)
        return NULL;
    struct arrival *a = arrive(d, "reaction");
    chela_fingerprint(d->session ? d->session : "", session);
    session[7] = '\0';
    put(a, "event", text_of(o, "message_id"));
    put(a, "text", text_of(chela_json_object(o, "emoji"), "name"));
    json_object *member = chela_json_object(o, "member"),
                *known = chela_json_object(member, "user");
    json_object *who = known ? json_object_get(known) : chela_json_new_object();
    if (!known)
        chela_json_put_text(who, "id", user);
    put_sender(a, who, member);
    json_object_put(who);
    put_place(d, a, o, NULL);
    a->a.version = strtoull(session, NULL, 16) << 32 | (uint32_t)seq;
    a->a.time = d->peer.in->host->local->now_ms(d->peer.in) / 1000;
    return a;
}

static struct arrival *read_event(struct discord *d, const char *type, json_object *data,
                                  int64_t seq)
{
    if (strcmp(type, "MESSAGE_CREATE") == 0)
        return message(d, data, false);
    if (strcmp(type, "MESSAGE_UPDATE") == 0)
        return message(d, data, true);
    if (strcmp(type, "INTERACTION_CREATE") == 0)
        return interaction(d, data);
    return reaction(d, data, seq);
}

/* Until one has to wait for its files. */
static void take(struct discord *d)
{
    if (d->scanning)
        return; /* the loop below goes on */
    d->scanning = true;
    while (!d->busy && !d->peer.closing && d->at < chela_json_length(d->events)) {
        json_object *e = json_object_get(chela_json_at(d->events, d->at++)),
                    *data = chela_json_object(e, "d");
        if (d->at == chela_json_length(d->events)) {
            json_object_put(d->events);
            d->events = chela_json_new_array();
            d->at = 0;
        }
        const char *type = text_of(e, "t"), *channel = text_of(data, "channel_id");
        bool fresh = strcmp(type, "MESSAGE_CREATE") == 0 && !chela_json_bool(e, "filled", false);
        struct arrival *a = NULL;
        /* one without a number would stand in front of all that come later */
        bool ours = strncmp(type, "MESSAGE_", 8) != 0 ||
                    strcmp(type, "MESSAGE_REACTION_ADD") == 0 ||
                    chela_history_id(text_of(data, "id"));
        if (ours && (!fresh || !chela_history_waits(&d->history, channel)))
            a = read_event(d, type, data, chela_json_int(e, "s", 0));
        if (a) {
            d->busy = true;
            chela_arrival_go(&a->a);
        }
        json_object_put(e);
    }
    d->scanning = false;
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
        json_object_object_del(d->threads, text_of(data, "id"));
        return;
    }
    size_t i = 0;
    while (i < 4 && strcmp(type, kinds[i]) != 0)
        i++;
    if (i == 4)
        return;
    if (chela_json_length(d->events) - d->at >= QUEUE_MOST) {
        if (i == 0)
            chela_history_lost(&d->history, text_of(data, "channel_id"), text_of(data, "id"),
                               chela_json_has(data, "guild_id") ? "guild" : "direct", 0);
        return;
    }
    push(d, type, data, seq, false);
    take(d);
}
