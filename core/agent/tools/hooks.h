/*
 * Asks the hook instances, in the order of the configuration, at one of the fixed points. Called by
 * ingress.c, context.c, toolcall.c, outbox.c.
 */
#ifndef AGENT_HOOKS_H
#define AGENT_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

struct json_object;

struct hooks_result {
    bool blocked;     /* one said no, or failed at a point where that blocks */
    bool stop_after;  /* CHELA_AFTER_TOOL */
    const char *by;   /* the instance that blocked, or "" */
    const char *text; /* of NO: why; of CHANGE: the last hook's text; NULL if nobody changed it */
};

typedef void hooks_fn(void *owner, const struct hooks_result *r);

/* Is there any hook for this point? Without one a caller needn't build what it would be told. */
bool hooks_any(uint32_t point);
/*
 * One after the other. `json` is taken over; `key` names its member that a CHANGE replaces before
 * the next hook sees it (NULL: changes are joined by blank lines). fn comes from the top of the
 * loop if there are hooks, else at once. Returns a handle for hooks_forget(), 0 if fn was called.
 */
uint64_t hooks_ask(uint32_t point, const char *name, const char *session, struct json_object *json,
                   const char *key, hooks_fn *fn, void *owner);
void hooks_forget(uint64_t handle);

#endif
