/*
 * Updates become messages of the host: one after the other, files fetched first, an album as one.
 * Called with the list of a poll or of the webhook; tells its caller what may be acknowledged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telegram.h"

enum { ID = 48 };

struct batch {
    struct telegram *t;
    json_object *updates;
    size_t at;
    unsigned waiting;
    bool scanning, busy;
    int64_t next;   /* one after the last update of the list */
    int64_t failed; /* the first update that could not be stored, 0: none */
    uint32_t error; /* of that one */
    uint64_t retry_after;
    char *why;
    uint64_t call;
    batch_fn *fn;
};

/* One message on its way: an album holds several of Telegram's. */
struct arrival {
    struct chela_arrival a;
    struct batch *b;
    int64_t update;
    json_object *parts;  /* its messages; [0] has the id */
    json_object *button; /* callback_query or NULL */
};

static void scan(struct batch *b);

/* ---- the end of one ---- */

static void batch_over(struct batch *b)
{
    if (b->scanning || b->waiting)
        return;
    CHELA_ARGS(chela_done, d, 0);
    d.error = b->error;
    d.retry_after_ms = b->retry_after;
    d.text = chela_s(b->why);
    b->fn(b->t, b->call, b->failed ? b->failed : b->next, &d);
    json_object_put(b->updates);
    free(b->why);
    free(b);
}

static void failed(struct batch *b, int64_t update, const struct chela_done *d)
{
    if (b->failed && b->failed <= update)
        return;
    b->failed = update;
    b->error = d->error;
    b->retry_after = d->retry_after_ms;
    free(b->why);
    b->why = chela_copy(d->text);
}

static void pressed(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    (void)owner;
    if (r->error != CHELA_OK && !p->closing)
        chela_log(p->in, CHELA_DEBUG, r->text); /* the button only blinks longer */
}

static void answer_press(struct telegram *t, json_object *button, bool denied)
{
    json_object *body = chela_json_new_object();
    chela_json_put_text(body, "callback_query_id", chela_json_string(button, "id", NULL));
    if (denied)
        chela_json_put_text(body, "text", "This is not yours to press.");
    api_call(t, 0, "answerCallbackQuery", body, 0, pressed, NULL);
}

static void over(struct chela_arrival *arrival, const struct chela_done *d)
{
    struct arrival *a = (struct arrival *)arrival;
    struct batch *b = a->b;
    bool handed = arrival->handed;
    if (!chela_arrival_settled(d))
        failed(b, a->update, d);
    if (a->button && !b->t->peer.closing)
        answer_press(b->t, a->button, d->error == CHELA_E_DENIED);
    json_object_put(a->parts);
    json_object_put(a->button);
    chela_arrival_free(arrival);
    b->waiting--;
    if (handed) {
        batch_over(b);
        return;
    }
    b->busy = false;
    b->at = chela_json_length(b->updates); /* what comes behind it would overtake it */
    scan(b);
}

static void handed_over(struct chela_arrival *a)
{
    struct batch *b = ((struct arrival *)a)->b;
    b->busy = false;
    scan(b);
}

/* ---- files ---- */

static void file_came(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    (void)p;
    chela_arrival_file(owner, d);
}

static void file_named(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    if (!api_file((struct telegram *)p, 0, r, file_came, owner))
        chela_arrival_no_file(owner, r);
}

static void fetch(struct chela_arrival *a)
{
    json_object *body = chela_json_new_object();
    chela_json_put_text(body, "file_id",
                        chela_json_string(chela_json_at(a->files, a->at), "id", NULL));
    api_call((struct telegram *)a->p, 0, "getFile", body, 0, file_named, a);
}

/* ---- one message ---- */

static void put(struct arrival *a, const char *name, const char *text)
{
    chela_json_put_text(a->a.facts, name, text ? text : "");
}

static void put_number(struct arrival *a, const char *name, int64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)number);
    put(a, name, text);
}

