/*
 * The nearest name: what a person probably meant by a name that doesn't exist.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/* Begin with {.wanted = ...}, offer each name that exists; `name` is then the nearest one, or NULL
 * if none is near enough. Names are borrowed. */
struct nearest {
    const char *wanted;
    const char *name;
    size_t distance;
};

void nearest_offer(struct nearest *n, const char *name);
/* Letters to add, remove, replace or swap, letter case and the difference of '-' and '_' aside;
 * large for names above 64 bytes. */
size_t nearest_distance(const char *a, const char *b);

#endif
