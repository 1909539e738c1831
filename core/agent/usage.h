/*
 * Tokens and what they cost. A service: plain data, no state.
 */
#ifndef AGENT_USAGE_H
#define AGENT_USAGE_H

#include <stdint.h>

struct json_object;

struct usage {
    uint64_t in, out, cache_read, cache_write, reasoning;
};

void usage_add(struct usage *sum, const struct usage *u);
/* Prices per million tokens. */
double usage_cost(const struct usage *u, double price_in, double price_out);
/* {"input","output","cacheRead","cacheWrite","total"[,"cost"]}; owned by the caller */
struct json_object *usage_json(const struct usage *u, double cost);

#endif
