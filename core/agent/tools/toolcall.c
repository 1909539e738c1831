/*
 * One tool call on its way from PENDING to EXECUTING: found, prepared, validated, shown to the
 * hooks, judged by policy, allowed by a person. Called by toolcall_batch.c.
 */
#include "agent/tools/toolcall.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/digest.h"
#include "agent/flow.h"
#include "agent/schema/schema.h"
#include "agent/stream.h"
#include "agent/tools/allow.h"
#include "agent/tools/approval.h"
#include "agent/tools/hooks.h"
#include "agent/tools/policy.h"
#include "agent/tools/toolcall_private.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/call.h"

enum { PREPARE_MS = 10000 };

#define TO(state) (1u << CALL_##state)

static const struct {
    const char *name;
    unsigned next;
} table[CALL_STATES] = {
    [CALL_PENDING] = {"PENDING", TO(APPROVAL) | TO(EXECUTING) | TO(FAILED)},
    [CALL_APPROVAL] = {"APPROVAL_REQUIRED", TO(EXECUTING) | TO(FAILED)},
    [CALL_EXECUTING] = {"EXECUTING", TO(COMPLETED) | TO(FAILED)},
    [CALL_COMPLETED] = {"COMPLETED", 0},
    [CALL_FAILED] = {"FAILED", 0},
};

const char *call_state_name(enum call_state s)
{
    return s < CALL_STATES ? table[s].name : "?";
}

bool call_state_follows(enum call_state from, enum call_state to)
{
    return from < CALL_STATES && to < CALL_STATES && (table[from].next & 1u << to) != 0;
}

bool call_move(struct call *c, enum call_state to)
{
    if (!call_state_follows(c->state, to)) {
        log_error("tool", "call %s: no way from %s to %s", c->id, call_state_name(c->state),
                  call_state_name(to));
        return false;
    }
    log_debug("tool", "call %s (%s): %s -> %s", c->id, c->name, call_state_name(c->state),
              call_state_name(to));
    c->state = to;
    return true;
}

void call_clear(struct call *c)
{
    free(c->id);
    free(c->name);
    free(c->arguments);
    free(c->wrong);
    free(c->summary);
    free(c->binding);
    free(c->kind);
    free(c->approval);
    free(c->text);
    json_object_put(c->extra);
    json_object_put(c->images);
    json_object_put(c->files);
    json_object_put(c->details);
    json_object_put(c->part);
}

void call_fail(struct call *c, const char *format, ...)
{
    struct buf b = {0};
    va_list ap;
    va_start(ap, format);
    buf_vprintf(&b, format, ap);
    va_end(ap);
    free(c->text);
    c->text = buf_take(&b);
    c->is_error = true;
    call_finish(c, CALL_FAILED);
}

void call_fill(const struct call *c, struct chela_tool_run *a)
{
    a->name = chela_s(c->name);
    a->arguments = chela_s(c->arguments);
    a->call_id = chela_s(c->id);
    a->agent = chela_s(c->batch->agent);
    a->session = chela_s(c->batch->session);
    a->workspace = chela_s(c->batch->workspace);
    a->source = chela_s(c->batch->source);
    a->binding = chela_s(c->binding ? c->binding : "");
    a->run = chela_s(c->batch->run);
}

/* ---- approval ---- */

static void decided(void *owner, const char *id, const char *decision, const struct error *e)
{
    struct call *c = owner;
    c->asking = false;
    c->waited = clock_ticks_ms() - c->asked;
    batch_waits(c->batch, -1);
    if (e) {
        c->batch->failed = true;
        c->batch->ops->broken(c->batch->owner, e);
        call_fail(c, "The permission could not be asked: %s", e->text);
        return;
    }
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "approvalId", id);
    chela_json_put_text(o, "toolCallId", c->id);
    chela_json_put_text(o, "decision", decision);
    stream_lifecycle(c->batch->run, "approval-resolved", o);
    if (strcmp(decision, "expired") == 0) {
        call_fail(c, "Not run: nobody gave permission in time. This counts as a denial.");
    } else if (strncmp(decision, "allow", 5) != 0) {
        call_fail(c, "Not run: the person denied permission for this call.");
    } else if (!toolplan_current(c->tool)) {
        call_fail(c, "Not run: the tool %s has changed since permission was asked.", c->name);
    } else {
        c->approval = xstrdup(id);
        c->ready = true;
        batch_schedule(c->batch);
    }
}

/* "channel|account|peer|agent": the same person at the same place, asking the same agent. */
static char *source_of(const struct batch *b)
{
    const struct message *m = b->message;
    return xprintf("%s|%s|%s|%s", m->channel, m->account, *m->sender ? m->sender : m->chat,
                   b->agent);
}

