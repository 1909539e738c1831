/*
 * A conversation that was held elsewhere becomes a session here, whole and in one commit, or not at
 * all. A session that has messages is never written to; the same conversation isn't taken twice.
 * Called by the facade.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/events.h"
#include "agent/session.h"
#include "agent/transcript.h"
#include "base/clock.h"
#include "base/mem.h"
#include "support/json.h"

struct importing {
    char *session, *source;
    struct json_object *messages, *fields;
    struct transcript *t;
    journal_fn *fn;
    void *owner;
};

static void end(struct importing *i, const struct error *e)
{
    struct error copy = e ? *e : (struct error){0};
    journal_fn *fn = i->fn;
    void *owner = i->owner;
    transcript_release(i->t);
    if (!e)
        transcript_forget(i->session);
    session_leave(i->session);
    if (!e) {
        struct json_object *o = chela_json_new_object();
        chela_json_put_text(o, "key", i->session);
        chela_json_put_text(o, "reason", "import");
        events_emit(EVENT_SESSIONS_CHANGED, i->session, "", o);
    }
    json_object_put(i->messages);
    json_object_put(i->fields);
    free(i->session);
    free(i->source);
    free(i);
    fn(owner, e ? &copy : NULL);
}

static void stored(void *owner, const struct error *e)
{
    end(owner, e);
}

/* A row for each message; *ret_bodies: the texts that the rows point to, to be freed. */
static struct journal_message *rows_of(const struct importing *i, char ***ret_bodies)
{
    size_t n = chela_json_length(i->messages);
    struct journal_message *rows = xcalloc(n + 1, sizeof *rows);
    char **bodies = xcalloc(n + 1, sizeof *bodies);
    uint64_t now = clock_now_ms();
    for (size_t k = 0; k < n; k++) {
        struct json_object *m = chela_json_at(i->messages, k),
                           *content = json_object_get(chela_json_array(m, "parts"));
        int64_t at = chela_json_int(m, "at", 0);
        if (!content) {
            content = chela_json_new_array();
            struct json_object *part = chela_json_push_object(content);
            chela_json_put_text(part, "type", "text");
            chela_json_put(part, "text", json_object_get(chela_json_get(m, "text")));
        }
        bodies[k] = xstrdup(chela_json_text(content, NULL));
        json_object_put(content);
        rows[k] = (struct journal_message){.seq = k + 1,
                                           .role = chela_json_string(m, "role", NULL),
                                           .body = bodies[k],
                                           .at = at > 0 ? (uint64_t)at : now};
    }
    *ret_bodies = bodies;
    return rows;
}

static void loaded(void *owner, struct transcript *t, const struct error *e)
{
    struct importing *i = owner;
    struct error why = {0};
    if (e) {
        end(i, e);
        return;
    }
    i->t = t;
    bool same = strcmp(transcript_field(t, "imported"), i->source) == 0;
    if (t->last || same) {
        error_set(&why, same ? CHELA_E_CONFLICT : CHELA_E_DENIED,
                  same ? "it was imported already" : "the session has messages of its own");
        end(i, &why);
        return;
    }
    char **bodies;
    size_t n = chela_json_length(i->messages);
    struct journal_message *rows = rows_of(i, &bodies);
    CLEANUP(freep) char *run = xprintf("import-%s", i->source);
    chela_json_put_text(i->fields, "imported", i->source);
    journal_session_import(i->session, run, i->fields, rows, (unsigned)n, stored, i);
    for (size_t k = 0; k < n; k++)
        free(bodies[k]);
    free(bodies);
    free(rows);
}

static void entered(void *owner)
{
    struct importing *i = owner;
    transcript_get(i->session, loaded, i);
}

/* ---- what may come in ---- */

static bool is_role(struct json_object *m, const char *role)
{
    return strcmp(chela_member(m, "role"), role) == 0;
}

