/*
 * Doubly linked lists whose links live inside the elements. A list's head is a link of its own.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct link {
    struct link *prev, *next;
};

/* The struct of type `type` whose member `member` is at `pointer`. */
#define CONTAINER_OF(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static inline void list_init(struct link *head)
{
    head->prev = head->next = head;
}

static inline bool list_empty(const struct link *head)
{
    return head->next == head;
}

static inline void list_append(struct link *head, struct link *l)
{
    l->prev = head->prev;
    l->next = head;
    head->prev->next = l;
    head->prev = l;
}

/* Takes a link out; it is then a list of its own, so that removing it again does nothing. */
static inline void list_remove(struct link *l)
{
    l->prev->next = l->next;
    l->next->prev = l->prev;
    l->prev = l->next = l;
}

/* Visits all; the element visited may be removed. */
#define LIST_EACH(l, head)                                                                         \
    for (struct link *l = (head)->next, *l##_next = l->next; l != (head);                          \
         l = l##_next, l##_next = l->next)

#endif
