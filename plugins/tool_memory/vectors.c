/* The table of signatures (see vectors.h). */
#include "vectors.h"

#include <stdlib.h>
#include <string.h>

#include "support/text.h"

void vectors_reset(struct vectors *v, uint32_t numbers)
{
    for (size_t i = 0; i < v->document_count; i++)
        free(v->documents[i]);
    free(v->documents);
    free(v->parts);
    free(v->bits);
    json_object_put(v->at);
    memset(v, 0, sizeof *v);
    v->numbers = numbers;
    v->words = (numbers + 63) / 64;
}

static bool number_of(const struct vectors *v, const char *document, uint32_t *ret)
{
    int64_t n = chela_json_int(v->at, document, -1);
    *ret = (uint32_t)n;
    return n >= 0;
}

int vectors_documents(const struct vectors *v)
{
    return v->at ? json_object_object_length(v->at) : 0;
}

bool vectors_has(const struct vectors *v, const char *document)
{
    uint32_t n;
    return v->at && number_of(v, document, &n);
}

/* Without the parts that are gone; documents keep their numbers. */
static void compact(struct vectors *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->count; i++) {
        if (v->parts[i].document == UINT32_MAX)
            continue;
        v->parts[n] = v->parts[i];
        memmove(v->bits + n * v->words, v->bits + i * v->words, v->words * sizeof *v->bits);
        n++;
    }
    v->count = n;
    v->gone = 0;
}

void vectors_remove(struct vectors *v, const char *document)
{
    uint32_t n;
    if (!v->at || !number_of(v, document, &n))
        return;
    for (size_t i = 0; i < v->count; i++)
        if (v->parts[i].document == n) {
            v->parts[i].document = UINT32_MAX;
            v->gone++;
        }
    free(v->documents[n]);
    v->documents[n] = NULL;
    json_object_object_del(v->at, document);
    if (v->gone > 1000 && v->gone > v->count / 2)
        compact(v);
}

static uint32_t add_document(struct vectors *v, const char *document)
{
    uint32_t n;
    if (!v->at)
        v->at = chela_json_new_object();
    if (number_of(v, document, &n))
        return n;
    if (v->document_count == v->document_room) {
        v->document_room = v->document_room ? v->document_room * 2 : 64;
        v->documents = chela_need(realloc(v->documents, v->document_room * sizeof *v->documents));
    }
    v->documents[v->document_count] = chela_need(strdup(document));
    chela_json_put_int(v->at, document, (int64_t)v->document_count);
    return (uint32_t)v->document_count++;
}

void vectors_add(struct vectors *v, const char *document, const char *part, const uint64_t *bits)
{
    if (v->count == v->room) {
        v->room = v->room ? v->room * 2 : 64;
        v->parts = chela_need(realloc(v->parts, v->room * sizeof *v->parts));
        v->bits = chela_need(realloc(v->bits, v->room * v->words * sizeof *v->bits));
    }
    struct vector_part *p = &v->parts[v->count];
    memset(p, 0, sizeof *p);
    p->document = add_document(v, document);
    memcpy(p->name, part, strnlen(part, PART_NAME - 1));
    memcpy(v->bits + v->count * v->words, bits, v->words * sizeof *bits);
    v->count++;
}

static uint32_t distance(const uint64_t *a, const uint64_t *b, uint32_t words)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < words; i++)
        n += (uint32_t)__builtin_popcountll(a[i] ^ b[i]);
    return n;
}

size_t vectors_nearest(const struct vectors *v, const uint64_t *bits, size_t most, struct near *out,
                       bool (*visible)(void *arg, const char *document), void *arg)
{
    size_t n = 0;
    for (size_t i = 0; i < v->count; i++) {
        const struct vector_part *p = &v->parts[i];
        uint32_t d = distance(bits, v->bits + i * v->words, v->words);
        if (p->document == UINT32_MAX || (n == most && d >= out[n - 1].distance) ||
            !visible(arg, v->documents[p->document]))
            continue;
        size_t at = n < most ? n++ : n - 1;
        while (at && out[at - 1].distance > d) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = (struct near){v->documents[p->document], p->name, d};
    }
    return n;
}
