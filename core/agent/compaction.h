/*
 * Puts a summary in the place of a session's older messages. The summary comes from a model; if
 * that fails, from a fixed rule. What a turn is about, and its calls with their results, stay as
 * they are. Called by turn.c (the budget is crossed, the service says too long) and by /compact.
 */
#ifndef AGENT_COMPACTION_H
#define AGENT_COMPACTION_H

#include <stdint.h>

#include "agent/transcript.h"
#include "base/error.h"

struct compaction_request {
    struct transcript *transcript;
    unsigned before;          /* only entries in front of this index are touched */
    uint64_t keep;            /* tokens of the end that stay */
    const char *model;        /* who summarises if the configuration doesn't say, full name */
    const char *instructions; /* of the person, or "" */
};

/* removed: how many messages are now told by the summary (0: there was nothing to do). */
typedef void compaction_fn(void *owner, unsigned removed, const struct error *e);
/* Returns a handle for compaction_forget(), 0 if fn was called already. */
uint64_t compaction_run(const struct compaction_request *q, compaction_fn *fn, void *owner);
void compaction_forget(uint64_t handle);

/* The deterministic summary of entries [0, end). Free it. */
char *compaction_fallback(const struct transcript *t, unsigned end);

#endif
