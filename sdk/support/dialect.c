/*
 * The http and done slots of a provider (see dialect.h).
 */
#include "support/dialect.h"

#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

static json_object *error_of(json_object *body)
{
    if (json_object_is_type(body, json_type_array))
        body = chela_json_at(body, 0);
    json_object *error = chela_json_get(body, "error");
    return error ? error : body;
}

const char *chela_error_message(json_object *body)
{
    if (json_object_is_type(body, json_type_array))
        body = chela_json_at(body, 0);
    json_object *error = chela_json_get(body, "error");
    const char *text = chela_json_string(error, "message", NULL);
    if (!text)
        text = chela_json_as_string(error, NULL);
    if (!text)
        text = chela_json_string(body, "message", NULL);
    return text ? text : chela_json_string(body, "detail", NULL);
}

static uint32_t by_rules(const struct chela_error_rule *rule, json_object *error, const char *text)
{
    static const char *const members[] = {"code", "type", "status"};
    for (; rule && rule->what; rule++) {
        if (rule->where == CHELA_IN_TEXT && text && strstr(text, rule->what))
            return rule->class;
        for (size_t m = 0; rule->where == CHELA_IN_CODE && m < 3; m++) {
            const char *code = chela_json_string(error, members[m], NULL);
            if (code && strcmp(code, rule->what) == 0)
                return rule->class;
        }
    }
    return CHELA_OK;
}

uint32_t chela_error_class(json_object *body, const struct chela_dialect *dialect)
{
    json_object *error = error_of(body);
    const char *text = chela_error_message(body);
    uint32_t class = by_rules(dialect->more_errors, error, text);
    return class != CHELA_OK ? class : by_rules(dialect->errors, error, text);
}

uint32_t chela_status_class(int64_t status)
{
    return status == 401 || status == 403   ? CHELA_E_AUTH
           : status == 402                  ? CHELA_E_QUOTA
           : status == 404                  ? CHELA_E_NOT_FOUND
           : status == 408                  ? CHELA_E_TIMEOUT
           : status == 413                  ? CHELA_E_TOO_LONG
           : status == 429                  ? CHELA_E_RATE
           : status == 503 || status == 529 ? CHELA_E_OVERLOADED
           : status >= 500                  ? CHELA_E_NETWORK
           : status >= 400                  ? CHELA_E_ARGS
                                            : CHELA_E_OTHER;
}

void chela_dialect_fail(struct chela_stream *s, json_object *body,
                        const struct chela_dialect *dialect)
{
    const char *text = chela_error_message(body);
    uint32_t class = chela_error_class(body, dialect);
    if (class == CHELA_OK)
        class = chela_status_class(chela_json_int(error_of(body), "code", 0));
    chela_stream_fail(s, class, text ? text : "the service reported an error without saying which");
    if (dialect->retry_after)
        s->retry_after_ms = dialect->retry_after(body);
}

/* ---- slots ---- */

void chela_dialect_http(struct chela_inst *in, const struct chela_http_event *e,
                        const struct chela_dialect *dialect)
{
    struct chela_task *task = chela_task_of(e->h.tag);
    (void)in;
    if (!task || task->kind != CHELA_TASK_STREAM)
        return;
    struct chela_stream *s = chela_stream_of(e->h.tag);
    if (s->error != CHELA_OK || e->data.n == 0)
        return;
    if (chela_str_is(e->data, "[DONE]")) {
        s->closed = true;
        return;
    }
    json_object *o = chela_stream_parse(s, e->data);
    if (o)
        dialect->event(s, o);
    json_object_put(o);
}

static json_object *body_of(const struct chela_done *d)
{
    json_object *o = NULL;
    if (d->error == CHELA_OK || d->http_status)
        chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL);
    return o;
}

