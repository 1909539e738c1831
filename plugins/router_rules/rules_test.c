/* The router of rules: each condition, the first rule that fits, the lists that always count, and
 * what is left to others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "kit.h"

extern const struct chela_plugin router_rules_LTX_chela_plugin;

static struct kit *k;

#define OPTION(name, value)                                                                        \
    {                                                                                              \
        CHELA_LIT(name), CHELA_LIT(value)                                                          \
    }

/* One rule for each condition, named by its model. */
static const struct chela_pair options[] = {
    OPTION("primary", "p/strong"),
    OPTION("local", "p/here"),
    OPTION("always_primary", "2"),
    OPTION("always_primary.0", "design"),
    OPTION("always_primary.1", "debug"),
    OPTION("always_local", "1"),
    OPTION("always_local.0", "thanks"),
    OPTION("default", "p/default"),
    OPTION("fallback", "1"),
    OPTION("fallback.0", "p/last"),
    OPTION("rules", "9"),
    OPTION("rules.0.patterns", "2"),
    OPTION("rules.0.patterns.0", "fix"),
    OPTION("rules.0.patterns.1", "bug"),
    OPTION("rules.0.channels", "2"),
    OPTION("rules.0.channels.0", "web"),
    OPTION("rules.0.channels.1", "cli"),
    OPTION("rules.0.model", "p/coder"),
    OPTION("rules.0.fallback", "1"),
    OPTION("rules.0.fallback.0", "p/coder2"),
    OPTION("rules.1.senders", "2"),
    OPTION("rules.1.senders.0", "ann"),
    OPTION("rules.1.senders.1", "bob"),
    OPTION("rules.1.model", "p/friends"),
    OPTION("rules.2.hours", "22-6"),
    OPTION("rules.2.model", "p/night"),
    OPTION("rules.3.hours", "12-13"),
    OPTION("rules.3.model", "p/noon"),
    OPTION("rules.4.attachments", "2"),
    OPTION("rules.4.attachments.0", "audio"),
    OPTION("rules.4.attachments.1", "video"),
    OPTION("rules.4.model", "p/ears"),
    OPTION("rules.5.images", "1"),
    OPTION("rules.5.model", "p/eyes"),
    OPTION("rules.6.min_length", "100"),
    OPTION("rules.6.max_length", "200"),
    OPTION("rules.6.model", "p/middle"),
    OPTION("rules.7.min_context", "50000"),
    OPTION("rules.7.model", "p/wide"),
    OPTION("rules.8.min_tool_calls", "10"),
    OPTION("rules.8.model", "p/busy"),
};

static int set_up(void **state)
{
    struct kit_setup s = {.plugin = &router_rules_LTX_chela_plugin,
                          .name = "rules",
                          .options = options,
                          .option_count = sizeof options / sizeof options[0],
                          .encoded = *state != NULL};
    k = kit_open(&s);
    return k ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return kit_close(k) == 0 ? 0 : -1;
}

enum { HOUR = 3600 };

/* A message at ten in the morning by "telegram", from nobody in particular. */
struct asked {
    const char *text, *channel, *sender, *attachments, *prefer;
    uint64_t at, context;
    uint32_t images, tool_calls;
};

static const char *first_of(struct asked q)
{
    static char model[64];
    CHELA_ARGS(chela_facts, f, 0);
    f.text = chela_s(q.text ? q.text : "what is this");
    f.channel = chela_s(q.channel ? q.channel : "telegram");
    f.sender = chela_s(q.sender ? q.sender : "eve");
    f.attachments = chela_s(q.attachments ? q.attachments : "");
    f.prefer = chela_s(q.prefer ? q.prefer : "");
    f.at = q.at ? q.at : (uint64_t)(20000 * 24 + 10) * HOUR;
    f.context_tokens = q.context;
    f.images = q.images;
    f.tool_calls = q.tool_calls;
    kit_clear(k);
    kit_call(k, CHELA_FN_ROUTER_ROUTE, &f);
    const char *p = strstr(kit_trace(k), "p/");
    snprintf(model, sizeof model, "%.*s", p ? (int)strcspn(p, "\" ,]}=") : 4, p ? p : "none");
    return model;
}

#define FIRST(...) first_of((struct asked){__VA_ARGS__})

static bool said(const char *what)
{
    return strstr(kit_trace(k), what) != NULL;
}

static uint64_t clock_at(unsigned hour)
{
    return (uint64_t)(20000 * 24 + hour) * HOUR + 1800;
}

/* ---- the conditions ---- */

static void a_word_and_a_channel_must_both_fit(void **state)
{
    (void)state;
    assert_string_equal(FIRST("fix it", "web"), "p/coder");
    assert_true(said("rule 1: \\\"fix\\\"") || said("rule 1: \"fix\""));
    assert_true(said("p/coder2"));
    assert_string_equal(FIRST("a BUG here", "cli"), "p/coder");
    assert_string_equal(FIRST("fix it", "telegram"), "p/default");
    assert_string_equal(FIRST("a prefix", "web"), "p/default"); /* whole words */
}

static void a_sender_has_a_model_of_their_own(void **state)
{
    (void)state;
    assert_string_equal(FIRST(.sender = "ann"), "p/friends");
    assert_string_equal(FIRST(.sender = "bob"), "p/friends");
    assert_string_equal(FIRST(.sender = "anna"), "p/default");
    assert_true(said("p/last"));
}

