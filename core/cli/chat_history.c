/* Chat history: takes up a session, at the beginning and after a lost connection: what was said,
 * what runs, what waits for an approval. What was shown already is told from the rest by the
 * messages' numbers and by the runs that they belong to. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/chat.h"
#include "cli/output.h"
#include "support/json.h"

#define ASK_MS        10000u
#define HISTORY_LIMIT 200
#define HISTORY_SHOWN 6 /* messages of before, when the chat is opened */

static int64_t seq_of(json_object *message)
{
    return chela_json_int(chela_json_object(message, "__openclaw"), "seq", 0);
}

static const char *run_of(json_object *message)
{
    return output_field(chela_json_object(message, "__openclaw"), "runId", "");
}

/* The last text that the run of the open reply gave, if it ended while there was no connection. */
static void finish_from_history(struct chat *chat, json_object *messages)
{
    for (size_t i = chela_json_length(messages); i-- > 0;) {
        json_object *message = chela_json_at(messages, i);
        if (strcmp(output_field(message, "role", ""), "assistant") == 0 &&
            strcmp(run_of(message), chat->reply.run) == 0) {
            struct buf text = {0};
            turn_view_message_text(message, &text);
            if (text.n > 0) {
                turn_view_text(&chat->reply, buf_text(&text), text.n);
                buf_free(&text);
                turn_view_end(&chat->reply, REPLY_DONE, NULL);
                return;
            }
            buf_free(&text);
        }
    }
    turn_view_end(&chat->reply, REPLY_FAILED, "the gateway ended while it was at work");
}

static void show_answer(struct chat *chat, json_object *message)
{
    struct buf text = {0};
    turn_view_message_text(message, &text);
    if (text.n > 0) {
        struct turn_view reply;
        turn_view_begin(&reply, &chat->screen, "", false);
        screen_blank(&chat->screen);
        turn_view_text(&reply, buf_text(&text), text.n);
        turn_view_end(&reply, REPLY_DONE, NULL);
        turn_view_free(&reply);
        screen_blank(&chat->screen);
    }
    buf_free(&text);
}

static void show_message(struct chat *chat, json_object *message)
{
    const char *role = output_field(message, "role", "");
    const char *key = output_field(message, "idempotencyKey", NULL);
    if (strcmp(role, "user") == 0) {
        if (key == NULL || !chat_seen(chat, key)) {
            chat_show_user(chat, message);
        }
    } else if (strcmp(role, "assistant") == 0 && !chat_is_recent(chat, run_of(message))) {
        show_answer(chat, message);
    }
}

/* Whether an entry has text of its own, as those of tool calls alone have not. */
static bool has_text(json_object *message)
{
    struct buf text = {0};
    const char *role = output_field(message, "role", "");
    turn_view_message_text(message, &text);
    bool has = text.n > 0 && (strcmp(role, "user") == 0 || strcmp(role, "assistant") == 0);
    buf_free(&text);
    return has;
}

static void show_history(struct chat *chat, json_object *messages, bool first)
{
    size_t count = chela_json_length(messages), from = 0;
    int64_t newest = chat->seen_seq;
    if (first) {
        size_t left = HISTORY_SHOWN;
        for (from = count; from > 0 && left > 0; from--) {
            left -= has_text(chela_json_at(messages, from - 1));
        }
    }
    for (size_t i = from; i < count; i++) {
        json_object *message = chela_json_at(messages, i);
        if (has_text(message) && (first ? chat->raw : seq_of(message) > chat->seen_seq)) {
            show_message(chat, message);
        }
    }
    for (size_t i = 0; i < count; i++) {
        int64_t seq = seq_of(chela_json_at(messages, i));
        newest = seq > newest ? seq : newest;
    }
    chat->seen_seq = newest;
}

static void take_up(struct chat *chat, json_object *history)
{
    bool first = chat->session == NULL;
    json_object *messages = chela_json_array(history, "messages");
    json_object *running = chela_json_object(history, "inFlightRun");
    const char *run = output_field(running, "runId", NULL);
    if (first) {
        chat->session = xstrdup(output_field(history, "sessionKey", chat->asked_session));
    }
    bool goes_on = chat->replying && run != NULL && strcmp(run, chat->reply.run) == 0;
    if (chat->replying && !goes_on) {
        finish_from_history(chat, messages);
        chat_end_reply(chat);
    }
    show_history(chat, messages, first);
    if (run != NULL && !chat_is_recent(chat, run)) {
        size_t length = 0;
        const char *text = chela_json_string(running, "text", &length);
        if (!chat->replying) {
            chat_begin_reply(chat, run);
        }
        if (text != NULL && length > 0) {
            turn_view_resume(&chat->reply, text, length);
        }
    } else if (chat->awaited != NULL && run == NULL) {
        bool unsent = false;
        for (struct chat_sent *sent = chat->unsent; sent != NULL; sent = sent->next) {
            unsent = unsent || strcmp(sent->key, chat->awaited) == 0;
        }
        if (!unsent) {
            chat_no_longer_awaited(chat, chat->awaited);
        }
    }
    chat->synced = true;
}

static json_object *with_session(struct chat *chat)
{
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "sessionKey",
                        chat->session != NULL ? chat->session : chat->asked_session);
    return params;
}

/* What is good to have, but without which a chat can be held. */
static int ask_optional(struct chat *chat, const char *method, json_object *params,
                        json_object **payload, struct error *e)
{
    *payload = NULL;
    if (!client_offers(&chat->client, method)) {
        json_object_put(params);
        return 0;
    }
    if (client_call(&chat->client, method, params, ASK_MS, payload, NULL, e) != 0) {
        return e->class == CHELA_E_GONE ? -1 : 0;
    }
    return 0;
}

int chat_take_up_session(struct chat *chat, struct error *e)
{
    json_object *params = with_session(chat), *payload = NULL;
    chela_json_put_int(params, "limit", HISTORY_LIMIT);
    if (client_call(&chat->client, "chat.history", params, ASK_MS, &payload, NULL, e) != 0) {
        return -1;
    }
    take_up(chat, payload);
    json_object_put(payload);
    if (ask_optional(chat, "exec.approval.list", NULL, &payload, e) != 0) {
        return -1;
    }
    chat_ask_list(chat, payload);
    json_object_put(payload);
    params = chela_json_new_object();
    chela_json_put_text(params, "key", chat->session);
    if (ask_optional(chat, "sessions.messages.subscribe", params, &payload, e) != 0) {
        return -1;
    }
    json_object_put(payload);
    if (ask_optional(chat, "commands.list", NULL, &payload, e) != 0) {
        return -1;
    }
    json_object_put(chat->commands);
    chat->commands = json_object_get(chela_json_array(payload, "commands"));
    json_object_put(payload);
    return 0;
}
