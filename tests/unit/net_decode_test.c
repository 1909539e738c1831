/* The decoders of server-sent events and of lines, each case at every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/mem.h"
#include "net/sse.h"

/* Events as text: name|id|data; one after the other. */
static void note_event(void *arg, struct chela_str name, struct chela_str data, struct chela_str id)
{
    struct buf *out = arg;
    buf_str(out, name);
    buf_char(out, '|');
    buf_str(out, id);
    buf_char(out, '|');
    buf_str(out, data);
    buf_char(out, ';');
    assert_int_equal(data.s[data.n], 0);
}

static void note_line(void *arg, struct chela_str line)
{
    struct buf *out = arg;
    buf_str(out, line);
    buf_char(out, ';');
    assert_int_equal(line.s[line.n], 0);
}

struct sse_case {
    const char *in;
    size_t n;
    const char *events;
    bool end; /* the stream ends well behind it */
};

#define CASE(text, events)                                                                         \
    {                                                                                              \
        text, sizeof(text) - 1, events, false                                                      \
    }
#define CASE_END(text, events)                                                                     \
    {                                                                                              \
        text, sizeof(text) - 1, events, true                                                       \
    }

static const struct sse_case sse_cases[] = {
    CASE("data: one\n\n", "message||one;"),
    CASE("data: one\r\n\r\n", "message||one;"),
    CASE("data: one\r\r", "message||one;"),
    CASE("data: one\r\n\n", "message||one;"),
    CASE("data: one\r\ndata: two\rdata: three\n\n", "message||one\ntwo\nthree;"),
    CASE("data:one\n\ndata:two\n\n", "message||one;message||two;"),
    CASE("data:  two blanks\n\n", "message|| two blanks;"),
    CASE("data:\n\n", "message||;"),
    CASE("data\n\n", "message||;"),
    CASE("data\ndata\n\n", "message||\n;"),
    CASE("data: a\n\n\n\n\ndata: b\n\n", "message||a;message||b;"),
    CASE("\n\n\n", ""),
    CASE("event: x\n\n", ""),
    CASE("event: x\n\ndata: y\n\n", "message||y;"), /* the name doesn't outlive its event */
    CASE("event: x\ndata: y\n\ndata: z\n\n", "x||y;message||z;"),
    CASE("event: a\nevent: b\ndata: c\n\n", "b||c;"),
    CASE("event:\ndata: c\n\n", "message||c;"),
    CASE("id: 7\ndata: a\n\ndata: b\n\n", "message|7|a;message|7|b;"),
    CASE("id: 7\ndata: a\n\nid\ndata: b\n\n", "message|7|a;message||b;"),
    CASE("id: a\0b\ndata: x\n\n", "message||x;"),
    CASE("id: 1\n\nid: 2\ndata: x\n\n", "message|2|x;"),
    CASE(": comment\ndata: a\n: another\ndata: b\n\n", "message||a\nb;"),
    CASE(":\n\n:\n\n", ""),
    CASE("unknown: x\ndata: a\nData: b\n data: c\n\n", "message||a;"),
    CASE("data: a:b: c\n\n", "message||a:b: c;"),
    CASE("\xef\xbb\xbf"
         "data: bom\n\n",
         "message||bom;"),
    CASE("data: a\n\xef\xbb\xbf"
         "data: b\n\n",
         "message||a;"),
    CASE("\xef\xbb\xbf\xef\xbb\xbf"
         "data: b\n\n",
         ""),
    CASE("data: \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80\n\n",
         "message||\xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80;"),
    CASE("data: bad \xff\xc3(\n\n", "message||bad \xef\xbf\xbd\xef\xbf\xbd(;"),
    CASE("data: never ended\n", ""),
    CASE("data: a\n\ndata: never ended", "message||a;"),
    CASE_END("data: a\n\ndata: b\n", "message||a;message||b;"),
    CASE_END("data: a\n\ndata: b", "message||a;message||b;"),
    CASE_END("data: a\r\n\r", "message||a;"),
    CASE_END("event: x", ""),
    CASE("retry: 10\ndata: x\n\n", "message||x;"),
    CASE("data: \0\n\n", NULL),
};

static void feed_cut(const struct sse_case *c, size_t cut, size_t cut2)
{
    struct buf got = {0};
    struct sse s;
    sse_open(&s, 100, note_event, &got);
    assert_int_equal(sse_feed(&s, c->in, cut), 0);
    assert_int_equal(sse_feed(&s, c->in + cut, cut2 - cut), 0);
    assert_int_equal(sse_feed(&s, c->in + cut2, c->n - cut2), 0);
    if (c->end)
        assert_int_equal(sse_end(&s), 0);
    if (c->events)
        assert_string_equal(buf_text(&got), c->events);
    else
        assert_memory_equal(got.p, "message||\0;", got.n);
    sse_close(&s);
    buf_free(&got);
}

static void events_come_out_the_same_at_every_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(sse_cases); i++)
        for (size_t cut = 0; cut <= sse_cases[i].n; cut++)
            for (size_t cut2 = cut; cut2 <= sse_cases[i].n; cut2++)
                feed_cut(&sse_cases[i], cut, cut2);
}

