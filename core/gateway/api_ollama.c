/*
 * POST /api/chat, GET /api/tags, GET /api/version: Ollama's interface, lines of JSON instead of
 * events. Called by api.c.
 */
#include "config.h"

#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/mem.h"
#include "gateway/api_turn.h"
#include "support/json.h"

struct ollama {
    bool stream, begun, thinks;
    uint64_t began;
    char model[200];
};

/* ---- the request ---- */

static void read_message(struct api_input *in, json_object *m, unsigned *calls_seen,
                         unsigned *results_seen)
{
    size_t n = 0;
    const char *role = chela_json_string(m, "role", NULL),
               *text = chela_json_string(m, "content", &n);
    json_object *images = chela_json_array(m, "images"), *calls = chela_json_array(m, "tool_calls");
    if (!role) {
        error_set(&in->error, CHELA_E_ARGS, "a message has no role");
        return;
    }
    if (strcmp(role, "system") == 0) {
        api_input_system(in, text);
        return;
    }
    if (strcmp(role, "tool") == 0) { /* no ids on this wire: their order pairs them */
        CLEANUP(freep) char *id = xprintf("call_%u", (*results_seen)++);
        api_input_result(in, id, text ? text : "", false);
        return;
    }
    json_object *parts =
        api_input_message(in, strcmp(role, "assistant") == 0 ? "assistant" : "user");
    api_input_text(parts, text, n);
    for (size_t i = 0; i < chela_json_length(images); i++) {
        const char *image = chela_json_as_string(chela_json_at(images, i), NULL);
        if (image)
            api_input_image(parts, strncmp(image, "/9j/", 4) == 0 ? "image/jpeg" : "image/png",
                            image);
    }
    for (size_t i = 0; i < chela_json_length(calls); i++) {
        json_object *f = chela_json_object(chela_json_at(calls, i), "function"),
                    *arguments = chela_json_object(f, "arguments");
        CLEANUP(freep) char *id = xprintf("call_%u", (*calls_seen)++);
        api_input_call(in, parts, id, chela_json_string(f, "name", NULL),
                       arguments ? chela_json_text(arguments, NULL) : NULL);
    }
}

static void read_body(struct api_input *in, json_object *body)
{
    json_object *messages = chela_json_array(body, "messages"),
                *tools = chela_json_array(body, "tools"),
                *options = chela_json_object(body, "options"),
                *temperature = chela_json_get(options, "temperature"),
                *think = chela_json_get(body, "think");
    unsigned calls = 0, results = 0;
    int64_t most = chela_json_int(options, "num_predict", 0);
    for (size_t i = 0; i < chela_json_length(messages) && !in->error.class; i++)
        read_message(in, chela_json_at(messages, i), &calls, &results);
    for (size_t i = 0; i < chela_json_length(tools); i++) {
        json_object *f = chela_json_object(chela_json_at(tools, i), "function");
        api_input_tool(in, chela_json_string(f, "name", NULL),
                       chela_json_string(f, "description", NULL),
                       chela_json_object(f, "parameters"));
    }
    if (most > 0)
        chela_json_put_int(in->wishes, "maxTokens", most);
    if (temperature)
        chela_json_put(in->wishes, "temperature", json_object_get(temperature));
    if (chela_json_as_string(think, NULL))
        chela_json_put(in->wishes, "thinking", json_object_get(think));
    else if (chela_json_bool_or(think, false))
        chela_json_put_text(in->wishes, "thinking", "medium");
}

/* ---- the answer ---- */

static void put_time(json_object *o, const char *name)
{
    char text[40];
    struct tm tm;
    time_t now = (time_t)(clock_now_ms() / 1000);
    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    chela_json_put_text(o, name, text);
}

static json_object *line(const struct api_turn *t, json_object **ret_message, bool done)
{
    const struct ollama *p = api_turn_data(t);
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "model", p->model);
    put_time(o, "created_at");
    *ret_message = chela_json_put_object(o, "message");
    chela_json_put_text(*ret_message, "role", "assistant");
    chela_json_put_text(*ret_message, "content", "");
    chela_json_put_bool(o, "done", done);
    return o;
}

static void begin_stream(struct api_turn *t)
{
    struct ollama *p = api_turn_data(t);
    if (!p->begun)
        server_stream(api_turn_request(t), 200, "application/x-ndjson", (struct chela_pairs){0},
                      false);
    p->begun = true;
}

static void on_text(struct api_turn *t, struct chela_str piece)
{
    json_object *message, *o = line(t, &message, false);
    begin_stream(t);
    chela_json_put_string(message, "content", piece.s, (size_t)piece.n);
    api_send_line(api_turn_request(t), o);
}

static void on_thinking(struct api_turn *t, struct chela_str piece)
{
    const struct ollama *p = api_turn_data(t);
    if (!p->thinks)
        return;
    json_object *message, *o = line(t, &message, false);
    begin_stream(t);
    chela_json_put_string(message, "thinking", piece.s, (size_t)piece.n);
    api_send_line(api_turn_request(t), o);
}

