/* Markdown on a terminal: golden rows, and for each of them the promise of the stream: however the
 * text is cut, what is given out as finished is the same; and whatever the text holds, nothing that
 * could steer a terminal comes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/clean.h"
#include "cli/markdown.h"
#include "cli/width.h"

static char *joined(const struct rows *rows)
{
    struct buf text = {0};
    for (size_t i = 0; i < rows->count; i++) {
        buf_add(&text, rows->bytes.p + rows->row[i].offset, rows->row[i].length);
        buf_char(&text, '\n');
    }
    buf_text(&text);
    return buf_take(&text);
}

/* Rows must say how wide they are: the prompt is placed by it. */
static void check_widths(const struct rows *rows, unsigned width, enum style_level level)
{
    for (size_t i = 0; i < rows->count && level == STYLE_NONE; i++) {
        const struct row *row = &rows->row[i];
        unsigned columns = width_columns(rows->bytes.p + row->offset, row->length);
        assert_true(columns <= row->columns);
        assert_true(row->columns <= width);
    }
}

/* Renders in pieces of the given sizes, the open block looked at after each; "|" joins rows. */
static char *render(const char *text, size_t length, unsigned width, enum style_level level,
                    size_t first, size_t step)
{
    struct markdown markdown;
    struct rows rows = {0};
    markdown_begin(&markdown, width, level);
    for (size_t at = 0; at < length;) {
        size_t n = at == 0 ? first : step;
        n = n == 0 || n > length - at ? length - at : n;
        markdown_feed(&markdown, text + at, n, &rows);
        struct rows open = {0};
        markdown_open(&markdown, &open);
        check_widths(&open, width, level);
        rows_free(&open);
        at += n;
    }
    markdown_finish(&markdown, &rows);
    check_widths(&rows, width, level);
    char *out = joined(&rows);
    markdown_free(&markdown);
    rows_free(&rows);
    return out;
}

static void golden(const char *text, unsigned width, enum style_level level, const char *wanted)
{
    size_t length = strlen(text);
    char *whole = render(text, length, width, level, 0, 0);
    assert_string_equal(whole, wanted);
    for (size_t cut = 1; cut <= length; cut++) {
        char *in_two = render(text, length, width, level, cut, 0);
        assert_string_equal(in_two, wanted);
        free(in_two);
    }
    char *byte_by_byte = render(text, length, width, level, 1, 1);
    assert_string_equal(byte_by_byte, wanted);
    free(byte_by_byte);
    free(whole);
}

static void headings_and_emphasis_become_attributes(void **state)
{
    (void)state;
    golden("# One\n\ntext **bold _both_** `code` ~~gone~~\n## Two\n", 40, STYLE_COLOUR,
           "\x1b[0;4;1;35mOne\x1b[0m\n"
           "\n"
           "text \x1b[0;1mbold \x1b[0;1;3mboth\x1b[0m \x1b[0;36mcode\x1b[0m \x1b[0;9mgone\x1b[0m\n"
           "\n"
           "\x1b[0;1;35mTwo\x1b[0m\n");
    golden("**b** `c`", 40, STYLE_MONO, "\x1b[0;1mb\x1b[0m \x1b[0mc\x1b[0m\n");
    golden("**b** `c`", 40, STYLE_NONE, "b c\n");
    golden("Title\n=====\nSub\n---\n", 40, STYLE_NONE, "Title\n\nSub\n");
}

