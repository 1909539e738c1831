/*
 * What follows an answer of a model: its tool calls, a message that was steered in, one more call,
 * or the end (turn_end.c). Part of turn.c's stage.
 */
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/chats/typing.h"
#include "agent/chats/verbose.h"
#include "agent/digest.h"
#include "agent/events.h"
#include "agent/models/models.h"
#include "agent/turn.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"

enum { SHORT_ID = 12 };

/* ---- the assistant's message ---- */

/* An id that no other call of the session has; what the model gave is kept where it can be. */
static char *unique_id(const struct turn *t, const struct model_answer *a, unsigned index,
                       char *const *ids)
{
    const char *given = a->calls[index].id;
    bool taken =
        !*given || strcmp(given, "null") == 0 || map_get(&t->transcript->call_ids, given) != NULL;
    for (unsigned i = 0; i < index; i++)
        taken = taken || strcmp(ids[i], given) == 0;
    char hex[17];
    id_hex(hex, 8);
    if (taken)
        return xprintf("call_%s", hex);
    /* what was compacted or reset can't be looked up, and short ids come again */
    bool unseen = *t->transcript->summary || t->transcript->first > 1;
    return unseen && strlen(given) < SHORT_ID ? xprintf("%s_%s", given, hex) : xstrdup(given);
}

static char *read_arguments(const struct model_answer *a, unsigned index,
                            struct json_object **ret_object)
{
    const struct model_tool_call *c = &a->calls[index];
    struct chela_json_error e = {0};
    *ret_object = NULL;
    if (strcmp(a->stop, "length") == 0 && !c->last)
        return xstrdup("The call was cut off by the output limit and did not run. Try again with "
                       "shorter arguments.");
    if (c->arguments.n == 0) {
        *ret_object = chela_json_new_object();
        return NULL;
    }
    struct json_object *o = NULL;
    if (chela_json_parse(c->arguments.p, c->arguments.n, NULL, &o, &e) != 0)
        return xprintf("The arguments are not valid JSON (%s); the call did not run.", e.text);
    if (!json_object_is_type(o, json_type_object)) {
        json_object_put(o);
        return xstrdup("The arguments are not a JSON object; the call did not run.");
    }
    *ret_object = o;
    return NULL;
}

struct taken_calls {
    struct batch_call *calls;
    char **ids, **arguments, **wrong;
    unsigned count;
};

static void taken_free(struct taken_calls *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        free(c->ids[i]);
        free(c->arguments[i]);
        free(c->wrong[i]);
    }
    free(c->calls);
    free(c->ids);
    free(c->arguments);
    free(c->wrong);
}

/* The calls of an answer; appends their parts to `content`. */
static struct taken_calls take_calls(const struct turn *t, const struct model_answer *a,
                                     struct json_object *content)
{
    struct taken_calls c = {0};
    unsigned n = t->closing ? 0 : a->call_count; /* nothing runs after the last call */
    c.calls = xcalloc(n ? n : 1, sizeof *c.calls);
    c.ids = xcalloc(n ? n : 1, sizeof *c.ids);
    c.arguments = xcalloc(n ? n : 1, sizeof *c.arguments);
    c.wrong = xcalloc(n ? n : 1, sizeof *c.wrong);
    c.count = n;
    for (unsigned i = 0; i < n; i++) {
        struct json_object *arguments;
        c.ids[i] = unique_id(t, a, i, c.ids);
        c.wrong[i] = read_arguments(a, i, &arguments);
        if (!arguments)
            arguments = chela_json_new_object();
        c.arguments[i] = xstrdup(chela_json_text(arguments, NULL));
        struct json_object *part = chela_json_push_object(content);
        chela_json_put_text(part, "type", "toolCall");
        chela_json_put_text(part, "id", c.ids[i]);
        chela_json_put_text(part, "name", a->calls[i].name);
        chela_json_put(part, "arguments", arguments);
        c.calls[i] = (struct batch_call){c.ids[i],   a->calls[i].name, c.arguments[i],
                                         c.wrong[i], CALL_PENDING,     NULL};
    }
    return c;
}

void turn_fill_usage(struct turn *t, struct journal_message *row, bool answer)
{
    struct spent *s = &t->spent;
    s->messages = 1;
    s->answers = answer;
    row->model = t->model;
    row->tokens_in = usage_in(&s->usage);
    row->tokens_out = s->usage.out;
    row->cost = s->cost;
    row->spent = s->model ? s : NULL;
}

