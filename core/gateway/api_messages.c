/*
 * POST /v1/messages: Anthropic's interface. Called by api.c.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/api_turn.h"
#include "support/json.h"

enum block { BLOCK_NONE, BLOCK_TEXT, BLOCK_THINKING };

struct messages {
    bool stream, begun, thinks;
    unsigned index; /* of the block that is open, or of the next one */
    enum block open;
    char model[200];
};

/* ---- the request ---- */

static char *text_of(json_object *content)
{
    struct buf b = {0};
    const char *text = chela_json_as_string(content, NULL);
    buf_puts(&b, text ? text : "");
    for (size_t i = 0; !text && i < chela_json_length(content); i++) {
        const char *part = chela_json_string(chela_json_at(content, i), "text", NULL);
        if (part)
            buf_printf(&b, "%s%s", b.n ? "\n" : "", part);
    }
    return buf_take(&b);
}

static void read_image(struct api_input *in, json_object *parts, json_object *source)
{
    const char *type = chela_json_string(source, "type", NULL),
               *data = chela_json_string(source, "data", NULL);
    if (type && strcmp(type, "base64") == 0 && data)
        api_input_image(parts, chela_json_string(source, "media_type", NULL), data);
    else
        error_set(&in->error, CHELA_E_ARGS,
                  "an image must come as base64; addresses are not fetched");
}

/* A user's message: results first, in a message of their own, then what was said. */
static void read_user(struct api_input *in, json_object *content)
{
    json_object *parts = NULL;
    for (size_t i = 0; i < chela_json_length(content); i++) {
        json_object *b = chela_json_at(content, i);
        const char *type = chela_json_string(b, "type", NULL);
        if (!type || strcmp(type, "tool_result") != 0)
            continue;
        CLEANUP(freep) char *text = text_of(chela_json_get(b, "content"));
        api_input_result(in, chela_json_string(b, "tool_use_id", NULL), text,
                         chela_json_bool(b, "is_error", false));
    }
    for (size_t i = 0; i < chela_json_length(content); i++) {
        json_object *b = chela_json_at(content, i);
        size_t n = 0;
        const char *type = chela_json_string(b, "type", NULL),
                   *text = chela_json_string(b, "text", &n);
        if (!type || strcmp(type, "tool_result") == 0)
            continue;
        if (!parts)
            parts = api_input_message(in, "user");
        if (strcmp(type, "image") == 0)
            read_image(in, parts, chela_json_object(b, "source"));
        else if (text)
            api_input_text(parts, text, n);
        else
            error_set(&in->error, CHELA_E_ARGS, "content of type \"%.50s\" is not taken", type);
    }
}

static void read_assistant(struct api_input *in, json_object *content)
{
    json_object *parts = api_input_message(in, "assistant");
    for (size_t i = 0; i < chela_json_length(content); i++) {
        json_object *b = chela_json_at(content, i);
        size_t n = 0;
        const char *type = chela_json_string(b, "type", NULL),
                   *text = chela_json_string(b, "text", &n);
        if (type && strcmp(type, "tool_use") == 0) {
            json_object *arguments = chela_json_object(b, "input");
            api_input_call(in, parts, chela_json_string(b, "id", NULL),
                           chela_json_string(b, "name", NULL),
                           arguments ? chela_json_text(arguments, NULL) : NULL);
        } else {
            api_input_text(parts, text, n);
        }
    }
}

static void read_message(struct api_input *in, json_object *m)
{
    const char *role = chela_json_string(m, "role", NULL);
    json_object *content = chela_json_get(m, "content");
    bool assistant = role && strcmp(role, "assistant") == 0;
    size_t n = 0;
    const char *text = chela_json_as_string(content, &n);
    if (!role || (!assistant && strcmp(role, "user") != 0))
        error_set(&in->error, CHELA_E_ARGS, "messages: the role must be \"user\" or \"assistant\"");
    else if (text)
        api_input_text(api_input_message(in, role), text, n);
    else if (assistant)
        read_assistant(in, content);
    else
        read_user(in, content);
}

static void read_choice(struct api_input *in, json_object *body)
{
    json_object *choice = chela_json_object(body, "tool_choice"),
                *tools = chela_json_array(body, "tools");
    const char *type = chela_json_string(choice, "type", NULL);
    if (type && strcmp(type, "none") == 0)
        return;
    if (type && strcmp(type, "any") == 0)
        chela_json_put_text(in->wishes, "toolChoice", "required");
    else if (type && strcmp(type, "tool") == 0)
        chela_json_put_text(in->wishes, "toolChoice", chela_json_string(choice, "name", NULL));
    for (size_t i = 0; i < chela_json_length(tools); i++) {
        json_object *tool = chela_json_at(tools, i);
        api_input_tool(in, chela_json_string(tool, "name", NULL),
                       chela_json_string(tool, "description", NULL),
                       chela_json_object(tool, "input_schema"));
    }
}

