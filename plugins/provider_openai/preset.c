/*
 * The table of presets (see preset.h). A new service that speaks the API is a row here.
 */
#include "preset.h"

#include <string.h>

#include "support/openai_models.h"

enum {
    USUAL = TAKES_TEMPERATURE | TAKES_USAGE | TAKES_TOOLS | TAKES_SCHEMA | NULL_CONTENT,
    LOCAL = USUAL | WRITES_CALLS | LISTS_MODELS,
    OPENAI = USUAL | TAKES_DEVELOPER | TAKES_STRICT | TAKES_STORE | TAKES_CACHE_KEY | MODELS_DIFFER,
    DEEPSEEK = TAKES_TEMPERATURE | TAKES_USAGE | TAKES_TOOLS | REPLAYS_REASONING
};

static const struct chela_error_rule vllm[] = {
    {CHELA_IN_TEXT, "tool choice requires", CHELA_E_UNSUPPORTED},
    {CHELA_IN_TEXT, "maximum context length", CHELA_E_TOO_LONG},
    {CHELA_IN_CODE, NULL, 0}};
static const struct chela_error_rule llama[] = {
    {CHELA_IN_TEXT, "tools param requires --jinja", CHELA_E_UNSUPPORTED}, {CHELA_IN_CODE, NULL, 0}};
static const struct chela_error_rule ollama[] = {
    {CHELA_IN_TEXT, "does not support tools", CHELA_E_UNSUPPORTED}, {CHELA_IN_CODE, NULL, 0}};
static const struct chela_error_rule groq[] = {
    {CHELA_IN_TEXT, "`tool calling` is not supported", CHELA_E_UNSUPPORTED},
    {CHELA_IN_TEXT, "Please reduce the length of the messages", CHELA_E_TOO_LONG},
    {CHELA_IN_CODE, NULL, 0}};
static const struct chela_error_rule deepseek[] = {
    {CHELA_IN_TEXT, "maximum context length", CHELA_E_TOO_LONG},
    {CHELA_IN_TEXT, "Insufficient Balance", CHELA_E_QUOTA},
    {CHELA_IN_CODE, NULL, 0}};
static const struct chela_error_rule xai[] = {
    {CHELA_IN_TEXT, "maximum prompt length", CHELA_E_TOO_LONG}, {CHELA_IN_CODE, NULL, 0}};
static const struct chela_error_rule openrouter[] = {
    {CHELA_IN_TEXT, "No endpoints found that support tool use", CHELA_E_UNSUPPORTED},
    {CHELA_IN_TEXT, "maximum context length", CHELA_E_TOO_LONG},
    {CHELA_IN_CODE, NULL, 0}};

static const struct chela_model deepseek_rows[] = {
    {"deepseek-v4-flash", 1000000, 384000, false, true, 0.14, 0.28, 0.0028, 0, NULL, 0, 0, 0, 0},
    {"deepseek-v4-pro", 1000000, 384000, false, true, 0.435, 0.87, 0.003625, 0, NULL, 0, 0, 0, 0},
    {"deepseek-chat", 1000000, 384000, false, false, 0.14, 0.28, 0.0028, 0, NULL, 0, 0, 0, 0},
    {"deepseek-reasoner", 1000000, 384000, false, true, 0.14, 0.28, 0.0028, 0, NULL, 0, 0, 0, 0},
};
static const struct chela_model xai_rows[] = {
    {"grok-4.3", 1000000, 30000, true, true, 1.25, 2.5, 0.2, 0, NULL, 200000, 2.5, 5, 0.4},
    {"grok-4.20-0309-reasoning", 1000000, 30000, true, true, 1.25, 2.5, 0.2, 0, NULL, 200000, 2.5,
     5, 0.4},
    {"grok-4.20-0309-non-reasoning", 1000000, 30000, true, false, 1.25, 2.5, 0.2, 0, NULL, 200000,
     2.5, 5, 0.4},
    {"grok-build-0.1", 256000, 256000, true, true, 1, 2, 0.2, 0, NULL, 200000, 2, 4, 0.4},
};

static const struct chela_model_table deepseek_models = CHELA_MODEL_TABLE(deepseek_rows),
                                      xai_models = CHELA_MODEL_TABLE(xai_rows), no_models = {0};

/* llama.cpp makes grammars of schemas, and these it can't. */
static const char *const llama_dropped[] = {"pattern", "format", "$schema", "not", NULL};

/* ROW(name, URL, help, field of max_tokens, form of thinking, switches, dropped keywords, errors,
 * models) */
