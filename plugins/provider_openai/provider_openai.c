/*
 * provider_openai: OpenAI's chat completions API and the many services that speak it (preset.c).
 * Writes the request (request.c), reads the stream, says what happened; the host carries it.
 *
 * Format: https://platform.openai.com/docs/api-reference/chat
 */
#include <chela/chela.h>

#include <stdlib.h>
#include <string.h>

#include "request.h"

static const struct chela_option options[] = {
    {"preset", CHELA_STRING, CHELA_URL, "openai", "which service, where base_url does not say it",
     preset_values},
    {"base_url", CHELA_STRING, CHELA_URL, NULL,
     "where the service is, up to /chat/completions; the preset's if absent", NULL},
    {"api_key", CHELA_STRING, CHELA_SECRET | CHELA_RELOAD | CHELA_FOR_DEFAULT, "${OPENAI_API_KEY}",
     "key, sent as a bearer token", NULL},
    {"organization", CHELA_STRING, 0, NULL, "OpenAI-Organization header", NULL},
    {"models", CHELA_ITEMS, 0, NULL, "models of this instance; the well-known ones if absent",
     chela_model_items},
    PRESET_OPTIONS,
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_error_rule errors[] = {
    {CHELA_IN_CODE, "context_length_exceeded", CHELA_E_TOO_LONG},
    {CHELA_IN_CODE, "exceed_context_size_error", CHELA_E_TOO_LONG},
    {CHELA_IN_CODE, "insufficient_quota", CHELA_E_QUOTA},
    {CHELA_IN_CODE, "billing_hard_limit_reached", CHELA_E_QUOTA},
    {CHELA_IN_CODE, "billing_error", CHELA_E_QUOTA},
    {CHELA_IN_CODE, "invalid_api_key", CHELA_E_AUTH},
    {CHELA_IN_CODE, "authentication_error", CHELA_E_AUTH},
    {CHELA_IN_CODE, "permission_error", CHELA_E_AUTH},
    {CHELA_IN_CODE, "model_not_found", CHELA_E_NOT_FOUND},
    {CHELA_IN_CODE, "not_found_error", CHELA_E_NOT_FOUND},
    {CHELA_IN_CODE, "rate_limit_exceeded", CHELA_E_RATE},
    {CHELA_IN_CODE, "rate_limit_error", CHELA_E_RATE},
    {CHELA_IN_CODE, "content_filter", CHELA_E_REFUSED},
    {CHELA_IN_CODE, "server_error", CHELA_E_NETWORK},
    {CHELA_IN_CODE, "overloaded_error", CHELA_E_OVERLOADED},
    {CHELA_IN_CODE, "tool_use_failed", CHELA_E_PROTOCOL},
    {CHELA_IN_CODE, NULL, 0},
};

static void put_headers(struct chela_inst *in, struct chela_headers *h)
{
    chela_headers_open(h);
    chela_headers_bearer(h, chela_option_text(in, "api_key"));
    chela_headers_add(h, "openai-organization", chela_option_text(in, "organization"));
}

/* ---- models ---- */

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct preset p = preset_of(in);
    if (!p.base_url) {
        chela_end(in, a->h.call, CHELA_E_ARGS,
                  "preset \"compatible\" needs base_url: where the service is");
        return;
    }
    chela_publish_models(in, p.models);
    if (p.switches & LISTS_MODELS) {
        char url[2048];
        struct chela_headers h;
        put_headers(in, &h);
        snprintf(url, sizeof url, "%s/models", p.base_url);
        chela_ask(in, 0, "GET", url, "", h.v, h.count);
    }
    chela_end(in, a->h.call, CHELA_OK, "");
}

