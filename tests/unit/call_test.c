/*
 * The contract of calls, each rule once with the plugin in this process and once in a child.
 */
#include "host_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "host/host_table.h"
#include "host/loop.h"
#include "wire/functions.h"

static int open_here(void **unused)
{
    (void)unused;
    kit_open(KIT_HERE);
    return 0;
}

static int open_child(void **unused)
{
    (void)unused;
    kit_open(KIT_CHILD);
    return 0;
}

static int close_kit(void **unused)
{
    (void)unused;
    kit_close();
    return 0;
}

/* ---- events and ends ---- */

static void events_keep_their_order_and_done_is_last(void **unused)
{
    (void)unused;
    kit_run("text $ one\ntext $ two\ndone $ 0\n", 0, 0);
    kit_expect(""); /* nothing before call_begin has returned */
    kit_sync();
    kit_expect("saw run h1\nh1 text one\nh1 text two\nh1 done 0\n");
    assert_int_equal(call_count(), 0);
    assert_int_equal(kit.in->broken_rules, 0);
}

static void the_first_done_wins(void **unused)
{
    (void)unused;
    kit_run("done $ 7\ndone $ 0\ntext $ late\n", 0, 0);
    kit_sync();
    kit_expect("saw run h1\nh1 done 7\n");
    assert_int_equal(kit.in->broken_rules, 2);
}

static void an_id_that_never_was_is_refused(void **unused)
{
    (void)unused;
    kit_tell("text 999999 x\ndone 0 0\ndone 888888 0\n");
    kit_sync();
    kit_expect("");
    assert_int_equal(kit.in->broken_rules, 3);
}

static void calls_of_another_instance_are_out_of_reach(void **unused)
{
    (void)unused;
    struct instance *first = kit.in, *second = kit_instance("second", NULL);
    uint64_t id = kit_run("", 0, 0);
    kit.in = second;
    kit_tell("text %llu x\ndone %llu 0\n", (unsigned long long)id, (unsigned long long)id);
    kit_sync();
    assert_int_equal(second->broken_rules, 2);
    kit.in = first;
    kit_tell("done %llu 0\n", (unsigned long long)id);
    kit_sync();
    kit_expect("saw run h1\nh1 done 0\n");
    assert_int_equal(first->broken_rules, 0);
    kit_free(second);
}

static void an_unknown_error_class_reads_as_other(void **unused)
{
    (void)unused;
    kit_run("done $ 4711\n", 0, 0);
    kit_sync();
    kit_expect("saw run h1\nh1 done 12\n");
}

static void text_that_is_not_utf8_is_mended_once(void **unused)
{
    (void)unused;
    kit_run("text $ a\xff"
            "b\ntext $ gr\xc3\xbc\xc3\x9f\ndone $ 0\n",
            0, 0);
    kit_sync();
    kit_expect("saw run h1\nh1 text a\xef\xbf\xbd"
               "b\nh1 text gr\xc3\xbc\xc3\x9f\nh1 done 0\n");
    assert_int_equal(kit.in->broken_rules, 1);
    kit_prepare("decide $ no\xc3\n");
    kit_sync();
    kit_expect("saw prepare h2\nh2 verdict 1 no\xef\xbf\xbd\n");
    assert_int_equal(kit.in->broken_rules, 2);
}

static void a_verdict_ends_a_question_and_nothing_else(void **unused)
{
    (void)unused;
    kit_prepare("decide $ fine\n");
    kit_sync();
    kit_expect("saw prepare h1\nh1 verdict 1 fine\n");
    kit_prepare("done $ 14\n"); /* an error is an answer too */
    kit_sync();
    kit_expect("saw prepare h2\nh2 done 14\n");
    assert_int_equal(kit.in->broken_rules, 0);
    kit_prepare("done $ 0\n");
    kit_sync();
    kit_expect("saw prepare h3\nh3 done 11\n");
    kit_run("decide $ x\n", 0, 0);
    kit_sync();
    kit_expect("saw run h4\nh4 done 11\n");
    assert_int_equal(kit.in->broken_rules, 2);
}

/* ---- cancel ---- */

