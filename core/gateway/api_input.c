/*
 * See api_input.h. Calls and results are paired here, since what a client sends may lack either.
 */
#include "gateway/api_input.h"

#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "support/json.h"

enum { MESSAGES_MOST = 10000, TOOLS_MOST = 256 };

void api_input_open(struct api_input *in)
{
    memset(in, 0, sizeof *in);
    in->messages = chela_json_new_array();
    in->tools = chela_json_new_array();
    in->wishes = chela_json_new_object();
    in->media = chela_json_new_array();
    /* "/etc/hosts" at the begin of a prompt is no command of ours */
    chela_json_put_bool(in->wishes, "suppressCommandInterpretation", true);
}

void api_input_free(struct api_input *in)
{
    buf_free(&in->system);
    json_object_put(in->messages);
    json_object_put(in->tools);
    json_object_put(in->wishes);
    json_object_put(in->media);
    free(in->text);
}

static void wrong(struct api_input *in, const char *text)
{
    if (!in->error.class)
        error_set(&in->error, CHELA_E_ARGS, "%s", text);
}

void api_input_system(struct api_input *in, const char *text)
{
    if (text && *text)
        buf_printf(&in->system, "%s%s", in->system.n ? "\n\n" : "", text);
}

json_object *api_input_message(struct api_input *in, const char *role)
{
    if (chela_json_length(in->messages) >= MESSAGES_MOST)
        wrong(in, "too many messages");
    json_object *m = chela_json_push_object(in->messages);
    chela_json_put_text(m, "role", role);
    return chela_json_put_array(m, "content");
}

void api_input_text(json_object *parts, const char *text, size_t n)
{
    if (!text || n == 0)
        return;
    json_object *part = chela_json_push_object(parts);
    chela_json_put_text(part, "type", "text");
    chela_json_put_string(part, "text", text, n);
}

void api_input_image(json_object *parts, const char *mime, const char *base64)
{
    json_object *part = chela_json_push_object(parts);
    chela_json_put_text(part, "type", "inline");
    chela_json_put_text(part, "mime", mime ? mime : "image/png");
    chela_json_put_text(part, "content", base64);
}

void api_input_image_url(struct api_input *in, json_object *parts, const char *url)
{
    const char *end = url && strncmp(url, "data:", 5) == 0 ? strstr(url, ";base64,") : NULL;
    if (!end) {
        wrong(in, "an image must come as data: URL with base64; addresses are not fetched");
        return;
    }
    CLEANUP(freep) char *mime = xmemdup(url + 5, (size_t)(end - url) - 5);
    api_input_image(parts, mime, end + 8);
}

void api_input_call(struct api_input *in, json_object *parts, const char *id, const char *name,
                    const char *arguments)
{
    json_object *o = NULL;
    if (!id || !*id || !name || !*name) {
        wrong(in, "a tool call has no id or no name");
        return;
    }
    if (arguments && *arguments &&
        (chela_json_parse(arguments, strlen(arguments), NULL, &o, NULL) < 0 ||
         !json_object_is_type(o, json_type_object))) {
        json_object_put(o);
        wrong(in, "a tool call's arguments are no JSON object");
        return;
    }
    json_object *part = chela_json_push_object(parts);
    chela_json_put_text(part, "type", "toolCall");
    chela_json_put_text(part, "id", id);
    chela_json_put_text(part, "name", name);
    chela_json_put(part, "arguments", o ? o : chela_json_new_object());
}

static json_object *last_of(json_object *list)
{
    size_t n = chela_json_length(list);
    return n ? chela_json_at(list, n - 1) : NULL;
}

static bool has_role(json_object *message, const char *role)
{
    const char *its = chela_json_string(message, "role", NULL);
    return its && strcmp(its, role) == 0;
}

static void push_result(json_object *parts, const char *call, const char *name, const char *text,
                        bool is_error)
{
    json_object *o = chela_json_push_object(parts);
    chela_json_put_text(o, "type", "toolResult");
    chela_json_put_text(o, "callId", call);
    chela_json_put_text(o, "name", name);
    api_input_text(chela_json_put_array(o, "content"), text, strlen(text));
    chela_json_put_bool(o, "isError", is_error);
}

