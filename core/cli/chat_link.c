/* Chat link: the conversation's side towards the gateway. A message is kept until the gateway has
 * acknowledged it, and sent again under the same key after a lost connection (the key makes that
 * harmless); what happened meanwhile is taken from the history, so that nothing is lost and nothing
 * shown twice. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "cli/chat.h"
#include "cli/clean.h"
#include "cli/output.h"
#include "support/json.h"

#define ASK_MS         10000u
#define HISTORY_LIMIT  200
#define HISTORY_SHOWN  6 /* messages of before, when the chat is opened */
#define RETRY_FIRST_MS 250u
#define RETRY_MOST_MS  5000u

static bool is_recent(const struct chat *chat, const char *id)
{
    for (unsigned i = 0; i < CHAT_RECENT; i++) {
        if (chat->recent[i] != NULL && strcmp(chat->recent[i], id) == 0) {
            return true;
        }
    }
    return false;
}

bool chat_seen(struct chat *chat, const char *id)
{
    if (is_recent(chat, id)) {
        return true;
    }
    free(chat->recent[chat->recent_next]);
    chat->recent[chat->recent_next] = xstrdup(id);
    chat->recent_next = (chat->recent_next + 1) % CHAT_RECENT;
    return false;
}

/* ---- sending ---- */

static void forget_sent(struct chat *chat, struct chat_sent *sent)
{
    for (struct chat_sent **at = &chat->unsent; *at != NULL; at = &(*at)->next) {
        if (*at == sent) {
            *at = sent->next;
            free(sent->key);
            free(sent->text);
            free(sent);
            return;
        }
    }
}

static void no_longer_awaited(struct chat *chat, const char *run)
{
    if (chat->awaited != NULL && strcmp(chat->awaited, run) == 0) {
        free(chat->awaited);
        chat->awaited = NULL;
    }
}

static bool acknowledged(void *arg, const struct client_answer *answer)
{
    struct chat_sent *sent = arg;
    struct chat *chat = sent->chat;
    if (!answer->ok && answer->error.class == CHELA_E_GONE) {
        return false; /* stays among the unsent */
    }
    if (!answer->ok) {
        screen_say(&chat->screen, answer->error.text, STYLE_ALERT);
        chat->status = EXIT_FAILED;
        no_longer_awaited(chat, sent->key);
    }
    chat->dirty = true;
    forget_sent(chat, sent);
    return false;
}

static void transmit(struct chat *chat, struct chat_sent *sent)
{
    struct error e;
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "sessionKey", chat->session);
    chela_json_put_text(params, "message", sent->text);
    chela_json_put_text(params, "idempotencyKey", sent->key);
    if (client_request(&chat->client, "chat.send", params, acknowledged, sent, &e) != 0) {
        chat_lost(chat, &e);
    }
}

void chat_send(struct chat *chat, const char *text)
{
    char key[ID_UUID_SIZE];
    struct chat_sent *sent = xcalloc(1, sizeof *sent), **at = &chat->unsent;
    id_uuid(key);
    sent->chat = chat;
    sent->key = xstrdup(key);
    sent->text = xstrdup(text);
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = sent;
    char *message = xprintf("%s:user", key); /* as the history calls the message itself */
    chat_seen(chat, message);
    free(message);
    if (!chat->raw) {
        free(chat->awaited);
        chat->awaited = xstrdup(key);
    }
    if (chat->connected) {
        transmit(chat, sent);
    }
}

static bool aborted(void *arg, const struct client_answer *answer)
{
    struct chat *chat = arg;
    if (!answer->ok && answer->error.class != CHELA_E_GONE) {
        screen_say(&chat->screen, answer->error.text, STYLE_ALERT);
        chat->dirty = true;
    }
    return false;
}

void chat_abort(struct chat *chat)
{
    struct error e;
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "sessionKey", chat->session);
    if (!chat->connected) {
        json_object_put(params);
    } else if (client_request(&chat->client, "chat.abort", params, aborted, chat, &e) != 0) {
        chat_lost(chat, &e);
    }
}

/* ---- events ---- */

