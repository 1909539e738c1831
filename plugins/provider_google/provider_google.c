/*
 * provider_google: Gemini models by generateContent. Writes the request (request.c), reads the
 * stream, says what happened; the host carries it. Thought signatures are kept as thinking parts
 * and go back to where they came from.
 *
 * Format: https://ai.google.dev/api/generate-content
 */
#include <chela/chela.h>

#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "support/dialect.h"
#include "support/models.h"
#include "support/partial.h"

static const struct chela_option schema_values[] = {
    {"json", 0, 0, NULL, "parametersJsonSchema", NULL},
    {"openapi", 0, 0, NULL, "the older parameters, a subset of OpenAPI", NULL},
    {NULL, 0, 0, NULL, NULL, NULL}};

static const struct chela_option options[] = {
    {"base_url", CHELA_STRING, CHELA_URL, "https://generativelanguage.googleapis.com/v1beta",
     "where the service is, up to /models", NULL},
    {"api_key", CHELA_STRING, CHELA_SECRET | CHELA_RELOAD | CHELA_FOR_DEFAULT, "${GEMINI_API_KEY}",
     "key, sent as x-goog-api-key", NULL},
    {"tool_schema", CHELA_STRING, CHELA_RELOAD, "json", "how arguments of tools are described",
     schema_values},
    {"models", CHELA_ITEMS, 0, NULL, "models of this instance; the well-known ones if absent",
     chela_model_items},
    {"list_models", CHELA_BOOL, 0, "false", "the service is asked for its models at start", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_model rows[] = {
    {"gemini-3.5-flash", 1048576, 65536, true, true, 1.5, 9, 0.15, 0, NULL, 0, 0, 0, 0},
    {"gemini-3.1-pro-preview", 1048576, 65536, true, true, 2, 12, 0.2, 0, NULL, 200000, 4, 18, 0.4},
    {"gemini-3.1-flash-lite", 1048576, 65536, true, true, 0.25, 1.5, 0.025, 0, NULL, 0, 0, 0, 0},
    {"gemini-2.5-pro", 1048576, 65536, true, true, 1.25, 10, 0.125, 0, NULL, 200000, 2.5, 15, 0.25},
    {"gemini-2.5-flash", 1048576, 65536, true, true, 0.3, 2.5, 0.03, 0, NULL, 0, 0, 0, 0},
    {"gemini-2.5-flash-lite", 1048576, 65536, true, true, 0.1, 0.4, 0.01, 0, NULL, 0, 0, 0, 0},
};
static const struct chela_model_table known = CHELA_MODEL_TABLE(rows);

static void put_headers(struct chela_inst *in, struct chela_headers *h)
{
    chela_headers_open(h);
    chela_headers_add(h, "x-goog-api-key", chela_option_text(in, "api_key"));
}

static void put_url(struct chela_inst *in, char *out, size_t size, struct chela_str model,
                    const char *method)
{
    const char *prefix = memchr(model.s, '/', (size_t)model.n) ? "" : "models/";
    snprintf(out, size, "%s/%s%s:%s", chela_option_text(in, "base_url").s, prefix, model.s, method);
}

/* ---- models ---- */

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    chela_publish_models(in, &known);
    if (chela_option_number(in, "list_models")) {
        char url[2048];
        struct chela_headers h;
        put_headers(in, &h);
        snprintf(url, sizeof url, "%s/models?pageSize=1000", chela_option_text(in, "base_url").s);
        chela_ask(in, 0, "GET", url, "", h.v, h.count);
    }
    chela_end(in, a->h.call, CHELA_OK, "");
}

static bool generates(json_object *model)
{
    json_object *methods = chela_json_array(model, "supportedGenerationMethods");
    for (size_t i = 0; i < chela_json_length(methods); i++) {
        const char *name = chela_json_as_string(chela_json_at(methods, i), NULL);
        if (name && strcmp(name, "generateContent") == 0)
            return true;
    }
    return false;
}

static void asked(struct chela_inst *in, struct chela_task *task, const struct chela_done *d,
                  json_object *answer)
{
    json_object *list = chela_json_array(answer, "models"), *found = chela_json_new_array();
    (void)task;
    (void)d;
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *its = chela_json_at(list, i);
        const char *name = chela_json_string(its, "name", NULL);
        if (!name || !generates(its))
            continue;
        json_object *o = chela_json_push_object(found);
        chela_json_put_text(o, "name", strncmp(name, "models/", 7) == 0 ? name + 7 : name);
        if (chela_json_int(its, "inputTokenLimit", 0) > 0)
            chela_json_put_int(o, "context", chela_json_int(its, "inputTokenLimit", 0));
        if (chela_json_int(its, "outputTokenLimit", 0) > 0)
            chela_json_put_int(o, "max_output", chela_json_int(its, "outputTokenLimit", 0));
        if (chela_json_has(its, "thinking"))
            chela_json_put_bool(o, "thinking", chela_json_bool(its, "thinking", false));
    }
    if (list)
        chela_publish_found(in, found, &known);
    json_object_put(found);
}

