/*
 * What is done just before the loop sleeps, one element after the other: elements for which
 * something has come up, and those whose consumer had no room, which are asked again in each pass.
 * For the owners of connections and processes; knows nothing of either.
 */
#ifndef HOST_WORKLIST_H
#define HOST_WORKLIST_H

#include "base/list.h"

struct worklist {
    struct link due, blocked;
};

void worklist_open(struct worklist *w);

/* The element is looked at in this pass (again). Its link is a list of its own at first. */
void worklist_add(struct worklist *w, struct link *element);

/* For the function given to loop_before_poll, whose result this is. `step` does what is due for an
 * element and may free it or add others; false: its consumer has no room. */
bool worklist_run(struct worklist *w, bool (*step)(struct link *element));

#endif
