/* Turn view tools: the tool calls of a turn, one line each: what, state, time. The other half of
 * turn_view.c; these functions are called by it alone. */
#ifndef CLI_TURN_VIEW_TOOLS_H
#define CLI_TURN_VIEW_TOOLS_H

#include "cli/turn_view.h"

/* An event of stream "tool". */
void turn_view_tools_event(struct turn_view *reply, json_object *data);
/* A call has begun or ceased to wait for a person. */
void turn_view_tools_waiting(struct turn_view *reply, const char *id, bool waiting);
/* The turn is over: calls that are still open are printed as such. */
void turn_view_tools_end(struct turn_view *reply);
void turn_view_tools_rows(struct turn_view *reply, struct rows *rows);
void turn_view_tools_free(struct turn_view *reply);

/* In turn_view.c. */
void turn_view_gap(struct turn_view *reply, enum reply_part next);
void turn_view_text_done(struct turn_view *reply);
void turn_view_thinking_done(struct turn_view *reply);

#endif
