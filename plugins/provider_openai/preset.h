/*
 * The services that speak the chat completions API with small differences: one row each.
 */
#ifndef PROVIDER_OPENAI_PRESET_H
#define PROVIDER_OPENAI_PRESET_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/chela.h>

#include "support/dialect.h"
#include "support/models.h"

/* What a service takes, gives or demands; each is also an option, which overrides the preset. */
enum {
    TAKES_DEVELOPER = 1u << 0,   /* the system prompt of thinking models has role developer */
    TAKES_TEMPERATURE = 1u << 1, /* of models that don't think */
    TAKES_USAGE = 1u << 2,       /* stream_options.include_usage */
    TAKES_TOOLS = 1u << 3,
    TAKES_STRICT = 1u << 4,       /* strict schemas of tools */
    TAKES_STORE = 1u << 5,        /* store: false */
    TAKES_SCHEMA = 1u << 6,       /* response_format json_schema */
    TAKES_CACHE_KEY = 1u << 7,    /* prompt_cache_key */
    STRING_CONTENT = 1u << 8,     /* content is never an array: files and images become words */
    NULL_CONTENT = 1u << 9,       /* a message of calls only has content null, else "" */
    RESULT_NAME = 1u << 10,       /* results of tools have their tool's name */
    ANSWER_AFTER_TOOL = 1u << 11, /* an assistant's message stands between a result and a user */
    THINKING_AS_TEXT = 1u << 12,  /* earlier thinking goes back as text */
    REPLAYS_REASONING = 1u << 13, /* reasoning_content goes back with its message */
    OBJECT_ARGUMENTS = 1u << 14,  /* arguments of calls are objects, not strings */
    WRITES_CALLS = 1u << 15,      /* models that write calls as text */
    LISTS_MODELS = 1u << 16,      /* GET /models is asked at start */
    MODELS_DIFFER = 1u << 17      /* OpenAI's own: what a model takes is told by its name */
};

/* How the wish to think is said. */
enum thinking_form {
    THINK_NONE,
    THINK_EFFORT,   /* reasoning_effort */
    THINK_OBJECT,   /* reasoning: {effort} (OpenRouter) */
    THINK_TYPE,     /* thinking: {type: enabled | disabled} (DeepSeek, Z.AI) */
    THINK_ENABLE,   /* enable_thinking (Qwen) */
    THINK_TEMPLATE, /* chat_template_kwargs.enable_thinking (vLLM, llama.cpp) */
};

struct preset {
    const char *name, *base_url, *max_tokens; /* name of the field */
    enum thinking_form thinking;
    uint32_t switches;
    const char *const *dropped; /* keywords that its reader of schemas doesn't take, or NULL */
    const struct chela_error_rule *errors;  /* what it says in its own words, or NULL */
    const struct chela_model_table *models; /* well-known ones, where it gives no list */
};

extern const struct chela_option preset_values[], preset_forms[];

/* The row of option "preset", with the options put over it. */
struct preset preset_of(struct chela_inst *in);
/* The options that override a row, for the option table. */
#define PRESET_OPTIONS                                                                             \
    {"max_tokens_field", CHELA_STRING, 0, NULL, "name of the field that limits the answer", NULL}, \
        {"thinking_form", CHELA_STRING, 0, NULL, "how the wish to think is said", preset_forms},   \
        {"developer_role",                                                                         \
         CHELA_BOOL,                                                                               \
         0,                                                                                        \
         NULL,                                                                                     \
         "the system prompt is sent with role developer to thinking models",                       \
         NULL},                                                                                    \
        {"temperature", CHELA_BOOL, 0, NULL, "the service takes temperature", NULL},               \
        {"usage_in_stream",                                                                        \
         CHELA_BOOL,                                                                               \
         0,                                                                                        \
         NULL,                                                                                     \
         "the service takes stream_options.include_usage",                                         \
         NULL},                                                                                    \
        {"tools", CHELA_BOOL, 0, NULL, "the service takes tools", NULL},                           \
        {"strict", CHELA_BOOL, 0, NULL, "tools whose schemas allow it are sent in strict form",    \
         NULL},                                                                                    \
        {"store", CHELA_BOOL, 0, NULL, "the service takes store, which is sent as false", NULL},   \
        {"schema", CHELA_BOOL, 0, NULL, "the service takes response_format json_schema", NULL},    \
        {"cache_key", CHELA_BOOL, 0, NULL, "the service takes prompt_cache_key", NULL},            \
        {"string_content",                                                                         \
         CHELA_BOOL,                                                                               \
         0,                                                                                        \
         NULL,                                                                                     \
         "content is a string always: files and images are only named",                            \
         NULL},                                                                                    \
        {"null_content",                                                                           \
         CHELA_BOOL,                                                                               \
         0,                                                                                        \
         NULL,                                                                                     \
         "a message that holds calls only has content null instead of an empty string",            \
         NULL},                                                                                    \
        {"result_name", CHELA_BOOL, 0, NULL, "results of tools carry the tool's name", NULL},      \
        {"answer_after_tool",                                                                      \
         CHELA_BOOL,                                                                               \
         0,                                                                                        \
         NULL,                                                                                     \
         "an assistant's message must stand between a tool's result and a user's",                 \
         NULL},                                                                                    \
        {"thinking_as_text", CHELA_BOOL, 0, NULL, "earlier thinking goes back as text", NULL},     \
        {"replay_reasoning",                                                                       \
         CHELA_BOOL,                                                                               \
         0,                                                                                        \
         NULL,                                                                                     \
         "reasoning_content goes back with its message",                                           \
         NULL},                                                                                    \
        {"object_arguments",                                                                       \
         CHELA_BOOL,                                                                               \
         0,                                                                                        \
         NULL,                                                                                     \
         "arguments of calls are sent as objects instead of strings",                              \
         NULL},                                                                                    \
        {"text_calls",                                                                             \
         CHELA_BOOL,                                                                               \
         0,                                                                                        \
         NULL,                                                                                     \
         "calls that the model writes as text count, where the name is a tool",                    \
         NULL},                                                                                    \
    {                                                                                              \
        "list_models", CHELA_BOOL, 0, NULL, "the service is asked for its models at start", NULL   \
    }

#endif
