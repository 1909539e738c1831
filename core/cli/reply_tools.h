/* Reply tools: the tool calls of a turn, one line each: what, state, time. The other half of
 * reply.c; these functions are called by it alone. */
#ifndef CLI_REPLY_TOOLS_H
#define CLI_REPLY_TOOLS_H

#include "cli/reply.h"

/* An event of stream "tool". */
void reply_tools_event(struct reply *reply, json_object *data);
/* A call has begun or ceased to wait for a person. */
void reply_tools_waiting(struct reply *reply, const char *id, bool waiting);
/* The turn is over: calls that are still open are printed as such. */
void reply_tools_end(struct reply *reply);
void reply_tools_rows(struct reply *reply, struct rows *rows);
void reply_tools_free(struct reply *reply);

/* In reply.c. */
void reply_gap(struct reply *reply, enum reply_part next);
void reply_text_done(struct reply *reply);
void reply_thinking_done(struct reply *reply);

#endif