static void after_cancel_events_are_dropped_and_the_result_counts(void **unused)
{
    (void)unused;
    uint64_t id = kit_run("text $ before\n", 0, 0);
    kit_sync();
    call_cancel(id);
    call_cancel(id);
    kit_tell("text %llu after\ndone %llu 0\n", (unsigned long long)id, (unsigned long long)id);
    kit_sync();
    call_cancel(id); /* after its end it does nothing */
    kit_sync();
    kit_expect("saw run h1\nh1 text before\nsaw cancel h1\nh1 done 0\n");
    assert_int_equal(kit.in->broken_rules, 0);
}

static void a_cancel_takes_the_requests_of_the_call_along(void **unused)
{
    (void)unused;
    kit.answer_cancel = true;
    uint64_t id = kit_run("http $ a\nhttp $ b\nhttp 0 c\n", 0, 0);
    kit_sync();
    kit_expect("saw run h1\np1 http a for h1\np2 http b for h1\np3 http c for none\n");
    call_cancel(id);
    kit_expect("p1 is cancelled\np2 is cancelled\n");
    kit_sync();
    kit_expect("saw done p1 9 tag 42\nsaw done p2 9 tag 42\nsaw cancel h1\n");
    kit_tell("done %llu 9\n", (unsigned long long)id);
    kit_sync();
    kit_expect("h1 done 9\n");
    assert_int_equal(call_count(), 1);
}

static void the_end_of_a_call_ends_what_it_left_open(void **unused)
{
    (void)unused;
    kit_run("http $ a\n", 0, 0);
    kit_sync();
    kit_tell("http %llu b\ndone %llu 0\n", (unsigned long long)kit_id('h', 1),
             (unsigned long long)kit_id('h', 1));
    kit_sync();
    kit_expect("saw run h1\np1 http a for h1\np2 http b for h1\np1 is cancelled\np2 is cancelled\n"
               "h1 done 0\n");
    /* one that comes too late for its call is not begun at all */
    kit_tell("http %llu c\n", (unsigned long long)kit_id('h', 1));
    kit_sync();
    kit_expect("saw done p3 9 tag 42\n");
    assert_int_equal(kit.in->broken_rules, 0);
}

static void a_call_of_the_host_may_serve_another_one(void **unused)
{
    (void)unused;
    uint64_t above = kit_run("", 0, 0);
    uint64_t below = kit_run("", 0, above);
    kit_sync();
    assert_int_equal(call_parent(below), above);
    call_cancel(above);
    kit_sync();
    kit_expect("saw run h1\nsaw run h2\nsaw cancel h2\nsaw cancel h1\n");
    kit_run("", 0, above); /* too late */
    kit_sync();
    kit_expect("h3 done 9\n");
    kit_tell("done %llu 9\ndone %llu 9\n", (unsigned long long)above, (unsigned long long)below);
    kit_sync();
    kit_expect("h1 done 9\nh2 done 9\n");
}

static void a_call_that_does_not_end_makes_its_instance_stuck(void **unused)
{
    (void)unused;
    clock_fake(1000000);
    uint64_t id = kit_run("", 0, 0);
    kit_sync();
    call_cancel(id);
    clock_fake_advance(4999);
    kit_sync();
    kit_expect("saw run h1\nsaw cancel h1\n");
    clock_fake_advance(1);
    loop_turn(false);
    kit_expect("h1 done 10\n");
    assert_int_equal(kit.in->state, INSTANCE_STUCK);
    kit_run("", 0, 0); /* nothing new for it */
    loop_turn(false);
    kit_expect("h2 done 10\n");
    kit.in->state = INSTANCE_RUNNING; /* so that it can be told something */
    kit_tell("done %llu 0\nsync 0\n", (unsigned long long)id);
    kit.in->state = INSTANCE_STUCK;
    kit_wait("saw sync 0");
    kit_expect("saw sync 0\n");
    assert_int_equal(kit.in->broken_rules, 0); /* late, but no offence */
    kit.in->state = INSTANCE_RUNNING;
}

