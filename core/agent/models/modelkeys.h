/*
 * Which of a provider's keys a call uses. A provider may have several (`api_key = ["a", "b"]`);
 * sessions are spread over them and keep theirs, since a service caches prompts by key. One that is
 * refused, has no credit or is limited rests, on the ladder of health.h, and another one takes its
 * place at once. In memory only: a rest is minutes, and after a restart one refused try costs less
 * than a key that stays shut although its owner has mended it.
 * A service over health.h; called by route_facts.c, turn_candidate.c and turn_failure.c.
 */
#ifndef AGENT_MODELKEYS_H
#define AGENT_MODELKEYS_H

#include <stdbool.h>
#include <stdint.h>

/* May the model be called now: it runs, its circuit is not open, a key is ready. */
bool modelkeys_usable(const char *model);
/* When a key will be ready (clock_ticks_ms); 0: now. */
uint64_t modelkeys_until(const char *model);
/* The key for a session, counted from 0; the one that is ready first if none is. */
unsigned modelkeys_choose(const char *model, const char *session);
void modelkeys_begin(const char *model, unsigned key);
void modelkeys_good(const char *model, unsigned key);
/* True if the failure (CHELA_E_*) speaks of the key: it rests, and the model's own circuit stays as
 * it is. */
bool modelkeys_bad(const char *model, unsigned key, uint32_t class, uint64_t retry_after_ms);
void modelkeys_neutral(const char *model, unsigned key);

#endif
