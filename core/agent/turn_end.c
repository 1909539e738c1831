/*
 * The end of a turn: the reply, its commit, its events, the result for whoever waits. Part of
 * turn.c's stage.
 */
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/chats/draft.h"
#include "agent/chats/typing.h"
#include "agent/events.h"
#include "agent/turn.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"

enum { TITLE_BYTES = 60 };

static const char *failure_text(const struct turn *t)
{
    switch (t->failure.class) {
    case CHELA_E_AUTH: return "The model's service refused the key or login.";
    case CHELA_E_RATE: return "The model's service gets too many requests at the moment.";
    case CHELA_E_QUOTA: return "The account at the model's service has no credit or quota left.";
    case CHELA_E_TOO_LONG:
        return "The conversation is too long for the model; try /compact or /new.";
    case CHELA_E_REFUSED: return "The model refused to answer this.";
    case CHELA_E_TIMEOUT: return "The model did not answer in time.";
    case CHELA_E_OVERLOADED: return "The model's service is overloaded at the moment.";
    case CHELA_E_NETWORK: return "The model's service could not be reached.";
    default: return "The request could not be answered.";
    }
}

static const char *error_kind(uint32_t class)
{
    switch (class) {
    case CHELA_E_REFUSED: return "refusal";
    case CHELA_E_TIMEOUT: return "timeout";
    case CHELA_E_RATE: return "rate_limit";
    case CHELA_E_TOO_LONG: return "context_length";
    default: return "unknown";
    }
}

static void final_stored(void *owner, const struct error *e)
{
    struct turn *t = owner;
    t->pending--;
    if (e) {
        t->ending = TURN_FAILED;
        if (!t->failure.class) {
            t->failure = t->failed_store ? t->store_error : *e;
            error_prefix(&t->failure, "the answer could not be stored");
        }
        t->failed_store = true;
        transcript_forget(t->job->session);
    }
    if (t->failed_store) {
        outbox_drop(t->chunks);
    } else {
        outbox_send(t->reply, t->chunks);
        t->reply = NULL;
    }
    t->chunks = NULL;
    turn_end(t, t->ending);
}

static void prepared(void *owner, struct outbox_chunks *chunks)
{
    struct turn *t = owner;
    t->chunks = chunks;
    if (t->failed_store) {
        t->pending++;
        final_stored(t, &t->store_error);
        return;
    }
    struct journal_message row;
    bool said = t->content && chela_json_length(t->content) > 0;
    if (said) {
        turn_append(t, "assistant", chela_json_text(t->content, NULL), &row);
        turn_fill_usage(t, &row, true);
    }
    unsigned count;
    const struct journal_chunk *rows = outbox_rows(chunks, &count);
    t->pending++;
    journal_final(t->journal, said ? &row : NULL, rows, count, turn_state_name(t->ending),
                  final_stored, t);
    if (said)
        turn_tell_message(t, &row);
}

static void draft_settled(void *owner, const char *message)
{
    struct turn *t = owner;
    t->reply->draft = xstrdup(message);
    outbox_prepare(t->reply, prepared, t);
}

void turn_finish(struct turn *t, struct json_object *parts)
{
    bool failed = t->failure.class != CHELA_OK;
    t->ending = failed ? TURN_FAILED : TURN_DONE;
    t->run->closing = true;
    if (parts && !t->failed_store) {
        struct journal_message row;
        turn_append(t, "tool", chela_json_text(parts, NULL), &row);
        t->pending++;
        journal_results(t->journal, &row, 1, turn_committed, t);
        turn_tell_message(t, &row);
    }
    runs_move(t->run, t->ending);
    stream_flush(&t->stream);
    struct reply *r = xcalloc(1, sizeof *r);
    const struct run *run = t->run;
    r->run = xstrdup(t->job->run);
    r->session = xstrdup(t->job->session);
    r->agent = xstrdup(t->job->agent);
    r->message = message_copy(t->job->message);
    bool silent = stream_is_silent(run->text.p ? run->text.p : "", run->text.n);
    if (failed)
        r->text = xprintf("%s\n\n(%s)", failure_text(t), t->failure.text);
    else
        r->text = xmemdup(run->text.p ? run->text.p : "", silent ? 0 : run->text.n);
    turn_recover_files(t);
    r->media = json_object_get(t->media);
    r->extra = chela_json_new_object();
    chela_json_put_text(r->extra, "run", t->job->run);
    chela_json_put_text(r->extra, "session", t->job->session);
    chela_json_put_text(r->extra, "model", t->model);
    if (failed)
        chela_json_put_text(r->extra, "status", "error");
    t->reply = r;
    draft_settle(t->draft, draft_settled, t);
}

