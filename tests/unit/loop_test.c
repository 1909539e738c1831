/*
 * The loop: order of a pass, timers under a fake clock, watches, posts from other threads, the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chela/local.h>

#include "base/clock.h"
#include "host/loop.h"

static char trace[256];

static void note(void *word)
{
    strncat(trace, word, sizeof trace - strlen(trace) - 1);
}

static int begin(void **unused)
{
    (void)unused;
    trace[0] = '\0';
    loop_open();
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    unsigned left = loop_close();
    clock_fake_end();
    return left == 0 ? 0 : -1;
}

/* ---- timers ---- */

static void timers_follow_the_fake_clock(void **unused)
{
    (void)unused;
    clock_fake(1000000);
    loop_timer(20, note, "b");
    loop_timer(10, note, "a");
    loop_timer(20, note, "c");
    uint64_t stopped = loop_timer(15, note, "x");
    assert_int_not_equal(stopped, 0);
    loop_timer_stop(stopped);
    loop_timer_stop(stopped);
    loop_timer_stop(0);
    loop_turn(false);
    assert_string_equal(trace, "");
    clock_fake_advance(9);
    loop_turn(false);
    assert_string_equal(trace, "");
    clock_fake_advance(1);
    loop_turn(false);
    assert_string_equal(trace, "a");
    clock_fake_advance(100);
    loop_turn(false);
    assert_string_equal(trace, "abc");
}

static void again_at_once(void *count)
{
    if (--*(int *)count > 0)
        loop_timer(0, again_at_once, count);
}

static void a_timer_that_renews_itself_does_not_hold_the_pass(void **unused)
{
    (void)unused;
    clock_fake(1000000);
    int count = 3;
    loop_timer(0, again_at_once, &count);
    uint64_t before = loop_pass();
    while (count > 0)
        loop_turn(false);
    assert_true(loop_pass() - before >= 2);
}

static void a_real_timer_ends_the_poll(void **unused)
{
    (void)unused;
    uint64_t from = clock_ticks_ms();
    loop_timer(5, note, "t");
    while (trace[0] == '\0')
        loop_turn(true);
    assert_true(clock_ticks_ms() - from >= 5);
}

static uint64_t order_seed;

static uint64_t random_number(void)
{
    order_seed ^= order_seed << 13;
    order_seed ^= order_seed >> 7;
    return order_seed ^= order_seed << 17;
}

struct ticking {
    uint64_t handle, due;
    bool fired, stopped;
};

static uint64_t last_due;

static void fire(void *arg)
{
    struct ticking *t = arg;
    assert_false(t->fired || t->stopped);
    assert_true(t->due >= last_due && t->due <= clock_ticks_ms());
    last_due = t->due;
    t->fired = true;
}

static void a_thousand_timers_fire_in_order_whatever_is_stopped(void **unused)
{
    (void)unused;
    enum { COUNT = 1000 };
    static struct ticking all[COUNT];
    clock_fake(1000000);
    order_seed = 77;
    for (int i = 0; i < COUNT; i++) {
        uint64_t ms = random_number() % 500;
        all[i].due = clock_ticks_ms() + ms;
        all[i].handle = loop_timer(ms, fire, &all[i]);
    }
    for (int step = 0; step < 510; step++) {
        struct ticking *t = &all[random_number() % COUNT];
        if (!t->fired) {
            loop_timer_stop(t->handle);
            t->stopped = true;
        }
        clock_fake_advance(1);
        loop_turn(false);
    }
    for (int i = 0; i < COUNT; i++)
        assert_true(all[i].fired != all[i].stopped);
}

/* ---- the order of a pass ---- */

static unsigned budget;

static bool hook_with_budget(void)
{
    if (budget > 0)
        note("h");
    return budget > 0 && --budget > 0;
}

static void defer_second(void *unused)
{
    (void)unused;
    note("1");
    loop_defer(note, "2");
}

static void deferred_work_runs_in_the_same_pass(void **unused)
{
    (void)unused;
    loop_defer(defer_second, NULL);
    uint64_t before = loop_pass();
    loop_turn(false);
    assert_string_equal(trace, "12");
    assert_true(loop_pass() <= before + 2);
}

static void work_left_by_a_hook_keeps_the_poll_from_blocking(void **unused)
{
    (void)unused;
    budget = 3;
    loop_before_poll(hook_with_budget);
    loop_before_poll(hook_with_budget); /* once only */
    while (budget > 0)
        loop_turn(true); /* nothing else would ever wake it */
    assert_string_equal(trace, "hhh");
}

static bool later_due;

static void make_due(void *unused)
{
    (void)unused;
    later_due = true;
    loop_again();
}

static bool first_hook(void)
{
    if (later_due)
        note("first");
    later_due = false;
    return false;
}

static bool second_hook_done;

static bool second_hook(void)
{
    if (!second_hook_done)
        make_due(NULL); /* as the HTTP server does for the run queue */
    second_hook_done = true;
    return false;
}

static void a_later_hook_that_makes_work_for_an_earlier_one_gets_it_done(void **unused)
{
    (void)unused;
    second_hook_done = later_due = false;
    loop_before_poll(first_hook);
    loop_before_poll(second_hook);
    uint64_t before = loop_pass();
    loop_defer(note, "");
    loop_turn(false);
    assert_string_equal(trace, "first");
    assert_true(loop_pass() <= before + 2);
}

/* ---- descriptors ---- */

