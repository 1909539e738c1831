/* What a crash leaves, and what the next start makes of it. */
#include "tests/unit/agent_world.h"

static void restart(void)
{
    fake_crash();
    fake_events_clear();
    fake_start_agent();
}

static void an_accepted_message_is_answered_after_a_crash(void **state)
{
    (void)state;
    world_open();
    fake_set("session.max_concurrent", "1");
    world_script((struct script){.hang = true});
    world_say("r0", "first");
    world_submit("r1", "queued when it crashed", "\"queueMode\":\"followup\"");
    fake_run();
    assert_string_equal(fake_inbox_state("r1"), "waiting");
    restart();
    assert_string_equal(fake_run_state("r0"), "DONE"); /* its model call was repeated */
    assert_string_equal(fake_run_state("r1"), "DONE");
    assert_int_equal(fake_messages(SESSION), 4);
    world_close();
}

static void a_call_that_was_executing_is_never_repeated(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    world_script((struct script){.calls = {{"a", "note", "{}", false}}});
    world_say("r1", "go");
    assert_string_equal(fake_call_state("a"), "EXECUTING");
    world.tools_hang = false;
    restart();
    assert_int_equal(world.tool_count, 1);
    assert_string_equal(fake_call_state("a"), "FAILED");
    assert_non_null(strstr(fake_message_body(SESSION, 2), "outcome is unknown"));
    assert_string_equal(fake_run_state("r1"), "DONE");
    assert_int_equal(fake_messages(SESSION), 4);
    world_close();
}

static void a_repeatable_call_runs_again(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    world_script((struct script){.calls = {{"a", "again", "{}", false}}});
    world_say("r1", "go");
    world.tools_hang = false;
    restart();
    assert_int_equal(world.tool_count, 2);
    assert_string_equal(fake_call_state("a"), "COMPLETED");
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void calls_that_had_ended_keep_their_results(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    world_script(
        (struct script){.calls = {{"a", "note", "{}", false}, {"b", "note", "{}", false}}});
    world_say("r1", "go");
    fake_done(world.tool_calls[0], CHELA_OK, "the first is done", "", 0, 0);
    fake_run();
    assert_string_equal(fake_call_state("a"), "COMPLETED");
    world.tools_hang = false;
    restart();
    assert_int_equal(world.tool_count, 2);
    const char *results = fake_message_body(SESSION, 2);
    assert_non_null(strstr(results, "the first is done"));
    assert_non_null(strstr(results, "outcome is unknown"));
    world_close();
}

static void a_question_survives_a_restart(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.calls = {{"a", "change", "{\"x\":3}", false}}});
    world_say("r1", "go");
    struct json_object *list = agent_approvals();
    CLEANUP(freep) char *id = xstrdup(chela_json_string(chela_json_at(list, 0), "id", NULL));
    json_object_put(list);
    restart();
    list = agent_approvals();
    assert_int_equal(chela_json_length(list), 1);
    assert_string_equal(chela_json_string(chela_json_at(list, 0), "id", NULL), id);
    json_object_put(list);
    assert_int_equal(world_times(fake_journal_log(), "ask!"), 1); /* not asked anew */
    assert_int_equal(world_decide("allow-once"), 0);
    assert_int_equal(world.tool_count, 1);
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void always_survives_a_restart(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.calls = {{"a", "change", "{}", false}}});
    world_say("r1", "go");
    world_decide("allow-always");
    restart();
    world_script((struct script){.calls = {{"b", "change", "{}", false}}});
    world_say("r2", "go");
    assert_string_equal(fake_call_state("b"), "COMPLETED");
    world_close();
}

static void nothing_said(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    (void)in;
    (void)call;
    (void)fn;
    (void)args;
    world.sends++;
}

static void not_found(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    (void)in;
    (void)fn;
    (void)args;
    world.events++;
    fake_done(call, CHELA_E_NOT_FOUND, "never sent", "", 0, 0);
}

