/*
 * One tool call from EXECUTING to its end: runs it, tells its progress, bounds its result, asks the
 * after-hooks, writes COMPLETED or FAILED. Called by toolcall_batch.c.
 */
#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/agents.h"
#include "agent/chats/verbose.h"
#include "agent/journal/journal.h"
#include "agent/schema/schema.h"
#include "agent/stream.h"
#include "agent/tools/hooks.h"
#include "agent/tools/result.h"
#include "agent/tools/toolcall_private.h"
#include "agent/tools/toolsearch.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "host/call.h"

enum { PROGRESS_MS = 100, PROGRESS_BYTES = 16384 };

static size_t limit(void)
{
    int64_t n = settings_number_or("tools.output_limit", 65536);
    return n >= 1024 ? (size_t)n : 1024;
}

/* ---- the end ---- */

static void tell_result(const struct call *c)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "phase", "result");
    chela_json_put_text(o, "name", c->name);
    chela_json_put_text(o, "toolCallId", c->id);
    struct json_object *result = chela_json_put_object(o, "result");
    chela_json_put(result, "content", json_object_get(chela_json_array(c->part, "content")));
    struct json_object *details =
        c->details ? json_object_get(c->details) : chela_json_new_object();
    if (!chela_json_has(details, "durationMs"))
        chela_json_put_int(details, "durationMs",
                           c->started ? (int64_t)(clock_ticks_ms() - c->started) : 0);
    chela_json_put(result, "details", details);
    chela_json_put_bool(o, "isError", c->is_error);
    chela_json_put_text(o, "state", call_state_name(c->state));
    chela_json_put_text(o, "risk", tool_risk_name(c->risk));
    if (c->waited)
        chela_json_put_int(o, "waitedMs", (int64_t)c->waited);
    stream_agent(c->batch->run, "tool", o);
    const struct batch *b = c->batch;
    if (verbose_on(b->session, b->agent)) {
        struct verbose_call v = {.name = c->name,
                                 .arguments = c->arguments,
                                 .risk = tool_risk_name(c->risk),
                                 .state = call_state_name(c->state),
                                 .text = c->text ? c->text : "",
                                 .waited_ms = c->waited,
                                 .ran_ms = c->started ? clock_ticks_ms() - c->started : 0};
        verbose_call(b->message, &v);
    }
}

static void end_written(void *owner, const struct error *e)
{
    struct batch *b = owner;
    b->writes--;
    if (e && !b->failed) {
        b->failed = true;
        b->ops->broken(b->owner, e);
    }
    batch_schedule(b);
}

void call_finish(struct call *c, enum call_state state)
{
    struct batch *b = c->batch;
    if (c->ended)
        return;
    /* a call that a restart found EXECUTING goes through the state that it was in */
    if (c->found == CALL_EXECUTING && c->state == CALL_PENDING)
        c->state = CALL_EXECUTING;
    call_move(c, state);
    c->ended = true;
    b->ended++;
    c->part = result_part(c->id, c->name, c->text ? c->text : "", c->is_error, c->images);
    if (c->files && !c->is_error)
        chela_json_put(c->part, "files", json_object_get(c->files));
    tell_result(c);
    if (!b->suspended) {
        b->writes++;
        journal_call_end(b->journal, c->id, call_state_name(c->state),
                         chela_json_text(c->part, NULL),
                         c->started ? clock_ticks_ms() - c->started : 0, end_written, b);
    }
    batch_schedule(b);
}

static void hooks_done(void *owner, const struct hooks_result *r)
{
    struct call *c = owner;
    c->hooks = 0;
    c->stop_after = r->stop_after;
    struct json_object *o = NULL;
    if (r->text && chela_json_parse(r->text, strlen(r->text), NULL, &o, NULL) == 0) {
        size_t n = 0;
        const char *content = chela_json_string(o, "content", &n);
        if (content) {
            free(c->text);
            c->text = result_bound(content, n, limit());
        }
        c->is_error = chela_json_bool(o, "isError", c->is_error);
        struct json_object *details = chela_json_object(o, "details");
        if (details) {
            json_object_put(c->details);
            c->details = json_object_get(details);
        }
    }
    json_object_put(o);
    call_finish(c, c->is_error ? CALL_FAILED : CALL_COMPLETED);
}

/* A result is checked against `returns`; one that doesn't fit is noted, not dropped. */
static void check_returns(struct call *c)
{
    struct json_object *o = NULL;
    struct error e = {0};
    if (!c->tool->returns || c->is_error)
        return;
    if (chela_json_parse(c->text, strlen(c->text), NULL, &o, NULL) != 0)
        error_set(&e, CHELA_E_ARGS, "it is no JSON");
    else
        schema_check(c->tool->returns, o, &e);
    json_object_put(o);
    if (!e.class)
        return;
    log_warning("tool", "%s: the result doesn't fit its schema: %s", c->name, e.text);
    if (!c->details)
        c->details = chela_json_new_object();
    chela_json_put_text(c->details, "returnsMismatch", e.text);
}

