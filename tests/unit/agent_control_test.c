/* Tools under control: those that are left out and found again, rules by place, person and
 * provider, why a tool is or isn't offered, and turns that go round in circles. */
#include "tests/unit/agent_world.h"

#include "agent/tools/allow.h"
#include "agent/tools/toolplan.h"
#include "agent/tools/toolsearch.h"

/* A change of the configuration: the real one is a new object, by which kept plans are known to be
 * old. */
static void change(const char *path, const char *value)
{
    fake_set(path, value);
    toolplan_reset();
}

/* ---- tools that are left out ---- */

static void publish_many(unsigned count, const char *more)
{
    for (unsigned i = 0; i < count; i++) {
        CLEANUP(freep) char *name = xprintf("many_%u", i);
        CLEANUP(freep)
        char *json = xprintf(
            "{\"description\":\"Tool %u looks up %s in a register that has a rather long "
            "description, as those of servers often have.\",\"parameters\":{\"type\":\"object\","
            "\"properties\":{\"name\":{\"type\":\"string\",\"description\":\"what is looked "
            "for\"}},\"required\":[\"name\"]},%s%s}",
            i, i == 42 ? "invoices" : "things", LOW, more);
        fake_publish(world.other_kit, CHELA_TOOLS, name, json);
    }
}

static uint32_t plan_tokens(void)
{
    struct tool_plan *p = toolplan_get("main");
    uint32_t tokens = p->tokens;
    toolplan_release(p);
    return tokens;
}

static void a_hundred_deferred_tools_cost_a_few_hundred_tokens(void **state)
{
    (void)state;
    world_open();
    uint32_t before = plan_tokens();
    publish_many(100, ",\"deferred\":true");
    uint32_t after = plan_tokens();
    print_message("# %u tokens without them, %u with a hundred of them\n", before, after);
    assert_true(after - before + toolsearch_tool()->tokens < 300);
    world_close();
}

static void what_is_searched_is_appended_and_can_be_called(void **state)
{
    (void)state;
    world_open();
    publish_many(100, ",\"deferred\":true");
    world_script((struct script){
        .calls = {{"a", "tool_search", "{\"query\":\"look up invoices\",\"limit\":1}", false}}});
    world_script((struct script){.calls = {{"b", "many_42", "{\"name\":\"x\"}", false}}});
    world_say("r1", "go");
    assert_int_equal(world.request_count, 3);
    assert_null(strstr(world.requests[0], "\"many_42\""));
    /* behind the sorted ones, so that the prefix stays */
    assert_non_null(strstr(world.requests[1], "\"wipe\",\"many_42\"]"));
    assert_non_null(strstr(world.requests[1], "in a register"));
    assert_non_null(strstr(world.requests[2], "ran many_42"));
    assert_string_equal(fake_call_state("a"), "COMPLETED");
    world_say("r2", "again");
    assert_null(strstr(strstr(world.requests[3], "\"tools\""), "\"many_42\"]"));
    world_close();
}

static void a_search_shows_only_what_policy_allows(void **state)
{
    (void)state;
    world_open();
    publish_many(100, ",\"deferred\":true");
    change("tools.deny", "many_42");
    world_script((struct script){.calls = {{"a", "tool_search", "{\"query\":\"invoices\"}", false},
                                           {"b", "many_42", "{\"name\":\"x\"}", false}}});
    world_say("r1", "go");
    assert_non_null(strstr(world.requests[1], "None of the"));
    assert_non_null(strstr(world.requests[1], "Tool not found: many_42"));
    world_close();
}

static void too_many_tools_are_left_to_the_search(void **state)
{
    (void)state;
    world_open();
    publish_many(100, "");
    uint32_t all = plan_tokens();
    change("tools.defer_above", "2000");
    uint32_t fewer = plan_tokens();
    print_message("# %u tokens in all, %u when the largest plugin is left out\n", all, fewer);
    assert_true(all > 2000 && fewer < 2000);
    world_say("r1", "go");
    assert_non_null(strstr(world.requests[0], "\"tool_search\""));
    assert_non_null(strstr(world.requests[0], "\"look\""));
    assert_null(strstr(world.requests[0], "\"many_1\""));
    change("tools.search", "0");
    assert_int_equal(plan_tokens(), all - toolsearch_tool()->tokens); /* only that one less */
    world_close();
}

/* ---- tools.rules ---- */

