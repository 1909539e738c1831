/* The table of signatures: the nearest in order, what is gone, what is changed, what is hidden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "vectors.h"

static bool all(void *arg, const char *document)
{
    return !arg || strcmp(arg, document) != 0;
}

/* Documents 0 to n - 1 with one part; document i has its lowest i bits set. */
static void fill(struct vectors *v, int n)
{
    vectors_reset(v, 100);
    assert_int_equal(v->words, 2);
    for (int i = 0; i < n; i++) {
        char name[16];
        uint64_t bits[2] = {i >= 64 ? UINT64_MAX : ((uint64_t)1 << i) - 1, 0};
        snprintf(name, sizeof name, "d%d", i);
        vectors_add(v, name, "1-2", bits);
    }
}

static void the_nearest_come_first(void **state)
{
    struct vectors v = {0};
    struct near near[3];
    uint64_t bits[2] = {0xff, 0};
    (void)state;
    fill(&v, 64);
    assert_int_equal(vectors_nearest(&v, bits, 3, near, all, NULL), 3);
    assert_string_equal(near[0].document, "d8");
    assert_int_equal(near[0].distance, 0);
    assert_string_equal(near[0].part, "1-2");
    assert_int_equal(near[1].distance, 1);
    assert_int_equal(near[2].distance, 1);
    vectors_reset(&v, 0);
}

static void fewer_than_wanted_are_all(void **state)
{
    struct vectors v = {0};
    struct near near[10];
    uint64_t bits[2] = {0, 0};
    (void)state;
    fill(&v, 4);
    assert_int_equal(vectors_nearest(&v, bits, 10, near, all, NULL), 4);
    assert_string_equal(near[3].document, "d3");
    vectors_reset(&v, 0);
    assert_int_equal(vectors_nearest(&v, bits, 10, near, all, NULL), 0);
}

static void what_is_hidden_is_not_found(void **state)
{
    struct vectors v = {0};
    struct near near[2];
    uint64_t bits[2] = {0, 0};
    (void)state;
    fill(&v, 4);
    assert_int_equal(vectors_nearest(&v, bits, 2, near, all, "d0"), 2);
    assert_string_equal(near[0].document, "d1");
    vectors_reset(&v, 0);
}

static void a_document_can_go_and_come_back_changed(void **state)
{
    struct vectors v = {0};
    struct near near[2];
    uint64_t bits[2] = {0, UINT64_MAX};
    (void)state;
    fill(&v, 8);
    vectors_remove(&v, "d3");
    assert_false(vectors_has(&v, "d3"));
    assert_int_equal(vectors_documents(&v), 7);
    vectors_remove(&v, "no such");
    vectors_add(&v, "d3", "1-9", bits);
    vectors_add(&v, "d3", "10-12", bits);
    assert_true(vectors_has(&v, "d3"));
    assert_int_equal(vectors_nearest(&v, bits, 2, near, all, NULL), 2);
    assert_string_equal(near[0].document, "d3");
    assert_string_equal(near[0].part, "1-9");
    assert_string_equal(near[1].part, "10-12");
    vectors_reset(&v, 0);
}

static void many_changes_leave_no_holes(void **state)
{
    struct vectors v = {0};
    struct near near[1];
    (void)state;
    vectors_reset(&v, 64);
    for (uint64_t round = 0; round < 5000; round++) {
        uint64_t bits = round;
        vectors_remove(&v, "same");
        vectors_add(&v, "same", "1-1", &bits);
        vectors_add(&v, "same", "2-2", &bits);
    }
    assert_true(v.count < 5000);
    uint64_t bits = 4999;
    assert_int_equal(vectors_nearest(&v, &bits, 1, near, all, NULL), 1);
    assert_int_equal(near[0].distance, 0);
    vectors_reset(&v, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_come_first),
        cmocka_unit_test(fewer_than_wanted_are_all),
        cmocka_unit_test(what_is_hidden_is_not_found),
        cmocka_unit_test(a_document_can_go_and_come_back_changed),
        cmocka_unit_test(many_changes_leave_no_holes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
