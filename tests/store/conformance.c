/*
 * What every store must do, part one: order, barriers, conditions, chains, fences, leases, ids.
 * Knows no engine: `conformance PLUGIN.so OPTION=VALUE ...` runs it on another one unchanged.
 */
#include "store/suite.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

static void the_database_says_what_it_is(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = fake_open(suite_plugin, suite_options(NULL));
    struct batch b;
    batch_begin(&b, "p", CHELA_LAZY);
    batch_item(&b, 1, "too early");
    assert_int_equal(batch_commit(f, &b), CHELA_E_ARGS);
    struct outcome *o = suite_begin_open(f);
    assert_int_equal(fake_wait(f, o), CHELA_OK);
    assert_true(o->length > 0);
    fake_close(f);
}

static void commits_keep_their_order(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    enum { COUNT = 200 };
    struct outcome *sent[COUNT];
    struct batch b;
    batch_begin(&b, "p", CHELA_LAZY);
    batch_item(&b, 1, "0");
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    for (int i = 0; i < COUNT; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i + 1);
        batch_begin(&b, "p", i % 7 == 0 ? CHELA_BARRIER : CHELA_LAZY);
        batch_set(&b, 1, text);
        batch_item(&b, 2 + i, text);
        sent[i] = batch_send(f, &b);
    }
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(fake_wait(f, sent[i]), CHELA_OK);
    struct chela_value v[] = {value_text("p"), value_int(0)};
    struct outcome *o = suite_query(f, ITEM_LIST, v, 2, 0);
    assert_int_equal(fake_wait(f, o), CHELA_OK);
    assert_int_equal(o->count, 4 * (COUNT + 1));
    assert_string_equal(o->values[1].s.s, "200");
    fake_close(f);
}

static void a_batch_is_all_or_nothing(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct batch b;
    int64_t n[8];
    batch_begin(&b, "p", CHELA_LAZY);
    batch_item(&b, 1, "first");
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    batch_begin(&b, "p", CHELA_LAZY);
    batch_item(&b, 2, "new");
    batch_item(&b, 1, "exists");
    assert_int_equal(batch_commit(f, &b), CHELA_E_CONFLICT);
    batch_begin(&b, "p", CHELA_BARRIER);
    batch_item(&b, 3, "new");
    batch_set(&b, 99, "isn't there");
    assert_int_equal(batch_commit(f, &b), CHELA_E_CONFLICT);
    assert_int_equal(suite_numbers(f, "p", n, 8), 1);
    fake_close(f);
}

static void a_failed_batch_leaves_its_neighbours_alone(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct outcome *o[30];
    struct batch b;
    int64_t n[40];
    for (int i = 0; i < 30; i++) {
        batch_begin(&b, "p", CHELA_BARRIER);
        batch_item(&b, i % 3 == 2 ? 0 : i, "");
        o[i] = batch_send(f, &b);
    }
    for (int i = 0; i < 30; i++)
        assert_int_equal(fake_wait(f, o[i]), i % 3 == 2 ? CHELA_E_CONFLICT : CHELA_OK);
    assert_int_equal(suite_numbers(f, "p", n, 40), 20);
    fake_close(f);
}

static void the_same_id_commits_once(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct batch b, other;
    int64_t n[8];
    batch_begin(&b, "p", CHELA_BARRIER);
    batch_item(&b, 1, "once");
    struct outcome *first = batch_send(f, &b), *second = batch_send(f, &b);
    assert_int_equal(fake_wait(f, first), CHELA_OK);
    assert_int_equal(fake_wait(f, second), CHELA_OK);
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    batch_begin(&other, "q", CHELA_LAZY);
    other.args.id = b.args.id; /* unique in its partition only */
    batch_item(&other, 1, "another");
    assert_int_equal(batch_commit(f, &other), CHELA_OK);
    fake_close(f);
    f = suite_open(NULL);
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    assert_int_equal(suite_numbers(f, "p", n, 8), 1);
    assert_int_equal(suite_numbers(f, "q", n, 8), 1);
    fake_close(f);
}

static void a_failed_batch_may_come_again(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct batch b, room;
    batch_begin(&b, "p", CHELA_LAZY);
    batch_set(&b, 1, "needs a row");
    assert_int_equal(batch_commit(f, &b), CHELA_E_CONFLICT);
    batch_begin(&room, "p", CHELA_LAZY);
    batch_item(&room, 1, "");
    assert_int_equal(batch_commit(f, &room), CHELA_OK);
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    fake_close(f);
}