static void end_stream(struct chela_stream *s, const struct chela_done *d,
                       const struct chela_dialect *dialect)
{
    uint32_t class = CHELA_OK;
    json_object *o = NULL;
    const char *text = NULL;
    if (d->error == CHELA_OK && !s->streaming) {
        o = chela_stream_parse(s, d->text);
        if (o)
            dialect->whole(s, o);
    } else if (d->error != CHELA_OK && (o = body_of(d))) {
        class = chela_error_class(o, dialect);
        text = chela_error_message(o);
        if (dialect->retry_after)
            s->retry_after_ms = dialect->retry_after(o);
    }
    chela_stream_end(s, d, class, text);
    json_object_put(o);
}

/* ---- embeddings ---- */

struct embedding {
    struct chela_task task;
    uint64_t call;
};

void chela_embed_post(struct chela_inst *in, const struct chela_embed *e, const char *url,
                      const char *body, size_t length, const struct chela_headers *headers)
{
    struct embedding *task = calloc(1, sizeof *task);
    if (!task)
        abort();
    task->task.kind = CHELA_TASK_EMBED;
    task->call = e->h.call;
    CHELA_ARGS(chela_http, a, in->host->local->new_call(in));
    a.h.tag = (uint64_t)(uintptr_t)task;
    a.parent = e->h.call;
    a.method = chela_s("POST");
    a.url = chela_s(url);
    a.body = chela_sn(body, length);
    a.headers.v = headers->v;
    a.headers.n = headers->count;
    in->host->net->http(in, &a);
}

void chela_embed_input(struct chela_inst *in, const struct chela_embed *e, const char *url,
                       const struct chela_headers *headers)
{
    char *body = NULL;
    size_t length = 0;
    FILE *out = chela_write_open(&body, &length);
    fputs("{\"model\":", out);
    chela_write_string(out, e->model.s, (size_t)e->model.n);
    fputs(",\"input\":[", out);
    for (uint64_t i = 0; i < e->texts.n; i++) {
        if (i)
            fputc(',', out);
        chela_write_string(out, e->texts.v[i].value.s, (size_t)e->texts.v[i].value.n);
    }
    fputs("]}", out);
    fclose(out);
    chela_embed_post(in, e, url, body, length, headers);
    free(body);
}

void chela_embed_data(json_object *answer, json_object *list)
{
    json_object *data = chela_json_array(answer, "data");
    for (size_t i = 0; i < chela_json_length(data); i++)
        chela_json_push(list,
                        json_object_get(chela_json_array(chela_json_at(data, i), "embedding")));
}

static void end_embedding(struct chela_inst *in, struct embedding *task, const struct chela_done *d,
                          const struct chela_dialect *dialect)
{
    json_object *answer = body_of(d), *list = chela_json_new_array();
    size_t n;
    CHELA_ARGS(chela_done, end, task->call);
    end.error = d->error;
    end.http_status = d->http_status;
    end.retry_after_ms = d->retry_after_ms;
    if (d->error == CHELA_OK) {
        if (answer)
            dialect->vectors(answer, list);
        end.text.s = chela_json_text(list, &n);
        end.text.n = n;
        if (chela_json_length(list) == 0) {
            end.error = CHELA_E_PROTOCOL;
            end.text = chela_s("the service's answer holds no embeddings");
        }
    } else {
        uint32_t class = chela_error_class(answer, dialect);
        const char *text = chela_error_message(answer);
        end.error = class != CHELA_OK ? class : d->error;
        end.text = text ? chela_s(text) : d->http_status ? chela_s("the service refused") : d->text;
    }
    in->host->answer->done(in, &end);
    json_object_put(list);
    json_object_put(answer);
    free(task);
}

void chela_dialect_done(struct chela_inst *in, const struct chela_done *d,
                        const struct chela_dialect *dialect)
{
    struct chela_task *task = chela_task_of(d->h.tag);
    if (task && task->kind == CHELA_TASK_STREAM) {
        end_stream(chela_stream_of(d->h.tag), d, dialect);
    } else if (task && task->kind == CHELA_TASK_EMBED) {
        end_embedding(in, (struct embedding *)task, d, dialect);
    } else if (dialect->asked) {
        json_object *answer = d->error == CHELA_OK ? body_of(d) : NULL;
        dialect->asked(in, task, d, answer);
        json_object_put(answer);
    }
}
