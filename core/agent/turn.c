/*
 * The turn: the loop of model and tools, as a state machine whose table is in state.c. This file
 * begins a turn, leads it back to CONTEXT_ASSEMBLY after tools, and handles what stops it: failure,
 * abort, time. Called by route.c; calls toolcall.c and outbox.c. The only stage that loops.
 */
#include "agent/turn.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/chats/draft.h"
#include "agent/chats/typing.h"
#include "agent/compaction.h"
#include "agent/events.h"
#include "agent/models/models.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/loop.h"

static void aborted(void *owner);

static void turn_free(struct turn *t)
{
    journal_run_end(t->journal);
    stream_close(&t->stream);
    typing_end(t->typing);
    draft_free(t->draft);
    loop_timer_stop(t->timer);
    loop_timer_stop(t->clock_timer);
    json_object_put(t->blobs_wanted);
    json_object_put(t->batch_parts);
    json_object_put(t->media);
    json_object_put(t->content);
    json_object_put(t->handed);
    turn_forget_calls(t);
    json_object_put(t->granted);
    spending_limit_free(&t->limit);
    reply_free(t->reply);
    free(t->model);
    free(t->stop);
    plan_free(t->plan);
    free(t);
}

void turn_release(struct turn *t)
{
    if (t->over && t->pending == 0)
        turn_free(t);
}

void turn_committed(void *owner, const struct error *e)
{
    struct turn *t = owner;
    t->pending--;
    if (e && !t->failed_store) {
        t->failed_store = true;
        t->store_error = *e;
        log_error("turn", "run %s can't be stored: %s", t->job->run, e->text);
        /* what was appended in memory isn't in the store */
        transcript_forget(t->job->session);
        if (!t->over && t->ending == TURN_IDLE) {
            struct error failure = *e;
            error_prefix(&failure, "the conversation could not be stored");
            turn_call_stop(t);
            if (t->batch)
                batch_abort(t->batch);
            else
                turn_fail(t, &failure);
            return;
        }
    }
    turn_release(t);
}

void turn_append(struct turn *t, const char *role, const char *body, struct journal_message *ret)
{
    struct error e = {0};
    memset(ret, 0, sizeof *ret);
    if (transcript_append(t->transcript, t->transcript->last + 1, role, body, &e) != 0)
        log_error("turn", "%s", e.text); /* last + 1 is never a gap */
    ret->seq = t->transcript->last;
    ret->role = role;
    ret->body = t->transcript->entries[t->transcript->count - 1].body;
    ret->at = clock_now_ms();
}

void turn_tell_message(struct turn *t, const struct journal_message *m)
{
    struct json_object *o = chela_json_new_object(), *content = NULL;
    chela_json_put_text(o, "sessionKey", t->job->session);
    struct json_object *message = chela_json_put_object(o, "message");
    chela_json_put_text(message, "role", strcmp(m->role, "tool") == 0 ? "toolResult" : m->role);
    if (chela_json_parse(m->body, strlen(m->body), NULL, &content, NULL) == 0)
        chela_json_put(message, "content", content);
    chela_json_put_int(message, "timestamp", (int64_t)m->at);
    struct json_object *meta = chela_json_put_object(message, "__openclaw");
    chela_json_put_int(meta, "seq", (int64_t)m->seq);
    chela_json_put_text(meta, "runId", t->job->run);
    chela_json_put_int(o, "messageSeq", (int64_t)m->seq);
    CLEANUP(freep) char *id = xprintf("%llu", (unsigned long long)m->seq);
    chela_json_put_text(o, "messageId", id);
    events_emit(EVENT_SESSION_MESSAGE, t->job->session, t->job->run, o);
}

/* ---- the turn's clock ---- */

static void too_late(void *arg)
{
    struct turn *t = arg;
    t->clock_timer = 0;
    t->clock_left = 0;
    if (t->over || t->ending != TURN_IDLE)
        return;
    log_warning("turn", "run %s has used up its time", t->job->run);
    runs_abort(t->run, "timeout", NULL, NULL);
}

/* Stands while a person is asked. */
void turn_clock(struct turn *t, bool runs)
{
    if (runs && !t->clock_timer && t->clock_left) {
        t->clock_began = clock_ticks_ms();
        t->clock_timer = loop_timer(t->clock_left, too_late, t);
    } else if (!runs && t->clock_timer) {
        uint64_t used = clock_ticks_ms() - t->clock_began;
        loop_timer_stop(t->clock_timer);
        t->clock_timer = 0;
        t->clock_left = used < t->clock_left ? t->clock_left - used : 1;
    }
}

static void start_clock(struct turn *t)
{
    int64_t wish = chela_json_int(message_wishes(t->job->message), "timeoutMs", 0);
    int64_t set = agents_number(t->job->agent, "timeout", 172800000);
    t->clock_left = wish > 0 ? (uint64_t)wish : set > 0 ? (uint64_t)set : 172800000;
    turn_clock(t, true);
}

