/*
 * What is known of models: the providers' published lists, parsed once for each revision, and the
 * aliases of the configuration. A service; asks the registry, nobody else.
 */
#include "agent/models/models.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/models/health.h"
#include "agent/models/modelkeys.h"
#include "agent/models/usage.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/settings.h"

/* A provider's list as it was published, parsed. */
struct listing {
    struct instance *instance;
    uint64_t revision;
    struct json_object *models; /* array of objects */
    struct map by_name;         /* names and aliases -> json_object */
};

static struct map listings; /* by instance name */

/* The highest prices that any list names; made anew after a list has changed. */
static struct {
    bool known;
    double in, out;
} dearest;

enum { UNKNOWN_CONTEXT = 32768, UNKNOWN_OUTPUT = 4096 };

static void listing_clear(struct listing *l)
{
    map_free(&l->by_name, NULL);
    memset(&l->by_name, 0, sizeof l->by_name);
    json_object_put(l->models);
    l->models = NULL;
}

static void listing_free(void *p)
{
    listing_clear(p);
    free(p);
}

static void listing_read(struct listing *l, const struct published *p)
{
    listing_clear(l);
    dearest.known = false;
    l->revision = p->revision;
    l->models = chela_json_new_array();
    for (size_t i = 0; i < p->count; i++) {
        struct json_object *o = NULL;
        if (chela_json_parse(p->items[i].value.s, p->items[i].value.n, NULL, &o, NULL) != 0 ||
            !json_object_is_type(o, json_type_object)) {
            json_object_put(o);
            o = chela_json_new_object();
        }
        chela_json_put_string(o, "name", p->items[i].name.s, p->items[i].name.n);
        const char *name = chela_json_string(o, "name", NULL);
        chela_json_push(l->models, o);
        if (name && *name && !map_get(&l->by_name, name))
            map_set(&l->by_name, name, o);
    }
    for (size_t i = 0; i < chela_json_length(l->models); i++) {
        struct json_object *o = chela_json_at(l->models, i);
        struct json_object *aliases = chela_json_array(o, "aliases");
        for (size_t k = 0; k < chela_json_length(aliases); k++) {
            const char *alias = chela_json_as_string(chela_json_at(aliases, k), NULL);
            if (alias && *alias && !map_get(&l->by_name, alias))
                map_set(&l->by_name, alias, o);
        }
    }
}

static struct listing *listing_of(struct instance *in)
{
    struct listing *l = map_get(&listings, instance_name(in));
    if (!l) {
        l = xcalloc(1, sizeof *l);
        l->models = chela_json_new_array();
        map_set(&listings, instance_name(in), l);
    }
    l->instance = in;
    const struct published *p = published_get(in, CHELA_MODELS);
    if (p && p->revision != l->revision)
        listing_read(l, p);
    published_release(p);
    return l;
}

static char *full_name(struct instance *in, const char *model)
{
    struct json_object *o = map_get(&listing_of(in)->by_name, model);
    const char *name = o ? chela_json_string(o, "name", NULL) : model;
    return xprintf("%s/%s", instance_name(in), name);
}

/* models.aliases : ({ name = "fast"; model = "groq/..."; }) */
static const char *configured_alias(const char *wanted)
{
    int64_t n = settings_number_or("models.aliases", 0);
    for (int64_t i = 0; i < n && i < 1000; i++) {
        CLEANUP(freep) char *name = xprintf("models.aliases.%d.name", (int)i);
        if (strcmp(settings_text(settings_now(), name), wanted) != 0)
            continue;
        CLEANUP(freep) char *model = xprintf("models.aliases.%d.model", (int)i);
        return settings_text(settings_now(), model);
    }
    return NULL;
}