static void put_calls(json_object *message, const struct api_turn *t)
{
    json_object *calls = api_turn_calls(t);
    if (!calls)
        return;
    json_object *list = chela_json_put_array(message, "tool_calls");
    for (size_t i = 0; i < chela_json_length(calls); i++) {
        json_object *from = chela_json_at(calls, i), *arguments = NULL,
                    *f = chela_json_put_object(chela_json_push_object(list), "function");
        size_t n = 0;
        const char *text = chela_json_string(from, "arguments", &n);
        chela_json_put_text(f, "name", chela_json_string(from, "name", NULL));
        if (text)
            chela_json_parse(text, n, NULL, &arguments, NULL);
        chela_json_put(f, "arguments", arguments ? arguments : chela_json_new_object());
    }
}

static void on_done(struct api_turn *t)
{
    const struct ollama *p = api_turn_data(t);
    struct server_request *r = api_turn_request(t);
    json_object *message, *o;
    struct api_usage u = api_turn_usage(t);
    struct chela_str text = api_turn_text(t);
    if (p->stream && api_turn_calls(t)) {
        o = line(t, &message, false);
        begin_stream(t);
        put_calls(message, t);
        api_send_line(r, o);
    }
    o = line(t, &message, true);
    if (!p->stream) {
        chela_json_put_string(message, "content", text.s, (size_t)text.n);
        put_calls(message, t);
    }
    chela_json_put_text(o, "done_reason", api_turn_cut(t) ? "length" : "stop");
    chela_json_put_int(o, "total_duration", (int64_t)(clock_ticks_us() - p->began) * 1000);
    chela_json_put_int(o, "load_duration", 0);
    chela_json_put_int(o, "prompt_eval_count", u.in + u.cached + u.written);
    chela_json_put_int(o, "prompt_eval_duration", 0);
    chela_json_put_int(o, "eval_count", u.out);
    chela_json_put_int(o, "eval_duration", (int64_t)(clock_ticks_us() - p->began) * 1000);
    if (!p->stream) {
        api_json(r, 200, o);
        return;
    }
    begin_stream(t);
    api_send_line(r, o);
    server_stream_end(r);
}

static void on_failed(struct api_turn *t, unsigned status, const char *why)
{
    const struct ollama *p = api_turn_data(t);
    if (!p->begun) {
        api_fail(api_turn_request(t), API_OLLAMA, status, why);
        return;
    }
    api_send_line(api_turn_request(t), api_error(API_OLLAMA, status, why));
    server_stream_end(api_turn_request(t));
}

static const struct api_turn_ops streamed = {on_text, on_thinking, on_done, on_failed, NULL},
                                 whole = {NULL, NULL, on_done, on_failed, NULL};

void api_ollama_chat(struct server_request *r, json_object *body)
{
    struct api_target target;
    struct api_input in;
    struct error e = {0};
    const char *model = chela_json_string(body, "model", NULL);
    if (!model) {
        api_fail(r, API_OLLAMA, 400, "model is required");
        return;
    }
    if (api_target(r, model, NULL, &target, &e) < 0) {
        api_fail_error(r, API_OLLAMA, &e);
        return;
    }
    api_input_open(&in);
    read_body(&in, body);
    struct ollama *p = xcalloc(1, sizeof *p);
    p->stream = chela_json_bool(body, "stream", true);
    p->thinks = chela_json_get(body, "think") != NULL;
    p->began = clock_ticks_us();
    strncpy(p->model, model, sizeof p->model - 1);
    api_turn_begin(r, API_OLLAMA, &in, &target, p->stream ? &streamed : &whole, p);
}

/* ---- what there is ---- */

static void add_model(json_object *list, const char *name, const char *family)
{
    json_object *o = chela_json_push_object(list), *details;
    chela_json_put_text(o, "name", name);
    chela_json_put_text(o, "model", name);
    put_time(o, "modified_at");
    chela_json_put_int(o, "size", 0);
    chela_json_put_text(o, "digest", "");
    details = chela_json_put_object(o, "details");
    chela_json_put_text(details, "format", "");
    chela_json_put_text(details, "family", family);
    chela_json_put_text(details, "parameter_size", "");
    chela_json_put_text(details, "quantization_level", "");
}

void api_ollama_tags(struct server_request *r, json_object *body)
{
    json_object *o = chela_json_new_object(), *list = chela_json_put_array(o, "models"),
                *models = agent_models();
    (void)body;
    add_model(list, "chela:latest", "chela");
    for (size_t i = 0; i < chela_json_length(models); i++) {
        const char *id = chela_json_string(chela_json_at(models, i), "id", NULL),
                   *provider = chela_json_string(chela_json_at(models, i), "provider", NULL);
        add_model(list, id ? id : "", provider ? provider : "");
    }
    json_object_put(models);
    api_json(r, 200, o);
}

void api_ollama_version(struct server_request *r, json_object *body)
{
    json_object *o = chela_json_new_object();
    (void)body;
    chela_json_put_text(o, "version", PACKAGE_VERSION);
    api_json(r, 200, o);
}
