/*
 * Questions of servers to a person: whether a model may be asked for them, what to fill into a
 * form, whether to open a page. Told to the chat that the server's work is done for; answered by
 * /mcp or `chela mcp answer`; without an answer in time they count as dismissed. They live as long
 * as the connection that they came by, so nothing is stored.
 */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>

enum { QUESTIONS_MOST = 64 };

struct question {
    struct question *next;
    struct server *server;
    char *id, *kind, *text;
    json_object *details;
    uint64_t timer, asked_ms;
    question_fn *fn;
    void *owner;
};

static void question_end(struct question *q, const char *action, json_object *content)
{
    struct mcp *m = q->server->mcp;
    struct question **at = &m->questions;
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    m->in->host->local->timer_stop(m->in, q->timer);
    q->fn(q->owner, action, content);
    json_object_put(q->details);
    free(q->id);
    free(q->kind);
    free(q->text);
    free(q);
}

static void question_late(struct chela_inst *in, void *arg)
{
    struct question *q = arg;
    (void)in;
    q->timer = 0;
    mcp_log(q->server->mcp, CHELA_WARN, "%s: nobody answered its question in time",
            q->server->name);
    question_end(q, "cancel", NULL);
}

static void told(struct io *io, const struct chela_done *d)
{
    if (d->error != CHELA_OK)
        mcp_log(io->mcp, CHELA_INFO, "a question could not be told to the chat: %.*s",
                (int)d->text.n, d->text.n ? d->text.s : "");
}

static void add_button(json_object *list, const char *label, const char *action, const char *id)
{
    json_object *o = chela_json_push_object(list);
    char *value = format("/mcp %s %s", action, id);
    chela_json_put_text(o, "label", label);
    chela_json_put_text(o, "value", value);
    free(value);
}

static void tell_chat(struct question *q, json_object *source)
{
    struct mcp *m = q->server->mcp;
    const char *channel = chela_json_string(source, "channel", NULL),
               *chat = chela_json_string(source, "chat", NULL),
               *account = chela_json_string(source, "account", NULL);
    if (!channel || !chat)
        return;
    json_object *o = chela_json_new_object();
    char *text = format("%s\n\n`/mcp accept %s` or `/mcp decline %s`", q->text, q->id, q->id);
    chela_json_put_text(o, "channel", channel);
    chela_json_put_text(o, "to", chat);
    if (account)
        chela_json_put_text(o, "accountId", account);
    chela_json_put_text(o, "message", text);
    json_object *buttons = chela_json_put_array(o, "buttons");
    add_button(buttons, "Accept", "accept", q->id);
    add_button(buttons, "Decline", "decline", q->id);
    struct io *io = io_new(m, NULL, NULL);
    io->done = told;
    CHELA_ARGS(chela_invoke, a, io->call);
    a.h.tag = (uint64_t)(uintptr_t)io;
    a.name = chela_s("send");
    a.params = chela_s(chela_json_text(o, NULL));
    m->in->host->chat->invoke(m->in, &a);
    json_object_put(o);
    free(text);
}

void question_ask(struct server *s, const char *kind, const char *text, json_object *details,
                  json_object *source, question_fn *fn, void *owner)
{
    struct mcp *m = s->mcp;
    size_t waiting = 0;
    for (struct question *q = m->questions; q; q = q->next)
        waiting++;
    if (waiting >= QUESTIONS_MOST) {
        json_object_put(details);
        fn(owner, "cancel", NULL);
        return;
    }
    struct question *q = need(calloc(1, sizeof *q));
    q->server = s;
    q->id = format("q%llu", (unsigned long long)++m->last_question);
    q->kind = need(strdup(kind));
    q->text = need(strdup(text));
    q->details = details;
    q->asked_ms = m->in->host->local->now_ms(m->in);
    q->fn = fn;
    q->owner = owner;
    q->next = m->questions;
    m->questions = q;
    q->timer = m->in->host->local->timer(
        m->in, (uint64_t)chela_option_number(m->in, "question_timeout"), question_late, q);
    mcp_log(m, CHELA_INFO, "%s asks (%s): %s", s->name, q->id, text);
    struct request *cause = incoming_cause(s);
    if (cause && cause->call) {
        char *line =
            format("%s\n(answer with /mcp accept %s or /mcp decline %s)\n", text, q->id, q->id);
        chela_text_of(m->in, cause->call, line, strlen(line));
        free(line);
    }
    tell_chat(q, source);
}

int question_answer(struct mcp *m, const char *id, const char *action, json_object *content,
                    const char **ret_error)
{
    struct question *q = m->questions;
    if (strcmp(action, "accept") != 0 && strcmp(action, "decline") != 0 &&
        strcmp(action, "cancel") != 0) {
        *ret_error = "An answer is accept, decline or cancel.";
        return -1;
    }
    while (q && strcmp(q->id, id) != 0)
        q = q->next;
    if (!q) {
        *ret_error = "There is no such question, or it has been answered.";
        return -1;
    }
    question_end(q, action, content);
    return 0;
}

void question_list(struct mcp *m, json_object *list)
{
    for (struct question *q = m->questions; q; q = q->next) {
        json_object *o = chela_json_push_object(list);
        chela_json_put_text(o, "id", q->id);
        chela_json_put_text(o, "server", q->server->name);
        chela_json_put_text(o, "kind", q->kind);
        chela_json_put_text(o, "text", q->text);
        chela_json_put_int(o, "askedAt", (int64_t)q->asked_ms);
        if (q->details)
            chela_json_put(o, "details", json_object_get(q->details));
    }
}

void question_drop(struct mcp *m, const struct server *s)
{
    for (struct question *q = m->questions, *next; q; q = next) {
        next = q->next;
        if (!s || q->server == s)
            question_end(q, "cancel", NULL);
    }
}
