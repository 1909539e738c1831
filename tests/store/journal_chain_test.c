/*
 * The way of a commit, on a store that is a function: retries under one id, chains that stay in
 * order, failures that end them, what is counted.
 */
/* cmocka wants these before itself */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/journal/journal_private.h"
#include "base/clock.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/loop.h"
#include "store/bridge.h"

/* What the store was asked for, and how it will answer. */
static struct sent {
    uint64_t call, id, after;
    uint32_t durability;
    int64_t statement[12];
    unsigned statements;
} sent[32];
static unsigned sent_count, answered;
static uint32_t script[32]; /* classes, one for each commit in order of its coming; 0 = OK */
static bool hold;

static void a_store(uint64_t call, uint32_t fn, const void *args)
{
    if (fn != CHELA_FN_STORE_COMMIT) {
        bridge_done(call, CHELA_OK, "a function");
        return;
    }
    const struct chela_batch *b = args;
    struct sent *s = &sent[sent_count];
    memset(s, 0, sizeof *s);
    s->call = call;
    s->id = b->id;
    s->after = b->after;
    s->durability = b->durability;
    for (uint64_t i = 0; i < b->ops.n; i++)
        if (b->ops.v[i].type == CHELA_V_OP)
            s->statement[s->statements++] = b->ops.v[i].i;
    if (!hold) {
        bridge_done(call, script[sent_count], "as the script says");
        answered++;
    }
    sent_count++;
}

static void answer_next(uint32_t class)
{
    bridge_done(sent[answered++].call, class, "as the test says");
}

static int set_up(void **state)
{
    (void)state;
    clock_fake(1700000000000);
    loop_open();
    sent_count = answered = 0;
    hold = false;
    memset(script, 0, sizeof script);
    struct answer a = {0};
    journal_open(bridge_function(a_store), true, answer_done, &a);
    return answer_wait(&a) == CHELA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    journal_close();
    unsigned left = loop_close();
    clock_fake_end();
    return left == 0 && bridge_open_calls() == 0 ? 0 : -1;
}

static void pass(uint64_t ms)
{
    clock_fake_advance(ms);
    for (int i = 0; i < 4; i++)
        loop_turn(false);
}

static struct journal_message user(uint64_t seq, const char *inbox)
{
    return (struct journal_message){
        .seq = seq, .role = "user", .body = "[]", .inbox = inbox, .at = 1700000000000};
}

static struct journal_message assistant(uint64_t seq)
{
    return (struct journal_message){.seq = seq,
                                    .role = "assistant",
                                    .body = "[]",
                                    .model = "demo/echo",
                                    .tokens_in = 3,
                                    .tokens_out = 4,
                                    .at = 1700000000000};
}

static void a_plain_turn_has_two_barriers(void **state)
{
    (void)state;
    struct answer a[5] = {0};
    struct journal_message u = user(1, "m1"), t = assistant(2);
    struct journal_message_in in = {"cli||t", "message", "e1", 0, "m1", "s", "main", "{}", 1};
    struct journal_chunk c = {"r:0", "{}", CHELA_SEND_IDEMPOTENT};
    struct journal_counts before = journal_counts();
    journal_inbound(&in, answer_done, &a[0]);
    assert_int_equal(answer_wait(&a[0]), CHELA_OK);
    struct journal_run *r = journal_run_begin("s", "m1");
    journal_run_state(r, "RECEIVED", 1);
    journal_run_start(r, "main", 1, &u, 1, answer_done, &a[1]);
    journal_run_state(r, "CALLING", 2);
    journal_attempt(r, 1, "demo/echo", "default", false, answer_done, &a[2]);
    journal_attempt_end(r, 1, "ok", 5, 3, 4);
    journal_run_state(r, "DONE", 3);
    journal_final(r, &t, &c, 1, "DONE", answer_done, &a[3]);
    for (int i = 1; i < 4; i++)
        assert_int_equal(answer_wait(&a[i]), CHELA_OK);
    journal_chunk_state("s", "m1", "r:0", CHELA_SEND_IDEMPOTENT, "SENT", "x", answer_done, &a[4]);
    assert_int_equal(answer_wait(&a[4]), CHELA_OK);
    journal_run_end(r);
    struct journal_counts after = journal_counts();
    assert_int_equal(after.batches - before.batches, 5);
    assert_int_equal(after.barriers - before.barriers, 2);
    assert_int_equal(sent[1].after, 0);
    assert_int_equal(sent[2].after, sent[1].id);
    assert_int_equal(sent[3].after, sent[2].id);
    assert_int_equal(sent[3].durability, CHELA_BARRIER);
    assert_int_equal(sent[4].durability, CHELA_LAZY);
}

