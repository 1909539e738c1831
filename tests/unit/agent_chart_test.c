/*
 * The flow chart of a function call, an arrow a test: each is named after the two boxes that it
 * joins (1 tool list, 2 model call, 3 stream parsed, 4 calls detected, 5 tool found, 6 prepared, 7
 * mode chosen, 8 executed, 9 finalised, 10 written, 11 next round), and the five states of a call.
 */
#include "tests/unit/agent_world.h"

#include "agent/tools/toolcall.h"

static void one_call(const char *id, const char *tool, const char *arguments)
{
    world_script((struct script){.calls = {{id, tool, arguments, false}}});
}

static void arrow_message_to_1_the_tool_list_is_built_from_what_is_visible(void **state)
{
    (void)state;
    world_open();
    fake_set("tools.deny", "note");
    world_say("r1", "hi");
    assert_non_null(strstr(world.requests[0], "\"look\""));
    assert_null(strstr(world.requests[0], "\"note\""));
    world_close();
}

static void arrow_1_to_2_messages_and_tools_go_to_the_provider_sorted(void **state)
{
    (void)state;
    world_open();
    world_say("r1", "hi");
    assert_non_null(strstr(world.requests[0], "\"tools\":[\"again\",\"boom\",\"change\""));
    assert_non_null(strstr(world.requests[0], "hi"));
    world_close();
}

static void arrow_2_to_3_pieces_of_the_stream_become_one_call(void **state)
{
    (void)state;
    world_open();
    one_call("a", "note", "{\"city\":\"x\"}");
    world_say("r1", "go");
    assert_non_null(strstr(fake_message_body(SESSION, 1),
                           "\"type\":\"toolCall\",\"id\":\"a\",\"name\":\"note\",\"arguments\":{"
                           "\"city\":\"x\"}"));
    world_close();
}

static void arrow_3_to_4_an_answer_with_calls_goes_to_execution(void **state)
{
    (void)state;
    world_open();
    one_call("a", "note", "{}");
    world_say("r1", "go");
    assert_string_equal(fake_call_state("a"), "COMPLETED");
    assert_int_equal(world.request_count, 2);
    world_close();
}