static void a_deadline_cancels_and_is_named(void **unused)
{
    (void)unused;
    clock_fake(1000000);
    uint64_t id = kit_run("", 30, 0);
    kit_sync();
    clock_fake_advance(30);
    kit_sync();
    kit_expect("saw run h1\nsaw cancel h1\n");
    kit_tell("done %llu 9\n", (unsigned long long)id);
    kit_sync();
    kit_expect("h1 done 8\n");
    /* one that makes it nevertheless has made it */
    id = kit_run("", 30, 0);
    clock_fake_advance(30);
    kit_sync();
    kit_tell("done %llu 0\n", (unsigned long long)id);
    kit_sync();
    kit_expect("saw run h2\nsaw cancel h2\nh2 done 0\n");
    /* and one that ends in time has no deadline left */
    kit_run("done $ 0\n", 30, 0);
    kit_sync();
    clock_fake_advance(10000);
    kit_sync();
    kit_expect("saw run h3\nh3 done 0\n");
    assert_int_equal(kit.in->state, INSTANCE_RUNNING);
}

static void a_forgotten_call_is_cancelled_and_silent(void **unused)
{
    (void)unused;
    uint64_t id = kit_run("text $ x\n", 0, 0);
    call_forget(id);
    kit_sync();
    kit_tell("done %llu 0\n", (unsigned long long)id);
    kit_sync();
    kit_expect("saw run h1\nsaw cancel h1\n");
    assert_int_equal(call_count(), 0);
}

/* ---- calls of the plugin ---- */

static void a_request_has_events_and_one_end(void **unused)
{
    (void)unused;
    kit_tell("http 0 a\n");
    kit_sync();
    uint64_t id = kit_id('p', 1);
    assert_ptr_equal(call_instance(id), kit.in);
    CHELA_ARGS(chela_http_event, event, 0);
    event.status = 200;
    event.data = chela_s("x");
    call_event(id, CHELA_FN_HTTP_EVENT, &event);
    call_event(id, CHELA_FN_HTTP_EVENT, &event);
    call_answer_error(id, CHELA_E_NETWORK, "lost");
    call_event(id, CHELA_FN_HTTP_EVENT, &event);
    call_answer_error(id, CHELA_E_NETWORK, "lost");
    kit_sync();
    kit_expect("p1 http a for none\nsaw http p1 200 tag 42 x\nsaw http p1 200 tag 42 x\n"
               "saw done p1 7 tag 42\n");
    assert_null(call_instance(id));
}

static void a_plugin_may_cancel_its_own_request(void **unused)
{
    (void)unused;
    kit_tell("http 0 a\n");
    kit_sync();
    uint64_t id = kit_id('p', 1);
    kit_tell("send %llu x\ncancel %llu\ncancel %llu\nsend %llu y\n", (unsigned long long)id,
             (unsigned long long)id, (unsigned long long)id, (unsigned long long)id);
    kit_sync();
    CHELA_ARGS(chela_http_event, event, 0);
    call_event(id, CHELA_FN_HTTP_EVENT, &event); /* nothing comes after a cancel but the end */
    call_answer_error(id, CHELA_E_CANCELLED, "");
    kit_tell("cancel %llu\nsend %llu z\n", (unsigned long long)id, (unsigned long long)id);
    kit_sync();
    kit_expect("p1 http a for none\np1 send x\np1 is cancelled\nsaw done p1 9 tag 42\n");
    assert_int_equal(kit.in->broken_rules, 0); /* it can't know that the call has just ended */
}

static void ids_only_rise_and_belong_to_their_maker(void **unused)
{
    (void)unused;
    kit_tell("http 0 a\n");
    kit_sync();
    uint64_t id = kit_id('p', 1);
    kit_tell("reuse %llu b\nreuse 5 c\nreuse %llu d\nreuse 0 e\nhttp 77 f\n",
             (unsigned long long)id, (unsigned long long)(id + ((uint64_t)1 << 40)));
    kit_sync();
    kit_expect(
        "p1 http a for none\nsaw done p2 1 tag 42\n"); /* the last: a parent that never was */
    assert_int_equal(kit.in->broken_rules, 5);
    kit_tell("send 12345 x\ncancel %llu\n", (unsigned long long)(id + 100));
    kit_sync();
    assert_int_equal(kit.in->broken_rules, 7);
    kit_expect("");
}

static void what_this_host_cannot_do_is_said(void **unused)
{
    (void)unused;
    call_handle(CHELA_FN_HTTP, NULL, NULL);
    kit_tell("http 0 a\n");
    kit_sync();
    kit_expect("saw done p1 15 tag 42\n");
}

/* ---- instances ---- */

