/* Texts on their way out: dialects of Markdown, pieces, bounded results. */
#include "tests/unit/agent_world.h"

#include "agent/chats/markup.h"
#include "agent/models/tokens.h"
#include "agent/stream.h"
#include "agent/tools/result.h"
#include "base/utf8.h"

static const char source[] =
    "# Title\n\nSome **bold** and *it* and `code <x>`.\n\n- one\n- two\n  - "
    "deep\n\n1. first\n2. second\n\n> quoted\n\n```c\nint x = 1 < 2;\n"
    "```\n\n[link](https://example.org/a?b=1&c=2) end";

static const struct {
    const char *dialect, *wanted;
} renderings[] = {
    {"plain", "Title\n\nSome bold and it and code <x>.\n\n- one\n- two\n  - deep\n\n1. first\n2. "
              "second\n\n> quoted\n\nint x = 1 < 2;\n\nlink (https://example.org/a?b=1&c=2) end"},
    {"telegram-html",
     "<b>Title</b>\n\nSome <b>bold</b> and <i>it</i> and <code>code &lt;x&gt;</code>.\n\n\xe2\x80"
     "\xa2 one\n\xe2\x80\xa2 two\n  \xe2\x80\xa2 deep\n\n1. first\n2. second\n\n<blockquote>quoted"
     "</blockquote>\n\n<pre>int x = 1 &lt; 2;\n</pre>\n\n<a href=\"https://example.org/a?b=1&amp;"
     "c=2\">link</a> end"},
    {"mrkdwn", "*Title*\n\nSome *bold* and _it_ and `code &lt;x&gt;`.\n\n\xe2\x80\xa2 one\n\xe2\x80"
               "\xa2 two\n  \xe2\x80\xa2 deep\n\n1. first\n2. second\n\n> quoted\n\n```\nint x = 1 "
               "&lt; 2;\n```\n\n<https://example.org/a?b=1&c=2|link> end"},
};

static void each_dialect_shows_the_same_text(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ARRAY_LENGTH(renderings); i++) {
        CLEANUP(freep) char *out = markup_render(source, strlen(source), renderings[i].dialect);
        assert_string_equal(out, renderings[i].wanted);
    }
    CLEANUP(freep) char *same = markup_render(source, strlen(source), "discord");
    assert_string_equal(same, source);
}

static void html_is_escaped_and_closed(void **state)
{
    (void)state;
    const char *text =
        "a <script>alert(1)</script>\n\n[x](javascript:alert(1))\n\n| a | b |\n|---|---|"
        "\n| 1 | 2 |";
    CLEANUP(freep) char *out = markup_render(text, strlen(text), "html");
    assert_null(strstr(out, "<script"));
    assert_null(strstr(out, "href=\"javascript"));
    if (!strstr(out, "<td>1</td>")) /* md4c wants three dashes */
        fail_msg("%s", out);
    assert_int_equal(world_times(out, "<p>"), world_times(out, "</p>"));
}

static void no_control_sequence_reaches_a_terminal(void **state)
{
    (void)state;
    const char *text = "plain \033]0;title\007 and \033[2J";
    CLEANUP(freep) char *out = markup_render(text, strlen(text), "ansi");
    assert_null(strchr(out, '\033'));
    assert_null(strchr(out, '\007'));
}

/* Pieces of many texts and limits: each fits, is UTF-8, closes its fences, and nothing is lost. */
static void pieces_fit_and_lose_nothing(void **state)
{
    (void)state;
    static const char *const words[] = {
        "alpha", "\xe5\x8c\x97\xe4\xba\xac", "x", "\xf0\x9f\x98\x80", "longer-word-here", "fin."};
    uint64_t seed = 12345;
    for (unsigned round = 0; round < 300; round++) {
        struct buf b = {0};
        bool fence = false;
        unsigned count = 20 + round;
        for (unsigned i = 0; i < count; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            unsigned r = (unsigned)(seed >> 33);
            buf_puts(&b, words[r % ARRAY_LENGTH(words)]);
            buf_puts(&b, r % 13 == 0 ? "\n\n" : r % 5 == 0 ? "\n" : " ");
            if (r % 29 == 0) {
                buf_puts(&b, fence ? "\n```\n" : "\n```c\n");
                fence = !fence;
            }
        }
        if (fence)
            buf_puts(&b, "\n```\n");
        uint32_t unit = round % 3 + 1;
        uint64_t limit = 40 + round % 100;
        char **pieces;
        unsigned n = pieces_make(buf_text(&b), NULL, limit, unit, &pieces);
        size_t words_in = 0, words_out = 0;
        for (const char *p = b.p; (p = strpbrk(p, "ax\xe5\xf0lf")); p++)
            words_in++;
        for (unsigned i = 0; i < n; i++) {
            size_t length = strlen(pieces[i]);
            assert_true(utf8_valid(pieces[i], length));
            if (pieces_units(pieces[i], length, unit) > limit)
                fail_msg("piece of %u units, limit %u",
                         (unsigned)pieces_units(pieces[i], length, unit), (unsigned)limit);
            assert_int_equal(world_times(pieces[i], "```") % 2, 0);
            for (const char *p = pieces[i]; (p = strpbrk(p, "ax\xe5\xf0lf")); p++)
                words_out++;
        }
        assert_int_equal(words_in, words_out);
        pieces_free(pieces, n);
        buf_free(&b);
    }
}

