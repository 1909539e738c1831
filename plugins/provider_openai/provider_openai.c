/*
 * provider_openai: OpenAI's chat completions API and the many services that speak it. Writes the
 * request (request.c), reads the stream, says what happened; the host carries it.
 *
 * Format: https://platform.openai.com/docs/api-reference/chat
 */
#include <chela/chela.h>

#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "support/json.h"
#include "support/stream.h"

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
    {"max_tokens_field", CHELA_STRING, 0, NULL, "name of the field that limits the answer", NULL},
    {"developer_role", CHELA_BOOL, 0, NULL,
     "the system prompt is sent with role developer to thinking models", NULL},
    {"reasoning_effort", CHELA_BOOL, 0, NULL, "the service takes reasoning_effort", NULL},
    {"usage_in_stream", CHELA_BOOL, 0, NULL, "the service takes stream_options.include_usage",
     NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_model known[] = {
    {"gpt-5", 400000, 128000, true, true, 1.25, 10, NULL},
    {"gpt-5-mini", 400000, 128000, true, true, 0.25, 2, NULL},
    {"gpt-4.1", 1047576, 32768, true, false, 2, 8, NULL},
    {"gpt-4o", 128000, 16384, true, false, 2.5, 10, NULL},
    {"gpt-4o-mini", 128000, 16384, true, false, 0.15, 0.6, NULL},
    {"o3", 200000, 100000, true, true, 2, 8, NULL},
};

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    bool own = preset_of(in).base_url && chela_str_is(chela_option_text(in, "preset"), "openai") &&
               chela_option_text(in, "base_url").n == 0;
    chela_publish_models(in, known, own ? sizeof known / sizeof known[0] : 0);
    chela_end(in, a->h.call, CHELA_OK, "");
}

/* ---- request ---- */

static void begin(struct chela_inst *in, const struct chela_begin *b)
{
    struct chela_stream *s = chela_stream_begin(in, b);
    struct preset p = preset_of(in);
    json_object *params = NULL;
    chela_json_parse(b->params.s, (size_t)b->params.n, NULL, &params, NULL);
    bool stream = chela_json_bool(params, "stream", true);
    json_object_put(params);

    char *body = NULL, url[2048], bearer[512];
    size_t n = 0;
    FILE *out = open_memstream(&body, &n);
    if (!out)
        abort();
    request_write(out, &p, b, stream);
    fclose(out);
    snprintf(url, sizeof url, "%s/chat/completions", p.base_url);
    struct chela_str key = chela_option_text(in, "api_key"),
                     organization = chela_option_text(in, "organization");
    snprintf(bearer, sizeof bearer, "Bearer %s", key.s ? key.s : "");
    struct chela_pair headers[4] = {{CHELA_LIT("content-type"), CHELA_LIT("application/json")}};
    size_t count = 1;
    if (key.n)
        headers[count++] = (struct chela_pair){CHELA_LIT("authorization"), chela_s(bearer)};
    if (organization.n)
        headers[count++] = (struct chela_pair){CHELA_LIT("openai-organization"), organization};
    chela_stream_post(s, stream ? CHELA_SSE : CHELA_BODY, url, body, n, headers, count);
    free(body);
}

static void render(struct chela_inst *in, const struct chela_render *r)
{
    struct preset p = preset_of(in);
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        abort();
    request_message(out, &p, in->name, r);
    fclose(out);
    CHELA_ARGS(chela_done, d, r->h.call);
    d.text = chela_sn(text, n);
    in->host->answer->done(in, &d);
    free(text);
}

/* ---- answer ---- */

static void take_usage(struct chela_stream *s, json_object *usage)
{
    if (!usage)
        return;
    s->usage.in = (uint64_t)chela_json_int(usage, "prompt_tokens", 0);
    s->usage.out = (uint64_t)chela_json_int(usage, "completion_tokens", 0);
    s->usage.cache_read = (uint64_t)chela_json_int(
        chela_json_object(usage, "prompt_tokens_details"), "cached_tokens", 0);
    if (!s->usage.cache_read)
        s->usage.cache_read = (uint64_t)chela_json_int(usage, "prompt_cache_hit_tokens", 0);
    s->usage.reasoning = (uint64_t)chela_json_int(
        chela_json_object(usage, "completion_tokens_details"), "reasoning_tokens", 0);
    chela_stream_usage(s);
}

