/*
 * Feeds the decoders of event streams and of lines any bytes, whole and cut in two: both ways must
 * give the same, and nothing may come out that is longer than the limit or not UTF-8.
 */
#include "net/sse.h"

#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/utf8.h"

enum { LIMIT = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
    if (!truth)
        abort();
}

static void add(struct buf *out, struct chela_str s)
{
    must(utf8_valid(s.s, s.n) && s.n <= 3 * (LIMIT + 16)); /* U+FFFD is three bytes */
    buf_str(out, s);
    buf_char(out, '\x01');
}

static void on_event(void *arg, struct chela_str name, struct chela_str data, struct chela_str id)
{
    add(arg, name);
    add(arg, data);
    add(arg, id);
}

static void on_line(void *arg, struct chela_str line)
{
    add(arg, line);
}

static int events(const char *p, size_t n, size_t cut, struct buf *out)
{
    struct sse s;
    sse_open(&s, LIMIT, on_event, out);
    int result = sse_feed(&s, p, cut);
    if (result == 0)
        result = sse_feed(&s, p + cut, n - cut);
    if (result == 0)
        result = sse_end(&s);
    sse_close(&s);
    return result;
}

static int lines(const char *p, size_t n, size_t cut, bool pieces, struct buf *out)
{
    struct lines l;
    lines_open(&l, LIMIT, on_line, out);
    l.cut = pieces;
    l.empty = pieces;
    int result = lines_feed(&l, p, cut);
    if (result == 0)
        result = lines_feed(&l, p + cut, n - cut);
    must(result == 0 || !pieces);
    if (result == 0)
        lines_end(&l);
    lines_close(&l);
    return result;
}

static void same(int a, int b, struct buf *x, struct buf *y)
{
    must(a == b);
    if (a == 0) /* after an error what came before may differ */
        must(x->n == y->n && (x->n == 0 || memcmp(x->p, y->p, x->n) == 0));
    buf_free(x);
    buf_free(y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data;
    struct buf one = {0}, two = {0};
    size_t cut = size ? data[0] % (size + 1) : 0;
    same(events(p, size, size, &one), events(p, size, cut, &two), &one, &two);
    same(lines(p, size, size, false, &one), lines(p, size, cut, false, &two), &one, &two);
    struct buf all = {0};
    lines(p, size, cut, true, &all);
    buf_free(&all);
    return 0;
}
