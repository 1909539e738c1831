/*
 * provider_anthropic: Claude models by Anthropic's Messages API. Writes the request (request.c),
 * reads the stream, says what happened; the host carries it.
 *
 * Format: https://docs.anthropic.com/en/api/messages and .../messages-streaming
 */
#include <chela/chela.h>

#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "support/json.h"
#include "support/stream.h"

static const struct chela_option options[] = {
    {"base_url", CHELA_STRING, CHELA_URL, "https://api.anthropic.com",
     "where the service is, up to /v1/messages", NULL},
    {"api_key", CHELA_STRING, CHELA_SECRET | CHELA_RELOAD | CHELA_FOR_DEFAULT,
     "${ANTHROPIC_API_KEY}", "key, sent as x-api-key", NULL},
    {"models", CHELA_ITEMS, 0, NULL, "models of this instance; the well-known ones if absent",
     chela_model_items},
    {"max_tokens", CHELA_INT, CHELA_RELOAD, "8192",
     "longest answer where the turn names none (the API needs one)", NULL},
    {"cache", CHELA_BOOL, CHELA_RELOAD, "true", "mark the prompt for Anthropic's prompt cache",
     NULL},
    {"version", CHELA_STRING, 0, "2023-06-01", "anthropic-version header", NULL},
    {"beta", CHELA_STRING, 0, NULL, "anthropic-beta header", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_model known[] = {
    {"claude-opus-4-5-20251101", 200000, 64000, true, true, 5, 25, "claude-opus-4-5"},
    {"claude-sonnet-4-5-20250929", 200000, 64000, true, true, 3, 15, "claude-sonnet-4-5"},
    {"claude-haiku-4-5-20251001", 200000, 64000, true, true, 1, 5, "claude-haiku-4-5"},
    {"claude-opus-4-1-20250805", 200000, 32000, true, true, 15, 75, "claude-opus-4-1"},
    {"claude-sonnet-4-20250514", 200000, 64000, true, true, 3, 15, "claude-sonnet-4"},
};

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    chela_publish_models(in, known, sizeof known / sizeof known[0]);
    chela_end(in, a->h.call, CHELA_OK, "");
}

/* ---- request ---- */

static void begin(struct chela_inst *in, const struct chela_begin *b)
{
    struct chela_stream *s = chela_stream_begin(in, b);
    json_object *params = NULL;
    chela_json_parse(b->params.s, (size_t)b->params.n, NULL, &params, NULL);
    bool stream = chela_json_bool(params, "stream", true);
    json_object_put(params);

    char *body = NULL, url[2048];
    size_t n = 0, count = 0;
    FILE *out = open_memstream(&body, &n);
    if (!out)
        abort();
    request_write(out, b, chela_option_number(in, "max_tokens"),
                  chela_option_number(in, "cache") != 0, stream);
    fclose(out);
    snprintf(url, sizeof url, "%s/v1/messages", chela_option_text(in, "base_url").s);
    struct chela_str key = chela_option_text(in, "api_key"), beta = chela_option_text(in, "beta");
    struct chela_pair headers[4];
    headers[count++] =
        (struct chela_pair){CHELA_LIT("content-type"), CHELA_LIT("application/json")};
    headers[count++] =
        (struct chela_pair){CHELA_LIT("anthropic-version"), chela_option_text(in, "version")};
    if (key.n)
        headers[count++] = (struct chela_pair){CHELA_LIT("x-api-key"), key};
    if (beta.n)
        headers[count++] = (struct chela_pair){CHELA_LIT("anthropic-beta"), beta};
    chela_stream_post(s, stream ? CHELA_SSE : CHELA_BODY, url, body, n, headers, count);
    free(body);
}

static void render(struct chela_inst *in, const struct chela_render *r)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        abort();
    request_message(out, in->name, r);
    fclose(out);
    CHELA_ARGS(chela_done, d, r->h.call);
    d.text = chela_sn(text, n);
    in->host->answer->done(in, &d);
    free(text);
}

/* ---- answer ---- */

/* The index of a block of ours counts all blocks; that of a tool call counts them too, which keeps
 * it unique. */
