/*
 * Inboxes of the run queue: bytes cut anywhere become whole frames again, frames stay while they
 * are taken whatever is appended, an inbox may be closed by what it brings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "host/loop.h"
#include "host/queue.h"
#include "wire/frame.h"
#include "wire/functions.h"

static struct inbox box;
static uint64_t expected, rooms;

static int begin(void **unused)
{
    (void)unused;
    loop_open();
    queue_open();
    expected = rooms = 0;
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    inbox_close(&box);
    return (int)loop_close();
}

static void append(const void *p, size_t n)
{
    memcpy(inbox_room(&box, n), p, n);
    assert_int_equal(inbox_filled(&box, n) < 0, 0);
}

static struct wire_frame *frame(uint64_t tag, const char *text)
{
    const struct wire_function *f = wire_function(CHELA_FN_TEXT);
    CHELA_ARGS(chela_text, a, 1);
    a.h.tag = tag;
    a.text = chela_s(text);
    struct wire_frame *to = malloc(wire_size(f->args, &a));
    assert_non_null(to);
    wire_write(to, f->number, 1, f->args, &a);
    return to;
}

static void in_order(void *owner, const struct wire_frame *f)
{
    (void)owner;
    assert_int_equal(f->tag, expected++);
}

static void count_room(void *owner)
{
    (void)owner;
    rooms++;
}

static void bytes_cut_anywhere_become_whole_frames_again(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"", "a", "a longer text of a few words", "12345678"};
    inbox_open(&box, in_order, count_room, NULL);
    uint64_t seed = 4711;
    char *bytes = NULL;
    size_t n = 0;
    for (unsigned i = 0; i < 2000; i++) {
        struct wire_frame *f = frame(i, texts[i % 4]);
        bytes = realloc(bytes, n + f->length);
        memcpy(bytes + n, f, f->length);
        n += f->length;
        free(f);
    }
    assert_true(inbox_hungry(&box));
    for (size_t at = 0; at < n;) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        size_t piece = (size_t)(seed >> 33) % 300 + 1;
        piece = piece > n - at ? n - at : piece;
        append(bytes + at, piece);
        at += piece;
        if (seed & 4096)
            loop_turn(false);
    }
    while (!inbox_hungry(&box))
        loop_turn(false);
    assert_int_equal(expected, 2000);
    assert_int_equal(inbox_waiting(&box), 0);
    assert_true(rooms > 0);
    free(bytes);
}

static void a_piece_whose_rest_never_comes_can_be_cut_off(void **unused)
{
    (void)unused;
    inbox_open(&box, in_order, NULL, NULL);
    struct wire_frame *f = frame(0, "text");
    append(f, f->length);
    append(f, f->length - 8);
    inbox_cut(&box);
    f->tag = 1;
    append(f, f->length);
    loop_turn(false);
    assert_int_equal(expected, 2);
    free(f);
}

static void what_cannot_be_a_frame_is_noticed_at_its_header(void **unused)
{
    (void)unused;
    inbox_open(&box, in_order, NULL, NULL);
    struct wire_frame *f = frame(0, "text");
    append(f, f->length);
    f->length = 31;
    memcpy(inbox_room(&box, sizeof *f), f, sizeof *f);
    assert_int_equal(inbox_filled(&box, sizeof *f), -1);
    loop_turn(false); /* the one before it still counts */
    assert_int_equal(expected, 1);
    free(f);
}

static void append_while_taking(void *owner, const struct wire_frame *f)
{
    (void)owner;
    assert_int_equal(f->tag, expected++);
    for (unsigned i = 0; expected < 3 && i < 500; i++) { /* makes the buffer grow and move */
        struct wire_frame *more = frame(expected + i + (expected == 2 ? 499 : 0), "more and more");
        append(more, more->length);
        free(more);
    }
    assert_true(chela_sn((const char *)(f + 1) + 8, 4).n == 4);
    assert_memory_equal((const char *)(f + 1) + 8, "more", 4); /* it still lies where it lay */
}

static void a_frame_lies_still_while_others_are_appended(void **unused)
{
    (void)unused;
    inbox_open(&box, append_while_taking, NULL, NULL);
    struct wire_frame *f = frame(0, "more");
    append(f, f->length);
    free(f);
    while (inbox_waiting(&box) > 0)
        loop_turn(false);
    assert_int_equal(expected, 1001);
}

static void close_itself(void *owner, const struct wire_frame *f)
{
    (void)owner;
    expected++;
    inbox_close(&box);
    assert_int_equal(f->tag, 7); /* what it closed with is still there */
}

static void an_inbox_may_be_closed_by_what_it_brings(void **unused)
{
    (void)unused;
    inbox_open(&box, close_itself, count_room, NULL);
    struct wire_frame *f = frame(7, "text");
    append(f, f->length);
    append(f, f->length);
    append(f, f->length);
    loop_turn(false);
    loop_turn(false);
    assert_int_equal(expected, 1);
    assert_int_equal(rooms, 0);
    free(f);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_cut_anywhere_become_whole_frames_again),
        TEST(a_piece_whose_rest_never_comes_can_be_cut_off),
        TEST(what_cannot_be_a_frame_is_noticed_at_its_header),
        TEST(a_frame_lies_still_while_others_are_appended),
        TEST(an_inbox_may_be_closed_by_what_it_brings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