/* ---- begin ---- */

/* The run's row and its first messages: what the user said, and repairs before it. */
static void commit_start(struct turn *t)
{
    struct transcript *x = t->transcript;
    unsigned count = x->count - t->prompt->first;
    size_t fresh = chela_json_length(t->job->fresh);
    struct journal_message *rows = xcalloc(count ? count : 1, sizeof *rows);
    for (unsigned i = 0; i < count; i++) {
        const struct entry *e = &x->entries[t->prompt->first + i];
        rows[i].seq = e->seq;
        rows[i].role = entry_role_name(e->role);
        rows[i].body = e->body;
        rows[i].at = clock_now_ms();
        if (count - i <= fresh) /* repairs stand before them */
            rows[i].inbox =
                chela_json_string(chela_json_at(t->job->fresh, fresh - (count - i)), "inbox", NULL);
    }
    t->pending++;
    journal_run_start(t->journal, t->job->agent, t->prompt->tools->revision, rows, count,
                      turn_committed, t);
    for (unsigned i = 0; i < count; i++)
        turn_tell_message(t, &rows[i]);
    free(rows);
}

/* A run that a crash has interrupted goes on with the calls that its last answer made. */
static bool resume_calls(struct turn *t)
{
    struct json_object *open = transcript_open_calls(t->transcript);
    size_t count = chela_json_length(open);
    if (count == 0) {
        json_object_put(open);
        return false;
    }
    struct json_object *found = chela_json_object(t->job->message->extra, "recovered");
    struct batch_call *calls = xcalloc(count, sizeof *calls);
    for (size_t i = 0; i < count; i++) {
        struct json_object *call = chela_json_at(open, i);
        const char *id = chela_json_string(call, "id", NULL);
        calls[i].id = id ? id : "";
        calls[i].name = chela_json_string(call, "name", NULL);
        calls[i].arguments = chela_json_text(chela_json_get(call, "arguments"), NULL);
        struct json_object *was = chela_json_object(found, calls[i].id);
        const char *state = chela_json_string(was, "state", NULL);
        for (unsigned s = 0; state && s < CALL_STATES; s++) {
            if (strcmp(call_state_name((enum call_state)s), state) == 0)
                calls[i].found = (enum call_state)s;
        }
        calls[i].result = chela_json_object(was, "result");
    }
    runs_move(t->run, TURN_TOOL_EXECUTION);
    turn_run_batch(t, calls, (unsigned)count);
    free(calls);
    json_object_put(open);
    return true;
}

void turn_begin(struct plan *p)
{
    struct turn *t = xcalloc(1, sizeof *t);
    t->plan = p;
    t->prompt = p->prompt;
    t->job = p->prompt->job;
    t->transcript = p->prompt->transcript;
    t->run = runs_find(t->job->run);
    if (t->job->recovered) /* its numbers go on */
        t->attempts = (unsigned)chela_json_int(t->job->message->extra, "attempts", 0);
    stream_open(&t->stream, t->run);
    runs_set_owner(t->run, aborted, t);
    t->journal = journal_run_begin(t->job->session, t->job->run);
    runs_set_journal(t->run, t->journal);
    t->typing = typing_begin(t->job->message);
    t->draft = draft_open(
        t->job->message, t->run, t->journal,
        t->job->recovered ? chela_json_string(t->job->message->extra, "draft", NULL) : NULL);
    t->stream.draft = t->draft;
    t->usage = t->run->asked;
    t->cost = t->run->asked_cost;
    stream_lifecycle(t->job->run, "start", NULL);
    struct error e = {0};
    if (!t->transcript) {
        /* nothing is written, so the message isn't lost: it is taken up at the next start */
        error_set(&e, CHELA_E_OTHER, "the session's history can't be read");
        t->failed_store = true;
        t->store_error = e;
        turn_fail(t, &e);
        return;
    }
    if (!(t->job->recovered && chela_json_length(t->job->fresh) == 0))
        commit_start(t);
    start_clock(t);
    if (turn_stopped(t))
        return;
    if (t->job->recovered && chela_json_bool(t->job->message->extra, "giveUp", false)) {
        error_set(&e, CHELA_E_GONE,
                  "the gateway has ended several times while this was being answered");
        turn_fail(t, &e);
        return;
    }
    if (p->count == 0) {
        error_set(&e, CHELA_E_NOT_FOUND,
                  p->strict ? "the model that was chosen names no provider that is there; /model "
                              "shows what there is"
                            : "there is no model: enable a provider, or see `chela doctor`");
        turn_fail(t, &e);
        return;
    }
    if (t->job->recovered && resume_calls(t))
        return;
    turn_call(t);
}