#define PRESETS(ROW)                                                                               \
    ROW("openai", "https://api.openai.com/v1", "OpenAI", "max_completion_tokens", THINK_EFFORT,    \
        OPENAI, NULL, NULL, &chela_openai_models)                                                  \
    ROW("vllm", "http://localhost:8000/v1", "vLLM on this machine", "max_tokens", THINK_TEMPLATE,  \
        LOCAL, NULL, vllm, &no_models)                                                             \
    ROW("llama.cpp-openai", "http://localhost:8080/v1", "llama.cpp on this machine", "max_tokens", \
        THINK_TEMPLATE, LOCAL, llama_dropped, llama, &no_models)                                   \
    ROW("ollama-openai", "http://localhost:11434/v1", "Ollama on this machine", "max_tokens",      \
        THINK_EFFORT, LOCAL, NULL, ollama, &no_models)                                             \
    ROW("groq", "https://api.groq.com/openai/v1", "Groq", "max_completion_tokens", THINK_EFFORT,   \
        USUAL, NULL, groq, &no_models)                                                             \
    ROW("deepseek", "https://api.deepseek.com", "DeepSeek", "max_tokens", THINK_TYPE, DEEPSEEK,    \
        NULL, deepseek, &deepseek_models)                                                          \
    ROW("xai", "https://api.x.ai/v1", "xAI", "max_completion_tokens", THINK_EFFORT, USUAL, NULL,   \
        xai, &xai_models)                                                                          \
    ROW("openrouter", "https://openrouter.ai/api/v1", "OpenRouter", "max_tokens", THINK_OBJECT,    \
        USUAL, NULL, openrouter, &no_models)                                                       \
    ROW("compatible", NULL, "another service that speaks the API; it needs base_url",              \
        "max_tokens", THINK_NONE, USUAL | WRITES_CALLS, NULL, vllm, &no_models)

#define PRESET(name, url, help, ...) {name, url, __VA_ARGS__},
static const struct preset presets[] = {PRESETS(PRESET)};
#define VALUE(name, url, help, ...) {name, 0, 0, url, help, NULL},
const struct chela_option preset_values[] = {PRESETS(VALUE){NULL, 0, 0, NULL, NULL, NULL}};

const struct chela_option preset_forms[] = {
    {"none", 0, 0, NULL, "not at all", NULL},
    {"effort", 0, 0, NULL, "reasoning_effort", NULL},
    {"object", 0, 0, NULL, "reasoning: {effort}", NULL},
    {"type", 0, 0, NULL, "thinking: {type}", NULL},
    {"enable", 0, 0, NULL, "enable_thinking", NULL},
    {"template", 0, 0, NULL, "chat_template_kwargs: {enable_thinking}", NULL},
    {NULL, 0, 0, NULL, NULL, NULL}};

static void override_switches(struct chela_inst *in, uint32_t *switches)
{
    static const struct {
        const char *option;
        uint32_t bit;
    } bits[] = {{"developer_role", TAKES_DEVELOPER},
                {"temperature", TAKES_TEMPERATURE},
                {"usage_in_stream", TAKES_USAGE},
                {"tools", TAKES_TOOLS},
                {"strict", TAKES_STRICT},
                {"store", TAKES_STORE},
                {"schema", TAKES_SCHEMA},
                {"cache_key", TAKES_CACHE_KEY},
                {"string_content", STRING_CONTENT},
                {"null_content", NULL_CONTENT},
                {"result_name", RESULT_NAME},
                {"answer_after_tool", ANSWER_AFTER_TOOL},
                {"thinking_as_text", THINKING_AS_TEXT},
                {"replay_reasoning", REPLAYS_REASONING},
                {"object_arguments", OBJECT_ARGUMENTS},
                {"text_calls", WRITES_CALLS},
                {"list_models", LISTS_MODELS}};
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        if (chela_option_text(in, bits[i].option).n == 0)
            continue;
        *switches &= ~bits[i].bit;
        if (chela_option_number(in, bits[i].option) != 0)
            *switches |= bits[i].bit;
    }
}

struct preset preset_of(struct chela_inst *in)
{
    struct preset p = presets[0];
    struct chela_str name = chela_option_text(in, "preset"),
                     url = chela_option_text(in, "base_url"),
                     field = chela_option_text(in, "max_tokens_field"),
                     form = chela_option_text(in, "thinking_form");
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
        if (chela_str_is(name, presets[i].name))
            p = presets[i];
    if (url.n && p.base_url == presets[0].base_url && strcmp(url.s, p.base_url) != 0)
        p = presets[sizeof presets / sizeof presets[0] - 1]; /* it is not OpenAI that is asked */
    if (url.n)
        p.base_url = url.s;
    if (field.n)
        p.max_tokens = field.s;
    for (int i = THINK_NONE; i <= THINK_TEMPLATE; i++)
        if (chela_str_is(form, preset_forms[i].name))
            p.thinking = (enum thinking_form)i;
    override_switches(in, &p.switches);
    return p;
}
