/*
 * The table of functions and the frames: every function's arguments go there and come back, older
 * and newer senders are understood, damaged frames are refused and touch nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"

enum { DAMAGED_FRAMES = 300000 };

static uint64_t state; /* xorshift, seeded by each test */

static uint64_t random_number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* ---- arguments filled at random ---- */

struct filled {
    unsigned char args[WIRE_ARGS_MAX];
    void *blocks[256];
    unsigned count;
};

static void *block(struct filled *f, size_t n)
{
    void *p = calloc(1, n ? n : 1);
    assert_non_null(p);
    assert_true(f->count < 256);
    f->blocks[f->count++] = p;
    return p;
}

static struct chela_str random_str(struct filled *f)
{
    size_t n = (size_t)(random_number() % 20);
    if (n == 19)
        return (struct chela_str){NULL, 0};
    char *p = block(f, n);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)random_number();
    return (struct chela_str){p, n};
}

static void fill_field(struct filled *f, const struct wire_field *field)
{
    void *p = f->args + field->offset;
    uint64_t n = random_number() % 4;
    switch (field->type) {
    case WIRE_U32: *(uint32_t *)p = (uint32_t)random_number(); break;
    case WIRE_U64: *(uint64_t *)p = random_number(); break;
    case WIRE_STR: *(struct chela_str *)p = random_str(f); break;
    case WIRE_PAIRS: {
        struct chela_pair *v = block(f, n * sizeof *v);
        for (uint64_t i = 0; i < n; i++)
            v[i] = (struct chela_pair){random_str(f), random_str(f)};
        *(struct chela_pairs *)p = (struct chela_pairs){v, n};
        break;
    }
    case WIRE_VALUES: {
        struct chela_value *v = block(f, n * sizeof *v);
        for (uint64_t i = 0; i < n; i++)
            v[i] = (struct chela_value){(uint32_t)random_number() % 6, 0, (int64_t)random_number(),
                                        (double)(random_number() % 1000) / 8, random_str(f)};
        *(struct chela_values *)p = (struct chela_values){v, n};
        break;
    }
    case WIRE_ZERO: break;
    }
}

static void fill(struct filled *f, const struct wire_args *a)
{
    memset(f, 0, sizeof *f);
    *(struct chela_head *)(void *)f->args = (struct chela_head){
        (uint32_t)a->size, (uint32_t)random_number(), random_number(), random_number()};
    for (unsigned i = 0; i < a->count; i++)
        fill_field(f, &a->fields[i]);
}

static void empty(struct filled *f)
{
    for (unsigned i = 0; i < f->count; i++)
        free(f->blocks[i]);
}

static struct wire_frame *encode(const struct wire_function *f, const void *args)
{
    size_t size = wire_size(f->args, args);
    assert_true(size >= sizeof(struct wire_frame));
    struct wire_frame *to = malloc(size);
    assert_non_null(to);
    wire_write(to, f->number, 7, f->args, args);
    assert_int_equal(to->length, size);
    return to;
}

/* ---- comparing ---- */

static void assert_same_str(struct chela_str a, struct chela_str b)
{
    assert_int_equal(a.n, b.n);
    if (a.n)
        assert_memory_equal(a.s, b.s, a.n);
    assert_int_equal(b.s[b.n], '\0'); /* b was decoded */
}

static void assert_same_field(const struct wire_field *f, const void *a, const void *b)
{
    const void *p = (const char *)a + f->offset, *q = (const char *)b + f->offset;
    if (f->type == WIRE_STR) {
        assert_same_str(*(const struct chela_str *)p, *(const struct chela_str *)q);
    } else if (f->type == WIRE_PAIRS) {
        struct chela_pairs x = *(const struct chela_pairs *)p, y = *(const struct chela_pairs *)q;
        assert_int_equal(x.n, y.n);
        for (uint64_t i = 0; i < x.n; i++) {
            assert_same_str(x.v[i].name, y.v[i].name);
            assert_same_str(x.v[i].value, y.v[i].value);
        }
    } else if (f->type == WIRE_VALUES) {
        struct chela_values x = *(const struct chela_values *)p,
                            y = *(const struct chela_values *)q;
        assert_int_equal(x.n, y.n);
        for (uint64_t i = 0; i < x.n; i++) {
            assert_int_equal(x.v[i].type, y.v[i].type);
            assert_int_equal(x.v[i].i, y.v[i].i);
            assert_memory_equal(&x.v[i].d, &y.v[i].d, sizeof(double));
            assert_same_str(x.v[i].s, y.v[i].s);
        }
    } else {
        assert_memory_equal(p, q, f->size);
    }
}

/* ---- tests ---- */

static void the_table_covers_every_struct(void **unused)
{
    (void)unused;
    assert_null(wire_check());
    static const struct wire_field hole[] = {
        {"a", sizeof(struct chela_head), 8, WIRE_U64},
        {"c", sizeof(struct chela_head) + 16, 8, WIRE_U64},
    };
    static const struct wire_args forgotten = {"forgotten", sizeof(struct chela_head) + 24, 2,
                                               hole};
    assert_false(wire_args_complete(&forgotten));
    static const struct wire_args short_one = {"short", sizeof(struct chela_head) + 16, 1, hole};
    assert_false(wire_args_complete(&short_one));
}

