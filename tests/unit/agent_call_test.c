/* Tool calls: found, prepared, checked, allowed, run, and what becomes of each. */
#include "tests/unit/agent_world.h"

static char hook_verdict[256];
static uint32_t hook_says;

static void hook_slot(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    (void)in;
    (void)fn;
    (void)args;
    world.events++;
    fake_decide(call, hook_says, hook_verdict, "", NULL, 0);
}

static void slot_hook(struct chela_inst *in, const struct chela_hook_event *a)
{
    (void)in;
    (void)a;
}

static void add_hook(uint32_t point, uint32_t verdict, const char *text)
{
    static struct chela_hook hook;
    hook = (struct chela_hook){.points = 1u << point, .event = slot_hook};
    struct chela_iface iface = {.hook = &hook};
    fake_instance("guard", ROLE_HOOK, &iface);
    fake_on(CHELA_FN_HOOK_EVENT, hook_slot);
    hook_says = verdict;
    snprintf(hook_verdict, sizeof hook_verdict, "%s", text);
}

static void calls(const char *name, const char *arguments)
{
    world_script((struct script){.calls = {{"c1", name, arguments, false}}});
    world_say("r1", "go");
}

static const char *result(void)
{
    return fake_message_body(SESSION, 2);
}

static void a_tool_that_only_reads_costs_no_barrier(void **state)
{
    (void)state;
    world_open();
    calls("look", "{\"x\":1}");
    assert_string_equal(fake_journal_log(), "inbound! start attempt reply call_start call_end "
                                            "results attempt final! patch! chunk");
    assert_non_null(strstr(result(), "ran look {\\\"x\\\":1}"));
    world_close();
}

static void a_batch_with_effects_costs_one_barrier(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.calls = {{"a", "note", "{}", false},
                                           {"b", "look", "{}", false},
                                           {"c", "note", "{}", false},
                                           {"d", "again", "{}", false}}});
    world_say("r1", "go");
    assert_int_equal(world_times(fake_journal_log(), "call_start!"), 1);
    assert_int_equal(world_times(fake_journal_log(), "call_start"), 4);
    assert_int_equal(world.tool_count, 4);
    world_close();
}

static void results_come_in_the_order_of_the_calls(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    world_script((struct script){.calls = {{"a", "look", "{\"x\":1}", false},
                                           {"b", "look", "{\"x\":2}", false},
                                           {"c", "look", "{\"x\":3}", false}}});
    world_say("r1", "go");
    assert_int_equal(world.tool_count, 3); /* together */
    fake_done(world.tool_calls[2], CHELA_OK, "third", "", 0, 0);
    fake_run();
    fake_done(world.tool_calls[0], CHELA_OK, "first", "", 0, 0);
    fake_done(world.tool_calls[1], CHELA_OK, "second", "", 0, 0);
    fake_run();
    const char *body = result();
    assert_true(strstr(body, "first") < strstr(body, "second"));
    assert_true(strstr(body, "second") < strstr(body, "third"));
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void one_sequential_tool_makes_the_batch_sequential(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    world_script((struct script){.calls = {{"a", "look", "{}", false},
                                           {"b", "step", "{}", false},
                                           {"c", "look", "{}", false}}});
    world_say("r1", "go");
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(world.tool_count, i + 1);
        fake_done(world.tool_calls[i], CHELA_OK, "ok", "", 0, 0);
        fake_run();
    }
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void the_configuration_can_make_all_batches_sequential(void **state)
{
    (void)state;
    world_open();
    fake_set("tools.execution", "sequential");
    world.tools_hang = true;
    world_script(
        (struct script){.calls = {{"a", "look", "{}", false}, {"b", "look", "{}", false}}});
    world_say("r1", "go");
    assert_int_equal(world.tool_count, 1);
    world_close();
}

static void an_unknown_tool_fails_and_the_loop_goes_on(void **state)
{
    (void)state;
    world_open();
    calls("nothing", "{}");
    assert_non_null(strstr(result(), "Tool not found: nothing"));
    assert_string_equal(fake_call_state("c1"), "FAILED");
    assert_string_equal(fake_run_state("r1"), "DONE");
    assert_int_equal(world.request_count, 2);
    world_close();
}

static void a_deferred_tool_is_found_and_stays_for_the_run(void **state)
{
    (void)state;
    world_open();
    calls("hidden", "{}");
    assert_non_null(strstr(result(), "ran hidden"));
    assert_null(strstr(world.requests[0], "hidden"));
    assert_non_null(strstr(world.requests[1], "\"wipe\",\"hidden\"]")); /* behind the sorted ones */
    world_say("r2", "next");
    assert_null(strstr(strstr(world.requests[2], "\"tools\""), "\"hidden\"],"));
    world_close();
}

static void arguments_that_do_not_fit_never_run(void **state)
{
    (void)state;
    world_open();
    calls("note", "{\"x\":\"many\"}");
    assert_int_equal(world.tool_count, 0);
    assert_non_null(strstr(result(), "don't fit the tool's schema"));
    assert_non_null(strstr(result(), "/x"));
    world_close();
}

static void arguments_that_are_no_json_never_run(void **state)
{
    (void)state;
    world_open();
    calls("note", "{\"x\":");
    assert_int_equal(world.tool_count, 0);
    assert_non_null(strstr(result(), "not valid JSON"));
    world_close();
}

static void a_tool_that_changed_in_mid_turn_does_not_run(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.hang = true});
    world_say("r1", "go");
    fake_unpublish(world.kit, CHELA_TOOLS);
    world_tool("note", HIGH);
    fake_tool_call(world.model_call, 0, "c1", "note", "{}", true);
    fake_done(world.model_call, CHELA_OK, "", "{\"stop\":\"tool_calls\"}", 0, 0);
    fake_run();
    assert_int_equal(world.tool_count, 0);
    assert_non_null(strstr(result(), "has changed or gone"));
    world_close();
}

