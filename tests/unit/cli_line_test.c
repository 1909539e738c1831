/* The line editor as the state machine that it is: bytes of a terminal go in, the text and the rows
 * are compared. A small terminal below interprets what view.c prints, so that what a person would
 * see is what is tested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/line.h"
#include "cli/view.h"
#include "cli/width.h"
#include "tests/unit/cli_screen.h"

/* ---- an editor on it ---- */

struct fixture {
    struct history history;
    struct line line;
    struct view view;
    struct screen screen;
    enum line_event last;
    struct rows above;
};

static void paint(struct fixture *f)
{
    struct rows prompt = {0};
    struct buf out = {0};
    struct view_content content = {.above = &f->above, .prompt = &prompt};
    line_rows(&f->line, f->view.columns, STYLE_NONE, &prompt, &content.cursor_row,
              &content.cursor_column);
    view_paint(&f->view, &content, &out);
    screen_write(&f->screen, &out);
    rows_free(&prompt);
    buf_free(&out);
}

static struct fixture *open_editor(unsigned columns)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    history_open(&f->history, NULL);
    line_begin(&f->line, &f->history, "> ");
    view_begin(&f->view, columns, SCREEN_ROWS);
    f->screen.columns = columns;
    return f;
}

static void close_editor(struct fixture *f)
{
    line_free(&f->line);
    history_close(&f->history);
    view_free(&f->view);
    rows_free(&f->above);
    free(f);
}

static void type_bytes(struct fixture *f, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        enum line_event event = line_feed(&f->line, (unsigned char)bytes[i]);
        f->last = event == LINE_NOTHING ? f->last : event;
    }
    paint(f);
}

static void type(struct fixture *f, const char *text)
{
    f->last = LINE_NOTHING;
    type_bytes(f, text, strlen(text));
}

static void enter(struct fixture *f, const char *text)
{
    type(f, text);
    type(f, "\r");
    assert_int_equal(f->last, LINE_SUBMIT);
    line_accept(&f->line);
}

#define assert_text(f, wanted)   assert_string_equal(line_text(&(f)->line, NULL), wanted)
#define assert_screen(f, wanted) assert_string_equal(screen_text(&(f)->screen), wanted)

/* ---- tests ---- */

static void typed_text_and_emacs_keys_edit_the_line(void **state)
{
    (void)state;
    struct fixture *f = open_editor(40);
    type(f, "hello wrld");
    type(f, "\x1b[D\x1b[D\x1b[Do");
    assert_text(f, "hello world");
    assert_screen(f, "> hello wo_rld");
    type(f, "\x01Say: ");
    assert_text(f, "Say: hello world");
    type(f, "\x05!\x1b"
            "b\x1b"
            "b\x0b");
    assert_text(f, "Say: ");
    type(f, "\x19");
    assert_text(f, "Say: hello world!");
    type(f, "\x17");
    assert_text(f, "Say: hello ");
    type(f, "\x15");
    assert_text(f, "");
    type(f, "\x1f");
    assert_text(f, "Say: hello ");
    type(f, "\x01\x1b"
            "d\x04");
    assert_text(f, " hello ");
    type(f, "\x05x y\x14");
    assert_text(f, " hello xy ");
    type(f, "\x01\x1b"
            "u");
    assert_text(f, " HELLO xy ");
    close_editor(f);
}

static void kills_in_a_row_come_back_as_one(void **state)
{
    (void)state;
    struct fixture *f = open_editor(40);
    type(f, "one two three\x17\x17");
    assert_text(f, "one ");
    type(f, "\x19\x19");
    assert_text(f, "one two threetwo three");
    close_editor(f);
}

static void every_spelling_of_a_key_is_understood(void **state)
{
    (void)state;
    struct fixture *f = open_editor(40);
    static const char *const homes[] = {"\x1b[H", "\x1bOH", "\x1b[1~", "\x1b[7~", "\x01"};
    for (size_t i = 0; i < ARRAY_LENGTH(homes); i++) {
        line_clear(&f->line);
        type(f, "bc");
        type(f, homes[i]);
        type(f, "a");
        assert_text(f, "abc");
    }
    static const char *const word_lefts[] = {"\x1b[1;5D", "\x1b[1;3D", "\033b", "\x1b\x1b[D"};
    for (size_t i = 0; i < ARRAY_LENGTH(word_lefts); i++) {
        line_clear(&f->line);
        type(f, "one two");
        type(f, word_lefts[i]);
        type(f, "x");
        assert_text(f, "one xtwo");
    }
    static const char *const new_lines[] = {"\x1b\r", "\n", "\x1b[13;2u", "\x1b[27;2;13~",
                                            "\x1b\n"};
    for (size_t i = 0; i < ARRAY_LENGTH(new_lines); i++) {
        line_clear(&f->line);
        type(f, "a");
        type(f, new_lines[i]);
        type(f, "b");
        assert_text(f, "a\nb");
    }
    line_clear(&f->line);
    type(f, "ab\x1b[D\x1b[3~");
    assert_text(f, "a");
    /* what means nothing leaves no trace of itself */
    type(f, "\x1b[200;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1x\x1b[?62;c\x1b[[A\x1bOP\x1b[24~");
    assert_text(f, "a");
    close_editor(f);
}

