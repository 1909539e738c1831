/* Messages that come while a turn runs: steering, queue modes, cap, abort at each boundary. */
#include "tests/unit/agent_world.h"

static unsigned stops;

static void count_stop(void *owner, const struct error *e)
{
    (void)owner;
    (void)e;
    stops++;
}

static void begin_slow(void)
{
    world_script((struct script){.text = "Hm", .hang = true});
    world_say("r1", "first");
}

static void end_slow(void)
{
    fake_text(world.model_call, " well");
    fake_done(world.model_call, CHELA_OK, "", "{\"stop\":\"end\"}", 0, 0);
    fake_run();
}

static void a_message_is_steered_behind_an_answer_without_calls(void **state)
{
    (void)state;
    world_open();
    begin_slow();
    world_script((struct script){.text = "Both answered"});
    uint64_t id = world_submit("r2", "and this", NULL);
    fake_run();
    assert_string_equal(fake_answer(id), "OK r2");
    assert_int_equal(world.request_count, 1);
    end_slow();
    assert_int_equal(world.request_count, 2);
    static const char *const roles[] = {"user", "assistant", "user", "assistant"};
    for (unsigned i = 0; i < 4; i++)
        assert_string_equal(fake_message_role(SESSION, i), roles[i]);
    assert_string_equal(fake_inbox_state("r2"), "consumed");
    assert_string_equal(fake_run_state("r2"), ""); /* no turn of its own */
    assert_string_equal(world.sent, "Hm well\n\nBoth answered\n");
    world_close();
}

static void a_message_is_steered_behind_the_results_of_tools(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    world_script((struct script){.calls = {{"a", "look", "{}", false}}});
    world_say("r1", "first");
    world_say("r2", "second");
    world_say("r3", "third");
    fake_done(world.tool_calls[0], CHELA_OK, "seen", "", 0, 0);
    fake_run();
    static const char *const roles[] = {"user", "assistant", "tool", "user", "user", "assistant"};
    for (unsigned i = 0; i < 6; i++)
        assert_string_equal(fake_message_role(SESSION, i), roles[i]);
    assert_non_null(strstr(fake_message_body(SESSION, 3), "second"));
    assert_non_null(strstr(fake_message_body(SESSION, 4), "third"));
    world_close();
}

static void steering_skips_what_has_not_begun_in_a_sequential_batch(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    world_script((struct script){.calls = {{"a", "step", "{}", false},
                                           {"b", "step", "{}", false},
                                           {"c", "step", "{}", false}}});
    world_say("r1", "first");
    assert_int_equal(world.tool_count, 1);
    world_say("r2", "wait");
    fake_done(world.tool_calls[0], CHELA_OK, "one", "", 0, 0);
    fake_run();
    assert_int_equal(world.tool_count, 1);
    assert_string_equal(fake_call_state("a"), "COMPLETED");
    assert_string_equal(fake_call_state("b"), "FAILED");
    const char *results = fake_message_body(SESSION, 2);
    assert_int_equal(world_times(results, "Skipped to process an incoming message"), 2);
    assert_string_equal(fake_message_role(SESSION, 3), "user");
    world_close();
}

static void followup_gives_each_message_its_turn(void **state)
{
    (void)state;
    world_open();
    fake_set("messages.queue.mode", "followup");
    begin_slow();
    world_say("r2", "second");
    world_say("r3", "third");
    assert_int_equal(world.request_count, 1);
    end_slow();
    assert_string_equal(fake_run_state("r2"), "DONE");
    assert_string_equal(fake_run_state("r3"), "DONE");
    assert_int_equal(world.request_count, 3);
    world_close();
}