static void paragraphs_wrap_at_words_and_between_wide_characters(void **state)
{
    (void)state;
    golden("aaa bbb ccc ddd eee\nnext line\n\nsecond", 11, STYLE_NONE,
           "aaa bbb ccc\nddd eee\nnext line\n\nsecond\n");
    golden("中文没有空格也要换行", 9, STYLE_NONE, "中文没有\n空格也要\n换行\n");
    golden("abcdefghijklmnop qr", 6, STYLE_NONE, "abcdef\nghijkl\nmnop\nqr\n");
    golden("\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad", 4, STYLE_NONE,
           "\xe4\xb8\xad\xe4\xb8\xad\n\xe4\xb8\xad\xe4\xb8\xad\n");
    golden("e\xcc\x81"
           "e\xcc\x81"
           "e\xcc\x81",
           4, STYLE_NONE,
           "e\xcc\x81"
           "e\xcc\x81"
           "e\xcc\x81\n");
}

static void lists_are_indented_and_numbered(void **state)
{
    (void)state;
    golden("- one\n- two words that wrap\n  - inner\n    - deep\n- three\n", 14, STYLE_NONE,
           "• one\n• two words\n  that wrap\n  ◦ inner\n    ▪ deep\n• three\n");
    golden("Intro:\n1. a\n2. b\n\nAfter", 20, STYLE_NONE, "Intro:\n\n1. a\n2. b\n\nAfter\n");
    golden("9. nine\n10. ten\n\n    more of ten\n\n11. eleven\n", 20, STYLE_NONE,
           "9. nine\n\n10. ten\n\n    more of ten\n\n11. eleven\n");
    golden("- [ ] open\n- [x] done\n-\n", 20, STYLE_NONE, "• [ ] open\n• [x] done\n• \n");
    golden("- a\n\n  ```\n  code\n\n  more\n  ```\n- b\n", 20, STYLE_NONE,
           "• a\n\n    code\n    \n    more\n\n• b\n");
}

static void a_list_ends_where_something_else_begins(void **state)
{
    (void)state;
    golden("- a\n- b\n# Head\ntext\n- c\n```\nx\n```\n- d\n\nend", 20, STYLE_NONE,
           "• a\n• b\n\nHead\n\ntext\n\n• c\n\n  x\n\n• d\n\nend\n");
    golden("* a\n* * *\n* b\n", 8, STYLE_NONE, "• a\n\n────────\n\n• b\n");
}

static void code_keeps_its_blanks_and_is_never_read_as_markdown(void **state)
{
    (void)state;
    golden("Run:\n```sh\nls  -l\t*.c\n\n  # no heading\n```\ndone", 20, STYLE_NONE,
           "Run:\n\n  ls  -l    *.c\n  \n    # no heading\n\ndone\n");
    golden("~~~\n```\n~~~~\nx", 20, STYLE_NONE, "  ```\n\nx\n");
    golden("```\nnever closed\n", 20, STYLE_NONE, "  never closed\n");
    golden("```\n0123456789abcdefghij\n```", 12, STYLE_NONE, "  0123456789\n  abcdefghij\n");
    golden("```\na\n```\n```\nb\n```\n", 12, STYLE_NONE, "  a\n\n  b\n");
    golden("   ```\n   indented\n   ```\n", 20, STYLE_NONE, "  indented\n");
}

static void quotations_and_rules_are_drawn(void **state)
{
    (void)state;
    golden("> one two three\n> - item\n\nafter\n\n---\n", 12, STYLE_NONE,
           "│ one two\n│ three\n│ \n│ • item\n\nafter\n\n────────────\n");
}

static void tables_line_up_and_shrink_to_the_terminal(void **state)
{
    (void)state;
    golden("| a | long | c |\n|---|:-:|--:|\n| 1 | 2 | 3 |\n| 中文 | x | 12345 |\n\nend", 40,
           STYLE_NONE,
           "a    │ long │     c\n─────┼──────┼──────\n1    │  2   │     3\n中文 │  x   │ "
           "12345\n\nend\n");
    golden("| name | what it does |\n|---|---|\n| x | a long text in a cell |\n", 20, STYLE_NONE,
           "name │ what it does\n─────┼──────────────\nx    │ a long text\n     │ in a cell\n");
}

