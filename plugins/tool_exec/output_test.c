/* What a command prints: control sequences left out, head and tail kept, always UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

static void expect(const char *bytes, const char *wanted)
{
    size_t n = strlen(bytes), length;
    for (size_t piece = 1; piece <= n; piece++) { /* cut anywhere, the result is the same */
        struct output o = {0};
        output_open(&o, 4096);
        for (size_t i = 0; i < n; i += piece)
            output_add(&o, bytes + i, n - i < piece ? n - i : piece);
        char *text = output_take(&o, &length);
        assert_string_equal(text, wanted);
        free(text);
    }
}

static void control_sequences_are_left_out(void **state)
{
    (void)state;
    expect("\033[1;31mred\033[0m\r\nplain\r\n", "red\nplain\n");
    expect("\033]0;title\007text", "text");
    expect("\033]8;;http://x\033\\link\033]8;;\033\\", "link");
    expect("\033(Bok\033[?2004h", "ok");
    expect("a\007b\x7f", "ab");
}

static void a_line_that_was_written_over_keeps_its_last_state(void **state)
{
    (void)state;
    expect("10%\r50%\r100%\ndone\n", "100%\ndone\n");
    expect("long line\rshort\033[K\n", "short\n");
    expect("typo\b\b\bxyz\n", "txyz\n");
}

static void characters_cut_in_the_middle_come_out_whole(void **state)
{
    (void)state;
    expect("héllo 😀 天气\n", "héllo 😀 天气\n");
    expect("bad \xff byte\n", "bad \xef\xbf\xbd byte\n");
}

static void the_middle_of_a_flood_is_counted_and_dropped(void **state)
{
    struct output o = {0};
    char line[32], *text;
    size_t length;
    (void)state;
    output_open(&o, 2000);
    for (int i = 0; i < 100000; i++) {
        int n = snprintf(line, sizeof line, "line %d\n", i);
        output_add(&o, line, (size_t)n);
    }
    text = output_take(&o, &length);
    assert_true(length < 2200);
    assert_non_null(strstr(text, "line 0\n"));
    assert_non_null(strstr(text, "line 99999\n"));
    assert_non_null(strstr(text, "bytes left out"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_sequences_are_left_out),
        cmocka_unit_test(a_line_that_was_written_over_keeps_its_last_state),
        cmocka_unit_test(characters_cut_in_the_middle_come_out_whole),
        cmocka_unit_test(the_middle_of_a_flood_is_counted_and_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
