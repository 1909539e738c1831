/*
 * Anthropic's models (see claude_models.h).
 *
 * https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
 */
#include "support/claude_models.h"

#include <string.h>

static const struct chela_model rows[] = {
    {"claude-sonnet-5", 1000000, 128000, true, true, 2, 10, 0.2, 2.5, NULL, 0, 0, 0, 0},
    {"claude-fable-5", 1000000, 128000, true, true, 10, 50, 1, 12.5, NULL, 0, 0, 0, 0},
    {"claude-opus-4-8", 1000000, 128000, true, true, 5, 25, 0.5, 6.25, NULL, 0, 0, 0, 0},
    {"claude-opus-4-7", 1000000, 128000, true, true, 5, 25, 0.5, 6.25, NULL, 0, 0, 0, 0},
    {"claude-opus-4-6", 1000000, 128000, true, true, 5, 25, 0.5, 6.25, NULL, 0, 0, 0, 0},
    {"claude-sonnet-4-6", 1000000, 64000, true, true, 3, 15, 0.3, 3.75, NULL, 0, 0, 0, 0},
    {"claude-haiku-4-5-20251001", 200000, 64000, true, true, 1, 5, 0.1, 1.25, "claude-haiku-4-5", 0,
     0, 0, 0},
    {"claude-opus-4-5-20251101", 200000, 64000, true, true, 5, 25, 0.5, 6.25, "claude-opus-4-5", 0,
     0, 0, 0},
    {"claude-sonnet-4-5-20250929", 200000, 64000, true, true, 3, 15, 0.3, 3.75, "claude-sonnet-4-5",
     0, 0, 0, 0},
    {"claude-opus-4-1-20250805", 200000, 32000, true, true, 15, 75, 1.5, 18.75, "claude-opus-4-1",
     0, 0, 0, 0},
    {"claude-sonnet-4-20250514", 200000, 64000, true, true, 3, 15, 0.3, 3.75, "claude-sonnet-4-0",
     0, 0, 0, 0},
};
const struct chela_model_table chela_claude_models = CHELA_MODEL_TABLE(rows);

static bool names_one(const char *model, const char *const *parts)
{
    for (; *parts; parts++)
        if (strstr(model, *parts))
            return true;
    return false;
}

bool chela_claude_adapts(const char *model)
{
    static const char *const before[] = {"claude-2", "claude-3", "-4-0", "-4-1", "-4.1",
                                         "-4-2025",  "-4-5",     "-4.5", NULL};
    return strstr(model, "claude") && !names_one(model, before);
}

bool chela_claude_takes_temperature(const char *model)
{
    static const char *const both[] = {"-4-6", "-4.6", NULL};
    return !chela_claude_adapts(model) || names_one(model, both);
}