/* Texts and calls, each call with an id of its own; *ret_calls of them. */
static bool are_answer_parts(struct json_object *parts, size_t *ret_calls)
{
    *ret_calls = 0;
    for (size_t i = 0; i < chela_json_length(parts); i++) {
        struct json_object *part = chela_json_at(parts, i);
        bool call = strcmp(chela_member(part, "type"), "toolCall") == 0;
        for (size_t k = 0; call && k < i; k++)
            if (strcmp(chela_member(chela_json_at(parts, k), "id"), chela_member(part, "id")) == 0)
                return false;
        if (call ? !*chela_member(part, "id") || !*chela_member(part, "name") ||
                       !chela_json_object(part, "arguments")
                 : strcmp(chela_member(part, "type"), "text") != 0 || !*chela_member(part, "text"))
            return false;
        *ret_calls += call;
    }
    return chela_json_length(parts) > 0;
}

/* A result, texts alone, for each call and no other. */
static bool are_results(struct json_object *results, struct json_object *answer)
{
    size_t calls, n = chela_json_length(results), found = 0;
    struct json_object *parts = chela_json_array(answer, "parts");
    if (!are_answer_parts(parts, &calls) || calls == 0 || n != calls)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct json_object *result = chela_json_at(results, i),
                           *content = chela_json_array(result, "content");
        if (strcmp(chela_member(result, "type"), "toolResult") != 0 ||
            !*chela_member(result, "name") || !content)
            return false;
        for (size_t k = 0; k < chela_json_length(content); k++)
            if (strcmp(chela_member(chela_json_at(content, k), "type"), "text") != 0)
                return false;
        for (size_t k = 0; k < i; k++)
            if (strcmp(chela_member(chela_json_at(results, k), "callId"),
                       chela_member(result, "callId")) == 0)
                return false;
        for (size_t k = 0; k < chela_json_length(parts); k++)
            found += *chela_member(result, "callId") &&
                     strcmp(chela_member(chela_json_at(parts, k), "id"),
                            chela_member(result, "callId")) == 0;
    }
    return found == calls;
}

/* -1: a message has not the form of chela.sessions.import, or a call is without its result. */
static int check(struct json_object *messages, struct error *e)
{
    size_t n = chela_json_length(messages), calls;
    bool answered = true; /* the calls of the message before */
    struct json_object *before = NULL;
    for (size_t k = 0; k < n; k++) {
        struct json_object *m = chela_json_at(messages, k), *parts = chela_json_array(m, "parts");
        bool results = is_role(m, "tool"), spoken = !parts && *chela_member(m, "text"),
             fits = results ? !answered && are_results(parts, before)
                    : is_role(m, "assistant")
                        ? answered && (spoken || are_answer_parts(parts, &calls))
                        : answered && is_role(m, "user") && spoken;
        if (!fits)
            return error_set(
                e, CHELA_E_ARGS,
                "messages.%zu: wants {\"role\": \"user\" or \"assistant\", \"text\": "
                "\"...\"}, or \"parts\" of texts and calls of the assistant and behind "
                "it {\"role\": \"tool\", \"parts\": [...]} with a result for each call",
                k);
        answered = results || !parts || calls == 0;
        before = m;
    }
    if (!answered)
        return error_set(e, CHELA_E_ARGS, "messages.%zu: its calls have no results", n - 1);
    return n ? 0 : error_set(e, CHELA_E_ARGS, "there is no message in it");
}

int session_import(const char *session, const char *source, const char *title,
                   struct json_object *messages, journal_fn *fn, void *owner, struct error *e)
{
    if (check(messages, e) < 0)
        return -1;
    struct importing *i = xcalloc(1, sizeof *i);
    CLEANUP(freep) char *agent = session_key_agent(session);
    i->session = xstrdup(session);
    i->source = xstrdup(source);
    i->messages = json_object_get(messages);
    i->fields = chela_json_new_object();
    i->fn = fn;
    i->owner = owner;
    chela_json_put_text(i->fields, "agent", agent);
    if (title && *title)
        chela_json_put_text(i->fields, "title", title);
    session_enter(session, entered, i);
    return 0;
}
