/*
 * provider_ollama: models of an Ollama by its own API (/api/chat, one JSON object a line). Asks it
 * at start which models were pulled (/api/tags) and what each can do (/api/show).
 *
 * Format: https://github.com/ollama/ollama/blob/main/docs/api.md
 */
#include <chela/chela.h>

#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "support/dialect.h"
#include "support/models.h"

static const struct chela_option options[] = {
    {"base_url", CHELA_STRING, CHELA_URL, "http://localhost:11434", "where Ollama listens", NULL},
    {"api_key", CHELA_STRING, CHELA_SECRET | CHELA_RELOAD, NULL,
     "bearer token, for a proxy in front", NULL},
    {"context", CHELA_INT, CHELA_RELOAD, NULL, "num_ctx of each call; the model's own if absent",
     NULL},
    {"keep_alive", CHELA_STRING, CHELA_RELOAD, NULL,
     "how long the model stays in memory, e.g. \"10m\"", NULL},
    {"text_calls", CHELA_BOOL, CHELA_RELOAD, "true",
     "calls that a model writes as text count, where the name is a tool", NULL},
    {"models", CHELA_ITEMS, 0, NULL, "models of this instance; those that were pulled if absent",
     chela_model_items},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum { TASK_LIST = CHELA_TASK_OWN, TASK_SHOW, SHOWN_MOST = 64 };

/* What it says of its models, and the questions that are out. */
struct ollama {
    struct chela_task list;
    json_object *found; /* array of CHELA_MODELS objects */
    unsigned open;
    struct chela_toolsets tools;
};

struct show {
    struct chela_task task;
    size_t index; /* in found */
};

static int32_t open(struct chela_inst *in)
{
    struct ollama *o = calloc(1, sizeof *o);
    if (!o)
        abort();
    o->list.kind = TASK_LIST;
    in->self = o;
    return CHELA_OK;
}

static void close(struct chela_inst *in)
{
    struct ollama *o = in->self;
    json_object_put(o->found);
    chela_toolsets_close(&o->tools);
    free(o);
}

static void put_headers(struct chela_inst *in, struct chela_headers *h)
{
    chela_headers_open(h);
    chela_headers_bearer(h, chela_option_text(in, "api_key"));
}

static void ask(struct chela_inst *in, void *tag, const char *method, const char *path,
                const char *body)
{
    char url[2048];
    struct chela_headers h;
    put_headers(in, &h);
    snprintf(url, sizeof url, "%s%s", chela_option_text(in, "base_url").s, path);
    chela_ask(in, (uint64_t)(uintptr_t)tag, method, url, body, h.v, h.count);
}

/* ---- which models are there ---- */

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    struct ollama *o = in->self;
    chela_publish_models(in, NULL);
    ask(in, &o->list, "GET", "/api/tags", "");
    chela_end(in, a->h.call, CHELA_OK, "");
}

static void show(struct chela_inst *in, size_t index, const char *name)
{
    struct show *task = calloc(1, sizeof *task);
    json_object *body = chela_json_new_object();
    if (!task)
        abort();
    task->task.kind = TASK_SHOW;
    task->index = index;
    chela_json_put_text(body, "model", name);
    ((struct ollama *)in->self)->open++;
    ask(in, task, "POST", "/api/show", chela_json_text(body, NULL));
    json_object_put(body);
}

static void take_list(struct chela_inst *in, json_object *answer)
{
    struct ollama *o = in->self;
    json_object *list = chela_json_array(answer, "models");
    if (!answer) {
        chela_publish_state(in, false, "Ollama does not answer; is it running (ollama serve)?");
        return;
    }
    json_object_put(o->found);
    o->found = chela_json_new_array();
    for (size_t i = 0; i < chela_json_length(list); i++) {
        const char *name = chela_json_string(chela_json_at(list, i), "name", NULL);
        if (name)
            chela_json_put_text(chela_json_push_object(o->found), "name", name);
    }
    size_t n = chela_json_length(o->found);
    chela_publish_found(in, o->found, NULL);
    chela_publish_state(in, n > 0, n > 0 ? "" : "no model has been pulled yet: ollama pull NAME");
    for (size_t i = 0; i < n && i < SHOWN_MOST; i++)
        show(in, i, chela_json_string(chela_json_at(o->found, i), "name", NULL));
}

