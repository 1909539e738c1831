/* The router that asks a small model: classes, what raises them, deadline, cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "kit.h"

extern const struct chela_plugin router_llm_LTX_chela_plugin;

static struct kit *k;

static const struct chela_pair options[] = {
    {CHELA_LIT("classes.simple"), CHELA_LIT("ollama/qwen2.5:0.5b")},
    {CHELA_LIT("classes.medium"), CHELA_LIT("ollama/qwen2.5:14b")},
    {CHELA_LIT("classes.complex"), CHELA_LIT("anthropic/claude-sonnet-4-5")},
    {CHELA_LIT("classes.reasoning"), CHELA_LIT("openai/o3")},
    {CHELA_LIT("deadline"), CHELA_LIT("2000")},
    {CHELA_LIT("long_context"), CHELA_LIT("32000")},
    {CHELA_LIT("many_tool_calls"), CHELA_LIT("20")},
    {CHELA_LIT("cache"), CHELA_LIT("2")},
    {CHELA_LIT("cache_time"), CHELA_LIT("60000")},
};

static int set_up(void **state)
{
    struct kit_setup s = {.plugin = &router_llm_LTX_chela_plugin,
                          .name = "llm",
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

static void route(const char *text, const char *previous, uint64_t context, uint32_t tool_calls)
{
    CHELA_ARGS(chela_facts, f, 0);
    f.text = chela_s(text);
    f.previous = chela_s(previous);
    f.context_tokens = context;
    f.tool_calls = tool_calls;
    kit_clear(k);
    kit_call(k, CHELA_FN_ROUTER_ROUTE, &f);
}

static const struct chela_ask *asked(void)
{
    return kit_request(k, CHELA_FN_ASK);
}

static void says(const char *answer)
{
    assert_non_null(asked());
    kit_answer_ok(k, asked()->h.call, answer, strlen(answer));
}

static void decided(const char *what)
{
    if (!strstr(kit_trace(k), what))
        print_message("# \"%s\" is not in: %s\n", what, kit_trace(k));
    assert_non_null(strstr(kit_trace(k), what));
}

static void each_class_has_its_model(void **state)
{
    static const char *const models[][2] = {{"SIMPLE", "ollama/qwen2.5:0.5b"},
                                            {"MEDIUM", "ollama/qwen2.5:14b"},
                                            {"COMPLEX", "anthropic/claude-sonnet-4-5"},
                                            {"REASONING", "openai/o3"}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char text[32], answer[64];
        snprintf(text, sizeof text, "question %zu", i);
        snprintf(answer, sizeof answer, "{\"class\":\"%s\"}", models[i][0]);
        route(text, "", 100, 0);
        says(answer);
        decided(models[i][1]);
        decided(models[i][0]);
    }
}

static void the_question_is_bound_by_a_schema_and_a_deadline(void **state)
{
    (void)state;
    route("hello", "", 100, 0);
    const struct chela_ask *a = asked();
    assert_int_equal(a->timeout_ms, 2000);
    assert_true(a->max_tokens <= 32);
    assert_true(a->parent != 0);
    assert_non_null(strstr(a->schema.s, "\"enum\":[\"SIMPLE\""));
    assert_non_null(strstr(a->text.s, "<message>\nhello\n</message>"));
    says("{\"class\":\"SIMPLE\"}");
}

static void failure_leaves_it_to_the_others(void **state)
{
    (void)state;
    route("hello", "", 100, 0);
    kit_answer_error(k, asked()->h.call, CHELA_E_TIMEOUT, 0, "too late");
    decided("the classifier gave no class: too late");
    assert_null(strstr(kit_trace(k), "ollama"));
    route("hello", "", 100, 0);
    says("either SIMPLE or COMPLEX"); /* two classes are none */
    assert_null(strstr(kit_trace(k), "ollama"));
    route("hello", "", 100, 0);
    says("I think: COMPLEX."); /* one is enough where a schema isn't kept to */
    decided("anthropic/claude-sonnet-4-5");
}

static void long_contexts_and_many_tool_calls_raise_the_class(void **state)
{
    (void)state;
    route("hello", "", 40000, 0);
    says("{\"class\":\"SIMPLE\"}");
    decided("ollama/qwen2.5:14b");
    decided("raised for a context of 40000 tokens");
    route("hello", "", 40000, 25); /* known, and both */
    assert_null(asked());
    decided("anthropic/claude-sonnet-4-5");
    route("think", "", 40000, 25);
    says("{\"class\":\"REASONING\"}"); /* there is nothing above */
    decided("openai/o3");
}

static void answers_are_kept_by_text_and_context(void **state)
{
    (void)state;
    route("yes", "Shall I write the program?", 100, 0);
    assert_non_null(strstr(asked()->text.s, "Shall I write the program?"));
    says("{\"class\":\"COMPLEX\"}");
    route("yes", "Shall I write the program?", 100, 0);
    assert_null(asked());
    decided("known");
    route("yes", "Do you like tea?", 100, 0); /* the same word, another question */
    says("{\"class\":\"SIMPLE\"}");
    decided("ollama/qwen2.5:0.5b");
    route("third", "", 100, 0);
    says("{\"class\":\"SIMPLE\"}"); /* two are kept: the oldest has gone */
    route("yes", "Shall I write the program?", 100, 0);
    says("{\"class\":\"COMPLEX\"}");
    kit_advance(k, 61000);
    route("yes", "Shall I write the program?", 100, 0);
    says("{\"class\":\"MEDIUM\"}"); /* too old */
    decided("ollama/qwen2.5:14b");
}

static void a_persons_choice_is_not_asked_about(void **state)
{
    (void)state;
    CHELA_ARGS(chela_facts, f, 0);
    f.text = chela_s("hello");
    f.prefer = chela_s("openai/o3");
    kit_call(k, CHELA_FN_ROUTER_ROUTE, &f);
    assert_null(asked());
    decided("a person chose");
}

int main(void)
{
#define LLM_TEST(name) KIT_TWICE(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        LLM_TEST(each_class_has_its_model),
        LLM_TEST(the_question_is_bound_by_a_schema_and_a_deadline),
        LLM_TEST(failure_leaves_it_to_the_others),
        LLM_TEST(long_contexts_and_many_tool_calls_raise_the_class),
        LLM_TEST(answers_are_kept_by_text_and_context),
        LLM_TEST(a_persons_choice_is_not_asked_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