static void set_rule(int i, const char *key, const char *value)
{
    CLEANUP(freep) char *path = xprintf("tools.rules.%d.%s", i, key);
    change(path, value);
}

static bool offers(const struct policy_scope *s, const char *tool)
{
    struct tool_plan *p = toolplan_get_for(s);
    bool found = toolplan_find(p, tool) != NULL;
    toolplan_release(p);
    return found;
}

static void rules_take_tools_away_by_channel_and_sender(void **state)
{
    static const struct policy_scope here = {"main", "telegram", "42", NULL},
                                     friend = {"main", "telegram", "7", NULL},
                                     there = {"main", "cli", "42", NULL},
                                     work = {"work", "telegram", "7", NULL};
    (void)state;
    world_open();
    change("tools.rules", "2");
    set_rule(0, "channel", "tele*");
    set_rule(0, "deny", "w*");
    set_rule(1, "agent", "main");
    set_rule(1, "sender", "42");
    set_rule(1, "channel", "telegram");
    set_rule(1, "allow", "look");
    assert_true(offers(&here, "look"));
    assert_false(offers(&here, "note"));
    assert_false(offers(&here, "wipe"));
    assert_true(offers(&friend, "note"));
    assert_false(offers(&friend, "wipe"));
    assert_true(offers(&there, "wipe"));
    assert_true(offers(&work, "note"));
    /* deny wins over an allow elsewhere, and an allow brings nothing back */
    set_rule(1, "allow", "wipe");
    assert_false(offers(&here, "wipe"));
    change("tools.deny", "look");
    set_rule(1, "allow", "look");
    assert_false(offers(&here, "look"));
    world_close();
}

static void a_rule_about_a_provider_holds_for_its_models_only(void **state)
{
    (void)state;
    world_open();
    change("tools.rules", "1");
    set_rule(0, "provider", "other");
    set_rule(0, "deny", "note");
    world_script((struct script){.calls = {{"a", "note", "{}", false}}});
    world_submit("r1", "go", "\"model\":\"mock/m1\"");
    fake_run();
    assert_non_null(strstr(world.requests[0], "\"note\""));
    assert_string_equal(fake_call_state("a"), "COMPLETED");
    unsigned first = world.request_count;
    /* one that is called although it was not offered doesn't run */
    world_script((struct script){.calls = {{"b", "note", "{}", false}}});
    world_submit("r2", "go", "\"model\":\"other/m2\"");
    fake_run();
    assert_null(strstr(strstr(world.requests[first], "\"tools\":"), "\"look\",\"note\""));
    assert_non_null(strstr(world.requests[first], "\"look\""));
    assert_string_equal(fake_call_state("b"), "FAILED");
    assert_non_null(strstr(world.requests[first + 1], "a rule of tools.rules denies it here"));
    world_close();
}

/* ---- explain ---- */

static struct json_object *explained(struct json_object *list, const char *name)
{
    for (size_t i = 0; i < chela_json_length(list); i++)
        if (strcmp(chela_json_string(chela_json_at(list, i), "name", NULL), name) == 0)
            return chela_json_at(list, i);
    fail_msg("%s is not in the list", name);
    return NULL;
}

static void expect_explained(const char *channel, const char *name, const char *why,
                             const char *approval)
{
    struct json_object *list = agent_tools_explain("agent:main:main", channel, "", "wipe it all");
    struct json_object *o = explained(list, name);
    const char *said = chela_json_string(o, "why", NULL);
    if (chela_json_bool(o, "visible", false) != !*why)
        fail_msg("%s is %s: %s", name, *why ? "visible" : "not visible", said);
    if (*why ? !strstr(said, why) : *said)
        fail_msg("%s: \"%s\", not \"%s\"", name, said, why);
    if (!strstr(chela_json_string(o, "approval", NULL), approval))
        fail_msg("%s: %s", name, chela_json_string(o, "approval", NULL));
    json_object_put(list);
}

