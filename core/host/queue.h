/*
 * The run queue: what plugins say waits here as a row of encoded frames until the loop gets to it.
 * Drained before each poll, round-robin, at most QUEUE_PASS frames of an inbox in one pass; what
 * that makes possible is done in the same pass.
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

/* The frames of one owner (an instance, or a child for all of its instances). Two buffers: the
 * frames being worked off lie still while new ones are appended. */
struct inbox {
    struct link link; /* among those with work */
    struct buf now;   /* being worked off, from `at` on */
    size_t at;
    struct buf next; /* whole frames up to `whole`, perhaps a piece of one more behind */
    size_t whole;
    uint64_t pass; /* in which `taken` frames were taken */
    unsigned taken;
    /* Works off a frame, which stays until it returns. From the top of the loop, never nested. */
    void (*take)(void *owner, const struct wire_frame *f);
    void (*room)(void *owner); /* NULL, or told when frames have been taken */
    void *owner;
};

/* Call queue_open() once before, after loop_open(). */
void queue_open(void);

void inbox_open(struct inbox *b, void (*take)(void *, const struct wire_frame *),
                void (*room)(void *), void *owner);
/* What waits is dropped. Allowed while one of its frames is being taken. */
void inbox_close(struct inbox *b);
/* Bytes that wait. */
size_t inbox_waiting(const struct inbox *b);
/* Room for n bytes behind `next`; who has written there says how many, see inbox_filled. */
void *inbox_room(struct inbox *b, size_t n);
/* n more bytes stand in `next`. -1: they can't be a frame. */
int inbox_filled(struct inbox *b, size_t n);
/* Forgets the piece of a frame at the end, of which the rest will never come. */
void inbox_cut(struct inbox *b);
/* Whether `next` ends in a piece of a frame while nothing whole waits. */
bool inbox_hungry(const struct inbox *b);

#endif