static void collect_makes_one_turn_after_a_quiet_moment(void **state)
{
    (void)state;
    world_open();
    fake_set("messages.queue.mode", "collect");
    begin_slow();
    world_say("r2", "second");
    fake_advance(300);
    world_say("r3", "third");
    end_slow();
    assert_int_equal(world.request_count, 1); /* 500 ms are not over */
    fake_advance(499);
    assert_int_equal(world.request_count, 1);
    fake_advance(2);
    assert_int_equal(world.request_count, 2);
    assert_non_null(strstr(world.requests[1], "second"));
    assert_non_null(strstr(world.requests[1], "third"));
    assert_string_equal(fake_run_state("r3"), "DONE");
    assert_string_equal(fake_run_state("r2"), "");
    assert_string_equal(fake_inbox_state("r2"), "consumed");
    world_close();
}

static void interrupt_ends_the_running_turn(void **state)
{
    (void)state;
    world_open();
    begin_slow();
    world_submit("r2", "no, this", "\"queueMode\":\"interrupt\"");
    fake_run();
    assert_string_equal(fake_run_state("r1"), "ABORTED");
    assert_string_equal(fake_run_state("r2"), "DONE");
    /* what was said so far is kept */
    assert_string_equal(fake_message_body(SESSION, 1), "[{\"type\":\"text\",\"text\":\"Hm\"}]");
    world_close();
}

static void the_mode_comes_from_request_session_channel_then_all(void **state)
{
    (void)state;
    world_open();
    fake_set("messages.queue.mode", "collect");
    fake_set("messages.queue.by_channel", "1");
    fake_set("messages.queue.by_channel.0.channel", "cli");
    fake_set("messages.queue.by_channel.0.mode", "followup");
    begin_slow();
    world_say("r2", "second");
    end_slow();
    assert_string_equal(fake_run_state("r2"), "DONE"); /* followup, by channel */
    world_say("c1", "/queue steer");
    world_script((struct script){.text = "Hm", .hang = true});
    world_say("r3", "third");
    world_say("r4", "fourth"); /* steer, by session */
    world_submit("r5", "fifth", "\"queueMode\":\"followup\"");
    fake_run();
    end_slow();
    assert_string_equal(fake_run_state("r4"), "");
    assert_string_equal(fake_run_state("r5"), "DONE");
    world_close();
}

static void beyond_the_cap_the_oldest_go_and_leave_a_line(void **state)
{
    (void)state;
    world_open();
    fake_set("messages.queue.mode", "followup");
    fake_set("messages.queue.cap", "2");
    begin_slow();
    world_say("r2", "number two");
    world_say("r3", "number three");
    world_say("r4", "number four");
    assert_string_equal(fake_inbox_state("r2"), "dropped");
    end_slow();
    assert_int_equal(world.request_count, 3);
    assert_non_null(strstr(world.requests[1], "number two"));
    assert_non_null(strstr(world.requests[1], "too many waited"));
    world_close();
}

static void beyond_the_cap_the_newest_are_refused_if_so_configured(void **state)
{
    (void)state;
    world_open();
    fake_set("messages.queue.mode", "followup");
    fake_set("messages.queue.cap", "1");
    fake_set("messages.queue.drop", "new");
    begin_slow();
    world_say("r2", "two");
    world_say("r3", "three");
    assert_string_equal(fake_inbox_state("r3"), "dropped");
    end_slow();
    assert_string_equal(fake_run_state("r2"), "DONE");
    world_close();
}

static void a_waiting_message_can_be_taken_back(void **state)
{
    (void)state;
    world_open();
    begin_slow();
    world_say("r2", "steered");
    world_submit("r3", "queued", "\"queueMode\":\"followup\"");
    fake_run();
    assert_int_equal(agent_abort(SESSION, "r2", "test", NULL, NULL), 1);
    assert_int_equal(agent_abort(SESSION, "r3", "test", NULL, NULL), 1);
    assert_int_equal(agent_abort(SESSION, "r9", "test", NULL, NULL), 0);
    fake_run();
    end_slow();
    assert_string_equal(fake_inbox_state("r2"), "dropped");
    assert_string_equal(fake_inbox_state("r3"), "dropped");
    assert_int_equal(world.request_count, 1);
    world_close();
}

