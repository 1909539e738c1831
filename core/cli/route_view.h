/* Route view: a decision about models as lines of text, the same in `chela route explain` and in
 * `chela trace`. */
#ifndef CLI_ROUTE_VIEW_H
#define CLI_ROUTE_VIEW_H

#include <json-c/json_object.h>
#include <stddef.h>

/* What each router said, a line each. */
void route_view_routers(json_object *routers, const char *indent);
/* "1. provider/model  by NAME: reason" */
void route_view_candidate(json_object *candidate, size_t index, const char *indent);
/* The decisions of a turn, in their order. */
void route_view_decisions(json_object *decisions);

#endif
