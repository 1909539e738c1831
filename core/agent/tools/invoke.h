/*
 * One tool call outside of any turn, for /tools/invoke and tools.invoke: found, validated, judged
 * by hooks and policy like any other. Nobody is asked: what a person would have to allow is
 * refused. A service; it knows no run and writes no transcript.
 */
#ifndef AGENT_INVOKE_H
#define AGENT_INVOKE_H

#include <stdbool.h>

#include "base/error.h"

struct json_object;

struct invoke_request {
    const char *agent, *session; /* session: key */
    const char *tool;
    const char *arguments; /* JSON object as text */
    const char *channel;   /* who asks: of the call's source */
};

/* content: the tool's text (bounded as for a model); details may be NULL. error: it did not run
 * (DENIED, NOT_FOUND, ARGS ...). */
struct invoke_result {
    const char *content;
    bool is_error;
    struct json_object *details;
};
typedef void invoke_fn(void *owner, const struct invoke_result *r, const struct error *e);

/* Returns a handle; fn comes later, once. */
struct invoke *invoke_begin(const struct invoke_request *q, invoke_fn *fn, void *owner);
/* The caller went away: the tool is cancelled, fn isn't called. */
void invoke_forget(struct invoke *v);

#endif
