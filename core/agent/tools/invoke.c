/*
 * See invoke.h. Called by the gateway.
 */
#include "agent/tools/invoke.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/agents.h"
#include "agent/journal/journal.h"
#include "agent/schema/schema.h"
#include "agent/tools/hooks.h"
#include "agent/tools/policy.h"
#include "agent/tools/result.h"
#include "agent/tools/toolplan.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/loop.h"
#include "host/settings.h"

enum { PREPARE_MS = 10000 };

struct invoke {
    char *agent, *session, *name, *arguments, *workspace, *source, *binding;
    char id[ID_UUID_SIZE];
    struct tool_plan *plan;
    const struct tool *tool;
    enum tool_risk risk;
    bool again; /* a hook has changed the arguments */
    uint64_t call, hooks, timer;
    struct error error;
    invoke_fn *fn; /* NULL: forgotten */
    void *owner;
    struct json_object *details;
    bool is_error;
};

static void prepare(struct invoke *v);

static void invoke_free(struct invoke *v)
{
    loop_timer_stop(v->timer);
    toolplan_release(v->plan);
    json_object_put(v->details);
    free(v->agent);
    free(v->session);
    free(v->name);
    free(v->arguments);
    free(v->workspace);
    free(v->source);
    free(v->binding);
    free(v);
}

static void finish(struct invoke *v, const char *content, const struct error *e)
{
    struct invoke_result r = {content, v->is_error, v->details};
    if (v->fn)
        v->fn(v->owner, e ? NULL : &r, e);
    invoke_free(v);
}

static void refuse_now(void *arg)
{
    struct invoke *v = arg;
    v->timer = 0;
    finish(v, "", &v->error);
}