static void an_instance_that_is_not_there_ends_calls_at_once(void **unused)
{
    (void)unused;
    static const enum instance_state states[] = {INSTANCE_CLOSED, INSTANCE_FAILED,
                                                 INSTANCE_STARTING, INSTANCE_STOPPING};
    char expected[32];
    for (unsigned i = 0; i < 4; i++) {
        kit.in->state = states[i];
        kit_run("done $ 0\n", 0, 0);
        kit_expect(""); /* never before call_begin has returned */
        loop_turn(false);
        snprintf(expected, sizeof expected, "h%u done 10\n", i + 1);
        kit_expect(expected);
    }
    kit.in->state = INSTANCE_RUNNING;
    CHELA_ARGS(chela_send, send, 0);
    call_begin(kit.in, CHELA_FN_CHANNEL_SEND, &send, 0, 0, &kit_ops, NULL);
    loop_turn(false);
    kit_expect("h5 done 15\n");
    CHELA_ARGS(chela_arg, stop, 0);
    call_begin(kit.in, CHELA_FN_STOP, &stop, 0, 0, &kit_ops, NULL); /* nothing to do is fine */
    loop_turn(false);
    kit_expect("h6 done 0\n");
}

static bool idle;

static void on_idle(void *unused)
{
    (void)unused;
    idle = true;
}

static void the_last_end_is_told_to_who_waits_for_it(void **unused)
{
    (void)unused;
    idle = false;
    uint64_t id = kit_run("http $ a\nhttp 0 b\n", 0, 0);
    kit.answer_cancel = true;
    kit_sync();
    call_when_idle(kit.in, on_idle, NULL);
    call_cancel_all(kit.in);
    kit_sync();
    assert_false(idle);
    kit_tell("done %llu 9\n", (unsigned long long)id);
    kit_sync();
    assert_true(idle);
    idle = false;
    call_when_idle(kit.in, on_idle, NULL);
    assert_false(idle); /* not from inside */
    loop_turn(false);
    assert_true(idle);
}

static void everything_can_be_ended_at_once(void **unused)
{
    (void)unused;
    kit.answer_cancel = true;
    kit_run("http $ a\n", 0, 0);
    kit_run("http 0 b\n", 0, 0);
    kit_sync();
    free(kit_trace());
    assert_int_equal(call_end_all(kit.in, CHELA_E_GONE, "gone"), 2);
    kit_expect("p1 is cancelled\np2 is cancelled\n");
    loop_turn(false);
    kit_expect("h1 done 10\nh2 done 10\n");
    assert_int_equal(call_count(), 0);
    kit_sync();
    kit_expect(""); /* the plugin hears nothing of its own */
}

/* ---- credit ---- */

static void who_sends_too_much_loses_events_and_is_told(void **unused)
{
    (void)unused;
    kit.quiet_text = true;
    kit_run("flood $ 65536 300\ndone $ 0\n", 0, 0); /* 19 MiB in one callback */
    kit_wait(kit.place == KIT_HERE ? "h1 done 11" : "h1 done 0");
    if (kit.place == KIT_HERE) {
        kit_expect("saw run h1\nh1 done 11\n");
        assert_in_range(kit.text_bytes, 4 << 20, (4 << 20) + 2 * 65536);
        assert_int_equal(kit.in->broken_rules, 1);
    } else { /* a child blocks instead, and nothing is lost */
        kit_expect("saw run h1\nh1 done 0\n");
        assert_int_equal(kit.text_bytes, 65536 * 300);
    }
    kit_run("flood $ 1000 50\ndone $ 0\n", 0, 0); /* the next call is none the worse for it */
    kit_sync();
    kit_expect("saw run h2\nh2 done 0\n");
}

static void one_large_result_passes(void **unused)
{
    (void)unused;
    kit_run("big $ 20000000\n", 0, 0);
    kit_wait("h1 done 0");
    kit_expect("saw run h1\nh1 done 0\n");
    kit_run("huge $\n", 0, 0); /* more than a frame can hold */
    kit_sync();
    kit_expect("saw run h2\nh2 done 11\n");
}

/* ---- what only shows in one process ---- */

static unsigned slow_lines;

static void see_line(enum log_level level, const char *line)
{
    (void)level;
    if (strstr(line, "contract/contract: tool run took 51 ms"))
        slow_lines++;
}

