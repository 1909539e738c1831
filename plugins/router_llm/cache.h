/*
 * What the classifier has said lately, by the whole question that it was asked (text and context).
 */
#ifndef ROUTER_LLM_CACHE_H
#define ROUTER_LLM_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct cache;

/* most: entries, 0: it keeps nothing; the one that was not used for the longest time makes room. */
struct cache *cache_open(size_t most, uint64_t time_ms);
void cache_close(struct cache *c);
/* The class, -1 if there is none or it is too old. now: ms of a clock that only rises. */
int cache_get(struct cache *c, const char *question, uint64_t now);
void cache_put(struct cache *c, const char *question, int class, uint64_t now);

#endif