static void escape_alone_is_a_key_only_after_a_pause(void **state)
{
    (void)state;
    struct fixture *f = open_editor(40);
    type(f, "ab\x1b");
    assert_true(line_waiting(&f->line));
    line_timeout(&f->line);
    assert_false(line_waiting(&f->line));
    type(f, "b"); /* no Alt-b */
    assert_text(f, "abb");
    close_editor(f);
}

static void broken_utf8_becomes_a_replacement_and_loses_nothing_else(void **state)
{
    (void)state;
    struct fixture *f = open_editor(40);
    type(f, "a\xe4\xb8x\xff\xc0\xafy\xed\xa0\x80z");
    assert_text(f, "a\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdy\xef\xbf\xbdz");
    type(f, "\xe4\xb8\r");
    assert_int_equal(f->last, LINE_SUBMIT);
    close_editor(f);
}

static void wide_characters_and_combining_marks_move_as_one(void **state)
{
    (void)state;
    struct fixture *f = open_editor(40);
    type(f, "中文e\xcc\x81!");
    assert_screen(f, "> 中文e\xcc\x81!_");
    type(f, "\x02\x02");
    assert_screen(f, "> 中文_e\xcc\x81!");
    type(f, "\x02\x02");
    assert_screen(f, "> _中文e\xcc\x81!");
    type(f, "\x05\x7f\x7f");
    assert_text(f, "中文");
    type(f, "\x7f");
    assert_screen(f, "> 中_");
    /* a family, tied by joiners, goes at once */
    type(f, "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\x7f");
    assert_text(f, "中");
    close_editor(f);
}

static void rows_wrap_at_the_edge_also_in_the_middle_of_a_wide_character(void **state)
{
    (void)state;
    struct fixture *f = open_editor(10);
    type(f, "12345678");
    assert_screen(f, "> 12345678\n  _");
    type(f, "9");
    assert_screen(f, "> 12345678\n  9_");
    type(f, "\x7f\x7f\x7f中文字");
    assert_screen(f, "> 123456中\n  文字_");
    type(f, "\x01x");
    assert_screen(f, "> x_123456\n  中文字");
    type(f, "\x15");
    assert_screen(f, "> _123456\xe4\xb8\xad\n  文字");
    close_editor(f);
}

static void a_paste_is_taken_literally_and_is_one_step_to_undo(void **state)
{
    (void)state;
    struct fixture *f = open_editor(40);
    type(f, "x\x1b[200~one\r\ntwo\rthree\nfour\tq\x03\x1b[A\x1b[2~\x1b[201~y");
    assert_text(f, "xone\ntwo\nthree\nfour\tq\x03\x1b[A\x1b[2~y");
    assert_int_not_equal(f->last, LINE_SUBMIT);
    assert_screen(f, "> xone\n  two\n  three\n  four    q^C^[[A^[[2~y_");
    type(f, "\x1f\x1f");
    assert_text(f, "x");
    close_editor(f);
}

static void a_paste_beyond_the_limit_is_refused_whole(void **state)
{
    (void)state;
    struct fixture *f = open_editor(40);
    type(f, "keep");
    type(f, "\x1b[200~");
    static char block[65536];
    memset(block, 'p', sizeof block);
    for (int i = 0; i < 17; i++) {
        for (size_t at = 0; at < sizeof block; at++) {
            line_feed(&f->line, (unsigned char)block[at]);
        }
    }
    type(f, "\x1b[201~");
    assert_text(f, "keep");
    close_editor(f);
}

static void several_lines_are_walked_before_the_history(void **state)
{
    (void)state;
    struct fixture *f = open_editor(40);
    enter(f, "first");
    enter(f, "second\x1b\rline");
    type(f, "dr\xc3\xa4"
            "ft");
    type(f, "\x1b[A");
    assert_text(f, "second\nline");
    type(f, "\x1b[A");
    assert_text(f, "second\nline");
    assert_screen(f, "> seco_nd\n  line");
    type(f, "\x1b[A");
    assert_text(f, "first");
    type(f, "\x1b[A");
    assert_text(f, "first");
    type(f, "\x1b[B");
    assert_text(f, "second\nline");
    type(f, "\x0e");
    assert_text(f, "dr\xc3\xa4"
                   "ft");
    close_editor(f);
}

