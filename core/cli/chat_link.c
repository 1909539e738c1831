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

#define RETRY_FIRST_MS 250u
#define RETRY_MOST_MS  5000u

bool chat_is_recent(const struct chat *chat, const char *id)
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
    if (chat_is_recent(chat, id)) {
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

void chat_no_longer_awaited(struct chat *chat, const char *run)
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
        chat_no_longer_awaited(chat, sent->key);
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

void chat_begin_reply(struct chat *chat, const char *run)
{
    turn_view_begin(&chat->reply, &chat->screen, run, chat->verbose);
    chat->replying = true;
    screen_blank(&chat->screen);
}

void chat_end_reply(struct chat *chat)
{
    if (chat->reply.state == REPLY_RUNNING) {
        return;
    }
    chat->status = chat->reply.state == REPLY_DONE      ? EXIT_OK
                   : chat->reply.state == REPLY_ABORTED ? EXIT_ABORTED
                                                        : EXIT_FAILED;
    chat_no_longer_awaited(chat, chat->reply.run);
    chat_seen(chat, chat->reply.run);
    turn_view_free(&chat->reply);
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
    struct turn_view reply;
    turn_view_begin(&reply, &chat->screen, run, chat->verbose);
    screen_blank(&chat->screen);
    turn_view_chat(&reply, payload);
    screen_blank(&chat->screen);
    chat_no_longer_awaited(chat, run);
    turn_view_free(&reply);
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
        if (chat_is_recent(chat, run)) {
            return;
        }
        chat_begin_reply(chat, run);
    }
    if (agent) {
        turn_view_agent(&chat->reply, payload);
    } else {
        turn_view_chat(&chat->reply, payload);
    }
    chat_end_reply(chat);
    chat->dirty = true;
}

void chat_show_user(struct chat *chat, json_object *message)
{
    struct buf text = {0}, line = {0};
    turn_view_message_text(message, &text);
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
        chat_show_user(chat, message);
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

/* ---- coming and going ---- */

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
    if (chat_take_up_session(chat, e) != 0) {
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
        turn_view_free(&chat->reply);
    }
    free(chat->awaited);
    free(chat->session);
    json_object_put(chat->commands);
    place_free(&chat->place);
}
