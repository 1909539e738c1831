/*
 * The life of one model call (see stream.h). Called by provider plugins; calls the host's answer
 * and net groups.
 */
#include "support/stream.h"

#include <stdlib.h>
#include <string.h>

#include "support/tool_schema.h"

static void *take(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p)
        abort();
    return p;
}

static char *copy(const char *s, size_t n)
{
    char *p = take(n + 1);
    if (n)
        memcpy(p, s, n);
    return p;
}

static const char *original_name(const struct chela_stream *s, const char *wire)
{
    const char *original = chela_toolset_name(s->tools, wire);
    return original ? original : wire;
}

/* ---- begin ---- */

struct chela_stream *chela_stream_begin(struct chela_inst *in, const struct chela_begin *begin,
                                        const struct chela_naming *naming,
                                        struct chela_toolsets *tools)
{
    struct chela_stream *s = take(sizeof *s);
    s->task.kind = CHELA_TASK_STREAM;
    s->instance = in;
    s->call = begin->h.call;
    s->tools = chela_toolset_get(tools, naming, begin);
    return s;
}

static void stream_free(struct chela_stream *s)
{
    for (size_t i = 0; i < s->call_count; i++) {
        chela_cumulative_free(&s->calls[i].cumulative);
        free(s->calls[i].collected);
    }
    chela_cumulative_free(&s->text_growth);
    chela_cumulative_free(&s->thinking_growth);
    chela_textcall_free(&s->written);
    chela_toolset_put(s->tools);
    free(s->calls);
    free(s->error_text);
    free(s->stop);
    free(s->model);
    free(s->id);
    if (s->extra_free)
        s->extra_free(s->extra);
    else
        free(s->extra);
    free(s);
}

void chela_stream_post(struct chela_stream *s, uint32_t decode, const char *url, const char *body,
                       size_t length, const struct chela_headers *headers)
{
    s->request = s->instance->host->local->new_call(s->instance);
    s->streaming = decode != CHELA_BODY;
    CHELA_ARGS(chela_http, a, s->request);
    a.h.tag = (uint64_t)(uintptr_t)s;
    a.parent = s->call;
    a.decode = decode;
    a.method = chela_s("POST");
    a.url = chela_s(url);
    a.body = chela_sn(body, length);
    a.headers.v = headers->v;
    a.headers.n = headers->count;
    s->instance->host->net->http(s->instance, &a);
}

/* ---- pieces ---- */

/* Joins a piece with what was left of the one before; the caller frees. */
static char *join(struct chela_json_utf16_carry *carry, const char *text, size_t length,
                  size_t *ret_length)
{
    char *out = take(chela_json_carry_room(length));
    *ret_length = chela_json_carry_feed(carry, text, length, out);
    return out;
}

static void send_text(struct chela_stream *s, const char *text, size_t length)
{
    if (s->writes_calls && s->tools->count)
        chela_textcall_feed(&s->written, s->tools, text, length, &text, &length);
    if (length)
        chela_text_of(s->instance, s->call, text, length);
}

/* What is new of a piece that may repeat what came before. */
static void only_new(const struct chela_stream *s, struct chela_cumulative *growth,
                     const char **text, size_t *length)
{
    if (s->repeats)
        chela_cumulative_feed(growth, *text, *length, text, length);
}

void chela_stream_text(struct chela_stream *s, const char *text, size_t length)
{
    size_t n;
    only_new(s, &s->text_growth, &text, &length);
    char *whole = join(&s->text, text, length, &n);
    send_text(s, whole, n);
    free(whole);
}

static void send_thinking(struct chela_stream *s, const char *text, size_t length,
                          const char *signature, uint32_t flags)
{
    CHELA_ARGS(chela_thinking, a, s->call);
    a.h.flags = flags;
    a.text = chela_sn(text, length);
    a.signature = chela_s(signature);
    s->instance->host->answer->thinking(s->instance, &a);
}

void chela_stream_thinking(struct chela_stream *s, const char *text, size_t length,
                           const char *signature)
{
    size_t n;
    only_new(s, &s->thinking_growth, &text, &length);
    char *whole = join(&s->thinking, text, length, &n);
    if (n || (signature && *signature))
        send_thinking(s, whole, n, signature, 0);
    free(whole);
}

void chela_stream_thinking_next(struct chela_stream *s)
{
    send_thinking(s, "", 0, NULL, CHELA_NEXT);
}

static struct chela_stream_call *call_at(struct chela_stream *s, size_t index)
{
    if (index >= CHELA_STREAM_CALLS) {
        chela_stream_fail(s, CHELA_E_PROTOCOL,
                          "the service used an impossible index for a tool call");
        return NULL;
    }
    if (index >= s->call_count) {
        struct chela_stream_call *grown = realloc(s->calls, (index + 1) * sizeof *grown);
        if (!grown)
            abort();
        memset(grown + s->call_count, 0, (index + 1 - s->call_count) * sizeof *grown);
        s->calls = grown;
        s->call_count = index + 1;
    }
    return &s->calls[index];
}

