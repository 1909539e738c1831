/*
 * How well each candidate has done lately: a circuit breaker with the cooldown ladder 30 s, 1 min,
 * 5 min, and moving averages of availability and latency. Called by route.c and turn.c.
 */
#ifndef AGENT_HEALTH_H
#define AGENT_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

enum health_circuit { HEALTH_CLOSED, HEALTH_OPEN, HEALTH_HALF_OPEN };

/* May it be tried now? After the cooldown one probe passes (half-open). */
bool health_usable(const char *model);
enum health_circuit health_circuit(const char *model);
/* When it may be tried again (clock_ticks_ms), 0 = now. */
uint64_t health_until(const char *model);
/* A call begins: takes the probe of a half-open circuit. */
void health_begin(const char *model);
void health_good(const char *model, uint64_t latency_ms);
/* class: CHELA_E_*; retry_after_ms as the service said. Only what speaks of the service's state
 * opens the circuit. */
void health_bad(const char *model, uint32_t class, uint64_t retry_after_ms);
/* It ended without saying anything of the service (an abort). */
void health_neutral(const char *model);
bool health_known(const char *model);          /* anything was said of it */
double health_availability(const char *model); /* 0 to 1; 1 if nothing is known */
uint64_t health_latency(const char *model);    /* ms to the first output; 0 if nothing is known */
void health_reset(void);

#endif