/* ---- request ---- */

/* A call whose arguments come in pieces. */
struct pieces {
    json_object *arguments;
    char *name, *id;
};

static void pieces_free(void *extra)
{
    struct pieces *p = extra;
    json_object_put(p->arguments);
    free(p->name);
    free(p->id);
    free(p);
}

static void begin(struct chela_inst *in, const struct chela_begin *b)
{
    struct chela_stream *s = chela_stream_begin(in, b, &request_naming, in->self);
    struct chela_params params;
    struct chela_headers h;
    char *body = NULL, url[2048];
    size_t n = 0;
    chela_params_open(&params, b);
    FILE *out = chela_request_open(b, &body, &n);
    request_write(out, b, s->tools, &params,
                  chela_str_is(chela_option_text(in, "tool_schema"), "openapi"));
    fclose(out);
    put_url(in, url, sizeof url, b->model,
            params.stream ? "streamGenerateContent?alt=sse" : "generateContent");
    put_headers(in, &h);
    s->extra = calloc(1, sizeof(struct pieces));
    if (!s->extra)
        abort();
    s->extra_free = pieces_free;
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
    char *body = NULL, url[2048];
    size_t n = 0;
    FILE *out = chela_write_open(&body, &n);
    fputs("{\"requests\":[", out);
    for (uint64_t i = 0; i < e->texts.n; i++) {
        fprintf(out, "%s{\"model\":\"models/%s\",\"content\":{\"parts\":[{\"text\":", i ? "," : "",
                e->model.s);
        chela_write_string(out, e->texts.v[i].value.s, (size_t)e->texts.v[i].value.n);
        fputs("}]}}", out);
    }
    fputs("]}", out);
    fclose(out);
    put_url(in, url, sizeof url, e->model, "batchEmbedContents");
    put_headers(in, &h);
    chela_embed_post(in, e, url, body, n, &h);
    free(body);
}

/* ---- errors ---- */

static const struct chela_error_rule errors[] = {
    {CHELA_IN_TEXT, "exceeds the maximum number of tokens", CHELA_E_TOO_LONG},
    {CHELA_IN_TEXT, "API key not valid", CHELA_E_AUTH},
    {CHELA_IN_TEXT, "Function calling is not enabled", CHELA_E_UNSUPPORTED},
    {CHELA_IN_CODE, "INVALID_ARGUMENT", CHELA_E_ARGS},
    {CHELA_IN_CODE, "FAILED_PRECONDITION", CHELA_E_QUOTA},
    {CHELA_IN_CODE, "UNAUTHENTICATED", CHELA_E_AUTH},
    {CHELA_IN_CODE, "PERMISSION_DENIED", CHELA_E_AUTH},
    {CHELA_IN_CODE, "NOT_FOUND", CHELA_E_NOT_FOUND},
    {CHELA_IN_CODE, "RESOURCE_EXHAUSTED", CHELA_E_RATE},
    {CHELA_IN_CODE, "INTERNAL", CHELA_E_NETWORK},
    {CHELA_IN_CODE, "UNAVAILABLE", CHELA_E_OVERLOADED},
    {CHELA_IN_CODE, "DEADLINE_EXCEEDED", CHELA_E_TIMEOUT},
    {CHELA_IN_CODE, NULL, 0}};