static void found(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    (void)in;
    (void)fn;
    (void)args;
    world.events++;
    fake_done(call, CHELA_OK, "id-7", "", 0, 0);
}

/* A reply is on disk, its piece isn't sent when the process ends. */
static void leave_sending(uint32_t class, const char *on_unknown)
{
    world_open();
    static struct chela_channel channel;
    channel = (struct chela_channel){.platform = "x",
                                     .send = slot_send,
                                     .find = slot_send,
                                     .send_class = class,
                                     .key_window_ms = 60000};
    struct chela_iface iface = {.channel = &channel};
    struct instance *in = fake_instance("far", ROLE_CHANNEL, &iface);
    world_let_in("far");
    fake_set("on_unknown", on_unknown);
    fake_on(CHELA_FN_CHANNEL_SEND, nothing_said);
    CHELA_ARGS(chela_submit, q, 0);
    q.event = chela_s("e");
    q.chat = chela_s("c");
    q.text = chela_s("go");
    q.extra = chela_s("{\"request\":{\"runId\":\"r1\"}}");
    world_script((struct script){.text = "the answer"});
    fake_submit(in, &q);
    fake_run();
    assert_string_equal(fake_chunk_state("r1.0"), "SENDING");
    fake_crash();
    world.sends = 0;
    fake_on(CHELA_FN_CHANNEL_SEND, world_send);
}

static void class_i_is_sent_again_with_the_same_key(void **state)
{
    (void)state;
    leave_sending(CHELA_SEND_IDEMPOTENT, "hold");
    fake_start_agent();
    assert_int_equal(world.sends, 1);
    assert_string_equal(fake_chunk_state("r1.0"), "SENT");
    world_close();
}

static void post_stored(void *owner, const struct error *e)
{
    *(int *)owner = e ? (int)e->class : 0;
}

/* A text that is no turn's reply: a tool's message, what a job says. */
static void a_post_is_stored_before_it_goes_out(void **state)
{
    int stored = -1;
    const struct agent_post post = {.channel = "cli", .chat = "c", .text = "hi", .key = "k"};
    (void)state;
    world_open();
    fake_on(CHELA_FN_CHANNEL_SEND, nothing_said);
    agent_post(&post, post_stored, &stored);
    fake_run();
    assert_int_equal(stored, 0);
    assert_string_equal(fake_chunk_state("post.k.0"), "SENDING");
    fake_crash();
    fake_on(CHELA_FN_CHANNEL_SEND, world_send);
    world.sends = 0;
    fake_start_agent();
    assert_int_equal(world.sends, 1);
    assert_string_equal(fake_chunk_state("post.k.0"), "SENT");
    agent_post(&post, post_stored, &stored); /* who asks again is told that it is stored */
    fake_run();
    assert_int_equal(stored, 0);
    assert_int_equal(world.sends, 1);
    const struct agent_post nowhere = {.channel = "none", .chat = "c", .text = "hi"};
    agent_post(&nowhere, post_stored, &stored);
    fake_run();
    assert_int_equal(stored, CHELA_E_NOT_FOUND);
    world_close();
}

