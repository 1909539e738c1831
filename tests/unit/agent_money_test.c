/* What models cost, whom it is booked on, and the limits that stop a turn until a person says to go
 * on. */
#include "tests/unit/agent_world.h"

#include "agent/models/models.h"
#include "agent/models/usage.h"
#include "base/clock.h"

enum { DAY_MS = 24 * 3600 * 1000 };

static const char *model_of(unsigned n)
{
    static char model[64];
    assert_true(n < world.request_count);
    const char *p = strstr(world.requests[n], "\"model\":\"");
    snprintf(model, sizeof model, "%.*s", (int)strcspn(p + 9, "\""), p + 9);
    return model;
}

/* mock/m1 costs 1 for each thousand tokens, other/m2 a tenth. */
static void price_models(void)
{
    fake_unpublish(world.mock, CHELA_MODELS);
    fake_unpublish(world.other, CHELA_MODELS);
    fake_publish(world.mock, CHELA_MODELS, "m1",
                 "{\"context\":100000,\"price_in\":1000,\"price_out\":1000}");
    fake_publish(world.other, CHELA_MODELS, "m2",
                 "{\"context\":100000,\"price_in\":100,\"price_out\":100}");
}

static void limit(const char *whom, const char *name, const char *period, const char *amount)
{
    CLEANUP(freep) char *who = xprintf("models.limits.0.%s", whom);
    CLEANUP(freep) char *when = xprintf("models.limits.0.%s", period);
    fake_set("models.limits", "1");
    fake_set(who, name);
    fake_set(when, amount);
}

static bool waits(void)
{
    struct json_object *list = agent_approvals();
    bool yes = chela_json_length(list) == 1;
    json_object_put(list);
    return yes;
}

static const char *question(void)
{
    static char text[512];
    struct json_object *list = agent_approvals();
    snprintf(text, sizeof text, "%s", chela_json_text(list, NULL));
    json_object_put(list);
    return text;
}

/* ---- prices ---- */

static bool same(double a, double b)
{
    return a > b - 1e-9 && a < b + 1e-9;
}

static void what_a_cache_gives_back_has_its_own_price(void **state)
{
    struct model_info info;
    (void)state;
    world_open();
    fake_publish(world.mock, CHELA_MODELS, "cached",
                 "{\"price_in\":3,\"price_out\":15,\"price_cache_read\":0.3,"
                 "\"price_cache_write\":3.75}");
    fake_publish(world.mock, CHELA_MODELS, "plain", "{\"price_in\":2,\"price_out\":8}");
    struct usage u = {.in = 1000000, .out = 100000, .cache_read = 2000000, .cache_write = 400000};
    assert_true(models_info("mock/cached", &info));
    assert_true(same(models_cost(&info, &u), 3 + 1.5 + 0.6 + 1.5));
    assert_true(models_info("mock/plain", &info)); /* as dear as what is read */
    assert_true(same(models_cost(&info, &u), 2 + 0.8 + 4 + 0.8));
    world_close();
}

static void a_long_request_costs_what_the_service_asks_for_long_ones(void **state)
{
    struct usage at = {.in = 150000, .cache_read = 50000, .out = 1000}, over = at;
    struct model_info info;
    (void)state;
    world_open();
    over.in++;
    fake_publish(world.mock, CHELA_MODELS, "m",
                 "{\"price_in\":2,\"price_out\":12,\"price_cache_read\":0.2,\"long_over\":200000,"
                 "\"long_price_in\":4,\"long_price_out\":18,\"long_price_cache_read\":0.4}");
    assert_true(models_info("mock/m", &info));
    assert_true(same(models_cost(&info, &at), (150000 * 2 + 50000 * 0.2 + 1000 * 12) / 1e6));
    assert_true(same(models_cost(&info, &over), (150001 * 4 + 50000 * 0.4 + 1000 * 18) / 1e6));
    assert_true(models_info("mock/nobody-said-it", &info));
    assert_true(same(info.price_in, 4));
    assert_true(same(info.price_out, 18));
    world_close();
}

static void an_unknown_price_is_the_dearest_known_one(void **state)
{
    struct model_info info;
    (void)state;
    world_open();
    price_models();
    fake_publish(world.other, CHELA_MODELS, "secret", "{\"context\":100000}");
    fake_publish(world.other, CHELA_MODELS, "here", "{\"local\":true}");
    assert_true(models_info("other/secret", &info));
    assert_false(info.priced);
    assert_true(same(info.price_in, 1000));
    assert_true(models_info("other/never_heard_of", &info));
    assert_true(same(info.price_out, 1000));
    assert_true(models_info("other/here", &info));
    assert_true(models_free(&info));
    world_close();
}

/* ---- limits ---- */

static void a_daily_limit_pauses_and_asks(void **state)
{
    (void)state;
    world_open();
    price_models();
    limit("agent", "main", "daily", "5.0");
    world_script((struct script){.text = "one", .in = 100, .out = 4900});
    world_say("r1", "hi");
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_say("r2", "and again");
    assert_int_equal(world.request_count, 1); /* the second one waits */
    assert_true(waits());
    assert_non_null(strstr(question(), "Continue with mock/m1?"));
    assert_non_null(strstr(question(), "the daily limit of agent main is reached: 5 spent of 5"));
    fake_advance(60000);
    assert_int_equal(world.request_count, 1);
    assert_int_equal(world_decide("allow-once"), 0);
    assert_string_equal(fake_run_state("r2"), "DONE");
    assert_int_equal(world.request_count, 2);
    world_say("r3", "once more"); /* the yes was for that turn */
    assert_true(waits());
    world_decide("deny");
    assert_string_equal(fake_run_state("r3"), "FAILED");
    assert_true(world_heard("nobody said to go on"));
    assert_int_equal(world.request_count, 2);
    world_close();
}

