/* Which tools are seen and which calls are asked about: the whole matrix. */
#include "tests/unit/agent_world.h"

#include "agent/agents.h"
#include "agent/flow.h"
#include "agent/session.h"
#include "agent/tools/policy.h"

/* level x risk -> answer; A ask (always offered), a ask (never always), L only the list, F free,
 * X forbidden */
static const struct {
    const char *level, *low, *medium, *high;
} levels[] = {
    {"", "F", "A", "a"},          {"ask", "F", "A", "a"},  {"deny", "F", "X", "X"},
    {"allowlist", "F", "L", "X"}, {"full", "F", "F", "a"},
};

static void judge(const char *level, enum tool_risk risk, const char *wanted)
{
    static const struct tool t = {.name = "note", .group = "fs"};
    fake_set("tools.security", level);
    struct policy_verdict v = policy_call("main", &t, risk);
    char got = v.answer == POLICY_FREE        ? 'F'
               : v.answer == POLICY_FORBIDDEN ? 'X'
               : v.answer == POLICY_LISTED    ? 'L'
               : v.always                     ? 'A'
                                              : 'a';
    if (got != *wanted)
        fail_msg("level \"%s\", %s risk: %c, not %s", level, tool_risk_name(risk), got, wanted);
}

static void each_level_judges_each_risk(void **state)
{
    (void)state;
    world_open();
    for (unsigned i = 0; i < ARRAY_LENGTH(levels); i++) {
        judge(levels[i].level, RISK_LOW, levels[i].low);
        judge(levels[i].level, RISK_MEDIUM, levels[i].medium);
        judge(levels[i].level, RISK_HIGH, levels[i].high);
    }
    fake_set("agents.main.tools.high_risk_free", "1");
    judge("full", RISK_HIGH, "F");
    world_close();
}

static void confirm_before_run_knows_its_aliases(void **state)
{
    (void)state;
    static const struct {
        const char *word, *tool;
        bool hit;
    } cases[] = {
        {"shell", "exec", true},         {"shell", "shell", true},
        {"shell", "write", false},       {"file_write", "write", true},
        {"file_write", "edit", true},    {"file_write", "apply_patch", true},
        {"file_write", "delete", false}, {"file_delete", "delete", true},
        {"file_delete", "write", false}, {"web_*", "web_search", true},
        {"WEB_*", "web_fetch", true},    {"web_*", "websearch", false},
    };
    world_open();
    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        fake_set("tools.confirm_before_run", "1");
        fake_set("tools.confirm_before_run.0", cases[i].word);
        if (policy_confirms("main", cases[i].tool) != cases[i].hit)
            fail_msg("%s against %s", cases[i].word, cases[i].tool);
    }
    world_close();
}

static void globs_match(void **state)
{
    (void)state;
    assert_true(policy_matches("*", ""));
    assert_true(policy_matches("a*b*c", "aXXbYYc"));
    assert_false(policy_matches("a*b*c", "aXXbYY"));
    assert_true(policy_matches("?ead", "Read"));
    assert_false(policy_matches("read", "reads"));
    assert_true(policy_matches("re*", "re"));
}

static bool visible(const char *tool)
{
    struct json_object *list = agent_tools("agent:main:main");
    bool found = false, is = false;
    for (size_t i = 0; i < chela_json_length(list); i++) {
        struct json_object *o = chela_json_at(list, i);
        if (strcmp(chela_json_string(o, "name", NULL), tool) == 0) {
            found = true;
            is = chela_json_bool(o, "visible", false);
            assert_true(is == (strlen(chela_json_string(o, "why", NULL)) == 0));
        }
    }
    json_object_put(list);
    assert_true(found);
    return is;
}