struct end_point {
    int fd;
    struct loop_watch *watch;
    uint32_t seen;
    unsigned times;
};

static void ready(uint32_t events, void *arg)
{
    struct end_point *p = arg;
    p->seen |= events;
    p->times++;
    char byte;
    if (events & CHELA_READABLE && read(p->fd, &byte, 1) <= 0) {
        loop_unwatch(p->watch); /* inside its own callback */
        p->watch = NULL;
    }
}

static void a_watch_tells_what_is_ready_and_the_end_as_readable(void **unused)
{
    (void)unused;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    struct end_point p = {.fd = pair[0]};
    p.watch = loop_watch(p.fd, CHELA_READABLE, ready, &p);
    assert_non_null(p.watch);
    assert_null(loop_watch(p.fd, CHELA_READABLE, ready, &p)); /* one at a time */
    loop_turn(false);
    assert_int_equal(p.times, 0);
    assert_int_equal(write(pair[1], "x", 1), 1);
    loop_turn(true);
    assert_int_equal(p.seen, CHELA_READABLE);
    loop_watch_change(p.watch, CHELA_READABLE | CHELA_WRITABLE);
    loop_turn(true);
    assert_int_equal(p.seen, CHELA_READABLE | CHELA_WRITABLE);
    loop_watch_change(p.watch, 0);
    close(pair[1]);
    unsigned before = p.times;
    loop_turn(false);
    assert_int_equal(p.times, before);
    loop_watch_change(p.watch, CHELA_READABLE);
    while (p.watch)
        loop_turn(true);
    loop_unwatch(NULL);
    close(pair[0]);
}

static void a_regular_file_cannot_be_watched(void **unused)
{
    (void)unused;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_null(loop_watch(fileno(file), CHELA_READABLE, ready, NULL));
    fclose(file);
}

static void hang_up_alone_can_be_watched(void **unused)
{
    (void)unused;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    struct end_point p = {.fd = pair[0]};
    p.watch = loop_watch(p.fd, LOOP_HANGUP, ready, &p);
    assert_int_equal(write(pair[1], "x", 1), 1); /* not asked for */
    loop_turn(false);
    assert_int_equal(p.times, 0);
    close(pair[1]);
    loop_turn(true);
    assert_true(p.seen & LOOP_HANGUP);
    loop_unwatch(p.watch);
    close(pair[0]);
}

/* ---- other threads ---- */

static void *post_many(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++)
        loop_post(note, "p");
    return NULL;
}

static void posts_of_another_thread_wake_the_loop(void **unused)
{
    (void)unused;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, post_many, NULL), 0);
    while (strlen(trace) < 100)
        loop_turn(true);
    pthread_join(thread, NULL);
    assert_int_equal(strlen(trace), 100);
}

static bool job_on_thread, done_on_thread;

static void job(void *unused)
{
    (void)unused;
    job_on_thread = loop_on_thread();
}

static void job_done(void *unused)
{
    (void)unused;
    done_on_thread = loop_on_thread();
    note("d");
}

static void work_runs_beside_the_loop_and_ends_on_it(void **unused)
{
    (void)unused;
    job_on_thread = true;
    done_on_thread = false;
    loop_work(job, job_done, NULL);
    while (trace[0] == '\0')
        loop_turn(true);
    assert_false(job_on_thread);
    assert_true(done_on_thread);
}

static void a_signal_is_told_on_the_loop_until_nobody_listens(void **unused)
{
    (void)unused;
    loop_signal(SIGUSR1, note, "s");
    raise(SIGUSR1);
    while (trace[0] == '\0')
        loop_turn(true);
    assert_string_equal(trace, "s");
    loop_signal(SIGUSR1, NULL, NULL);
    loop_turn(false);
}

/* ---- the end ---- */

static void stop(void *unused)
{
    (void)unused;
    loop_stop();
}

static void run_ends_when_it_is_stopped(void **unused)
{
    (void)unused;
    loop_timer(1, stop, NULL);
    loop_run();
}

static void what_is_left_at_the_end_is_counted(void **unused)
{
    (void)unused;
    int pair[2];
    loop_open();
    assert_int_equal(pipe(pair), 0);
    loop_timer(1000, note, "never");
    assert_non_null(loop_watch(pair[0], CHELA_READABLE, ready, NULL));
    loop_defer(note, "never");
    loop_post(note, "never");
    assert_int_equal(loop_close(), 2);
    assert_int_equal(loop_close(), 0);
    close(pair[0]);
    close(pair[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(timers_follow_the_fake_clock),
        TEST(a_timer_that_renews_itself_does_not_hold_the_pass),
        TEST(a_real_timer_ends_the_poll),
        TEST(a_thousand_timers_fire_in_order_whatever_is_stopped),
        TEST(deferred_work_runs_in_the_same_pass),
        TEST(work_left_by_a_hook_keeps_the_poll_from_blocking),
        TEST(a_later_hook_that_makes_work_for_an_earlier_one_gets_it_done),
        TEST(a_watch_tells_what_is_ready_and_the_end_as_readable),
        TEST(a_regular_file_cannot_be_watched),
        TEST(hang_up_alone_can_be_watched),
        TEST(posts_of_another_thread_wake_the_loop),
        TEST(work_runs_beside_the_loop_and_ends_on_it),
        TEST(a_signal_is_told_on_the_loop_until_nobody_listens),
        TEST(run_ends_when_it_is_stopped),
        cmocka_unit_test(what_is_left_at_the_end_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