static void a_chain_ends_at_its_first_failure(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct batch b[5];
    struct outcome *o[5];
    int64_t n[8];
    for (int i = 0; i < 5; i++) {
        batch_begin(&b[i], "p", i == 4 ? CHELA_BARRIER : CHELA_LAZY);
        b[i].args.after = i ? b[i - 1].args.id : 0;
        batch_item(&b[i], i == 2 ? 0 : i, "");
        o[i] = batch_send(f, &b[i]);
    }
    static const uint32_t wanted[] = {CHELA_OK, CHELA_OK, CHELA_E_CONFLICT, CHELA_E_SKIPPED,
                                      CHELA_E_SKIPPED};
    for (int i = 0; i < 5; i++)
        assert_int_equal(fake_wait(f, o[i]), wanted[i]);
    struct batch alone;
    batch_begin(&alone, "p", CHELA_LAZY);
    alone.args.after = suite_id(); /* never sent */
    batch_item(&alone, 50, "");
    assert_int_equal(batch_commit(f, &alone), CHELA_E_SKIPPED);
    batch_begin(&alone, "q", CHELA_LAZY);
    alone.args.after = b[0].args.id; /* of another partition */
    batch_item(&alone, 50, "");
    assert_int_equal(batch_commit(f, &alone), CHELA_E_SKIPPED);
    assert_int_equal(suite_numbers(f, "p", n, 8), 2);
    fake_close(f);
    /* a chain goes on after a restart */
    f = suite_open(NULL);
    batch_begin(&alone, "p", CHELA_LAZY);
    alone.args.after = b[1].args.id;
    batch_item(&alone, 60, "");
    assert_int_equal(batch_commit(f, &alone), CHELA_OK);
    fake_close(f);
}

static void a_batch_that_was_given_up_never_commits(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct batch b, v;
    int64_t n[8];
    batch_begin(&b, "p", CHELA_BARRIER);
    batch_item(&b, 1, "late");
    v = b;
    v.args.h.flags = CHELA_VOID;
    v.args.ops.n = 0;
    assert_int_equal(batch_commit(f, &v), CHELA_OK);
    assert_int_equal(batch_commit(f, &v), CHELA_OK);
    assert_int_equal(batch_commit(f, &b), CHELA_E_CANCELLED);
    assert_int_equal(suite_numbers(f, "p", n, 8), 0);
    struct batch after;
    batch_begin(&after, "p", CHELA_LAZY);
    after.args.after = b.args.id;
    assert_int_equal(batch_commit(f, &after), CHELA_E_SKIPPED);
    batch_begin(&b, "p", CHELA_BARRIER);
    batch_item(&b, 1, "in time");
    v = b;
    v.args.h.flags = CHELA_VOID;
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    assert_int_equal(batch_commit(f, &v), CHELA_E_CONFLICT);
    assert_int_equal(suite_numbers(f, "p", n, 8), 1);
    fake_close(f);
}

static uint32_t lease(struct fake *f, const char *owner, uint64_t token, uint64_t ttl,
                      uint64_t *ret_token)
{
    struct outcome *o = fake_call(f);
    CHELA_ARGS(chela_lease, a, o->call);
    a.token = token;
    a.ttl_ms = ttl;
    a.partition = chela_s("p");
    a.owner = chela_s(owner);
    fake_store(f)->lease(fake_instance(f), &a);
    uint32_t error = fake_wait(f, o);
    if (error == CHELA_OK && ret_token)
        *ret_token = strtoull(o->text, NULL, 10);
    return error;
}

static void a_lease_is_taken_kept_and_taken_over(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct batch b;
    uint64_t one = 0, two = 0, three = 0;
    assert_int_equal(lease(f, "a", 0, 10000, &one), CHELA_OK);
    assert_true(one > 0);
    assert_int_equal(lease(f, "b", 0, 10000, NULL), CHELA_E_BUSY);
    assert_int_equal(lease(f, "a", one, 10000, NULL), CHELA_OK);
    batch_begin(&b, "p", CHELA_LAZY);
    b.args.fence = one;
    batch_item(&b, 1, "mine");
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    fake_advance(f, 20000); /* the first owner sleeps too long */
    assert_int_equal(lease(f, "b", 0, 10000, &two), CHELA_OK);
    assert_true(two > one);
    batch_begin(&b, "p", CHELA_BARRIER);
    b.args.fence = one;
    batch_item(&b, 2, "no longer mine");
    assert_int_equal(batch_commit(f, &b), CHELA_E_STALE);
    assert_int_equal(lease(f, "a", one, 10000, NULL), CHELA_E_STALE);
    b.args.fence = two;
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    assert_int_equal(lease(f, "b", two, 0, NULL), CHELA_OK); /* gives it back */
    assert_int_equal(lease(f, "a", 0, 10000, &three), CHELA_OK);
    assert_true(three > two);
    fake_close(f);
}