static bool can(json_object *abilities, const char *wanted)
{
    for (size_t i = 0; i < chela_json_length(abilities); i++) {
        const char *name = chela_json_as_string(chela_json_at(abilities, i), NULL);
        if (name && strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

static void take_show(struct chela_inst *in, struct show *task, json_object *answer)
{
    struct ollama *o = in->self;
    json_object *model = chela_json_at(o->found, task->index),
                *abilities = chela_json_array(answer, "capabilities"),
                *info = chela_json_object(answer, "model_info");
    if (model && abilities) {
        chela_json_put_bool(model, "tools", can(abilities, "tools"));
        chela_json_put_bool(model, "images", can(abilities, "vision"));
        chela_json_put_bool(model, "thinking", can(abilities, "thinking"));
    }
    if (model && info) {
        char key[128];
        const char *family = chela_json_string(info, "general.architecture", NULL);
        snprintf(key, sizeof key, "%.100s.context_length", family ? family : "");
        if (chela_json_int(info, key, 0) > 0)
            chela_json_put_int(model, "context", chela_json_int(info, key, 0));
    }
    if (--o->open == 0)
        chela_publish_found(in, o->found, NULL);
    free(task);
}

static void asked(struct chela_inst *in, struct chela_task *task, const struct chela_done *d,
                  json_object *answer)
{
    (void)d;
    if (task->kind == TASK_LIST)
        take_list(in, answer);
    else
        take_show(in, (struct show *)task, answer);
}

/* What it says of one of its models; NULL: nothing. */
static json_object *about(struct chela_inst *in, struct chela_str name)
{
    struct ollama *o = in->self;
    for (size_t i = 0; i < chela_json_length(o->found); i++) {
        json_object *model = chela_json_at(o->found, i);
        const char *its = chela_json_string(model, "name", NULL);
        if (its && chela_str_is(name, its))
            return model;
    }
    return NULL;
}

/* ---- request ---- */

static void begin(struct chela_inst *in, const struct chela_begin *b)
{
    struct chela_stream *s =
        chela_stream_begin(in, b, &request_naming, &((struct ollama *)in->self)->tools);
    struct request_style style = {chela_option_number(in, "context"),
                                  chela_option_text(in, "keep_alive"),
                                  chela_json_bool(about(in, b->model), "thinking", true)};
    struct chela_params params;
    struct chela_headers h;
    char *body = NULL, url[2048];
    size_t n = 0;
    chela_params_open(&params, b);
    FILE *out = chela_request_open(b, &body, &n);
    request_write(out, b, s->tools, &params, &style);
    fclose(out);
    snprintf(url, sizeof url, "%s/api/chat", chela_option_text(in, "base_url").s);
    put_headers(in, &h);
    s->repeats = true;
    s->writes_calls = chela_option_number(in, "text_calls") != 0;
    chela_stream_post(s, params.stream ? CHELA_LINES : CHELA_BODY, url, body, n, &h);
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
    snprintf(url, sizeof url, "%s/api/embed", chela_option_text(in, "base_url").s);
    put_headers(in, &h);
    chela_embed_input(in, e, url, &h);
}

/* ---- answer ---- */

/* Ollama tells what is wrong in the text alone; these are its own sentences, never a model's. */
static const struct chela_error_rule errors[] = {
    {CHELA_IN_TEXT, "does not support tools", CHELA_E_UNSUPPORTED},
    {CHELA_IN_TEXT, "not found", CHELA_E_NOT_FOUND},
    {CHELA_IN_TEXT, "exceeds the available context", CHELA_E_TOO_LONG},
    {CHELA_IN_CODE, NULL, 0}};

static void take_calls(struct chela_stream *s, json_object *calls)
{
    for (size_t i = 0; i < chela_json_length(calls); i++) {
        json_object *call = chela_json_at(calls, i),
                    *function = chela_json_object(call, "function"),
                    *arguments = chela_json_get(function, "arguments"), *parsed = NULL;
        size_t n = 0;
        const char *text = chela_json_as_string(arguments, &n);
        if (text && chela_json_parse(text, n, NULL, &parsed, NULL) == 0)
            arguments = parsed;
        /* each line may bring calls; they are numbered through */
        chela_stream_whole_call(s, s->call_count, chela_json_string(call, "id", NULL),
                                chela_json_string(function, "name", NULL), arguments);
        json_object_put(parsed);
        chela_stream_keep(&s->stop, "tool_calls");
    }
}

static void take_line(struct chela_stream *s, json_object *o)
{
    static const struct chela_dialect failing = {.errors = errors};
    if (chela_json_get(o, "error")) {
        chela_dialect_fail(s, o, &failing);
        return;
    }
    json_object *m = chela_json_object(o, "message");
    size_t n = 0;
    if (!s->model)
        chela_stream_keep(&s->model, chela_json_string(o, "model", NULL));
    const char *text = chela_json_string(m, "thinking", &n);
    if (text && n)
        chela_stream_thinking(s, text, n, NULL);
    text = chela_json_string(m, "content", &n);
    if (text && n)
        chela_stream_text(s, text, n);
    take_calls(s, chela_json_array(m, "tool_calls"));
    if (!chela_json_bool(o, "done", false))
        return;
    const char *reason = chela_json_string(o, "done_reason", NULL);
    s->closed = true;
    if (reason && strcmp(reason, "length") == 0)
        chela_stream_keep(&s->stop, "length");
    s->usage.in = (uint64_t)chela_json_int(o, "prompt_eval_count", 0);
    s->usage.out = (uint64_t)chela_json_int(o, "eval_count", 0);
    chela_stream_usage(s);
}

static void vectors(json_object *answer, json_object *list)
{
    json_object *all = chela_json_array(answer, "embeddings");
    for (size_t i = 0; i < chela_json_length(all); i++)
        chela_json_push(list, json_object_get(chela_json_at(all, i)));
}

static const struct chela_dialect dialect = {
    .errors = errors, .event = take_line, .whole = take_line, .asked = asked, .vectors = vectors};

static void http(struct chela_inst *in, const struct chela_http_event *e)
{
    chela_dialect_http(in, e, &dialect);
}

/* A model that isn't there is told with what to do about it. */
static bool not_pulled(struct chela_inst *in, const struct chela_done *d)
{
    struct chela_task *task = chela_task_of(d->h.tag);
    json_object *o = NULL;
    if (task->kind != CHELA_TASK_STREAM || d->http_status != 404)
        return false;
    chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL);
    const char *said = chela_error_message(o);
    char text[400];
    snprintf(text, sizeof text, "%.250s (ollama pull NAME fetches a model)",
             said ? said : "Ollama knows nothing by that name");
    chela_stream_end(chela_stream_of(d->h.tag), d, CHELA_E_NOT_FOUND, text);
    json_object_put(o);
    (void)in;
    return true;
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    if (!not_pulled(in, d))
        chela_dialect_done(in, d, &dialect);
}

static const struct chela_provider provider = {
    .size = (uint32_t)sizeof(struct chela_provider),
    .begin = begin,
    .render = render,
    .embed = embed,
};

static const struct chela_iface ollama = {
    CHELA_IFACE("ollama", "models of a local Ollama", CHELA_CAP_LOCAL, options),
    .open = open,
    .close = close,
    .start = start,
    .http = http,
    .done = done,
    .provider = &provider,
};

CHELA_PLUGIN(provider_ollama, "0.9.0", "models of a local Ollama", "MIT", "", &ollama);
