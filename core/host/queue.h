/*
 * The run queue: what plugins say waits here as a row of encoded frames until the loop gets to it.
 * Drained before each poll, round-robin, at most 64 frames of an inbox in one pass; what that makes
 * possible is done in the same pass.
 */
#ifndef HOST_QUEUE_H
#define HOST_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"

struct wire_frame;

enum { QUEUE_PASS = 64, QUEUE_LIMIT = 4 << 20 };

/* Whole frames of one owner (an instance, or a child for all of its instances). Two buffers: the
 * frames being worked off lie still while new ones are appended. */
struct inbox {
    struct link link; /* among those with work; links to itself otherwise */
    struct buf now;   /* being worked off, from `at` on */
    size_t at;
    struct buf next; /* whole frames up to `whole`, perhaps a piece of one more behind */
    size_t whole;
    unsigned taken; /* frames of this pass */
    /* Works off a frame; runs on the loop, from the top. */
    void (*take)(void *owner, const struct wire_frame *f);
    void (*room)(void *owner); /* NULL, or told after a pass that took something */
    void *owner;
};

void inbox_open(struct inbox *b, void (*take)(void *, const struct wire_frame *),
                void (*room)(void *), void *owner);
void inbox_close(struct inbox *b); /* frees; what waits is dropped */
/* Bytes that wait. */
size_t inbox_waiting(const struct inbox *b);
/* Announces that `next` has grown: counts the whole frames in it. -1: it holds something that can't
 * be a frame. */
int inbox_filled(struct inbox *b);

void queue_open(void); /* after loop_open; registers with it */
void queue_close(void);

#endif
