/*
 * provider_openai_responses: OpenAI's Responses API. Writes the request (request.c), reads the
 * typed events, says what happened; the host carries it. Nothing is stored at the service:
 * reasoning comes encrypted, is kept as the signature of thinking, and goes back with its turn.
 *
 * Format: https://platform.openai.com/docs/api-reference/responses-streaming
 */
#include <chela/chela.h>

#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "support/dialect.h"
#include "support/openai_models.h"

static const struct chela_option options[] = {
    {"base_url", CHELA_STRING, CHELA_URL, "https://api.openai.com/v1",
     "where the service is, up to /responses", NULL},
    {"api_key", CHELA_STRING, CHELA_SECRET | CHELA_RELOAD, "${OPENAI_API_KEY}",
     "key, sent as a bearer token", NULL},
    {"organization", CHELA_STRING, 0, NULL, "OpenAI-Organization header", NULL},
    {"strict", CHELA_BOOL, CHELA_RELOAD, "true",
     "tools whose schemas allow it are sent in strict form", NULL},
    {"encrypted_reasoning", CHELA_BOOL, CHELA_RELOAD, "true",
     "reasoning comes back encrypted and is carried over", NULL},
    {"models", CHELA_ITEMS, 0, NULL, "models of this instance; the well-known ones if absent",
     chela_model_items},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_error_rule errors[] = {
    {CHELA_IN_CODE, "context_length_exceeded", CHELA_E_TOO_LONG},
    {CHELA_IN_CODE, "insufficient_quota", CHELA_E_QUOTA},
    {CHELA_IN_CODE, "billing_hard_limit_reached", CHELA_E_QUOTA},
    {CHELA_IN_CODE, "invalid_api_key", CHELA_E_AUTH},
    {CHELA_IN_CODE, "authentication_error", CHELA_E_AUTH},
    {CHELA_IN_CODE, "permission_error", CHELA_E_AUTH},
    {CHELA_IN_CODE, "model_not_found", CHELA_E_NOT_FOUND},
    {CHELA_IN_CODE, "rate_limit_exceeded", CHELA_E_RATE},
    {CHELA_IN_CODE, "rate_limit_error", CHELA_E_RATE},
    {CHELA_IN_CODE, "invalid_prompt", CHELA_E_REFUSED},
    {CHELA_IN_CODE, "server_error", CHELA_E_NETWORK},
    {CHELA_IN_CODE, "overloaded_error", CHELA_E_OVERLOADED},
    {CHELA_IN_CODE, "invalid_request_error", CHELA_E_ARGS},
    {CHELA_IN_CODE, NULL, 0}};

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    chela_publish_models(in, &chela_openai_models);
    chela_end(in, a->h.call, CHELA_OK, "");
}

/* ---- request ---- */

/* What of a stream must be known for what comes next. */
struct progress {
    size_t items;  /* that have begun; some servers don't number them */
    bool any_text; /* of an earlier message */
};

static void put_headers(struct chela_inst *in, struct chela_headers *h)
{
    chela_headers_open(h);
    chela_headers_bearer(h, chela_option_text(in, "api_key"));
    chela_headers_add(h, "openai-organization", chela_option_text(in, "organization"));
}

static void begin(struct chela_inst *in, const struct chela_begin *b)
{
    struct chela_stream *s = chela_stream_begin(in, b, &request_naming, in->self);
    struct request_style style = {chela_option_number(in, "strict") != 0,
                                  chela_option_number(in, "encrypted_reasoning") != 0};
    struct chela_params params;
    struct chela_headers h;
    char *body = NULL, url[2048];
    size_t n = 0;
    chela_params_open(&params, b);
    FILE *out = chela_request_open(b, &body, &n);
    request_write(out, b, s->tools, &params, &style);
    fclose(out);
    snprintf(url, sizeof url, "%s/responses", chela_option_text(in, "base_url").s);
    put_headers(in, &h);
    s->extra = calloc(1, sizeof(struct progress));
    if (!s->extra)
        abort();
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
    snprintf(url, sizeof url, "%s/embeddings", chela_option_text(in, "base_url").s);
    put_headers(in, &h);
    chela_embed_input(in, e, url, &h);
}

/* ---- answer ---- */

static bool is(const char *type, const char *wanted)
{
    return strcmp(type, wanted) == 0;
}

/* Items are known by their place: ids may change in mid-stream. */
static size_t index_of(const struct chela_stream *s, json_object *o)
{
    const struct progress *p = s->extra;
    int64_t last = p->items ? (int64_t)p->items - 1 : 0,
            index = chela_json_int(o, "output_index", last);
    return index < 0 ? 0 : (size_t)index;
}