static void a_yes_holds_for_all_rounds_of_the_turn(void **state)
{
    (void)state;
    world_open();
    price_models();
    limit("agent", "*", "daily", "0.0001");
    world_script((struct script){.calls = {{"a", "look", "{}", false}}, .in = 500, .out = 1});
    world_script((struct script){.calls = {{"b", "look", "{}", false}}, .in = 500, .out = 1});
    world_say("r1", "hi");
    assert_int_equal(world.request_count, 0);
    world_decide("allow-once");
    assert_int_equal(world.request_count, 3);
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void a_limit_is_the_same_after_a_restart(void **state)
{
    (void)state;
    world_open();
    price_models();
    limit("agent", "main", "monthly", "5.0");
    world_script((struct script){.text = "one", .in = 100, .out = 4910});
    world_say("r1", "hi");
    fake_crash();
    fake_start_agent();
    world_say("r2", "and again");
    assert_true(waits());
    assert_non_null(strstr(question(), "the monthly limit of agent main is reached"));
    fake_crash(); /* what waits, waits still */
    fake_start_agent();
    fake_run();
    assert_true(waits());
    world_decide("allow-once");
    assert_string_equal(fake_run_state("r2"), "DONE");
    world_close();
}

static void a_new_day_has_its_own_limit_and_a_month_goes_on(void **state)
{
    (void)state;
    world_open();
    price_models();
    limit("agent", "main", "daily", "5.0");
    world_script((struct script){.text = "one", .in = 100, .out = 4910});
    world_say("r1", "hi");
    fake_advance(DAY_MS);
    world_say("r2", "next day");
    assert_string_equal(fake_run_state("r2"), "DONE");
    fake_set("models.limits.0.monthly", "5.005");
    world_say("r3", "the month");
    assert_true(waits());
    assert_non_null(strstr(question(), "the monthly limit"));
    world_decide("deny");
    world_close();
}

static void a_providers_limit_leaves_the_others(void **state)
{
    (void)state;
    world_open();
    price_models();
    limit("provider", "mock", "daily", "5.0");
    world_script((struct script){.text = "one", .in = 100, .out = 4910});
    world_say("r1", "hi");
    world_say("r2", "and again");
    assert_true(waits());
    assert_non_null(strstr(question(), "limit of provider mock"));
    world_decide("deny"); /* the fallback is of another provider */
    assert_string_equal(fake_run_state("r2"), "DONE");
    assert_string_equal(model_of(1), "other/m2");
    world_close();
}

static void a_senders_limit_is_theirs_alone(void **state)
{
    (void)state;
    world_open();
    price_models();
    limit("sender", "cli:somebody", "daily", "0.1");
    world_say("r1", "hi"); /* cli:me */
    assert_string_equal(fake_run_state("r1"), "DONE");
    fake_set("models.limits.0.sender", "cli:me");
    world_say("r2", "hi");
    assert_true(waits());
    world_decide("deny");
    world_close();
}

static void a_model_without_a_price_counts_as_the_dearest(void **state)
{
    (void)state;
    world_open();
    price_models();
    fake_publish(world.other, CHELA_MODELS, "secret", "{\"context\":100000,\"tools\":true}");
    limit("agent", "main", "daily", "5.0");
    fake_set("agents.defaults.model", "other/secret");
    world_script((struct script){.text = "one", .in = 100, .out = 4910});
    world_say("r1", "hi");
    world_say("r2", "and again");
    assert_true(waits());
    assert_non_null(strstr(question(), "its price is not known"));
    world_decide("deny");
    world_close();
}

static void what_costs_nothing_has_no_limit(void **state)
{
    (void)state;
    world_open();
    fake_unpublish(world.mock, CHELA_MODELS);
    fake_publish(world.mock, CHELA_MODELS, "m1", "{\"context\":100000,\"local\":true}");
    limit("agent", "main", "daily", "0.0");
    world_say("r1", "hi");
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_cache_gives_back_has_its_own_price),
        cmocka_unit_test(a_long_request_costs_what_the_service_asks_for_long_ones),
        cmocka_unit_test(an_unknown_price_is_the_dearest_known_one),
        cmocka_unit_test(a_daily_limit_pauses_and_asks),
        cmocka_unit_test(a_yes_holds_for_all_rounds_of_the_turn),
        cmocka_unit_test(a_limit_is_the_same_after_a_restart),
        cmocka_unit_test(a_new_day_has_its_own_limit_and_a_month_goes_on),
        cmocka_unit_test(a_providers_limit_leaves_the_others),
        cmocka_unit_test(a_senders_limit_is_theirs_alone),
        cmocka_unit_test(a_model_without_a_price_counts_as_the_dearest),
        cmocka_unit_test(what_costs_nothing_has_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
