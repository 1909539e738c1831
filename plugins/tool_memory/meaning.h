/* What meaning.c and alike.c share: how vectors stand in the store, and how one is made small. */
#ifndef TOOL_MEMORY_MEANING_H
#define TOOL_MEMORY_MEANING_H

#include "memory.h"

/* Begins both kinds of values: "v/DOCUMENT" the vectors, "s/DOCUMENT" their signs. Then for each
 * part its name and a float, the scale, with a byte for each number; or the signs. */
struct head {
    uint64_t model;
    uint32_t numbers, count;
};

/* False: it is no value of the model that counts. */
bool meaning_head(struct memory *m, struct chela_str value, bool signs, struct head *h);
/* A vector of n numbers as its scale and bytes, and as its signs. */
bool meaning_shrink(json_object *numbers, uint32_t n, char *out, uint64_t *bits);
/* The provider does not answer: it is left alone for a while. */
void meaning_failed(struct memory *m, const struct chela_done *d);

#endif