static void commit_reply(struct turn *t, const struct journal_message *row,
                         const struct taken_calls *c)
{
    struct journal_call *rows = xcalloc(c->count ? c->count : 1, sizeof *rows);
    char(*hashes)[65] = xcalloc(c->count ? c->count : 1, sizeof *hashes);
    for (unsigned i = 0; i < c->count; i++) {
        const struct tool *tool = toolplan_find(t->prompt->tools, c->calls[i].name);
        const char *bound[] = {c->calls[i].name, c->arguments[i], tool ? tool->hash : ""};
        digest_strings(hashes[i], bound, ARRAY_LENGTH(bound));
        rows[i] = (struct journal_call){c->ids[i], c->calls[i].name, c->arguments[i], hashes[i]};
    }
    t->pending++;
    journal_reply(t->journal, row, rows, c->count, turn_committed, t);
    turn_tell_message(t, row);
    free(rows);
    free(hashes);
}

/* ---- tools ---- */

/* Messages that were steered in become user messages; returns their count, rows are added. */
static unsigned take_steered(struct turn *t, struct journal_message **rows, unsigned count,
                             struct link *jobs)
{
    struct job *j;
    while ((j = runs_take_steered(t->run))) {
        list_append(jobs, &j->link);
        for (size_t i = 0; i < chela_json_length(j->fresh); i++) {
            struct json_object *m = chela_json_at(j->fresh, i);
            *rows = xrealloc(*rows, (count + 1) * sizeof **rows);
            turn_append(t, job_fresh_role(m), chela_json_text(chela_json_get(m, "content"), NULL),
                        &(*rows)[count]);
            (*rows)[count++].inbox = chela_json_string(m, "inbox", NULL);
        }
    }
    return count;
}

/* Results of a batch (or none) and steered messages, in one commit. */
static void commit_results(struct turn *t, struct json_object *parts)
{
    struct journal_message *rows = NULL;
    unsigned count = 0;
    struct link jobs;
    list_init(&jobs);
    if (parts) {
        rows = xcalloc(1, sizeof *rows);
        turn_append(t, "tool", chela_json_text(parts, NULL), &rows[count++]);
    }
    count = take_steered(t, &rows, count, &jobs);
    t->pending++;
    journal_results(t->journal, rows, count, turn_committed, t);
    for (unsigned i = 0; i < count; i++)
        turn_tell_message(t, &rows[i]);
    free(rows);
    while (!list_empty(&jobs)) { /* whoever waits for them is answered by this run */
        struct job *j = CONTAINER_OF(jobs.next, struct job, link);
        list_remove(&j->link);
        struct json_object *o = chela_json_new_object();
        chela_json_put_text(o, "runId", j->run);
        chela_json_put_text(o, "status", "ok");
        chela_json_put_text(o, "summary", "steered");
        chela_json_put_text(o, "steeredInto", t->job->run);
        runs_keep_result(j->run, o);
        job_free(j);
    }
}

static void batch_done(void *owner, const struct batch_result *r)
{
    struct turn *t = owner;
    t->batch = NULL;
    turn_clock(t, true);
    if (t->failed_store) {
        struct error e = t->store_error;
        error_prefix(&e, "the conversation could not be stored");
        turn_fail(t, &e);
        return;
    }
    turn_keep_files(t, r->parts);
    if (t->run->aborted) { /* the results go into the abort's commit */
        t->batch_parts = json_object_get(r->parts);
        turn_stopped(t);
        return;
    }
    char reason[300];
    enum loop_state loop = loopguard_batch(&t->guard, t->guarded.names, t->guarded.arguments,
                                           t->guarded.count, r->parts, reason);
    if (loop != LOOP_NONE)
        log_warning("tool", "run %s: %s%s", t->job->run, reason,
                    loop == LOOP_END ? "; the turn is ended" : "");
    if (loop == LOOP_END && !r->terminate && !r->stop_after) {
        error_set(&t->failure, CHELA_E_DENIED, "it went round in circles: %s", reason);
        turn_finish(t, r->parts);
        return;
    }
    if (r->terminate || r->stop_after) {
        turn_finish(t, r->parts);
        return;
    }
    commit_results(t, r->parts);
    turn_assemble(t);
}

static void batch_broken(void *owner, const struct error *e)
{
    struct turn *t = owner;
    if (!t->failed_store) {
        t->failed_store = true;
        t->store_error = *e;
        transcript_forget(t->job->session);
    }
}

static void batch_waiting(void *owner, unsigned count)
{
    struct turn *t = owner;
    t->run->waiting_approvals = count;
    turn_clock(t, count == 0);
    typing_show(t->typing, count == 0);
}

static bool batch_interrupted(void *owner)
{
    struct turn *t = owner;
    return !list_empty(&t->run->steered);
}

static const struct batch_ops batch_ops = {batch_done, batch_broken, batch_waiting,
                                           batch_interrupted};

static void remember_calls(struct turn *t, const struct batch_call *calls, unsigned count)
{
    turn_forget_calls(t);
    t->guarded.names = xcalloc(count ? count : 1, sizeof *t->guarded.names);
    t->guarded.arguments = xcalloc(count ? count : 1, sizeof *t->guarded.arguments);
    for (unsigned i = 0; i < count; i++) {
        t->guarded.names[i] = xstrdup(calls[i].name ? calls[i].name : "");
        t->guarded.arguments[i] = xstrdup(calls[i].arguments ? calls[i].arguments : "");
    }
    t->guarded.count = count;
}