static void ask_person(struct call *c, const char *kind, const char *source)
{
    struct batch *b = c->batch;
    struct approval_request q = {.session = b->session,
                                 .run = b->run,
                                 .agent = b->agent,
                                 .call = c->id,
                                 .tool = c->name,
                                 .hash = c->hash,
                                 .summary = c->summary ? c->summary : c->arguments,
                                 .kind = kind,
                                 .source = source,
                                 .risk = tool_risk_name(c->risk),
                                 .arguments = c->arguments,
                                 .extra = c->extra,
                                 .message = b->message};
    call_move(c, CALL_APPROVAL);
    c->asked = clock_ticks_ms();
    c->asking = true;
    batch_waits(b, 1);
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "toolCallId", c->id);
    stream_lifecycle(b->run, "waiting-approval", o);
    if (c->risk == RISK_HIGH)
        log_warning("tool", "high risk: %s wants to run %s: %s", b->session, c->name, q.summary);
    approval_ask(b->journal, &q, decided, c);
}

static void judge(struct call *c)
{
    struct batch *b = c->batch;
    const char *bound[] = {c->name, c->arguments, c->tool->hash, c->binding ? c->binding : ""};
    digest_strings(c->hash, bound, ARRAY_LENGTH(bound));
    const char *why = "";
    if (!toolplan_allows(*b->plan, c->tool, b->provider, &why)) {
        call_fail(c, "Not run: %s.", why);
        return;
    }
    struct policy_verdict v = policy_call(b->agent, c->tool, c->risk);
    CLEANUP(freep) char *source = source_of(b);
    const char *kind = v.always ? c->kind : NULL;
    bool listed = kind && allow_has(source, kind);
    if (v.answer == POLICY_FORBIDDEN || (v.answer == POLICY_LISTED && !listed)) {
        call_fail(c, "Not run: %s.", v.why);
        return;
    }
    if (v.answer == POLICY_ASK && !listed) {
        ask_person(c, kind, source);
        return;
    }
    if (c->risk == RISK_HIGH)
        log_warning("tool", "high risk, run unasked by tools.high_risk_free: %s runs %s: %s",
                    b->session, c->name, c->summary ? c->summary : c->arguments);
    c->ready = true;
    batch_schedule(b);
}

/* ---- hooks, schema, prepare ---- */

static void prepare(struct call *c);

static bool take_arguments(struct call *c, const char *text, size_t n, const char *by)
{
    struct json_object *o = NULL;
    struct chela_json_error e = {0};
    if (chela_json_parse(text, n, NULL, &o, &e) != 0 || !json_object_is_type(o, json_type_object)) {
        json_object_put(o);
        call_fail(c, "Not run: %s gave arguments that are no JSON object.", by);
        return false;
    }
    free(c->arguments);
    c->arguments = xstrdup(chela_json_text(o, NULL));
    json_object_put(o);
    return true;
}

static void hooks_done(void *owner, const struct hooks_result *r)
{
    struct call *c = owner;
    c->hooks = 0;
    if (r->blocked) {
        call_fail(c, "Blocked by %s: %s", r->by, r->text && *r->text ? r->text : "no reason given");
        return;
    }
    if (!r->text) {
        judge(c);
        return;
    }
    if (!take_arguments(c, r->text, strlen(r->text), "a hook"))
        return;
    /* what was judged before isn't what would run now */
    c->again = true;
    prepare(c);
}

static void ask_hooks(struct call *c)
{
    struct batch *b = c->batch;
    if (c->again || !hooks_any(CHELA_BEFORE_TOOL)) {
        judge(c);
        return;
    }
    struct json_object *o = chela_json_new_object(), *arguments = NULL;
    chela_json_put_text(o, "callId", c->id);
    chela_json_put_text(o, "name", c->name);
    chela_json_put_text(o, "run", b->run);
    chela_json_put_text(o, "agent", b->agent);
    if (chela_json_parse(c->arguments, strlen(c->arguments), NULL, &arguments, NULL) == 0)
        chela_json_put(o, "arguments", arguments);
    uint64_t handle =
        hooks_ask(CHELA_BEFORE_TOOL, c->name, b->session, o, "arguments", hooks_done, c);
    if (handle)
        c->hooks = handle;
}

static void validate(struct call *c)
{
    struct json_object *o = NULL;
    struct error e = {0};
    if (chela_json_parse(c->arguments, strlen(c->arguments), NULL, &o, NULL) != 0)
        o = NULL;
    int bad = schema_check(c->tool->parameters, o, &e);
    json_object_put(o);
    if (bad)
        call_fail(c, "The arguments don't fit the tool's schema: %s", e.text);
    else
        ask_hooks(c);
}

