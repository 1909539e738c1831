/*
 * What every store must do, part two: values as they were given, paging, full text, deadlines.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/suite.h"

static uint32_t put(struct fake *f, int64_t n, struct chela_value body, struct chela_value data,
                    struct chela_value weight)
{
    struct batch b;
    batch_begin(&b, "p", CHELA_LAZY);
    struct chela_value v[] = {value_text("p"), value_int(n), body, data, weight};
    batch_op(&b, ITEM_PUT, v, ARRAY_LENGTH(v));
    return batch_commit(f, &b);
}

static struct chela_value text_of(const char *s, size_t n)
{
    return (struct chela_value){.type = CHELA_V_TEXT, .s = chela_sn(s, n)};
}

static struct chela_value real(double d)
{
    return (struct chela_value){.type = CHELA_V_REAL, .d = d};
}

static void values_come_back_as_they_were_given(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct chela_value null = {0};
    char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    assert_int_equal(put(f, INT64_MIN, value_text(""), value_bytes("", 0), real(-1.5)), CHELA_OK);
    assert_int_equal(put(f, -1, value_text("\xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x98\x80 'q' \"\\%_"),
                         value_bytes(all, 256), real(1e300)),
                     CHELA_OK);
    assert_int_equal(put(f, INT64_MAX, null, null, null), CHELA_OK);
    struct chela_value v[] = {value_text("p"), value_int(INT64_MIN)};
    struct outcome *o = suite_query(f, ITEM_LIST, v, 2, 0);
    assert_int_equal(fake_wait(f, o), CHELA_OK);
    assert_int_equal(o->columns, 4);
    assert_int_equal(o->count, 8); /* after the smallest: two */
    assert_true(o->values[0].i == -1);
    assert_string_equal(o->values[1].s.s, "\xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x98\x80 'q' \"\\%_");
    assert_int_equal(o->values[2].type, CHELA_V_BYTES);
    assert_int_equal(o->values[2].s.n, 256);
    assert_memory_equal(o->values[2].s.s, all, 256);
    assert_true(o->values[3].d == 1e300);
    assert_true(o->values[4].i == INT64_MAX);
    for (int i = 5; i < 8; i++)
        assert_int_equal(o->values[i].type, CHELA_V_NULL);
    int64_t n[4];
    struct chela_value w[] = {value_text("p"), value_int(0)};
    o = suite_query(f, ITEM_AFTER, (struct chela_value[]){w[0], value_int(-2), value_int(1)}, 3, 0);
    assert_int_equal(fake_wait(f, o), CHELA_OK);
    assert_int_equal(o->count, 1);
    assert_int_equal(o->values[0].i, -1);
    assert_int_equal(suite_numbers(f, "other", n, 4), 0);
    fake_close(f);
}

static void an_empty_text_is_no_null(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    assert_int_equal(put(f, 1, value_text(""), value_bytes("", 0), real(0)), CHELA_OK);
    struct chela_value v[] = {value_text("p"), value_int(0)};
    struct outcome *o = suite_query(f, ITEM_LIST, v, 2, 0);
    assert_int_equal(fake_wait(f, o), CHELA_OK);
    assert_int_equal(o->values[1].type, CHELA_V_TEXT);
    assert_int_equal(o->values[1].s.n, 0);
    assert_int_equal(o->values[2].type, CHELA_V_BYTES);
    assert_int_equal(o->values[2].s.n, 0);
    fake_close(f);
}

static void text_that_is_none_is_refused(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct chela_value null = {0};
    static const struct {
        const char *p;
        size_t n;
    } bad[] = {{"a\0b", 3},
               {"\0", 1},
               {"\xff", 1},
               {"\xc3", 1},
               {"\xc0\x80", 2},
               {"\xed\xa0\x80", 3},
               {"\xf4\x90\x80\x80", 4},
               {"ok \xe4\xbd", 5},
               {"\x80", 1},
               {"\xe0\x80\x80", 3}};
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
        assert_int_equal(put(f, (int64_t)i, text_of(bad[i].p, bad[i].n), null, null), CHELA_E_ARGS);
    assert_int_equal(
        put(f, 90, text_of("\xf4\x8f\xbf\xbf\xef\xbf\xbf\xed\x9f\xbf", 10), null, null), CHELA_OK);
    int64_t n[20];
    assert_int_equal(suite_numbers(f, "p", n, 20), 1);
    fake_close(f);
}

