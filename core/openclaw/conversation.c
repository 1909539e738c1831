/*
 * A conversation (see openclaw.h): the events on the way of its last message to the root, as
 * messages in order. What a tool was called with and what came back go along as parts; a call whose
 * result is not there gets one that says so, and a result without its call is left.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "openclaw/openclaw.h"
#include "support/json.h"

void events_add(struct events *e, json_object *o)
{
    if (!o) {
        e->unread++;
        return;
    }
    e->all = xrealloc(e->all, (e->count + 1) * sizeof *e->all);
    e->all[e->count++] = o;
}

static void text_of(json_object *content, struct buf *out)
{
    const char *whole = chela_json_as_string(content, NULL);
    if (whole)
        buf_puts(out, whole);
    for (size_t i = 0; !whole && i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i);
        const char *type = chela_json_string(part, "type", NULL),
                   *text = chela_json_string(part, "text", NULL);
        if (type && text && strcmp(type, "text") == 0 && *text)
            buf_printf(out, "%s%s", out->n ? "\n" : "", text);
    }
}

/* Marks the way back from the last message; a file without ids has no branches. */
static void mark(const struct events *e, bool *on)
{
    const char *wanted = NULL;
    bool tree = false;
    for (size_t i = e->count; i-- > 0;) {
        const char *id = chela_json_string(e->all[i], "id", NULL),
                   *type = chela_json_string(e->all[i], "type", NULL);
        bool message = type && strcmp(type, "message") == 0;
        on[i] = !tree ? message : wanted && id && strcmp(id, wanted) == 0;
        if (on[i] && chela_json_has(e->all[i], "parentId")) {
            tree = true;
            wanted = chela_json_string(e->all[i], "parentId", NULL);
        }
    }
}

/* ---- messages ---- */

struct writer {
    json_object *messages;
    json_object *calls, *results; /* of the last answer, as long as results may come; or NULL */
    unsigned left;                /* steps that are not carried */
};

static json_object *begin_message(struct writer *w, const char *role, json_object *from)
{
    json_object *o = chela_json_push_object(w->messages);
    chela_json_put_text(o, "role", role);
    chela_json_put_int(o, "at", chela_json_int(from, "timestamp", 0));
    return o;
}

static bool has_result(const struct writer *w, const char *id)
{
    for (size_t i = 0; i < chela_json_length(w->results); i++) {
        const char *its = chela_json_string(chela_json_at(w->results, i), "callId", NULL);
        if (its && strcmp(its, id) == 0)
            return true;
    }
    return false;
}

static void put_result(struct writer *w, json_object *call, const char *text, bool failed)
{
    json_object *o = chela_json_push_object(w->results);
    chela_json_put_text(o, "type", "toolResult");
    chela_json_put_text(o, "callId", chela_member(call, "id"));
    chela_json_put_text(o, "name", chela_member(call, "name"));
    json_object *part = chela_json_push_object(chela_json_put_array(o, "content"));
    chela_json_put_text(part, "type", "text");
    chela_json_put_text(part, "text", text);
    chela_json_put_bool(o, "isError", failed);
}

/* No more results come for the last answer's calls. */
static void settle(struct writer *w)
{
    for (size_t i = 0; i < chela_json_length(w->calls); i++) {
        json_object *call = chela_json_at(w->calls, i);
        if (!has_result(w, chela_member(call, "id")))
            put_result(w, call, "(the result was not kept)", true);
    }
    json_object_put(w->calls);
    w->calls = w->results = NULL;
}

static void take_result(struct writer *w, json_object *m)
{
    const char *id = chela_member(m, "toolCallId");
    struct buf text = {0};
    text_of(chela_json_get(m, "content"), &text);
    for (size_t i = 0; i < chela_json_length(w->calls); i++) {
        json_object *call = chela_json_at(w->calls, i);
        if (strcmp(chela_member(call, "id"), id) != 0 || has_result(w, id))
            continue;
        put_result(w, call, text.n ? text.p : "(no text)", chela_json_bool(m, "isError", false));
        buf_free(&text);
        return;
    }
    w->left++;
    buf_free(&text);
}

/* The calls of an answer that have a name and an id of their own; NULL: none. */
static json_object *calls_of(json_object *content)
{
    json_object *calls = NULL;
    for (size_t i = 0; i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i), *arguments;
        const char *type = chela_member(part, "type"), *id = chela_member(part, "id"),
                   *name = chela_member(part, "name");
        bool twice = false;
        for (size_t k = 0; k < chela_json_length(calls); k++)
            twice = twice || strcmp(chela_member(chela_json_at(calls, k), "id"), id) == 0;
        if (strcmp(type, "toolCall") != 0 || !*id || !*name || twice)
            continue;
        if (!calls)
            calls = chela_json_new_array();
        json_object *call = chela_json_push_object(calls);
        chela_json_put_text(call, "type", "toolCall");
        chela_json_put_text(call, "id", id);
        chela_json_put_text(call, "name", name);
        arguments = chela_json_object(part, "arguments");
        chela_json_put(call, "arguments",
                       arguments ? json_object_get(arguments) : chela_json_new_object());
    }
    return calls;
}

static void take_answer(struct writer *w, json_object *m, const char *text)
{
    w->calls = calls_of(chela_json_get(m, "content"));
    if (!w->calls) {
        if (*text)
            chela_json_put_text(begin_message(w, "assistant", m), "text", text);
        return;
    }
    json_object *parts = chela_json_put_array(begin_message(w, "assistant", m), "parts");
    if (*text) {
        json_object *part = chela_json_push_object(parts);
        chela_json_put_text(part, "type", "text");
        chela_json_put_text(part, "text", text);
    }
    for (size_t i = 0; i < chela_json_length(w->calls); i++)
        chela_json_push(parts, json_object_get(chela_json_at(w->calls, i)));
    w->results = chela_json_put_array(begin_message(w, "tool", m), "parts");
}

static void take_message(struct writer *w, json_object *m)
{
    const char *role = chela_json_string(m, "role", NULL);
    if (!role)
        return;
    if (strcmp(role, "toolResult") == 0) {
        take_result(w, m);
        return;
    }
    struct buf text = {0};
    settle(w);
    text_of(chela_json_get(m, "content"), &text);
    if (strcmp(role, "assistant") == 0)
        take_answer(w, m, text.n ? text.p : "");
    else if (strcmp(role, "user") != 0)
        w->left++;
    else if (text.n)
        chela_json_put_text(begin_message(w, "user", m), "text", text.p);
    buf_free(&text);
}

static unsigned put_messages(const struct events *e, json_object *messages)
{
    bool *on = xcalloc(e->count + 1, sizeof *on);
    struct writer w = {.messages = messages};
    mark(e, on);
    for (size_t i = 0; i < e->count; i++)
        if (on[i])
            take_message(&w, chela_json_object(e->all[i], "message"));
    settle(&w);
    free(on);
    return w.left;
}

void say_session(const char *key, const char *id, json_object *entry, struct events *e)
{
    json_object *o = thing("session"), *messages = chela_json_put_array(o, "messages");
    const char *title = chela_json_string(entry, "displayName", NULL);
    if (!title)
        title = chela_json_string(entry, "label", NULL);
    chela_json_put_text(o, "key", key);
    chela_json_put_text(o, "id", id);
    if (title)
        chela_json_put_text(o, "title", title);
    chela_json_put_int(o, "left", put_messages(e, messages));
    chela_json_put_int(o, "unread", e->unread);
    say(o);
    for (size_t i = 0; i < e->count; i++)
        json_object_put(e->all[i]);
    free(e->all);
}
