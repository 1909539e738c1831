/*
 * Results of tools as a model gets them: bounded, with head and tail and the place of the whole.
 */
#ifndef AGENT_RESULT_H
#define AGENT_RESULT_H

#include <stddef.h>

struct json_object;

/* The text, or its head and tail with a line between that says how much is missing and under which
 * blob the whole is kept. Free it. */
char *result_bound(const char *text, size_t n, size_t limit);
/* {"type":"toolResult","callId","name","content":[{"type":"text","text"}],"isError"}; owned by the
 * caller. images: array of {"hash","mime"} or NULL. */
struct json_object *result_part(const char *call, const char *name, const char *text, int is_error,
                                struct json_object *images);

#endif