static void send_call(struct chela_stream *s, size_t index, const char *id, const char *name,
                      const char *arguments, size_t length, uint32_t flags)
{
    CHELA_ARGS(chela_tool_call, a, s->call);
    a.h.flags = flags;
    a.index = (uint32_t)index;
    a.id = chela_s(id);
    a.name = chela_s(name);
    a.arguments = chela_sn(arguments, length);
    s->calls[index].sent += length;
    s->instance->host->answer->tool_call(s->instance, &a);
}

/* ---- calls of tools that were sent in strict form: sent on once they are complete ---- */

static int strict_tool(const struct chela_stream *s, const char *wire)
{
    int tool = chela_toolset_find(s->tools, wire, strlen(wire));
    return tool >= 0 && s->tools->offers[tool].strict ? tool : -1;
}

static void collect(struct chela_stream_call *c, const char *text, size_t n)
{
    char *grown = realloc(c->collected, c->length + n + 1);
    if (!grown)
        abort();
    c->collected = grown;
    if (n)
        memcpy(grown + c->length, text, n);
    c->length += n;
}

static void send_collected(struct chela_stream *s, size_t index)
{
    struct chela_stream_call *c = &s->calls[index];
    json_object *arguments = NULL;
    size_t n = c->length;
    const char *text = c->collected;
    uint32_t flags = 0;
    if (n && chela_json_parse(text, n, NULL, &arguments, NULL) == 0 &&
        json_object_is_type(arguments, json_type_object)) {
        chela_schema_drop_nulls(arguments, s->tools->offers[c->strict].parameters);
        text = chela_json_text(arguments, &n);
        flags = CHELA_LAST;
    }
    if (n)
        send_call(s, index, NULL, NULL, text, n, flags);
    c->length = 0;
    json_object_put(arguments);
}

void chela_stream_call(struct chela_stream *s, size_t index, const char *id, const char *name,
                       const char *arguments, size_t length)
{
    struct chela_stream_call *c = call_at(s, index);
    size_t n;
    if (!c || (!c->named && !name))
        return;
    only_new(s, &c->cumulative, &arguments, &length);
    char *whole = join(&c->carry, arguments, length, &n);
    if (!c->named) {
        c->named = true;
        c->strict = strict_tool(s, name);
        send_call(s, index, id, original_name(s, name), whole, c->strict < 0 ? n : 0, 0);
    } else if (n && c->strict < 0) {
        send_call(s, index, NULL, NULL, whole, n, 0);
    }
    if (c->strict >= 0)
        collect(c, whole, n);
    free(whole);
}

void chela_stream_call_last(struct chela_stream *s, size_t index)
{
    if (index >= s->call_count || !s->calls[index].named)
        return;
    if (s->calls[index].strict >= 0)
        send_collected(s, index);
    else if (s->calls[index].sent) /* else it may have been cut off in front of its arguments */
        send_call(s, index, NULL, NULL, "", 0, CHELA_LAST);
}

void chela_stream_whole_call(struct chela_stream *s, size_t index, const char *id, const char *name,
                             json_object *arguments)
{
    size_t n = 2;
    struct chela_stream_call *c = call_at(s, index);
    if (!c)
        return;
    c->strict = strict_tool(s, name ? name : "");
    if (c->strict >= 0)
        chela_schema_drop_nulls(arguments, s->tools->offers[c->strict].parameters);
    const char *text = arguments ? chela_json_text(arguments, &n) : "{}";
    struct chela_json_utf16_carry whole = {0};
    char *out = take(chela_json_carry_room(n) + chela_json_carry_room(0));
    size_t length = chela_json_carry_feed(&whole, text, n, out);
    length += chela_json_carry_end(&whole, out + length);
    send_call(s, index, id, original_name(s, name ? name : ""), out, length, CHELA_LAST);
    c->named = true;
    free(out);
}

bool chela_stream_called(const struct chela_stream *s)
{
    for (size_t i = 0; i < s->call_count; i++)
        if (s->calls[i].named)
            return true;
    return false;
}

void chela_stream_usage(struct chela_stream *s)
{
    s->usage.h.size = (uint32_t)sizeof s->usage;
    s->usage.h.call = s->call;
    s->has_usage = true;
    s->instance->host->answer->usage(s->instance, &s->usage);
}

void chela_stream_keep(char **where, const char *text)
{
    if (!text || !*text)
        return;
    free(*where);
    *where = copy(text, strlen(text));
}

void chela_stream_stop(struct chela_stream *s, const struct chela_stop *table, const char *reason)
{
    const char *stop = "end";
    for (; table->reason; table++)
        if (strcmp(table->reason, reason) == 0)
            stop = table->stop;
    chela_stream_keep(&s->stop, stop);
}

void chela_stream_fail(struct chela_stream *s, uint32_t error, const char *text)
{
    if (s->error != CHELA_OK)
        return;
    s->error = error;
    chela_stream_keep(&s->error_text, text);
}

/* ---- end ---- */

