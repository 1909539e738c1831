/*
 * Counts calls that bring nothing new (see loopguard.h).
 */
#include "agent/tools/loopguard.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "base/mem.h"
#include "host/settings.h"

static uint64_t hash_text(uint64_t hash, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)p[i]) * 1099511628211u;
    return (hash ^ 0xff) * 1099511628211u;
}

static const uint64_t empty = 14695981039346656037u;

/* Times and counters change while nothing happens: each number counts as one and the same. */
static uint64_t hash_without_numbers(const char *p, size_t n)
{
    uint64_t hash = empty;
    for (size_t i = 0; i < n; i++) {
        bool digit = p[i] >= '0' && p[i] <= '9';
        if (digit && i > 0 && p[i - 1] >= '0' && p[i - 1] <= '9')
            continue;
        hash = (hash ^ (digit ? '#' : (unsigned char)p[i])) * 1099511628211u;
    }
    return hash;
}

static struct json_object *text_of(struct json_object *part)
{
    struct json_object *content = chela_json_array(part, "content");
    for (size_t i = 0; i < chela_json_length(content); i++) {
        const char *type = chela_json_string(chela_json_at(content, i), "type", NULL);
        if (type && strcmp(type, "text") == 0)
            return chela_json_at(content, i);
    }
    return NULL;
}

static struct loopguard_call entry_of(const char *name, const char *arguments,
                                      struct json_object *part)
{
    size_t n = 0;
    const char *text = chela_json_string(text_of(part), "text", &n);
    struct loopguard_call c;
    c.call = hash_text(hash_text(empty, name, strlen(name)), arguments, strlen(arguments));
    c.result = hash_without_numbers(text ? text : "", n);
    c.exact = hash_text(empty, text ? text : "", n);
    return c;
}

static bool same(const struct loopguard_call *a, const struct loopguard_call *b)
{
    return a->call == b->call && a->result == b->result;
}

static void add(struct loopguard *g, struct loopguard_call c)
{
    if (g->count == LOOPGUARD_KEPT) {
        memmove(g->calls, g->calls + 1, (LOOPGUARD_KEPT - 1) * sizeof *g->calls);
        g->count--;
    }
    g->calls[g->count++] = c;
}

/* How often the newest call was made with nothing new. */
static unsigned times(const struct loopguard *g, const struct loopguard_call *c, bool *ret_exact)
{
    unsigned n = 0;
    *ret_exact = true;
    for (unsigned i = 0; i < g->count; i++) {
        if (!same(&g->calls[i], c))
            continue;
        n++;
        *ret_exact = *ret_exact && g->calls[i].exact == c->exact;
    }
    return n;
}

/* Do the last calls alternate between two? */
static bool alternates(const struct loopguard *g)
{
    if (g->count < 6 || same(&g->calls[g->count - 1], &g->calls[g->count - 2]))
        return false;
    for (unsigned i = g->count - 4; i < g->count; i++)
        if (!same(&g->calls[i], &g->calls[i - 2]))
            return false;
    return true;
}

static void warn(struct json_object *part, const char *reason)
{
    struct json_object *text = text_of(part);
    const char *said = chela_json_string(text, "text", NULL);
    if (!text)
        return;
    CLEANUP(freep)
    char *more = xprintf("%s\n[Note: %s. Try another way, or say what is in the way.]",
                         said ? said : "", reason);
    chela_json_put_text(text, "text", more);
}

static enum loop_state judge(const struct loopguard *g, const struct loopguard_call *c,
                             const char *name, char reason[300])
{
    int64_t warns = settings_number_or("tools.loop.warn", 5);
    int64_t ends = settings_number_or("tools.loop.end", 10);
    bool exact;
    unsigned n = times(g, c, &exact);
    bool over = ends > 0 && n >= (uint64_t)ends;
    if (!over && (warns <= 0 || n < (uint64_t)warns))
        return LOOP_NONE;
    if (alternates(g))
        snprintf(reason, 300,
                 "the same two calls follow each other in turn, %u times, and change nothing", n);
    else
        snprintf(reason, 300, "%.100s was called %u times with the same arguments and %s", name, n,
                 exact ? "gave the same result" : "made no progress");
    return over ? LOOP_END : LOOP_WARN;
}

enum loop_state loopguard_batch(struct loopguard *g, char *const *names, char *const *arguments,
                                unsigned count, struct json_object *parts, char reason[300])
{
    enum loop_state state = LOOP_NONE;
    unsigned before = g->count;
    for (unsigned i = 0; i < count && state != LOOP_END; i++) {
        struct json_object *part = chela_json_at(parts, i);
        struct loopguard_call c = entry_of(names[i], arguments[i], part);
        bool twice = false; /* twins side by side are no loop */
        for (unsigned k = before; k < g->count && before < LOOPGUARD_KEPT; k++)
            twice = twice || same(&g->calls[k], &c);
        if (twice)
            continue;
        if (g->count == LOOPGUARD_KEPT && before > 0)
            before--;
        add(g, c);
        enum loop_state one = judge(g, &c, names[i], reason);
        if (one == LOOP_WARN)
            warn(part, reason);
        state = one > state ? one : state;
    }
    return state;
}
