/*
 * Updates become messages of the host: one after the other, files fetched first, an album as one.
 * Called with the list of a poll or of the webhook; tells its caller what may be acknowledged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telegram.h"

enum { ID = 48 };

/* The updates of a poll, or the webhook's one. */
struct batch {
    struct chela_queue queue;
    struct telegram *t;
    int64_t next;   /* one after the last update of the list */
    int64_t failed; /* the first update that could not be stored, 0: none */
    uint32_t error; /* of that one */
    uint64_t retry_after;
    char *why;
    uint64_t call;
    batch_fn *fn;
};

/* ---- the end of one ---- */

static void batch_over(struct chela_queue *q)
{
    struct batch *b = (struct batch *)q;
    CHELA_ARGS(chela_done, d, 0);
    d.error = b->error;
    d.retry_after_ms = b->retry_after;
    d.text = chela_s(b->why);
    b->fn(b->t, b->call, b->failed ? b->failed : b->next, &d);
    chela_queue_close(q);
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

static void answer_press(struct telegram *t, json_object *button, bool denied)
{
    json_object *body = chela_json_new_object();
    chela_json_put_text(body, "callback_query_id", chela_json_string(button, "id", NULL));
    if (denied)
        chela_json_put_text(body, "text", "This is not yours to press.");
    api_call(t, 0, "answerCallbackQuery", body, chela_api_unneeded, NULL);
}

static void over(struct chela_arrival *a, const struct chela_done *d)
{
    struct batch *b = (struct batch *)a->queue;
    json_object *button = chela_json_object(a->event, "callback_query");
    if (!chela_arrival_settled(d))
        failed(b, chela_json_int(a->event, "update_id", 0), d);
    if (button && !a->p->closing)
        answer_press(b->t, button, d->error == CHELA_E_DENIED);
    if (!a->handed) /* what comes behind it would overtake it */
        chela_queue_drop(a->queue);
}

/* ---- one message ---- */

static void put_sender(struct chela_arrival *a, json_object *m, json_object *from)
{
    const char *last = chela_member(from, "last_name");
    char id[ID],
        *name = chela_format("%s%s%s", chela_member(from, "first_name"), *last ? " " : "", last);
    snprintf(id, sizeof id, "%lld", (long long)chela_json_int(from, "id", 0));
    chela_arrival_from(a, id, name, chela_json_string(from, "username", NULL));
    chela_arrival_extra(a, "chatTitle",
                        chela_json_string(chela_json_object(m, "chat"), "title", NULL));
    if (chela_json_has(m, "forward_origin"))
        chela_json_put_bool(chela_json_object(a->facts, "extra"), "forwarded", true);
    free(name);
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
static void put_id(struct chela_arrival *a, const char *fact, json_object *chat, json_object *m)
{
    long long now = (long long)chela_json_int(chat, "id", 0),
              id = (long long)chela_json_int(m, "message_id", 0);
    char *event = strtoll(chela_member(a->facts, "chat"), NULL, 10) == now
                      ? chela_format("%lld", id)
                      : chela_format("%lld:%lld", now, id);
    chela_arrival_put(a, fact, event);
    free(event);
}

static void put_place(struct chela_arrival *a, json_object *m, json_object *chat)
{
    char name[ID];
    bool topic = chela_json_bool(m, "is_topic_message", false);
    int64_t thread = topic ? chela_json_int(m, "message_thread_id", 0) : 0;
    chela_arrival_place(a, strcmp(chela_member(chat, "type"), "private") == 0,
                        chat_name((struct telegram *)a->p, chat, name), NULL);
    if (thread)
        chela_arrival_put_number(a, "thread", thread);
}

/* Takes over both; NULL: one of them is. */
static char *joined(char *text, char *more)
{
    char *both =
        text && more ? chela_format("%s%s%s", text, *text && *more ? "\n" : "", more) : NULL;
    free(text);
    free(more);
    return both;
}

/* What is said in a message and, where it begins an album, in those behind it: one message for us.
 * False: nothing, or a command for another bot. */
static bool read_said(struct chela_arrival *a, json_object *m, bool edited)
{
    struct telegram *t = (struct telegram *)a->p;
    const char *album = edited ? "" : chela_member(m, "media_group_id");
    json_object *replied = chela_json_object(m, "reply_to_message");
    char *text = said_text(t, m);
    if (replied && !chela_json_has(replied, "forum_topic_created"))
        put_id(a, "reply_to", chela_json_object(m, "chat"), replied);
    chela_arrival_put(a, "quote", said_quote(m));
    said_files(a, m);
    for (; *album; chela_queue_skip(a->queue)) {
        json_object *next = chela_json_object(chela_queue_first(a->queue), "message");
        if (strcmp(chela_member(next, "media_group_id"), album) != 0)
            break;
        said_files(a, next);
        text = joined(text, said_text(t, next));
    }
    a->flags = said_to_us(t, m) ? CHELA_MENTIONED : 0;
    a->time = (uint64_t)chela_json_int(m, edited ? "edit_date" : "date", 0);
    chela_arrival_put(a, "text", text);
    bool meant = text && (*text || chela_json_length(a->files));
    free(text);
    return meant;
}

static bool read_press(struct chela_arrival *a, json_object *button)
{
    char *event = chela_format("press-%.60s", chela_member(button, "id"));
    chela_arrival_put(a, "event", event);
    chela_arrival_put(a, "text", chela_member(button, "data"));
    a->time = a->p->in->host->local->now_ms(a->p->in) / 1000;
    a->flags = CHELA_BUTTON;
    free(event);
    return true;
}

static bool read_reaction(struct chela_arrival *a, json_object *m)
{
    json_object *now = chela_json_at(chela_json_array(m, "new_reaction"), 0);
    chela_arrival_put(a, "text", chela_member(now, "emoji"));
    a->time = (uint64_t)chela_json_int(m, "date", 0);
    return true;
}

static bool read_update(struct chela_arrival *a)
{
    struct telegram *t = (struct telegram *)a->p;
    json_object *button = chela_json_object(a->event, "callback_query"),
                *reaction = chela_json_object(a->event, "message_reaction"),
                *edited = chela_json_object(a->event, "edited_message"),
                *m = button     ? chela_json_object(button, "message")
                     : reaction ? reaction
                     : edited   ? edited
                                : chela_json_object(a->event, "message"),
                *chat = chela_json_object(m, "chat"),
                *from = chela_json_object(button ? button : m, reaction ? "user" : "from");
    int64_t moved = chela_json_int(m, "migrate_to_chat_id", 0);
    if (!chat || !from || chela_json_bool(from, "is_bot", false) || moved) {
        char name[ID];
        if (moved && chat)
            migrated_set(t, chat_name(t, chat, name), moved);
        return false;
    }
    chela_arrival_put(a, "kind", reaction ? "reaction" : edited ? "edit" : "message");
    put_place(a, m, chat);
    put_sender(a, m, from);
    put_id(a, "event", chat, m);
    if (edited || reaction)
        a->version = (uint64_t)chela_json_int(a->event, "update_id", 0);
    return button     ? read_press(a, button)
           : reaction ? read_reaction(a, reaction)
                      : read_said(a, m, edited != NULL);
}

void inbound_take(struct telegram *t, json_object *updates, uint64_t call, batch_fn *fn)
{
    static const struct chela_reading reading = {read_update, api_bring, over, batch_over};
    struct batch *b = chela_need(calloc(1, sizeof *b));
    chela_queue_open(&b->queue, &t->peer, &reading);
    b->t = t;
    b->call = call;
    b->fn = fn;
    b->why = chela_need(strdup(""));
    for (size_t i = 0; i < chela_json_length(updates); i++) {
        json_object *update = chela_json_at(updates, i);
        int64_t id = chela_json_int(update, "update_id", 0);
        if (id >= b->next)
            b->next = id + 1;
        chela_queue_push(&b->queue, json_object_get(update));
    }
    chela_queue_run(&b->queue);
}
