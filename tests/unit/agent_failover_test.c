/* What follows when a model call fails, by the class of the failure. */
#include "tests/unit/agent_world.h"

#include "agent/models/health.h"

enum { NEXT, RETRY, LARGER, SIMPLER, END };

/* Class, and what is tried next. */
static const struct {
    uint32_t class;
    int then;
} matrix[] = {
    {CHELA_E_ARGS, NEXT},     {CHELA_E_AUTH, NEXT},       {CHELA_E_RATE, NEXT},
    {CHELA_E_QUOTA, NEXT},    {CHELA_E_OVERLOADED, NEXT}, {CHELA_E_NOT_FOUND, NEXT},
    {CHELA_E_NETWORK, RETRY}, {CHELA_E_TIMEOUT, RETRY},   {CHELA_E_PROTOCOL, RETRY},
    {CHELA_E_GONE, RETRY},    {CHELA_E_BUSY, RETRY},      {CHELA_E_UNSUPPORTED, SIMPLER},
    {CHELA_E_REFUSED, END},   {CHELA_E_TOO_LONG, LARGER}, {CHELA_E_OTHER, NEXT},
};

static const char *model_of(unsigned n)
{
    static char model[64];
    assert_true(n < world.request_count);
    const char *p = strstr(world.requests[n], "\"model\":\"");
    snprintf(model, sizeof model, "%.*s", (int)strcspn(p + 9, "\""), p + 9);
    return model;
}

static void each_class_of_failure_has_its_remedy(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ARRAY_LENGTH(matrix); i++) {
        world_open();
        if (matrix[i].then == LARGER) {
            fake_unpublish(world.other, CHELA_MODELS);
            fake_publish(world.other, CHELA_MODELS, "m2", "{\"context\":900000,\"tools\":true}");
        }
        world_script((struct script){.error = matrix[i].class, .message = "no"});
        world_script((struct script){.text = "saved"});
        world_say("r1", "hi");
        if (matrix[i].then == RETRY) {
            assert_int_equal(world.request_count, 1); /* after a while */
            fake_advance(2000);
            assert_string_equal(model_of(1), "mock/m1");
        } else if (matrix[i].then == NEXT || matrix[i].then == LARGER) {
            assert_string_equal(model_of(1), "other/m2"); /* at once */
        } else if (matrix[i].then == SIMPLER) {
            assert_string_equal(model_of(1), "mock/m1");
            assert_non_null(strstr(world.requests[1], "\"tools\":[]"));
        }
        if (matrix[i].then == END) {
            assert_int_equal(world.request_count, 1);
            assert_string_equal(fake_run_state("r1"), "FAILED");
            assert_true(world_heard("\"errorKind\":\"refusal\""));
        } else {
            assert_string_equal(fake_run_state("r1"), "DONE");
            assert_true(strstr(world.sent, "saved") == world.sent);
        }
        world_close();
    }
}

static void retries_back_off_and_stop_after_their_window(void **state)
{
    (void)state;
    world_open();
    fake_set("agents.defaults.fallback", NULL);
    for (unsigned i = 0; i < 30; i++)
        world_script((struct script){.error = CHELA_E_NETWORK, .message = "connection lost"});
    world_say("r1", "hi");
    fake_advance(600000);
    /* the first one, and at most eight again */
    assert_true(world.request_count >= 5 && world.request_count <= 9);
    assert_string_equal(fake_run_state("r1"), "FAILED");
    assert_true(world_heard("could not be reached"));
    assert_int_equal(world_times(world.sent, "could not be reached"), 1); /* one clear message */
    world_close();
}

static void retry_after_is_honoured_up_to_a_minute(void **state)
{
    (void)state;
    world_open();
    fake_set("agents.defaults.fallback", NULL);
    world_script((struct script){.error = CHELA_E_RATE, .retry_after = 20000});
    world_say("r1", "hi");
    fake_advance(19000);
    assert_int_equal(world.request_count, 1);
    fake_advance(1500);
    assert_int_equal(world.request_count, 2);
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_script((struct script){.error = CHELA_E_RATE, .retry_after = 61000});
    world_say("r2", "hi");
    assert_string_equal(fake_run_state("r2"), "FAILED");
    world_close();
}

