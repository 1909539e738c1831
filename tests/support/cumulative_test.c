/*
 * Services that repeat the whole text in each piece: recognised, and ordinary deltas never touched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "support/cumulative.h"

/* What comes out of pieces that end with NULL. */
static const char *through(const char *const *pieces)
{
    static char out[256];
    struct chela_cumulative c = {0};
    const char *text;
    size_t n, at = 0;
    for (; *pieces; pieces++) {
        chela_cumulative_feed(&c, *pieces, strlen(*pieces), &text, &n);
        memcpy(out + at, text, n);
        at += n;
    }
    chela_cumulative_end(&c, &text, &n);
    memcpy(out + at, text, n);
    out[at + n] = '\0';
    chela_cumulative_free(&c);
    return out;
}

static void wholes_become_deltas(void **state)
{
    const char *const growing[] = {"The",         "The cat",      "The cat sat",
                                   "The cat sat", "The cat sat.", NULL};
    const char *const two[] = {"A longer text", "A longer text, complete", NULL};
    (void)state;
    assert_string_equal(through(growing), "The cat sat.");
    assert_string_equal(through(two), "A longer text, complete");
}

static void deltas_stay_what_they_are(void **state)
{
    const char *const plain[] = {"The", " cat", " sat", NULL};
    const char *const echo[] = {"ha", "ha", "haha", NULL};
    const char *const prefix[] = {"a", "ab", "c", NULL};
    const char *const last[] = {"no", "no!", NULL};
    const char *const nested[] = {"{\"a\":", "{\"a\":1}", "}", NULL};
    (void)state;
    assert_string_equal(through(plain), "The cat sat");
    assert_string_equal(through(echo), "hahahaha");
    assert_string_equal(through(prefix), "aabc");
    assert_string_equal(through(last), "nono!");
    assert_string_equal(through(nested), "{\"a\":{\"a\":1}}");
}

static void an_empty_piece_says_nothing(void **state)
{
    const char *const pieces[] = {"", "The", "", "The cat", "", "The cat sat", NULL};
    (void)state;
    assert_string_equal(through(pieces), "The cat sat");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wholes_become_deltas),
        cmocka_unit_test(deltas_stay_what_they_are),
        cmocka_unit_test(an_empty_piece_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
