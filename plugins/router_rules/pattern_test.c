/* Patterns of routing rules: words in any script and case, Chinese without spaces, expressions
 * within limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"

static bool words(const char *pattern, const char *text)
{
    char error[200];
    struct pattern *p = pattern_words(pattern, error, sizeof error);
    assert_non_null(p);
    bool r = pattern_matches(p, text, strlen(text));
    pattern_free(p);
    return r;
}

static void a_word_matches_as_a_whole_word_only(void **state)
{
    (void)state;
    assert_true(words("hi", "hi"));
    assert_true(words("hi", "Oh, Hi!"));
    assert_false(words("hi", "this"));
    assert_false(words("hi", "hi_there"));
    assert_false(words("hi", "hié"));
    assert_true(words("hi", "(hi)"));
}

static void case_is_folded_in_every_script(void **state)
{
    (void)state;
    assert_true(words("élan", "ÉLAN vital"));
    assert_true(words("привет", "ПРИВЕТ!"));
    assert_true(words("ΑΘΗΝΑ", "αθηνα"));
}

static void chinese_japanese_and_korean_match_inside_a_sentence(void **state)
{
    (void)state;
    assert_true(words("天气", "查一下今天北京天气怎么样"));
    assert_true(words("コード", "このコードを直して"));
    assert_true(words("날씨", "오늘날씨어때"));
    assert_false(words("天气", "查一下今天"));
}

static void signs_in_a_word_stand_for_themselves(void **state)
{
    (void)state;
    assert_true(words("c++", "write c++ please"));
    assert_true(words("a.b", "a.b"));
    assert_false(words("a.b", "axb"));
    assert_true(words("(x)", "f(x) = 1") == words("(x)", "f(x)"));
    assert_true(words("fix  the bug", "please fix the\nbug"));
}

static void an_expression_that_would_run_for_ever_just_does_not_match(void **state)
{
    (void)state;
    char error[200], text[4001];
    struct pattern *p = pattern_regex("^(a+)+$", error, sizeof error);
    assert_non_null(p);
    memset(text, 'a', sizeof text - 2);
    text[sizeof text - 2] = 'b';
    text[sizeof text - 1] = '\0';
    assert_false(pattern_matches(p, text, strlen(text)));
    assert_true(pattern_matches(p, "aaaa", 4));
    pattern_free(p);
}

static void a_broken_expression_says_where(void **state)
{
    (void)state;
    char error[200] = "";
    assert_null(pattern_regex("a(b", error, sizeof error));
    assert_non_null(strstr(error, "character 3"));
}

static void text_that_is_not_utf8_does_not_match(void **state)
{
    (void)state;
    assert_false(words("hi", "hi \xff"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_matches_as_a_whole_word_only),
        cmocka_unit_test(case_is_folded_in_every_script),
        cmocka_unit_test(chinese_japanese_and_korean_match_inside_a_sentence),
        cmocka_unit_test(signs_in_a_word_stand_for_themselves),
        cmocka_unit_test(an_expression_that_would_run_for_ever_just_does_not_match),
        cmocka_unit_test(a_broken_expression_says_where),
        cmocka_unit_test(text_that_is_not_utf8_does_not_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
