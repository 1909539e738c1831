/*
 * The growing answer of one run, told to clients: the first piece at once, then one frame per
 * 75 ms, however many pieces came. Called by turn.c and toolcall.c; emits events, keeps run->text.
 */
#ifndef AGENT_STREAM_H
#define AGENT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/base.h>

#include "base/buf.h"

struct draft;
struct json_object;
struct run;

struct stream {
    char *run, *session, *agent;
    struct buf held;     /* of the answer, not yet told */
    struct buf thinking; /* likewise */
    size_t round;        /* length of run->text when the present model call began */
    bool scheduled;
    struct draft *draft; /* told of each frame; the turn's, may be NULL */
    uint64_t timer;
};

void stream_open(struct stream *s, const struct run *r);
void stream_text(struct stream *s, struct chela_str text);
void stream_thinking(struct stream *s, struct chela_str text);
/* Another model call begins: its text stands apart from what is there. */
void stream_round(struct stream *s);
/* What this model call has said so far doesn't count (it is tried again). */
void stream_rollback(struct stream *s);
/* Tells what is held, now. */
void stream_flush(struct stream *s);
void stream_close(struct stream *s);

/* EVENT_CHAT with {runId, sessionKey, agentId, seq, state} and what `o` has; takes it over. */
void stream_chat(const char *run, const char *state, struct json_object *o);
/* EVENT_AGENT with data; takes it over. Nothing if the run is not there any more. */
void stream_agent(const char *run, const char *stream, struct json_object *data);
void stream_lifecycle(const char *run, const char *phase, struct json_object *data);

/* Is the text NO_REPLY, or could it still become that? */
bool stream_is_silent(const char *text, size_t n);
bool stream_maybe_silent(const char *text, size_t n);

#endif
