/* Several keys of one provider, the breaker's way back, and the rule that lifts a turn to a
 * stronger model. */
#include "tests/unit/agent_world.h"

#include "agent/models/health.h"
#include "agent/models/modelkeys.h"

static const char *model_of(unsigned n)
{
    static char model[64];
    assert_true(n < world.request_count);
    const char *p = strstr(world.requests[n], "\"model\":\"");
    snprintf(model, sizeof model, "%.*s", (int)strcspn(p + 9, "\""), p + 9);
    return model;
}

static void open_with_keys(const char *count)
{
    world_open();
    fake_set("providers.mock.keys", count);
}

/* ---- keys ---- */

static void each_failure_of_a_key_takes_the_next_one(void **state)
{
    static const uint32_t classes[] = {CHELA_E_AUTH, CHELA_E_QUOTA, CHELA_E_RATE};
    (void)state;
    for (unsigned i = 0; i < ARRAY_LENGTH(classes); i++) {
        open_with_keys("3");
        world_script((struct script){.error = classes[i]});
        world_script((struct script){.error = classes[i]});
        world_say("r1", "hi");
        assert_int_equal(world.request_count, 3); /* all at once, all of the same provider */
        for (unsigned k = 0; k < 3; k++)
            assert_string_equal(model_of(k), "mock/m1");
        assert_int_not_equal(fake_key(0), fake_key(1));
        assert_int_not_equal(fake_key(0), fake_key(2));
        assert_int_not_equal(fake_key(1), fake_key(2));
        assert_string_equal(fake_run_state("r1"), "DONE");
        world_say("r2", "again"); /* the key that works is kept */
        assert_int_equal(fake_key(3), fake_key(2));
        world_close();
    }
}

static void when_no_key_is_left_the_next_candidate_answers(void **state)
{
    (void)state;
    open_with_keys("2");
    world_script((struct script){.error = CHELA_E_AUTH});
    world_script((struct script){.error = CHELA_E_AUTH});
    world_say("r1", "hi");
    assert_int_equal(world.request_count, 3);
    assert_string_equal(model_of(2), "other/m2");
    assert_false(modelkeys_usable("mock/m1"));
    assert_false(modelkeys_usable("mock/another")); /* the keys are the provider's */
    world_close();
}

static void each_key_has_its_own_cooldown(void **state)
{
    (void)state;
    open_with_keys("2");
    world_script((struct script){.error = CHELA_E_RATE, .retry_after = 40000});
    world_say("r1", "hi");
    unsigned first = fake_key(0), second = fake_key(1);
    fake_advance(10000);
    world_script((struct script){.error = CHELA_E_RATE, .retry_after = 60000});
    world_say("r2", "hi"); /* the second one rests too, until 70 s */
    assert_int_equal(fake_key(2), second);
    assert_string_equal(model_of(3), "other/m2");
    fake_advance(31000); /* 41 s: the first one is back, the second one isn't */
    world_say("r3", "hi");
    assert_string_equal(model_of(4), "mock/m1");
    assert_int_equal(fake_key(4), first);
    world_script((struct script){.error = CHELA_E_AUTH});
    world_say("r4", "hi"); /* of the first one; nothing is left of this provider */
    assert_string_equal(model_of(6), "other/m2");
    fake_advance(30000); /* 71 s: both are back */
    world_say("r5", "hi");
    assert_string_equal(model_of(7), "mock/m1");
    world_close();
}

static void a_limit_of_rate_rests_the_model_not_the_key(void **state)
{
    (void)state;
    open_with_keys("2");
    modelkeys_bad("mock/m1", 0, CHELA_E_RATE, 0);
    modelkeys_bad("mock/m1", 1, CHELA_E_RATE, 0);
    assert_false(modelkeys_usable("mock/m1"));
    assert_true(modelkeys_usable("mock/m9"));
    assert_false(modelkeys_bad("mock/m1", 0, CHELA_E_OVERLOADED, 0)); /* says nothing of a key */
    world_close();
}

static void sessions_are_spread_over_the_keys(void **state)
{
    unsigned seen[4] = {0};
    (void)state;
    open_with_keys("4");
    for (unsigned i = 0; i < 64; i++) {
        CLEANUP(freep) char *session = xprintf("agent:main:%u", i);
        unsigned key = modelkeys_choose("mock/m1", session);
        assert_int_equal(modelkeys_choose("mock/m1", session), key); /* its caches are there */
        seen[key]++;
    }
    for (unsigned k = 0; k < 4; k++)
        assert_true(seen[k] >= 4);
    world_close();
}

/* ---- the breaker ---- */