static struct json_object *final_message(const struct turn *t, const char *text, size_t n)
{
    struct json_object *message = chela_json_new_object();
    chela_json_put_text(message, "role", "assistant");
    struct json_object *part = chela_json_push_object(chela_json_put_array(message, "content"));
    chela_json_put_text(part, "type", "text");
    chela_json_put_string(part, "text", text, n);
    chela_json_put_int(message, "timestamp", (int64_t)clock_now_ms());
    chela_json_put_text(message, "model", t->model);
    return message;
}

static const char *stop_reason(const struct turn *t, enum turn_state s)
{
    if (s == TURN_ABORTED)
        return t->run->aborted_by && strcmp(t->run->aborted_by, "timeout") == 0 ? "timeout"
                                                                                : "aborted";
    if (s == TURN_FAILED)
        return "error";
    if (t->handed)
        return "tool_calls";
    return t->stop && strcmp(t->stop, "length") == 0 ? "length" : "stop";
}

static void put_model(const struct turn *t, struct json_object *o)
{
    const char *slash = t->model ? strchr(t->model, '/') : NULL;
    if (slash)
        chela_json_put_string(o, "provider", t->model, (size_t)(slash - t->model));
    chela_json_put_text(o, "model", slash ? slash + 1 : t->model);
}

/* As the protocol has it: who failed and how, texts of 300 characters at most. */
static struct json_object *failure_detail(const struct turn *t)
{
    struct json_object *o = chela_json_new_object();
    const char *text = t->failure.text;
    put_model(t, o);
    chela_json_put_text(o, "providerErrorType", error_class_name(t->failure.class));
    if (t->failure.http_status >= 100 && t->failure.http_status <= 599)
        chela_json_put_int(o, "httpStatus", t->failure.http_status);
    chela_json_put_string(o, "providerErrorMessagePreview", text,
                          utf8_cut(text, strlen(text), 300));
    return o;
}

static void tell_end(struct turn *t, enum turn_state s)
{
    struct json_object *o = chela_json_new_object();
    const struct buf *text = &t->run->text;
    bool silent = !text->n || stream_is_silent(text->p, text->n);
    if (!silent && s != TURN_FAILED)
        chela_json_put(o, "message", final_message(t, text->p, text->n));
    if (s == TURN_FAILED) {
        chela_json_put_text(o, "errorMessage", failure_text(t));
        chela_json_put_text(o, "errorKind", error_kind(t->failure.class));
        chela_json_put(o, "errorDetail", failure_detail(t));
    } else {
        chela_json_put_text(o, "stopReason", stop_reason(t, s));
    }
    if (s == TURN_DONE)
        chela_json_put(o, "usage", usage_json(&t->usage, t->cost));
    stream_chat(t->job->run, s == TURN_DONE ? "final" : s == TURN_FAILED ? "error" : "aborted", o);
    struct json_object *data = chela_json_new_object();
    chela_json_put_text(data, "stopReason", stop_reason(t, s));
    if (s == TURN_FAILED)
        chela_json_put_text(data, "error", t->failure.text);
    stream_lifecycle(t->job->run, s == TURN_FAILED ? "error" : "end", data);
}

/* What tools made for the person, as the protocol names files. */
static void put_files(const struct turn *t, struct json_object *list)
{
    for (size_t i = 0; i < chela_json_length(t->media); i++) {
        struct json_object *file = chela_json_at(t->media, i), *o = chela_json_push_object(list);
        chela_json_put_text(o, "type", "file");
        chela_json_put_text(o, "fileName", chela_json_string(file, "name", NULL));
        chela_json_put_text(o, "mimeType", chela_json_string(file, "mime", NULL));
        chela_json_put_text(o, "hash", chela_json_string(file, "hash", NULL));
        chela_json_put_int(o, "sizeBytes", chela_json_int(file, "size", 0));
    }
}