/* The list of models came. vLLM says how long a context may be, llama.cpp in "meta". */
static void asked(struct chela_inst *in, struct chela_task *task, const struct chela_done *d,
                  json_object *answer)
{
    json_object *data = chela_json_array(answer, "data"), *found = chela_json_new_array();
    struct preset p = preset_of(in);
    (void)task;
    for (size_t i = 0; i < chela_json_length(data); i++) {
        json_object *its = chela_json_at(data, i), *o = chela_json_push_object(found);
        int64_t context = chela_json_int(its, "max_model_len", 0);
        if (!context)
            context = chela_json_int(its, "context_length", 0);
        if (!context)
            context = chela_json_int(chela_json_object(its, "meta"), "n_ctx_train", 0);
        chela_json_put_text(o, "name", chela_json_string(its, "id", NULL));
        if (context > 0)
            chela_json_put_int(o, "context", context);
    }
    if (d->error == CHELA_OK && data)
        chela_publish_found(in, found, p.models);
    else
        chela_publish_state(in, false, "the service does not answer to a question for its models");
    json_object_put(found);
}

/* ---- request ---- */

static void begin(struct chela_inst *in, const struct chela_begin *b)
{
    struct chela_stream *s = chela_stream_begin(in, b, &request_naming, in->self);
    struct preset p = preset_of(in);
    struct chela_params params;
    struct chela_headers h;
    char *body = NULL, url[2048];
    size_t n = 0;
    chela_params_open(&params, b);
    FILE *out = chela_request_open(b, &body, &n);
    request_write(out, &p, b, s->tools, &params);
    fclose(out);
    snprintf(url, sizeof url, "%s/chat/completions", p.base_url);
    put_headers(in, &h);
    s->repeats = true;
    s->writes_calls = (p.switches & WRITES_CALLS) != 0;
    chela_stream_post(s, params.stream ? CHELA_SSE : CHELA_BODY, url, body, n, &h);
    chela_params_close(&params);
    free(body);
}

static void render(struct chela_inst *in, const struct chela_render *r)
{
    struct preset p = preset_of(in);
    chela_render_message(in, r, &request_naming, &p, request_message);
}

static void embed(struct chela_inst *in, const struct chela_embed *e)
{
    struct chela_headers h;
    char url[2048];
    snprintf(url, sizeof url, "%s/embeddings", preset_of(in).base_url);
    put_headers(in, &h);
    chela_embed_input(in, e, url, &h);
}

/* ---- answer ---- */

static void take_usage(struct chela_stream *s, json_object *usage)
{
    if (!usage)
        return;
    json_object *in = chela_json_object(usage, "prompt_tokens_details"),
                *out = chela_json_object(usage, "completion_tokens_details");
    int64_t prompt = chela_json_int(usage, "prompt_tokens", 0),
            answer = chela_json_int(usage, "completion_tokens", 0),
            thought = chela_json_int(out, "reasoning_tokens", 0),
            cached = chela_json_int(in, "cached_tokens",
                                    chela_json_int(usage, "prompt_cache_hit_tokens", 0));
    if (thought > 0 && chela_json_int(usage, "total_tokens", 0) == prompt + answer + thought)
        answer += thought; /* xAI counts them apart */
    s->usage.in = (uint64_t)(prompt > cached ? prompt - cached : 0);
    s->usage.out = (uint64_t)answer;
    s->usage.cache_read = (uint64_t)cached;
    s->usage.reasoning = (uint64_t)thought;
    chela_stream_usage(s);
}

static void take_call(struct chela_stream *s, json_object *call, size_t position)
{
    json_object *function = chela_json_object(call, "function"),
                *arguments = chela_json_get(function, "arguments");
    const char *id = chela_json_string(call, "id", NULL),
               *name = chela_json_string(function, "name", NULL);
    int64_t given = chela_json_int(call, "index", (int64_t)position);
    size_t n = 0, index = given < 0 ? position : (size_t)given;
    if (json_object_is_type(arguments, json_type_object)) {
        chela_stream_whole_call(s, index, id, name, arguments);
        return;
    }
    const char *text = chela_json_as_string(arguments, &n);
    chela_stream_call(s, index, id, name && *name ? name : NULL, text ? text : "", n);
}

