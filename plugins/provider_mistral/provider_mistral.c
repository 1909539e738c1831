/*
 * provider_mistral: Mistral's chat completions. Writes the request (request.c), reads the stream,
 * says what happened; the host carries it.
 *
 * Format: https://docs.mistral.ai/api/
 */
#include <chela/chela.h>

#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "support/dialect.h"
#include "support/models.h"

static const struct chela_option options[] = {
    {"base_url", CHELA_STRING, CHELA_URL, "https://api.mistral.ai/v1",
     "where the service is, up to /chat/completions", NULL},
    {"api_key", CHELA_STRING, CHELA_SECRET | CHELA_RELOAD | CHELA_FOR_DEFAULT, "${MISTRAL_API_KEY}",
     "key, sent as a bearer token", NULL},
    {"models", CHELA_ITEMS, 0, NULL, "models of this instance; the well-known ones if absent",
     chela_model_items},
    {"list_models", CHELA_BOOL, 0, "false", "the service is asked for its models at start", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_model rows[] = {
    {"mistral-large-latest", 262144, 0, true, false, 0.5, 1.5, 0, 0, "mistral-large-2512", 0, 0, 0,
     0},
    {"mistral-medium-latest", 262144, 0, true, false, 0.4, 2, 0, 0, "mistral-medium-2508", 0, 0, 0,
     0},
    {"mistral-medium-2604", 262144, 0, true, true, 1.5, 7.5, 0, 0, NULL, 0, 0, 0, 0},
    {"mistral-small-latest", 256000, 0, true, true, 0.15, 0.6, 0, 0, "mistral-small-2603", 0, 0, 0,
     0},
    {"magistral-medium-latest", 128000, 16384, false, true, 2, 5, 0, 0, NULL, 0, 0, 0, 0},
    {"magistral-small", 128000, 0, false, true, 0.5, 1.5, 0, 0, "magistral-small-latest", 0, 0, 0,
     0},
    {"codestral-latest", 256000, 4096, false, false, 0.3, 0.9, 0, 0, NULL, 0, 0, 0, 0},
};
static const struct chela_model_table known = CHELA_MODEL_TABLE(rows);

static const struct chela_error_rule errors[] = {
    {CHELA_IN_TEXT, "too large for model with", CHELA_E_TOO_LONG},
    {CHELA_IN_TEXT, "Function calling is not enabled", CHELA_E_UNSUPPORTED},
    {CHELA_IN_CODE, "invalid_model", CHELA_E_NOT_FOUND},
    {CHELA_IN_CODE, "invalid_request_error", CHELA_E_ARGS},
    {CHELA_IN_CODE, "rate_limited", CHELA_E_RATE},
    {CHELA_IN_CODE, "service_tier_capacity_exceeded", CHELA_E_OVERLOADED},
    {CHELA_IN_CODE, NULL, 0}};

static void put_headers(struct chela_inst *in, struct chela_headers *h)
{
    chela_headers_open(h);
    chela_headers_bearer(h, chela_option_text(in, "api_key"));
}

static void put_url(struct chela_inst *in, char *out, size_t size, const char *path)
{
    snprintf(out, size, "%s/%s", chela_option_text(in, "base_url").s, path);
}

/* ---- models ---- */

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    chela_publish_models(in, &known);
    if (chela_option_number(in, "list_models")) {
        char url[2048];
        struct chela_headers h;
        put_headers(in, &h);
        put_url(in, url, sizeof url, "models");
        chela_ask(in, 0, "GET", url, "", h.v, h.count);
    }
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void asked(struct chela_inst *in, struct chela_task *task, const struct chela_done *d,
                  json_object *answer)
{
    json_object *data = chela_json_array(answer, "data"), *found = chela_json_new_array();
    (void)task;
    (void)d;
    for (size_t i = 0; i < chela_json_length(data); i++) {
        json_object *its = chela_json_at(data, i), *can = chela_json_object(its, "capabilities");
        if (!chela_json_bool(can, "completion_chat", true))
            continue;
        json_object *o = chela_json_push_object(found);
        chela_json_put_text(o, "name", chela_json_string(its, "id", NULL));
        if (chela_json_int(its, "max_context_length", 0) > 0)
            chela_json_put_int(o, "context", chela_json_int(its, "max_context_length", 0));
        if (can) {
            chela_json_put_bool(o, "tools", chela_json_bool(can, "function_calling", false));
            chela_json_put_bool(o, "images", chela_json_bool(can, "vision", false));
        }
    }
    if (data)
        chela_publish_found(in, found, &known);
    json_object_put(found);
}

/* ---- request ---- */

static void begin(struct chela_inst *in, const struct chela_begin *b)
{
    struct chela_stream *s = chela_stream_begin(in, b, &request_naming, in->self);
    struct chela_params params;
    struct chela_headers h;
    char *body = NULL, url[2048];
    size_t n = 0;
    chela_params_open(&params, b);
    FILE *out = chela_request_open(b, &body, &n);
    request_write(out, b, s->tools, &params);
    fclose(out);
    put_headers(in, &h);
    put_url(in, url, sizeof url, "chat/completions");
    chela_stream_post(s, params.stream ? CHELA_SSE : CHELA_BODY, url, body, n, &h);
    chela_params_close(&params);
    free(body);
}

static void render(struct chela_inst *in, const struct chela_render *r)
{
    chela_render_message(in, r, &request_naming, NULL, request_message);
}

static void embed(struct chela_inst *in, const struct chela_embed *e)
{
    struct chela_headers h;
    char url[2048];
    put_headers(in, &h);
    put_url(in, url, sizeof url, "embeddings");
    chela_embed_input(in, e, url, &h);
}

/* ---- answer ---- */

static void take_usage(struct chela_stream *s, json_object *usage)
{
    if (!usage)
        return;
    s->usage.in = (uint64_t)chela_json_int(usage, "prompt_tokens", 0);
    s->usage.out = (uint64_t)chela_json_int(usage, "completion_tokens", 0);
    chela_stream_usage(s);
}

/* Content is a string, or parts of which thinking holds texts of its own. */
static void take_content(struct chela_stream *s, json_object *content)
{
    size_t n = 0;
    const char *text = chela_json_as_string(content, &n);
    if (text && n)
        chela_stream_text(s, text, n);
    for (size_t i = 0;
         json_object_is_type(content, json_type_array) && i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i),
                    *thoughts = chela_json_array(part, "thinking");
        text = chela_json_string(part, "text", &n);
        if (text && chela_part_is(part, "text"))
            chela_stream_text(s, text, n);
        for (size_t k = 0; k < chela_json_length(thoughts); k++) {
            text = chela_json_string(chela_json_at(thoughts, k), "text", &n);
            if (text)
                chela_stream_thinking(s, text, n, NULL);
        }
    }
}

static void take_call(struct chela_stream *s, json_object *call)
{
    json_object *function = chela_json_object(call, "function"),
                *arguments = chela_json_get(function, "arguments");
    const char *id = chela_json_string(call, "id", NULL),
               *name = chela_json_string(function, "name", NULL);
    size_t n = 0, next = s->call_count;
    if (id && strcmp(id, "null") == 0)
        id = NULL;
    if (name && !*name)
        name = NULL;
    /* without an index, one with a name is another call, and one without goes on with the last */
    int64_t index = chela_json_int(call, "index", -1);
    size_t at = index >= 0 ? (size_t)index : name || next == 0 ? next : next - 1;
    if (index >= 0 && name && at < next && s->calls[at].named)
        at = next; /* it says 0 of each */
    if (json_object_is_type(arguments, json_type_object)) {
        chela_stream_whole_call(s, at, id, name, arguments);
        return;
    }
    const char *text = chela_json_as_string(arguments, &n);
    chela_stream_call(s, at, id, name, text ? text : "", n);
}

static void take_message(struct chela_stream *s, json_object *m)
{
    json_object *calls = chela_json_array(m, "tool_calls");
    if (!calls)
        calls = chela_json_array(m, "toolCalls");
    take_content(s, chela_json_get(m, "content"));
    for (size_t i = 0; i < chela_json_length(calls); i++)
        take_call(s, chela_json_at(calls, i));
}

static void take_finish(struct chela_stream *s, const char *reason)
{
    static const struct chela_stop stops[] = {{"tool_calls", "tool_calls"},
                                              {"length", "length"},
                                              {"model_length", "length"},
                                              {NULL, NULL}};
    if (!reason)
        return;
    s->closed = true;
    if (strcmp(reason, "error") == 0)
        chela_stream_fail(s, CHELA_E_NETWORK, "the service broke off its answer");
    else
        chela_stream_stop(s, stops, reason);
}

static void take(struct chela_stream *s, json_object *o, const char *message_member)
{
    static const struct chela_dialect failing = {.errors = errors};
    const char *object = chela_json_string(o, "object", NULL);
    if (chela_json_get(o, "error") || (object && strcmp(object, "error") == 0)) {
        chela_dialect_fail(s, o, &failing);
        return;
    }
    if (!s->model)
        chela_stream_keep(&s->model, chela_json_string(o, "model", NULL));
    if (!s->id)
        chela_stream_keep(&s->id, chela_json_string(o, "id", NULL));
    json_object *choice = chela_json_at(chela_json_array(o, "choices"), 0);
    if (choice) {
        const char *reason = chela_json_string(choice, "finish_reason", NULL);
        take_message(s, chela_json_object(choice, message_member));
        take_finish(s, reason ? reason : chela_json_string(choice, "finishReason", NULL));
    }
    take_usage(s, chela_json_object(o, "usage"));
}

static void event(struct chela_stream *s, json_object *o)
{
    take(s, o, "delta");
}

static void whole(struct chela_stream *s, json_object *o)
{
    take(s, o, "message");
}

static const struct chela_dialect dialect = {
    .errors = errors, .event = event, .whole = whole, .asked = asked, .vectors = chela_embed_data};

CHELA_DIALECT_SLOTS(dialect)

static const struct chela_provider provider = {
    .size = (uint32_t)sizeof(struct chela_provider),
    .begin = begin,
    .render = render,
    .embed = embed,
};

static const struct chela_iface mistral = {
    CHELA_IFACE("mistral", "models of Mistral", CHELA_CAP_DEFAULT, options),
    .open = chela_toolsets_instance,
    .close = chela_toolsets_instance_close,
    .start = start,
    .http = http,
    .done = done,
    .provider = &provider,
};

CHELA_PLUGIN(provider_mistral, "0.9.0", "models of Mistral", "MIT", "", &mistral);
