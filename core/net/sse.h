/*
 * Decoder of server-sent events (HTML standard, section 9.2.6), fed with bytes cut anywhere. Used
 * by http.c; does no I/O, knows no network.
 */
#ifndef NET_SSE_H
#define NET_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chela/base.h>

#include "base/buf.h"

/* name: "message" unless the event says another; id: the last one that came, "" = none. Valid until
 * it returns. */
typedef void sse_event_fn(void *arg, struct chela_str name, struct chela_str data,
                          struct chela_str id);

struct sse {
    sse_event_fn *event;
    void *arg;
    size_t limit;      /* longest line, and longest data of an event */
    uint64_t retry_ms; /* what the server asked for, 0 = nothing */
    struct buf line, name, data, id;
    bool started, skip_lf, has_data;
};

void sse_open(struct sse *s, size_t limit, sse_event_fn *event, void *arg);
/* Decodes; invalid UTF-8 becomes U+FFFD. -1: something was longer than the limit; feed no more. */
int sse_feed(struct sse *s, const char *p, size_t n);
/* The stream ended well: an event that lacks its last empty line is told too. The standard would
 * drop it, but services exist that end so. -1 as above. */
int sse_end(struct sse *s);
void sse_close(struct sse *s);

#endif