static void lists_and_profiles_decide_what_is_seen(void **state)
{
    (void)state;
    world_open();
    world_tool("read", LOW ",\"group\":\"fs\"");
    world_tool("send", LOW ",\"group\":\"messaging\"");
    assert_true(visible("read"));
    assert_false(visible("hidden")); /* deferred */
    fake_set("tools.profile", "coding");
    assert_true(visible("read"));
    assert_false(visible("send"));
    fake_set("tools.profile", "messaging");
    assert_false(visible("read"));
    assert_true(visible("send"));
    fake_set("tools.also_allow", "read");
    assert_true(visible("read"));
    fake_set("tools.profile", "full");
    fake_set("tools.allow", "group:fs");
    assert_true(visible("read"));
    assert_false(visible("send"));
    fake_set("tools.deny", "re*"); /* deny wins */
    assert_false(visible("read"));
    fake_set("tools.deny", NULL);
    fake_set("tools.allow", NULL);
    fake_set("agents.main.tools.deny", "send");
    assert_false(visible("send"));
    fake_set("agents.main.tools.deny", NULL);
    fake_set("tools.allow", "0"); /* an empty list reads as its length */
    assert_int_equal(settings_list_count("tools.allow"), 0);
    assert_true(visible("send"));
    world_close();
}

/* Sub-agents and jobs: less than the agent has, and no more than where they came from. */
static void a_turn_has_what_its_beginner_leaves(void **state)
{
    (void)state;
    world_open();
    world_tool("read", LOW ",\"group\":\"fs\"");
    world_tool("send", LOW ",\"group\":\"messaging\"");
    world_script((struct script){.calls = {{"a", "send", "{}", false}}});
    world_submit("r1", "hi", "\"tools\":{\"allow\":[\"group:fs\",\"loo?\"],\"deny\":[\"look\"]}");
    fake_run();
    assert_non_null(strstr(world.requests[0], "\"read\""));
    assert_null(strstr(world.requests[0], "\"send\""));
    assert_null(strstr(world.requests[0], "\"look\""));
    assert_int_equal(world.tool_count, 0); /* nor can it be called by its name */
    fake_set("tools.rules", "1");
    fake_set("tools.rules.0.channel", "tele");
    fake_set("tools.rules.0.sender", "42");
    fake_set("tools.rules.0.deny", "read");
    unsigned before = world.request_count;
    world_submit("r2", "hi", "\"onBehalfOf\":{\"channel\":\"tele\",\"sender\":\"42\"}");
    fake_run();
    assert_null(strstr(world.requests[before], "\"read\""));
    assert_non_null(strstr(world.requests[before], "\"send\""));
    before = world.request_count;
    world_submit("r3", "hi", NULL);
    fake_run();
    assert_non_null(strstr(world.requests[before], "\"read\""));
    world_close();
}

static void a_budget_ends_with_an_answer(void **state)
{
    (void)state;
    world_open();
    for (unsigned i = 0; i < 2; i++)
        world_script((struct script){.calls = {{"", "look", "{}", false}}});
    world_script((struct script){.text = "that is all", .calls = {{"", "look", "{}", false}}});
    world_submit("r1", "loop", "\"budget\":{\"steps\":2}");
    fake_run();
    assert_int_equal(world.tool_count, 2);
    assert_non_null(strstr(world.requests[2], "\"tool_choice\":\"none\""));
    assert_string_equal(fake_run_state("r1"), "DONE");
    world_close();
}

static void a_plugin_that_does_not_run_offers_nothing(void **state)
{
    (void)state;
    world_open();
    fake_state(world.kit, INSTANCE_FAILED);
    assert_false(visible("look"));
    world_say("r1", "hi");
    assert_non_null(strstr(world.requests[0], "\"tools\":[]"));
    world_close();
}

static void a_tool_with_a_schema_that_cannot_be_used_is_shown_but_not_offered(void **state)
{
    (void)state;
    world_open();
    fake_publish(world.kit, CHELA_TOOLS, "odd", "{\"parameters\":{\"type\":\"nonsense\"}}");
    fake_publish(world.kit, CHELA_TOOLS, "bad name", "{}");
    assert_false(visible("odd"));
    assert_false(visible("bad name"));
    assert_true(visible("look"));
    world_close();
}

static void a_tool_that_says_nothing_of_its_risk_is_asked_about(void **state)
{
    (void)state;
    world_open();
    fake_publish(world.kit, CHELA_TOOLS, "mute", "{\"description\":\"?\"}");
    world_script((struct script){.calls = {{"a", "mute", "{}", false}}});
    world_say("r1", "go");
    assert_string_equal(fake_call_state("a"), "APPROVAL_REQUIRED");
    world_close();
}