static void begin_reply(struct chat *chat, const char *run)
{
    reply_begin(&chat->reply, &chat->screen, run, chat->verbose);
    chat->replying = true;
    screen_blank(&chat->screen);
}

static void end_reply(struct chat *chat)
{
    if (chat->reply.state == REPLY_RUNNING) {
        return;
    }
    chat->status = chat->reply.state == REPLY_DONE      ? EXIT_OK
                   : chat->reply.state == REPLY_ABORTED ? EXIT_ABORTED
                                                        : EXIT_FAILED;
    no_longer_awaited(chat, chat->reply.run);
    chat_seen(chat, chat->reply.run);
    reply_free(&chat->reply);
    chat->replying = false;
    screen_blank(&chat->screen);
}

/* A run beside the one that is shown (a command's answer, mostly): shown when it is complete. */
static void other_run(struct chat *chat, const char *run, json_object *payload)
{
    const char *state = output_field(payload, "state", "");
    bool over =
        strcmp(state, "final") == 0 || strcmp(state, "error") == 0 || strcmp(state, "aborted") == 0;
    if (!over || chat_seen(chat, run)) {
        return;
    }
    struct reply reply;
    reply_begin(&reply, &chat->screen, run, chat->verbose);
    screen_blank(&chat->screen);
    reply_chat(&reply, payload);
    screen_blank(&chat->screen);
    no_longer_awaited(chat, run);
    reply_free(&reply);
}

static void on_run_event(struct chat *chat, json_object *payload, bool agent)
{
    const char *run = output_field(payload, "runId", NULL);
    const char *session = output_field(payload, "sessionKey", NULL);
    if (run == NULL || session == NULL || !chat->synced || strcmp(session, chat->session) != 0) {
        return;
    }
    if (chat->replying && strcmp(chat->reply.run, run) != 0) {
        if (!agent) {
            other_run(chat, run, payload);
        }
        return;
    }
    if (!chat->replying) {
        if (is_recent(chat, run)) {
            return;
        }
        begin_reply(chat, run);
    }
    if (agent) {
        reply_agent(&chat->reply, payload);
    } else {
        reply_chat(&chat->reply, payload);
    }
    end_reply(chat);
    chat->dirty = true;
}

static void show_user(struct chat *chat, json_object *message)
{
    struct buf text = {0}, line = {0};
    reply_message_text(message, &text);
    buf_printf(&line, "%s%s", chat->line.prompt, buf_text(&text));
    screen_say(&chat->screen, buf_text(&line), STYLE_DIM);
    buf_free(&text);
    buf_free(&line);
}

/* A message that joined the history. Answers are shown as they stream; what others say in this
 * session is shown here. */
static void on_session_message(struct chat *chat, json_object *payload)
{
    const char *session = output_field(payload, "sessionKey", "");
    json_object *message = chela_json_object(payload, "message");
    const char *key = output_field(message, "idempotencyKey", NULL);
    if (!chat->synced || strcmp(session, chat->session) != 0) {
        return;
    }
    int64_t seq = chela_json_int(payload, "messageSeq", 0);
    chat->seen_seq = seq > chat->seen_seq ? seq : chat->seen_seq;
    if (strcmp(output_field(message, "role", ""), "user") == 0 && key != NULL &&
        !chat_seen(chat, key)) {
        show_user(chat, message);
        chat->dirty = true;
    }
}

static void on_event(void *arg, const char *name, json_object *payload)
{
    struct chat *chat = arg;
    if (strcmp(name, "chat") == 0) {
        on_run_event(chat, payload, false);
    } else if (strcmp(name, "agent") == 0) {
        on_run_event(chat, payload, true);
    } else if (strcmp(name, "session.message") == 0) {
        on_session_message(chat, payload);
    } else if (strcmp(name, "exec.approval.requested") == 0 && chat->synced) {
        chat_ask_add(chat, payload);
    } else if (strcmp(name, "exec.approval.resolved") == 0) {
        chat_ask_resolved(chat, payload);
    }
}