/* What was kept back of a text that may have been a repetition, or of a character. */
static size_t rest_of(struct chela_cumulative *growth, struct chela_json_utf16_carry *carry,
                      char **ret_text)
{
    const char *held;
    size_t n, length;
    chela_cumulative_end(growth, &held, &length);
    char *text = take(chela_json_carry_room(length) + chela_json_carry_room(0));
    n = chela_json_carry_feed(carry, held, length, text);
    n += chela_json_carry_end(carry, text + n);
    *ret_text = text;
    return n;
}

/* Calls that the model has written as text. */
static void flush_written(struct chela_stream *s)
{
    const char *text;
    size_t n;
    bool whole = s->closed && s->error == CHELA_OK && (!s->stop || strcmp(s->stop, "length") != 0);
    json_object *calls = chela_textcall_end(&s->written, s->tools, whole, &text, &n);
    for (size_t i = 0; i < chela_json_length(calls); i++) {
        json_object *call = chela_json_at(calls, i);
        chela_stream_whole_call(s, s->call_count, "", chela_json_string(call, "name", NULL),
                                chela_json_object(call, "arguments"));
    }
    if (chela_json_length(calls) > 0 && whole)
        chela_stream_keep(&s->stop, "tool_calls");
    json_object_put(calls);
    if (n)
        chela_text_of(s->instance, s->call, text, n);
}

static void flush(struct chela_stream *s)
{
    char *text;
    size_t n = rest_of(&s->text_growth, &s->text, &text);
    send_text(s, text, n);
    free(text);
    flush_written(s);
    n = rest_of(&s->thinking_growth, &s->thinking, &text);
    if (n)
        send_thinking(s, text, n, NULL, 0);
    free(text);
    for (size_t i = 0; i < s->call_count; i++) {
        n = rest_of(&s->calls[i].cumulative, &s->calls[i].carry, &text);
        struct chela_stream_call *c = &s->calls[i];
        if (c->named && c->strict >= 0) {
            collect(c, text, n);
            send_collected(s, i);
        } else if (c->named && n) {
            send_call(s, i, NULL, NULL, text, n, 0);
        }
        free(text);
    }
}

static json_object *outcome(const struct chela_stream *s)
{
    json_object *extra = chela_json_new_object();
    chela_json_put_text(extra, "stop", s->stop ? s->stop : "end");
    if (s->model)
        chela_json_put_text(extra, "model", s->model);
    if (s->id)
        chela_json_put_text(extra, "id", s->id);
    if (s->error == CHELA_E_UNSUPPORTED || (s->streaming && !s->heard))
        chela_json_put_text(extra, "unsupported",
                            s->heard || s->error != CHELA_OK ? "tools" : "stream");
    return extra;
}

static bool transient(uint32_t error)
{
    return error == CHELA_E_RATE || error == CHELA_E_NETWORK || error == CHELA_E_TIMEOUT ||
           error == CHELA_E_OVERLOADED;
}

static const char *say_failure(const struct chela_done *http, char *out, size_t size)
{
    if (!http->http_status) /* the host's own sentence */
        return http->text.s;
    snprintf(out, size, "the service answered with status %u and no reason", http->http_status);
    return out;
}

void chela_stream_end(struct chela_stream *s, const struct chela_done *http, uint32_t error,
                      const char *text)
{
    char sentence[100];
    size_t n;
    flush(s);
    json_object *extra = outcome(s);
    CHELA_ARGS(chela_done, d, s->call);
    d.http_status = http->http_status;
    d.retry_after_ms = s->retry_after_ms ? s->retry_after_ms : http->retry_after_ms;
    d.extra.s = chela_json_text(extra, &n);
    d.extra.n = n;
    if (s->error != CHELA_OK) {
        d.error = s->error;
        d.text = chela_s(s->error_text);
    } else if (http->error != CHELA_OK) {
        d.error = error != CHELA_OK ? error : http->error;
        d.text = chela_s(text ? text : say_failure(http, sentence, sizeof sentence));
    } else if (s->streaming && !s->heard) {
        d.error = CHELA_E_UNSUPPORTED;
        d.text = chela_s("the service's answer is not a stream");
    } else if (!s->closed) {
        d.error = CHELA_E_NETWORK;
        d.text = chela_s(s->streaming ? "the service's stream broke off in the middle of an answer"
                                      : "the service's answer is not what its API promises");
    }
    if (d.error != CHELA_OK && (transient(d.error) || (http->h.flags & CHELA_RETRY)))
        d.h.flags |= CHELA_RETRY;
    s->instance->host->answer->done(s->instance, &d);
    json_object_put(extra);
    stream_free(s);
}

json_object *chela_stream_parse(struct chela_stream *s, struct chela_str data)
{
    static const struct chela_json_limits limits = {.flags = CHELA_JSON_KEEP_HALVES};
    struct chela_json_error why;
    json_object *o = NULL;
    s->heard = true;
    if (chela_json_parse(data.s, (size_t)data.n, &limits, &o, &why) == 0)
        return o;
    char text[300];
    snprintf(text, sizeof text, "the service sent something that is not JSON: %s", why.text);
    chela_stream_fail(s, CHELA_E_PROTOCOL, text);
    return NULL;
}