static void a_chosen_model_is_never_replaced(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.error = CHELA_E_AUTH, .message = "bad key"});
    world_submit("r1", "hi", "\"model\":\"mock/m1\"");
    fake_run();
    assert_int_equal(world.request_count, 1);
    assert_string_equal(fake_run_state("r1"), "FAILED");
    assert_non_null(strstr(world.sent, "refused the key"));
    world_close();
}

static void the_candidate_is_kept_through_the_tool_rounds(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.error = CHELA_E_OVERLOADED});
    world_script((struct script){.calls = {{"a", "look", "{}", false}}});
    world_script((struct script){.calls = {{"b", "look", "{}", false}}});
    world_say("r1", "hi");
    assert_string_equal(model_of(1), "other/m2");
    assert_string_equal(model_of(2), "other/m2");
    assert_string_equal(model_of(3), "other/m2");
    /* the question was sent once more only because nothing had come of it */
    assert_int_equal(world_times(world.requests[3], "\"text\":\"hi\""), 1);
    world_close();
}

static void a_failed_candidate_rests_and_comes_back_by_itself(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.error = CHELA_E_OVERLOADED});
    world_say("r1", "one");
    world_say("r2", "two"); /* within 30 s: not even tried */
    assert_int_equal(world.request_count, 3);
    assert_string_equal(model_of(2), "other/m2");
    fake_advance(31000);
    world_say("r3", "three");
    assert_string_equal(model_of(3), "mock/m1");
    world_close();
}

static void the_ladder_is_half_a_minute_one_and_five(void **state)
{
    (void)state;
    world_open();
    static const uint64_t ladder[] = {30000, 60000, 300000, 300000};
    for (unsigned i = 0; i < ARRAY_LENGTH(ladder); i++) {
        health_begin("x/y");
        health_bad("x/y", CHELA_E_OVERLOADED, 0);
        assert_false(health_usable("x/y"));
        fake_advance(ladder[i] - 1);
        assert_int_equal(health_circuit("x/y"), HEALTH_OPEN);
        fake_advance(1);
        assert_int_equal(health_circuit("x/y"), HEALTH_HALF_OPEN);
        assert_true(health_usable("x/y"));
        health_begin("x/y");
        assert_false(health_usable("x/y")); /* one probe at a time */
    }
    health_good("x/y", 120);
    assert_int_equal(health_circuit("x/y"), HEALTH_CLOSED);
    assert_int_equal(health_latency("x/y"), 120);
    assert_true(health_availability("x/y") < 1);
    /* what says nothing of the service doesn't count */
    health_bad("x/z", CHELA_E_REFUSED, 0);
    health_bad("x/z", CHELA_E_TOO_LONG, 0);
    health_bad("x/z", CHELA_E_CANCELLED, 0);
    assert_true(health_usable("x/z"));
    world_close();
}

static void text_of_a_failed_try_is_taken_back(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.text = "half a sent", .error = CHELA_E_OVERLOADED});
    world_script((struct script){.text = "a whole answer"});
    world_say("r1", "hi");
    assert_string_equal(world.sent, "a whole answer\n");
    assert_string_equal(fake_message_body(SESSION, 1),
                        "[{\"type\":\"text\",\"text\":\"a whole answer\"}]");
    world_close();
}

static void a_model_that_streams_nothing_is_asked_for_the_whole(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.error = CHELA_E_UNSUPPORTED, .unsupported = "stream"});
    world_say("r1", "hi");
    assert_string_equal(model_of(1), "mock/m1");
    assert_non_null(strstr(world.requests[1], "\"stream\":false"));
    assert_null(strstr(world.requests[1], "\"tools\":[]"));
    world_close();
}

static void a_model_without_tools_answers_without_and_says_so(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.error = CHELA_E_UNSUPPORTED, .unsupported = "tools"});
    world_script((struct script){.text = "plain"});
    world_say("r1", "hi");
    assert_non_null(strstr(world.sent, "takes no tools, so none was used"));
    world_close();
}