/* google.rpc.RetryInfo: {"retryDelay": "34.4s"} */
static uint64_t retry_after(json_object *body)
{
    if (json_object_is_type(body, json_type_array))
        body = chela_json_at(body, 0);
    json_object *details = chela_json_array(chela_json_object(body, "error"), "details");
    for (size_t i = 0; i < chela_json_length(details); i++) {
        const char *delay = chela_json_string(chela_json_at(details, i), "retryDelay", NULL);
        double seconds = delay ? strtod(delay, NULL) : 0;
        if (seconds > 0 && seconds < 1e6)
            return (uint64_t)(seconds * 1000);
    }
    return 0;
}

/* ---- answer ---- */

static void take_usage(struct chela_stream *s, json_object *usage)
{
    if (!chela_json_has(usage, "promptTokenCount"))
        return;
    uint64_t cached = (uint64_t)chela_json_int(usage, "cachedContentTokenCount", 0),
             prompt = (uint64_t)chela_json_int(usage, "promptTokenCount", 0);
    s->usage.reasoning = (uint64_t)chela_json_int(usage, "thoughtsTokenCount", 0);
    s->usage.cache_read = cached;
    s->usage.in = prompt > cached ? prompt - cached : 0;
    s->usage.out = (uint64_t)chela_json_int(usage, "candidatesTokenCount", 0) + s->usage.reasoning;
    chela_stream_usage(s);
}

/* A signature, as thinking of its own or with the thought that it signs. */
static void take_signature(struct chela_stream *s, const char *where, const char *thought, size_t n,
                           const char *signature)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = chela_write_open(&text, &length);
    fprintf(out, "%s %s", where, signature);
    fclose(out);
    if (!n)
        chela_stream_thinking_next(s);
    chela_stream_thinking(s, thought, n, text);
    free(text);
}

static void end_pieces(struct chela_stream *s, struct pieces *p)
{
    if (p->name)
        chela_stream_whole_call(s, s->call_count, p->id, p->name, p->arguments);
    json_object_put(p->arguments);
    free(p->name);
    free(p->id);
    *p = (struct pieces){0};
}

static void take_call(struct chela_stream *s, json_object *call, const char *signature)
{
    struct pieces *p = s->extra;
    char where[REQUEST_WHERE];
    const char *name = chela_json_string(call, "name", NULL);
    bool more = chela_json_bool(call, "willContinue", false);
    if (name && signature) {
        snprintf(where, sizeof where, "c%zu", s->call_count);
        take_signature(s, where, "", 0, signature);
    }
    if (name) {
        end_pieces(s, p);
        if (!more) {
            chela_stream_whole_call(s, s->call_count, chela_json_string(call, "id", NULL), name,
                                    chela_json_object(call, "args"));
            return;
        }
        chela_stream_keep(&p->name, name);
        chela_stream_keep(&p->id, chela_json_string(call, "id", NULL));
        p->arguments = chela_json_new_object();
    }
    json_object *pieces = chela_json_array(call, "partialArgs");
    for (size_t i = 0; p->arguments && i < chela_json_length(pieces); i++)
        chela_partial_put(p->arguments, chela_json_at(pieces, i));
    if (!more)
        end_pieces(s, p);
}

