/*
 * What instances publish (see published.h). A list is one block of memory: the pairs, then their
 * texts; who holds it by published_get() keeps it alive.
 */
#include "host/published.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

enum { MOST_ITEMS = 10000, MOST_BYTES = 16 << 20 };

struct list {
    struct published seen; /* first: what others get leads back here */
    unsigned references;
    struct chela_pair items[];
};

static void (*on_change)(struct instance *in, uint32_t what);

void instance_on_change(void (*fn)(struct instance *in, uint32_t what))
{
    on_change = fn;
}

void published_tell(struct instance *in, uint32_t what)
{
    if (on_change)
        on_change(in, what);
}

static char *put(char *at, struct chela_str from, struct chela_str *to)
{
    if (from.n)
        memcpy(at, from.s, (size_t)from.n);
    at[from.n] = '\0';
    *to = (struct chela_str){at, from.n};
    return at + from.n + 1;
}

static struct list *copy(struct instance *in, const struct chela_publish *a)
{
    size_t bytes = 0, n = (size_t)a->items.n;
    for (size_t i = 0; i < n; i++)
        bytes += (size_t)(a->items.v[i].name.n + a->items.v[i].value.n) + 2;
    struct list *l = xmalloc(sizeof *l + n * sizeof l->items[0] + bytes);
    char *at = (char *)(l->items + n);
    for (size_t i = 0; i < n; i++) {
        at = put(at, a->items.v[i].name, &l->items[i].name);
        at = put(at, a->items.v[i].value, &l->items[i].value);
    }
    l->references = 1;
    l->seen = (struct published){a->revision, in, l->items, n};
    return l;
}

static bool too_large(const struct chela_publish *a)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < a->items.n && i < MOST_ITEMS; i++)
        bytes += a->items.v[i].name.n + a->items.v[i].value.n;
    return a->items.n > MOST_ITEMS || bytes > MOST_BYTES;
}

void published_take(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_publish *a = args;
    (void)id;
    const char *wrong = NULL;
    if (a->what == 0 || a->what >= PUBLISHED_KINDS)
        wrong = "a kind of list that this host doesn't know";
    else if (in->published[a->what] && in->published[a->what]->revision >= a->revision)
        wrong = "a revision that doesn't rise";
    else if (too_large(a))
        wrong = "more than 10,000 items or 16 MiB";
    if (wrong) {
        in->broken_rules++;
        log_error(instance_label(in), "published list %u with %s; it was dropped",
                  (unsigned)a->what, wrong);
        return;
    }
    struct published *before = in->published[a->what];
    in->published[a->what] = &copy(in, a)->seen;
    published_release(before);
    published_tell(in, a->what);
}

const struct published *published_get(struct instance *in, uint32_t what)
{
    if (what >= PUBLISHED_KINDS || !in->published[what])
        return NULL;
    CONTAINER_OF(in->published[what], struct list, seen)->references++;
    return in->published[what];
}

void published_release(const struct published *p)
{
    struct list *l = p ? CONTAINER_OF((void *)(uintptr_t)p, struct list, seen) : NULL;
    if (l && --l->references == 0)
        free(l);
}

void published_drop(struct instance *in)
{
    for (uint32_t what = 0; what < PUBLISHED_KINDS; what++) {
        published_release(in->published[what]);
        in->published[what] = NULL;
    }
}