static void a_column_of_another_type_is_an_error(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct batch b;
    batch_begin(&b, "p", CHELA_LAZY);
    batch_item(&b, 1, "");
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    struct chela_value v[] = {value_text("p"), value_int(1)};
    assert_int_equal(fake_wait(f, suite_query(f, ITEM_TYPES, v, 2, 0)), CHELA_E_PROTOCOL);
    assert_int_equal(fake_wait(f, suite_query(f, 99, v, 2, 0)), CHELA_E_ARGS);
    assert_int_equal(fake_wait(f, suite_query(f, ITEM_TYPES, v, 1, 0)), CHELA_E_ARGS);
    fake_close(f);
}

static void pages_follow_each_other(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct batch b;
    enum { COUNT = 1000 };
    struct outcome *last = NULL;
    for (int i = 1; i <= COUNT; i++) {
        batch_begin(&b, "p", i == COUNT ? CHELA_BARRIER : CHELA_LAZY);
        batch_item(&b, i, "a body of some length, so that the rows fill more than one portion");
        last = batch_send(f, &b);
    }
    assert_int_equal(fake_wait(f, last), CHELA_OK);
    int64_t at = 0;
    for (int pages = 0; pages < COUNT / 64 + 1; pages++) {
        struct chela_value v[] = {value_text("p"), value_int(at), value_int(64)};
        struct outcome *o = suite_query(f, ITEM_AFTER, v, 3, 0);
        assert_int_equal(fake_wait(f, o), CHELA_OK);
        for (size_t i = 0; i < o->count; i++)
            assert_int_equal(o->values[i].i, ++at);
        fake_forget(f, o);
    }
    assert_int_equal(at, COUNT);
    struct chela_value v[] = {value_text("p"), value_int(0)};
    struct outcome *o = suite_query(f, ITEM_LIST, v, 2, 10);
    assert_int_equal(fake_wait(f, o), CHELA_OK);
    assert_int_equal(o->count, 40); /* the call's own limit */
    o = suite_query(f, ITEM_LIST, v, 2, 0);
    assert_int_equal(fake_wait(f, o), CHELA_OK);
    assert_int_equal(o->count, 4 * COUNT);
    assert_true(o->portions > 1);
    fake_close(f);
}

static size_t found(struct fake *f, const char *words)
{
    struct chela_value v[] = {value_text(words), value_int(50)};
    struct outcome *o = suite_query(f, NOTE_FIND, v, 2, 0);
    uint32_t error = fake_wait(f, o);
    if (error)
        print_message("# search \"%s\": %s\n", words, o->text);
    assert_int_equal(error, CHELA_OK);
    size_t n = o->count / 2;
    fake_forget(f, o);
    return n;
}

static void search_finds_what_holds_all_words(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    static const char *const notes[] = {
        "The quick brown fox jumps over the lazy dog",
        "A fox in the snow, and a dog",
        "\xe4\xbb\x8a\xe5\xa4\xa9\xe5\xa4\xa9\xe6\xb0\x94\xe5\xbe\x88\xe5\xa5\xbd", /* fine weather
                                                                                     */
        "\xe5\xa4\xa9\xe7\xa9\xba\xe5\xbe\x88\xe8\x93\x9d, sky blue",
        "Caf\xc3\xa9 Z\xc3\xbcrich NASA-42 snake_case",
        "\xe3\x81\x93\xe3\x82\x93\xe3\x81\xab\xe3\x81\xa1\xe3\x81\xaf \xec\x95\x88\xeb\x85\x95"};
    for (size_t i = 0; i < ARRAY_LENGTH(notes); i++) {
        struct batch b;
        batch_begin(&b, "p", CHELA_LAZY);
        struct chela_value v[] = {value_text("p"), value_int((int64_t)i), value_text(notes[i])};
        batch_op(&b, NOTE_PUT, v, 3);
        assert_int_equal(batch_commit(f, &b), CHELA_OK);
    }
    assert_int_equal(found(f, "fox"), 2);
    assert_int_equal(found(f, "FOX dog"), 2);
    assert_int_equal(found(f, "fox snow"), 1);
    assert_int_equal(found(f, "fox cat"), 0);
    assert_int_equal(found(f, "\xe5\xa4\xa9\xe6\xb0\x94"), 1); /* weather: two characters */
    assert_int_equal(found(f, "\xe5\xa4\xa9"), 2);             /* one */
    assert_int_equal(found(f, "\xe6\xb0\x94\xe5\xa4\xa9"), 0); /* not in this order */
    assert_int_equal(found(f, "blue \xe5\xa4\xa9\xe7\xa9\xba"), 1);
    assert_int_equal(found(f, "\xe3\x81\x93\xe3\x82\x93"), 1);
    assert_int_equal(found(f, "\xec\x95\x88"), 1);
    assert_int_equal(found(f, "nasa"), 1);
    fake_close(f);
}