static void control_r_finds_older_entries_and_escape_keeps_them(void **state)
{
    (void)state;
    struct fixture *f = open_editor(40);
    enter(f, "make check");
    enter(f, "list files");
    enter(f, "make install");
    type(f, "old\x12make");
    assert_screen(f, "search: make_  make install");
    type(f, "\x12");
    assert_screen(f, "search: make_  make check");
    type(f, "\x12");
    assert_screen(f, "search: make_  make check\nnothing further back");
    type(f, "\x13\x1b");
    line_timeout(&f->line);
    assert_text(f, "make install");
    type(f, "\x12list\x07");
    assert_text(f, "make install");
    type(f, "\x12list\r");
    assert_int_equal(f->last, LINE_SUBMIT);
    assert_text(f, "list files");
    close_editor(f);
}

static void control_c_d_z_and_l_are_events_for_the_caller(void **state)
{
    (void)state;
    struct fixture *f = open_editor(40);
    type(f, "\x04");
    assert_int_equal(f->last, LINE_END);
    type(f, "a\x03");
    assert_int_equal(f->last, LINE_INTERRUPT);
    assert_text(f, "a");
    type(f, "\x1a");
    assert_int_equal(f->last, LINE_SUSPEND);
    type(f, "\x0c");
    assert_int_equal(f->last, LINE_REDRAW);
    type(f, "\x01\x04");
    assert_text(f, "");
    close_editor(f);
}

static void choosing_takes_only_the_keys_that_are_offered_and_no_paste(void **state)
{
    (void)state;
    struct fixture *f = open_editor(40);
    type(f, "half a sent");
    line_choose(&f->line, "aAd", "allow? ");
    paint(f);
    assert_screen(f, "allow? _");
    type(f, "x\r\x1b[200~a\x1b[201~\x1b"
            "a");
    assert_int_equal(f->last, LINE_NOTHING);
    type(f, "A");
    assert_int_equal(f->last, LINE_CHOICE);
    assert_int_equal(f->line.choice, 'A');
    line_choose(&f->line, NULL, NULL);
    paint(f);
    assert_screen(f, "> half a sent_");
    close_editor(f);
}

static size_t complete_command(void *arg, const char *text, size_t cursor, struct buf *out)
{
    (void)arg;
    static const char *const commands[] = {"/status", "/stop", "/help"};
    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++) {
        if (strncmp(commands[i], text, cursor) == 0) {
            buf_add(out, commands[i], strlen(commands[i]) + 1);
        }
    }
    return 0;
}

static void tab_completes_as_far_as_it_is_certain(void **state)
{
    (void)state;
    struct fixture *f = open_editor(40);
    f->line.complete = complete_command;
    type(f, "/h\t");
    assert_text(f, "/help ");
    line_clear(&f->line);
    type(f, "/s\t");
    assert_text(f, "/st");
    type(f, "\t");
    assert_screen(f, "> /st_\n/status /stop");
    type(f, "o\t");
    assert_screen(f, "> /stop _");
    close_editor(f);
}

static void what_is_printed_above_leaves_the_prompt_whole(void **state)
{
    (void)state;
    struct fixture *f = open_editor(20);
    type(f, "typing\x1b\rmore");
    rows_add(&f->above, "grow", 4, 4);
    paint(f);
    assert_screen(f, "grow\n> typing\n  more_");
    struct buf out = {0};
    struct rows done = {0};
    rows_add(&done, "finished", 8, 8);
    rows_clear(&f->above);
    view_erase(&f->view, &out);
    view_print(&done, &out);
    screen_write(&f->screen, &out);
    paint(f);
    assert_screen(f, "finished\n> typing\n  more_");
    buf_free(&out);
    rows_free(&done);
    close_editor(f);
}

static void a_text_taller_than_the_screen_shows_the_part_around_the_cursor(void **state)
{
    (void)state;
    struct fixture *f = open_editor(20);
    for (int i = 0; i < 30; i++) {
        char text[16];
        snprintf(text, sizeof text, "%sl%d", i == 0 ? "" : "\x1b\r", i);
        type(f, text);
    }
    assert_non_null(strstr(screen_text(&f->screen), "  l29_"));
    type(f, "\x1b<");
    assert_int_equal(strncmp(screen_text(&f->screen), "> _l0\n  l1\n", 11), 0);
    type(f, "\x1b>");
    assert_non_null(strstr(screen_text(&f->screen), "  l29_"));
    assert_null(strstr(screen_text(&f->screen), "l0\n"));
    close_editor(f);
}