static void one_turn_probes_while_the_others_go_elsewhere(void **state)
{
    (void)state;
    world_open();
    fake_set("agents.defaults.model", "mock/m1");
    world_script((struct script){.error = CHELA_E_OVERLOADED});
    world_say("r1", "one");
    assert_string_equal(model_of(1), "other/m2");
    fake_advance(30000);
    assert_int_equal(health_circuit("mock/m1"), HEALTH_HALF_OPEN);
    world_script((struct script){.text = "half of", .hang = true});
    world_say("r2", "the probe");
    uint64_t probe = world.model_call;
    assert_string_equal(model_of(2), "mock/m1");
    world_submit("r3", "beside it", NULL);
    CHELA_ARGS(chela_submit, q, 0);
    q.kind = chela_s("message");
    q.event = chela_s("r4");
    q.chat = chela_s("elsewhere");
    q.chat_type = CHELA_GROUP;
    q.sender = chela_s("you");
    q.text = chela_s("from a group");
    q.h.flags = CHELA_MENTIONED;
    fake_submit(world.channel, &q);
    fake_run();
    assert_string_equal(model_of(3), "other/m2"); /* no second probe */
    fake_text(probe, " it");
    fake_done(probe, CHELA_OK, "", "{\"stop\":\"end\"}", 0, 0);
    fake_run();
    assert_int_equal(health_circuit("mock/m1"), HEALTH_CLOSED);
    assert_string_equal(model_of(world.request_count - 1), "mock/m1"); /* r3, which had waited */
    world_close();
}

static void a_probe_that_fails_waits_longer_and_loses_no_turn(void **state)
{
    static const uint64_t ladder[] = {30000, 60000, 300000};
    (void)state;
    world_open();
    fake_set("agents.defaults.model", "mock/m1");
    for (unsigned i = 0; i < ARRAY_LENGTH(ladder); i++) {
        CLEANUP(freep) char *run = xprintf("down%u", i);
        CLEANUP(freep) char *beside = xprintf("beside%u", i);
        world_script((struct script){.error = CHELA_E_OVERLOADED});
        world_say(run, "hi");
        assert_string_equal(fake_run_state(run), "DONE"); /* by the fallback */
        fake_advance(ladder[i] - 1000);
        unsigned before = world.request_count;
        world_say(beside, "hi"); /* not asked yet */
        assert_string_equal(model_of(before), "other/m2");
        fake_advance(1000);
    }
    world_say("up", "hi");
    assert_string_equal(model_of(world.request_count - 1), "mock/m1");
    assert_string_equal(fake_run_state("up"), "DONE");
    world_close();
}

/* ---- escalation ---- */

static void a_stated_rule_lifts_a_turn_to_a_stronger_model(void **state)
{
    (void)state;
    world_open();
    fake_set("agents.defaults.model", "mock/m1");
    fake_set("routing.escalate.after", "2");
    fake_set("routing.escalate.model", "other/m2");
    for (unsigned i = 0; i < 4; i++)
        world_script((struct script){.calls = {{"a", "look", "{}", false}}});
    world_say("r1", "hi");
    assert_int_equal(world.request_count, 5);
    assert_string_equal(model_of(0), "mock/m1");
    assert_string_equal(model_of(1), "mock/m1");
    for (unsigned i = 2; i < 5; i++)
        assert_string_equal(model_of(i), "other/m2"); /* once, and it stays */
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_say("r2", "hi"); /* the next turn begins as ever */
    assert_string_equal(model_of(5), "mock/m1");
    world_close();
}

static void no_rule_lifts_what_a_person_chose_or_what_is_not_there(void **state)
{
    (void)state;
    world_open();
    fake_set("agents.defaults.model", "mock/m1");
    fake_set("routing.escalate.after", "1");
    fake_set("routing.escalate.model", "other/m2");
    world_script((struct script){.calls = {{"a", "look", "{}", false}}});
    world_submit("r1", "hi", "\"model\":\"mock/m1\"");
    fake_run();
    assert_string_equal(model_of(1), "mock/m1");
    fake_set("routing.escalate.model", "nobody/m");
    world_script((struct script){.calls = {{"a", "look", "{}", false}}});
    world_say("r2", "hi");
    assert_string_equal(model_of(3), "mock/m1");
    world_close();
}

static void if_the_stronger_one_fails_the_first_goes_on(void **state)
{
    (void)state;
    world_open();
    fake_set("agents.defaults.fallback", NULL);
    fake_set("agents.defaults.model", "mock/m1");
    fake_set("routing.escalate.after", "1");
    fake_set("routing.escalate.model", "other/m2");
    world_script((struct script){.calls = {{"a", "look", "{}", false}}});
    world_script((struct script){.error = CHELA_E_AUTH});
    world_say("r1", "hi");
    assert_string_equal(model_of(1), "other/m2");
    assert_string_equal(model_of(2), "mock/m1");
    assert_string_equal(fake_run_state("r1"), "DONE");
    /* the tool ran once, its result is there, the question too, once */
    assert_int_equal(world.tool_count, 1);
    assert_int_equal(world_times(world.requests[2], "\"text\":\"hi\""), 1);
    assert_int_equal(world_times(world.requests[2], "ran look"), 1);
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failure_of_a_key_takes_the_next_one),
        cmocka_unit_test(when_no_key_is_left_the_next_candidate_answers),
        cmocka_unit_test(each_key_has_its_own_cooldown),
        cmocka_unit_test(a_limit_of_rate_rests_the_model_not_the_key),
        cmocka_unit_test(sessions_are_spread_over_the_keys),
        cmocka_unit_test(one_turn_probes_while_the_others_go_elsewhere),
        cmocka_unit_test(a_probe_that_fails_waits_longer_and_loses_no_turn),
        cmocka_unit_test(a_stated_rule_lifts_a_turn_to_a_stronger_model),
        cmocka_unit_test(no_rule_lifts_what_a_person_chose_or_what_is_not_there),
        cmocka_unit_test(if_the_stronger_one_fails_the_first_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