static void hostile_searches_are_only_words(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    static const char *const hostile[] = {"",
                                          " ",
                                          "\"",
                                          "foo\"bar AND (",
                                          "NEAR(a b, 5)",
                                          "body:secret",
                                          "a*b^c",
                                          "-not",
                                          "(((((",
                                          "' OR 1=1 --",
                                          "AND OR NOT",
                                          "\xe2\x80\x94",
                                          "{x y}",
                                          "%_\\",
                                          "\t\n \x01",
                                          "+a +b",
                                          "\xf0\x9f\x98\x80",
                                          "a\"\"b",
                                          "\xe2\x80\x94 nothing",
                                          "*",
                                          "\"\" \"\"",
                                          "col : x",
                                          ";DROP TABLE note"};
    struct batch b;
    batch_begin(&b, "p", CHELA_LAZY);
    struct chela_value v[] = {value_text("p"), value_int(1), value_text("body of a note")};
    batch_op(&b, NOTE_PUT, v, 3);
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    for (size_t i = 0; i < ARRAY_LENGTH(hostile); i++)
        assert_int_equal(found(f, hostile[i]), 0);
    char *longest = xmalloc(20001);
    for (int i = 0; i < 20000; i++)
        longest[i] = i % 2 ? ' ' : 'q';
    longest[20000] = '\0';
    struct chela_value w[] = {value_text(longest), value_int(1)};
    struct outcome *o = suite_query(f, NOTE_FIND, w, 2, 0);
    fake_wait(f, o); /* an answer or an error, but an end */
    assert_int_equal(o->count, 0);
    free(longest);
    assert_int_equal(found(f, "note"), 1);
    fake_close(f);
}

static void a_query_ends_at_its_deadline(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open("read_timeout=300");
    struct chela_value v[] = {value_int(INT64_MAX)};
    struct outcome *o = suite_query(f, COUNT_TO, v, 1, 0);
    assert_int_equal(fake_wait(f, o), CHELA_E_TIMEOUT);
    struct chela_value few[] = {value_int(10)};
    o = suite_query(f, COUNT_TO, few, 1, 0);
    assert_int_equal(fake_wait(f, o), CHELA_OK);
    assert_int_equal(o->values[0].i, 10);
    fake_close(f);
}

static void queries_can_be_cancelled(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct chela_value v[] = {value_int(INT64_MAX)}, few[] = {value_int(10)};
    struct outcome *o[6];
    for (int i = 0; i < 6; i++) /* more than there are readers */
        o[i] = suite_query(f, COUNT_TO, i == 5 ? few : v, 1, 0);
    for (int i = 4; i >= 0; i--) {
        CHELA_ARGS(chela_arg, a, o[i]->call);
        const struct chela_iface *iface = fake_iface(f);
        iface->cancel(fake_instance(f), &a);
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(fake_wait(f, o[i]), CHELA_E_CANCELLED);
    assert_int_equal(fake_wait(f, o[5]), CHELA_OK);
    fake_close(f);
}

static void commits_go_on_beside_a_long_query(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct chela_value v[] = {value_int(INT64_MAX)};
    struct outcome *o = suite_query(f, COUNT_TO, v, 1, 0);
    for (int i = 0; i < 20; i++) {
        struct batch b;
        batch_begin(&b, "p", CHELA_BARRIER);
        batch_item(&b, i, "");
        assert_int_equal(batch_commit(f, &b), CHELA_OK);
    }
    int64_t n[32];
    assert_int_equal(suite_numbers(f, "p", n, 32), 20);
    assert_false(o->done);
    CHELA_ARGS(chela_arg, a, o->call);
    fake_iface(f)->cancel(fake_instance(f), &a);
    fake_close(f);
}

const struct CMUnitTest value_tests[] = {
    cmocka_unit_test(values_come_back_as_they_were_given),
    cmocka_unit_test(an_empty_text_is_no_null),
    cmocka_unit_test(text_that_is_none_is_refused),
    cmocka_unit_test(a_column_of_another_type_is_an_error),
    cmocka_unit_test(pages_follow_each_other),
    cmocka_unit_test(search_finds_what_holds_all_words),
    cmocka_unit_test(hostile_searches_are_only_words),
    cmocka_unit_test(a_query_ends_at_its_deadline),
    cmocka_unit_test(queries_can_be_cancelled),
    cmocka_unit_test(commits_go_on_beside_a_long_query),
};
const size_t value_test_count = ARRAY_LENGTH(value_tests);
