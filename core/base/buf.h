/*
 * A growing buffer of bytes. `p` is NUL-terminated once anything was added; never NULL after
 * buf_text(). Zero-initialise it ({0}) to begin.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

#include <chela/base.h>

struct buf {
    char *p;
    size_t n, size;
};

void buf_reserve(struct buf *b, size_t more);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_char(struct buf *b, char c);
void buf_puts(struct buf *b, const char *s);
void buf_str(struct buf *b, struct chela_str s);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *format, va_list ap)
    __attribute__((format(printf, 2, 0)));
/* Takes n bytes away from the front. */
void buf_consume(struct buf *b, size_t n);
/* The text, "" if nothing was added; stays the buffer's. */
const char *buf_text(struct buf *b);
/* The bytes as a view that lives until the buffer changes. */
struct chela_str buf_view(const struct buf *b);
/* Hands the memory over to the caller (free it), the buffer is empty afterwards. */
char *buf_take(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory */
void buf_free(struct buf *b);  /* for CLEANUP too */

#endif
