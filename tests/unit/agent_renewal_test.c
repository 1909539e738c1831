/* Sessions that begin anew by themselves (core/agent/renewal.c), on the fake clock: 20:26 UTC. */
#include "tests/unit/agent_world.h"

#include <time.h>

#include "agent/renewal.h"
#include "base/clock.h"

enum { HOUR = 3600 * 1000 };

static bool remembers(const char *what)
{
    return strstr(world.requests[world.request_count - 1], what) != NULL;
}

static void sessions_go_on_unless_told_otherwise(void **state)
{
    (void)state;
    world_open();
    world_say("r1", "the first");
    fake_advance(40ull * 24 * HOUR);
    world_say("r2", "the second");
    assert_true(remembers("the first"));
    world_close();
}

static void a_session_that_was_idle_begins_anew(void **state)
{
    (void)state;
    world_open();
    fake_set("session.reset.mode", "idle");
    fake_set("session.reset.idle", "7200000");
    world_say("r1", "the first");
    fake_advance(2 * HOUR - 1000);
    world_say("r2", "the second");
    assert_true(remembers("the first"));
    fake_advance(2 * HOUR);
    fake_journal_log_clear();
    world_say("r3", "the third");
    assert_false(remembers("the first"));
    assert_false(remembers("the second"));
    assert_true(remembers("the third"));
    assert_int_equal(world_times(fake_journal_log(), "reset!"), 1);
    assert_string_equal(fake_run_state("r3"), "DONE");
    world_say("r4", "the fourth"); /* and goes on from there */
    assert_true(remembers("the third"));
    assert_int_equal(world_times(fake_journal_log(), "reset!"), 1);
    world_close();
}

static void a_session_begins_anew_each_day_at_its_hour(void **state)
{
    (void)state;
    world_open();
    fake_set("session.reset.mode", "daily");
    fake_set("session.reset.at_hour", "4");
    world_say("r1", "in the evening");
    fake_advance(7 * HOUR); /* 03:26 */
    world_say("r2", "at night");
    assert_true(remembers("in the evening"));
    fake_advance(HOUR); /* 04:26 */
    world_say("r3", "in the morning");
    assert_false(remembers("at night"));
    fake_advance(12 * HOUR);
    world_say("r4", "in the afternoon");
    assert_true(remembers("in the morning"));
    world_close();
}

static void the_hour_is_that_of_the_local_clock(void **state)
{
    (void)state;
    world_open();
    fake_set("session.reset.mode", "daily");
    fake_set("session.reset.at_hour", "0");
    uint64_t now = clock_now_ms();
    assert_null(renewal_due(now - 20 * HOUR, now));     /* today, 00:26 in UTC */
    assert_non_null(renewal_due(now - 21 * HOUR, now)); /* yesterday */
    setenv("TZ", "EST5", 1);                            /* 15:26 there */
    tzset();
    assert_null(renewal_due(now - 15 * HOUR, now));
    assert_non_null(renewal_due(now - 16 * HOUR, now));
    setenv("TZ", "UTC0", 1);
    tzset();
    assert_null(renewal_due(0, now));
    world_close();
}

static void what_a_restart_found_goes_on_in_its_conversation(void **state)
{
    (void)state;
    world_open();
    fake_set("session.reset.mode", "idle");
    fake_set("session.reset.idle", "60000");
    world_say("r1", "the first");
    world_script((struct script){.hang = true});
    world_say("r2", "the second");
    fake_crash();
    fake_advance(HOUR);
    fake_start_agent();
    assert_string_equal(fake_run_state("r2"), "DONE");
    assert_true(remembers("the first"));
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_go_on_unless_told_otherwise),
        cmocka_unit_test(a_session_that_was_idle_begins_anew),
        cmocka_unit_test(a_session_begins_anew_each_day_at_its_hour),
        cmocka_unit_test(the_hour_is_that_of_the_local_clock),
        cmocka_unit_test(what_a_restart_found_goes_on_in_its_conversation),
    };
    setenv("TZ", "UTC0", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