static void take_part(struct chela_stream *s, json_object *part)
{
    const char *signature = chela_json_string(part, "thoughtSignature", NULL);
    json_object *call = chela_json_object(part, "functionCall");
    size_t n = 0;
    const char *text = chela_json_string(part, "text", &n);
    if (call) {
        take_call(s, call, signature);
    } else if (text && chela_json_bool(part, "thought", false)) {
        if (signature)
            take_signature(s, "p", text, n, signature);
        else
            chela_stream_thinking(s, text, n, NULL);
    } else if (text) {
        chela_stream_text(s, text, n);
        if (signature)
            take_signature(s, "t", "", 0, signature);
    }
}

static void take_finish(struct chela_stream *s, const char *reason)
{
    static const struct chela_stop stops[] = {
        {"MAX_TOKENS", "length"},         {"SAFETY", "filter"},
        {"RECITATION", "filter"},         {"BLOCKLIST", "filter"},
        {"PROHIBITED_CONTENT", "filter"}, {"SPII", "filter"},
        {"IMAGE_SAFETY", "filter"},       {NULL, NULL}};
    s->closed = true;
    if (strcmp(reason, "MALFORMED_FUNCTION_CALL") == 0 ||
        strcmp(reason, "UNEXPECTED_TOOL_CALL") == 0) {
        chela_stream_fail(s, CHELA_E_PROTOCOL, "the model's tool call was not well-formed");
        return;
    }
    chela_stream_stop(s, stops, reason);
    if (strcmp(s->stop, "end") == 0 && chela_stream_called(s))
        chela_stream_keep(&s->stop, "tool_calls");
}

static void take(struct chela_stream *s, json_object *o)
{
    static const struct chela_dialect failing = {.errors = errors, .retry_after = retry_after};
    if (chela_json_get(o, "error")) {
        chela_dialect_fail(s, o, &failing);
        return;
    }
    if (!s->model)
        chela_stream_keep(&s->model, chela_json_string(o, "modelVersion", NULL));
    if (!s->id)
        chela_stream_keep(&s->id, chela_json_string(o, "responseId", NULL));
    json_object *candidate = chela_json_at(chela_json_array(o, "candidates"), 0),
                *parts = chela_json_array(chela_json_object(candidate, "content"), "parts");
    for (size_t i = 0; i < chela_json_length(parts); i++)
        take_part(s, chela_json_at(parts, i));
    const char *reason = chela_json_string(candidate, "finishReason", NULL),
               *blocked =
                   chela_json_string(chela_json_object(o, "promptFeedback"), "blockReason", NULL);
    if (reason) {
        end_pieces(s, s->extra);
        take_finish(s, reason);
    }
    if (blocked) {
        s->closed = true;
        chela_stream_keep(&s->stop, "filter");
    }
    take_usage(s, chela_json_object(o, "usageMetadata"));
}

static void vectors(json_object *answer, json_object *list)
{
    json_object *all = chela_json_array(answer, "embeddings");
    for (size_t i = 0; i < chela_json_length(all); i++)
        chela_json_push(list, json_object_get(chela_json_array(chela_json_at(all, i), "values")));
}

static const struct chela_dialect dialect = {.errors = errors,
                                             .event = take,
                                             .whole = take,
                                             .retry_after = retry_after,
                                             .asked = asked,
                                             .vectors = vectors};

CHELA_DIALECT_SLOTS(dialect)

static const struct chela_provider provider = {
    .size = (uint32_t)sizeof(struct chela_provider),
    .begin = begin,
    .render = render,
    .embed = embed,
};

static const struct chela_iface google = {
    CHELA_IFACE("google", "Gemini models by Google's generateContent", CHELA_CAP_DEFAULT, options),
    .open = chela_toolsets_instance,
    .close = chela_toolsets_instance_close,
    .start = start,
    .http = http,
    .done = done,
    .provider = &provider,
};

CHELA_PLUGIN(provider_google, "0.9.0", "Gemini models by Google's generateContent", "MIT", "",
             &google);
