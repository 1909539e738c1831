/*
 * provider_ollama: models of an Ollama by its own API (/api/chat, one JSON object a line). Asks it
 * at start which models were pulled.
 *
 * Format: https://github.com/ollama/ollama/blob/main/docs/api.md
 */
#include <chela/chela.h>

#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "support/json.h"
#include "support/stream.h"

static const struct chela_option options[] = {
    {"base_url", CHELA_STRING, CHELA_URL, "http://localhost:11434", "where Ollama listens", NULL},
    {"api_key", CHELA_STRING, CHELA_SECRET | CHELA_RELOAD, NULL,
     "bearer token, for a proxy in front", NULL},
    {"context", CHELA_INT, CHELA_RELOAD, NULL, "num_ctx of each call; the model's own if absent",
     NULL},
    {"keep_alive", CHELA_STRING, CHELA_RELOAD, NULL,
     "how long the model stays in memory, e.g. \"10m\"", NULL},
    {"models", CHELA_ITEMS, 0, NULL, "models of this instance; those that were pulled if absent",
     chela_model_items},
    {NULL, 0, 0, NULL, NULL, NULL},
};

enum { LIST_MS = 5000 };

/* ---- which models are there: GET /api/tags, told apart from model calls by tag 0 ---- */

static void ask_for_models(struct chela_inst *in)
{
    char url[2048];
    snprintf(url, sizeof url, "%s/api/tags", chela_option_text(in, "base_url").s);
    CHELA_ARGS(chela_http, a, in->host->local->new_call(in));
    a.method = chela_s("GET");
    a.url = chela_s(url);
    a.timeout_ms = LIST_MS;
    in->host->net->http(in, &a);
}

static void publish_state(struct chela_inst *in, bool ok, const char *text)
{
    json_object *o = chela_json_new_object();
    chela_json_put_bool(o, "ok", ok);
    chela_json_put_text(o, "text", text);
    struct chela_pair state = {CHELA_LIT("state"), chela_s(chela_json_text(o, NULL))};
    chela_publish_list(in, CHELA_STATE, in->host->local->ticks_ms(in) + 1, &state, 1);
    json_object_put(o);
}

static void take_models(struct chela_inst *in, const struct chela_done *d)
{
    json_object *o = NULL;
    if (d->error != CHELA_OK ||
        chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL) < 0) {
        publish_state(in, false, "Ollama does not answer; is it running (ollama serve)?");
        return;
    }
    json_object *list = chela_json_array(o, "models");
    size_t n = chela_json_length(list), count = 0;
    struct chela_model *models = calloc(n ? n : 1, sizeof *models);
    if (!models)
        abort();
    for (size_t i = 0; i < n; i++) {
        const char *name = chela_json_string(chela_json_at(list, i), "name", NULL);
        if (name)
            models[count++] = (struct chela_model){.name = name};
    }
    chela_publish_models(in, models, count);
    publish_state(in, count > 0, count > 0 ? "" : "no model has been pulled yet: ollama pull NAME");
    free(models);
    json_object_put(o);
}

static void start(struct chela_inst *in, const struct chela_arg *a)
{
    chela_publish_models(in, NULL, 0);
    if (chela_option_number(in, "models") == 0)
        ask_for_models(in);
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

    char *body = NULL, url[2048], bearer[512];
    size_t n = 0, count = 1;
    FILE *out = open_memstream(&body, &n);
    if (!out)
        abort();
    request_write(out, b, chela_option_number(in, "context"), chela_option_text(in, "keep_alive").s,
                  stream);
    fclose(out);
    snprintf(url, sizeof url, "%s/api/chat", chela_option_text(in, "base_url").s);
    struct chela_str key = chela_option_text(in, "api_key");
    snprintf(bearer, sizeof bearer, "Bearer %s", key.s ? key.s : "");
    struct chela_pair headers[2] = {{CHELA_LIT("content-type"), CHELA_LIT("application/json")}};
    if (key.n)
        headers[count++] = (struct chela_pair){CHELA_LIT("authorization"), chela_s(bearer)};
    chela_stream_post(s, stream ? CHELA_LINES : CHELA_BODY, url, body, n, headers, count);
    free(body);
}

static void render(struct chela_inst *in, const struct chela_render *r)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        abort();
    request_message(out, r);
    fclose(out);
    CHELA_ARGS(chela_done, d, r->h.call);
    d.text = chela_sn(text, n);
    in->host->answer->done(in, &d);
    free(text);
}

/* ---- answer ---- */

/* Ollama tells what is wrong in the text alone; these are its own sentences, never a model's. */
static uint32_t class_of_text(const char *text)
{
    if (text && strstr(text, "does not support tools"))
        return CHELA_E_UNSUPPORTED;
    if (text && strstr(text, "not found"))
        return CHELA_E_NOT_FOUND;
    if (text && strstr(text, "exceeds the available context"))
        return CHELA_E_TOO_LONG;
    return CHELA_OK;
}

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
    const char *error = chela_error_message(o);
    if (chela_json_get(o, "error")) {
        uint32_t class = class_of_text(error);
        chela_stream_fail(s, class == CHELA_OK ? CHELA_E_OTHER : class,
                          error ? error : "Ollama reported an error");
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

static void http(struct chela_inst *in, const struct chela_http_event *e)
{
    struct chela_stream *s = chela_stream_of(e->h.tag);
    (void)in;
    if (!s || s->error != CHELA_OK || e->data.n == 0)
        return;
    json_object *o = chela_stream_parse(s, e->data);
    if (o)
        take_line(s, o);
    json_object_put(o);
}

static void done(struct chela_inst *in, const struct chela_done *d)
{
    struct chela_stream *s = chela_stream_of(d->h.tag);
    uint32_t class = CHELA_OK;
    json_object *o = NULL;
    if (!s) {
        take_models(in, d);
        return;
    }
    if (d->error == CHELA_OK && !s->streaming) {
        o = chela_stream_parse(s, d->text);
        if (o)
            take_line(s, o);
    } else if (d->error != CHELA_OK && d->http_status &&
               chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL) == 0) {
        class = class_of_text(chela_error_message(o));
    }
    json_object_put(o);
    chela_stream_end(s, d, class);
}

static const struct chela_provider provider = {
    .size = (uint32_t)sizeof(struct chela_provider),
    .begin = begin,
    .render = render,
};

static const struct chela_iface ollama = {
    CHELA_IFACE("ollama", "models of a local Ollama", CHELA_CAP_LOCAL, options),
    .start = start,
    .http = http,
    .done = done,
    .provider = &provider,
};

CHELA_PLUGIN(provider_ollama, "0.9.0", "models of a local Ollama", "MIT", "", &ollama);