static void take_usage(struct chela_stream *s, json_object *usage)
{
    if (!usage)
        return;
    uint64_t in = (uint64_t)chela_json_int(usage, "input_tokens", 0);
    s->usage.cache_read = (uint64_t)chela_json_int(chela_json_object(usage, "input_tokens_details"),
                                                   "cached_tokens", 0);
    s->usage.in = in > s->usage.cache_read ? in - s->usage.cache_read : 0;
    s->usage.out = (uint64_t)chela_json_int(usage, "output_tokens", 0);
    s->usage.reasoning = (uint64_t)chela_json_int(chela_json_object(usage, "output_tokens_details"),
                                                  "reasoning_tokens", 0);
    chela_stream_usage(s);
}

static void take_error(struct chela_stream *s, json_object *o)
{
    static const struct chela_dialect failing = {.errors = errors};
    chela_dialect_fail(s, o, &failing);
}

/* A message begins: texts of two are kept apart, and the phase goes back with it. */
static void begin_message(struct chela_stream *s, json_object *item)
{
    struct progress *p = s->extra;
    const char *phase = chela_json_string(item, "phase", NULL);
    if (p->any_text)
        chela_stream_text(s, "\n\n", 2);
    if (!phase)
        return;
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "type", "phase");
    chela_json_put_text(o, "phase", phase);
    chela_stream_thinking_next(s);
    chela_stream_thinking(s, "", 0, chela_json_text(o, NULL));
    json_object_put(o);
}

static void take_text(struct chela_stream *s, const char *text, size_t n)
{
    struct progress *p = s->extra;
    if (!text || n == 0)
        return;
    p->any_text = true;
    chela_stream_text(s, text, n);
}

static void take_delta(struct chela_stream *s, json_object *o, const char *type)
{
    size_t n = 0;
    const char *delta = chela_json_string(o, "delta", &n);
    if (!delta)
        return;
    if (is(type, "response.output_text.delta")) {
        take_text(s, delta, n);
    } else if (is(type, "response.refusal.delta")) {
        take_text(s, delta, n);
        chela_stream_keep(&s->stop, "refusal");
    } else if (is(type, "response.reasoning_summary_text.delta") ||
               is(type, "response.reasoning_text.delta")) {
        chela_stream_thinking(s, delta, n, NULL);
    } else if (is(type, "response.function_call_arguments.delta")) {
        chela_stream_call(s, index_of(s, o), NULL, NULL, delta, n);
    }
}

static void begin_item(struct chela_stream *s, json_object *o)
{
    json_object *item = chela_json_object(o, "item");
    struct progress *p = s->extra;
    p->items++;
    if (is(chela_member(item, "type"), "function_call"))
        chela_stream_call(s, index_of(s, o), chela_json_string(item, "call_id", NULL),
                          chela_json_string(item, "name", NULL), "", 0);
    else if (is(chela_member(item, "type"), "message"))
        begin_message(s, item);
    else if (is(chela_member(item, "type"), "reasoning"))
        chela_stream_thinking_next(s);
}

