/* The screen: rows as a person sees them, the keys of a terminal, answers to a program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "screen.h"

static void expect_text(struct screen *s, const char *wanted)
{
    size_t n;
    char *text = screen_text(s, &n);
    assert_int_equal(n, strlen(text));
    assert_string_equal(text, wanted);
    free(text);
}

static void expect_sent(struct screen *s, const char *wanted)
{
    size_t n = 0;
    char *sent = screen_take(s, &n);
    if (!wanted) {
        assert_null(sent);
        return;
    }
    assert_non_null(sent);
    assert_int_equal(n, strlen(wanted));
    assert_memory_equal(sent, wanted, n);
    free(sent);
}

static void feed(struct screen *s, const char *text)
{
    screen_feed(s, text, strlen(text), false);
}

static void rows_are_what_a_person_sees(void **state)
{
    (void)state;
    unsigned row, column;
    struct screen *s = screen_new(5, 20);
    expect_text(s, "");
    feed(s, "one\r\n\x1b[31mtwo\x1b[0m   \r\nlonger\rshort\x1b[K\r\n");
    expect_text(s, "one\ntwo\nshort\n");
    feed(s, "\x1b[2;5Hmiddle");
    screen_cursor(s, &row, &column);
    assert_int_equal(row, 2);
    assert_int_equal(column, 11);
    expect_text(s, "one\ntwo middle\nshort\n");
    feed(s, "\x1b[2J\x1b[H\xe5\x8c\x97\xe4\xba\xac e\xcc\x81 \xf0\x9f\x98\x80.");
    expect_text(s, "\xe5\x8c\x97\xe4\xba\xac e\xcc\x81 \xf0\x9f\x98\x80.\n");
    screen_free(s);
}

static void full_screen_programs_are_known_and_leave_what_was_there(void **state)
{
    (void)state;
    struct screen *s = screen_new(4, 20);
    feed(s, "$ vi\r\n");
    assert_false(screen_is_full(s));
    feed(s, "\x1b[?1049h\x1b[Hfile text");
    assert_true(screen_is_full(s));
    expect_text(s, "file text\n");
    feed(s, "\x1b[?1049l");
    assert_false(screen_is_full(s));
    expect_text(s, "$ vi\n");
    screen_free(s);
}

static void keys_are_sent_in_the_modes_of_the_program(void **state)
{
    (void)state;
    static const struct {
        const char *key, *bytes;
    } keys[] = {
        {"Enter", "\r"},         {"Tab", "\t"},
        {"Escape", "\x1b"},      {"Backspace", "\x7f"},
        {"Up", "\x1b[A"},        {"Delete", "\x1b[3~"},
        {"F1", "\x1bOP"},        {"F5", "\x1b[15~"},
        {"C-c", "\x03"},         {"C-d", "\x04"},
        {"M-x", "\x1bx"},        {"a", "a"},
        {"Space", " "},          {"\xe4\xbd\xa0", "\xe4\xbd\xa0"},
        {"PageDown", "\x1b[6~"},
    };
    struct screen *s = screen_new(24, 80);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        assert_true(screen_key(s, keys[i].key));
        expect_sent(s, keys[i].bytes);
    }
    assert_false(screen_key(s, "Entr"));
    assert_false(screen_key(s, ""));
    assert_false(screen_key(s, "F99"));
    expect_sent(s, NULL);
    feed(s, "\x1b[?1h"); /* cursor keys of applications */
    assert_true(screen_key(s, "Up"));
    expect_sent(s, "\x1bOA");
    screen_free(s);
}

static void a_paste_is_bracketed_where_the_program_wants_it(void **state)
{
    (void)state;
    struct screen *s = screen_new(24, 80);
    screen_paste(s, "a\nb", 3);
    expect_sent(s, "a\rb");
    feed(s, "\x1b[?2004h");
    screen_paste(s, "a\x1b[201~b", 8); /* what is pasted can't end the paste */
    expect_sent(s, "\x1b[200~a[201~b\x1b[201~");
    screen_free(s);
}

static void questions_of_a_program_are_answered(void **state)
{
    (void)state;
    struct screen *s = screen_new(24, 80);
    feed(s, "\x1b[3;7H\x1b[6n");
    expect_sent(s, "\x1b[3;7R");
    for (int i = 0; i < 400; i++) /* more than libvterm's own buffer holds */
        feed(s, "\x1b[6n\x1b[6n\x1b[6n\x1b[6n");
    size_t n = 0;
    char *sent = screen_take(s, &n);
    assert_int_equal(n, 400 * 4 * 6);
    free(sent);
    screen_free(s);
}

static void another_size_keeps_what_is_shown_and_how_keys_are_sent(void **state)
{
    (void)state;
    struct screen *s = screen_new(6, 20);
    feed(s, "one\r\ntwo\r\nthree is longer\r\n$ vi\x1b[?2004h");
    feed(s, "\x1b[?1049h\x1b[H\x1b[?1htop\x1b[5;3Hlow\x1b[2;4H\x1b[3");
    screen_resize(s, 8, 30);
    expect_text(s, "top\n\n\n\n  low\n");
    assert_true(screen_is_full(s));
    unsigned row, column;
    screen_cursor(s, &row, &column);
    assert_int_equal(row, 2);
    assert_int_equal(column, 4);
    assert_true(screen_key(s, "Up"));
    expect_sent(s, "\x1bOA"); /* in the program's mode */
    screen_paste(s, "x", 1);
    expect_sent(s, "\x1b[200~x\x1b[201~");
    screen_resize(s, 3, 8); /* the lower rows, cut */
    expect_text(s, "\n\n  low\n");
    feed(s, "\x1b[?1049l");
    assert_false(screen_is_full(s));
    expect_text(s, "two\nthree is\n$ vi\n");
    feed(s, "m");
    expect_text(s, "two\nthree is\n$ vim\n");
    screen_free(s);
}

static void any_bytes_and_sizes_are_survived(void **state)
{
    (void)state;
    static const char ends[] = "0123456789;?hlrmABCDEHJKLMPXZ78#6=()cdefgsu@ST`ab";
    uint64_t seed = 7;
    struct screen *s = screen_new(0, 100000);
    for (int round = 0; round < 3000; round++) {
        char piece[64];
        for (size_t i = 0; i < sizeof piece; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            unsigned kind = (unsigned)(seed >> 60);
            piece[i] = kind < 4    ? "\x1b[;?1"[(seed >> 40) % 5]
                       : kind < 12 ? ends[(seed >> 33) % (sizeof ends - 1)]
                                   : (char)(seed >> 33);
        }
        screen_feed(s, piece, sizeof piece, round % 2);
        if (round % 20 == 0)
            screen_resize(s, (unsigned)(seed >> 50) % 600, (unsigned)(seed >> 40) % 600);
    }
    size_t n;
    free(screen_text(s, &n));
    screen_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_what_a_person_sees),
        cmocka_unit_test(full_screen_programs_are_known_and_leave_what_was_there),
        cmocka_unit_test(keys_are_sent_in_the_modes_of_the_program),
        cmocka_unit_test(a_paste_is_bracketed_where_the_program_wants_it),
        cmocka_unit_test(questions_of_a_program_are_answered),
        cmocka_unit_test(another_size_keeps_what_is_shown_and_how_keys_are_sent),
        cmocka_unit_test(any_bytes_and_sizes_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
