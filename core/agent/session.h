/*
 * The session manager beside what flow.h says of it: what waits, exclusive work between turns,
 * session keys. One turn runs in a session at a time; an idle session keeps nothing here.
 */
#ifndef AGENT_SESSION_H
#define AGENT_SESSION_H

#include <stdbool.h>

#include "agent/journal/journal.h"

struct message;
struct json_object;

enum queue_mode { QUEUE_STEER, QUEUE_FOLLOWUP, QUEUE_COLLECT, QUEUE_INTERRUPT, QUEUE_MODES };
const char *queue_mode_name(enum queue_mode m);
enum queue_mode queue_mode_of(const char *name, enum queue_mode fallback);

/* ---- keys ---- */
/* By the rules of session.dm_scope, for a message that names none. Free it. */
char *session_key(const struct message *m, const char *agent);
/* What a client wrote ("", "main", "agent:x:main") as a full key. Free it. */
char *session_key_full(const char *agent, const char *wanted);
/* The agent in a key "agent:NAME:...", or the default one. Free it. */
char *session_key_agent(const char *key);

/* ---- turns ---- */
unsigned session_queued(const char *session); /* jobs that wait */
/* Aborts a run, or drops it from the queue; run NULL: all of the session. Returns how many. fn
 * (may be NULL) once "stopped" may be shown; not called if none. */
unsigned session_abort(const char *session, const char *run, const char *by, journal_fn *fn,
                       void *owner);
/* No more turns start; fn once none runs (at once if so). */
void session_drain(void (*fn)(void *owner), void *owner);

/* ---- work that excludes turns ---- */
typedef void session_work_fn(void *owner);
/* fn when no turn runs in the session; the next one starts after session_leave(). */
void session_enter(const char *session, session_work_fn *fn, void *owner);
void session_leave(const char *session);

/* ---- changes of a session ---- */
/* Checked; fields as in journal_session_patch. */
void session_patch(const char *session, struct json_object *fields, journal_fn *fn, void *owner);
void session_reset(const char *session, const char *reason, journal_fn *fn, void *owner);
/* The same by the turn that holds the session, before it begins. */
void session_renew(const char *session, const char *reason, journal_fn *fn, void *owner);
void session_delete(const char *session, journal_fn *fn, void *owner);
void session_compact(const char *session, const char *instructions, journal_fn *fn, void *owner);
void session_inject(const char *session, const char *text, const char *label, journal_fn *fn,
                    void *owner);

/* session_import.c: messages [{"role": "user" | "assistant", "text", "at"}] of a conversation that
 * was held elsewhere (`source` names it). -1: they are no such list. fn with DENIED: the session
 * has messages of its own; CONFLICT: that conversation is there already. */
int session_import(const char *session, const char *source, const char *title,
                   struct json_object *messages, journal_fn *fn, void *owner, struct error *e);

void session_forget_all(void); /* tests, end of the program */

#endif
