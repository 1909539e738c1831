/*
 * What is known of Anthropic's models: the table, and what a model takes, by its name. Who isn't
 * named Claude is taken for another service's model, which speaks the older form. Called by
 * provider_anthropic.
 */
#ifndef CHELA_SUPPORT_CLAUDE_MODELS_H
#define CHELA_SUPPORT_CLAUDE_MODELS_H

#include "support/models.h"

#pragma GCC visibility push(hidden)

extern const struct chela_model_table chela_claude_models;

/* Whether a model decides itself how long to think, as those since 4.6 do; the ones since Opus 4.7
 * refuse a budget. */
bool chela_claude_adapts(const char *model);
/* Whether it takes a temperature: those since Opus 4.7 refuse one with a 400. */
bool chela_claude_takes_temperature(const char *model);

#pragma GCC visibility pop
#endif