static void a_context_that_is_too_long_is_compacted_and_sent_again(void **state)
{
    (void)state;
    world_open();
    fake_fill(SESSION, 200, 400);
    world_script((struct script){.error = CHELA_E_TOO_LONG});
    world_script((struct script){.text = "Goals: none"}); /* the summary */
    world_script((struct script){.text = "answer"});
    world_say("r1", "hi");
    assert_int_equal(world.request_count, 3);
    assert_non_null(strstr(fake_journal_log(), "compaction!"));
    assert_non_null(strstr(world.requests[2], "<summary_of_earlier_conversation>"));
    assert_non_null(strstr(world.requests[2], "Goals: none"));
    assert_non_null(strstr(world.requests[2], "\"text\":\"hi\""));
    assert_true(strlen(world.requests[2]) < strlen(world.requests[0]));
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

/* A turn whose own steps are too much: no history before it, several rounds of tools. */
static void overflow_in_the_turn(unsigned times)
{
    for (unsigned i = 0; i < 6; i++)
        world_script((struct script){.calls = {{"c", "look", "{\"x\":1}", false}}});
    for (unsigned i = 0; i < times; i++)
        world_script((struct script){.error = CHELA_E_TOO_LONG, .message = "too many tokens"});
    world_script((struct script){.text = "answer"});
    world_say("r1", "the question");
}

static void a_turn_that_outgrows_the_window_goes_on_without_its_older_steps(void **state)
{
    (void)state;
    world_open();
    overflow_in_the_turn(1);
    assert_int_equal(world.request_count, 8);
    assert_string_equal(model_of(7), "mock/m1"); /* the same, once more */
    assert_true(strlen(world.requests[7]) < strlen(world.requests[6]));
    assert_non_null(strstr(world.requests[7], "the question"));
    assert_non_null(strstr(world.requests[7], "Earlier steps of this answer did not fit"));
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void what_is_still_too_long_goes_to_a_larger_window_only(void **state)
{
    (void)state;
    world_open(); /* the other model's window is no larger: a clear end */
    overflow_in_the_turn(2);
    assert_int_equal(world.request_count, 8);
    assert_string_equal(fake_run_state("r1"), "FAILED");
    assert_true(world_heard("\"errorKind\":\"context_length\""));
    assert_non_null(strstr(world.sent, "too long for the model"));
    world_close();
    world_open();
    fake_unpublish(world.other, CHELA_MODELS);
    fake_publish(world.other, CHELA_MODELS, "m2", "{\"context\":900000,\"tools\":true}");
    overflow_in_the_turn(2);
    assert_int_equal(world.request_count, 9);
    assert_string_equal(model_of(8), "other/m2");
    assert_true(strlen(world.requests[8]) > strlen(world.requests[7])); /* all of it again */
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void silence_is_ended_by_the_watchdog(void **state)
{
    (void)state;
    world_open();
    fake_set("agents.defaults.fallback", NULL);
    fake_set("models.retries", "0");
    world_script((struct script){.text = "so", .hang = true});
    world_say("r1", "hi");
    fake_advance(119000);
    assert_string_equal(fake_run_state("r1"), "RECEIVED");
    fake_advance(2000);
    assert_string_equal(fake_run_state("r1"), "FAILED");
    assert_true(world_heard("\"errorKind\":\"timeout\""));
    world_close();
}

/* ---- routing ---- */

static const char *route_verdict;

static void slot_route(struct chela_inst *in, const struct chela_facts *a)
{
    (void)in;
    (void)a;
}

static void router(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    const struct chela_facts *f = args;
    (void)in;
    (void)fn;
    assert_true(f->models.n == 2);
    assert_true(chela_str_is(f->models.v[0].name, "mock/m1"));
    assert_non_null(strstr(f->models.v[0].value.s, "\"available\":true"));
    if (!route_verdict) {
        fake_decide(call, CHELA_NO, "no rule fits", "", NULL, 0);
        return;
    }
    struct chela_pair c[] = {{chela_s(route_verdict), CHELA_LIT("a rule says so")}};
    fake_decide(call, CHELA_YES, "rule 1", "", c, 1);
}

static void add_router(const char *model)
{
    static struct chela_router slots = {.route = slot_route};
    struct chela_iface iface = {.router = &slots};
    fake_instance("rules", ROLE_ROUTER, &iface);
    fake_on(CHELA_FN_ROUTER_ROUTE, router);
    route_verdict = model;
}

static void the_router_decides_and_the_agents_list_follows(void **state)
{
    (void)state;
    world_open();
    fake_set("agents.defaults.model", "mock/m1");
    add_router("other/m2");
    world_say("r1", "hi");
    assert_string_equal(model_of(0), "other/m2");
    route_verdict = NULL;
    world_say("r2", "hi");
    assert_string_equal(model_of(1), "mock/m1");
    world_close();
}

static void a_person_is_stronger_than_the_router(void **state)
{
    (void)state;
    world_open();
    add_router("other/m2");
    world_submit("r1", "hi", "\"model\":\"first\""); /* an alias */
    fake_run();
    assert_string_equal(model_of(0), "mock/m1");
    world_close();
}

static char *explained;

static void keep_explained(void *owner, struct json_object *o, const struct error *e)
{
    (void)owner;
    explained = xstrdup(e ? e->text : chela_json_text(o, NULL));
}

static void routing_can_be_explained_without_sending(void **state)
{
    (void)state;
    world_open();
    add_router("other/m2");
    agent_route_explain(&(struct agent_question){.session = "main", .text = "hello"},
                        keep_explained, NULL);
    fake_run();
    assert_int_equal(world.request_count, 0);
    assert_non_null(strstr(explained, "\"facts\":{\"text\":\"hello\""));
    assert_non_null(strstr(explained, "\"name\":\"rules\",\"verdict\":\"yes\""));
    assert_non_null(strstr(explained, "\"candidates\":[{\"model\":\"other/m2\",\"reason\":"
                                      "\"a rule says so\",\"by\":\"rules\""));
    free(explained);
    world_close();
}

static void a_late_router_is_left_behind(void **state)
{
    (void)state;
    world_open();
    add_router("other/m2");
    fake_on(CHELA_FN_ROUTER_ROUTE, NULL);
    world_say("r1", "hi");
    assert_string_equal(model_of(0), "mock/m1");
    world_close();
}

static void without_any_provider_the_answer_says_so(void **state)
{
    (void)state;
    world_open();
    fake_state(world.mock, INSTANCE_FAILED);
    fake_state(world.other, INSTANCE_FAILED);
    fake_set("agents.defaults.fallback", NULL);
    world_say("r1", "hi");
    assert_string_equal(fake_run_state("r1"), "FAILED");
    assert_true(world_heard("there is no model"));
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_class_of_failure_has_its_remedy),
        cmocka_unit_test(retries_back_off_and_stop_after_their_window),
        cmocka_unit_test(retry_after_is_honoured_up_to_a_minute),
        cmocka_unit_test(a_chosen_model_is_never_replaced),
        cmocka_unit_test(the_candidate_is_kept_through_the_tool_rounds),
        cmocka_unit_test(a_failed_candidate_rests_and_comes_back_by_itself),
        cmocka_unit_test(the_ladder_is_half_a_minute_one_and_five),
        cmocka_unit_test(text_of_a_failed_try_is_taken_back),
        cmocka_unit_test(a_model_that_streams_nothing_is_asked_for_the_whole),
        cmocka_unit_test(a_model_without_tools_answers_without_and_says_so),
        cmocka_unit_test(a_context_that_is_too_long_is_compacted_and_sent_again),
        cmocka_unit_test(a_turn_that_outgrows_the_window_goes_on_without_its_older_steps),
        cmocka_unit_test(what_is_still_too_long_goes_to_a_larger_window_only),
        cmocka_unit_test(silence_is_ended_by_the_watchdog),
        cmocka_unit_test(the_router_decides_and_the_agents_list_follows),
        cmocka_unit_test(a_person_is_stronger_than_the_router),
        cmocka_unit_test(routing_can_be_explained_without_sending),
        cmocka_unit_test(a_late_router_is_left_behind),
        cmocka_unit_test(without_any_provider_the_answer_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
