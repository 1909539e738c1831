/*
 * Allocation that never fails: without memory the process says so and aborts. Whoever takes sizes
 * from outside bounds them first.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *xmalloc(size_t n);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t n);
char *xstrdup(const char *s);           /* NULL gives NULL */
char *xmemdup(const void *p, size_t n); /* a copy with a NUL behind it */
char *xprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For local pointers: CLEANUP(freep) char *p = ...; */
#define CLEANUP(fn) __attribute__((cleanup(fn)))
void freep(void *pointer_to_pointer);

#define ARRAY_LENGTH(a) (sizeof(a) / sizeof((a)[0]))

#endif