static void read_body(struct api_input *in, json_object *body)
{
    json_object *messages = chela_json_array(body, "messages"),
                *temperature = chela_json_get(body, "temperature"),
                *thinking = chela_json_object(body, "thinking");
    CLEANUP(freep) char *system = text_of(chela_json_get(body, "system"));
    const char *type = chela_json_string(thinking, "type", NULL);
    int64_t most = chela_json_int(body, "max_tokens", 0);
    api_input_system(in, system);
    if (most > 0)
        chela_json_put_int(in->wishes, "maxTokens", most);
    if (temperature)
        chela_json_put(in->wishes, "temperature", json_object_get(temperature));
    if (type && strcmp(type, "enabled") == 0)
        chela_json_put_text(in->wishes, "thinking", "medium");
    for (size_t i = 0; i < chela_json_length(messages) && !in->error.class; i++)
        read_message(in, chela_json_at(messages, i));
    read_choice(in, body);
}

/* ---- the answer ---- */

static const char *stop_of(const struct api_turn *t)
{
    return api_turn_calls(t) ? "tool_use" : api_turn_cut(t) ? "max_tokens" : "end_turn";
}

static void put_usage(json_object *o, const struct api_turn *t)
{
    struct api_usage u = api_turn_usage(t);
    json_object *usage = chela_json_put_object(o, "usage");
    chela_json_put_int(usage, "input_tokens", u.in);
    chela_json_put_int(usage, "output_tokens", u.out);
    chela_json_put_int(usage, "cache_read_input_tokens", u.cached);
    chela_json_put_int(usage, "cache_creation_input_tokens", u.written);
}

static json_object *message(const struct api_turn *t, bool over)
{
    const struct messages *m = api_turn_data(t);
    json_object *o = chela_json_new_object();
    CLEANUP(freep) char *id = xprintf("msg_%s", api_turn_run(t));
    chela_json_put_text(o, "id", id);
    chela_json_put_text(o, "type", "message");
    chela_json_put_text(o, "role", "assistant");
    chela_json_put_text(o, "model", m->model);
    chela_json_put_array(o, "content");
    chela_json_put_text(o, "stop_reason", over ? stop_of(t) : NULL);
    chela_json_put_text(o, "stop_sequence", NULL);
    put_usage(o, t);
    return o;
}

static json_object *tool_use(json_object *call, bool with_input)
{
    json_object *o = chela_json_new_object(), *input = NULL;
    size_t n = 0;
    const char *arguments = chela_json_string(call, "arguments", &n);
    chela_json_put_text(o, "type", "tool_use");
    chela_json_put_text(o, "id", chela_json_string(call, "id", NULL));
    chela_json_put_text(o, "name", chela_json_string(call, "name", NULL));
    if (with_input && arguments)
        chela_json_parse(arguments, n, NULL, &input, NULL);
    chela_json_put(o, "input", input ? input : chela_json_new_object());
    return o;
}

static json_object *event(const char *type, int64_t index)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "type", type);
    if (index >= 0)
        chela_json_put_int(o, "index", index);
    return o;
}

static void send(struct api_turn *t, json_object *o)
{
    api_send_event(api_turn_request(t), chela_json_string(o, "type", NULL), o);
}

static void begin_stream(struct api_turn *t)
{
    struct messages *m = api_turn_data(t);
    json_object *o;
    if (m->begun)
        return;
    m->begun = true;
    server_stream(api_turn_request(t), 200, "text/event-stream", (struct chela_pairs){0}, true);
    o = event("message_start", -1);
    chela_json_put(o, "message", message(t, false));
    send(t, o);
}

static void close_block(struct api_turn *t)
{
    struct messages *m = api_turn_data(t);
    if (m->open != BLOCK_NONE)
        send(t, event("content_block_stop", m->index++));
    m->open = BLOCK_NONE;
}

static void open_block(struct api_turn *t, enum block kind)
{
    struct messages *m = api_turn_data(t);
    const char *name = kind == BLOCK_TEXT ? "text" : "thinking";
    json_object *o, *block;
    begin_stream(t);
    if (m->open == kind)
        return;
    close_block(t);
    m->open = kind;
    o = event("content_block_start", m->index);
    block = chela_json_put_object(o, "content_block");
    chela_json_put_text(block, "type", name);
    chela_json_put_text(block, name, "");
    if (kind == BLOCK_THINKING)
        chela_json_put_text(block, "signature", "");
    send(t, o);
}

