/*
 * One model call. Everything that comes from the provider is untrusted: sizes are bounded, text is
 * checked for UTF-8, indices are looked up and never used as such.
 */
#include "agent/models/modelcall.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/models/models.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "host/call.h"
#include "host/loop.h"

enum {
    CALLS_MOST = 128,
    TEXT_MOST = 16 << 20,
    ARGUMENTS_MOST = 8 << 20,
    IDLE_CLOUD_MS = 120000,
    IDLE_LOCAL_MS = 300000
};

enum open_part { PART_NONE, PART_TEXT, PART_THINKING };

struct model_call {
    struct model_answer answer;
    const struct model_call_ops *ops;
    void *owner;
    uint64_t call, started, last_event, idle_ms, timer;
    char *provider;
    enum open_part part;
    struct buf part_text, signature;
    size_t bytes;
    bool broken, idle;
};

static void answer_clear(struct model_answer *a)
{
    json_object_put(a->parts);
    buf_free(&a->text);
    for (unsigned i = 0; i < a->call_count; i++) {
        free(a->calls[i].id);
        free(a->calls[i].name);
        buf_free(&a->calls[i].arguments);
    }
    free(a->calls);
    free(a->stop);
    free(a->unsupported);
}

static void call_free(struct model_call *c)
{
    loop_timer_stop(c->timer);
    answer_clear(&c->answer);
    buf_free(&c->part_text);
    buf_free(&c->signature);
    free(c->provider);
    free(c);
}

static void close_part(struct model_call *c)
{
    if (c->part == PART_NONE || (c->part_text.n == 0 && c->signature.n == 0)) {
        c->part = PART_NONE;
        return;
    }
    struct json_object *o = chela_json_push_object(c->answer.parts);
    chela_json_put_text(o, "type", c->part == PART_TEXT ? "text" : "thinking");
    chela_json_put_string(o, "text", c->part_text.p, c->part_text.n);
    if (c->part == PART_THINKING) {
        chela_json_put_string(o, "signature", c->signature.p, c->signature.n);
        chela_json_put_text(o, "provider", c->provider);
    }
    buf_clear(&c->part_text);
    buf_clear(&c->signature);
    c->part = PART_NONE;
}

static void open_part(struct model_call *c, enum open_part part)
{
    if (c->part != part)
        close_part(c);
    c->part = part;
}

/* The provider broke the contract: the rest is ignored, and done says so. */
static void breach(struct model_call *c, const char *what)
{
    if (c->broken)
        return;
    c->broken = true;
    error_set(&c->answer.detail, CHELA_E_PROTOCOL, "%s: %s", c->provider, what);
    call_cancel(c->call);
}

static bool take(struct model_call *c, struct chela_str text)
{
    c->bytes += text.n;
    if (c->bytes > TEXT_MOST) {
        breach(c, "the answer is longer than 16 MiB");
        return false;
    }
    if (!utf8_valid(text.s ? text.s : "", text.n)) {
        breach(c, "the answer is not UTF-8");
        return false;
    }
    return true;
}

static void output(struct model_call *c)
{
    if (!c->answer.has_output)
        c->answer.first_ms = clock_ticks_ms() - c->started;
    c->answer.has_output = true;
}

static void on_text(struct model_call *c, const struct chela_text *t)
{
    if (t->text.n == 0 || !take(c, t->text))
        return;
    output(c);
    open_part(c, PART_TEXT);
    buf_str(&c->part_text, t->text);
    buf_str(&c->answer.text, t->text);
    if (c->ops->delta)
        c->ops->delta(c->owner, MODEL_TEXT, t->text);
}

static void on_thinking(struct model_call *c, const struct chela_thinking *t)
{
    if (!take(c, t->text))
        return;
    output(c);
    if (t->h.flags & CHELA_NEXT)
        close_part(c);
    open_part(c, PART_THINKING);
    buf_str(&c->part_text, t->text);
    if (t->signature.n && take(c, t->signature)) {
        buf_clear(&c->signature);
        buf_str(&c->signature, t->signature);
    }
    if (t->text.n && c->ops->delta)
        c->ops->delta(c->owner, MODEL_THINKING, t->text);
}

static struct model_tool_call *find_call(struct model_call *c, const struct chela_tool_call *t)
{
    for (unsigned i = 0; i < c->answer.call_count; i++) {
        if (c->answer.calls[i].index == t->index)
            return &c->answer.calls[i];
    }
    if (c->answer.call_count >= CALLS_MOST) {
        breach(c, "more than 128 tool calls in one answer");
        return NULL;
    }
    if (t->name.n == 0 || t->name.n > 256 || t->id.n > 256 || !take(c, t->name) ||
        !take(c, t->id)) {
        breach(c, "a tool call without a usable name");
        return NULL;
    }
    unsigned n = c->answer.call_count;
    c->answer.calls = xrealloc(c->answer.calls, (n + 1) * sizeof *c->answer.calls);
    struct model_tool_call *call = &c->answer.calls[n];
    memset(call, 0, sizeof *call);
    call->index = t->index;
    call->id = xmemdup(t->id.s ? t->id.s : "", t->id.n);
    call->name = xmemdup(t->name.s, t->name.n);
    c->answer.call_count = n + 1;
    return call;
}

