/*
 * See worklist.h. What is added while a run goes on waits for the next one, so that a run ends.
 */
#include "host/worklist.h"

#include "host/loop.h"

void worklist_open(struct worklist *w)
{
    list_init(&w->due);
    list_init(&w->blocked);
}

void worklist_add(struct worklist *w, struct link *element)
{
    list_remove(element);
    list_append(&w->due, element);
    loop_again();
}

static void move_all(struct link *from, struct link *to)
{
    LIST_EACH(l, from)
    {
        list_remove(l);
        list_append(to, l);
    }
}

bool worklist_run(struct worklist *w, bool (*step)(struct link *element))
{
    struct link now;
    list_init(&now);
    move_all(&w->blocked, &now);
    move_all(&w->due, &now);
    while (!list_empty(&now)) {
        struct link *l = now.next;
        list_remove(l);
        if (!step(l) && list_empty(l)) /* it is still there, and was not added anew */
            list_append(&w->blocked, l);
    }
    return !list_empty(&w->due);
}