void turn_forget_calls(struct turn *t)
{
    for (unsigned i = 0; i < t->guarded.count; i++) {
        free(t->guarded.names[i]);
        free(t->guarded.arguments[i]);
    }
    free(t->guarded.names);
    free(t->guarded.arguments);
    memset(&t->guarded, 0, sizeof t->guarded);
}

void turn_run_batch(struct turn *t, const struct batch_call *calls, unsigned count)
{
    const char *model = t->model ? t->model : "";
    CLEANUP(freep) char *provider = xmemdup(model, strcspn(model, "/"));
    struct batch_request q = {.run = t->job->run,
                              .session = t->job->session,
                              .agent = t->job->agent,
                              .provider = provider,
                              .message = t->job->message,
                              .plan = &t->prompt->tools,
                              .journal = t->journal,
                              .calls = calls,
                              .count = count};
    remember_calls(t, calls, count);
    t->had_tools = true;
    t->batch = batch_begin(&q, &batch_ops, t);
}

/* ---- the answer ---- */

/* Calls of the client's own tools: it runs them, and this turn ends with them. */
static void note_handed(struct turn *t, const struct taken_calls *c)
{
    json_object_put(t->handed);
    t->handed = NULL;
    for (unsigned i = 0; i < c->count; i++) {
        const struct tool *tool = toolplan_find(t->prompt->tools, c->calls[i].name);
        if (!tool || tool->instance || tool->core || c->calls[i].wrong)
            continue;
        if (!t->handed)
            t->handed = chela_json_new_array();
        struct json_object *o = chela_json_push_object(t->handed);
        chela_json_put_text(o, "id", c->ids[i]);
        chela_json_put_text(o, "name", c->calls[i].name);
        chela_json_put_text(o, "arguments", c->arguments[i]);
    }
}

static void tell_usage(const struct turn *t, const struct model_answer *a)
{
    struct json_object *o = usage_json(&a->usage, t->cost);
    chela_json_put_text(o, "model", t->model);
    stream_agent(t->job->run, "usage", o);
}

static bool refused(struct turn *t, const struct model_answer *a)
{
    bool no = strcmp(a->stop, "refusal") == 0 || strcmp(a->stop, "filter") == 0;
    if (!no || a->text.n)
        return false;
    struct error e = {0};
    error_set(&e, CHELA_E_REFUSED, "%s refused to answer", t->model);
    turn_fail(t, &e);
    return true;
}

/* Said so once, where a model without tools answers with tools at hand. */
static void say_no_tools(struct turn *t, struct json_object *content)
{
    if (!t->no_tools || t->said_no_tools || t->prompt->tools->count == 0)
        return;
    t->said_no_tools = true;
    CLEANUP(freep) char *note = xprintf("\n\n(%s takes no tools, so none was used.)", t->model);
    stream_text(&t->stream, chela_s(note));
    struct json_object *part = chela_json_push_object(content);
    chela_json_put_text(part, "type", "text");
    chela_json_put_text(part, "text", note);
}

void turn_answer(struct turn *t, struct model_answer *a)
{
    free(t->stop);
    t->stop = xstrdup(a->stop);
    tell_usage(t, a);
    if (refused(t, a))
        return;
    struct json_object *content = json_object_get(a->parts);
    if (verbose_on(t->job->session, t->job->agent))
        verbose_thinking(t->job->message, content);
    struct taken_calls calls = take_calls(t, a, content);
    struct journal_message row;
    if (calls.count) {
        runs_move(t->run, TURN_TOOL_DETECTED);
        stream_flush(&t->stream);
        turn_append(t, "assistant", chela_json_text(content, NULL), &row);
        turn_fill_usage(t, &row, false);
        commit_reply(t, &row, &calls);
        note_handed(t, &calls);
        runs_move(t->run, TURN_TOOL_EXECUTION);
        turn_run_batch(t, calls.calls, calls.count);
    } else if (strcmp(a->stop, "pause") == 0 || !list_empty(&t->run->steered)) {
        /* the service pauses, or somebody has said more: the loop goes on behind this answer */
        turn_append(t, "assistant", chela_json_text(content, NULL), &row);
        turn_fill_usage(t, &row, false);
        commit_reply(t, &row, &calls);
        if (!list_empty(&t->run->steered))
            commit_results(t, NULL);
        turn_assemble(t);
    } else if (a->text.n == 0 && t->had_tools && !t->finalised) {
        /* nothing was said after the tools: one pass that asks for the answer */
        t->finalised = t->closing = true;
        turn_assemble(t);
    } else {
        say_no_tools(t, content);
        t->content = json_object_get(content);
        turn_finish(t, NULL);
    }
    taken_free(&calls);
    json_object_put(content);
}
