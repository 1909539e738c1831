/*
 * POST /v1/chat/completions and GET /v1/models: OpenAI's older interface, which most programs
 * speak. Called by api.c.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/mem.h"
#include "gateway/api_turn.h"
#include "support/json.h"

struct chat {
    bool stream, usage, begun;
    int64_t created;
    char model[200];
};

/* ---- the request ---- */

static void read_parts(struct api_input *in, json_object *parts, json_object *content)
{
    size_t n = 0;
    const char *text = chela_json_as_string(content, &n);
    api_input_text(parts, text, n);
    for (size_t i = 0; !text && i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i);
        const char *type = chela_json_string(part, "type", NULL);
        text = chela_json_string(part, "text", &n);
        if (type && strcmp(type, "image_url") == 0)
            api_input_image_url(
                in, parts, chela_json_string(chela_json_object(part, "image_url"), "url", NULL));
        else
            api_input_text(parts, text, n);
        text = NULL;
    }
}

/* The text of a content that may be parts; free it. */
static char *whole_text(json_object *content)
{
    struct buf b = {0};
    const char *text = chela_json_as_string(content, NULL);
    buf_puts(&b, text ? text : "");
    for (size_t i = 0; !text && i < chela_json_length(content); i++) {
        const char *part = chela_json_string(chela_json_at(content, i), "text", NULL);
        buf_puts(&b, part ? part : "");
    }
    return buf_take(&b);
}

static void read_message(struct api_input *in, json_object *m)
{
    const char *role = chela_json_string(m, "role", NULL);
    json_object *content = chela_json_get(m, "content");
    CLEANUP(freep) char *text = whole_text(content);
    if (!role) {
        error_set(&in->error, CHELA_E_ARGS, "a message has no role");
    } else if (strcmp(role, "system") == 0 || strcmp(role, "developer") == 0) {
        api_input_system(in, text);
    } else if (strcmp(role, "tool") == 0 || strcmp(role, "function") == 0) {
        api_input_result(in, chela_json_string(m, "tool_call_id", NULL), text, false);
    } else if (strcmp(role, "assistant") == 0) {
        json_object *parts = api_input_message(in, role),
                    *calls = chela_json_array(m, "tool_calls");
        api_input_text(parts, text, strlen(text));
        for (size_t i = 0; i < chela_json_length(calls); i++) {
            json_object *call = chela_json_at(calls, i), *f = chela_json_object(call, "function");
            api_input_call(in, parts, chela_json_string(call, "id", NULL),
                           chela_json_string(f, "name", NULL),
                           chela_json_string(f, "arguments", NULL));
        }
    } else if (strcmp(role, "user") == 0) {
        read_parts(in, api_input_message(in, role), content);
    } else {
        error_set(&in->error, CHELA_E_ARGS, "unknown role \"%.50s\"", role);
    }
}

/* "auto", "none", "required", {"type":"function","function":{"name"}} */
static bool read_choice(struct api_input *in, json_object *choice)
{
    const char *word = chela_json_as_string(choice, NULL),
               *name = chela_json_string(chela_json_object(choice, "function"), "name", NULL);
    if (!name)
        name = chela_json_string(choice, "name", NULL);
    if (word && strcmp(word, "none") == 0)
        return false;
    if (name || (word && strcmp(word, "required") == 0))
        chela_json_put_text(in->wishes, "toolChoice", name ? name : word);
    return true;
}

static void read_wishes(struct api_input *in, json_object *body)
{
    int64_t most =
        chela_json_int(body, "max_completion_tokens", chela_json_int(body, "max_tokens", 0));
    json_object *temperature = chela_json_get(body, "temperature"),
                *tools = chela_json_array(body, "tools");
    const char *effort = chela_json_string(body, "reasoning_effort", NULL);
    json_object *schema = chela_json_path(body, "/response_format/json_schema/schema");
    if (most > 0)
        chela_json_put_int(in->wishes, "maxTokens", most);
    if (temperature)
        chela_json_put(in->wishes, "temperature", json_object_get(temperature));
    if (effort)
        chela_json_put_text(in->wishes, "thinking", effort);
    if (schema) {
        CLEANUP(freep)
        char *text =
            xprintf("Answer with JSON only, without a code fence, that fits this schema: %s",
                    chela_json_text(schema, NULL));
        api_input_system(in, text);
    }
    if (!read_choice(in, chela_json_get(body, "tool_choice")))
        return;
    for (size_t i = 0; i < chela_json_length(tools); i++) {
        json_object *f = chela_json_object(chela_json_at(tools, i), "function");
        api_input_tool(in, chela_json_string(f, "name", NULL),
                       chela_json_string(f, "description", NULL),
                       chela_json_object(f, "parameters"));
    }
}

