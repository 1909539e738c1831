/*
 * Keys of providers (see modelkeys.h). What a key is refused for counts for all of the provider's
 * models, a limit of rate for the one model only.
 */
#include "agent/models/modelkeys.h"

#include <stdlib.h>
#include <string.h>

#include <chela/base.h>

#include "agent/models/health.h"
#include "agent/models/models.h"
#include "base/mem.h"

struct key_names {
    char *provider, *model;
};

/* '#' can't begin a model's name behind the slash, so no candidate is called like that. */
static struct key_names names_of(const char *model, unsigned key)
{
    int n = (int)strcspn(model, "/");
    return (struct key_names){xprintf("%.*s/#%u", n, model, key),
                              xprintf("%.*s/#%u%s", n, model, key, model + n)};
}

static void names_free(struct key_names *n)
{
    free(n->provider);
    free(n->model);
}

static uint64_t until(const char *model, unsigned key)
{
    struct key_names n = names_of(model, key);
    uint64_t a = health_until(n.provider), b = health_until(n.model);
    names_free(&n);
    return a > b ? a : b;
}

static bool usable(const char *model, unsigned key)
{
    struct key_names n = names_of(model, key);
    bool yes = health_usable(n.provider) && health_usable(n.model);
    names_free(&n);
    return yes;
}

static unsigned count_of(const char *model)
{
    struct model_info info;
    return models_info(model, &info) ? instance_keys(info.instance) : 1;
}

bool modelkeys_usable(const char *model)
{
    struct model_info info;
    if (!models_info(model, &info) || !models_available(info.instance) || !health_usable(model))
        return false;
    for (unsigned i = 0; i < instance_keys(info.instance); i++) {
        if (usable(model, i))
            return true;
    }
    return false;
}

uint64_t modelkeys_until(const char *model)
{
    uint64_t soonest = UINT64_MAX, own = health_until(model);
    for (unsigned i = 0; i < count_of(model); i++) {
        uint64_t at = until(model, i);
        soonest = at < soonest ? at : soonest;
    }
    return own > soonest ? own : soonest;
}

static unsigned hash_of(const char *text)
{
    unsigned h = 2166136261u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

unsigned modelkeys_choose(const char *model, const char *session)
{
    unsigned count = count_of(model), first = hash_of(session) % count, best = first;
    uint64_t soonest = UINT64_MAX;
    for (unsigned i = 0; i < count; i++) {
        unsigned key = (first + i) % count;
        if (usable(model, key))
            return key;
        uint64_t at = until(model, key);
        if (at < soonest) {
            soonest = at;
            best = key;
        }
    }
    return best;
}

void modelkeys_begin(const char *model, unsigned key)
{
    struct key_names n = names_of(model, key);
    health_begin(n.provider);
    health_begin(n.model);
    names_free(&n);
}

void modelkeys_good(const char *model, unsigned key)
{
    struct key_names n = names_of(model, key);
    if (health_known(n.provider))
        health_good(n.provider, 0);
    if (health_known(n.model))
        health_good(n.model, 0);
    names_free(&n);
}

bool modelkeys_bad(const char *model, unsigned key, uint32_t class, uint64_t retry_after_ms)
{
    struct key_names n = names_of(model, key);
    bool of_key = class == CHELA_E_AUTH || class == CHELA_E_QUOTA;
    bool limited = class == CHELA_E_RATE && count_of(model) > 1;
    if (of_key)
        health_bad(n.provider, class, retry_after_ms);
    else
        health_neutral(n.provider);
    if (limited)
        health_bad(n.model, class, retry_after_ms);
    else
        health_neutral(n.model);
    names_free(&n);
    return of_key || limited;
}

void modelkeys_neutral(const char *model, unsigned key)
{
    struct key_names n = names_of(model, key);
    health_neutral(n.provider);
    health_neutral(n.model);
    names_free(&n);
}
