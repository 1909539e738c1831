/*
 * Adds up tokens. Called by turn.c, ask.c and compaction.c; prices are models.c's.
 */
#include "agent/models/usage.h"

#include <support/json.h>

void usage_add(struct usage *sum, const struct usage *u)
{
    sum->in += u->in;
    sum->out += u->out;
    sum->cache_read += u->cache_read;
    sum->cache_write += u->cache_write;
    sum->reasoning += u->reasoning;
}

uint64_t usage_in(const struct usage *u)
{
    return u->in + u->cache_read + u->cache_write;
}

struct json_object *usage_json(const struct usage *u, double cost)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_int(o, "input", (int64_t)u->in);
    chela_json_put_int(o, "output", (int64_t)u->out);
    chela_json_put_int(o, "cacheRead", (int64_t)u->cache_read);
    chela_json_put_int(o, "cacheWrite", (int64_t)u->cache_write);
    chela_json_put_int(o, "total", (int64_t)(usage_in(u) + u->out));
    if (cost > 0)
        chela_json_put_double(o, "cost", cost);
    return o;
}