/* ---- the answer ---- */

static json_object *frame(const struct api_turn *t, const char *object)
{
    const struct chat *c = api_turn_data(t);
    json_object *o = chela_json_new_object();
    CLEANUP(freep) char *id = xprintf("chatcmpl-%s", api_turn_run(t));
    chela_json_put_text(o, "id", id);
    chela_json_put_text(o, "object", object);
    chela_json_put_int(o, "created", c->created);
    chela_json_put_text(o, "model", c->model);
    return o;
}

/* A chunk with one choice; *ret_delta is filled in by the caller before it is sent. */
static json_object *chunk(const struct api_turn *t, json_object **ret_delta, const char *finish)
{
    json_object *o = frame(t, "chat.completion.chunk");
    json_object *choice = chela_json_push_object(chela_json_put_array(o, "choices"));
    chela_json_put_int(choice, "index", 0);
    *ret_delta = chela_json_put_object(choice, "delta");
    chela_json_put_text(choice, "finish_reason", finish);
    return o;
}

static void begin_stream(struct api_turn *t)
{
    struct chat *c = api_turn_data(t);
    json_object *delta, *o;
    if (c->begun)
        return;
    c->begun = true;
    server_stream(api_turn_request(t), 200, "text/event-stream", (struct chela_pairs){0}, true);
    o = chunk(t, &delta, NULL);
    chela_json_put_text(delta, "role", "assistant");
    chela_json_put_text(delta, "content", "");
    api_send_event(api_turn_request(t), NULL, o);
}

static void on_text(struct api_turn *t, struct chela_str piece)
{
    json_object *delta, *o;
    begin_stream(t);
    o = chunk(t, &delta, NULL);
    chela_json_put_string(delta, "content", piece.s, (size_t)piece.n);
    api_send_event(api_turn_request(t), NULL, o);
}

static void put_usage(json_object *o, const struct api_turn *t)
{
    struct api_usage u = api_turn_usage(t);
    json_object *usage = chela_json_put_object(o, "usage");
    chela_json_put_int(usage, "prompt_tokens", u.in + u.cached + u.written);
    chela_json_put_int(usage, "completion_tokens", u.out);
    chela_json_put_int(usage, "total_tokens", u.in + u.cached + u.written + u.out);
    chela_json_put_int(chela_json_put_object(usage, "prompt_tokens_details"), "cached_tokens",
                       u.cached);
}

static const char *finish_of(const struct api_turn *t)
{
    return api_turn_calls(t) ? "tool_calls" : api_turn_cut(t) ? "length" : "stop";
}

static void put_calls(json_object *to, const struct api_turn *t, bool with_index)
{
    json_object *calls = api_turn_calls(t), *list;
    if (!calls)
        return;
    list = chela_json_put_array(to, "tool_calls");
    for (size_t i = 0; i < chela_json_length(calls); i++) {
        json_object *from = chela_json_at(calls, i), *call = chela_json_push_object(list), *f;
        if (with_index)
            chela_json_put_int(call, "index", (int64_t)i);
        chela_json_put_text(call, "id", chela_json_string(from, "id", NULL));
        chela_json_put_text(call, "type", "function");
        f = chela_json_put_object(call, "function");
        chela_json_put_text(f, "name", chela_json_string(from, "name", NULL));
        chela_json_put_text(f, "arguments", chela_json_string(from, "arguments", NULL));
    }
}