void api_input_result(struct api_input *in, const char *call, const char *text, bool is_error)
{
    json_object *last = last_of(in->messages);
    json_object *parts =
        has_role(last, "tool") ? chela_json_array(last, "content") : api_input_message(in, "tool");
    if (!call || !*call)
        wrong(in, "a tool's result names no call");
    else
        push_result(parts, call, "", text ? text : "", is_error);
}

void api_input_tool(struct api_input *in, const char *name, const char *description,
                    json_object *parameters)
{
    if (!name || !*name || chela_json_length(in->tools) >= TOOLS_MOST) {
        wrong(in, "a tool has no name, or there are too many");
        return;
    }
    json_object *o = chela_json_push_object(in->tools);
    chela_json_put_text(o, "name", name);
    chela_json_put_text(o, "description", description ? description : "");
    if (parameters)
        chela_json_put(o, "parameters", json_object_get(parameters));
}

/* ---- the whole ---- */

/* The call that a result answers, in the message before it; NULL if there is none. */
static json_object *call_of(json_object *assistant, const char *id)
{
    json_object *parts = chela_json_array(assistant, "content");
    for (size_t i = 0; i < chela_json_length(parts); i++) {
        json_object *p = chela_json_at(parts, i);
        const char *type = chela_json_string(p, "type", NULL),
                   *its = chela_json_string(p, "id", NULL);
        if (type && strcmp(type, "toolCall") == 0 && its && id && strcmp(its, id) == 0)
            return p;
    }
    return NULL;
}

static json_object *result_of(json_object *tool, const char *id)
{
    json_object *parts = chela_json_array(tool, "content");
    for (size_t i = 0; i < chela_json_length(parts); i++) {
        json_object *p = chela_json_at(parts, i);
        const char *its = chela_json_string(p, "callId", NULL);
        if (its && id && strcmp(its, id) == 0)
            return p;
    }
    return NULL;
}

static const char *result_text(json_object *result)
{
    const char *text =
        chela_json_string(chela_json_at(chela_json_array(result, "content"), 0), "text", NULL);
    return text ? text : "";
}

/* One result for each call of `assistant`, in their order; results of calls that nobody made are
 * dropped. */
static json_object *paired(json_object *assistant, json_object *tool)
{
    json_object *parts = chela_json_array(assistant, "content"), *list = NULL;
    for (size_t i = 0; i < chela_json_length(parts); i++) {
        json_object *call = chela_json_at(parts, i), *result;
        const char *id = chela_json_string(call, "id", NULL);
        if (!chela_json_has(call, "arguments"))
            continue;
        if (!list)
            list = chela_json_new_array();
        result = result_of(tool, id);
        push_result(list, id, chela_json_string(call, "name", NULL),
                    result ? result_text(result) : "(The client sent no result.)",
                    result ? chela_json_bool(result, "isError", false) : true);
    }
    return list;
}

/* Text instead of what only the newest message can carry. */
static json_object *plain_parts(json_object *parts)
{
    json_object *list = chela_json_new_array();
    for (size_t i = 0; i < chela_json_length(parts); i++) {
        json_object *p = chela_json_at(parts, i);
        const char *type = chela_json_string(p, "type", NULL);
        if (type && strcmp(type, "inline") == 0)
            api_input_text(list, "[an image]", 10);
        else
            chela_json_push(list, json_object_get(p));
    }
    return list;
}

static void add_history(json_object *history, const char *role, json_object *parts)
{
    if (chela_json_length(parts) == 0) {
        json_object_put(parts);
        return;
    }
    json_object *o = chela_json_push_object(history);
    chela_json_put_text(o, "role", role);
    chela_json_put(o, "content", parts);
}