static void take_call(struct chela_stream *s, json_object *call, size_t position)
{
    json_object *function = chela_json_object(call, "function"),
                *arguments = chela_json_get(function, "arguments");
    const char *id = chela_json_string(call, "id", NULL),
               *name = chela_json_string(function, "name", NULL);
    int64_t index = chela_json_int(call, "index", (int64_t)position);
    size_t n = 0;
    if (json_object_is_type(arguments, json_type_object)) {
        chela_stream_whole_call(s, index < 0 ? position : (size_t)index, id, name, arguments);
        return;
    }
    const char *text = chela_json_as_string(arguments, &n);
    chela_stream_call(s, index < 0 ? position : (size_t)index, id, name && *name ? name : NULL,
                      text ? text : "", n);
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
    static const struct {
        const char *reason, *stop;
    } stops[] = {
        {"stop", "end"},           {"tool_calls", "tool_calls"}, {"function_call", "tool_calls"},
        {"length", "length"},      {"content_filter", "filter"}, {"end_turn", "end"},
        {"tool_use", "tool_calls"}};
    if (!reason)
        return;
    s->closed = true;
    if (s->stop && strcmp(s->stop, "refusal") == 0)
        return;
    chela_stream_keep(&s->stop, "end");
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++)
        if (strcmp(reason, stops[i].reason) == 0)
            chela_stream_keep(&s->stop, stops[i].stop);
}

static uint32_t class_of_code(int64_t code)
{
    return code == 401 || code == 403   ? CHELA_E_AUTH
           : code == 402                ? CHELA_E_QUOTA
           : code == 404                ? CHELA_E_NOT_FOUND
           : code == 413                ? CHELA_E_TOO_LONG
           : code == 429                ? CHELA_E_RATE
           : code == 503 || code == 529 ? CHELA_E_OVERLOADED
           : code >= 500                ? CHELA_E_NETWORK
           : code >= 400                ? CHELA_E_ARGS
                                        : CHELA_E_OTHER;
}

/* The class of the service's error object, by its code and type; CHELA_OK if it says nothing more
 * than the status. */
static uint32_t class_of_error(json_object *error)
{
    static const struct {
        const char *code;
        uint32_t class;
    } codes[] = {
        {"context_length_exceeded", CHELA_E_TOO_LONG},
        {"exceed_context_size_error", CHELA_E_TOO_LONG},
        {"insufficient_quota", CHELA_E_QUOTA},
        {"billing_hard_limit_reached", CHELA_E_QUOTA},
        {"invalid_api_key", CHELA_E_AUTH},
        {"model_not_found", CHELA_E_NOT_FOUND},
        {"rate_limit_exceeded", CHELA_E_RATE},
        {"rate_limit_error", CHELA_E_RATE},
        {"content_filter", CHELA_E_REFUSED},
        {"server_error", CHELA_E_NETWORK},
        {"overloaded_error", CHELA_E_OVERLOADED},
        {"tool_use_failed", CHELA_E_PROTOCOL},
    };
    const char *const members[] = {chela_json_string(error, "code", NULL),
                                   chela_json_string(error, "type", NULL)};
    for (size_t m = 0; m < 2; m++)
        for (size_t i = 0; members[m] && i < sizeof codes / sizeof codes[0]; i++)
            if (strcmp(members[m], codes[i].code) == 0)
                return codes[i].class;
    return CHELA_OK;
}

static void take_error(struct chela_stream *s, json_object *o)
{
    json_object *error = chela_json_get(o, "error");
    uint32_t class = class_of_error(error);
    const char *text = chela_error_message(o);
    if (class == CHELA_OK)
        class = class_of_code(chela_json_int(error, "code", 0));
    chela_stream_fail(s, class, text ? text : "the service reported an error without saying which");
}

static void take_chunk(struct chela_stream *s, json_object *o, const char *message_member)
{
    if (chela_json_get(o, "error")) {
        take_error(s, o);
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

static void http(struct chela_inst *in, const struct chela_http_event *e)
{
    struct chela_stream *s = chela_stream_of(e->h.tag);
    (void)in;
    if (s->error != CHELA_OK)
        return;
    if (chela_str_is(e->data, "[DONE]")) {
        s->closed = true;
        return;
    }
    json_object *o = chela_stream_parse(s, e->data);
    if (o)
        take_chunk(s, o, "delta");
    json_object_put(o);
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct chela_stream *s = chela_stream_of(d->h.tag);
    uint32_t class = CHELA_OK;
    (void)in;
    if (d->error == CHELA_OK && !s->streaming) {
        json_object *o = chela_stream_parse(s, d->text);
        if (o)
            take_chunk(s, o, "message");
        json_object_put(o);
    } else if (d->error != CHELA_OK && d->http_status) {
        json_object *o = NULL;
        if (chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL) == 0)
            class = class_of_error(chela_json_get(o, "error"));
        json_object_put(o);
    }
    chela_stream_end(s, d, class);
}

static const struct chela_provider provider = {
    .size = (uint32_t)sizeof(struct chela_provider),
    .begin = begin,
    .render = render,
};

static const struct chela_iface openai = {
    CHELA_IFACE("openai", "OpenAI's chat completions and services that speak it", CHELA_CAP_DEFAULT,
                options),
    .start = start,
    .http = http,
    .done = done,
    .provider = &provider,
};

CHELA_PLUGIN(provider_openai, "0.9.0", "models of OpenAI and of services that speak its API", "MIT",
             "", &openai);
