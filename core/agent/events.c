/*
 * Tells listeners what happens in the agent. Emitting only appends to a queue; the listeners are
 * called from the top of the loop, so no stage is ever entered from inside another.
 */
#include "agent/events.h"

#include <json-c/json_object.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/mem.h"
#include "host/loop.h"

struct queued {
    struct link link;
    enum event_kind kind;
    char *session, *run;
    struct json_object *payload;
};

struct listener {
    void (*fn)(void *arg, const struct event *e);
    void *arg;
};

enum { LISTENERS = 8 };
static struct listener listeners[LISTENERS];
static unsigned listener_count;
static struct link queue = {&queue, &queue};
static bool deferred;

static void queued_free(struct queued *q)
{
    free(q->session);
    free(q->run);
    json_object_put(q->payload);
    free(q);
}

static void deliver(void *arg)
{
    (void)arg;
    deferred = false;
    while (!list_empty(&queue)) {
        struct queued *q = CONTAINER_OF(queue.next, struct queued, link);
        list_remove(&q->link);
        struct event e = {q->kind, q->session, q->run, q->payload};
        for (unsigned i = 0; i < listener_count; i++)
            listeners[i].fn(listeners[i].arg, &e);
        queued_free(q);
    }
}

void events_emit(enum event_kind kind, const char *session, const char *run,
                 struct json_object *payload)
{
    if (listener_count == 0) {
        json_object_put(payload);
        return;
    }
    struct queued *q = xcalloc(1, sizeof *q);
    q->kind = kind;
    q->session = xstrdup(session ? session : "");
    q->run = xstrdup(run ? run : "");
    q->payload = payload;
    list_append(&queue, &q->link);
    if (!deferred) {
        deferred = true;
        loop_defer(deliver, NULL);
    }
}

void events_listen(void (*fn)(void *arg, const struct event *e), void *arg)
{
    if (listener_count < LISTENERS)
        listeners[listener_count++] = (struct listener){fn, arg};
}

void events_reset(void)
{
    listener_count = 0;
    while (!list_empty(&queue)) {
        struct queued *q = CONTAINER_OF(queue.next, struct queued, link);
        list_remove(&q->link);
        queued_free(q);
    }
}