/* Messages [0, count) with calls and results paired. */
static json_object *history_of(json_object *messages, size_t count)
{
    json_object *history = chela_json_new_array();
    for (size_t i = 0; i < count; i++) {
        json_object *m = chela_json_at(messages, i),
                    *next = i + 1 < count ? chela_json_at(messages, i + 1) : NULL;
        const char *role = chela_json_string(m, "role", NULL);
        if (strcmp(role, "tool") == 0) /* taken with the message before it */
            continue;
        add_history(history, role, plain_parts(chela_json_array(m, "content")));
        json_object *results =
            strcmp(role, "assistant") == 0 ? paired(m, has_role(next, "tool") ? next : NULL) : NULL;
        if (results)
            add_history(history, "tool", results);
    }
    return history;
}

static void take_parts(struct api_input *in, json_object *parts, struct buf *text)
{
    for (size_t i = 0; i < chela_json_length(parts); i++) {
        json_object *p = chela_json_at(parts, i);
        size_t n = 0;
        const char *type = chela_json_string(p, "type", NULL),
                   *said = chela_json_string(p, "text", &n);
        if (type && strcmp(type, "inline") == 0) {
            json_object *o = chela_json_push_object(in->media);
            chela_json_put_text(o, "name", "image");
            chela_json_put_text(o, "mime", chela_json_string(p, "mime", NULL));
            chela_json_put_text(o, "content", chela_json_string(p, "content", NULL));
        } else if (said) {
            buf_printf(text, "%s", text->n ? "\n\n" : "");
            buf_add(text, said, n);
        }
    }
}

/* What came after the last answer, as one message: the rest stands in the session. */
static void take_new(struct api_input *in)
{
    struct buf text = {0};
    size_t count = chela_json_length(in->messages), from = count;
    while (from && !has_role(chela_json_at(in->messages, from - 1), "assistant"))
        from--;
    json_object *answer = from ? chela_json_at(in->messages, from - 1) : NULL;
    for (size_t i = from; i < count; i++) {
        json_object *m = chela_json_at(in->messages, i), *parts = chela_json_array(m, "content");
        if (!has_role(m, "tool")) {
            take_parts(in, parts, &text);
            continue;
        }
        for (size_t k = 0; k < chela_json_length(parts); k++) {
            json_object *p = chela_json_at(parts, k);
            const char *id = chela_json_string(p, "callId", NULL),
                       *name = chela_json_string(call_of(answer, id), "name", NULL);
            buf_printf(&text, "%sResult of the client's tool %s (call %s):\n%s",
                       text.n ? "\n\n" : "", name ? name : "", id, result_text(p));
        }
    }
    buf_text(&text);
    in->text = buf_take(&text);
}

static void take_all(struct api_input *in)
{
    struct buf text = {0};
    size_t count = chela_json_length(in->messages);
    json_object *last = last_of(in->messages);
    bool results = has_role(last, "tool");
    json_object *history = history_of(in->messages, results ? count : count - 1);
    if (results && chela_json_length(history) > 0) {
        chela_json_put_bool(in->wishes, "historyOnly", true);
        buf_puts(&text, "(results of the client's tools)");
    } else {
        take_parts(in, chela_json_array(last, "content"), &text);
    }
    chela_json_put(in->wishes, "history", history);
    buf_text(&text);
    in->text = buf_take(&text);
}

int api_input_finish(struct api_input *in, bool kept)
{
    json_object *last = last_of(in->messages);
    if (!in->error.class && !last)
        wrong(in, "there is no message");
    if (!in->error.class && has_role(last, "assistant"))
        wrong(in, "the last message must be a user's or a tool's result");
    if (in->error.class)
        return -1;
    if (kept)
        take_new(in);
    else
        take_all(in);
    if (!*in->text && chela_json_length(in->media) == 0)
        wrong(in, "the last message is empty");
    if (in->system.n)
        chela_json_put_string(in->wishes, "extraSystemPrompt", in->system.p, in->system.n);
    if (chela_json_length(in->tools))
        chela_json_put(in->wishes, "clientTools", json_object_get(in->tools));
    return in->error.class ? -1 : 0;
}
