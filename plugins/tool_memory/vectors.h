/*
 * Vectors of the notes' parts, in memory as one bit for each number: its sign. How many bits two
 * of them differ in tells the angle between them well enough to choose among a hundred thousand in
 * a few milliseconds; who is chosen is then weighed with the whole vectors, which stand in the
 * store. Called by meaning.c; knows no host.
 */
#ifndef TOOL_MEMORY_VECTORS_H
#define TOOL_MEMORY_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/json.h"

enum { PART_NAME = 24 };

struct vectors {
    uint32_t numbers, words; /* of a vector; 64 bits each */
    char **documents;
    size_t document_count, document_room;
    json_object *at; /* document -> its number */
    struct vector_part {
        uint32_t document; /* UINT32_MAX: gone */
        char name[PART_NAME];
    } * parts;
    uint64_t *bits; /* words for each part */
    size_t count, room, gone;
};

struct near {
    const char *document, *part; /* valid until the table changes */
    uint32_t distance;           /* bits that differ */
};

/* Empties it; numbers: how many a vector has from now on. */
void vectors_reset(struct vectors *v, uint32_t numbers);
int vectors_documents(const struct vectors *v); /* how many */
bool vectors_has(const struct vectors *v, const char *document);
void vectors_remove(struct vectors *v, const char *document);
/* Adds a part; those of a document come one after the other. bits: `words` of them. */
void vectors_add(struct vectors *v, const char *document, const char *part, const uint64_t *bits);
/* The nearest `most` parts of documents that `visible` lets through, the nearest first. */
size_t vectors_nearest(const struct vectors *v, const uint64_t *bits, size_t most, struct near *out,
                       bool (*visible)(void *arg, const char *document), void *arg);

#endif