static void put_sender(struct arrival *a, json_object *m, json_object *from)
{
    const char *first = chela_json_string(from, "first_name", NULL),
               *last = chela_json_string(from, "last_name", NULL),
               *user = chela_json_string(from, "username", NULL),
               *title = chela_json_string(chela_json_object(m, "chat"), "title", NULL);
    char *name = chela_format("%s%s%s", first ? first : "", last ? " " : "", last ? last : "");
    json_object *extra = chela_json_put_object(a->a.facts, "extra");
    put_number(a, "sender", chela_json_int(from, "id", 0));
    put(a, "sender_name", name);
    if (user)
        chela_json_put_text(extra, "username", user);
    if (title)
        chela_json_put_text(extra, "chatTitle", title);
    if (chela_json_has(m, "forward_origin"))
        chela_json_put_bool(extra, "forwarded", true);
    free(name);
}

/* Text of all parts of an album; false: another bot's command. */
static bool put_text(struct arrival *a)
{
    char *text = chela_need(strdup(""));
    for (size_t i = 0; i < chela_json_length(a->parts); i++) {
        char *more = said_text(a->b->t, chela_json_at(a->parts, i)), *both;
        if (!more) {
            free(text);
            return false;
        }
        both = chela_format("%s%s%s", text, *text && *more ? "\n" : "", more);
        free(text);
        free(more);
        text = both;
    }
    put(a, "text", text);
    free(text);
    return true;
}

/* The name under which the host knows this chat. */
static const char *chat_name(struct telegram *t, json_object *chat, char out[ID])
{
    snprintf(out, ID, "%lld", (long long)chela_json_int(chat, "id", 0));
    json_object_object_foreach(t->migrated, old, now)
    {
        const char *id = chela_json_as_string(now, NULL);
        if (id && strcmp(id, out) == 0) {
            snprintf(out, ID, "%s", old);
            break;
        }
    }
    return out;
}

/* Ids of messages begin anew in a supergroup: the chat's id makes them different. */
static void put_event(struct arrival *a, const char *member, json_object *chat, int64_t id)
{
    long long now = (long long)chela_json_int(chat, "id", 0);
    const char *name = chela_json_string(a->a.facts, "chat", NULL);
    char *event = strtoll(name, NULL, 10) == now ? chela_format("%lld", (long long)id)
                                                 : chela_format("%lld:%lld", now, (long long)id);
    put(a, member, event);
    free(event);
}

static struct arrival *arrival_open(struct batch *b, json_object *update)
{
    struct arrival *a = chela_arrival_open(&b->t->peer, sizeof *a);
    a->b = b;
    a->update = chela_json_int(update, "update_id", 0);
    a->parts = chela_json_new_array();
    a->a.fetch = fetch;
    a->a.next = handed_over;
    a->a.over = over;
    return a;
}

static void put_place(struct arrival *a, json_object *m, json_object *chat)
{
    char name[ID];
    const char *type = chela_json_string(chat, "type", NULL);
    json_object *replied = chela_json_object(m, "reply_to_message");
    put(a, "chat", chat_name(a->b->t, chat, name));
    a->a.chat_type = type && strcmp(type, "private") == 0 ? CHELA_DIRECT : CHELA_GROUP;
    int64_t thread = chela_json_bool(m, "is_topic_message", false)
                         ? chela_json_int(m, "message_thread_id", 0)
                         : 0;
    if (thread)
        put_number(a, "thread", thread);
    if (replied && !a->button && !chela_json_has(replied, "forum_topic_created"))
        put_event(a, "reply_to", chat, chela_json_int(replied, "message_id", 0));
}