static void refuse(struct invoke *v, uint32_t class, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void refuse(struct invoke *v, uint32_t class, const char *format, ...)
{
    struct buf b = {0};
    va_list ap;
    va_start(ap, format);
    buf_vprintf(&b, format, ap);
    va_end(ap);
    error_set(&v->error, class, "%s", buf_text(&b));
    buf_free(&b);
    v->timer = loop_timer(0, refuse_now, v); /* never before invoke_begin() has returned */
}

/* ---- running ---- */

static void blob_came(void *owner, struct chela_str data, const struct error *e)
{
    struct invoke *v = owner;
    CLEANUP(freep)
    char *text = e ? NULL
                   : result_bound(data.s ? data.s : "", (size_t)data.n,
                                  (size_t)settings_number(settings_now(), "tools.output_limit"));
    finish(v, text ? text : "", e);
}

static void run_done(void *owner, uint64_t call, const struct chela_done *d,
                     const struct chela_decide *decide)
{
    struct invoke *v = owner;
    struct json_object *extra = NULL;
    struct error e = {0};
    (void)call;
    (void)decide;
    v->call = 0;
    if (d->extra.n && chela_json_parse(d->extra.s, (size_t)d->extra.n, NULL, &extra, NULL) == 0)
        v->details = json_object_get(chela_json_object(extra, "details"));
    json_object_put(extra);
    v->is_error = (d->h.flags & CHELA_IS_ERROR) != 0;
    if (error_from_done(&e, d) < 0) {
        finish(v, "", &e);
        return;
    }
    CLEANUP(freep)
    char *text = result_bound(d->text.s ? d->text.s : "", (size_t)d->text.n,
                              (size_t)settings_number(settings_now(), "tools.output_limit"));
    if (d->h.flags & CHELA_BLOB)
        journal_blob_get(text, blob_came, v);
    else
        finish(v, text, NULL);
}

static const struct call_ops run_ops = {NULL, run_done};

static void fill(const struct invoke *v, struct chela_tool_run *a)
{
    a->name = chela_s(v->name);
    a->arguments = chela_s(v->arguments);
    a->call_id = chela_s(v->id);
    a->agent = chela_s(v->agent);
    a->session = chela_s(v->session);
    a->workspace = chela_s(v->workspace);
    a->source = chela_s(v->source);
    a->binding = chela_s(v->binding ? v->binding : "");
}

static void judge(struct invoke *v)
{
    struct policy_verdict verdict = policy_call(v->agent, v->tool, v->risk);
    if (verdict.answer != POLICY_FREE) {
        refuse(v, CHELA_E_DENIED, "%s needs a person's permission, and here nobody is asked",
               v->name);
        return;
    }
    CHELA_ARGS(chela_tool_run, a, 0);
    fill(v, &a);
    a.timeout_ms = (uint64_t)settings_number(settings_now(), "tools.timeout");
    log_info("tool", "%s is run outside of a turn for %s", v->name, v->session);
    v->call = call_begin(v->tool->instance, CHELA_FN_TOOL_RUN, &a, a.timeout_ms, 0, &run_ops, v);
}

/* ---- before it runs ---- */

static bool take_arguments(struct invoke *v, const char *text, size_t n)
{
    struct json_object *o = NULL;
    if (chela_json_parse(text, n, NULL, &o, NULL) != 0 ||
        !json_object_is_type(o, json_type_object)) {
        json_object_put(o);
        refuse(v, CHELA_E_ARGS, "the arguments of %s are no JSON object", v->name);
        return false;
    }
    free(v->arguments);
    v->arguments = xstrdup(chela_json_text(o, NULL));
    json_object_put(o);
    return true;
}

static void hooks_done(void *owner, const struct hooks_result *r)
{
    struct invoke *v = owner;
    v->hooks = 0;
    if (r->blocked) {
        refuse(v, CHELA_E_DENIED, "blocked by %s: %s", r->by, r->text ? r->text : "");
    } else if (!r->text) {
        judge(v);
    } else if (take_arguments(v, r->text, strlen(r->text))) {
        v->again = true;
        prepare(v);
    }
}

static void validate(struct invoke *v)
{
    struct json_object *o = NULL;
    struct error e = {0};
    chela_json_parse(v->arguments, strlen(v->arguments), NULL, &o, NULL);
    int bad = schema_check(v->tool->parameters, o, &e);
    if (bad) {
        refuse(v, CHELA_E_ARGS, "the arguments don't fit the tool's schema: %s", e.text);
    } else if (v->again || !hooks_any(CHELA_BEFORE_TOOL)) {
        judge(v);
    } else {
        struct json_object *about = chela_json_new_object();
        chela_json_put_text(about, "callId", v->id);
        chela_json_put_text(about, "name", v->name);
        chela_json_put_text(about, "agent", v->agent);
        chela_json_put(about, "arguments", json_object_get(o));
        uint64_t handle =
            hooks_ask(CHELA_BEFORE_TOOL, v->name, v->session, about, "arguments", hooks_done, v);
        if (handle)
            v->hooks = handle;
    }
    json_object_put(o);
}

static void prepared(void *owner, uint64_t call, const struct chela_done *d,
                     const struct chela_decide *verdict)
{
    struct invoke *v = owner;
    struct json_object *extra = NULL;
    (void)call;
    v->call = 0;
    if (!verdict || verdict->verdict == CHELA_NO) {
        struct chela_str why = verdict ? verdict->text : d->text;
        refuse(v, CHELA_E_ARGS, "%.*s", (int)why.n, why.s ? why.s : "");
        return;
    }
    if (verdict->extra.n)
        chela_json_parse(verdict->extra.s, (size_t)verdict->extra.n, NULL, &extra, NULL);
    v->risk = tool_risk_of(chela_json_string(extra, "risk", NULL), v->tool->risk);
    free(v->binding);
    v->binding = xstrdup(chela_json_string(extra, "binding", NULL));
    json_object_put(extra);
    if (verdict->verdict != CHELA_CHANGE ||
        take_arguments(v, verdict->text.s ? verdict->text.s : "", (size_t)verdict->text.n))
        validate(v);
}

static const struct call_ops prepare_ops = {NULL, prepared};

static void prepare(struct invoke *v)
{
    const struct chela_tool *slots = instance_iface(v->tool->instance)->tool;
    v->risk = v->tool->risk;
    if (!slots || !slots->prepare) {
        validate(v);
        return;
    }
    CHELA_ARGS(chela_tool_run, a, 0);
    fill(v, &a);
    v->call =
        call_begin(v->tool->instance, CHELA_FN_TOOL_PREPARE, &a, PREPARE_MS, 0, &prepare_ops, v);
}

struct invoke *invoke_begin(const struct invoke_request *q, invoke_fn *fn, void *owner)
{
    struct invoke *v = xcalloc(1, sizeof *v);
    struct json_object *source = chela_json_new_object();
    id_uuid(v->id);
    v->agent = xstrdup(q->agent);
    v->session = xstrdup(q->session);
    v->name = xstrdup(q->tool);
    v->workspace = agents_workspace(q->agent);
    chela_json_put_text(source, "channel", q->channel);
    v->source = xstrdup(chela_json_text(source, NULL));
    json_object_put(source);
    v->fn = fn;
    v->owner = owner;
    v->plan = toolplan_get(q->agent);
    v->tool = toolplan_find(v->plan, q->tool);
    if (!v->tool)
        v->tool = toolplan_resolve(&v->plan, q->tool);
    if (!v->tool || v->tool->core)
        refuse(v, CHELA_E_NOT_FOUND, "there is no tool \"%.100s\" for this agent", q->tool);
    else if (take_arguments(v, q->arguments, strlen(q->arguments)))
        prepare(v);
    return v;
}

void invoke_forget(struct invoke *v)
{
    v->fn = NULL;
    call_cancel(v->call); /* its done frees */
}
