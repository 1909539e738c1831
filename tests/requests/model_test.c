/*
 * What a provider knows of single models: what a request for one may hold, since some refuse a
 * temperature or a budget for thinking, and which price a name has. Built once for each provider
 * (local.mk sets PLUGIN and SERVICE).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "kit.h"

#define JOIN(a, b)         a##b
#define DESCRIPTOR(module) JOIN(module, _LTX_chela_plugin)
extern const struct chela_plugin DESCRIPTOR(PLUGIN);

#define COOL  "{\"temperature\":0.5}"
#define OFF   "{\"temperature\":0,\"thinking\":\"off\"}"
#define THINK "{\"temperature\":0.5,\"thinking\":\"high\"}"

/* A request for a model: what stands in it, and what must not. */
static const struct wish {
    const char *service, *option[2], *model, *params, *with, *without;
} wishes[] = {
    /* Anthropic: budgets until 4.5, both in 4.6, since then the adaptive way and no temperature. */
    {"anthropic", {0}, "claude-sonnet-4-5-20250929", COOL, "\"temperature\":0.5", "thinking"},
    {"anthropic", {0}, "claude-opus-4-1", THINK, "\"budget_tokens\":24576", "adaptive"},
    {"anthropic", {0}, "claude-sonnet-4-20250514", THINK, "\"budget_tokens\"", "adaptive"},
    {"anthropic", {0}, "claude-opus-4-6", COOL, "\"temperature\":0.5", "thinking"},
    {"anthropic", {0}, "claude-opus-4-6", THINK, "\"effort\":\"high\"", "budget_tokens"},
    {"anthropic", {0}, "claude-opus-4-8", COOL, "\"max_tokens\"", "temperature"},
    {"anthropic",
     {0},
     "claude-sonnet-5",
     THINK,
     "\"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"}",
     "budget_tokens"},
    {"anthropic", {0}, "claude-sonnet-5", OFF, "\"max_tokens\"", "thinking"},
    {"anthropic", {0}, "glm-5", THINK, "\"budget_tokens\":24576", "adaptive"},
    {"anthropic", {"temperature", "true"}, "claude-sonnet-5", COOL, "\"temperature\":0.5", "x-y"},
    {"anthropic", {"thinking", "budget"}, "claude-sonnet-5", THINK, "budget_tokens", "adaptive"},
    {"anthropic", {"thinking", "adaptive"}, "glm-5", THINK, "adaptive", "budget_tokens"},
    /* OpenAI: models that reason take no temperature, and each has an effort that is its least. */
    {"openai", {0}, "gpt-4o-mini", OFF, "\"temperature\":0", "reasoning_effort"},
    {"openai", {0}, "gpt-5-nano", OFF, "\"reasoning_effort\":\"minimal\"", "temperature"},
    {"openai", {0}, "gpt-5-nano-2025-08-07", OFF, "\"minimal\"", "temperature"},
    {"openai", {0}, "gpt-5.4-nano", OFF, "\"reasoning_effort\":\"none\"", "temperature"},
    {"openai", {0}, "gpt-5.1-codex-mini", OFF, "\"reasoning_effort\":\"low\"", "temperature"},
    {"openai", {0}, "gpt-5-pro", OFF, "\"messages\"", "reasoning_effort"},
    {"openai", {0}, "gpt-5-chat-latest", OFF, "\"temperature\":0", "reasoning_effort"},
    {"openai", {0}, "o4-mini", OFF, "\"reasoning_effort\":\"low\"", "temperature"},
    {"openai", {0}, "o3", THINK, "\"reasoning_effort\":\"high\"", "temperature"},
    {"openai", {0}, "gpt-9", OFF, "\"messages\"", "temperature"},
    {"openai", {"preset", "vllm"}, "gpt-5-nano", OFF, "\"temperature\":0", "reasoning_effort"},
    {"openai-responses", {0}, "gpt-4.1", OFF, "\"temperature\":0", "\"effort\""},
    {"openai-responses", {0}, "gpt-5-mini", OFF, "{\"effort\":\"minimal\"}", "temperature"},
    {"openai-responses", {0}, "gpt-5.5", OFF, "{\"effort\":\"none\"}", "temperature"},
    {"openai-responses", {0}, "o4-mini", THINK, "\"effort\":\"high\"", "temperature"},
    /* Google: the pro models can't be kept from thinking; a level since 3. */
    {"google", {0}, "gemini-2.5-flash", OFF, "\"thinkingBudget\":0", "Level"},
    {"google", {0}, "gemini-2.5-pro", OFF, "\"thinkingBudget\":128", "Level"},
    {"google", {0}, "gemini-2.5-pro", THINK, "\"thinkingBudget\":24576", "Level"},
    {"google", {0}, "gemini-3.5-flash", OFF, "\"thinkingLevel\":\"low\"", "Budget"},
    /* Mistral: Magistral by a prompt, others all or nothing, most not at all. */
    {"mistral", {0}, "mistral-small-latest", THINK, "\"reasoning_effort\":\"high\"", "prompt_mode"},
    {"mistral", {0}, "mistral-small-latest", OFF, "\"reasoning_effort\":\"none\"", "prompt_mode"},
    {"mistral", {0}, "magistral-medium-latest", THINK, "\"prompt_mode\":\"reasoning\"", "effort"},
    {"mistral", {0}, "mistral-large-latest", THINK, "\"messages\"", "effort"},
};