/* Plugins start before the agent does. */
static void what_is_submitted_too_early_waits(void **state)
{
    (void)state;
    world_open();
    fake_crash();
    agent_prepare();
    world_submit("r1", "early", NULL);
    fake_run();
    const char *begun = fake_run_state("r1");
    assert_true(!begun || !*begun);
    fake_start_agent();
    fake_run();
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void class_i_is_asked_for_once_its_window_is_over(void **state)
{
    (void)state;
    leave_sending(CHELA_SEND_IDEMPOTENT, "hold");
    fake_advance(61000);
    fake_on(CHELA_FN_CHANNEL_FIND, found);
    fake_start_agent();
    assert_int_equal(world.events, 1);
    assert_int_equal(world.sends, 0);
    assert_string_equal(fake_chunk_state("r1.0"), "SENT");
    world_close();
}

static void class_q_looks_first(void **state)
{
    (void)state;
    leave_sending(CHELA_SEND_QUERY, "hold");
    fake_on(CHELA_FN_CHANNEL_FIND, not_found);
    fake_start_agent();
    assert_int_equal(world.events, 1);
    assert_int_equal(world.sends, 1);
    world_close();
}

static void class_n_is_held(void **state)
{
    (void)state;
    leave_sending(CHELA_SEND_NEITHER, "hold");
    fake_start_agent();
    assert_int_equal(world.sends, 0);
    assert_string_equal(fake_chunk_state("r1.0"), "UNKNOWN");
    world_close();
}

static void class_n_is_sent_again_and_marked_if_so_configured(void **state)
{
    (void)state;
    leave_sending(CHELA_SEND_NEITHER, "resend");
    fake_start_agent();
    assert_int_equal(world.sends, 1);
    assert_non_null(strstr(world.sent, "delivered twice"));
    assert_string_equal(fake_chunk_state("r1.0"), "SENT");
    world_close();
}

static void a_run_that_crashes_again_and_again_is_given_up(void **state)
{
    (void)state;
    world_open();
    for (unsigned i = 0; i < 10; i++)
        world_script((struct script){.hang = true});
    world_say("r1", "poison");
    for (unsigned i = 0; i < 5 && strcmp(fake_run_state("r1"), "RECEIVED") == 0; i++)
        restart();
    assert_string_equal(fake_run_state("r1"), "FAILED");
    assert_int_equal(world.request_count, 4); /* once, and three times again */
    assert_non_null(strstr(world.sent, "ended several times"));
    world_close();
}

static void an_orderly_stop_lets_running_turns_end(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.hang = true});
    world_say("r1", "slow");
    uint32_t stopped = 99;
    agent_stop(30000, ignore_end, &stopped);
    uint64_t late = world_submit("r2", "too late", NULL);
    fake_run();
    assert_non_null(strstr(fake_answer(late), "stopping"));
    assert_int_equal(stopped, 99);
    fake_text(world.model_call, "ready");
    fake_done(world.model_call, CHELA_OK, "", "{\"stop\":\"end\"}", 0, 0);
    fake_run();
    assert_int_equal(stopped, 0);
    assert_string_equal(fake_run_state("r1"), "DONE");
    fake_crash();
    fake_start_agent();
    world_close();
}

static void a_stop_without_patience_leaves_the_run_for_the_next_start(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    world_script((struct script){.calls = {{"a", "note", "{}", false}}});
    world_say("r1", "slow");
    uint32_t stopped = 99;
    agent_stop(1000, ignore_end, &stopped);
    fake_advance(900);
    assert_int_equal(stopped, 99);
    fake_advance(200);
    assert_int_equal(stopped, 0);
    assert_int_equal(fake_open_calls(), 0); /* the tool was ended */
    assert_string_equal(fake_run_state("r1"), "RECEIVED");
    world.tools_hang = false;
    fake_crash();
    fake_start_agent();
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_accepted_message_is_answered_after_a_crash),
        cmocka_unit_test(a_call_that_was_executing_is_never_repeated),
        cmocka_unit_test(a_repeatable_call_runs_again),
        cmocka_unit_test(calls_that_had_ended_keep_their_results),
        cmocka_unit_test(a_question_survives_a_restart),
        cmocka_unit_test(always_survives_a_restart),
        cmocka_unit_test(class_i_is_sent_again_with_the_same_key),
        cmocka_unit_test(class_i_is_asked_for_once_its_window_is_over),
        cmocka_unit_test(class_q_looks_first),
        cmocka_unit_test(a_post_is_stored_before_it_goes_out),
        cmocka_unit_test(what_is_submitted_too_early_waits),
        cmocka_unit_test(class_n_is_held),
        cmocka_unit_test(class_n_is_sent_again_and_marked_if_so_configured),
        cmocka_unit_test(a_run_that_crashes_again_and_again_is_given_up),
        cmocka_unit_test(an_orderly_stop_lets_running_turns_end),
        cmocka_unit_test(a_stop_without_patience_leaves_the_run_for_the_next_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