static void a_long_result_keeps_head_and_tail(void **state)
{
    (void)state;
    fake_open();
    char text[5000];
    memset(text, 'm', sizeof text);
    memcpy(text, "BEGIN", 5);
    memcpy(text + 4995, "END!!", 5);
    char *out = result_bound(text, sizeof text, 300);
    assert_int_equal(strncmp(out, "BEGIN", 5), 0);
    assert_string_equal(out + strlen(out) - 5, "END!!");
    assert_true(strlen(out) < 450);
    free(out);
    out = result_bound("short", 5, 300);
    assert_string_equal(out, "short");
    free(out);
    out = result_bound("bad \xff byte", 10, 300);
    assert_true(utf8_valid(out, strlen(out)));
    free(out);
    fake_start_agent();
    fake_close();
}

static void silence_is_recognised_also_while_it_grows(void **state)
{
    (void)state;
    assert_true(stream_is_silent(" NO_REPLY\n", 10));
    assert_true(stream_is_silent("no_reply", 8));
    assert_false(stream_is_silent("NO_REPLY.", 9));
    assert_true(stream_maybe_silent("NO_", 3));
    assert_false(stream_maybe_silent("Now", 3));
    assert_true(stream_maybe_silent("", 0));
}

static void tokens_are_estimated_by_script(void **state)
{
    (void)state;
    assert_int_equal(tokens_of("abcdefgh", 8), 2);
    assert_int_equal(tokens_of("\xe5\x8c\x97\xe4\xba\xac", 6), 2);
    assert_int_equal(tokens_of("", 0), 0);
}

/* Pieces of exactly these bytes. */
static void cut_into(const char *text, uint64_t limit, uint32_t unit, const char *const *wanted)
{
    char **pieces;
    unsigned n = pieces_make(text, NULL, limit, unit, &pieces), i = 0;
    for (; wanted[i]; i++) {
        assert_true(i < n);
        assert_string_equal(pieces[i], wanted[i]);
    }
    assert_int_equal(n, i);
    pieces_free(pieces, n);
}

static void a_piece_ends_between_what_is_seen_as_characters(void **state)
{
    (void)state;
    /* man + joiner + woman + joiner + girl: 18 bytes; e + acute; a flag; a thumb with a skin */
    static const char family[] = "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d"
                                 "\xf0\x9f\x91\xa7";
    static const char flags[] = "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa\xf0\x9f\x87\xab\xf0\x9f\x87\xb7";
    assert_int_equal(utf8_cut_grapheme("ae\xcc\x81z", 5, 2), 1);
    assert_int_equal(utf8_cut_grapheme("ae\xcc\x81z", 5, 4), 4);
    assert_int_equal(utf8_cut_grapheme(family, sizeof family - 1, 11), 0);
    assert_int_equal(utf8_cut_grapheme(flags, sizeof flags - 1, 12), 8);
    assert_int_equal(utf8_cut_grapheme("\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd", 8, 4), 0);
    assert_int_equal(utf8_cut_grapheme("\xe0\xa4\x95\xe0\xa5\x8d\xe0\xa4\xb7", 9, 3), 0);
    assert_int_equal(utf8_cut_grapheme("a\r\nb", 4, 2), 1);
    CLEANUP(freep) char *text = xprintf("0123456789ab%s", family);
    const char *const wanted[] = {"0123456789ab", family, NULL};
    cut_into(text, 16, CHELA_UNIT_CHARACTERS, wanted);
}

static void a_link_is_not_parted(void **state)
{
    (void)state;
    static const char text[] =
        "See for yourself [the long story. Part two](http://x.example/a) now";
    const char *const wanted[] = {"See for yourself ",
                                  "[the long story. Part two](http://x.example/a) now", NULL};
    cut_into(text, 55, CHELA_UNIT_BYTES, wanted);
    static const char image[] = "Look at this here ![a picture. Of it](http://x.example/p.png)";
    const char *const image_wanted[] = {"Look at this here ",
                                        "![a picture. Of it](http://x.example/p.png)", NULL};
    cut_into(image, 50, CHELA_UNIT_BYTES, image_wanted);
    char **pieces; /* one that is longer than a message is cut all the same */
    CLEANUP(freep) char *longer = xprintf("[%0200d](http://x.example/)", 7);
    unsigned n = pieces_make(longer, NULL, 60, CHELA_UNIT_BYTES, &pieces);
    assert_true(n >= 4);
    pieces_free(pieces, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_dialect_shows_the_same_text),
        cmocka_unit_test(html_is_escaped_and_closed),
        cmocka_unit_test(no_control_sequence_reaches_a_terminal),
        cmocka_unit_test(pieces_fit_and_lose_nothing),
        cmocka_unit_test(a_long_result_keeps_head_and_tail),
        cmocka_unit_test(silence_is_recognised_also_while_it_grows),
        cmocka_unit_test(a_piece_ends_between_what_is_seen_as_characters),
        cmocka_unit_test(a_link_is_not_parted),
        cmocka_unit_test(tokens_are_estimated_by_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