/* A name of the option "models", and a piece of what is published of it. */
static const struct price {
    const char *service, *preset, *model, *with, *without;
} prices[] = {
    {"anthropic", NULL, "claude-opus-4-5", "\"price_in\":5", "long_over"},
    {"anthropic", NULL, "claude-opus-4-5-20251101", "\"price_out\":25", "long_over"},
    {"anthropic", NULL, "claude-sonnet-4-5-pro", "\"context\":200000", "price"},
    {"openai", "openai", "gpt-5-2025-08-07", "\"price_in\":1.25", "long_over"},
    {"openai", "openai", "gpt-5-pro-2025-10-06", "\"price_in\":15", "price_cache_read"},
    {"openai", "openai", "gpt-5-search-api", "\"context\":400000", "price"},
    {"openai", "openai", "o3-deep-research", "\"context\":200000", "price"},
    {"openai", "openai", "gpt-4o-2024-05-13", "\"price_in\":5", "long_over"},
    {"openai", "openai", "gpt-5.4", "\"long_price_out\":22.5", "x-y"},
    {"openai", "xai", "grok-4.3", "\"long_over\":200000", "x-y"},
    {"openai", "xai", "grok-4.3-1", "\"context\":1000000", "price"},
    {"openai", "deepseek", "deepseek-v4-pro", "\"price_in\":0.435", "long_over"},
    {"openai-responses", NULL, "gpt-5.5-2026-04-23", "\"long_price_cache_read\":1", "x-y"},
    {"openai-responses", NULL, "gpt-5.5-mini", "\"context\":1050000", "price"},
    {"google", NULL, "gemini-2.5-flash-001", "\"price_in\":0.3", "long_over"},
    {"google", NULL, "gemini-2.5-pro", "\"long_price_in\":2.5", "x-y"},
    {"google", NULL, "gemini-2.5-flash-image", "\"context\":1048576", "price"},
    {"mistral", NULL, "mistral-large-2512", "\"price_in\":0.5", "long_over"},
    {"mistral", NULL, "mistral-large-2411", "\"tools\":true", "price"},
};

static struct kit *open_kit(const struct chela_pair *options, size_t count)
{
    struct kit_setup setup = {
        .plugin = &DESCRIPTOR(PLUGIN), .name = "svc", .options = options, .option_count = count};
    struct kit *k = kit_open(&setup);
    assert_non_null(k);
    return k;
}

static void check(const char *what, const char *text, const char *with, const char *without)
{
    if (!strstr(text, with) || strstr(text, without))
        fail_msg("%s: \"%s\" must stand in it and \"%s\" not: %s", what, with, without, text);
}

static void one_wish(const struct wish *w)
{
    struct chela_pair option = {chela_s(w->option[0]), chela_s(w->option[1])},
                      hello = {CHELA_LIT("user"), {NULL, 0}};
    struct kit *k = open_kit(&option, w->option[0] ? 1 : 0);
    char body[16384];
    CHELA_ARGS(chela_render, r, 0);
    r.model = chela_s(w->model);
    r.role = chela_s("user");
    r.message = chela_s("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}");
    kit_call(k, CHELA_FN_PROVIDER_RENDER, &r);
    snprintf(body, sizeof body, "%.*s", (int)kit_done(k)->text.n, kit_done(k)->text.s);
    hello.value = chela_s(body);
    kit_clear(k);
    CHELA_ARGS(chela_begin, b, 0);
    b.model = chela_s(w->model);
    b.params = chela_s(w->params);
    b.messages.v = &hello;
    b.messages.n = 1;
    kit_call(k, CHELA_FN_PROVIDER_BEGIN, &b);
    const struct chela_http *sent = kit_request(k, CHELA_FN_HTTP);
    assert_non_null(sent);
    char text[16384];
    snprintf(text, sizeof text, "%.*s", (int)sent->body.n, sent->body.s);
    check(w->model, text, w->with, w->without);
    kit_answer_error(k, sent->h.call, CHELA_E_NETWORK, 0, "enough");
    assert_int_equal(kit_close(k), 0);
}

static void a_request_holds_what_its_model_takes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++)
        if (strcmp(wishes[i].service, SERVICE) == 0)
            one_wish(&wishes[i]);
}

static void a_price_is_taken_from_its_own_row_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof prices / sizeof prices[0]; i++) {
        const struct price *p = &prices[i];
        if (strcmp(p->service, SERVICE) != 0)
            continue;
        struct chela_pair options[] = {{CHELA_LIT("models"), CHELA_LIT("1")},
                                       {CHELA_LIT("models.0.name"), chela_s(p->model)},
                                       {CHELA_LIT("preset"), chela_s(p->preset)}};
        struct kit *k = open_kit(options, p->preset ? 3 : 2);
        kit_start(k);
        const struct chela_publish *list = kit_published(k, CHELA_MODELS);
        assert_int_equal(list->items.n, 1);
        char text[4096];
        snprintf(text, sizeof text, "%.*s", (int)list->items.v[0].value.n,
                 list->items.v[0].value.s);
        check(p->model, text, p->with, p->without);
        assert_int_equal(kit_close(k), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_holds_what_its_model_takes),
        cmocka_unit_test(a_price_is_taken_from_its_own_row_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