/* Reasoning that can go back is its own signature. */
static void sign_reasoning(struct chela_stream *s, json_object *item)
{
    if (!chela_json_string(item, "encrypted_content", NULL))
        return;
    json_object *copy = chela_json_new_object();
    static const char *const kept[] = {"type", "id", "summary", "encrypted_content"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        chela_json_put(copy, kept[i], json_object_get(chela_json_get(item, kept[i])));
    chela_stream_thinking(s, "", 0, chela_json_text(copy, NULL));
    json_object_put(copy);
}

/* A tool of free text: its input as the one argument. */
static void take_custom(struct chela_stream *s, json_object *item, size_t index)
{
    json_object *arguments = chela_json_new_object();
    chela_json_put_text(arguments, "input", chela_json_string(item, "input", NULL));
    chela_stream_whole_call(s, index, chela_json_string(item, "call_id", NULL),
                            chela_json_string(item, "name", NULL), arguments);
    json_object_put(arguments);
}

static void end_item(struct chela_stream *s, json_object *o)
{
    json_object *item = chela_json_object(o, "item");
    size_t n = 0, index = index_of(s, o);
    if (is(chela_member(item, "type"), "reasoning")) {
        sign_reasoning(s, item);
    } else if (is(chela_member(item, "type"), "function_call")) {
        const char *text = chela_json_string(item, "arguments", &n);
        bool sent = index < s->call_count && (s->calls[index].sent || s->calls[index].length);
        if (text && !sent)
            chela_stream_call(s, index, chela_json_string(item, "call_id", NULL),
                              chela_json_string(item, "name", NULL), text, n);
        const char *status = chela_json_string(item, "status", NULL);
        if (!status || is(status, "completed"))
            chela_stream_call_last(s, index);
    } else if (is(chela_member(item, "type"), "custom_tool_call")) {
        take_custom(s, item, index);
    }
}

static void take_end(struct chela_stream *s, json_object *response)
{
    const char *why =
        chela_json_string(chela_json_object(response, "incomplete_details"), "reason", NULL);
    bool refused = s->stop && is(s->stop, "refusal");
    chela_stream_keep(&s->model, chela_json_string(response, "model", NULL));
    chela_stream_keep(&s->id, chela_json_string(response, "id", NULL));
    take_usage(s, chela_json_object(response, "usage"));
    s->closed = true;
    if (why)
        chela_stream_keep(&s->stop, is(why, "content_filter") ? "filter" : "length");
    else if (!refused)
        chela_stream_keep(&s->stop, chela_stream_called(s) ? "tool_calls" : "end");
}

static void event(struct chela_stream *s, json_object *o)
{
    const char *type = chela_member(o, "type");
    if (is(type, "response.output_item.added")) {
        begin_item(s, o);
    } else if (is(type, "response.output_item.done")) {
        end_item(s, o);
    } else if (is(type, "response.reasoning_summary_part.added")) {
        if (chela_json_int(o, "summary_index", 0) > 0)
            chela_stream_thinking(s, "\n\n", 2, NULL);
    } else if (is(type, "response.completed") || is(type, "response.incomplete")) {
        take_end(s, chela_json_object(o, "response"));
    } else if (is(type, "response.failed")) {
        take_error(s, chela_json_object(o, "response"));
    } else if (is(type, "error") || chela_json_get(o, "error")) {
        take_error(s, o);
    } else {
        take_delta(s, o, type);
    }
}

/* ---- an answer that is not streamed ---- */

static void whole_message(struct chela_stream *s, json_object *item)
{
    json_object *content = chela_json_array(item, "content");
    begin_message(s, item);
    for (size_t i = 0; i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i);
        size_t n = 0;
        const char *text = chela_json_string(part, "text", &n);
        if (!text && (text = chela_json_string(part, "refusal", &n)))
            chela_stream_keep(&s->stop, "refusal");
        take_text(s, text, n);
    }
}

static void whole_reasoning(struct chela_stream *s, json_object *item)
{
    json_object *summary = chela_json_array(item, "summary");
    chela_stream_thinking_next(s);
    for (size_t i = 0; i < chela_json_length(summary); i++) {
        size_t n = 0;
        const char *text = chela_json_string(chela_json_at(summary, i), "text", &n);
        if (i)
            chela_stream_thinking(s, "\n\n", 2, NULL);
        if (text)
            chela_stream_thinking(s, text, n, NULL);
    }
    sign_reasoning(s, item);
}

static void whole_call(struct chela_stream *s, json_object *item, size_t index)
{
    size_t n = 0;
    const char *text = chela_json_string(item, "arguments", &n);
    chela_stream_call(s, index, chela_json_string(item, "call_id", NULL),
                      chela_json_string(item, "name", NULL), text ? text : "", n);
    const char *status = chela_json_string(item, "status", NULL);
    if (!status || is(status, "completed"))
        chela_stream_call_last(s, index);
}

static void whole(struct chela_stream *s, json_object *o)
{
    json_object *output = chela_json_array(o, "output");
    if (chela_json_get(o, "error")) {
        take_error(s, o);
        return;
    }
    for (size_t i = 0; i < chela_json_length(output); i++) {
        json_object *item = chela_json_at(output, i);
        if (is(chela_member(item, "type"), "message"))
            whole_message(s, item);
        else if (is(chela_member(item, "type"), "reasoning"))
            whole_reasoning(s, item);
        else if (is(chela_member(item, "type"), "function_call"))
            whole_call(s, item, i);
        else if (is(chela_member(item, "type"), "custom_tool_call"))
            take_custom(s, item, i);
    }
    if (output)
        take_end(s, o);
}

static const struct chela_dialect dialect = {
    .errors = errors, .event = event, .whole = whole, .vectors = chela_embed_data};

CHELA_DIALECT_SLOTS(dialect)

static const struct chela_provider provider = {
    .size = (uint32_t)sizeof(struct chela_provider),
    .begin = begin,
    .render = render,
    .embed = embed,
};

static const struct chela_iface responses = {
    CHELA_IFACE("openai-responses", "OpenAI's Responses API", 0, options),
    .open = chela_toolsets_instance,
    .close = chela_toolsets_instance_close,
    .start = start,
    .http = http,
    .done = done,
    .provider = &provider,
};

CHELA_PLUGIN(provider_openai_responses, "0.9.0", "models of OpenAI by its Responses API", "MIT", "",
             &responses);