static void on_tool_call(struct model_call *c, const struct chela_tool_call *t)
{
    struct model_tool_call *call = find_call(c, t);
    if (!call || !take(c, t->arguments))
        return;
    output(c);
    close_part(c);
    if (call->arguments.n + t->arguments.n > ARGUMENTS_MOST) {
        breach(c, "the arguments of a tool call are longer than 8 MiB");
        return;
    }
    buf_str(&call->arguments, t->arguments);
    if (t->h.flags & CHELA_LAST)
        call->last = true;
    if (c->ops->delta)
        c->ops->delta(c->owner, MODEL_TOOL, chela_s(call->name));
}

static void on_event(void *owner, uint64_t call, uint32_t fn, const void *args)
{
    struct model_call *c = owner;
    (void)call;
    c->last_event = clock_ticks_ms();
    if (c->broken)
        return;
    switch (fn) {
    case CHELA_FN_TEXT: on_text(c, args); break;
    case CHELA_FN_THINKING: on_thinking(c, args); break;
    case CHELA_FN_TOOL_CALL: on_tool_call(c, args); break;
    case CHELA_FN_USAGE: {
        const struct chela_usage *u = args;
        c->answer.usage =
            (struct usage){u->in, u->out, u->cache_read, u->cache_write, u->reasoning};
        c->answer.has_usage = true;
        break;
    }
    default: break;
    }
}

static void read_extra(struct model_call *c, struct chela_str extra)
{
    struct json_object *o = NULL;
    const char *stop = NULL, *unsupported = NULL;
    if (extra.n && chela_json_parse(extra.s, extra.n, NULL, &o, NULL) == 0) {
        stop = chela_json_string(o, "stop", NULL);
        unsupported = chela_json_string(o, "unsupported", NULL);
    }
    c->answer.stop = xstrdup(stop ? stop : c->answer.call_count ? "tool_calls" : "end");
    c->answer.unsupported = xstrdup(unsupported ? unsupported : "");
    json_object_put(o);
}

static void on_done(void *owner, uint64_t call, const struct chela_done *d,
                    const struct chela_decide *v)
{
    struct model_call *c = owner;
    (void)call;
    (void)v;
    struct model_answer *a = &c->answer;
    loop_timer_stop(c->timer);
    c->timer = 0;
    close_part(c);
    a->total_ms = clock_ticks_ms() - c->started;
    read_extra(c, d->extra);
    if (!c->broken)
        error_from_done(&a->detail, d);
    if (c->idle && a->detail.class == CHELA_E_CANCELLED)
        error_set(&a->detail, CHELA_E_TIMEOUT, "%s sent nothing for %u s", c->provider,
                  (unsigned)(c->idle_ms / 1000));
    a->error = c->broken ? (uint32_t)CHELA_E_PROTOCOL : a->detail.class;
    if (c->ops->done)
        c->ops->done(c->owner, a);
    call_free(c);
}

static const struct call_ops provider_ops = {on_event, on_done};

static void watch_idle(void *arg)
{
    struct model_call *c = arg;
    uint64_t silent = clock_ticks_ms() - c->last_event;
    if (silent >= c->idle_ms) {
        c->timer = 0;
        c->idle = true;
        call_cancel(c->call);
        return;
    }
    c->timer = loop_timer(c->idle_ms - silent, watch_idle, c);
}

static void no_provider(void *arg)
{
    struct model_call *c = arg;
    c->timer = 0;
    error_set(&c->answer.detail, CHELA_E_NOT_FOUND, "there is no provider \"%s\"", c->provider);
    c->answer.error = CHELA_E_NOT_FOUND;
    c->answer.stop = xstrdup("end");
    c->answer.unsupported = xstrdup("");
    c->ops->done(c->owner, &c->answer);
    call_free(c);
}

struct model_call *model_call_begin(const struct model_request *q, const struct model_call_ops *ops,
                                    void *owner)
{
    struct model_call *c = xcalloc(1, sizeof *c);
    c->ops = ops;
    c->owner = owner;
    c->started = c->last_event = clock_ticks_ms();
    c->answer.parts = chela_json_new_array();
    struct model_info info;
    if (!models_info(q->model, &info)) {
        c->provider = xstrdup(q->model);
        c->timer = loop_timer(0, no_provider, c);
        return c;
    }
    c->provider = xstrdup(instance_name(info.instance));
    c->idle_ms = q->idle_ms ? q->idle_ms : info.local ? IDLE_LOCAL_MS : IDLE_CLOUD_MS;
    CHELA_ARGS(chela_begin, a, 0);
    a.model = chela_s(info.name);
    a.system = chela_s(q->system);
    size_t n;
    const char *params = chela_json_text(q->params, &n);
    a.params = chela_sn(params, n);
    a.messages = q->messages;
    a.tools = q->tools;
    a.blobs = q->blobs;
    c->timer = loop_timer(c->idle_ms, watch_idle, c);
    c->call =
        call_begin(info.instance, CHELA_FN_PROVIDER_BEGIN, &a, q->total_ms, 0, &provider_ops, c);
    call_set_key(c->call, q->key);
    return c;
}

void model_call_cancel(struct model_call *c)
{
    call_cancel(c->call);
}

void model_call_forget(struct model_call *c)
{
    if (!c)
        return;
    call_forget(c->call);
    call_free(c);
}
