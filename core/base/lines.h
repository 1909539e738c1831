/*
 * Decoder of lines (NDJSON, output of processes), fed with bytes cut anywhere. A line ends in LF or
 * CRLF. Used by core/net and core/proc; does no I/O.
 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include <chela/base.h>

#include "base/buf.h"

typedef void lines_fn(void *arg,
                      struct chela_str line); /* without its end; valid until it returns */

struct lines {
    lines_fn *line;
    void *arg;
    size_t limit;
    bool cut;   /* longer lines are told in pieces; else they are an error */
    bool empty; /* empty lines are told */
    struct buf rest;
};

void lines_open(struct lines *l, size_t limit, lines_fn *line, void *arg);
/* -1: a line was longer than the limit; feed no more. Invalid UTF-8 becomes U+FFFD. */
int lines_feed(struct lines *l, const char *p, size_t n);
void lines_end(struct lines *l); /* tells a last line that has no end */
void lines_close(struct lines *l);

#endif
