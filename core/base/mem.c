/*
 * Allocation that never fails (see mem.h). Called by everybody; knows nothing of anybody.
 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void out_of_memory(size_t n)
{
    fprintf(stderr, "chela: out of memory (%zu bytes wanted)\n", n);
    abort();
}

void *xmalloc(size_t n)
{
    void *p = malloc(n ? n : 1);
    if (!p)
        out_of_memory(n);
    return p;
}

void *xcalloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p)
        out_of_memory(count);
    return p;
}

void *xrealloc(void *p, size_t n)
{
    void *r = realloc(p, n ? n : 1);
    if (!r)
        out_of_memory(n);
    return r;
}

char *xmemdup(const void *p, size_t n)
{
    if (n == SIZE_MAX)
        out_of_memory(n);
    char *r = xmalloc(n + 1);
    if (n)
        memcpy(r, p, n);
    r[n] = '\0';
    return r;
}

char *xstrdup(const char *s)
{
    return s ? xmemdup(s, strlen(s)) : NULL;
}

char *xprintf(const char *format, ...)
{
    char *r = NULL;
    va_list ap;
    va_start(ap, format);
    int n = vasprintf(&r, format, ap);
    va_end(ap);
    if (n < 0)
        out_of_memory(strlen(format));
    return r;
}

void freep(void *pointer_to_pointer)
{
    void *p;
    memcpy(&p, pointer_to_pointer, sizeof p);
    free(p);
}