static void links_show_where_they_lead(void **state)
{
    (void)state;
    golden("[docs](http://a.b/c) <http://d.e> http://f.g [x](http://f.g)", 90, STYLE_NONE,
           "docs (http://a.b/c) http://d.e http://f.g x (http://f.g)\n");
    golden("[http://good.example](http://evil.example)", 90, STYLE_NONE,
           "http://good.example (http://evil.example)\n");
    golden("![alt](p.png)", 90, STYLE_NONE, "[image: alt] (p.png)\n");
}

static void html_is_shown_and_entities_are_decoded(void **state)
{
    (void)state;
    golden("<b>x</b> &lt;y&gt; &amp; &#65; &#x42; &mdash; &nosuch;", 60, STYLE_NONE,
           "<b>x</b> <y> & A B — &nosuch;\n");
}

/* Everything that is sent to a terminal, but SGR of our own, must be printable. */
static void assert_harmless(const char *text)
{
    for (size_t at = 0, n = strlen(text); at < n;) {
        uint32_t character;
        if (text[at] == '\x1b') {
            size_t end = at + 2;
            assert_int_equal(text[at + 1], '[');
            while (strchr("0123456789;", text[end]) != NULL && text[end] != '\0') {
                end++;
            }
            assert_int_equal(text[end], 'm');
            at = end + 1;
            continue;
        }
        at += width_decode(text + at, n - at, &character);
        assert_true(character == '\n' || !clean_is_harmful(character));
    }
}

static void hostile_escapes_never_reach_the_terminal(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "a \x1b]0;title\x07 b \x1b[2J \23331m \xc2\23331m \x08\x7f \r\x0b\x0c",
        "`\x1b[31m` **\x1b[0m** [\x1b[1m](\x1b]8;;http://x\x07) ![\x1b](\x1b)",
        "```\x1b[2J\n\x1b[2J\x07\n```\n",
        "&#27;[2J &#x1b;[2J &#x9b;2J &#0; &#8238; &#155; \xe2\x80\256drowssap \xe2\x81\xa6",
        "| \x1b[2J | b |\n|---|---|\n| \x07 | \x1b[H |\n",
        "# \x1b[2J\n> \x1b[2J\n- \x1b[2J\n1. \x1b[2J\n<\x1b[2J>\n<http://x.y/\x1b[2J>\n",
        "[x]: http://a.b \"\x1b[2J\"\n\n[x] \xf3\xa0\x81\x81 \xed\xa0\x80 \xff\xfe",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        for (size_t step = 1; step < 8; step++) {
            char *out = render(texts[i], strlen(texts[i]), 30, STYLE_COLOUR, step, step);
            assert_harmless(out);
            free(out);
        }
    }
}

static void any_text_at_any_cut_gives_the_same_rows(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "# h\n", "\n",      "- ",    "1. ",    "text ",   "**",   "`",
        "```\n", "~~~ x\n", "> ",    "    ",   "\t",      "\n",   "| a | b |\n",
        "---\n", "中",      "&amp;", "[x](y)", "\x1b[1m", "\r\n", "* * *\n"};
    uint32_t random = 99;
    for (int i = 0; i < 400; i++) {
        struct buf text = {0};
        for (int k = 0; k < 25; k++) {
            random = random * 1664525u + 1013904223u;
            buf_puts(&text, parts[(random >> 16) % ARRAY_LENGTH(parts)]);
        }
        char *whole = render(text.p, text.n, 17, STYLE_COLOUR, 0, 0);
        assert_harmless(whole);
        for (size_t step = 1; step < 6; step++) {
            char *cut = render(text.p, text.n, 17, STYLE_COLOUR, step, step);
            assert_string_equal(cut, whole);
            free(cut);
        }
        free(whole);
        buf_free(&text);
    }
}