/* A delta of a stream or the message of a whole answer: they have the same members. */
static void take_message(struct chela_stream *s, json_object *m)
{
    size_t n = 0;
    const char *thinking = chela_json_string(m, "reasoning_content", &n);
    if (!thinking)
        thinking = chela_json_string(m, "reasoning", &n);
    if (thinking && n)
        chela_stream_thinking(s, thinking, n, NULL);
    const char *text = chela_json_string(m, "content", &n);
    if (text && n)
        chela_stream_text(s, text, n);
    const char *refusal = chela_json_string(m, "refusal", &n);
    if (refusal && n) {
        chela_stream_text(s, refusal, n);
        chela_stream_keep(&s->stop, "refusal");
    }
    json_object *calls = chela_json_array(m, "tool_calls");
    for (size_t i = 0; i < chela_json_length(calls); i++)
        take_call(s, chela_json_at(calls, i), i);
}

static void take_finish(struct chela_stream *s, const char *reason)
{
    static const struct chela_stop stops[] = {
        {"tool_calls", "tool_calls"}, {"function_call", "tool_calls"}, {"tool_use", "tool_calls"},
        {"length", "length"},         {"content_filter", "filter"},    {NULL, NULL}};
    if (!reason)
        return;
    s->closed = true;
    if (!s->stop || strcmp(s->stop, "refusal") != 0)
        chela_stream_stop(s, stops, reason);
}

static struct chela_dialect dialect_of(struct chela_inst *in);

static void take(struct chela_stream *s, json_object *o, const char *message_member)
{
    if (chela_json_get(o, "error")) {
        struct chela_dialect dialect = dialect_of(s->instance);
        chela_dialect_fail(s, o, &dialect);
        return;
    }
    if (!s->model)
        chela_stream_keep(&s->model, chela_json_string(o, "model", NULL));
    if (!s->id)
        chela_stream_keep(&s->id, chela_json_string(o, "id", NULL));
    json_object *choice = chela_json_at(chela_json_array(o, "choices"), 0);
    if (choice) {
        take_message(s, chela_json_object(choice, message_member));
        take_finish(s, chela_json_string(choice, "finish_reason", NULL));
    }
    take_usage(s, chela_json_object(o, "usage"));
    take_usage(s, chela_json_object(chela_json_object(o, "x_groq"), "usage"));
}

static void event(struct chela_stream *s, json_object *o)
{
    take(s, o, "delta");
}

static void whole(struct chela_stream *s, json_object *o)
{
    take(s, o, "message");
}

static struct chela_dialect dialect_of(struct chela_inst *in)
{
    return (struct chela_dialect){.errors = errors,
                                  .more_errors = preset_of(in).errors,
                                  .event = event,
                                  .whole = whole,
                                  .asked = asked,
                                  .vectors = chela_embed_data};
}

static void http(struct chela_inst *in, const struct chela_http_event *e)
{
    static const struct chela_dialect dialect = {.event = event};
    chela_dialect_http(in, e, &dialect);
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct chela_dialect dialect = dialect_of(in);
    chela_dialect_done(in, d, &dialect);
}

static const struct chela_provider provider = {
    .size = (uint32_t)sizeof(struct chela_provider),
    .begin = begin,
    .render = render,
    .embed = embed,
};

static const struct chela_iface openai = {
    CHELA_IFACE("openai", "OpenAI's chat completions and services that speak it", CHELA_CAP_DEFAULT,
                options),
    .open = chela_toolsets_instance,
    .close = chela_toolsets_instance_close,
    .start = start,
    .http = http,
    .done = done,
    .provider = &provider,
};

CHELA_PLUGIN(provider_openai, "0.9.0", "models of OpenAI and of services that speak its API", "MIT",
             "", &openai);