static struct arrival *arrive(struct batch *b, json_object *update)
{
    json_object *button = chela_json_object(update, "callback_query"),
                *reaction = chela_json_object(update, "message_reaction"),
                *edited = chela_json_object(update, "edited_message"),
                *m = button     ? chela_json_object(button, "message")
                     : reaction ? reaction
                     : edited   ? edited
                                : chela_json_object(update, "message"),
                *chat = chela_json_object(m, "chat"),
                *from = chela_json_object(button ? button : m, reaction ? "user" : "from");
    int64_t moved = chela_json_int(m, "migrate_to_chat_id", 0);
    if (!chat || !from || chela_json_bool(from, "is_bot", false) || moved) {
        char name[ID];
        if (moved && chat)
            migrated_set(b->t, chat_name(b->t, chat, name), moved);
        return NULL;
    }
    struct arrival *a = arrival_open(b, update);
    a->button = json_object_get(button);
    chela_json_push(a->parts, json_object_get(m));
    put(a, "kind", reaction ? "reaction" : edited ? "edit" : "message");
    put_place(a, m, chat);
    put_sender(a, m, from);
    put_event(a, "event", chat, chela_json_int(m, "message_id", 0));
    a->a.version = edited || reaction ? (uint64_t)a->update : 0;
    a->a.time = (uint64_t)chela_json_int(m, edited ? "edit_date" : "date", 0);
    if (button) {
        const char *id = chela_json_string(button, "id", NULL);
        char *event = chela_format("press-%.60s", id ? id : "");
        put(a, "event", event);
        put(a, "text", chela_json_string(button, "data", NULL));
        a->a.time = b->t->peer.in->host->local->now_ms(b->t->peer.in) / 1000;
        a->a.flags = CHELA_BUTTON;
        free(event);
    } else if (reaction) {
        put(a, "text",
            chela_json_string(chela_json_at(chela_json_array(reaction, "new_reaction"), 0), "emoji",
                              NULL));
    } else {
        a->a.flags = said_to_us(b->t, m) ? CHELA_MENTIONED : 0;
        put(a, "quote", said_quote(m));
        said_files(&a->a, m);
    }
    return a;
}

/* The rest of an album belongs to its first message. */
static void take_album(struct batch *b, struct arrival *a)
{
    const char *id = chela_json_string(chela_json_at(a->parts, 0), "media_group_id", NULL),
               *kind = chela_json_string(a->a.facts, "kind", NULL);
    while (id && strcmp(kind, "message") == 0 && !a->button &&
           b->at < chela_json_length(b->updates)) {
        json_object *m = chela_json_object(chela_json_at(b->updates, b->at), "message");
        const char *other = chela_json_string(m, "media_group_id", NULL);
        if (!other || strcmp(id, other) != 0)
            break;
        chela_json_push(a->parts, json_object_get(m));
        said_files(&a->a, m);
        b->at++;
    }
}

/* Whether there is something in it for us: no service message, no command for another bot. */
static bool meant(struct arrival *a)
{
    bool plain = strcmp(chela_json_string(a->a.facts, "kind", NULL), "reaction") != 0 && !a->button;
    if (plain && !put_text(a))
        return false;
    return !plain || *chela_json_string(a->a.facts, "text", NULL) || chela_json_length(a->a.files);
}

/* Until one has to wait for its files, or the list is at its end. */
static void scan(struct batch *b)
{
    if (b->scanning)
        return; /* the loop below goes on */
    b->scanning = true;
    while (!b->busy && b->at < chela_json_length(b->updates)) {
        struct arrival *a = arrive(b, chela_json_at(b->updates, b->at++));
        if (!a)
            continue;
        take_album(b, a);
        if (!meant(a)) {
            json_object_put(a->parts);
            json_object_put(a->button);
            chela_arrival_free(&a->a);
            continue;
        }
        b->waiting++;
        b->busy = true;
        chela_arrival_go(&a->a);
    }
    b->scanning = false;
    if (!b->busy)
        batch_over(b);
}

void inbound_take(struct telegram *t, json_object *updates, uint64_t call, batch_fn *fn)
{
    struct batch *b = chela_need(calloc(1, sizeof *b));
    b->t = t;
    b->updates = json_object_get(updates);
    b->call = call;
    b->fn = fn;
    b->why = chela_need(strdup(""));
    for (size_t i = 0; i < chela_json_length(updates); i++) {
        int64_t id = chela_json_int(chela_json_at(updates, i), "update_id", 0);
        if (id >= b->next)
            b->next = id + 1;
    }
    scan(b);
}
