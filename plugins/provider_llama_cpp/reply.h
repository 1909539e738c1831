/*
 * What a bare completion holds: thinking in tags of the model's own, then text, or the one JSON
 * object that a schema has forced.
 */
#ifndef PROVIDER_LLAMA_CPP_REPLY_H
#define PROVIDER_LLAMA_CPP_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "support/stream.h"

/* The members of the object that is forced: {"response": "text"} or {"tool_calls": [{"name",
 * "arguments"}]}. */
#define REPLY_TEXT  "response"
#define REPLY_CALLS "tool_calls"

enum reply_state {
    REPLY_BEGIN,
    REPLY_THINKING,
    REPLY_PLAIN,
    REPLY_OBJECT,
    REPLY_STRING,
    REPLY_OVER
};

struct reply {
    bool forced; /* the answer is such an object */
    enum reply_state state;
    char *held; /* what can't be told apart yet */
    size_t length;
};

/* thinking: the prompt has opened the tag already. */
void reply_open(struct reply *r, bool forced, bool thinking);
void reply_feed(struct reply *r, struct chela_stream *s, const char *text, size_t length);
/* The answer is over; whole: it was not cut off. */
void reply_end(struct reply *r, struct chela_stream *s, bool whole);
void reply_free(struct reply *r);

#endif