static void the_time_of_day_may_go_over_midnight(void **state)
{
    (void)state;
    assert_string_equal(FIRST(.at = clock_at(23)), "p/night");
    assert_string_equal(FIRST(.at = clock_at(0)), "p/night");
    assert_string_equal(FIRST(.at = clock_at(5)), "p/night");
    assert_string_equal(FIRST(.at = clock_at(6)), "p/default");
    assert_string_equal(FIRST(.at = clock_at(21)), "p/default");
    assert_string_equal(FIRST(.at = clock_at(12)), "p/noon");
    assert_string_equal(FIRST(.at = clock_at(13)), "p/default");
}

static void what_came_with_it_counts_by_its_kind(void **state)
{
    (void)state;
    assert_string_equal(FIRST(.attachments = "audio"), "p/ears");
    assert_string_equal(FIRST(.attachments = "file video"), "p/ears");
    assert_string_equal(FIRST(.attachments = "file"), "p/default");
    assert_string_equal(FIRST(.attachments = "image", .images = 1), "p/eyes");
}

static void length_context_and_calls_have_bounds(void **state)
{
    char text[300];
    (void)state;
    memset(text, 'x', sizeof text);
    text[99] = '\0';
    assert_string_equal(FIRST(text), "p/default");
    text[99] = 'x';
    text[100] = '\0';
    assert_string_equal(FIRST(text), "p/middle");
    text[100] = 'x';
    text[200] = '\0';
    assert_string_equal(FIRST(text), "p/middle");
    text[200] = 'x';
    text[201] = '\0';
    assert_string_equal(FIRST(text), "p/default");
    assert_string_equal(FIRST(.context = 49999), "p/default");
    assert_string_equal(FIRST(.context = 50000), "p/wide");
    assert_string_equal(FIRST(.tool_calls = 9), "p/default");
    assert_string_equal(FIRST(.tool_calls = 10), "p/busy");
}

/* ---- order ---- */

static void the_first_rule_that_fits_wins(void **state)
{
    (void)state;
    assert_string_equal(FIRST("fix", "web", "ann", .tool_calls = 50), "p/coder");
    assert_string_equal(FIRST("fix", "web2", "ann", .tool_calls = 50), "p/friends");
}

static void the_lists_that_always_count_come_before_all_rules(void **state)
{
    (void)state;
    assert_string_equal(FIRST("design a fix", "web"), "p/strong");
    assert_true(said("always_primary"));
    assert_string_equal(FIRST("thanks for the fix", "web"), "p/here");
    assert_string_equal(FIRST("thanks, now debug"), "p/strong"); /* the stronger list first */
}

static void a_default_leaves_room_for_other_routers(void **state)
{
    (void)state;
    FIRST("anything");
    assert_true(said("flags=")); /* weak */
    FIRST(.sender = "ann");
    assert_false(said("flags="));
}

static void without_a_default_there_is_no_opinion(void **state)
{
    (void)state;
    static const struct chela_pair few[] = {OPTION("rules", "1"), OPTION("rules.0.senders", "1"),
                                            OPTION("rules.0.senders.0", "ann"),
                                            OPTION("rules.0.model", "p/friends")};
    kit_close(k);
    struct kit_setup s = {.plugin = &router_rules_LTX_chela_plugin,
                          .name = "rules",
                          .options = few,
                          .option_count = 4};
    k = kit_open(&s);
    assert_non_null(k);
    FIRST("anything");
    assert_true(said("no rule fits"));
    assert_false(said("p/"));
}

static void what_is_no_expression_and_no_time_is_refused_at_open(void **state)
{
    (void)state;
    static const struct chela_pair wrong[][2] = {
        {OPTION("rules.0.regex.0", "(unclosed"), OPTION("rules.0.regex", "1")},
        {OPTION("rules.0.hours", "25-26"), OPTION("rules.0.model", "p/x")},
        {OPTION("rules.0.hours", "evening"), OPTION("rules.0.model", "p/x")}};
    for (size_t i = 0; i < 3; i++) {
        struct chela_pair all[3] = {OPTION("rules", "1"), wrong[i][0], wrong[i][1]};
        struct kit_setup s = {.plugin = &router_rules_LTX_chela_plugin,
                              .name = "wrong",
                              .options = all,
                              .option_count = 3};
        assert_null(kit_open(&s));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KIT_TWICE(a_word_and_a_channel_must_both_fit, set_up, tear_down),
        KIT_TWICE(a_sender_has_a_model_of_their_own, set_up, tear_down),
        KIT_TWICE(the_time_of_day_may_go_over_midnight, set_up, tear_down),
        KIT_TWICE(what_came_with_it_counts_by_its_kind, set_up, tear_down),
        KIT_TWICE(length_context_and_calls_have_bounds, set_up, tear_down),
        KIT_TWICE(the_first_rule_that_fits_wins, set_up, tear_down),
        KIT_TWICE(the_lists_that_always_count_come_before_all_rules, set_up, tear_down),
        KIT_TWICE(a_default_leaves_room_for_other_routers, set_up, tear_down),
        KIT_TWICE(without_a_default_there_is_no_opinion, set_up, tear_down),
        KIT_TWICE(what_is_no_expression_and_no_time_is_refused_at_open, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
