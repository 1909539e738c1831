/*
 * Hash maps with open addressing and linear probing (see map.h). A removed slot is closed by moving
 * its followers back, so there are no tombstones.
 */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/mem.h"

static uint64_t seed;

static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

static uint64_t hash_string(const char *key)
{
    uint64_t h = seed ^ 0xcbf29ce484222325u;
    for (; *key; key++)
        h = (h ^ (unsigned char)*key) * 0x100000001b3u;
    return mix(h);
}

static uint64_t hash_of(const char *key, uint64_t number)
{
    return key ? hash_string(key) : mix(number ^ seed);
}

static bool same(const struct map_slot *s, const char *key, uint64_t number)
{
    return key ? s->key && strcmp(s->key, key) == 0 : !s->key && s->number == number;
}

/* The slot that holds the key, or the free one where it belongs. The map isn't empty. */
static struct map_slot *find(const struct map *m, const char *key, uint64_t number)
{
    size_t i = (size_t)hash_of(key, number) & (m->size - 1);
    while (m->slots[i].value && !same(&m->slots[i], key, number))
        i = (i + 1) & (m->size - 1);
    return &m->slots[i];
}

static void grow(struct map *m)
{
    struct map old = *m;
    if (!seed)
        seed = id_random() | 1;
    m->size = old.size ? old.size * 2 : 16;
    m->slots = xcalloc(m->size, sizeof *m->slots);
    for (size_t i = 0; i < old.size; i++)
        if (old.slots[i].value)
            *find(m, old.slots[i].key, old.slots[i].number) = old.slots[i];
    free(old.slots);
}

static void *get(const struct map *m, const char *key, uint64_t number)
{
    return m->size ? find(m, key, number)->value : NULL;
}

static void *set(struct map *m, const char *key, uint64_t number, void *value)
{
    if ((m->count + 1) * 4 > m->size * 3)
        grow(m);
    struct map_slot *s = find(m, key, number);
    void *before = s->value;
    if (!before) {
        s->key = xstrdup(key);
        s->number = number;
        m->count++;
    }
    s->value = value;
    return before;
}

static void *take(struct map *m, const char *key, uint64_t number)
{
    if (!m->size)
        return NULL;
    struct map_slot *s = find(m, key, number);
    void *value = s->value;
    if (!value)
        return NULL;
    free(s->key);
    *s = (struct map_slot){0};
    m->count--;
    size_t mask = m->size - 1, hole = (size_t)(s - m->slots);
    for (size_t i = (hole + 1) & mask; m->slots[i].value; i = (i + 1) & mask) {
        size_t home = (size_t)hash_of(m->slots[i].key, m->slots[i].number) & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->slots[hole] = m->slots[i];
            m->slots[i] = (struct map_slot){0};
            hole = i;
        }
    }
    return value;
}

void *map_get(const struct map *m, const char *key)
{
    return get(m, key, 0);
}

void *map_set(struct map *m, const char *key, void *value)
{
    return set(m, key, 0, value);
}

void *map_remove(struct map *m, const char *key)
{
    return take(m, key, 0);
}

void *map_get_number(const struct map *m, uint64_t key)
{
    return get(m, NULL, key);
}

void *map_set_number(struct map *m, uint64_t key, void *value)
{
    return set(m, NULL, key, value);
}

void *map_remove_number(struct map *m, uint64_t key)
{
    return take(m, NULL, key);
}

bool map_next(const struct map *m, size_t *position, const struct map_slot **ret_slot)
{
    while (*position < m->size) {
        const struct map_slot *s = &m->slots[(*position)++];
        if (s->value) {
            *ret_slot = s;
            return true;
        }
    }
    return false;
}

void map_free(struct map *m, void (*free_value)(void *))
{
    for (size_t i = 0; i < m->size; i++) {
        if (m->slots[i].value && free_value)
            free_value(m->slots[i].value);
        free(m->slots[i].key);
    }
    free(m->slots);
    *m = (struct map){0};
}