static void wrong_batches_are_refused(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct batch b;
    struct chela_value elsewhere[] = {value_text("q"), value_int(1), value_text(""),
                                      value_text(NULL), value_text(NULL)};
    batch_begin(&b, "p", CHELA_LAZY);
    batch_op(&b, ITEM_PUT, elsewhere, 5); /* another partition */
    assert_int_equal(batch_commit(f, &b), CHELA_E_ARGS);
    batch_begin(&b, "q", CHELA_LAZY);
    batch_op(&b, ITEM_PUT, elsewhere, 4); /* one parameter short */
    assert_int_equal(batch_commit(f, &b), CHELA_E_ARGS);
    batch_begin(&b, "q", CHELA_LAZY);
    batch_op(&b, SCHEMA_STATEMENTS, elsewhere, 5);
    assert_int_equal(batch_commit(f, &b), CHELA_E_ARGS);
    batch_begin(&b, "q", CHELA_LAZY);
    batch_op(&b, ITEM_LIST, elsewhere, 2); /* a query */
    assert_int_equal(batch_commit(f, &b), CHELA_E_ARGS);
    elsewhere[1] = value_text("1"); /* a text where a number belongs */
    batch_begin(&b, "q", CHELA_LAZY);
    batch_op(&b, ITEM_PUT, elsewhere, 5);
    assert_int_equal(batch_commit(f, &b), CHELA_E_ARGS);
    batch_begin(&b, "q", CHELA_LAZY);
    b.args.id = 0;
    batch_item(&b, 1, "");
    assert_int_equal(batch_commit(f, &b), CHELA_E_ARGS);
    struct outcome *o = suite_query(f, ITEM_SET, elsewhere, 3, 0);
    assert_int_equal(fake_wait(f, o), CHELA_E_ARGS);
    fake_close(f);
}

static void an_empty_barrier_is_a_barrier(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct batch b;
    batch_begin(&b, "p", CHELA_BARRIER);
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    fake_close(f);
}

static const struct CMUnitTest order_tests[] = {
    cmocka_unit_test(the_database_says_what_it_is),
    cmocka_unit_test(commits_keep_their_order),
    cmocka_unit_test(a_batch_is_all_or_nothing),
    cmocka_unit_test(a_failed_batch_leaves_its_neighbours_alone),
    cmocka_unit_test(the_same_id_commits_once),
    cmocka_unit_test(a_failed_batch_may_come_again),
    cmocka_unit_test(a_chain_ends_at_its_first_failure),
    cmocka_unit_test(a_batch_that_was_given_up_never_commits),
    cmocka_unit_test(a_lease_is_taken_kept_and_taken_over),
    cmocka_unit_test(wrong_batches_are_refused),
    cmocka_unit_test(an_empty_barrier_is_a_barrier),
};

static int run_all(void)
{
    const struct CMUnitTest crash[] = {
        {"what was acknowledged survives kill -9, without gaps", crash_test, NULL, NULL, NULL}};
    struct {
        const struct CMUnitTest *tests;
        size_t count;
    } parts[] = {{order_tests, ARRAY_LENGTH(order_tests)},
                 {value_tests, value_test_count},
                 {blob_tests, blob_test_count},
                 {crash, crash_rounds ? 1 : 0}};
    struct CMUnitTest all[64];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
        for (size_t k = 0; k < parts[i].count; k++)
            all[n++] = parts[i].tests[k];
    return _cmocka_run_group_tests("store conformance", all, n, NULL, NULL);
}

/* conformance [--child PARTITIONS] [PLUGIN.so [OPTION=VALUE ...]]; CHELA_TEST_ROUNDS: of kill -9 */
int main(int argc, char **argv)
{
    suite_program = argv[0];
    const char *rounds = getenv("CHELA_TEST_ROUNDS");
    const char *child = argc > 2 && strcmp(argv[1], "--child") == 0 ? argv[2] : NULL;
    char **rest = argv + (child ? 3 : 1);
    crash_rounds = rounds ? (unsigned)strtoul(rounds, NULL, 10) : 10;
    if (*rest && rest[1])
        suite_use((const char *const *)(rest + 1));
    if (child) {
        suite_plugin = *rest;
        return crash_child(child);
    }
    suite_begin(*rest);
    int failed = run_all();
    suite_end(failed == 0);
    return failed;
}