static void a_chunk_that_nobody_can_ask_about_is_a_barrier(void **state)
{
    (void)state;
    struct answer a = {0};
    journal_chunk_state("s", "r", "k", CHELA_SEND_NEITHER, "SENT", NULL, answer_done, &a);
    assert_int_equal(answer_wait(&a), CHELA_OK);
    assert_int_equal(sent[0].durability, CHELA_BARRIER);
}

static void without_power_safety_no_barrier_is_asked_for(void **state)
{
    (void)state;
    struct answer a = {0};
    journal_power = false;
    struct journal_counts before = journal_counts();
    journal_session_patch("s", "{\"title\":\"T\"}", answer_done, &a);
    assert_int_equal(answer_wait(&a), CHELA_OK);
    assert_int_equal(sent[0].durability, CHELA_LAZY);
    assert_int_equal(journal_counts().barriers - before.barriers, 1);
    journal_power = true;
}

static void unknown_and_busy_are_tried_again_under_the_same_id(void **state)
{
    (void)state;
    struct answer a = {0};
    script[0] = CHELA_E_UNKNOWN;
    script[1] = CHELA_E_BUSY;
    script[2] = CHELA_E_UNKNOWN;
    journal_kv_put("p", "k", chela_s("v"), true, answer_done, &a);
    for (int i = 0; i < 10 && !a.here; i++)
        pass(200);
    assert_true(a.here);
    assert_int_equal(a.class, CHELA_OK);
    assert_int_equal(sent_count, 4);
    for (int i = 1; i < 4; i++)
        assert_int_equal(sent[i].id, sent[0].id);
}

static void pauses_grow_and_end(void **state)
{
    (void)state;
    struct answer a = {0};
    for (int i = 0; i < 20; i++)
        script[i] = CHELA_E_BUSY;
    journal_kv_put("p", "k", chela_s("v"), true, answer_done, &a);
    pass(0);
    pass(19);
    assert_int_equal(sent_count, 1);
    pass(1);
    assert_int_equal(sent_count, 2);
    for (int i = 0; i < 18; i++)
        pass(5000);
    assert_int_equal(sent_count, 20);
    script[20] = CHELA_OK;
    pass(5000);
    assert_int_equal(answer_wait(&a), CHELA_OK);
}

static void what_cant_be_mended_reaches_the_caller(void **state)
{
    (void)state;
    static const uint32_t classes[] = {CHELA_E_FULL, CHELA_E_ARGS, CHELA_E_OTHER, CHELA_E_GONE,
                                       CHELA_E_STALE};
    for (unsigned i = 0; i < ARRAY_LENGTH(classes); i++) {
        struct answer a = {0};
        script[i] = classes[i];
        journal_kv_put("p", "k", chela_s("v"), true, answer_done, &a);
        assert_int_equal(answer_wait(&a), classes[i]);
        assert_string_equal(a.text, "as the script says");
    }
}

/* Three commits of a chain; the first is busy once, so the others come back as skipped. */
static void a_chain_keeps_its_order_while_its_first_is_tried_again(void **state)
{
    (void)state;
    struct answer a[3] = {0};
    struct journal_message u = user(1, NULL);
    struct journal_run *r = journal_run_begin("s", "r");
    hold = true;
    journal_run_start(r, "main", 1, &u, 1, answer_done, &a[0]);
    journal_attempt(r, 1, "demo/echo", "", false, answer_done, &a[1]);
    journal_results(r, &u, 1, answer_done, &a[2]);
    assert_int_equal(sent_count, 3);
    answer_next(CHELA_E_BUSY);
    answer_next(CHELA_E_SKIPPED);
    answer_next(CHELA_E_SKIPPED);
    hold = false;
    pass(0);
    assert_int_equal(sent_count, 3);
    assert_false(a[1].here);
    for (int i = 0; i < 5; i++)
        pass(20);
    assert_int_equal(sent_count, 6);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(answer_wait(&a[i]), CHELA_OK);
        assert_int_equal(sent[3 + i].id, sent[i].id);
    }
    journal_run_end(r);
}

