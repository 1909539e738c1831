/*
 * Tokens and what they cost. A service: plain data, no state.
 */
#ifndef AGENT_USAGE_H
#define AGENT_USAGE_H

#include <stdbool.h>
#include <stdint.h>

struct json_object;

struct usage {
    uint64_t in, out, cache_read, cache_write, reasoning;
};

/* What was spent on one answer of a model, and for whom: a row of the counters. */
struct spent {
    const char *session, *channel, *sender;
    const char *model; /* full name */
    struct usage usage;
    double cost;
    bool local;                 /* answered on this machine */
    bool unpriced;              /* the price is not known, the dearest known one was taken */
    unsigned messages, answers; /* of the transcript; those that end a turn */
    uint64_t at;                /* ms */
};

void usage_add(struct usage *sum, const struct usage *u);
/* All that the model read, cached or not. */
uint64_t usage_in(const struct usage *u);
/* {"input","output","cacheRead","cacheWrite","total"[,"cost"]}; owned by the caller */
struct json_object *usage_json(const struct usage *u, double cost);

#endif