/* Any way of changing a text must show the same screen as typing the result afresh. */
static void painting_again_always_equals_painting_afresh(void **state)
{
    (void)state;
    static const char *const steps[] = {
        "中",        "a",    "\x02", "\x06", "\x7f", "\x1b\r",
        "e\xcc\x81", "\x01", "\x05", "\x0b", "\x19", "word ",
        "\033b",     "\x10", "\x1f", "\x14", "\t",   "\x1b[200~p\nq\x1b[201~"};
    uint32_t random = 12345;
    struct fixture *f = open_editor(9);
    for (int i = 0; i < 3000; i++) {
        random = random * 1664525u + 1013904223u;
        type(f, steps[(random >> 16) % ARRAY_LENGTH(steps)]);
        if (f->line.edit.text.n > 60) {
            type(f, "\x15");
        }
        struct fixture *fresh = open_editor(9);
        edit_set(&fresh->line.edit, buf_text(&f->line.edit.text), f->line.edit.text.n);
        fresh->line.edit.cursor = f->line.edit.cursor;
        paint(fresh);
        char *wanted = xstrdup(screen_text(&fresh->screen));
        /* painted at the top of an empty screen; the other may have scrolled */
        const char *seen = screen_text(&f->screen);
        size_t longer = strlen(seen), shorter = strlen(wanted);
        assert_true(longer >= shorter);
        assert_string_equal(seen + longer - shorter, wanted);
        free(wanted);
        close_editor(fresh);
    }
    close_editor(f);
}

static void the_history_file_keeps_lines_and_is_private_and_bounded(void **state)
{
    (void)state;
    char folder[] = "/tmp/chela-history-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *path = xprintf("%s/history", folder);
    struct history history;
    history_open(&history, path);
    history_add(&history, "one\ntwo \\n", 10);
    history_add(&history, "one\ntwo \\n", 10);
    history_add(&history, " secret", 7);
    history_add(&history, "", 0);
    assert_int_equal(history.count, 1);
    history_close(&history);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    history_open(&history, path);
    assert_int_equal(history.count, 1);
    assert_string_equal(history.entries[0], "one\ntwo \\n");
    for (int i = 0; i < 2100; i++) {
        char text[32];
        int n = snprintf(text, sizeof text, "entry %d", i);
        history_add(&history, text, (size_t)n);
    }
    assert_int_equal(history.count, HISTORY_ENTRIES);
    history_close(&history);
    history_open(&history, path); /* rewrites it */
    assert_string_equal(history.entries[HISTORY_ENTRIES - 1], "entry 2099");
    history_close(&history);
    assert_int_equal(stat(path, &status), 0);
    assert_true(status.st_size < 16 * HISTORY_ENTRIES);
    assert_int_equal(status.st_mode & 0777, 0600);
    unlink(path);
    rmdir(folder);
    free(path);
}

int main(void)
{
    width_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typed_text_and_emacs_keys_edit_the_line),
        cmocka_unit_test(kills_in_a_row_come_back_as_one),
        cmocka_unit_test(every_spelling_of_a_key_is_understood),
        cmocka_unit_test(escape_alone_is_a_key_only_after_a_pause),
        cmocka_unit_test(broken_utf8_becomes_a_replacement_and_loses_nothing_else),
        cmocka_unit_test(wide_characters_and_combining_marks_move_as_one),
        cmocka_unit_test(rows_wrap_at_the_edge_also_in_the_middle_of_a_wide_character),
        cmocka_unit_test(a_paste_is_taken_literally_and_is_one_step_to_undo),
        cmocka_unit_test(a_paste_beyond_the_limit_is_refused_whole),
        cmocka_unit_test(several_lines_are_walked_before_the_history),
        cmocka_unit_test(control_r_finds_older_entries_and_escape_keeps_them),
        cmocka_unit_test(control_c_d_z_and_l_are_events_for_the_caller),
        cmocka_unit_test(choosing_takes_only_the_keys_that_are_offered_and_no_paste),
        cmocka_unit_test(tab_completes_as_far_as_it_is_certain),
        cmocka_unit_test(what_is_printed_above_leaves_the_prompt_whole),
        cmocka_unit_test(a_text_taller_than_the_screen_shows_the_part_around_the_cursor),
        cmocka_unit_test(painting_again_always_equals_painting_afresh),
        cmocka_unit_test(the_history_file_keeps_lines_and_is_private_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
