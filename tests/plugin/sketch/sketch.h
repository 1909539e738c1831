/*
 * Plugins of the kinds that ask most of the SDK, as small as they can be: their services speak
 * words and lines instead of JSON, the rest is as in a real one. tests/unit/sketch_test.c plays
 * their services, in the same process and from a child.
 */
#ifndef TESTS_SKETCH_H
#define TESTS_SKETCH_H

#include <chela/chela.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

extern const struct chela_iface gateway_iface;  /* WebSocket with heartbeat and resume */
extern const struct chela_iface poller_iface;   /* offset moves once messages are stored */
extern const struct chela_iface webhook_iface;  /* signature over the raw body */
extern const struct chela_iface changing_iface; /* tools that change while a call runs */
extern const struct chela_iface asking_iface;   /* a router that asks a model */
extern const struct chela_iface netstore_iface; /* a store across a network */

/* The n-th word of a line, "" if there is none; good until the next call but three. */
static inline const char *word(struct chela_str line, unsigned n)
{
    static char words[4][256];
    static unsigned turn;
    char *to = words[turn++ % 4];
    const char *p = line.s, *end = line.s + line.n;
    for (;;) {
        const char *stop = p;
        while (stop < end && *stop != ' ' && *stop != '\n')
            stop++;
        if (n-- == 0 || stop == end) {
            snprintf(to, 256, "%.*s", n == (unsigned)-1 ? (int)(stop - p) : 0, p);
            return to;
        }
        p = stop + 1;
    }
}

static inline char *copy(const char *s)
{
    size_t n = strlen(s) + 1;
    char *r = malloc(n);
    if (r)
        memcpy(r, s, n);
    return r;
}

#endif
