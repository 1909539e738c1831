/* Patterns of configurations, and text in URLs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "support/glob.h"
#include "support/urlencode.h"

static void patterns_fit_whole_texts(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool fits;
    } table[] = {{"", "", true},
                 {"", "a", false},
                 {"a", "a", true},
                 {"*", "", true},
                 {"*", "abc", true},
                 {"a*", "abc", true},
                 {"*c", "abc", true},
                 {"*b*", "abc", true},
                 {"a?c", "abc", true},
                 {"a?c", "ac", false},
                 {"?", "", false},
                 {"*?", "a", true},
                 {"a*b*c", "aXbYc", true},
                 {"a*b*c", "aXcYb", false},
                 {"*.example.org", "example.org", false},
                 {"*.example.org", "a.example.org", true},
                 {"*.example.org", "a.example.org.evil.test", false},
                 {"**a", "ba", true},
                 {"ab", "abc", false},
                 {"abc", "ab", false}};
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (chela_glob(table[i].pattern, table[i].text) != table[i].fits)
            fail_msg("\"%s\" and \"%s\"", table[i].pattern, table[i].text);
}

/* Tried with every length of every star, this would take longer than the universe has. */
static void many_stars_take_no_time(void **state)
{
    char text[2001];
    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_false(chela_glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
    assert_true(chela_glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a", text));
}

static void text_in_a_url_is_escaped(void **state)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    (void)state;
    assert_non_null(out);
    chela_urlencode(out, "a-._~Z9 &=?/%\xc3\xa9+");
    fclose(out);
    assert_string_equal(text, "a-._~Z9%20%26%3D%3F%2F%25%C3%A9%2B");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_fit_whole_texts),
        cmocka_unit_test(many_stars_take_no_time),
        cmocka_unit_test(text_in_a_url_is_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
