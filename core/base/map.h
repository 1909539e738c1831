/*
 * Hash maps from strings or 64-bit numbers to pointers. Keys are copied. Seeded at random, since
 * keys may come from outside. Iteration order is unspecified.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
    char *key; /* NULL in a map of numbers */
    uint64_t number;
    void *value; /* NULL: slot is free */
};

struct map {
    struct map_slot *slots;
    size_t count, size;
};

void *map_get(const struct map *m, const char *key);
/* Sets a value that isn't NULL; returns the one that it replaces, or NULL. */
void *map_set(struct map *m, const char *key, void *value);
void *map_remove(struct map *m, const char *key);

void *map_get_number(const struct map *m, uint64_t key);
void *map_set_number(struct map *m, uint64_t key, void *value);
void *map_remove_number(struct map *m, uint64_t key);

/* for (size_t i = 0; map_next(m, &i, &slot);): the map must not change meanwhile. */
bool map_next(const struct map *m, size_t *position, const struct map_slot **ret_slot);
/* Frees the map and, if `free_value` isn't NULL, each value. */
void map_free(struct map *m, void (*free_value)(void *));

#endif
