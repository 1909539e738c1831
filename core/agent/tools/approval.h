/*
 * Approvals: questions to a person about one exact tool call. Each is bound to a hash of the call
 * (tool, final arguments, manifest, binding), is on disk before anybody sees it, survives a
 * restart, and ends by one decision: allow-once, allow-always, deny, expired or cancelled. Called
 * by toolcall.c (asks, waits), commands.c and the facade (decide).
 */
#ifndef AGENT_APPROVAL_H
#define AGENT_APPROVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/journal/journal.h"

struct json_object;
struct message;

struct approval_request {
    const char *session, *run, *agent, *call, *tool;
    const char *hash;    /* what it is bound to */
    const char *summary; /* what exactly will run */
    const char *kind;    /* what "always" would cover, NULL: not offered */
    const char *source;  /* who asks: "channel|account|peer|agent" */
    const char *risk;
    const char *arguments;           /* JSON */
    const struct json_object *extra; /* of prepare: warnings, cwd, resolvedPath ... or NULL */
    const struct message *message;   /* turn's source */
};

/* decision: a word as above. error (may be NULL): it could not be asked at all. */
typedef void approval_fn(void *owner, const char *id, const char *decision, const struct error *e);

/* Asks; a record that waits for the same call with the same hash since before a restart is taken up
 * again. */
void approval_ask(struct journal_run *r, const struct approval_request *q, approval_fn *fn,
                  void *owner);
/* The turn was aborted or the program ends: nobody is told any more. cancel: the question is over;
 * else it stays open for the next start. */
void approval_forget(void *owner, bool cancel);
/* NOT_FOUND, CONFLICT (decided already), ARGS (no such decision, or not offered). An id may be
 * shortened to 8 characters or more if only one fits. fn: it is stored. */
void approval_resolve(const char *id, const char *decision, const char *by, journal_fn *fn,
                      void *owner);
/* Waiting records, oldest first; owned by the caller. session: NULL = all. */
struct json_object *approval_list(const char *session);
/* Reads what waits. */
void approval_load(journal_fn *fn, void *owner);
void approval_reset(void);

#endif