static size_t index_of(json_object *event)
{
    int64_t index = chela_json_int(event, "index", 0);
    return index < 0 ? 0 : (size_t)index;
}

static void take_usage(struct chela_stream *s, json_object *usage)
{
    if (!usage)
        return;
    s->usage.in = (uint64_t)chela_json_int(usage, "input_tokens", (int64_t)s->usage.in);
    s->usage.out = (uint64_t)chela_json_int(usage, "output_tokens", (int64_t)s->usage.out);
    s->usage.cache_read =
        (uint64_t)chela_json_int(usage, "cache_read_input_tokens", (int64_t)s->usage.cache_read);
    s->usage.cache_write = (uint64_t)chela_json_int(usage, "cache_creation_input_tokens",
                                                    (int64_t)s->usage.cache_write);
    chela_stream_usage(s);
}

static void take_stop(struct chela_stream *s, const char *reason)
{
    static const struct {
        const char *reason, *stop;
    } stops[] = {{"end_turn", "end"},
                 {"stop_sequence", "end"},
                 {"tool_use", "tool_calls"},
                 {"max_tokens", "length"},
                 {"refusal", "refusal"},
                 {"pause_turn", "pause"},
                 {"model_context_window_exceeded", "length"}};
    if (!reason)
        return;
    chela_stream_keep(&s->stop, "end");
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++)
        if (strcmp(reason, stops[i].reason) == 0)
            chela_stream_keep(&s->stop, stops[i].stop);
}

static const char *type_of(json_object *o)
{
    const char *type = chela_json_string(o, "type", NULL);
    return type ? type : "";
}

/* A block as it starts in a stream (`whole` false: its text comes in deltas) or as it stands in a
 * whole answer. */
static void take_block(struct chela_stream *s, json_object *block, size_t index, bool whole)
{
    const char *type = type_of(block);
    size_t n = 0;
    const char *text;
    if (strcmp(type, "text") == 0) {
        text = chela_json_string(block, "text", &n);
        if (text && n)
            chela_stream_text(s, text, n);
    } else if (strcmp(type, "thinking") == 0) {
        chela_stream_thinking_next(s);
        text = chela_json_string(block, "thinking", &n);
        chela_stream_thinking(s, text ? text : "", text ? n : 0,
                              chela_json_string(block, "signature", NULL));
    } else if (strcmp(type, "redacted_thinking") == 0) {
        chela_stream_thinking_next(s);
        chela_stream_thinking(s, "", 0, chela_json_string(block, "data", NULL));
    } else if (strcmp(type, "tool_use") == 0) {
        json_object *input = chela_json_object(block, "input");
        const char *id = chela_json_string(block, "id", NULL),
                   *name = chela_json_string(block, "name", NULL);
        if (whole || chela_json_length(input) > 0)
            chela_stream_whole_call(s, index, id, name, input);
        else
            chela_stream_call(s, index, id, name, "", 0);
    }
}

static void take_delta(struct chela_stream *s, json_object *delta, size_t index)
{
    const char *type = type_of(delta), *text;
    size_t n = 0;
    if (strcmp(type, "text_delta") == 0) {
        text = chela_json_string(delta, "text", &n);
        if (text)
            chela_stream_text(s, text, n);
    } else if (strcmp(type, "thinking_delta") == 0) {
        text = chela_json_string(delta, "thinking", &n);
        if (text)
            chela_stream_thinking(s, text, n, NULL);
    } else if (strcmp(type, "signature_delta") == 0) {
        chela_stream_thinking(s, "", 0, chela_json_string(delta, "signature", NULL));
    } else if (strcmp(type, "input_json_delta") == 0) {
        text = chela_json_string(delta, "partial_json", &n);
        if (text)
            chela_stream_call(s, index, NULL, NULL, text, n);
    }
}