static void send_delta(struct api_turn *t, const char *type, const char *member,
                       struct chela_str text)
{
    const struct messages *m = api_turn_data(t);
    json_object *o = event("content_block_delta", m->index),
                *delta = chela_json_put_object(o, "delta");
    chela_json_put_text(delta, "type", type);
    chela_json_put_string(delta, member, text.s, (size_t)text.n);
    send(t, o);
}

static void on_text(struct api_turn *t, struct chela_str piece)
{
    open_block(t, BLOCK_TEXT);
    send_delta(t, "text_delta", "text", piece);
}

static void on_thinking(struct api_turn *t, struct chela_str piece)
{
    const struct messages *m = api_turn_data(t);
    if (!m->thinks)
        return;
    open_block(t, BLOCK_THINKING);
    send_delta(t, "thinking_delta", "thinking", piece);
}

static void send_call(struct api_turn *t, json_object *call)
{
    struct messages *m = api_turn_data(t);
    json_object *o = event("content_block_start", m->index);
    const char *arguments = chela_json_string(call, "arguments", NULL);
    chela_json_put(o, "content_block", tool_use(call, false));
    send(t, o);
    send_delta(t, "input_json_delta", "partial_json", chela_s(arguments ? arguments : "{}"));
    send(t, event("content_block_stop", m->index++));
}

static void end_stream(struct api_turn *t)
{
    json_object *calls = api_turn_calls(t), *o, *delta;
    if (!calls)
        open_block(t, BLOCK_TEXT);
    begin_stream(t);
    close_block(t);
    for (size_t i = 0; i < chela_json_length(calls); i++)
        send_call(t, chela_json_at(calls, i));
    o = event("message_delta", -1);
    delta = chela_json_put_object(o, "delta");
    chela_json_put_text(delta, "stop_reason", stop_of(t));
    chela_json_put_text(delta, "stop_sequence", NULL);
    put_usage(o, t);
    send(t, o);
    send(t, event("message_stop", -1));
    server_stream_end(api_turn_request(t));
}

static void on_done(struct api_turn *t)
{
    const struct messages *m = api_turn_data(t);
    if (m->stream) {
        end_stream(t);
        return;
    }
    json_object *o = message(t, true), *content = chela_json_array(o, "content"),
                *calls = api_turn_calls(t);
    struct chela_str text = api_turn_text(t);
    if (text.n || !calls) {
        json_object *block = chela_json_push_object(content);
        chela_json_put_text(block, "type", "text");
        chela_json_put_string(block, "text", text.s, (size_t)text.n);
    }
    for (size_t i = 0; i < chela_json_length(calls); i++)
        chela_json_push(content, tool_use(chela_json_at(calls, i), true));
    api_json(api_turn_request(t), 200, o);
}

static void on_failed(struct api_turn *t, unsigned status, const char *why)
{
    const struct messages *m = api_turn_data(t);
    if (!m->begun) {
        api_fail(api_turn_request(t), API_ANTHROPIC, status, why);
        return;
    }
    api_send_event(api_turn_request(t), "error", api_error(API_ANTHROPIC, status, why));
    server_stream_end(api_turn_request(t));
}

static const struct api_turn_ops streamed = {on_text, on_thinking, on_done, on_failed, NULL},
                                 whole = {NULL, NULL, on_done, on_failed, NULL};

void api_messages(struct server_request *r, json_object *body)
{
    struct api_target target;
    struct api_input in;
    struct error e = {0};
    const char *model = chela_json_string(body, "model", NULL),
               *user = chela_json_string(chela_json_object(body, "metadata"), "user_id", NULL);
    if (!model || chela_json_int(body, "max_tokens", 0) < 1) {
        api_fail(r, API_ANTHROPIC, 400, "model and max_tokens are required");
        return;
    }
    if (api_target(r, model, user, &target, &e) < 0) {
        api_fail_error(r, API_ANTHROPIC, &e);
        return;
    }
    api_input_open(&in);
    read_body(&in, body);
    struct messages *m = xcalloc(1, sizeof *m);
    m->stream = chela_json_bool(body, "stream", false);
    m->thinks = chela_json_object(body, "thinking") != NULL;
    strncpy(m->model, model, sizeof m->model - 1);
    api_turn_begin(r, API_ANTHROPIC, &in, &target, m->stream ? &streamed : &whole, m);
}