static void a_slow_callback_is_named(void **unused)
{
    (void)unused;
    slow_lines = 0;
    log_setup(LOG_INFO, LOG_PLAIN, see_line);
    clock_fake(1000000);
    uint64_t entered = callback_enter();
    clock_fake_advance(50);
    callback_leave(kit.in, "tool run", entered);
    assert_int_equal(slow_lines, 0);
    clock_fake_advance(1);
    callback_leave(kit.in, "tool run", entered);
    assert_int_equal(slow_lines, 1);
    log_setup(LOG_INFO, LOG_PLAIN, NULL);
}

struct pass_count {
    uint64_t pass;
    unsigned in_pass, most, changes;
    char last;
};

static struct pass_count seen[2];
static char last_speaker;
static unsigned speaker_changes;

static void count_event(void *owner, uint64_t call, uint32_t fn, const void *args)
{
    struct pass_count *c = owner;
    (void)call;
    (void)fn;
    (void)args;
    if (c->pass != loop_pass()) {
        c->pass = loop_pass();
        c->in_pass = 0;
    }
    if (++c->in_pass > c->most)
        c->most = c->in_pass;
    char speaker = (char)('a' + (c - seen));
    speaker_changes += speaker != last_speaker;
    last_speaker = speaker;
}

static void count_done(void *owner, uint64_t call, const struct chela_done *done,
                       const struct chela_decide *decide)
{
    struct pass_count *c = owner;
    (void)call;
    (void)done;
    (void)decide;
    c->last = 'd';
}

static void nobody_gets_more_than_its_share_of_a_pass(void **unused)
{
    (void)unused;
    static const struct call_ops ops = {count_event, count_done};
    struct instance *both[2] = {kit.in, kit_instance("second", NULL)};
    memset(seen, 0, sizeof seen);
    last_speaker = 0;
    speaker_changes = 0;
    for (int i = 0; i < 2; i++) {
        CHELA_ARGS(chela_tool_run, run, 0);
        run.arguments = chela_s("flood $ 10 1000\ndone $ 0\n");
        call_begin(both[i], CHELA_FN_TOOL_RUN, &run, 0, 0, &ops, &seen[i]);
    }
    while (seen[0].last != 'd' || seen[1].last != 'd')
        loop_turn(false);
    assert_in_range(seen[0].most, 60, 64);
    assert_in_range(seen[1].most, 60, 64);
    assert_in_range(speaker_changes, 2 * (1000 / 64), 2 * (1000 / 60) + 4);
    kit_free(both[1]);
}

#define BOTH(name)                                                                                 \
    {#name "_here", name, open_here, close_kit, NULL},                                             \
    {                                                                                              \
#name "_in_a_child", name, open_child, close_kit, NULL                                     \
    }
#define HERE(name)                                                                                 \
    {                                                                                              \
#name, name, open_here, close_kit, NULL                                                    \
    }

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        BOTH(events_keep_their_order_and_done_is_last),
        BOTH(the_first_done_wins),
        BOTH(an_id_that_never_was_is_refused),
        BOTH(calls_of_another_instance_are_out_of_reach),
        BOTH(an_unknown_error_class_reads_as_other),
        BOTH(text_that_is_not_utf8_is_mended_once),
        BOTH(a_verdict_ends_a_question_and_nothing_else),
        BOTH(after_cancel_events_are_dropped_and_the_result_counts),
        BOTH(a_cancel_takes_the_requests_of_the_call_along),
        BOTH(the_end_of_a_call_ends_what_it_left_open),
        BOTH(a_call_of_the_host_may_serve_another_one),
        BOTH(a_call_that_does_not_end_makes_its_instance_stuck),
        BOTH(a_deadline_cancels_and_is_named),
        BOTH(a_forgotten_call_is_cancelled_and_silent),
        BOTH(a_request_has_events_and_one_end),
        BOTH(a_plugin_may_cancel_its_own_request),
        BOTH(ids_only_rise_and_belong_to_their_maker),
        BOTH(what_this_host_cannot_do_is_said),
        BOTH(an_instance_that_is_not_there_ends_calls_at_once),
        BOTH(the_last_end_is_told_to_who_waits_for_it),
        BOTH(everything_can_be_ended_at_once),
        BOTH(who_sends_too_much_loses_events_and_is_told),
        BOTH(one_large_result_passes),
        HERE(a_slow_callback_is_named),
        HERE(nobody_gets_more_than_its_share_of_a_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