void turn_assemble(struct turn *t)
{
    runs_move(t->run, TURN_CONTEXT_ASSEMBLY);
    if (turn_stopped(t))
        return;
    runs_move(t->run, TURN_ROUTING); /* the candidate is kept through the tool rounds */
    turn_call(t);
}

/* ---- what stops it ---- */

/* Results for all calls of the last answer that have none: the transcript stays paired. */
static struct json_object *results_of_open_calls(struct turn *t)
{
    struct json_object *open = transcript_open_calls(t->transcript);
    size_t count = chela_json_length(open);
    struct json_object *parts = NULL;
    if (count && t->batch_parts) {
        parts = json_object_get(t->batch_parts);
    } else if (count) {
        parts = chela_json_new_array();
        for (size_t i = 0; i < count; i++) {
            struct json_object *call = chela_json_at(open, i);
            struct json_object *o = chela_json_push_object(parts);
            chela_json_put_text(o, "type", "toolResult");
            chela_json_put_text(o, "callId", chela_json_string(call, "id", NULL));
            chela_json_put_text(o, "name", chela_json_string(call, "name", NULL));
            struct json_object *text = chela_json_push_object(chela_json_put_array(o, "content"));
            chela_json_put_text(text, "type", "text");
            chela_json_put_text(text, "text", "Interrupted before it ran.");
            chela_json_put_bool(o, "isError", true);
        }
    }
    json_object_put(open);
    return parts;
}

static void abort_stored(void *owner, const struct error *e)
{
    struct turn *t = owner;
    t->pending--;
    if (e)
        log_error("turn", "the abort of run %s can't be stored: %s", t->job->run, e->text);
    turn_end(t, TURN_ABORTED);
}

static void end_aborted(struct turn *t)
{
    if (t->ending != TURN_IDLE)
        return;
    t->ending = TURN_ABORTED;
    t->run->closing = true;
    runs_move(t->run, TURN_ABORTED);
    stream_flush(&t->stream);
    draft_leave(t->draft);
    struct journal_message rows[1];
    unsigned count = 0;
    struct json_object *parts = t->transcript ? results_of_open_calls(t) : NULL;
    const struct run *r = t->run;
    if (parts) {
        turn_append(t, "tool", chela_json_text(parts, NULL), &rows[count++]);
    } else if (t->transcript && r->text.n > t->stream.round) {
        struct json_object *partial = chela_json_new_array();
        struct json_object *text = chela_json_push_object(partial);
        chela_json_put_text(text, "type", "text");
        chela_json_put_string(text, "text", r->text.p + t->stream.round,
                              r->text.n - t->stream.round);
        turn_append(t, "assistant", chela_json_text(partial, NULL), &rows[count]);
        rows[count++].model = t->model;
        json_object_put(partial);
    }
    t->pending++;
    journal_abort(t->journal, rows, count, abort_stored, t);
    for (unsigned i = 0; i < count; i++)
        turn_tell_message(t, &rows[i]);
    json_object_put(parts);
}

static void suspend_now(void *arg)
{
    struct turn *t = arg;
    if (t->over)
        return;
    /* nothing is written: the next start finds the run and goes on with it */
    t->over = true;
    t->ending = TURN_ABORTED;
    transcript_forget(t->job->session);
    struct run *r = t->run;
    t->run = NULL;
    runs_set_owner(r, NULL, NULL);
    runs_set_journal(r, NULL);
    runs_end(r, NULL);
    turn_release(t);
}

bool turn_stopped(struct turn *t)
{
    if (t->over || t->ending != TURN_IDLE)
        return true;
    if (t->run->suspended) {
        suspend_now(t);
        return true;
    }
    if (t->run->aborted) {
        end_aborted(t);
        return true;
    }
    return false;
}

/* runs_abort() says so, from outside: ends what is under way; its end sees the flag. */
static void aborted(void *owner)
{
    struct turn *t = owner;
    if (t->over || t->ending != TURN_IDLE)
        return;
    if (t->batch) {
        if (t->run->suspended)
            batch_suspend(t->batch, suspend_now, t);
        else
            batch_abort(t->batch);
        return;
    }
    if (t->call && !t->run->suspended) { /* its done comes */
        model_call_cancel(t->call);
        return;
    }
    turn_call_stop(t);
    turn_stopped(t);
}

void turn_fail(struct turn *t, const struct error *e)
{
    if (t->ending != TURN_IDLE)
        return;
    t->failure = *e;
    log_warning("turn", "run %s failed: %s (%s)", t->job->run, e->text, error_class_name(e->class));
    stream_flush(&t->stream);
    struct json_object *parts = t->transcript ? results_of_open_calls(t) : NULL;
    turn_finish(t, parts);
    json_object_put(parts);
}