/* ---- agents and session keys ---- */

static void agents_inherit_and_are_bound_to_channels(void **state)
{
    (void)state;
    world_open();
    assert_string_equal(agents_default(), "main");
    fake_set("agents/0", "defaults");
    fake_set("agents/1", "main");
    fake_set("agents/2", "work");
    fake_set("agents.defaults.max_tokens", "100");
    fake_set("agents.work.max_tokens", "200");
    fake_set("agents.work.channels", "1");
    fake_set("agents.work.channels.0", "slack");
    assert_string_equal(agents_at(0), "main");
    assert_string_equal(agents_at(1), "work");
    assert_null(agents_at(2));
    assert_int_equal(agents_number("main", "max_tokens", 0), 100);
    assert_int_equal(agents_number("work", "max_tokens", 0), 200);
    assert_string_equal(agents_for_channel("slack"), "work");
    assert_string_equal(agents_for_channel("cli"), "main");
    CLEANUP(freep) char *a = agents_workspace("main");
    CLEANUP(freep) char *b = agents_workspace("work");
    assert_string_not_equal(a, b);
    world_close();
}

static void check_key(const char *scope, uint32_t type, const char *thread, const char *wanted)
{
    struct message m = {.channel = (char *)(uintptr_t) "telegram",
                        .account = (char *)(uintptr_t) "bot1",
                        .chat = (char *)(uintptr_t) "-100 5",
                        .thread = (char *)(uintptr_t)thread,
                        .sender = (char *)(uintptr_t) "42",
                        .chat_type = type};
    fake_set("session.dm_scope", scope);
    CLEANUP(freep) char *key = session_key(&m, "main");
    assert_string_equal(key, wanted);
}

static void session_keys_follow_the_rules(void **state)
{
    (void)state;
    world_open();
    check_key("main", CHELA_DIRECT, "", "agent:main:main");
    check_key("per-peer", CHELA_DIRECT, "", "agent:main:direct:42");
    check_key("per-channel-peer", CHELA_DIRECT, "", "agent:main:telegram:direct:42");
    check_key("per-account-channel-peer", CHELA_DIRECT, "", "agent:main:telegram:bot1:direct:42");
    check_key("main", CHELA_GROUP, "", "agent:main:telegram:group:-100_5");
    check_key("main", CHELA_GROUP, "7", "agent:main:telegram:group:-100_5:topic:7");
    check_key("main", CHELA_ROOM, "7", "agent:main:telegram:channel:-100_5:thread:7");
    fake_set("session.identities", "1");
    fake_set("session.identities.0.name", "ann");
    fake_set("session.identities.0.is", "1");
    fake_set("session.identities.0.is.0", "telegram:42");
    check_key("per-peer", CHELA_DIRECT, "", "agent:main:direct:ann");
    static const struct {
        const char *agent, *wanted, *full;
    } cases[] = {{"", "", "agent:main:main"},
                 {"", "main", "agent:main:main"},
                 {"work", "notes", "agent:work:notes"},
                 {"", "agent:x:main", "agent:x:main"},
                 {"", "global", "global"}};
    for (unsigned i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(freep) char *key = agent_session_key(cases[i].agent, cases[i].wanted);
        assert_string_equal(key, cases[i].full);
    }
    char longer[400];
    memset(longer, 'k', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CLEANUP(freep) char *bounded = agent_session_key("", longer);
    assert_true(strlen(bounded) <= 255);
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_level_judges_each_risk),
        cmocka_unit_test(confirm_before_run_knows_its_aliases),
        cmocka_unit_test(globs_match),
        cmocka_unit_test(lists_and_profiles_decide_what_is_seen),
        cmocka_unit_test(a_turn_has_what_its_beginner_leaves),
        cmocka_unit_test(a_budget_ends_with_an_answer),
        cmocka_unit_test(a_plugin_that_does_not_run_offers_nothing),
        cmocka_unit_test(a_tool_with_a_schema_that_cannot_be_used_is_shown_but_not_offered),
        cmocka_unit_test(a_tool_that_says_nothing_of_its_risk_is_asked_about),
        cmocka_unit_test(agents_inherit_and_are_bound_to_channels),
        cmocka_unit_test(session_keys_follow_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