/* ---- taking up the session ---- */

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
            reply_message_text(message, &text);
            if (text.n > 0) {
                reply_text(&chat->reply, buf_text(&text), text.n);
                buf_free(&text);
                reply_end(&chat->reply, REPLY_DONE, NULL);
                return;
            }
            buf_free(&text);
        }
    }
    reply_end(&chat->reply, REPLY_FAILED, "the gateway ended while it was at work");
}

static void show_answer(struct chat *chat, json_object *message)
{
    struct buf text = {0};
    reply_message_text(message, &text);
    if (text.n > 0) {
        struct reply reply;
        reply_begin(&reply, &chat->screen, "", false);
        screen_blank(&chat->screen);
        reply_text(&reply, buf_text(&text), text.n);
        reply_end(&reply, REPLY_DONE, NULL);
        reply_free(&reply);
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
            show_user(chat, message);
        }
    } else if (strcmp(role, "assistant") == 0 && !is_recent(chat, run_of(message))) {
        show_answer(chat, message);
    }
}

/* Whether an entry has text of its own, as those of tool calls alone have not. */
static bool has_text(json_object *message)
{
    struct buf text = {0};
    const char *role = output_field(message, "role", "");
    reply_message_text(message, &text);
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
        end_reply(chat);
    }
    show_history(chat, messages, first);
    if (run != NULL && !is_recent(chat, run)) {
        size_t length = 0;
        const char *text = chela_json_string(running, "text", &length);
        if (!chat->replying) {
            begin_reply(chat, run);
        }
        if (text != NULL && length > 0) {
            reply_resume(&chat->reply, text, length);
        }
    } else if (chat->awaited != NULL && run == NULL) {
        bool unsent = false;
        for (struct chat_sent *sent = chat->unsent; sent != NULL; sent = sent->next) {
            unsent = unsent || strcmp(sent->key, chat->awaited) == 0;
        }
        if (!unsent) {
            no_longer_awaited(chat, chat->awaited);
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

static int take_up_session(struct chat *chat, struct error *e)
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

static void greet(struct chat *chat)
{
    const char *version =
        output_field(chela_json_object(chat->client.hello, "server"), "version", "");
    char *text = xprintf("chela %s   /help lists the commands, Ctrl-D leaves", version);
    screen_say(&chat->screen, text, STYLE_DIM);
    screen_blank(&chat->screen);
    free(text);
}

int chat_connect(struct chat *chat, struct error *e)
{
    place_free(&chat->place);
    chat->synced = false;
    if (place_find(&chat->place, chat->common->gateway, e) != 0 ||
        client_open(&chat->client, &chat->place, on_event, chat, e) != 0) {
        return -1;
    }
    if (chat->session == NULL && chat->raw) {
        greet(chat);
    }
    if (take_up_session(chat, e) != 0) {
        client_close(&chat->client);
        return -1;
    }
    chat->connected = true;
    chat->retries = 0;
    chat->dirty = true;
    for (struct chat_sent *sent = chat->unsent; sent != NULL && chat->connected;
         sent = sent->next) {
        transmit(chat, sent);
    }
    return 0;
}

void chat_lost(struct chat *chat, const struct error *e)
{
    if (chat->connected) {
        client_close(&chat->client);
    }
    chat->connected = false;
    chat->synced = false;
    chat->lost = *e;
    unsigned pause = RETRY_FIRST_MS << (chat->retries < 5 ? chat->retries : 5);
    chat->retry_at_ms = clock_ticks_ms() + (pause < RETRY_MOST_MS ? pause : RETRY_MOST_MS);
    chat->retries++;
    chat->dirty = true;
}

void chat_link_free(struct chat *chat)
{
    client_close(&chat->client);
    while (chat->unsent != NULL) {
        forget_sent(chat, chat->unsent);
    }
    for (unsigned i = 0; i < CHAT_RECENT; i++) {
        free(chat->recent[i]);
    }
    if (chat->replying) {
        reply_free(&chat->reply);
    }
    free(chat->awaited);
    free(chat->session);
    json_object_put(chat->commands);
    place_free(&chat->place);
}
