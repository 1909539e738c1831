/*
 * Decoder of server-sent events, a machine of lines: see sse.h.
 */
#include "net/sse.h"

#include <string.h>

#include "base/utf8.h"

void sse_open(struct sse *s, size_t limit, sse_event_fn *event, void *arg)
{
    memset(s, 0, sizeof *s);
    s->limit = limit;
    s->event = event;
    s->arg = arg;
}

void sse_close(struct sse *s)
{
    buf_free(&s->line);
    buf_free(&s->name);
    buf_free(&s->data);
    buf_free(&s->id);
}

/* Replaces what is not UTF-8. */
static void mend(struct buf *b)
{
    if (utf8_valid(b->p, b->n))
        return;
    struct buf good = {0};
    utf8_repair(&good, b->p, b->n);
    buf_free(b);
    *b = good;
}

static void dispatch(struct sse *s)
{
    if (s->has_data) {
        s->data.p[--s->data.n] = 0; /* the last line's end */
        mend(&s->data);
        mend(&s->name);
        s->event(s->arg, s->name.n ? buf_view(&s->name) : chela_s("message"), buf_view(&s->data),
                 buf_view(&s->id));
    }
    s->has_data = false;
    buf_clear(&s->data);
    buf_clear(&s->name);
}

static void set_retry(struct sse *s, const char *p, size_t n)
{
    uint64_t ms = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9' || ms > 1000000000u)
            return;
        ms = ms * 10 + (uint64_t)(p[i] - '0');
    }
    if (n)
        s->retry_ms = ms;
}

static int field(struct sse *s, const char *name, size_t name_n, const char *value, size_t n)
{
    if (name_n == 4 && memcmp(name, "data", 4) == 0) {
        if (s->data.n + n > s->limit)
            return -1;
        buf_add(&s->data, value, n);
        buf_char(&s->data, '\n');
        s->has_data = true;
    } else if (name_n == 5 && memcmp(name, "event", 5) == 0) {
        buf_clear(&s->name);
        buf_add(&s->name, value, n);
    } else if (name_n == 2 && memcmp(name, "id", 2) == 0) {
        if (!memchr(value, 0, n)) {
            buf_clear(&s->id);
            buf_add(&s->id, value, n);
            mend(&s->id);
        }
    } else if (name_n == 5 && memcmp(name, "retry", 5) == 0) {
        set_retry(s, value, n);
    }
    return 0;
}

static int line(struct sse *s, const char *p, size_t n)
{
    if (!s->started) {
        s->started = true;
        if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
            p += 3;
            n -= 3;
        }
    }
    if (n == 0) {
        dispatch(s);
        return 0;
    }
    const char *colon = memchr(p, ':', n);
    if (!colon)
        return field(s, p, n, "", 0);
    size_t name_n = (size_t)(colon - p), skip = name_n + 1;
    if (skip < n && p[skip] == ' ')
        skip++;
    return field(s, p, name_n, p + skip, n - skip); /* a comment has the name "" */
}

int sse_feed(struct sse *s, const char *p, size_t n)
{
    size_t at = 0;
    if (s->skip_lf && n) { /* a line ended in CR where the last piece did */
        s->skip_lf = false;
        at = p[0] == '\n';
    }
    while (at < n) {
        size_t end = at;
        while (end < n && p[end] != '\n' && p[end] != '\r')
            end++;
        if (s->line.n + (end - at) > s->limit + 16)
            return -1;
        if (end == n) {
            buf_add(&s->line, p + at, end - at);
            return 0;
        }
        int result;
        if (s->line.n) {
            buf_add(&s->line, p + at, end - at);
            result = line(s, s->line.p, s->line.n);
            buf_clear(&s->line);
        } else {
            result = line(s, p + at, end - at);
        }
        if (result < 0)
            return -1;
        at = end + 1;
        if (p[end] == '\r') {
            if (at == n)
                s->skip_lf = true;
            else if (p[at] == '\n')
                at++;
        }
    }
    return 0;
}

int sse_end(struct sse *s)
{
    int result = 0;
    if (s->line.n)
        result = line(s, s->line.p, s->line.n);
    buf_clear(&s->line);
    if (result == 0)
        dispatch(s);
    return result;
}
