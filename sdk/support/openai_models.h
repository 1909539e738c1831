/*
 * What is known of OpenAI's models, for both of its interfaces: the table, and what a model takes,
 * by its name. Called by provider_openai (its preset "openai") and provider_openai_responses.
 */
#ifndef CHELA_SUPPORT_OPENAI_MODELS_H
#define CHELA_SUPPORT_OPENAI_MODELS_H

#include "support/models.h"

#pragma GCC visibility push(hidden)

extern const struct chela_model_table chela_openai_models;

/* Whether a model takes a temperature: those that reason refuse every one but 1 with a 400, which
 * are the numbered ones ("o3") and GPT since its fifth. */
bool chela_openai_takes_temperature(const char *model);
/* The effort by which a model reasons least, NULL if it doesn't reason or takes no lesser one. */
const char *chela_openai_least_effort(const char *model);

#pragma GCC visibility pop
#endif