static void medium_risk_waits_for_a_person(void **state)
{
    (void)state;
    world_open();
    calls("change", "{\"x\":1}");
    assert_int_equal(world.tool_count, 0);
    assert_string_equal(fake_call_state("c1"), "APPROVAL_REQUIRED");
    assert_true(world_heard("requested {"));
    assert_true(world_heard("\"phase\":\"waiting-approval\""));
    assert_non_null(strstr(world.sent, "May I run this (medium risk)?"));
    assert_int_equal(world_decide("allow-once"), 0);
    assert_int_equal(world.tool_count, 1);
    assert_string_equal(fake_call_state("c1"), "COMPLETED");
    assert_true(world_heard("\"decision\":\"allow-once\""));
    assert_non_null(strstr(fake_journal_log(), "ask! decide! call_start! call_end"));
    world_close();
}

static void a_denial_is_told_to_the_model(void **state)
{
    (void)state;
    world_open();
    calls("change", "{}");
    world_decide("deny");
    assert_int_equal(world.tool_count, 0);
    assert_non_null(strstr(result(), "denied permission"));
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void nobody_answering_is_a_denial(void **state)
{
    (void)state;
    world_open();
    fake_set("tools.approval.timeout", "60000");
    calls("change", "{}");
    fake_advance(59000);
    assert_string_equal(fake_call_state("c1"), "APPROVAL_REQUIRED");
    fake_advance(2000);
    assert_non_null(strstr(result(), "nobody gave permission in time"));
    assert_int_equal(world.tool_count, 0);
    world_close();
}

static void the_clock_of_the_turn_stands_while_a_person_is_asked(void **state)
{
    (void)state;
    world_open();
    fake_set("agents.defaults.timeout", "10000");
    calls("change", "{}");
    fake_advance(600000);
    world_decide("allow-once");
    assert_string_equal(fake_run_state("r1"), "DONE");
    world.tools_hang = true;
    world_script((struct script){.calls = {{"c2", "look", "{}", false}}});
    world_say("r2", "slow");
    fake_advance(11000);
    assert_string_equal(fake_run_state("r2"), "ABORTED");
    assert_true(world_heard("\"stopReason\":\"timeout\""));
    world_close();
}

static void always_counts_for_the_same_source_and_kind_only(void **state)
{
    (void)state;
    world_open();
    world.verdict = "{\"kind\":\"git|status\"}";
    calls("change", "{}");
    assert_int_equal(world_decide("allow-always"), 0);
    world_script((struct script){.calls = {{"c2", "change", "{}", false}}});
    world_say("r2", "again");
    assert_int_equal(world.tool_count, 2); /* not asked */
    world.verdict = "{\"kind\":\"git|push\"}";
    world_script((struct script){.calls = {{"c3", "change", "{}", false}}});
    world_say("r3", "another kind");
    assert_string_equal(fake_call_state("c3"), "APPROVAL_REQUIRED");
    world_decide("deny");
    world.verdict = "{\"kind\":\"git|status\"}";
    world_script((struct script){.calls = {{"c4", "change", "{}", false}}});
    CHELA_ARGS(chela_submit, q, 0);
    q.event = chela_s("r4");
    q.chat = chela_s("elsewhere");
    q.sender = chela_s("somebody else");
    q.text = chela_s("go");
    fake_submit(world.channel, &q);
    fake_run();
    assert_string_equal(fake_call_state("c4"), "APPROVAL_REQUIRED");
    world_close();
}

static void high_risk_is_never_offered_for_always(void **state)
{
    (void)state;
    world_open();
    calls("wipe", "{}");
    assert_true(world_heard("\"allowedDecisions\":[\"allow-once\",\"deny\"]"));
    assert_int_equal(world_decide("allow-always"), CHELA_E_ARGS);
    assert_int_equal(world.tool_count, 0);
    assert_int_equal(world_decide("allow-once"), 0);
    assert_int_equal(world.tool_count, 1);
    world_close();
}

static void what_may_not_be_allowed_for_always_is_not_offered(void **state)
{
    (void)state;
    world_open();
    world.verdict = "{\"kind\":null,\"risk\":\"medium\",\"summary\":\"sh -c x\"}";
    calls("note", "{}");
    assert_true(world_heard("\"unavailableDecisions\":[\"allow-always\"]"));
    assert_true(world_heard("\"command\":\"sh -c x\""));
    world_close();
}

static void the_second_answer_is_told_that_it_comes_too_late(void **state)
{
    (void)state;
    world_open();
    calls("change", "{}");
    struct json_object *list = agent_approvals();
    CLEANUP(freep) char *id = xstrdup(chela_json_string(chela_json_at(list, 0), "id", NULL));
    json_object_put(list);
    uint32_t first = 99, second = 99, third = 99;
    agent_approval_resolve(id, "allow-once", "a", ignore_end, &first);
    agent_approval_resolve(id, "deny", "b", ignore_end, &second);
    fake_run();
    agent_approval_resolve(id, "deny", "c", ignore_end, &third);
    assert_int_equal(first, 0);
    assert_int_equal(second, CHELA_E_CONFLICT);
    assert_int_equal(third, CHELA_E_CONFLICT);
    assert_int_equal(world.tool_count, 1);
    world_close();
}

static void prepare_can_refuse_and_raise_the_risk(void **state)
{
    (void)state;
    world_open();
    world.verdict = "{\"risk\":\"high\",\"warnings\":[\"it deletes\"]}";
    calls("look", "{}");
    assert_string_equal(fake_call_state("c1"), "APPROVAL_REQUIRED");
    assert_true(world_heard("\"warningLines\":[\"it deletes\"]"));
    world_close();
}

static void a_hook_before_blocks(void **state)
{
    (void)state;
    world_open();
    add_hook(CHELA_BEFORE_TOOL, CHELA_NO, "not today");
    calls("look", "{}");
    assert_int_equal(world.tool_count, 0);
    assert_non_null(strstr(result(), "Blocked by guard: not today"));
    world_close();
}

static void a_hook_before_changes_and_the_change_is_judged_anew(void **state)
{
    (void)state;
    world_open();
    add_hook(CHELA_BEFORE_TOOL, CHELA_CHANGE, "{\"x\":7}");
    calls("look", "{\"x\":1}");
    assert_int_equal(world.prepared, 2);
    assert_non_null(strstr(result(), "ran look {\\\"x\\\":7}"));
    world_close();
    world_open();
    add_hook(CHELA_BEFORE_TOOL, CHELA_CHANGE, "{\"x\":\"bad\"}");
    calls("look", "{\"x\":1}");
    assert_int_equal(world.tool_count, 0);
    assert_non_null(strstr(result(), "don't fit"));
    world_close();
}

static void a_hook_after_changes_the_result(void **state)
{
    (void)state;
    world_open();
    add_hook(CHELA_AFTER_TOOL, CHELA_CHANGE, "{\"content\":\"redacted\",\"isError\":true}");
    calls("look", "{}");
    assert_non_null(strstr(result(), "\"text\":\"redacted\"}],\"isError\":true"));
    assert_string_equal(fake_call_state("c1"), "FAILED");
    world_close();
}

static void a_hook_after_stops_the_run_behind_the_batch(void **state)
{
    (void)state;
    world_open();
    add_hook(CHELA_AFTER_TOOL, CHELA_STOP_AFTER, "");
    calls("look", "{}");
    assert_int_equal(world.request_count, 1);
    assert_string_equal(fake_run_state("r1"), "DONE");
    assert_string_equal(fake_message_role(SESSION, 2), "tool");
    world_close();
}

static void long_results_are_cut_in_the_middle_and_kept_whole(void **state)
{
    (void)state;
    world_open();
    fake_set("tools.output_limit", "2000");
    world.tools_hang = true;
    calls("look", "{}");
    char *text = xmalloc(10001);
    memset(text, 'a', 10000);
    memcpy(text, "HEAD", 4);
    memcpy(text + 9996, "TAIL", 4);
    text[10000] = '\0';
    fake_done(world.tool_calls[0], CHELA_OK, text, "", 0, 0);
    fake_run();
    assert_non_null(strstr(result(), "HEAD"));
    assert_non_null(strstr(result(), "TAIL"));
    assert_non_null(strstr(result(), "bytes left out; the tool read shows all of it: path blob:"));
    assert_true(strlen(result()) < 2400);
    free(text);
    world_close();
}

static void a_tool_that_runs_too_long_is_ended(void **state)
{
    (void)state;
    world_open();
    fake_set("tools.timeout", "5000");
    world.tools_hang = true;
    calls("note", "{}");
    fake_advance(6000);
    assert_non_null(strstr(result(), "ran longer than allowed"));
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void progress_is_told(void **state)
{
    (void)state;
    world_open();
    world.tools_hang = true;
    calls("note", "{}");
    fake_text(world.tool_calls[0], "half way");
    fake_run();
    assert_true(world_heard("\"phase\":\"update\""));
    assert_true(world_heard("half way"));
    world_close();
}

static void a_start_that_cannot_be_stored_runs_nothing(void **state)
{
    (void)state;
    world_open();
    fake_journal_fail("call_start", CHELA_E_FULL);
    calls("note", "{}");
    assert_int_equal(world.tool_count, 0);
    assert_true(world_heard("\"state\":\"error\""));
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tool_that_only_reads_costs_no_barrier),
        cmocka_unit_test(a_batch_with_effects_costs_one_barrier),
        cmocka_unit_test(results_come_in_the_order_of_the_calls),
        cmocka_unit_test(one_sequential_tool_makes_the_batch_sequential),
        cmocka_unit_test(the_configuration_can_make_all_batches_sequential),
        cmocka_unit_test(an_unknown_tool_fails_and_the_loop_goes_on),
        cmocka_unit_test(a_deferred_tool_is_found_and_stays_for_the_run),
        cmocka_unit_test(arguments_that_do_not_fit_never_run),
        cmocka_unit_test(arguments_that_are_no_json_never_run),
        cmocka_unit_test(a_tool_that_changed_in_mid_turn_does_not_run),
        cmocka_unit_test(medium_risk_waits_for_a_person),
        cmocka_unit_test(a_denial_is_told_to_the_model),
        cmocka_unit_test(nobody_answering_is_a_denial),
        cmocka_unit_test(the_clock_of_the_turn_stands_while_a_person_is_asked),
        cmocka_unit_test(always_counts_for_the_same_source_and_kind_only),
        cmocka_unit_test(high_risk_is_never_offered_for_always),
        cmocka_unit_test(what_may_not_be_allowed_for_always_is_not_offered),
        cmocka_unit_test(the_second_answer_is_told_that_it_comes_too_late),
        cmocka_unit_test(prepare_can_refuse_and_raise_the_risk),
        cmocka_unit_test(a_hook_before_blocks),
        cmocka_unit_test(a_hook_before_changes_and_the_change_is_judged_anew),
        cmocka_unit_test(a_hook_after_changes_the_result),
        cmocka_unit_test(a_hook_after_stops_the_run_behind_the_batch),
        cmocka_unit_test(long_results_are_cut_in_the_middle_and_kept_whole),
        cmocka_unit_test(a_tool_that_runs_too_long_is_ended),
        cmocka_unit_test(progress_is_told),
        cmocka_unit_test(a_start_that_cannot_be_stored_runs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