static void finish_run(struct call *c)
{
    struct batch *b = c->batch;
    check_returns(c);
    if (b->suspended || !hooks_any(CHELA_AFTER_TOOL)) {
        call_finish(c, c->is_error ? CALL_FAILED : CALL_COMPLETED);
        return;
    }
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "callId", c->id);
    chela_json_put_text(o, "name", c->name);
    chela_json_put_text(o, "content", c->text);
    chela_json_put_bool(o, "isError", c->is_error);
    if (c->details)
        chela_json_put(o, "details", json_object_get(c->details));
    uint64_t handle = hooks_ask(CHELA_AFTER_TOOL, c->name, b->session, o, "content", hooks_done, c);
    if (handle)
        c->hooks = handle;
}

/* ---- running ---- */

static void progress(void *owner, uint64_t call, uint32_t fn, const void *args)
{
    struct call *c = owner;
    (void)call;
    uint64_t now = clock_ticks_ms();
    if (fn != CHELA_FN_TEXT || (c->told && now - c->told < PROGRESS_MS))
        return;
    const struct chela_text *t = args;
    c->told = now;
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "phase", "update");
    chela_json_put_text(o, "name", c->name);
    chela_json_put_text(o, "toolCallId", c->id);
    struct json_object *content =
        chela_json_put_array(chela_json_put_object(o, "partialResult"), "content");
    struct json_object *part = chela_json_push_object(content);
    chela_json_put_text(part, "type", "text");
    const char *text = t->text.s ? t->text.s : "";
    chela_json_put_string(part, "text", text, utf8_cut(text, t->text.n, PROGRESS_BYTES));
    stream_agent(c->batch->run, "tool", o);
}

static void blob_came(void *owner, struct chela_str data, const struct error *e)
{
    struct call *c = owner;
    struct batch *b = c->batch;
    b->writes--;
    free(c->text);
    if (e) {
        c->text = xprintf("The result could not be read: %s", e->text);
        c->is_error = true;
    } else {
        c->text = result_bound(data.s ? data.s : "", data.n, limit());
    }
    finish_run(c);
}

static void read_extra(struct call *c, struct chela_str extra)
{
    struct json_object *o = NULL;
    if (extra.n == 0 || chela_json_parse(extra.s, extra.n, NULL, &o, NULL) != 0)
        return;
    c->details = json_object_get(chela_json_object(o, "details"));
    c->images = json_object_get(chela_json_array(o, "images"));
    c->files = json_object_get(chela_json_array(o, "files"));
    json_object_put(o);
}

static void run_done(void *owner, uint64_t call, const struct chela_done *d,
                     const struct chela_decide *v)
{
    struct call *c = owner;
    struct batch *b = c->batch;
    (void)call;
    (void)v;
    c->call = 0;
    read_extra(c, d->extra);
    const char *text = d->text.s ? d->text.s : "";
    c->is_error = d->error != CHELA_OK || (d->h.flags & CHELA_IS_ERROR);
    c->terminate = d->error == CHELA_OK && (d->h.flags & CHELA_TERMINATE);
    CLEANUP(freep) char *said = result_bound(text, (size_t)d->text.n, limit());
    if (d->error == CHELA_OK && (d->h.flags & CHELA_BLOB)) {
        b->writes++;
        journal_blob_get(said, blob_came, c);
        return;
    }
    if (d->error == CHELA_OK)
        c->text = xstrdup(said);
    else if (d->error == CHELA_E_TIMEOUT)
        c->text = xprintf("Ended: it ran longer than allowed. %s", said);
    else if (b->aborting)
        c->text = xprintf("Aborted while it ran. %s", said);
    else if (d->error == CHELA_E_GONE)
        c->text = xprintf("The tool's plugin ended while it ran: the outcome is unknown. %s", said);
    else
        c->text = xstrdup(*said ? said : "It failed without saying why.");
    finish_run(c);
}

static const struct call_ops run_ops = {progress, run_done};

/* The core's own tool: done at once. */
static void run_core(struct call *c)
{
    c->text = toolsearch_run(c->batch->plan, c->arguments);
    finish_run(c);
}

void call_run(struct call *c)
{
    if (c->tool->core) {
        run_core(c);
        return;
    }
    uint64_t timeout = (uint64_t)settings_number_or("tools.timeout", 1800000);
    CHELA_ARGS(chela_tool_run, a, 0);
    a.timeout_ms = timeout;
    call_fill(c, &a);
    c->call = call_begin(c->tool->instance, CHELA_FN_TOOL_RUN, &a, timeout, 0, &run_ops, c);
}