static void a_failed_commit_fails_all_that_follow(void **state)
{
    (void)state;
    struct answer a[3] = {0};
    struct journal_message u = user(1, NULL);
    struct journal_run *r = journal_run_begin("s", "r");
    hold = true;
    journal_run_start(r, "main", 1, &u, 1, answer_done, &a[0]);
    journal_attempt(r, 1, "demo/echo", "", false, answer_done, &a[1]);
    answer_next(CHELA_E_FULL);
    answer_next(CHELA_E_SKIPPED);
    assert_int_equal(answer_wait(&a[0]), CHELA_E_FULL);
    assert_int_equal(answer_wait(&a[1]), CHELA_E_SKIPPED);
    assert_non_null(strstr(a[1].text, "as the test says"));
    journal_results(r, &u, 1, answer_done, &a[2]); /* later */
    assert_int_equal(sent[2].after, sent[1].id);
    answer_next(CHELA_E_SKIPPED);
    assert_int_equal(answer_wait(&a[2]), CHELA_E_SKIPPED);
    journal_run_end(r);
}

static void a_run_may_end_before_its_commits(void **state)
{
    (void)state;
    struct answer a = {0};
    struct journal_message t = assistant(1);
    struct journal_run *r = journal_run_begin("s", "r");
    hold = true;
    journal_final(r, &t, NULL, 0, "DONE", answer_done, &a);
    journal_run_end(r);
    answer_next(CHELA_OK);
    assert_int_equal(answer_wait(&a), CHELA_OK);
}

static void ids_rise(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t id = journal_new_id();
        assert_true(id > last && id < INT64_MAX);
        last = id;
    }
}

static void a_closed_journal_says_so(void **state)
{
    (void)state;
    struct answer a = {0}, b = {0};
    journal_close();
    journal_kv_put("p", "k", chela_s("v"), true, answer_done, &a);
    assert_int_equal(answer_wait(&a), CHELA_E_GONE);
    journal_kv_get("p", "k", answer_row, answer_done, &b);
    assert_int_equal(answer_wait(&b), CHELA_E_GONE);
}

static void closing_forgets_what_is_under_way(void **state)
{
    (void)state;
    struct answer a = {0};
    struct journal_message u = user(1, NULL);
    struct journal_run *r = journal_run_begin("s", "r");
    script[0] = CHELA_E_BUSY;
    journal_run_start(r, "main", 1, &u, 1, answer_done, &a);
    pass(0);
    hold = true;
    journal_attempt(r, 1, "demo/echo", "", false, answer_done, &a);
    journal_run_end(r);
    journal_close();
    pass(1000);
    assert_false(a.here);
}

int main(void)
{
#define CHAIN_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CHAIN_TEST(a_plain_turn_has_two_barriers),
        CHAIN_TEST(a_chunk_that_nobody_can_ask_about_is_a_barrier),
        CHAIN_TEST(without_power_safety_no_barrier_is_asked_for),
        CHAIN_TEST(unknown_and_busy_are_tried_again_under_the_same_id),
        CHAIN_TEST(pauses_grow_and_end),
        CHAIN_TEST(what_cant_be_mended_reaches_the_caller),
        CHAIN_TEST(a_chain_keeps_its_order_while_its_first_is_tried_again),
        CHAIN_TEST(a_failed_commit_fails_all_that_follow),
        CHAIN_TEST(a_run_may_end_before_its_commits),
        CHAIN_TEST(ids_rise),
        CHAIN_TEST(a_closed_journal_says_so),
        CHAIN_TEST(closing_forgets_what_is_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
