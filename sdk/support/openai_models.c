/*
 * OpenAI's models (see openai_models.h). Efforts: models.dev, 2026-07-02; the refusal of a
 * temperature: code unsupported_value, param temperature.
 */
#include "support/openai_models.h"

#include <stdlib.h>
#include <string.h>

static const struct chela_model rows[] = {
    {"gpt-5", 400000, 128000, true, true, 1.25, 10, 0.125, 0, NULL, 0, 0, 0, 0},
    {"gpt-5.5", 1050000, 128000, true, true, 5, 30, 0.5, 0, NULL, 272000, 10, 45, 1},
    {"gpt-5.5-pro", 1050000, 128000, true, true, 30, 180, 0, 0, NULL, 272000, 60, 270, 0},
    {"gpt-5.4", 1050000, 128000, true, true, 2.5, 15, 0.25, 0, NULL, 272000, 5, 22.5, 0.5},
    {"gpt-5.4-mini", 400000, 128000, true, true, 0.75, 4.5, 0.075, 0, NULL, 0, 0, 0, 0},
    {"gpt-5.4-nano", 400000, 128000, true, true, 0.2, 1.25, 0.02, 0, NULL, 0, 0, 0, 0},
    {"gpt-5.4-pro", 1050000, 128000, true, true, 30, 180, 0, 0, NULL, 272000, 60, 270, 0},
    {"gpt-5.3-codex", 400000, 128000, true, true, 1.75, 14, 0.175, 0, NULL, 0, 0, 0, 0},
    {"gpt-5.2", 400000, 128000, true, true, 1.75, 14, 0.175, 0, NULL, 0, 0, 0, 0},
    {"gpt-5.2-pro", 400000, 128000, true, true, 21, 168, 0, 0, NULL, 0, 0, 0, 0},
    {"gpt-5.1", 400000, 128000, true, true, 1.25, 10, 0.125, 0, NULL, 0, 0, 0, 0},
    {"gpt-5.1-codex", 400000, 128000, true, true, 1.25, 10, 0.125, 0, NULL, 0, 0, 0, 0},
    {"gpt-5.1-codex-mini", 400000, 128000, true, true, 0.25, 2, 0.025, 0, NULL, 0, 0, 0, 0},
    {"gpt-5-mini", 400000, 128000, true, true, 0.25, 2, 0.025, 0, NULL, 0, 0, 0, 0},
    {"gpt-5-nano", 400000, 128000, true, true, 0.05, 0.4, 0.005, 0, NULL, 0, 0, 0, 0},
    {"gpt-5-codex", 400000, 128000, true, true, 1.25, 10, 0.125, 0, NULL, 0, 0, 0, 0},
    {"gpt-5-pro", 400000, 272000, true, true, 15, 120, 0, 0, NULL, 0, 0, 0, 0},
    {"gpt-4.1", 1047576, 32768, true, false, 2, 8, 0.5, 0, NULL, 0, 0, 0, 0},
    {"gpt-4.1-mini", 1047576, 32768, true, false, 0.4, 1.6, 0.1, 0, NULL, 0, 0, 0, 0},
    {"gpt-4.1-nano", 1047576, 32768, true, false, 0.1, 0.4, 0.025, 0, NULL, 0, 0, 0, 0},
    {"gpt-4o", 128000, 16384, true, false, 2.5, 10, 1.25, 0, NULL, 0, 0, 0, 0},
    {"gpt-4o-2024-05-13", 128000, 4096, true, false, 5, 15, 0, 0, NULL, 0, 0, 0, 0},
    {"gpt-4o-mini", 128000, 16384, true, false, 0.15, 0.6, 0.075, 0, NULL, 0, 0, 0, 0},
    {"o3", 200000, 100000, true, true, 2, 8, 0.5, 0, NULL, 0, 0, 0, 0},
    {"o3-pro", 200000, 100000, true, true, 20, 80, 0, 0, NULL, 0, 0, 0, 0},
    {"o3-mini", 200000, 100000, false, true, 1.1, 4.4, 0.55, 0, NULL, 0, 0, 0, 0},
    {"o4-mini", 200000, 100000, true, true, 1.1, 4.4, 0.275, 0, NULL, 0, 0, 0, 0},
};
const struct chela_model_table chela_openai_models = CHELA_MODEL_TABLE(rows);

bool chela_openai_takes_temperature(const char *model)
{
    bool numbered = model[0] == 'o' && model[1] >= '1' && model[1] <= '9',
         since_5 = strncmp(model, "gpt-", 4) == 0 && strtol(model + 4, NULL, 10) >= 5;
    return !numbered && (!since_5 || strstr(model, "-chat-latest"));
}

const char *chela_openai_least_effort(const char *model)
{
    static const struct {
        const char *begin, *effort;
    } least[] = {{"gpt-5-codex", "low"},
                 {"gpt-5.1-codex", "low"},
                 {"gpt-5.2-codex", "low"},
                 {"gpt-5.", "none"},
                 {"gpt-5", "minimal"},
                 {"o1", "low"},
                 {"o3", "low"},
                 {"o4", "low"}};
    if (strstr(model, "-chat-latest") || (model[0] == 'g' && strstr(model, "-pro")))
        return NULL;
    for (size_t i = 0; i < sizeof least / sizeof least[0]; i++)
        if (strncmp(model, least[i].begin, strlen(least[i].begin)) == 0)
            return least[i].effort;
    return NULL;
}
