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
#include "support/claude_models.h"
#include "support/dialect.h"
#include "support/login.h"

static const struct chela_option auth_values[] = {
    {"key", 0, 0, NULL, "a key of the API", NULL},
    {"oauth", 0, 0, NULL, "a login: a bearer token that is renewed", NULL},
    {NULL, 0, 0, NULL, NULL, NULL}};

static const struct chela_option thinking_values[] = {
    {"model", 0, 0, NULL, "as the model takes it, by its name", NULL},
    {"budget", 0, 0, NULL, "a number of tokens by level", NULL},
    {"adaptive", 0, 0, NULL, "an effort by level; the newest models take only this", NULL},
    {NULL, 0, 0, NULL, NULL, NULL}};

static const struct chela_option options[] = {
    {"base_url", CHELA_STRING, CHELA_URL, "https://api.anthropic.com",
     "where the service is, up to /v1/messages", NULL},
    {"auth", CHELA_STRING, 0, "key", "what proves who asks", auth_values},
    {"api_key", CHELA_STRING, CHELA_SECRET | CHELA_RELOAD | CHELA_FOR_DEFAULT,
     "${ANTHROPIC_API_KEY}", "key, sent as x-api-key", NULL},
    {"access_token", CHELA_STRING, CHELA_SECRET | CHELA_REVEAL, NULL,
     "auth = \"oauth\": the first bearer token", NULL},
    {"refresh_token", CHELA_STRING, CHELA_SECRET | CHELA_REVEAL, NULL,
     "auth = \"oauth\": renews it; those that follow are kept in the store", NULL},
    {"token_url", CHELA_STRING, 0, "https://console.anthropic.com/v1/oauth/token",
     "auth = \"oauth\": where tokens are renewed", NULL},
    {"client_id", CHELA_STRING, 0, NULL, "auth = \"oauth\": of the client that logged in", NULL},
    {"lead", CHELA_STRING, CHELA_RELOAD, NULL, "a first block of the system prompt", NULL},
    {"models", CHELA_ITEMS, 0, NULL, "models of this instance; the well-known ones if absent",
     chela_model_items},
    {"list_models", CHELA_BOOL, 0, "false", "the service is asked for its models at start", NULL},
    {"max_tokens", CHELA_INT, CHELA_RELOAD, "8192",
     "longest answer where the turn names none (the API needs one)", NULL},
    {"cache", CHELA_BOOL, CHELA_RELOAD, "true", "mark the prompt for Anthropic's prompt cache",
     NULL},
    {"fine_grained", CHELA_BOOL, CHELA_RELOAD, "true",
     "arguments of calls come as the model writes them, not once they are whole", NULL},
    {"temperature", CHELA_BOOL, CHELA_RELOAD, NULL,
     "the models take a temperature; absent: by their names, since the newest don't", NULL},
    {"thinking", CHELA_STRING, CHELA_RELOAD, "model", "how the wish to think is said",
     thinking_values},
    {"version", CHELA_STRING, 0, "2023-06-01", "anthropic-version header", NULL},
    {"beta", CHELA_STRING, 0, NULL, "anthropic-beta header", NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_error_rule errors[] = {
    {CHELA_IN_TEXT, "prompt is too long", CHELA_E_TOO_LONG},
    {CHELA_IN_TEXT, "exceed context limit", CHELA_E_TOO_LONG},
    {CHELA_IN_TEXT, "credit balance is too low", CHELA_E_QUOTA},
    {CHELA_IN_CODE, "invalid_request_error", CHELA_E_ARGS},
    {CHELA_IN_CODE, "authentication_error", CHELA_E_AUTH},
    {CHELA_IN_CODE, "billing_error", CHELA_E_QUOTA},
    {CHELA_IN_CODE, "permission_error", CHELA_E_AUTH},
    {CHELA_IN_CODE, "not_found_error", CHELA_E_NOT_FOUND},
    {CHELA_IN_CODE, "request_too_large", CHELA_E_TOO_LONG},
    {CHELA_IN_CODE, "rate_limit_error", CHELA_E_RATE},
    {CHELA_IN_CODE, "api_error", CHELA_E_NETWORK},
    {CHELA_IN_CODE, "timeout_error", CHELA_E_TIMEOUT},
    {CHELA_IN_CODE, "overloaded_error", CHELA_E_OVERLOADED},
    {CHELA_IN_CODE, "exceed_context_size_error", CHELA_E_TOO_LONG},
    {CHELA_IN_CODE, "server_error", CHELA_E_NETWORK},
    {CHELA_IN_CODE, NULL, 0}};

/* The instance; login is NULL with a key. */
struct anthropic {
    struct chela_toolsets tools;
    struct chela_login *login;
};

static struct chela_login *login_of(struct chela_inst *in)
{
    return ((struct anthropic *)in->self)->login;
}

static int32_t open(struct chela_inst *in)
{
    struct anthropic *a = calloc(1, sizeof *a);
    if (!a)
        abort();
    a->login = chela_login_open(in);
    in->self = a;
    return CHELA_OK;
}

static void close(struct chela_inst *in)
{
    struct anthropic *a = in->self;
    chela_login_close(a->login);
    chela_toolsets_close(&a->tools);
    free(a);
}

static void cancel(struct chela_inst *in, const struct chela_arg *a)
{
    chela_login_cancel(login_of(in), a->h.call);
}

static void put_headers(struct chela_inst *in, struct chela_headers *h)
{
    chela_headers_open(h);
    chela_headers_add(h, "anthropic-version", chela_option_text(in, "version"));
    if (!login_of(in))
        chela_headers_add(h, "x-api-key", chela_option_text(in, "api_key"));
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    chela_publish_models(in, &chela_claude_models);
    if (login_of(in)) {
        chela_login_start(login_of(in));
    } else if (chela_option_number(in, "list_models")) {
        char url[2048];
        struct chela_headers h;
        put_headers(in, &h);
        snprintf(url, sizeof url, "%s/v1/models?limit=1000", chela_option_text(in, "base_url").s);
        chela_ask(in, 0, "GET", url, "", h.v, h.count);
    }
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void asked(struct chela_inst *in, struct chela_task *task, const struct chela_done *d,
                  json_object *answer)
{
    json_object *data = chela_json_array(answer, "data"), *found = chela_json_new_array();
    if (!chela_login_done(login_of(in), task, d) && data) {
        for (size_t i = 0; i < chela_json_length(data); i++)
            chela_json_put_text(chela_json_push_object(found), "name",
                                chela_json_string(chela_json_at(data, i), "id", NULL));
        chela_publish_found(in, found, &chela_claude_models);
    }
    json_object_put(found);
}

/* ---- request ---- */

static const struct chela_naming *naming(struct chela_inst *in)
{
    return login_of(in) ? &request_login_naming : &request_key_naming;
}

/* The anthropic-beta header: what the options ask for. */
static void write_beta(struct chela_inst *in, char *out, size_t size)
{
    struct chela_str beta = chela_option_text(in, "beta");
    const char *login = login_of(in) ? "oauth-2025-04-20" : "";
    snprintf(out, size, "%s%s%s", login, *login && beta.n ? "," : "", beta.n ? beta.s : "");
}

/* What the model takes: by its name, unless the options say it. */
static void set_ways(struct chela_inst *in, const char *model, struct request_style *style)
{
    struct chela_str thinking = chela_option_text(in, "thinking");
    style->adaptive = chela_str_is(thinking, "model") ? chela_claude_adapts(model)
                                                      : chela_str_is(thinking, "adaptive");
    style->temperature = chela_option_text(in, "temperature").n
                             ? chela_option_number(in, "temperature") != 0
                             : chela_claude_takes_temperature(model);
}

static void begin(struct chela_inst *in, const struct chela_begin *b)
{
    struct chela_stream *s =
        chela_stream_begin(in, b, naming(in), &((struct anthropic *)in->self)->tools);
    struct request_style style = {.naming = naming(in),
                                  .max_tokens = chela_option_number(in, "max_tokens"),
                                  .cache = chela_option_number(in, "cache") != 0,
                                  .fine_grained = chela_option_number(in, "fine_grained") != 0,
                                  .lead = chela_option_text(in, "lead")};
    struct chela_params params;
    char *body = NULL, url[2048], beta[512];
    size_t n = 0;
    set_ways(in, b->model.s, &style);
    chela_params_open(&params, b);
    FILE *out = chela_request_open(b, &body, &n);
    request_write(out, b, s->tools, &params, &style);
    fclose(out);
    snprintf(url, sizeof url, "%s/v1/messages", chela_option_text(in, "base_url").s);
    write_beta(in, beta, sizeof beta);
    uint32_t decode = params.stream ? CHELA_SSE : CHELA_BODY;
    struct chela_headers h;
    put_headers(in, &h);
    chela_headers_add(&h, "anthropic-beta", chela_s(beta));
    if (login_of(in))
        chela_login_send(login_of(in), s, decode, url, &h, body, n);
    else
        chela_stream_post(s, decode, url, body, n, &h);
    chela_params_close(&params);
    free(body);
}

static void render(struct chela_inst *in, const struct chela_render *r)
{
    chela_render_message(in, r, naming(in), NULL, request_message);
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
    static const struct chela_stop stops[] = {{"tool_use", "tool_calls"},
                                              {"max_tokens", "length"},
                                              {"refusal", "refusal"},
                                              {"pause_turn", "pause"},
                                              {"model_context_window_exceeded", "length"},
                                              {NULL, NULL}};
    if (reason)
        chela_stream_stop(s, stops, reason);
}

static void take_redacted(struct chela_stream *s, json_object *block)
{
    char *signature = NULL;
    size_t n = 0;
    FILE *out = chela_write_open(&signature, &n);
    const char *data = chela_json_string(block, "data", NULL);
    fprintf(out, REQUEST_REDACTED "%s", data ? data : "");
    fclose(out);
    chela_stream_thinking_next(s);
    chela_stream_thinking(s, "", 0, signature);
    free(signature);
}

/* A block as it starts in a stream (`whole` false: its text comes in deltas) or as it stands in a
 * whole answer. */
static void take_block(struct chela_stream *s, json_object *block, size_t index, bool whole)
{
    const char *type = chela_member(block, "type");
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
        take_redacted(s, block);
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
    const char *type = chela_member(delta, "type"), *text;
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

static void take_error(struct chela_stream *s, json_object *o)
{
    static const struct chela_dialect dialect = {.errors = errors};
    chela_dialect_fail(s, o, &dialect);
}

static void take_head(struct chela_stream *s, json_object *message)
{
    chela_stream_keep(&s->model, chela_json_string(message, "model", NULL));
    chela_stream_keep(&s->id, chela_json_string(message, "id", NULL));
    take_usage(s, chela_json_object(message, "usage"));
}

static void take_event(struct chela_stream *s, json_object *o)
{
    const char *type = chela_member(o, "type");
    if (strcmp(type, "message_start") == 0) {
        take_head(s, chela_json_object(o, "message"));
    } else if (strcmp(type, "content_block_start") == 0) {
        take_block(s, chela_json_object(o, "content_block"), index_of(o), false);
    } else if (strcmp(type, "content_block_delta") == 0) {
        take_delta(s, chela_json_object(o, "delta"), index_of(o));
    } else if (strcmp(type, "content_block_stop") == 0) {
        chela_stream_call_last(s, index_of(o));
    } else if (strcmp(type, "message_delta") == 0) {
        take_stop(s, chela_json_string(chela_json_object(o, "delta"), "stop_reason", NULL));
        take_usage(s, chela_json_object(o, "usage"));
    } else if (strcmp(type, "message_stop") == 0) {
        s->closed = true;
    } else if (strcmp(type, "error") == 0 || chela_json_get(o, "error") ||
               (chela_json_has(o, "code") && chela_json_has(o, "message"))) {
        take_error(s, o);
    }
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

static const struct chela_dialect dialect = {
    .errors = errors, .event = take_event, .whole = take_whole, .asked = asked};

static void http(struct chela_inst *in, const struct chela_http_event *e)
{
    chela_dialect_http(in, e, &dialect);
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct chela_task *task = chela_task_of(d->h.tag);
    if (login_of(in) && task && task->kind == CHELA_TASK_STREAM) {
        if (d->http_status == 401 && chela_login_again(login_of(in), chela_stream_of(d->h.tag)))
            return;
        chela_login_forget(login_of(in), chela_stream_of(d->h.tag));
    }
    chela_dialect_done(in, d, &dialect);
}

static const struct chela_provider provider = {
    .size = (uint32_t)sizeof(struct chela_provider),
    .begin = begin,
    .render = render,
};

static const struct chela_iface anthropic = {
    CHELA_IFACE("anthropic", "Claude models by Anthropic's Messages API", CHELA_CAP_DEFAULT,
                options),
    .open = open,
    .close = close,
    .start = start,
    .cancel = cancel,
    .http = http,
    .done = done,
    .provider = &provider,
};

CHELA_PLUGIN(provider_anthropic, "0.9.0", "Claude models by Anthropic's Messages API", "MIT", "",
             &anthropic);