static void every_function_goes_there_and_back(void **unused)
{
    (void)unused;
    struct wire_decoder d = {0};
    state = 0x1234567;
    unsigned functions = 0;
    for (unsigned round = 0; round < 50; round++) {
        functions = 0;
        for (const struct wire_function *f = NULL; (f = wire_function_next(f)); functions++) {
            struct filled given;
            fill(&given, f->args);
            struct wire_frame *frame = encode(f, given.args);
            assert_int_equal(wire_look(frame, frame->length), 1);
            assert_int_equal(wire_look(frame, frame->length - 1), 0);
            assert_int_equal(frame->function, f->number);
            assert_int_equal(wire_read(&d, f->args, frame), 0);
            assert_memory_equal(given.args, &d.args, sizeof(struct chela_head));
            for (unsigned i = 0; i < f->args->count; i++)
                assert_same_field(&f->args->fields[i], given.args, &d.args);
            for (size_t i = f->args->size; i < WIRE_ARGS_MAX; i++)
                assert_int_equal(d.args.bytes[i], 0);
            free(frame);
            empty(&given);
        }
    }
    assert_int_equal(functions, 65);
    wire_decoder_free(&d);
}

static void what_an_older_sender_does_not_know_reads_as_zero(void **unused)
{
    (void)unused;
    struct wire_decoder d = {0};
    CHELA_ARGS(chela_http_event, event, 5);
    event.status = 200;
    event.name = chela_s("message");
    event.data = chela_s("{}");
    event.id = (struct chela_str){(const char *)1, 99}; /* must not be looked at */
    event.h.size = (uint32_t)offsetof(struct chela_http_event, id);
    struct wire_frame *f = encode(wire_function(CHELA_FN_HTTP_EVENT), &event);
    assert_int_equal(wire_read(&d, wire_function(CHELA_FN_HTTP_EVENT)->args, f), 0);
    const struct chela_http_event *got = (const void *)&d.args;
    assert_int_equal(got->status, 200);
    assert_true(chela_str_is(got->data, "{}"));
    assert_null(got->id.s);
    assert_int_equal(got->id.n, 0);
    assert_int_equal(got->h.size, sizeof *got);
    free(f);
    wire_decoder_free(&d);
}

static void what_a_newer_sender_adds_is_ignored(void **unused)
{
    (void)unused;
    struct wire_decoder d = {0};
    struct {
        struct chela_text known;
        struct chela_str more;
    } text = {.known = {.h = {sizeof text, 0, 5, 0}, .text = chela_s("abc")},
              .more = {(const char *)1, 5}};
    const struct wire_function *fn = wire_function(CHELA_FN_TEXT);
    struct wire_frame *f = encode(fn, &text);
    /* and a frame with more behind the last field */
    uint32_t length = f->length;
    struct wire_frame *longer = calloc(1, length + 24);
    assert_non_null(longer);
    memcpy(longer, f, length);
    memset((char *)longer + length, 0xff, 24);
    longer->length = length + 24;
    assert_int_equal(wire_read(&d, fn->args, longer), 0);
    assert_true(chela_str_is(((struct chela_text *)(void *)&d.args)->text, "abc"));
    free(longer);
    free(f);
    wire_decoder_free(&d);
}

static void what_cannot_be_sent_is_refused_before(void **unused)
{
    (void)unused;
    const struct wire_args *a = wire_function(CHELA_FN_TEXT)->args;
    CHELA_ARGS(chela_text, text, 1);
    text.text = (struct chela_str){NULL, 3};
    assert_int_equal(wire_size(a, &text), 0);
    text.text = (struct chela_str){"x", (uint64_t)WIRE_FRAME_MAX + 1};
    assert_int_equal(wire_size(a, &text), 0);
    text.text = (struct chela_str){"x", UINT64_MAX};
    assert_int_equal(wire_size(a, &text), 0);
    CHELA_ARGS(chela_publish, list, 0);
    list.items.n = 1;
    assert_int_equal(wire_size(wire_function(CHELA_FN_PUBLISH)->args, &list), 0);
}

