/*
 * When a session begins anew by itself: each day at an hour, or after a time without a message
 * (session.reset.*). Called by session.c for a job whose turn it is; calls context.c.
 */
#ifndef AGENT_RENEWAL_H
#define AGENT_RENEWAL_H

#include <stdint.h>

struct job;

/* The session begins anew if that is due, then the job goes on to context_build. A run that goes on
 * after a restart belongs to the conversation that it began in. */
void renewal_pass(struct job *j);

/* "daily", "idle", or NULL: it goes on. updated, now: ms since 1970; updated 0: it is new. */
const char *renewal_due(uint64_t updated, uint64_t now);

#endif
