/*
 * A binary heap of timers, and a map from handles to its elements (see timers.h). Called by loop.c.
 */
#include "host/timers.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

struct timer {
    uint64_t due, handle;
    size_t at; /* in the heap */
    void (*fn)(void *);
    void *arg;
};

static struct {
    struct timer **heap;
    size_t count, size;
    uint64_t last;
    struct map by_handle;
} all;

static bool before(const struct timer *a, const struct timer *b)
{
    return a->due != b->due ? a->due < b->due : a->handle < b->handle;
}

static void place(struct timer *t, size_t at)
{
    all.heap[at] = t;
    t->at = at;
}

static void rise(struct timer *t)
{
    size_t at = t->at;
    for (; at > 0 && before(t, all.heap[(at - 1) / 2]); at = (at - 1) / 2)
        place(all.heap[(at - 1) / 2], at);
    place(t, at);
}

static void sink(struct timer *t)
{
    size_t at = t->at;
    for (size_t child; (child = 2 * at + 1) < all.count; at = child) {
        if (child + 1 < all.count && before(all.heap[child + 1], all.heap[child]))
            child++;
        if (!before(all.heap[child], t))
            break;
        place(all.heap[child], at);
    }
    place(t, at);
}

static void take_out(struct timer *t)
{
    struct timer *last = all.heap[--all.count];
    if (last != t) {
        place(last, t->at);
        rise(last);
        sink(last);
    }
    map_remove_number(&all.by_handle, t->handle);
}

uint64_t timers_add(uint64_t due_ms, void (*fn)(void *), void *arg)
{
    struct timer *t = xcalloc(1, sizeof *t);
    *t = (struct timer){due_ms, ++all.last, all.count, fn, arg};
    if (all.count == all.size) {
        all.size = all.size ? all.size * 2 : 16;
        all.heap = xrealloc(all.heap, all.size * sizeof *all.heap);
    }
    all.count++;
    rise(t);
    map_set_number(&all.by_handle, t->handle, t);
    return t->handle;
}

void timers_stop(uint64_t handle)
{
    struct timer *t = map_get_number(&all.by_handle, handle);
    if (!t)
        return;
    take_out(t);
    free(t);
}

bool timers_next(uint64_t *ret_due_ms)
{
    if (all.count)
        *ret_due_ms = all.heap[0]->due;
    return all.count > 0;
}

bool timers_run(uint64_t now_ms)
{
    bool ran = false;
    uint64_t newest = all.last; /* one made by a callback waits for the next pass */
    while (all.count && all.heap[0]->due <= now_ms && all.heap[0]->handle <= newest) {
        struct timer *t = all.heap[0], fired = *t;
        take_out(t);
        free(t);
        fired.fn(fired.arg);
        ran = true;
    }
    return ran;
}

size_t timers_count(void)
{
    return all.count;
}

void timers_free(void)
{
    for (size_t i = 0; i < all.count; i++)
        free(all.heap[i]);
    free(all.heap);
    map_free(&all.by_handle, NULL);
    all.heap = NULL;
    all.count = all.size = 0;
}