char *models_resolve(const char *wanted)
{
    if (!*wanted)
        return NULL;
    const char *alias = configured_alias(wanted);
    if (alias && *alias)
        wanted = alias;
    const char *slash = strchr(wanted, '/');
    if (slash && slash != wanted && slash[1]) {
        CLEANUP(freep) char *instance = xmemdup(wanted, (size_t)(slash - wanted));
        struct instance *in = instance_find(ROLE_PROVIDER, instance);
        if (in)
            return full_name(in, slash + 1);
    }
    /* a bare name, or one with a slash of its own: whoever publishes it */
    for (struct instance *in = NULL; (in = instance_next(ROLE_PROVIDER, in));) {
        if (map_get(&listing_of(in)->by_name, wanted))
            return full_name(in, wanted);
    }
    return NULL;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void find_dearest(void)
{
    if (dearest.known)
        return;
    dearest.in = dearest.out = 0;
    for (struct instance *in = NULL; (in = instance_next(ROLE_PROVIDER, in));) {
        const struct listing *l = listing_of(in);
        for (size_t i = 0; i < chela_json_length(l->models); i++) {
            struct json_object *o = chela_json_at(l->models, i);
            dearest.in = larger(dearest.in, chela_json_double(o, "price_in", 0));
            dearest.in = larger(dearest.in, chela_json_double(o, "long_price_in", 0));
            dearest.out = larger(dearest.out, chela_json_double(o, "price_out", 0));
            dearest.out = larger(dearest.out, chela_json_double(o, "long_price_out", 0));
        }
    }
    dearest.known = true;
}

static void read_prices(struct json_object *o, struct model_info *ret)
{
    ret->priced = ret->local || chela_json_has(o, "price_in") || chela_json_has(o, "price_out");
    ret->price_in = chela_json_double(o, "price_in", 0);
    ret->price_out = chela_json_double(o, "price_out", 0);
    if (!ret->priced) {
        find_dearest();
        ret->price_in = dearest.in;
        ret->price_out = dearest.out;
    }
    ret->price_cache_read = chela_json_double(o, "price_cache_read", ret->price_in);
    ret->price_cache_write = chela_json_double(o, "price_cache_write", ret->price_in);
    int64_t over = ret->priced ? chela_json_int(o, "long_over", 0) : 0;
    ret->long_over = over > 0 ? (uint64_t)over : UINT64_MAX;
    ret->long_in = chela_json_double(o, "long_price_in", ret->price_in);
    ret->long_out = chela_json_double(o, "long_price_out", ret->price_out);
    ret->long_cache_read = chela_json_double(o, "long_price_cache_read", ret->price_cache_read);
}

static void info_from(struct listing *l, struct json_object *o, struct model_info *ret)
{
    bool local = (instance_iface(l->instance)->caps & CHELA_CAP_LOCAL) != 0 ||
                 instance_is_local(l->instance);
    ret->instance = l->instance;
    ret->listed = o != NULL;
    ret->context = (uint64_t)chela_json_int(o, "context", 0);
    ret->max_output = (uint64_t)chela_json_int(o, "max_output", 0);
    if (ret->context < 512)
        ret->context = UNKNOWN_CONTEXT;
    if (ret->max_output == 0)
        ret->max_output = UNKNOWN_OUTPUT;
    ret->tools = chela_json_bool(o, "tools", true);
    ret->images = chela_json_bool(o, "images", o == NULL);
    ret->thinking = chela_json_bool(o, "thinking", false);
    ret->local = chela_json_bool(o, "local", local);
    read_prices(o, ret);
}

bool models_free(const struct model_info *info)
{
    return info->priced && info->price_in <= 0 && info->price_out <= 0;
}

double models_cost(const struct model_info *info, const struct usage *u)
{
    bool longer = usage_in(u) > info->long_over;
    double in = longer ? info->long_in : info->price_in,
           out = longer ? info->long_out : info->price_out,
           read = longer ? info->long_cache_read : info->price_cache_read,
           written =
               longer ? larger(info->long_in, info->price_cache_write) : info->price_cache_write;
    return ((double)u->in * in + (double)u->cache_read * read + (double)u->cache_write * written +
            (double)u->out * out) /
           1e6;
}

bool models_info(const char *full, struct model_info *ret)
{
    memset(ret, 0, sizeof *ret);
    const char *slash = strchr(full, '/');
    if (!slash)
        return false;
    CLEANUP(freep) char *instance = xmemdup(full, (size_t)(slash - full));
    struct instance *in = instance_find(ROLE_PROVIDER, instance);
    if (!in)
        return false;
    struct listing *l = listing_of(in);
    info_from(l, map_get(&l->by_name, slash + 1), ret);
    ret->name = slash + 1;
    return true;
}

bool models_available(const struct instance *in)
{
    return instance_state(in) == INSTANCE_RUNNING;
}

void models_each(void (*each)(void *arg, const char *full, const struct model_info *info),
                 void *arg)
{
    for (struct instance *in = NULL; (in = instance_next(ROLE_PROVIDER, in));) {
        struct listing *l = listing_of(in);
        for (size_t i = 0; i < chela_json_length(l->models); i++) {
            struct json_object *o = chela_json_at(l->models, i);
            struct model_info info;
            memset(&info, 0, sizeof info);
            info_from(l, o, &info);
            info.name = chela_json_string(o, "name", NULL);
            CLEANUP(freep) char *full = xprintf("%s/%s", instance_name(in), info.name);
            each(arg, full, &info);
        }
    }
}

char *models_first(void)
{
    for (struct instance *in = NULL; (in = instance_next(ROLE_PROVIDER, in));) {
        if (!models_available(in))
            continue;
        struct json_object *first = chela_json_at(listing_of(in)->models, 0);
        const char *name = chela_json_string(first, "name", NULL);
        if (name)
            return xprintf("%s/%s", instance_name(in), name);
    }
    return NULL;
}

static void list_one(void *arg, const char *full, const struct model_info *info)
{
    struct json_object *o = chela_json_push_object(arg);
    chela_json_put_text(o, "id", full);
    chela_json_put_text(o, "name", info->name);
    chela_json_put_text(o, "provider", instance_name(info->instance));
    chela_json_put_int(o, "contextWindow", (int64_t)info->context);
    chela_json_put_bool(o, "available", modelkeys_usable(full));
    chela_json_put_int(o, "latencyMs", (int64_t)health_latency(full));
    chela_json_put_double(o, "availability", health_availability(full));
    struct json_object *input = chela_json_put_array(o, "input");
    chela_json_push(input, chela_json_new_string("text", 4));
    if (info->images)
        chela_json_push(input, chela_json_new_string("image", 5));
    chela_json_put_bool(o, "reasoning", info->thinking);
    chela_json_put_bool(o, "tools", info->tools);
    chela_json_put_bool(o, "local", info->local);
    chela_json_put_double(o, "priceIn", info->price_in);
    chela_json_put_double(o, "priceOut", info->price_out);
    chela_json_put_double(o, "priceCacheRead", info->price_cache_read);
    chela_json_put_double(o, "priceCacheWrite", info->price_cache_write);
    chela_json_put_bool(o, "priceKnown", info->priced);
}

struct json_object *models_list(void)
{
    struct json_object *list = chela_json_new_array();
    models_each(list_one, list);
    return list;
}

void models_reset(void)
{
    map_free(&listings, listing_free);
    memset(&listings, 0, sizeof listings);
    dearest.known = false;
}