static void read_verdict(struct call *c, const struct chela_decide *v)
{
    json_object_put(c->extra);
    c->extra = NULL;
    if (v->extra.n && chela_json_parse(v->extra.s, v->extra.n, NULL, &c->extra, NULL) != 0)
        c->extra = NULL;
    c->risk = tool_risk_of(chela_json_string(c->extra, "risk", NULL), c->tool->risk);
    c->reads_only = chela_json_bool(c->extra, "reads_only", c->tool->reads_only);
    free(c->summary);
    free(c->binding);
    free(c->kind);
    c->summary = xstrdup(chela_json_string(c->extra, "summary", NULL));
    c->binding = xstrdup(chela_json_string(c->extra, "binding", NULL));
    const char *kind = chela_json_string(c->extra, "kind", NULL);
    if (chela_json_has(c->extra, "kind"))
        c->kind = kind ? xprintf("%s|%s", c->name, kind) : NULL;
    else
        c->kind = xstrdup(c->name);
}

static void prepared(void *owner, uint64_t call, const struct chela_done *d,
                     const struct chela_decide *v)
{
    struct call *c = owner;
    (void)call;
    c->call = 0;
    if (!v) {
        call_fail(c, "%s could not look at the arguments: %.*s", c->name, (int)d->text.n,
                  d->text.s ? d->text.s : "");
        return;
    }
    if (v->verdict == CHELA_NO) {
        call_fail(c, "%.*s", (int)v->text.n, v->text.s ? v->text.s : "");
        return;
    }
    read_verdict(c, v);
    if (v->verdict == CHELA_CHANGE &&
        !take_arguments(c, v->text.s ? v->text.s : "", v->text.n, c->name))
        return;
    validate(c);
}

static const struct call_ops prepare_ops = {NULL, prepared};

static void prepare(struct call *c)
{
    const struct chela_tool *slots = c->tool->core ? NULL : instance_iface(c->tool->instance)->tool;
    c->risk = c->tool->risk;
    c->reads_only = c->tool->reads_only;
    if (!slots || !slots->prepare) {
        free(c->kind);
        c->kind = xstrdup(c->name);
        validate(c);
        return;
    }
    CHELA_ARGS(chela_tool_run, a, 0);
    call_fill(c, &a);
    c->call =
        call_begin(c->tool->instance, CHELA_FN_TOOL_PREPARE, &a, PREPARE_MS, 0, &prepare_ops, c);
}

/* The client runs it, and answers in its next request; the turn ends behind this batch. Its own
 * state is FAILED, since it never was EXECUTING here; its result is no error. */
static void call_hand_over(struct call *c)
{
    free(c->text);
    c->text =
        xstrdup("Handed to the client, which runs it; its result comes with the next message.");
    c->stop_after = true;
    call_finish(c, CALL_FAILED);
}

void call_begin_flow(struct call *c)
{
    struct json_object *o = chela_json_new_object(), *arguments = NULL;
    chela_json_put_text(o, "phase", "start");
    chela_json_put_text(o, "name", c->name);
    chela_json_put_text(o, "toolCallId", c->id);
    if (chela_json_parse(c->arguments, strlen(c->arguments), NULL, &arguments, NULL) == 0)
        chela_json_put(o, "args", arguments);
    stream_agent(c->batch->run, "tool", o);
    c->begun = true;
    if (c->wrong)
        call_fail(c, "%s", c->wrong);
    else if (!c->tool)
        call_fail(c, "Tool not found: %s", c->name);
    else if (!c->tool->instance && !c->tool->core)
        call_hand_over(c);
    else if (c->found == CALL_EXECUTING && !c->tool->repeatable && !c->tool->reads_only)
        call_fail(c, "Interrupted by a restart while it ran: the outcome is unknown. It was not "
                     "run again.");
    else if (!toolplan_current(c->tool))
        call_fail(c,
                  "The tool %s has changed or gone since this turn began; it can be used again "
                  "from the next turn on.",
                  c->name);
    else
        prepare(c);
}

void call_abort(struct call *c)
{
    if (c->ended)
        return;
    if (c->state == CALL_EXECUTING) {
        call_cancel(c->call); /* its done ends it, when everything that it started has ended */
        return;
    }
    if (c->ready && c->started)
        return; /* its start is being written: toolcall_batch.c sees the flag */
    call_forget(c->call);
    c->call = 0;
    if (c->hooks)
        hooks_forget(c->hooks);
    c->hooks = 0;
    if (c->asking) {
        approval_forget(c, !c->batch->suspended);
        c->asking = false;
        batch_waits(c->batch, -1);
    }
    c->ready = false;
    call_fail(c, "Aborted before it ran.");
}