static void arrow_4_to_end_an_answer_without_calls_ends_the_turn(void **state)
{
    (void)state;
    world_open();
    world_say("r1", "go");
    assert_int_equal(world.request_count, 1);
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void arrow_4_to_5_the_tool_is_found_by_its_name(void **state)
{
    (void)state;
    world_open();
    one_call("a", "look", "{}");
    world_say("r1", "go");
    assert_string_equal(world.tool_names[0], "look");
    world_close();
}

static void arrow_5_deferred_one_that_is_not_in_the_list_is_resolved(void **state)
{
    (void)state;
    world_open();
    one_call("a", "hidden", "{}");
    world_say("r1", "go");
    assert_string_equal(world.tool_names[0], "hidden");
    assert_non_null(strstr(world.requests[1], ",\"hidden\"]"));
    world_close();
}

static void arrow_5_to_error_one_that_is_nowhere_is_an_error_result(void **state)
{
    (void)state;
    world_open();
    one_call("a", "nowhere", "{}");
    world_say("r1", "go");
    assert_non_null(strstr(world.requests[1], "Tool not found: nowhere"));
    assert_non_null(strstr(world.requests[1], "\"isError\":true"));
    world_close();
}

static unsigned order_of(const char *what)
{
    static char seen[200];
    if (!what) {
        seen[0] = '\0';
        return 0;
    }
    strncat(seen, what, sizeof seen - strlen(seen) - 1);
    world.verdict = NULL;
    return (unsigned)strlen(seen);
}

static unsigned prepared_at, hooked_at, run_at;

static void prepare_slot(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    (void)in;
    (void)fn;
    (void)args;
    prepared_at = order_of("p");
    fake_decide(call, CHELA_CHANGE, "{\"x\":7}", "", NULL, 0);
}

static void hook_slot(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    const struct chela_hook_event *e = args;
    (void)in;
    (void)fn;
    if (e->point == CHELA_AFTER_TOOL) {
        fake_decide(call, CHELA_CHANGE, "{\"content\":\"changed\",\"isError\":true}", "", NULL, 0);
        return;
    }
    assert_non_null(strstr(e->json.s, "\"x\":7")); /* what prepare made of it */
    hooked_at = order_of("h");
    fake_decide(call, CHELA_YES, "", "", NULL, 0);
}

static void run_slot(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    const struct chela_tool_run *q = args;
    (void)in;
    (void)fn;
    assert_string_equal(q->arguments.s, "{\"x\":7}");
    run_at = order_of("r");
    fake_done(call, CHELA_OK, "ran", "", 0, 0);
}

static void hook_nothing(struct chela_inst *in, const struct chela_hook_event *e)
{
    (void)in;
    (void)e;
}

static void with_hooks(void)
{
    static struct chela_hook hook = {.points = 1u << CHELA_BEFORE_TOOL | 1u << CHELA_AFTER_TOOL,
                                     .event = hook_nothing};
    struct chela_iface iface = {.hook = &hook};
    fake_instance("guard", ROLE_HOOK, &iface);
    fake_on(CHELA_FN_HOOK_EVENT, hook_slot);
    order_of(NULL);
}

static void arrow_5_to_6_arguments_are_prepared_then_validated_then_shown_to_the_hook(void **state)
{
    (void)state;
    world_open();
    with_hooks();
    fake_on(CHELA_FN_TOOL_PREPARE, prepare_slot);
    fake_on(CHELA_FN_TOOL_RUN, run_slot);
    one_call("a", "note", "{\"x\":1}");
    world_say("r1", "go");
    assert_true(prepared_at < hooked_at && hooked_at < run_at);
    world_close();
}

static void arrow_6_to_error_arguments_that_do_not_fit_the_schema_never_run(void **state)
{
    (void)state;
    world_open();
    one_call("a", "note", "{\"x\":\"no number\"}");
    world_say("r1", "go");
    assert_int_equal(world.tool_count, 0);
    assert_string_equal(fake_call_state("a"), "FAILED");
    world_close();
}

static void two_calls(const char *first, const char *second)
{
    world_script((struct script){.calls = {{"a", first, "{}", false}, {"b", second, "{}", false}}});
}

static void arrow_6_to_7_calls_run_side_by_side_by_default(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    two_calls("note", "look");
    world_say("r1", "go");
    assert_int_equal(world.tool_count, 2);
    world_close();
}

static void arrow_7_sequential_one_sequential_tool_puts_all_in_a_row(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    two_calls("note", "step");
    world_say("r1", "go");
    assert_int_equal(world.tool_count, 1);
    fake_done(world.tool_calls[0], CHELA_OK, "ok", "", 0, 0);
    fake_run();
    assert_int_equal(world.tool_count, 2);
    world_close();
}

static void arrow_7_to_8_the_tool_runs_and_tells_its_progress(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    one_call("a", "note", "{}");
    world_say("r1", "go");
    assert_string_equal(fake_call_state("a"), "EXECUTING");
    fake_text(world.tool_calls[0], "half");
    fake_run();
    assert_true(world_heard("\"phase\":\"update\""));
    world_close();
}

static void arrow_8_to_9_the_hook_behind_replaces_content_and_error(void **state)
{
    (void)state;
    world_open();
    with_hooks();
    fake_on(CHELA_FN_TOOL_PREPARE, prepare_slot);
    one_call("a", "note", "{}");
    world_say("r1", "go");
    assert_non_null(strstr(world.requests[1], "\"text\":\"changed\"}],\"isError\":true"));
    assert_string_equal(fake_call_state("a"), "FAILED");
    world_close();
}

static void arrow_9_to_10_results_are_written_in_the_order_of_the_calls(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    two_calls("note", "look");
    world_say("r1", "go");
    for (unsigned i = 2; i-- > 0;) {
        CLEANUP(freep) char *text = xprintf("of %s", world.tool_names[i]);
        fake_done(world.tool_calls[i], CHELA_OK, text, "", 0, 0);
        fake_run();
    }
    const char *body = fake_message_body(SESSION, 2), *first = strstr(body, "of note");
    assert_string_equal(fake_message_role(SESSION, 2), "tool");
    assert_non_null(first);
    assert_non_null(strstr(first, "of look"));
    world_close();
}

static void arrow_10_to_11_the_next_request_carries_call_and_result(void **state)
{
    (void)state;
    world_open();
    one_call("a", "note", "{}");
    world_say("r1", "go");
    const char *call = strstr(world.requests[1], "\"type\":\"toolCall\",\"id\":\"a\"");
    assert_non_null(call);
    assert_non_null(strstr(call, "\"callId\":\"a\""));
    world_close();
}

static void arrow_11_to_2_it_goes_on_until_there_is_no_new_call(void **state)
{
    (void)state;
    world_open();
    one_call("a", "note", "{\"x\":1}");
    one_call("b", "note", "{\"x\":2}");
    one_call("c", "note", "{\"x\":3}");
    world_say("r1", "go");
    assert_int_equal(world.request_count, 4);
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void arrow_11_to_end_when_all_say_terminate(void **state)
{
    (void)state;
    world_open();
    two_calls("finish", "finish");
    world_say("r1", "go");
    assert_int_equal(world.request_count, 1);
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
    world_open();
    two_calls("finish", "look"); /* one that doesn't say so keeps it going */
    world_say("r1", "go");
    assert_int_equal(world.request_count, 2);
    world_close();
}

static void arrow_11_to_end_when_it_is_aborted(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    one_call("a", "note", "{}");
    world_say("r1", "go");
    assert_int_equal(agent_abort(SESSION, NULL, "test", NULL, NULL), 1);
    fake_run();
    assert_int_equal(world.request_count, 1);
    assert_string_equal(fake_run_state("r1"), "ABORTED");
    assert_string_equal(fake_call_state("a"), "FAILED");
    world_close();
}

static void stop_slot(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    const struct chela_hook_event *e = args;
    (void)in;
    (void)fn;
    fake_decide(call, e->point == CHELA_AFTER_TOOL ? CHELA_STOP_AFTER : CHELA_YES, "", "", NULL, 0);
}

static void arrow_11_to_end_when_a_hook_says_stop_after_the_batch(void **state)
{
    (void)state;
    world_open();
    with_hooks();
    fake_on(CHELA_FN_HOOK_EVENT, stop_slot);
    two_calls("note", "look");
    world_say("r1", "go");
    assert_int_equal(world.request_count, 1);
    assert_string_equal(fake_call_state("b"), "COMPLETED");
    world_close();
}

/* ---- the five states ---- */

static void states_pending_to_approval_required_to_executing_to_completed(void **state)
{
    (void)state;
    world_open();
    one_call("a", "change", "{}");
    world_say("r1", "go");
    assert_string_equal(fake_call_state("a"), "APPROVAL_REQUIRED");
    world.tools_hang = true;
    assert_int_equal(world_decide("allow-once"), 0);
    assert_string_equal(fake_call_state("a"), "EXECUTING");
    fake_done(world.tool_calls[0], CHELA_OK, "ok", "", 0, 0);
    fake_run();
    assert_string_equal(fake_call_state("a"), "COMPLETED");
    world_close();
}

static void states_executing_to_failed(void **state)
{
    (void)state;
    world_open();
    one_call("a", "boom", "{}");
    world_say("r1", "go");
    assert_string_equal(fake_call_state("a"), "FAILED");
    assert_non_null(strstr(world.requests[1], "it broke"));
    world_close();
}

static void states_pending_to_failed_when_the_schema_says_no(void **state)
{
    (void)state;
    assert_true(call_state_follows(CALL_PENDING, CALL_FAILED));
    assert_false(call_state_follows(CALL_PENDING, CALL_COMPLETED));
    assert_false(call_state_follows(CALL_APPROVAL, CALL_COMPLETED));
    assert_false(call_state_follows(CALL_COMPLETED, CALL_EXECUTING));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrow_message_to_1_the_tool_list_is_built_from_what_is_visible),
        cmocka_unit_test(arrow_1_to_2_messages_and_tools_go_to_the_provider_sorted),
        cmocka_unit_test(arrow_2_to_3_pieces_of_the_stream_become_one_call),
        cmocka_unit_test(arrow_3_to_4_an_answer_with_calls_goes_to_execution),
        cmocka_unit_test(arrow_4_to_end_an_answer_without_calls_ends_the_turn),
        cmocka_unit_test(arrow_4_to_5_the_tool_is_found_by_its_name),
        cmocka_unit_test(arrow_5_deferred_one_that_is_not_in_the_list_is_resolved),
        cmocka_unit_test(arrow_5_to_error_one_that_is_nowhere_is_an_error_result),
        cmocka_unit_test(arrow_5_to_6_arguments_are_prepared_then_validated_then_shown_to_the_hook),
        cmocka_unit_test(arrow_6_to_error_arguments_that_do_not_fit_the_schema_never_run),
        cmocka_unit_test(arrow_6_to_7_calls_run_side_by_side_by_default),
        cmocka_unit_test(arrow_7_sequential_one_sequential_tool_puts_all_in_a_row),
        cmocka_unit_test(arrow_7_to_8_the_tool_runs_and_tells_its_progress),
        cmocka_unit_test(arrow_8_to_9_the_hook_behind_replaces_content_and_error),
        cmocka_unit_test(arrow_9_to_10_results_are_written_in_the_order_of_the_calls),
        cmocka_unit_test(arrow_10_to_11_the_next_request_carries_call_and_result),
        cmocka_unit_test(arrow_11_to_2_it_goes_on_until_there_is_no_new_call),
        cmocka_unit_test(arrow_11_to_end_when_all_say_terminate),
        cmocka_unit_test(arrow_11_to_end_when_it_is_aborted),
        cmocka_unit_test(arrow_11_to_end_when_a_hook_says_stop_after_the_batch),
        cmocka_unit_test(states_pending_to_approval_required_to_executing_to_completed),
        cmocka_unit_test(states_executing_to_failed),
        cmocka_unit_test(states_pending_to_failed_when_the_schema_says_no),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
