/*
 * A growing buffer of bytes (see buf.h).
 */
#include "base/buf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void buf_reserve(struct buf *b, size_t more)
{
    size_t want = b->n + more + 1;
    if (want <= b->size)
        return;
    size_t size = b->size ? b->size : 64;
    while (size < want)
        size = size > SIZE_MAX / 2 ? want : size * 2;
    b->p = xrealloc(b->p, size);
    b->size = size;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    buf_reserve(b, n);
    if (n)
        memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

void buf_char(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_puts(struct buf *b, const char *s)
{
    if (s)
        buf_add(b, s, strlen(s));
}

void buf_str(struct buf *b, struct chela_str s)
{
    buf_add(b, s.s, (size_t)s.n);
}

void buf_vprintf(struct buf *b, const char *format, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, format, ap);
    if (n > 0) {
        buf_reserve(b, (size_t)n);
        vsnprintf(b->p + b->n, (size_t)n + 1, format, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    buf_vprintf(b, format, ap);
    va_end(ap);
}

void buf_consume(struct buf *b, size_t n)
{
    if (n >= b->n) {
        buf_clear(b);
        return;
    }
    memmove(b->p, b->p + n, b->n - n + 1);
    b->n -= n;
}

const char *buf_text(struct buf *b)
{
    buf_reserve(b, 0);
    b->p[b->n] = '\0';
    return b->p;
}

struct chela_str buf_view(const struct buf *b)
{
    return chela_sn(b->p, b->n);
}

char *buf_take(struct buf *b)
{
    char *p = b->p ? b->p : xmemdup("", 0);
    *b = (struct buf){0};
    return p;
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    if (b->p)
        b->p[0] = '\0';
}

void buf_free(struct buf *b)
{
    free(b->p);
    *b = (struct buf){0};
}