static void what_was_steered_too_late_gets_a_turn_of_its_own(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    world_script((struct script){.calls = {{"a", "look", "{}", false}}});
    world_say("r1", "first");
    world_say("r2", "second");
    agent_abort(SESSION, "r1", "test", NULL, NULL);
    fake_run();
    assert_string_equal(fake_run_state("r1"), "ABORTED");
    assert_string_equal(fake_run_state("r2"), "DONE");
    world_close();
}

static void not_more_turns_than_the_bound_run_at_once(void **state)
{
    (void)state;
    world_open();
    fake_set("session.max_concurrent", "2");
    for (unsigned i = 0; i < 3; i++)
        world_script((struct script){.text = "x", .hang = true});
    for (unsigned i = 0; i < 3; i++) {
        char id[8];
        snprintf(id, sizeof id, "r%u", i);
        CHELA_ARGS(chela_submit, q, 0);
        q.event = chela_s(id);
        q.chat = chela_s(id);
        q.session = chela_s(id);
        q.text = chela_s("go");
        fake_submit(world.channel, &q);
        fake_run();
    }
    assert_int_equal(world.request_count, 2);
    fake_done(world.model_call, CHELA_OK, "", "{\"stop\":\"end\"}", 0, 0);
    fake_run();
    assert_int_equal(world.request_count, 3);
    world_close();
}

/* ---- abort at each boundary ---- */

static void abort_now(void)
{
    stops = 0;
    fake_events_clear();
    assert_int_equal(agent_abort(SESSION, NULL, "test", count_stop, NULL), 1);
    fake_run();
    assert_int_equal(stops, 1);
    assert_true(world_heard("\"state\":\"aborted\""));
    assert_string_equal(fake_run_state("r1"), "ABORTED");
    assert_int_equal(fake_open_calls(), 0);
    /* the session lives */
    world_script((struct script){.text = "yes"});
    world_say("r2", "still there?");
    assert_string_equal(fake_run_state("r2"), "DONE");
}

static void abort_while_the_model_streams(void **state)
{
    (void)state;
    world_open();
    begin_slow();
    abort_now();
    assert_string_equal(fake_message_body(SESSION, 1), "[{\"type\":\"text\",\"text\":\"Hm\"}]");
    world_close();
}

static void abort_while_the_model_is_silent(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.hang = true});
    world_say("r1", "first");
    abort_now();
    assert_string_equal(fake_message_role(SESSION, 1), "user"); /* r2's: nothing was said */
    world_close();
}

static void abort_while_a_retry_is_waited_for(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.error = CHELA_E_NETWORK});
    world_say("r1", "first");
    assert_int_equal(world.request_count, 1);
    abort_now();
    world_close();
}

static void abort_while_tools_run(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    world_script(
        (struct script){.calls = {{"a", "look", "{}", false}, {"b", "note", "{}", false}}});
    world_say("r1", "first");
    assert_int_equal(world.tool_count, 2);
    world.tools_hang = false;
    abort_now();
    assert_string_equal(fake_call_state("a"), "FAILED");
    assert_string_equal(fake_call_state("b"), "FAILED");
    assert_string_equal(fake_message_role(SESSION, 2), "tool");
    assert_int_equal(world_times(fake_message_body(SESSION, 2), "Aborted while it ran"), 2);
    world_close();
}

static void abort_waits_until_the_tools_have_ended(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    fake_cancel_ends = false;
    world_script((struct script){.calls = {{"a", "note", "{}", false}}});
    world_say("r1", "first");
    stops = 0;
    agent_abort(SESSION, "r1", "test", count_stop, NULL);
    fake_run();
    assert_int_equal(stops, 0); /* its processes may still live */
    assert_false(world_heard("\"state\":\"aborted\""));
    fake_cancel_ends = true;
    fake_done(world.tool_calls[0], CHELA_E_CANCELLED, "killed", "", 0, 0);
    fake_run();
    assert_int_equal(stops, 1);
    world_close();
}