static void it_is_explained_why_a_tool_is_not_seen(void **state)
{
    (void)state;
    world_open();
    expect_explained("", "look", "", "runs unasked: low risk");
    expect_explained("", "change", "", "a person is asked: it changes something");
    expect_explained("", "wipe", "", "a person is asked: high risk");
    expect_explained("", "hidden", "deferred: tool_search finds it", "runs unasked");
    change("tools.deny", "look");
    expect_explained("", "look", "tools.deny names it", "");
    change("tools.deny", NULL);
    change("tools.rules", "1");
    set_rule(0, "channel", "telegram");
    set_rule(0, "deny", "look");
    expect_explained("telegram", "look", "a rule of tools.rules denies it here", "");
    expect_explained("cli", "look", "", "");
    change("tools.security", "deny");
    expect_explained("", "change", "", "never runs: the security level");
    struct json_object *list = agent_tools_explain("agent:main:main", "", "", "wipe it all");
    assert_true(chela_json_int(explained(list, "wipe"), "score", 0) >
                chela_json_int(explained(list, "note"), "score", 0));
    json_object_put(list);
    world_close();
}

/* ---- circles ---- */

static void call_again(unsigned times, const char *tool, const char *other)
{
    static char ids[40][12];
    for (unsigned i = 0; i < times; i++) {
        snprintf(ids[i], sizeof ids[i], "c%u", i);
        world_script((struct script){
            .calls = {{ids[i], other && i % 2 ? other : tool, "{\"x\":1}", false}}});
    }
}

static void the_same_call_again_and_again_is_warned_about_and_then_ends_the_turn(void **state)
{
    (void)state;
    world_open();
    call_again(20, "note", NULL);
    world_say("r1", "go");
    assert_int_equal(world.request_count, 10); /* the tenth call was the last */
    assert_null(strstr(world.requests[4], "[Note: "));
    assert_non_null(strstr(world.requests[5], "note was called 5 times with the same arguments and "
                                              "gave the same result"));
    assert_string_equal(fake_run_state("r1"), "FAILED");
    assert_true(world_heard("it went round in circles: note was called 10 times"));
    assert_string_equal(fake_call_state("c9"), "COMPLETED");
    /* the next turn begins anew */
    world.script_next = world.script_count;
    world_say("r2", "hello");
    assert_string_equal(fake_run_state("r2"), "DONE");
    world_close();
}

static void poll_result(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    static unsigned seconds;
    CLEANUP(freep) char *text = xprintf("running for %u s", ++seconds);
    (void)in;
    (void)fn;
    (void)args;
    fake_done(call, CHELA_OK, text, "", 0, 0);
}

static void waiting_that_brings_nothing_new_is_no_progress(void **state)
{
    (void)state;
    world_open();
    fake_on(CHELA_FN_TOOL_RUN, poll_result);
    call_again(20, "note", NULL);
    world_say("r1", "go");
    assert_int_equal(world.request_count, 10);
    assert_true(world_heard("made no progress"));
    world_close();
}

static void two_calls_in_turn_are_a_circle_too(void **state)
{
    (void)state;
    world_open();
    call_again(30, "note", "look");
    world_say("r1", "go");
    assert_int_equal(world.request_count, 19); /* the tenth time of the first */
    assert_true(world_heard("follow each other in turn"));
    world_close();
}

static void changing_result(struct instance *in, uint64_t call, uint32_t fn, const void *args)
{
    static unsigned n;
    CLEANUP(freep) char *text = xprintf("state %c", 'a' + (char)(n++ % 26));
    (void)in;
    (void)fn;
    (void)args;
    fake_done(call, CHELA_OK, text, "", 0, 0);
}

