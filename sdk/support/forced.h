/*
 * What a bare completion holds: thinking in tags of the model's own, then text, or the one JSON
 * object that a schema has forced.
 */
#ifndef CHELA_SUPPORT_FORCED_H
#define CHELA_SUPPORT_FORCED_H

#include <stdbool.h>
#include <stddef.h>

#include "support/stream.h"

#pragma GCC visibility push(hidden)

/* The members of the object that is forced: {"response": "text"} or {"tool_calls": [{"name",
 * "arguments"}]}. */
#define CHELA_FORCED_TEXT  "response"
#define CHELA_FORCED_CALLS "tool_calls"

enum chela_forced_state {
    CHELA_FORCED_BEGIN,
    CHELA_FORCED_THINKING,
    CHELA_FORCED_PLAIN,
    CHELA_FORCED_OBJECT,
    CHELA_FORCED_STRING,
    CHELA_FORCED_OVER
};

struct chela_forced {
    bool forced; /* the answer is such an object */
    enum chela_forced_state state;
    char *held; /* what can't be told apart yet */
    size_t length;
};

/* thinking: the prompt has opened the tag already. */
void chela_forced_open(struct chela_forced *r, bool forced, bool thinking);
void chela_forced_feed(struct chela_forced *r, struct chela_stream *s, const char *text,
                       size_t length);
/* The answer is over; whole: it was not cut off. */
void chela_forced_end(struct chela_forced *r, struct chela_stream *s, bool whole);
void chela_forced_free(struct chela_forced *r);

#pragma GCC visibility pop
#endif
