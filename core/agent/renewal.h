/*
 * When a session begins anew by itself: each day at an hour, or after a time without a message
 * (session.reset.*). Asked by context.c before a turn.
 */
#ifndef AGENT_RENEWAL_H
#define AGENT_RENEWAL_H

#include <stdint.h>

/* "daily", "idle", or NULL: it goes on. updated, now: ms since 1970; updated 0: it is new. */
const char *renewal_due(uint64_t updated, uint64_t now);

#endif