/* {"runId","status","summary","startedAt","endedAt","error","result":{...}} of agent_wait() */
static struct json_object *result_of(const struct turn *t, enum turn_state s)
{
    struct json_object *o = chela_json_new_object();
    uint64_t now = clock_now_ms(), began = t->run->started_ms;
    const struct buf *text = &t->run->text;
    chela_json_put_text(o, "runId", t->job->run);
    chela_json_put_text(o, "status",
                        s == TURN_DONE     ? "ok"
                        : s == TURN_FAILED ? "error"
                                           : "aborted");
    chela_json_put_text(o, "summary",
                        s == TURN_DONE     ? "completed"
                        : s == TURN_FAILED ? failure_text(t)
                                           : "stopped");
    chela_json_put_text(o, "sessionKey", t->job->session);
    chela_json_put_int(o, "startedAt", (int64_t)began);
    chela_json_put_int(o, "endedAt", (int64_t)now);
    if (s == TURN_FAILED) {
        chela_json_put_text(o, "error", t->failure.text);
        chela_json_put_text(o, "errorKind", error_kind(t->failure.class));
    }
    struct json_object *result = chela_json_put_object(o, "result");
    struct json_object *payloads = chela_json_put_array(result, "payloads");
    if (text->n && !stream_is_silent(text->p, text->n)) {
        struct json_object *p = chela_json_push_object(payloads);
        chela_json_put_string(p, "text", text->p, text->n);
        chela_json_put(p, "mediaUrl", NULL);
    }
    if (t->media)
        put_files(t, chela_json_put_array(result, "files"));
    struct json_object *meta = chela_json_put_object(result, "meta");
    chela_json_put_int(meta, "durationMs", (int64_t)(now - began));
    struct json_object *agent = chela_json_put_object(meta, "agentMeta");
    chela_json_put_text(agent, "sessionId", t->transcript ? t->transcript->id : "");
    put_model(t, agent);
    chela_json_put(agent, "usage", usage_json(&t->usage, t->cost));
    chela_json_put_text(meta, "stopReason", stop_reason(t, s));
    if (t->handed && s == TURN_DONE)
        chela_json_put(meta, "pendingToolCalls", json_object_get(t->handed));
    return o;
}

static void title_stored(void *owner, const struct error *e)
{
    (void)owner;
    if (e)
        log_warning("turn", "a session's title could not be stored: %s", e->text);
}

/* A session gets its title from the first thing that was said in it; after the end, off the turn's
 * path. */
static void give_title(struct turn *t)
{
    struct transcript *x = t->transcript;
    const char *text = t->job->message->text;
    if (!x || t->failed_store || t->prompt->first != 0 || *x->summary || !*text ||
        *transcript_field(x, "title"))
        return;
    size_t n = strcspn(text, "\n"), cut = utf8_cut(text, n, TITLE_BYTES);
    struct json_object *fields = chela_json_new_object();
    CLEANUP(freep) char *line = xmemdup(text, cut);
    CLEANUP(freep) char *title = xprintf("%s%s", line, cut < n ? "..." : "");
    chela_json_put_text(fields, "title", title);
    if (x->fields)
        chela_json_put_text(x->fields, "title", title);
    journal_session_patch(t->job->session, chela_json_text(fields, NULL), title_stored, NULL);
    json_object_put(fields);
}

void turn_end(struct turn *t, enum turn_state s)
{
    stream_flush(&t->stream);
    typing_end(t->typing);
    t->typing = NULL;
    tell_end(t, s);
    struct json_object *changed = chela_json_new_object();
    chela_json_put_text(changed, "key", t->job->session);
    chela_json_put_text(changed, "reason", "turn");
    events_emit(EVENT_SESSIONS_CHANGED, t->job->session, t->job->run, changed);
    struct json_object *result = result_of(t, s);
    if (s == TURN_DONE)
        give_title(t);
    struct run *r = t->run;
    t->run = NULL;
    t->over = true;
    turn_clock(t, false);
    runs_set_owner(r, NULL, NULL);
    runs_set_journal(r, NULL);
    runs_end(r, result);
    turn_release(t);
}
