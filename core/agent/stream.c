/*
 * Frames of a growing answer. A service over events.c and runs.c; decides nothing about the turn.
 */
#include "agent/stream.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <support/json.h>

#include "agent/chats/draft.h"
#include "agent/events.h"
#include "agent/runs.h"
#include "base/clock.h"
#include "base/mem.h"
#include "host/loop.h"

enum { FRAME_MS = 75 };

/* What a model says when nothing is to be said; the second after a heartbeat. */
static const char *const silent[] = {"NO_REPLY", "HEARTBEAT_OK"};

static void trim(const char **text, size_t *n)
{
    while (*n && strchr(" \t\r\n", **text)) {
        (*text)++;
        (*n)--;
    }
    while (*n && strchr(" \t\r\n", (*text)[*n - 1]))
        (*n)--;
}

bool stream_is_silent(const char *text, size_t n)
{
    trim(&text, &n);
    for (unsigned i = 0; i < ARRAY_LENGTH(silent); i++)
        if (n == strlen(silent[i]) && strncasecmp(text, silent[i], n) == 0)
            return true;
    return false;
}

bool stream_maybe_silent(const char *text, size_t n)
{
    trim(&text, &n);
    for (unsigned i = 0; i < ARRAY_LENGTH(silent); i++)
        if (n <= strlen(silent[i]) && strncasecmp(text, silent[i], n) == 0)
            return true;
    return false;
}

void stream_chat(const char *run, const char *state, struct json_object *o)
{
    struct run *r = runs_find(run);
    if (!r) {
        json_object_put(o);
        return;
    }
    chela_json_put_text(o, "runId", r->id);
    chela_json_put_text(o, "sessionKey", r->session);
    chela_json_put_text(o, "agentId", r->agent);
    chela_json_put_int(o, "seq", (int64_t)++r->chat_seq);
    chela_json_put_text(o, "state", state);
    events_emit(EVENT_CHAT, r->session, r->id, o);
}

void stream_agent(const char *run, const char *stream, struct json_object *data)
{
    struct run *r = runs_find(run);
    if (!r) {
        json_object_put(data);
        return;
    }
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "runId", r->id);
    chela_json_put_int(o, "seq", (int64_t)++r->agent_seq);
    chela_json_put_text(o, "stream", stream);
    chela_json_put_int(o, "ts", (int64_t)clock_now_ms());
    chela_json_put_text(o, "sessionKey", r->session);
    chela_json_put_text(o, "agentId", r->agent);
    chela_json_put(o, "data", data);
    events_emit(EVENT_AGENT, r->session, r->id, o);
}

void stream_lifecycle(const char *run, const char *phase, struct json_object *data)
{
    if (!data)
        data = chela_json_new_object();
    chela_json_put_text(data, "phase", phase);
    stream_agent(run, "lifecycle", data);
}

void stream_open(struct stream *s, const struct run *r)
{
    memset(s, 0, sizeof *s);
    s->run = xstrdup(r->id);
    s->session = xstrdup(r->session);
    s->agent = xstrdup(r->agent);
}

static void tell_text(struct stream *s, bool replace)
{
    const struct run *r = runs_find(s->run);
    if (!r || (s->held.n == 0 && !replace))
        return;
    struct json_object *o = chela_json_new_object();
    if (replace) {
        chela_json_put_string(o, "deltaText", r->text.p ? r->text.p : "", r->text.n);
        chela_json_put_bool(o, "replace", true);
    } else {
        chela_json_put_string(o, "deltaText", s->held.p, s->held.n);
    }
    stream_chat(s->run, "delta", o);
    struct json_object *data = chela_json_new_object();
    chela_json_put_text(data, "itemId", s->run);
    if (replace) {
        chela_json_put_string(data, "text", r->text.p ? r->text.p : "", r->text.n);
        chela_json_put_bool(data, "replace", true);
    } else {
        chela_json_put_string(data, "delta", s->held.p, s->held.n);
        /* where it stands in the whole, in bytes: who joins in the middle knows what is new */
        chela_json_put_int(data, "offset", (int64_t)(r->text.n - s->held.n));
    }
    stream_agent(s->run, "assistant", data);
    buf_clear(&s->held);
    draft_grow(s->draft);
}

void stream_flush(struct stream *s)
{
    if (s->thinking.n) {
        struct json_object *data = chela_json_new_object();
        chela_json_put_string(data, "delta", s->thinking.p, s->thinking.n);
        stream_agent(s->run, "thinking", data);
        buf_clear(&s->thinking);
    }
    const struct run *r = runs_find(s->run);
    /* an answer that may turn out to be NO_REPLY is never shown */
    if (r && r->text.n && stream_maybe_silent(r->text.p, r->text.n))
        return;
    tell_text(s, false);
}

static void due(void *arg)
{
    struct stream *s = arg;
    s->timer = 0;
    if (s->held.n == 0 && s->thinking.n == 0) {
        s->scheduled = false;
        return;
    }
    stream_flush(s);
    s->timer = loop_timer(FRAME_MS, due, s);
}

static void schedule(struct stream *s)
{
    if (s->scheduled)
        return;
    s->scheduled = true;
    /* 0: in this pass, behind whatever else came with it */
    s->timer = loop_timer(0, due, s);
}

void stream_text(struct stream *s, struct chela_str text)
{
    struct run *r = runs_find(s->run);
    if (!r)
        return;
    if (s->round &&
        r->text.n == s->round) { /* first text of a later call: a paragraph of its own */
        const char *end = r->text.p + r->text.n, *blank = "\n\n";
        for (size_t i = 1; i <= 2 && i <= r->text.n && end[-(ptrdiff_t)i] == '\n'; i++)
            blank++;
        buf_puts(&r->text, blank);
        buf_puts(&s->held, blank);
    }
    buf_str(&r->text, text);
    buf_str(&s->held, text);
    schedule(s);
}

void stream_thinking(struct stream *s, struct chela_str text)
{
    buf_str(&s->thinking, text);
    schedule(s);
}

void stream_round(struct stream *s)
{
    const struct run *r = runs_find(s->run);
    s->round = r ? r->text.n : 0;
}

void stream_rollback(struct stream *s)
{
    struct run *r = runs_find(s->run);
    if (!r || r->text.n == s->round)
        return;
    r->text.n = s->round;
    if (r->text.p)
        r->text.p[s->round] = '\0';
    buf_clear(&s->held);
    buf_clear(&s->thinking);
    tell_text(s, true);
}

void stream_close(struct stream *s)
{
    loop_timer_stop(s->timer);
    buf_free(&s->held);
    buf_free(&s->thinking);
    free(s->run);
    free(s->session);
    free(s->agent);
    memset(s, 0, sizeof *s);
}
