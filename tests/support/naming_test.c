/*
 * Names of tools and ids of calls as services want them: what fits stays, what doesn't meets
 * nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "support/naming.h"

static const char *const reserved[] = {"python", NULL};
static const char *const spelling[] = {"Read", "WebFetch", NULL};
static const struct chela_naming plain = {.id_most = 40}, strict = {.reserved = reserved},
                                 login = {.spelling = spelling},
                                 nine = {.id_most = 9, .id_exact = true};

static const char *name(const struct chela_naming *n, const char *text)
{
    static char out[CHELA_NAME_SIZE];
    chela_wire_name(n, text, strlen(text), out);
    return out;
}

static const char *id(const struct chela_naming *n, const char *text)
{
    static char out[CHELA_NAME_SIZE];
    chela_wire_id(n, text, out);
    return out;
}

static void a_name_that_fits_stays(void **state)
{
    (void)state;
    assert_string_equal(name(&plain, "get_weather"), "get_weather");
    assert_string_equal(name(&plain, "_x-9"), "_x-9");
    assert_string_equal(name(&login, "exec"), "exec");
}

static void a_name_that_does_not_fit_is_made_to_and_is_its_own(void **state)
{
    char one[CHELA_NAME_SIZE], other[CHELA_NAME_SIZE], longest[200];
    static const char *const bad[] = {
        "", "a.b", "a/b", "a b", "9lives", "-x", "gr\xc3\xbc\xc3\x9f"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(one, sizeof one, "%s", name(&plain, bad[i]));
        assert_true(strlen(one) >= 1 && strlen(one) <= 64);
        assert_true(strchr("_abcdefghijklmnopqrstuvwxyz", one[0]) != NULL);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(one, name(&plain, bad[k]));
    }
    memset(longest, 'x', sizeof longest);
    longest[199] = '\0';
    snprintf(one, sizeof one, "%s", name(&plain, longest));
    longest[198] = 'y';
    snprintf(other, sizeof other, "%s", name(&plain, longest));
    assert_int_equal(strlen(one), 64);
    assert_string_not_equal(one, other);
}

static void a_name_can_not_be_made_to_look_like_another_s(void **state)
{
    char dotted[CHELA_NAME_SIZE];
    (void)state;
    snprintf(dotted, sizeof dotted, "%s", name(&plain, "a.b"));
    assert_string_not_equal(name(&plain, dotted), dotted);
}

static void reserved_names_are_left_to_the_service(void **state)
{
    (void)state;
    assert_string_not_equal(name(&strict, "python"), "python");
    assert_string_equal(name(&strict, "python3"), "python3");
    assert_string_equal(name(&plain, "python"), "python");
}

static void a_login_spells_its_own_names_and_no_two_tools_meet(void **state)
{
    (void)state;
    assert_string_equal(name(&login, "read"), "Read");
    assert_string_equal(name(&login, "webfetch"), "WebFetch");
    assert_string_not_equal(name(&login, "Read"), "Read"); /* it would be taken for "read" */
    assert_string_equal(name(&plain, "read"), "read");
}

static void ids_are_rewritten_only_where_they_must_be(void **state)
{
    char one[CHELA_NAME_SIZE];
    (void)state;
    assert_string_equal(id(&plain, "toolu_01Ab-C"), "toolu_01Ab-C");
    assert_string_equal(id(&nine, "D681PevKs"), "D681PevKs");
    snprintf(one, sizeof one, "%s", id(&nine, "call_0123456789abcdef"));
    assert_int_equal(strlen(one), 9);
    assert_int_equal(strspn(one, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
                     9);
    assert_string_not_equal(one, id(&nine, "call_0123456789abcdee"));
    snprintf(one, sizeof one, "%s",
             id(&plain, "call:with blanks and much, much more than forty bytes"));
    assert_true(strlen(one) <= 40);
    assert_null(strpbrk(one, ": ,"));
    assert_int_equal(strlen(id(&nine, "")), 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_fits_stays),
        cmocka_unit_test(a_name_that_does_not_fit_is_made_to_and_is_its_own),
        cmocka_unit_test(a_name_can_not_be_made_to_look_like_another_s),
        cmocka_unit_test(reserved_names_are_left_to_the_service),
        cmocka_unit_test(a_login_spells_its_own_names_and_no_two_tools_meet),
        cmocka_unit_test(ids_are_rewritten_only_where_they_must_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