static void lengths_that_lie_are_refused(void **unused)
{
    (void)unused;
    struct wire_decoder d = {0};
    const struct wire_function *fn = wire_function(CHELA_FN_PUBLISH);
    struct chela_pair pair = {chela_s("name"), chela_s("value")};
    CHELA_ARGS(chela_publish, list, 0);
    list.items = (struct chela_pairs){&pair, 1};
    struct wire_frame *f = encode(fn, &list);
    static const uint64_t lies[] = {
        2, 3, 1u << 20, UINT32_MAX, UINT64_MAX, UINT64_MAX / 32, UINT64_MAX / 32 + 1};
    uint64_t *numbers = (uint64_t *)(void *)(f + 1); /* what, revision, count, length of name */
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        numbers[2] = lies[i];
        assert_int_equal(wire_read(&d, fn->args, f), -1);
        numbers[2] = 1;
        numbers[3] = lies[i] < 8 ? 8 : lies[i];
        assert_int_equal(wire_read(&d, fn->args, f), -1);
        numbers[3] = 4;
    }
    assert_int_equal(wire_read(&d, fn->args, f), 0);
    memcpy((char *)&numbers[4] + 4, "x", 1); /* where the NUL was */
    assert_int_equal(wire_read(&d, fn->args, f), -1);
    free(f);
    static const uint32_t lengths[] = {0, 8, 31, 33, 36, WIRE_FRAME_MAX + 8u, UINT32_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct wire_frame bad = {.length = lengths[i]};
        assert_int_equal(wire_look(&bad, sizeof bad), -1);
    }
    wire_decoder_free(&d);
}

/* Every byte of what was decoded is read, so that a sanitizer sees a pointer that leads outside. */
static uint64_t touch(const struct wire_args *a, const struct wire_decoder *d)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < a->count; i++) {
        const void *p = d->args.bytes + a->fields[i].offset;
        struct chela_pairs pairs = {0};
        struct chela_values values = {0};
        struct chela_str one = {0};
        if (a->fields[i].type == WIRE_STR)
            one = *(const struct chela_str *)p;
        else if (a->fields[i].type == WIRE_PAIRS)
            pairs = *(const struct chela_pairs *)p;
        else if (a->fields[i].type == WIRE_VALUES)
            values = *(const struct chela_values *)p;
        for (uint64_t k = 0; k < one.n; k++)
            sum += (unsigned char)one.s[k];
        for (uint64_t k = 0; k < pairs.n; k++)
            sum += strlen(pairs.v[k].name.s) + strlen(pairs.v[k].value.s);
        for (uint64_t k = 0; k < values.n; k++)
            sum += strlen(values.v[k].s.s) + values.v[k].type;
    }
    return sum;
}

static void damaged_frames_do_no_harm(void **unused)
{
    (void)unused;
    struct wire_decoder d = {0};
    state = 0x5eed;
    print_message("# seed 0x5eed\n");
    unsigned refused = 0, read = 0;
    uint64_t sum = 0;
    for (unsigned n = 0; n < DAMAGED_FRAMES;) {
        const struct wire_function *f = wire_function((uint32_t)(random_number() % CHELA_FN_COUNT));
        if (!f)
            continue;
        struct filled given;
        fill(&given, f->args);
        struct wire_frame *whole = encode(f, given.args);
        empty(&given);
        for (unsigned k = 0; k < 8; k++, n++) {
            uint32_t length = whole->length;
            /* an exact copy, perhaps cut, so that one byte too far is outside */
            if (random_number() % 2)
                length = 32 + (uint32_t)(random_number() % ((length - 32) / 8 + 1)) * 8;
            struct wire_frame *frame = malloc(length);
            assert_non_null(frame);
            memcpy(frame, whole, length);
            frame->length = length;
            for (unsigned bytes = (unsigned)(random_number() % 4); bytes && length > 32; bytes--)
                ((unsigned char *)frame)[32 + random_number() % (length - 32)] =
                    (unsigned char)(random_number() % 3 ? random_number() % 64 : random_number());
            if (wire_read(&d, f->args, frame) == 0) {
                sum += touch(f->args, &d);
                read++;
            } else {
                refused++;
            }
            free(frame);
        }
        free(whole);
    }
    assert_true(refused > DAMAGED_FRAMES / 10);
    assert_true(read > DAMAGED_FRAMES / 10);
    assert_true(sum > 0);
    wire_decoder_free(&d);
}

static void slots_are_called_by_their_own_type(void **unused)
{
    (void)unused;
    struct chela_iface iface = {.size = sizeof iface};
    struct chela_tool tool = {.size = sizeof tool};
    const struct wire_function *run = wire_function(CHELA_FN_TOOL_RUN);
    assert_null(wire_table_of(&iface, run->table));
    iface.tool = &tool;
    assert_ptr_equal(wire_table_of(&iface, run->table), &tool);
    assert_false(run->has(&tool));
    assert_null(wire_table_of(&iface, WIRE_TABLE_answer));
    assert_null(wire_function(CHELA_FN_NONE));
    assert_null(wire_function(63));
    assert_null(wire_function(CHELA_FN_COUNT));
    assert_string_equal(run->name, "tool run");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_covers_every_struct),
        cmocka_unit_test(every_function_goes_there_and_back),
        cmocka_unit_test(what_an_older_sender_does_not_know_reads_as_zero),
        cmocka_unit_test(what_a_newer_sender_adds_is_ignored),
        cmocka_unit_test(what_cannot_be_sent_is_refused_before),
        cmocka_unit_test(lengths_that_lie_are_refused),
        cmocka_unit_test(damaged_frames_do_no_harm),
        cmocka_unit_test(slots_are_called_by_their_own_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
