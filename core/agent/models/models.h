/*
 * The models that the providers publish, and names: "instance/model", aliases of the configuration
 * and of the lists ("claude-sonnet-4-5" for a dated name). Called by route.c, turn.c, ask.c,
 * commands.c.
 */
#ifndef AGENT_MODELS_H
#define AGENT_MODELS_H

#include <stdbool.h>
#include <stdint.h>

#include "host/instance.h"

struct json_object;

struct usage;

struct model_info {
    struct instance *instance;
    const char
        *name; /* without the instance; lives in the string that was asked for or in a list */
    uint64_t context, max_output;
    /* Per million tokens. Of a model on this machine 0; where nobody says it, the dearest that is
     * known of any model, and `priced` is false. */
    double price_in, price_out, price_cache_read, price_cache_write;
    /* Of requests with more than that many tokens; UINT64_MAX where they cost the same. */
    uint64_t long_over;
    double long_in, long_out, long_cache_read;
    bool priced;
    bool tools, images, thinking, local;
    bool listed; /* the provider publishes it; else the values are cautious guesses */
};

/* The full name for what a person or the configuration wrote, aliases resolved; NULL if no provider
 * of that name exists. Free it. */
char *models_resolve(const char *wanted);
/* For a full name; false if its provider doesn't exist. */
bool models_info(const char *full, struct model_info *ret);
/* "instance/model" of the first model of the first running provider, or NULL. Free it. */
char *models_first(void);
void models_each(void (*each)(void *arg, const char *full, const struct model_info *info),
                 void *arg);
bool models_free(const struct model_info *info); /* it is known to cost nothing */
/* Of one request: a long one may cost more for each token. */
double models_cost(const struct model_info *info, const struct usage *u);
/* A provider that runs. */
bool models_available(const struct instance *in);
/* For agent_models(). */
struct json_object *models_list(void);
void models_reset(void);

#endif