static void calls_that_bring_something_new_are_no_circle(void **state)
{
    (void)state;
    world_open();
    fake_on(CHELA_FN_TOOL_RUN, changing_result);
    call_again(20, "note", NULL);
    world_say("r1", "go");
    assert_int_equal(world.request_count, 21);
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void circles_can_be_allowed(void **state)
{
    (void)state;
    world_open();
    change("tools.loop.warn", "0");
    change("tools.loop.end", "0");
    call_again(20, "note", NULL);
    world_say("r1", "go");
    assert_int_equal(world.request_count, 21);
    assert_null(strstr(world.requests[20], "[Note: "));
    world_close();
}

/* ---- verbose ---- */

static void verbose_shows_thinking_and_each_call(void **state)
{
    (void)state;
    world_open();
    world_script((struct script){.calls = {{"a", "note", "{\"x\":1}", false}}});
    world_say("r1", "go");
    assert_null(strstr(world.sent, "Tool `note`"));
    world_say("r2", "/verbose");
    world.script_next = world.script_count;
    world_script(
        (struct script){.thinking = "what now?", .calls = {{"b", "note", "{\"x\":1}", false}}});
    world_say("r3", "go");
    assert_non_null(strstr(world.sent, "what now?"));
    assert_non_null(strstr(world.sent, "Tool `note`, low risk: COMPLETED after "));
    assert_non_null(strstr(world.sent, "{\"x\":1}"));
    assert_non_null(strstr(world.sent, "ran note"));
    assert_true(world_heard("\"risk\":\"low\""));
    world_say("r4", "/verbose off");
    unsigned before = world_times(world.sent, "Tool `");
    world_script((struct script){.calls = {{"c", "note", "{\"x\":2}", false}}});
    world_say("r5", "go");
    assert_string_equal(fake_call_state("c"), "COMPLETED");
    assert_int_equal(world_times(world.sent, "Tool `"), before);
    world_close();
}

static void the_time_that_a_person_took_is_shown(void **state)
{
    (void)state;
    world_open();
    fake_set("agents.main.verbose", "1");
    world_script((struct script){.calls = {{"a", "change", "{}", false}}});
    world_say("r1", "go");
    fake_advance(5000);
    assert_int_equal(world_decide("allow-once"), 0);
    assert_non_null(strstr(world.sent, "Tool `change`, medium risk: COMPLETED after "));
    assert_non_null(strstr(world.sent, "5000 ms of waiting for permission"));
    world_close();
}

/* ---- the allow-list by hand ---- */

static void patterns_cover_each_command_of_a_line(void **state)
{
    static const char source[] = "cli||me|main";
    struct error e = {0};
    (void)state;
    world_open();
    assert_int_equal(agent_allow_add("cli|*|me|*", "exec|/usr/bin/npm install *", "test", &e), 0);
    assert_int_equal(agent_allow_add("", "exec|/usr/bin/tee log", "test", &e), 0);
    assert_true(allow_has(source, "exec|/usr/bin/npm install x y"));
    assert_false(allow_has("cli||you|main", "exec|/usr/bin/npm install x y"));
    assert_false(allow_has(source, "exec|/usr/bin/npm run x"));
    assert_false(allow_has(source, "exec|/opt/npm install x"));
    assert_true(allow_has(source, "exec|/usr/bin/npm install x\n/usr/bin/tee log"));
    assert_false(allow_has(source, "exec|/usr/bin/npm install x\n/usr/bin/curl evil"));
    assert_false(allow_has(source, "exec|/usr/bin/curl evil\n/usr/bin/npm install x"));
    /* what an "always" stored is no pattern, whatever characters it holds */
    allow_add(source, "exec|/usr/bin/touch *", "me");
    assert_true(allow_has(source, "exec|/usr/bin/touch *"));
    assert_false(allow_has(source, "exec|/usr/bin/touch x"));
    static const char *const bad[] = {
        "exec",           "exec|npm install *",      "exec|*", "exec|/usr/bin/* x",
        "exec|/bin/sh *", "exec|/usr/bin/python3 *", "",       "exec|/usr/bin/a\n/usr/bin/b"};
    for (unsigned i = 0; i < ARRAY_LENGTH(bad); i++)
        if (agent_allow_add("", bad[i], "test", &e) == 0)
            fail_msg("\"%s\" was taken", bad[i]);
    assert_int_equal(agent_allow_add("", "write|write in *", "test", &e), 0);
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_deferred_tools_cost_a_few_hundred_tokens),
        cmocka_unit_test(what_is_searched_is_appended_and_can_be_called),
        cmocka_unit_test(a_search_shows_only_what_policy_allows),
        cmocka_unit_test(too_many_tools_are_left_to_the_search),
        cmocka_unit_test(rules_take_tools_away_by_channel_and_sender),
        cmocka_unit_test(a_rule_about_a_provider_holds_for_its_models_only),
        cmocka_unit_test(it_is_explained_why_a_tool_is_not_seen),
        cmocka_unit_test(the_same_call_again_and_again_is_warned_about_and_then_ends_the_turn),
        cmocka_unit_test(waiting_that_brings_nothing_new_is_no_progress),
        cmocka_unit_test(two_calls_in_turn_are_a_circle_too),
        cmocka_unit_test(calls_that_bring_something_new_are_no_circle),
        cmocka_unit_test(circles_can_be_allowed),
        cmocka_unit_test(verbose_shows_thinking_and_each_call),
        cmocka_unit_test(the_time_that_a_person_took_is_shown),
        cmocka_unit_test(patterns_cover_each_command_of_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