static void abort_while_a_person_is_asked(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.calls = {{"a", "change", "{}", false}}});
    world_say("r1", "first");
    assert_string_equal(fake_call_state("a"), "APPROVAL_REQUIRED");
    abort_now();
    struct json_object *list = agent_approvals();
    assert_int_equal(chela_json_length(list), 0);
    json_object_put(list);
    assert_int_equal(world.tool_count, 0);
    assert_true(strstr(fake_journal_log(), "decide!") != NULL);
    world_close();
}

static void abort_between_accepting_and_the_first_call(void **state)
{
    (void)state;
    world_open();
    fake_set("session.max_concurrent", "1");
    world_script((struct script){.hang = true});
    CHELA_ARGS(chela_submit, q, 0);
    q.event = chela_s("x");
    q.chat = chela_s("x");
    q.session = chela_s("busy");
    q.text = chela_s("go");
    fake_submit(world.channel, &q);
    world_say("r1", "waits for a place");
    assert_int_equal(world.request_count, 1);
    assert_int_equal(agent_abort(SESSION, "r1", "test", NULL, NULL), 1);
    fake_run();
    assert_string_equal(fake_inbox_state("r1"), "dropped");
    world_close();
}

static void stop_as_a_command_stops(void **state)
{
    (void)state;
    world_open();
    begin_slow();
    world_say("c1", "/stop");
    assert_true(world_heard("Stopped."));
    assert_string_equal(fake_run_state("r1"), "ABORTED");
    world_close();
}

static void burst(const char *id, const char *text)
{
    CHELA_ARGS(chela_submit, q, 0);
    q.event = chela_s(id);
    q.chat = chela_s("tty");
    q.sender = chela_s("me");
    q.text = chela_s(text);
    fake_submit(world.channel, &q);
    fake_run();
}

static void the_messages_of_a_burst_become_one_turn(void **state)
{
    (void)state;
    world_open();
    burst("b1", "alone");
    assert_int_equal(world.request_count, 1); /* off by default */
    fake_set("messages.debounce", "1500");
    burst("b2", "one");
    fake_advance(1000);
    burst("b3", "two");
    fake_advance(1000);
    burst("b4", "three");
    assert_int_equal(world.request_count, 1);
    fake_advance(1500);
    assert_int_equal(world.request_count, 2);
    assert_non_null(strstr(world.requests[1], "\"one\""));
    assert_non_null(strstr(world.requests[1], "\"three\""));
    world_say("c1", "a client waits for its answer");
    assert_int_equal(world.request_count, 3);
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_steered_behind_an_answer_without_calls),
        cmocka_unit_test(a_message_is_steered_behind_the_results_of_tools),
        cmocka_unit_test(steering_skips_what_has_not_begun_in_a_sequential_batch),
        cmocka_unit_test(followup_gives_each_message_its_turn),
        cmocka_unit_test(collect_makes_one_turn_after_a_quiet_moment),
        cmocka_unit_test(interrupt_ends_the_running_turn),
        cmocka_unit_test(the_mode_comes_from_request_session_channel_then_all),
        cmocka_unit_test(beyond_the_cap_the_oldest_go_and_leave_a_line),
        cmocka_unit_test(beyond_the_cap_the_newest_are_refused_if_so_configured),
        cmocka_unit_test(a_waiting_message_can_be_taken_back),
        cmocka_unit_test(what_was_steered_too_late_gets_a_turn_of_its_own),
        cmocka_unit_test(not_more_turns_than_the_bound_run_at_once),
        cmocka_unit_test(abort_while_the_model_streams),
        cmocka_unit_test(abort_while_the_model_is_silent),
        cmocka_unit_test(abort_while_a_retry_is_waited_for),
        cmocka_unit_test(abort_while_tools_run),
        cmocka_unit_test(abort_waits_until_the_tools_have_ended),
        cmocka_unit_test(abort_while_a_person_is_asked),
        cmocka_unit_test(abort_between_accepting_and_the_first_call),
        cmocka_unit_test(the_messages_of_a_burst_become_one_turn),
        cmocka_unit_test(stop_as_a_command_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
