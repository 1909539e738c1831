/*
 * Decoder of lines: see lines.h.
 */
#include "base/lines.h"

#include <string.h>

#include "base/utf8.h"

void lines_open(struct lines *l, size_t limit, lines_fn *line, void *arg)
{
    memset(l, 0, sizeof *l);
    l->limit = limit;
    l->line = line;
    l->arg = arg;
}

void lines_close(struct lines *l)
{
    buf_free(&l->rest);
}

static void tell(struct lines *l, const char *p, size_t n)
{
    struct buf text = {0};
    if (n == 0 && !l->empty)
        return;
    /* a copy, so that it ends in NUL, as strings from the host do */
    if (utf8_valid(p, n))
        buf_add(&text, p, n);
    else
        utf8_repair(&text, p, n);
    buf_text(&text);
    l->line(l->arg, buf_view(&text));
    buf_free(&text);
}

/* A whole line, its CR included. */
static int whole(struct lines *l, const char *p, size_t n)
{
    if (n && p[n - 1] == '\r')
        n--;
    if (n > l->limit)
        return -1;
    tell(l, p, n);
    return 0;
}

/* Tells the front of a line that is too long, cut at a character. */
static void tell_front(struct lines *l)
{
    while (l->rest.n > l->limit + (l->rest.p[l->rest.n - 1] == '\r')) {
        size_t n = utf8_cut(l->rest.p, l->rest.n, l->limit);
        n = n ? n : l->limit;
        tell(l, l->rest.p, n);
        buf_consume(&l->rest, n);
    }
}

int lines_feed(struct lines *l, const char *p, size_t n)
{
    const char *end = p + n;
    while (p < end) {
        const char *lf = memchr(p, '\n', (size_t)(end - p));
        size_t length = (size_t)((lf ? lf : end) - p);
        if (l->rest.n + length > l->limit + 1 && !l->cut)
            return -1;
        int result = 0;
        if (lf && !l->rest.n && length <= l->limit) {
            result = whole(l, p, length);
        } else {
            buf_add(&l->rest, p, length);
            if (l->cut)
                tell_front(l);
            if (lf) {
                result = whole(l, l->rest.p, l->rest.n);
                buf_clear(&l->rest);
            }
        }
        if (result < 0)
            return -1;
        p += length + (lf ? 1 : 0);
    }
    return 0;
}

void lines_end(struct lines *l)
{
    if (l->rest.n)
        whole(l, l->rest.p, l->rest.n); /* one that is too long by its last byte is dropped */
    buf_clear(&l->rest);
}