static uint32_t class_of_error(json_object *error)
{
    static const struct {
        const char *type;
        uint32_t class;
    } types[] = {
        {"invalid_request_error", CHELA_E_ARGS},
        {"authentication_error", CHELA_E_AUTH},
        {"billing_error", CHELA_E_QUOTA},
        {"permission_error", CHELA_E_AUTH},
        {"not_found_error", CHELA_E_NOT_FOUND},
        {"request_too_large", CHELA_E_TOO_LONG},
        {"rate_limit_error", CHELA_E_RATE},
        {"api_error", CHELA_E_NETWORK},
        {"timeout_error", CHELA_E_TIMEOUT},
        {"overloaded_error", CHELA_E_OVERLOADED},
        {"exceed_context_size_error", CHELA_E_TOO_LONG},
    };
    const char *type = type_of(error), *text = chela_json_string(error, "message", NULL);
    /* the service tells of a full window in the text of an invalid_request_error alone */
    if (text && strcmp(type, "invalid_request_error") == 0 &&
        strncmp(text, "prompt is too long", 18) == 0)
        return CHELA_E_TOO_LONG;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(type, types[i].type) == 0)
            return types[i].class;
    return CHELA_OK;
}

static void take_error(struct chela_stream *s, json_object *o)
{
    uint32_t class = class_of_error(chela_json_get(o, "error"));
    const char *text = chela_error_message(o);
    chela_stream_fail(s, class == CHELA_OK ? CHELA_E_OTHER : class,
                      text ? text : "the service reported an error without saying which");
}

static void take_head(struct chela_stream *s, json_object *message)
{
    chela_stream_keep(&s->model, chela_json_string(message, "model", NULL));
    chela_stream_keep(&s->id, chela_json_string(message, "id", NULL));
    take_usage(s, chela_json_object(message, "usage"));
}

static void take_event(struct chela_stream *s, json_object *o)
{
    const char *type = type_of(o);
    if (strcmp(type, "message_start") == 0) {
        take_head(s, chela_json_object(o, "message"));
    } else if (strcmp(type, "content_block_start") == 0) {
        take_block(s, chela_json_object(o, "content_block"), index_of(o), false);
    } else if (strcmp(type, "content_block_delta") == 0) {
        take_delta(s, chela_json_object(o, "delta"), index_of(o));
    } else if (strcmp(type, "message_delta") == 0) {
        take_stop(s, chela_json_string(chela_json_object(o, "delta"), "stop_reason", NULL));
        take_usage(s, chela_json_object(o, "usage"));
    } else if (strcmp(type, "message_stop") == 0) {
        s->closed = true;
    } else if (strcmp(type, "error") == 0 || chela_json_get(o, "error")) {
        take_error(s, o);
    }
}

static void http(struct chela_inst *in, const struct chela_http_event *e)
{
    struct chela_stream *s = chela_stream_of(e->h.tag);
    (void)in;
    if (s->error != CHELA_OK)
        return;
    json_object *o = chela_stream_parse(s, e->data);
    if (o)
        take_event(s, o);
    json_object_put(o);
}

static void take_whole(struct chela_stream *s, json_object *o)
{
    json_object *content = chela_json_array(o, "content");
    if (!content) {
        if (chela_json_get(o, "error"))
            take_error(s, o);
        return;
    }
    take_head(s, o);
    for (size_t i = 0; i < chela_json_length(content); i++)
        take_block(s, chela_json_at(content, i), i, true);
    take_stop(s, chela_json_string(o, "stop_reason", NULL));
    s->closed = true;
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct chela_stream *s = chela_stream_of(d->h.tag);
    uint32_t class = CHELA_OK;
    json_object *o = NULL;
    (void)in;
    if (d->error == CHELA_OK && !s->streaming) {
        o = chela_stream_parse(s, d->text);
        if (o)
            take_whole(s, o);
    } else if (d->error != CHELA_OK && d->http_status &&
               chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL) == 0) {
        class = class_of_error(chela_json_get(o, "error"));
    }
    json_object_put(o);
    chela_stream_end(s, d, class);
}

static const struct chela_provider provider = {
    .size = (uint32_t)sizeof(struct chela_provider),
    .begin = begin,
    .render = render,
};

static const struct chela_iface anthropic = {
    CHELA_IFACE("anthropic", "Claude models by Anthropic's Messages API", CHELA_CAP_DEFAULT,
                options),
    .start = start,
    .http = http,
    .done = done,
    .provider = &provider,
};

CHELA_PLUGIN(provider_anthropic, "0.9.0", "Claude models by Anthropic's Messages API", "MIT", "",
             &anthropic);
