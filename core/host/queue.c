/*
 * The run queue (see queue.h). Filled by call_say.c (plugins in this process) and isolate.c (bytes
 * of a child); knows frames by their length only.
 */
#include "host/queue.h"

#include "host/loop.h"
#include "wire/frame.h"

enum { KEEP = 64 << 10 }; /* an empty buffer larger than this gives its memory back */

static struct {
    struct link busy;      /* inboxes with whole frames */
    struct link exhausted; /* those that have had their share of this pass */
    struct inbox *current; /* whose frame is being taken */
    struct buf orphan;     /* the frames of an inbox that was closed while one was taken */
} queue = {{&queue.busy, &queue.busy}, {&queue.exhausted, &queue.exhausted}, NULL, {0}};

void inbox_open(struct inbox *b, void (*take)(void *, const struct wire_frame *),
                void (*room)(void *), void *owner)
{
    *b = (struct inbox){.take = take, .room = room, .owner = owner};
    list_init(&b->link);
}

void inbox_close(struct inbox *b)
{
    list_remove(&b->link);
    if (queue.current == b) {
        queue.current = NULL;
        queue.orphan = b->now;
        b->now = (struct buf){0};
    }
    buf_free(&b->now);
    buf_free(&b->next);
    b->at = b->whole = 0;
}

size_t inbox_waiting(const struct inbox *b)
{
    return b->now.n - b->at + b->next.n;
}

void *inbox_room(struct inbox *b, size_t n)
{
    buf_reserve(&b->next, n);
    return b->next.p + b->next.n;
}

int inbox_filled(struct inbox *b, size_t n)
{
    b->next.n += n;
    size_t before = b->whole;
    int found;
    while ((found = wire_look(b->next.p + b->whole, b->next.n - b->whole)) == 1) {
        uint32_t length;
        memcpy(&length, b->next.p + b->whole, sizeof length);
        b->whole += length;
    }
    if (b->whole > before) {
        if (b->link.next == &b->link && queue.current != b)
            list_append(&queue.busy, &b->link);
        loop_again();
    }
    return found;
}

void inbox_cut(struct inbox *b)
{
    b->next.n = b->whole;
}

bool inbox_hungry(const struct inbox *b)
{
    return b->at == b->now.n && b->whole == 0;
}

static void release(struct buf *b)
{
    if (b->size > KEEP)
        buf_free(b);
    else
        buf_clear(b);
}

/* Makes `next` the buffer to work off; a piece of a frame at its end stays behind. */
static bool turn_over(struct inbox *b)
{
    if (b->at < b->now.n)
        return true;
    release(&b->now);
    b->at = 0;
    if (b->whole == 0)
        return false;
    struct buf empty = b->now;
    b->now = b->next;
    b->next = empty;
    if (b->now.n > b->whole)
        buf_add(&b->next, b->now.p + b->whole, b->now.n - b->whole);
    b->now.n = b->whole;
    b->whole = 0;
    return true;
}

/* Takes frames up to the inbox's share. False: the inbox was closed meanwhile. */
static bool work_off(struct inbox *b)
{
    queue.current = b;
    while (b->taken < QUEUE_PASS && turn_over(b)) {
        const struct wire_frame *f = (const void *)(b->now.p + b->at);
        b->at += f->length;
        b->taken++;
        b->take(b->owner, f);
        if (queue.current != b)
            break;
    }
    if (queue.current == b && b->room)
        b->room(b->owner);
    bool open = queue.current == b;
    queue.current = NULL;
    buf_free(&queue.orphan);
    return open;
}

static bool drain(void)
{
    while (!list_empty(&queue.busy)) {
        struct inbox *b = CONTAINER_OF(queue.busy.next, struct inbox, link);
        list_remove(&b->link);
        if (b->pass != loop_pass()) {
            b->pass = loop_pass();
            b->taken = 0;
        }
        if (!work_off(b))
            continue;
        if (turn_over(b))
            list_append(b->taken < QUEUE_PASS ? &queue.busy : &queue.exhausted, &b->link);
    }
    bool left = !list_empty(&queue.exhausted);
    LIST_EACH(l, &queue.exhausted)
    {
        list_remove(l);
        list_append(&queue.busy, l);
    }
    return left;
}

void queue_open(void)
{
    loop_before_poll(drain);
}
