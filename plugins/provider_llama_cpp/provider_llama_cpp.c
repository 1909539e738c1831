/*
 * provider_llama_cpp: a llama.cpp server by its native endpoint. The server makes the prompt by the
 * model's own template (/apply-template), then completes it (/completion); tool calls are forced by
 * a JSON schema, or read from the text that the model writes.
 *
 * Format: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
 */
#include <chela/chela.h>

#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "support/dialect.h"
#include "support/forced.h"
#include "support/models.h"

static const struct chela_option tool_values[] = {
    {"template", 0, 0, NULL, "the model's template tells of tools; its calls are text", NULL},
    {"schema", 0, 0, NULL, "the system prompt tells of tools; a JSON schema forces the answer",
     NULL},
    {NULL, 0, 0, NULL, NULL, NULL}};

static const struct chela_option options[] = {
    {"base_url", CHELA_STRING, CHELA_URL, "http://localhost:8080", "where the server listens",
     NULL},
    {"api_key", CHELA_STRING, CHELA_SECRET | CHELA_RELOAD, NULL, "key, sent as a bearer token",
     NULL},
    {"tool_calls", CHELA_STRING, 0, "template", "how the model learns of tools and calls them",
     tool_values},
    {"slots", CHELA_BOOL, CHELA_RELOAD, "true",
     "a session keeps to one of the server's slots, whose cache then holds its prompt", NULL},
    {"models", CHELA_ITEMS, 0, NULL, "models of this instance; what the server has if absent",
     chela_model_items},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static const struct chela_error_rule errors[] = {
    {CHELA_IN_CODE, "exceed_context_size_error", CHELA_E_TOO_LONG},
    {CHELA_IN_CODE, "unavailable_error", CHELA_E_OVERLOADED},
    {CHELA_IN_CODE, "authentication_error", CHELA_E_AUTH},
    {CHELA_IN_CODE, "permission_error", CHELA_E_AUTH},
    {CHELA_IN_CODE, "not_found_error", CHELA_E_NOT_FOUND},
    {CHELA_IN_CODE, "not_supported_error", CHELA_E_UNSUPPORTED},
    {CHELA_IN_CODE, "invalid_request_error", CHELA_E_ARGS},
    {CHELA_IN_CODE, "server_error", CHELA_E_NETWORK},
    {CHELA_IN_CODE, NULL, 0}};

enum { TASK_PROPS = CHELA_TASK_OWN, TASK_TEMPLATE };

struct llama {
    struct chela_task props;
    int slots; /* that the server has; 0: not known */
    struct chela_toolsets tools;
};

/* What a stream needs beside what all have; the stream's `extra`. */
struct turn {
    struct chela_task task; /* of /apply-template */
    struct chela_stream *stream;
    struct chela_forced reply;
    bool forced, has_images;
    char *messages, *rest; /* bodies of the two requests */
    size_t message_length, rest_length;
};

static int32_t open(struct chela_inst *in)
{
    struct llama *l = calloc(1, sizeof *l);
    if (!l)
        abort();
    l->props.kind = TASK_PROPS;
    in->self = l;
    return CHELA_OK;
}

static void close(struct chela_inst *in)
{
    struct llama *l = in->self;
    chela_toolsets_close(&l->tools);
    free(l);
}

static void put_headers(struct chela_inst *in, struct chela_headers *h)
{
    chela_headers_open(h);
    chela_headers_bearer(h, chela_option_text(in, "api_key"));
}

static void put_url(struct chela_inst *in, char *out, size_t size, const char *path)
{
    snprintf(out, size, "%s%s", chela_option_text(in, "base_url").s, path);
}

/* ---- what the server is ---- */

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct llama *l = in->self;
    char url[2048];
    struct chela_headers h;
    chela_publish_models(in, NULL);
    put_headers(in, &h);
    put_url(in, url, sizeof url, "/props");
    chela_ask(in, (uint64_t)(uintptr_t)&l->props, "GET", url, "", h.v, h.count);
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void take_props(struct chela_inst *in, json_object *props)
{
    struct llama *l = in->self;
    if (!props) {
        chela_publish_state(in, false, "the llama.cpp server does not answer; is it running?");
        return;
    }
    json_object *found = chela_json_new_array(), *o = chela_json_push_object(found);
    const char *name = chela_json_string(props, "model_alias", NULL),
               *path = chela_json_string(props, "model_path", NULL),
               *template = chela_json_string(props, "chat_template", NULL);
    if (!name && path)
        name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    int64_t context =
                chela_json_int(chela_json_object(props, "default_generation_settings"), "n_ctx", 0),
            slots = chela_json_int(props, "total_slots", 0);
    l->slots = slots > 0 && slots < 4096 ? (int)slots : 0;
    chela_json_put_text(o, "name", name ? name : "local");
    if (context > 0)
        chela_json_put_int(o, "context", context);
    chela_json_put_bool(o, "images",
                        chela_json_bool(chela_json_object(props, "modalities"), "vision", false));
    bool told = !template || strstr(template, "tools") ||
                chela_str_is(chela_option_text(in, "tool_calls"), "schema");
    chela_publish_found(in, found, NULL);
    chela_publish_state(in, true,
                        told ? ""
                             : "the model's template knows no tools: set tool_calls = "
                               "\"schema\" to have calls forced by a schema");
    json_object_put(found);
}

/* ---- request ---- */

static enum request_tools tools_of(struct chela_inst *in)
{
    return chela_str_is(chela_option_text(in, "tool_calls"), "schema") ? REQUEST_SCHEMA
                                                                       : REQUEST_TEMPLATE;
}

static int slot_of(struct chela_inst *in, const char *session)
{
    const struct llama *l = in->self;
    uint32_t hash = 2166136261u;
    if (!session || l->slots == 0 || !chela_option_number(in, "slots"))
        return -1;
    for (const char *p = session; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 16777619u;
    return (int)(hash % (uint32_t)l->slots);
}

static void turn_free(void *extra)
{
    struct turn *t = extra;
    chela_forced_free(&t->reply);
    free(t->messages);
    free(t->rest);
    free(t);
}

static void begin(struct chela_inst *in, const struct chela_begin *b)
{
    struct chela_stream *s =
        chela_stream_begin(in, b, &request_naming, &((struct llama *)in->self)->tools);
    struct turn *t = calloc(1, sizeof *t);
    struct chela_params params;
    enum request_tools tools = tools_of(in);
    if (!t)
        abort();
    s->extra = t;
    s->extra_free = turn_free;
    t->task.kind = TASK_TEMPLATE;
    t->stream = s;
    chela_params_open(&params, b);
    FILE *out = chela_request_open(b, &t->messages, &t->message_length);
    request_template(out, b, s->tools, &params, tools);
    fclose(out);
    t->forced = request_forced(s->tools, &params, tools);
    t->has_images = memmem(t->messages, t->message_length, "\"image_url\"", 11) != NULL;
    s->writes_calls = !t->forced;
    s->streaming = params.stream;
    out = chela_write_open(&t->rest, &t->rest_length);
    request_completion(out, s->tools, &params, t->forced, slot_of(in, params.session));
    fclose(out);
    chela_params_close(&params);

    char url[2048];
    struct chela_headers h;
    put_headers(in, &h);
    put_url(in, url, sizeof url, "/apply-template");
    CHELA_ARGS(chela_http, a, in->host->local->new_call(in));
    a.h.tag = (uint64_t)(uintptr_t)&t->task;
    a.parent = s->call;
    a.method = chela_s("POST");
    a.url = chela_s(url);
    a.body = chela_sn(t->messages, t->message_length);
    a.headers.v = h.v;
    a.headers.n = h.count;
    in->host->net->http(in, &a);
}

/* The prompt has come: on to the completion. */
static void complete(struct chela_inst *in, struct turn *t, const char *prompt, size_t length)
{
    char *body = NULL, url[2048];
    size_t n = 0, end = length;
    struct chela_headers h;
    json_object *messages = NULL;
    if (t->has_images)
        chela_json_parse(t->messages, t->message_length, NULL, &messages, NULL);
    while (end && strchr(" \n", prompt[end - 1]))
        end--;
    chela_forced_open(&t->reply, t->forced,
                      end >= 7 && memcmp(prompt + end - 7, "<think>", 7) == 0);
    FILE *out = chela_write_open(&body, &n);
    request_prompt(out, prompt, length, chela_json_array(messages, "messages"));
    fwrite(t->rest, 1, t->rest_length, out);
    fclose(out);
    put_headers(in, &h);
    put_url(in, url, sizeof url, "/completion");
    chela_stream_post(t->stream, t->stream->streaming ? CHELA_SSE : CHELA_BODY, url, body, n, &h);
    json_object_put(messages);
    free(body);
}

static void render(struct chela_inst *in, const struct chela_render *r)
{
    enum request_tools tools = tools_of(in);
    chela_render_message(in, r, &request_naming, &tools, request_message);
}

static void embed(struct chela_inst *in, const struct chela_embed *e)
{
    struct chela_headers h;
    char url[2048];
    put_headers(in, &h);
    put_url(in, url, sizeof url, "/v1/embeddings");
    chela_embed_input(in, e, url, &h);
}

/* ---- answer ---- */

static void take_end(struct chela_stream *s, json_object *o)
{
    struct turn *t = s->extra;
    const char *type = chela_json_string(o, "stop_type", NULL);
    bool limit = type ? strcmp(type, "limit") == 0 : chela_json_bool(o, "stopped_limit", false);
    int64_t prompt = chela_json_int(o, "tokens_evaluated", 0),
            cached = chela_json_int(chela_json_object(o, "timings"), "cache_n", 0);
    s->closed = true;
    chela_stream_keep(&s->stop, limit ? "length" : "end");
    chela_stream_keep(&s->model, chela_json_string(o, "model", NULL));
    chela_forced_end(&t->reply, s, !limit);
    s->usage.cache_read = (uint64_t)(cached > 0 ? cached : 0);
    s->usage.in = (uint64_t)(prompt > cached ? prompt - cached : 0);
    s->usage.out = (uint64_t)chela_json_int(o, "tokens_predicted", 0);
    chela_stream_usage(s);
}

static void take(struct chela_stream *s, json_object *o)
{
    static const struct chela_dialect failing = {.errors = errors};
    struct turn *t = s->extra;
    size_t n = 0;
    if (chela_json_get(o, "error") || (chela_json_has(o, "code") && chela_json_has(o, "message"))) {
        chela_dialect_fail(s, o, &failing);
        return;
    }
    const char *text = chela_json_string(o, "content", &n);
    if (text && n)
        chela_forced_feed(&t->reply, s, text, n);
    if (chela_json_bool(o, "stop", false))
        take_end(s, o);
}

static void take_prompt(struct chela_inst *in, struct turn *t, const struct chela_done *d,
                        json_object *answer)
{
    static const struct chela_dialect failing = {.errors = errors};
    size_t n = 0;
    json_object *body = NULL;
    const char *prompt = chela_json_string(answer, "prompt", &n);
    if (prompt) {
        complete(in, t, prompt, n);
        return;
    }
    struct chela_stream *s = t->stream;
    if (d->error == CHELA_OK) {
        chela_stream_fail(s, CHELA_E_PROTOCOL, "the server made no prompt of the messages");
    } else if (d->http_status) {
        chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &body, NULL);
    }
    chela_stream_end(s, d, body ? chela_error_class(body, &failing) : CHELA_OK,
                     body ? chela_error_message(body) : NULL);
    json_object_put(body);
}

static void asked(struct chela_inst *in, struct chela_task *task, const struct chela_done *d,
                  json_object *answer)
{
    if (task && task->kind == TASK_TEMPLATE)
        take_prompt(in, (struct turn *)task, d, answer);
    else
        take_props(in, answer);
}

static const struct chela_dialect dialect = {
    .errors = errors, .event = take, .whole = take, .asked = asked, .vectors = chela_embed_data};

CHELA_DIALECT_SLOTS(dialect)

static const struct chela_provider provider = {
    .size = (uint32_t)sizeof(struct chela_provider),
    .begin = begin,
    .render = render,
    .embed = embed,
};

static const struct chela_iface llamacpp = {
    CHELA_IFACE("llama.cpp", "models of a llama.cpp server, by its native endpoint",
                CHELA_CAP_LOCAL, options),
    .open = open,
    .close = close,
    .start = start,
    .http = http,
    .done = done,
    .provider = &provider,
};

CHELA_PLUGIN(provider_llama_cpp, "0.9.0", "models of a llama.cpp server, by its native endpoint",
             "MIT", "", &llamacpp);