static void end_stream(struct api_turn *t)
{
    struct server_request *r = api_turn_request(t);
    struct chat *c = api_turn_data(t);
    json_object *delta, *o;
    begin_stream(t);
    if (api_turn_calls(t)) {
        o = chunk(t, &delta, NULL);
        put_calls(delta, t, true);
        api_send_event(r, NULL, o);
    }
    api_send_event(r, NULL, chunk(t, &delta, finish_of(t)));
    if (c->usage) {
        o = frame(t, "chat.completion.chunk");
        chela_json_put_array(o, "choices");
        put_usage(o, t);
        api_send_event(r, NULL, o);
    }
    server_stream_write(r, (struct chela_str)CHELA_LIT("data: [DONE]\n\n"));
    server_stream_end(r);
}

static void on_done(struct api_turn *t)
{
    struct chat *c = api_turn_data(t);
    if (c->stream) {
        end_stream(t);
        return;
    }
    json_object *o = frame(t, "chat.completion");
    json_object *choice = chela_json_push_object(chela_json_put_array(o, "choices"));
    chela_json_put_int(choice, "index", 0);
    json_object *message = chela_json_put_object(choice, "message");
    struct chela_str text = api_turn_text(t);
    chela_json_put_text(message, "role", "assistant");
    if (text.n || !api_turn_calls(t))
        chela_json_put_string(message, "content", text.s, (size_t)text.n);
    else
        chela_json_put_text(message, "content", NULL);
    put_calls(message, t, false);
    chela_json_put_text(choice, "finish_reason", finish_of(t));
    put_usage(o, t);
    api_json(api_turn_request(t), 200, o);
}

static void on_failed(struct api_turn *t, unsigned status, const char *message)
{
    struct server_request *r = api_turn_request(t);
    const struct chat *c = api_turn_data(t);
    if (!c->begun) {
        api_fail(r, API_OPENAI, status, message);
        return;
    }
    api_send_event(r, NULL, api_error(API_OPENAI, status, message));
    server_stream_end(r);
}

static const struct api_turn_ops streamed = {.text = on_text, .done = on_done, .failed = on_failed},
                                 whole = {.done = on_done, .failed = on_failed};

void api_chat(struct server_request *r, json_object *body)
{
    struct api_target target;
    struct error e = {0};
    const char *model = chela_json_string(body, "model", NULL);
    if (api_target(r, model, chela_json_string(body, "user", NULL), &target, &e) < 0) {
        api_fail_error(r, API_OPENAI, &e);
        return;
    }
    struct api_input in;
    json_object *messages = chela_json_array(body, "messages");
    api_input_open(&in);
    for (size_t i = 0; i < chela_json_length(messages) && !in.error.class; i++)
        read_message(&in, chela_json_at(messages, i));
    read_wishes(&in, body);
    struct chat *c = xcalloc(1, sizeof *c);
    c->stream = chela_json_bool(body, "stream", false);
    c->usage = chela_json_bool(chela_json_object(body, "stream_options"), "include_usage", false);
    c->created = (int64_t)(clock_now_ms() / 1000);
    strncpy(c->model, model ? model : "chela", sizeof c->model - 1);
    api_turn_begin(r, API_OPENAI, &in, &target, c->stream ? &streamed : &whole, c);
}

/* ---- models ---- */

static void add_model(json_object *list, const char *id, const char *owner)
{
    json_object *o = chela_json_push_object(list);
    chela_json_put_text(o, "id", id);
    chela_json_put_text(o, "object", "model");
    chela_json_put_int(o, "created", 0);
    chela_json_put_text(o, "owned_by", owner);
}

void api_models(struct server_request *r, json_object *body)
{
    json_object *o = chela_json_new_object(), *agents = agent_list(), *models = agent_models();
    (void)body;
    chela_json_put_text(o, "object", "list");
    json_object *list = chela_json_put_array(o, "data");
    add_model(list, "chela", "chela");
    for (size_t i = 0; i < chela_json_length(agents); i++) {
        CLEANUP(freep)
        char *id = xprintf("chela/%s", chela_json_string(chela_json_at(agents, i), "id", NULL));
        add_model(list, id, "chela");
    }
    for (size_t i = 0; i < chela_json_length(models); i++) {
        json_object *m = chela_json_at(models, i);
        const char *provider = chela_json_string(m, "provider", NULL),
                   *id = chela_json_string(m, "id", NULL);
        add_model(list, id ? id : "", provider ? provider : "chela");
    }
    json_object_put(agents);
    json_object_put(models);
    api_json(r, 200, o);
}