static void finished_rows_are_never_taken_back(void **state)
{
    (void)state;
    static const char text[] = "para one\n\n```\ncode\nmore\n```\n\n- a\n- b\n\nend";
    struct markdown markdown;
    struct rows rows = {0};
    markdown_begin(&markdown, 40, STYLE_NONE);
    char *before = joined(&rows);
    for (size_t i = 0; i < sizeof text - 1; i++) {
        markdown_feed(&markdown, text + i, 1, &rows);
        char *now = joined(&rows);
        assert_int_equal(strncmp(now, before, strlen(before)), 0);
        free(before);
        before = now;
        if (strncmp(text + i, "\nmore", 5) == 0) { /* a line of code is finished with its line */
            assert_string_equal(now, "para one\n\n  code\n");
        }
    }
    free(before);
    markdown_free(&markdown);
    rows_free(&rows);
}

static void the_open_block_is_shown_as_it_grows(void **state)
{
    (void)state;
    struct markdown markdown;
    struct rows rows = {0}, open = {0};
    markdown_begin(&markdown, 40, STYLE_NONE);
    markdown_feed(&markdown, "done\n\nhalf **bo", 15, &rows);
    markdown_open(&markdown, &open);
    char *text = joined(&open);
    assert_string_equal(text, "\nhalf **bo\n");
    free(text);
    markdown_feed(&markdown, "ld** \xe4\xb8", 7, &rows);
    rows_clear(&open);
    markdown_open(&markdown, &open);
    text = joined(&open);
    assert_string_equal(text, "\nhalf bold\n");
    free(text);
    markdown_free(&markdown);
    rows_free(&rows);
    rows_free(&open);
}

static void a_block_without_an_end_is_bounded(void **state)
{
    (void)state;
    struct markdown markdown;
    struct rows rows = {0};
    markdown_begin(&markdown, 40, STYLE_NONE);
    for (int i = 0; i < 40000; i++) {
        markdown_feed(&markdown, "no line break ", 14, &rows);
        assert_true(markdown.open.n < 80 * 1024);
    }
    assert_true(rows.count > 10000);
    markdown_free(&markdown);
    rows_free(&rows);
}

static void what_a_person_approves_is_shown_with_nothing_hidden(void **state)
{
    (void)state;
    struct buf out = {0};
    static const char text[] = "rm\x1b[2K -rf\n\t~ \xe2\x80\xae\xe2\x80\x8b\xff caf\xc3\xa9";
    clean_append_visible(&out, text, sizeof text - 1);
    assert_string_equal(buf_text(&out),
                        "rm\\x1b[2K -rf\\n\\t~ \\u{202e}\\u{200b}\\xff caf\xc3\xa9");
    buf_clear(&out);
    clean_append_line(&out, "a\n\n b\x1b\tc中文", 15, 6);
    assert_string_equal(buf_text(&out), "a b c\xe2\x80\xa6");
    buf_free(&out);
}

int main(void)
{
    width_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headings_and_emphasis_become_attributes),
        cmocka_unit_test(paragraphs_wrap_at_words_and_between_wide_characters),
        cmocka_unit_test(lists_are_indented_and_numbered),
        cmocka_unit_test(a_list_ends_where_something_else_begins),
        cmocka_unit_test(code_keeps_its_blanks_and_is_never_read_as_markdown),
        cmocka_unit_test(quotations_and_rules_are_drawn),
        cmocka_unit_test(tables_line_up_and_shrink_to_the_terminal),
        cmocka_unit_test(links_show_where_they_lead),
        cmocka_unit_test(html_is_shown_and_entities_are_decoded),
        cmocka_unit_test(hostile_escapes_never_reach_the_terminal),
        cmocka_unit_test(any_text_at_any_cut_gives_the_same_rows),
        cmocka_unit_test(finished_rows_are_never_taken_back),
        cmocka_unit_test(the_open_block_is_shown_as_it_grows),
        cmocka_unit_test(a_block_without_an_end_is_bounded),
        cmocka_unit_test(what_a_person_approves_is_shown_with_nothing_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
