/*
 * The loop's timers: a heap ordered by due time, then by handle. Knows no loop and no clock.
 */
#ifndef HOST_TIMERS_H
#define HOST_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A handle is never 0 and never used twice. */
uint64_t timers_add(uint64_t due_ms, void (*fn)(void *), void *arg);
/* Unknown, fired and stopped handles do nothing. */
void timers_stop(uint64_t handle);
/* When the next one is due; false: there is none. */
bool timers_next(uint64_t *ret_due_ms);
/* Runs those due at `now_ms` that existed when it was called; returns whether any ran. */
bool timers_run(uint64_t now_ms);
size_t timers_count(void);
void timers_free(void); /* forgets all */

#endif