static void events_come_out_the_same_byte_by_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(sse_cases); i++) {
        struct buf got = {0};
        struct sse s;
        sse_open(&s, 100, note_event, &got);
        for (size_t k = 0; k < sse_cases[i].n; k++)
            assert_int_equal(sse_feed(&s, sse_cases[i].in + k, 1), 0);
        if (sse_cases[i].end)
            sse_end(&s);
        if (sse_cases[i].events)
            assert_string_equal(buf_text(&got), sse_cases[i].events);
        sse_close(&s);
        buf_free(&got);
    }
}

static void retry_takes_digits_only(void **state)
{
    struct buf got = {0};
    struct sse s;
    (void)state;
    sse_open(&s, 100, note_event, &got);
    sse_feed(&s, "retry: 1500\n", 12);
    assert_int_equal(s.retry_ms, 1500);
    sse_feed(&s, "retry: 2x\nretry: -1\nretry:\nretry: 99999999999999999999\n", 55);
    assert_int_equal(s.retry_ms, 1500);
    sse_close(&s);
    buf_free(&got);
}

static void events_are_bounded(void **state)
{
    struct buf got = {0};
    struct sse s;
    char text[300];
    (void)state;
    memset(text, 'x', sizeof text);
    sse_open(&s, 100, note_event, &got);
    assert_int_equal(sse_feed(&s, text, 200), -1); /* a line without an end */
    sse_close(&s);
    sse_open(&s, 100, note_event, &got);
    assert_int_equal(sse_feed(&s, text, 60), 0);
    assert_int_equal(sse_feed(&s, text, 60), -1);
    sse_close(&s);
    sse_open(&s, 100, note_event, &got); /* many lines of one event */
    int result = 0;
    for (int i = 0; i < 20 && result == 0; i++)
        result = sse_feed(&s, "data: 0123456789\n", 17);
    assert_int_equal(result, -1);
    sse_close(&s);
    buf_free(&got);
}

static void ten_thousand_events_pass(void **state)
{
    struct buf in = {0}, got = {0};
    struct sse s;
    (void)state;
    for (int i = 0; i < 10000; i++)
        buf_printf(&in, "event: delta\ndata: {\"i\":%d}\n\n", i);
    sse_open(&s, 1000, note_event, &got);
    for (size_t at = 0; at < in.n; at += 777)
        assert_int_equal(sse_feed(&s, in.p + at, in.n - at < 777 ? in.n - at : 777), 0);
    unsigned n = 0;
    for (const char *p = buf_text(&got); (p = strchr(p, ';')); p++)
        n++;
    assert_int_equal(n, 10000);
    sse_close(&s);
    buf_free(&in);
    buf_free(&got);
}

struct line_case {
    const char *in;
    size_t n;
    const char *plain; /* empty lines left out, too long ones an error (NULL) */
    const char *all;   /* empty lines kept, long ones in pieces */
};

static const struct line_case line_cases[] = {
    {"a\nb\n", 4, "a;b;", "a;b;"},
    {"a\r\nb\r\n", 6, "a;b;", "a;b;"},
    {"a\rb\n", 4, "a\rb;", "a\rb;"},
    {"\n\na\n\n", 5, "a;", ";;a;;"},
    {"a\nb", 3, "a;b;", "a;b;"},
    {"{\"a\":1}\n{\"b\":2}\n", 16, "{\"a\":1};{\"b\":2};", "{\"a\":1};{\"b\":2};"},
    {"\xff\n", 2, "\xef\xbf\xbd;", "\xef\xbf\xbd;"},
    {"0123456789\n", 11, "0123456789;", "0123456789;"},
    {"0123456789\r\n", 12, "0123456789;", "0123456789;"},
    {"0123456789a\n", 12, NULL, "0123456789;a;"},
    {"0123456789a\r\n", 13, NULL, "0123456789;a;"},
    {"0123456789abc\nd\n", 16, NULL, "0123456789;abc;d;"},
    {"12345678\xe6\x97\xa5x\n", 13, NULL, "12345678;\xe6\x97\xa5x;"},
};

static void lines_come_out_the_same_at_every_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(line_cases); i++)
        for (size_t cut = 0; cut <= line_cases[i].n; cut++)
            for (int all = 0; all < 2; all++) {
                const struct line_case *c = &line_cases[i];
                struct buf got = {0};
                struct lines l;
                lines_open(&l, 10, note_line, &got);
                l.cut = l.empty = all;
                int result = lines_feed(&l, c->in, cut);
                if (result == 0)
                    result = lines_feed(&l, c->in + cut, c->n - cut);
                lines_end(&l);
                if (all || c->plain) {
                    assert_int_equal(result, 0);
                    assert_string_equal(buf_text(&got), all ? c->all : c->plain);
                } else {
                    assert_int_equal(result, -1);
                }
                lines_close(&l);
                buf_free(&got);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_out_the_same_at_every_cut),
        cmocka_unit_test(events_come_out_the_same_byte_by_byte),
        cmocka_unit_test(retry_takes_digits_only),
        cmocka_unit_test(events_are_bounded),
        cmocka_unit_test(ten_thousand_events_pass),
        cmocka_unit_test(lines_come_out_the_same_at_every_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
