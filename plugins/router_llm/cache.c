/*
 * The classifier's answers (see cache.h): a short list, searched from its front, where what was
 * used last stands. Called by router_llm.c.
 */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    char *question;
    size_t length;
    uint64_t at;
    int class;
};

struct cache {
    struct entry *entries;
    size_t count, most;
    uint64_t time_ms;
};

struct cache *cache_open(size_t most, uint64_t time_ms)
{
    struct cache *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->entries = calloc(most ? most : 1, sizeof *c->entries);
    if (!c->entries)
        abort();
    c->most = most;
    c->time_ms = time_ms;
    return c;
}

void cache_close(struct cache *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->entries[i].question);
    free(c->entries);
    free(c);
}

static void to_front(struct cache *c, size_t i)
{
    struct entry e = c->entries[i];
    memmove(c->entries + 1, c->entries, i * sizeof e);
    c->entries[0] = e;
}

static size_t find(const struct cache *c, const char *question, size_t length)
{
    size_t i = 0;
    while (i < c->count && (c->entries[i].length != length ||
                            memcmp(c->entries[i].question, question, length) != 0))
        i++;
    return i;
}

int cache_get(struct cache *c, const char *question, uint64_t now)
{
    size_t i = find(c, question, strlen(question));
    if (i == c->count || now - c->entries[i].at > c->time_ms)
        return -1;
    to_front(c, i);
    return c->entries[0].class;
}

void cache_put(struct cache *c, const char *question, int class, uint64_t now)
{
    size_t length = strlen(question), i = find(c, question, length);
    if (c->most == 0)
        return;
    if (i == c->count && c->count < c->most) {
        c->count++;
    } else if (i == c->count) {
        i--; /* the last makes room */
        free(c->entries[i].question);
        c->entries[i].question = NULL;
    }
    if (!c->entries[i].question) {
        c->entries[i].question = strdup(question);
        if (!c->entries[i].question)
            abort();
        c->entries[i].length = length;
    }
    c->entries[i].class = class;
    c->entries[i].at = now;
    to_front(c, i);
}
