/*
 * Which notes mean what a question means: its vector is asked for, the nearest are chosen by their
 * signs and weighed with their whole vectors, which are fetched from the store. A provider that
 * takes too long is not waited for. Called by find.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meaning.h"

enum { CANDIDATES = 4 /* times what is wanted */ };

static double cosine(const signed char *a, const signed char *b, uint32_t n)
{
    int64_t dot = 0, x = 0, y = 0;
    for (uint32_t i = 0; i < n; i++) {
        dot += a[i] * b[i];
        x += a[i] * a[i];
        y += b[i] * b[i];
    }
    return x && y ? (double)dot / sqrt((double)x * (double)y) : 0;
}

struct question {
    struct memory *m;
    char *workspace;
    size_t limit;
    signed char *vector;
    struct alike *found;
    size_t count;
    unsigned left;
    uint64_t timer, call;
    alike_fn *fn;
    void *owner;
};

static int by_likeness(const void *a, const void *b)
{
    const struct alike *x = a, *y = b;
    return x->likeness < y->likeness ? 1 : x->likeness > y->likeness ? -1 : 0;
}

static void question_end(struct question *q)
{
    if (q->count)
        qsort(q->found, q->count, sizeof *q->found, by_likeness);
    q->fn(q->m, q->owner, q->found, q->count < q->limit ? q->count : q->limit);
    for (size_t i = 0; i < q->count; i++) {
        free(q->found[i].document);
        free(q->found[i].part);
    }
    free(q->found);
    free(q->vector);
    free(q->workspace);
    free(q);
}

/* The whole vectors of one document: those of its parts that were chosen are weighed. */
struct fetch {
    struct question *q;
    char *document;
};

static void fetched(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct memory *m = in->self;
    struct fetch *f = owner;
    struct question *q = f->q;
    struct head h;
    bool good = d->error == CHELA_OK && meaning_head(m, d->text, false, &h) &&
                h.numbers == m->meaning.table.numbers;
    const char *p = good ? d->text.s + sizeof h : NULL;
    for (uint32_t i = 0; good && i < h.count; i++, p += PART_NAME + sizeof(float) + h.numbers)
        for (size_t k = 0; k < q->count; k++)
            if (strcmp(q->found[k].document, f->document) == 0 &&
                strncmp(q->found[k].part, p, PART_NAME) == 0)
                q->found[k].likeness = cosine(
                    q->vector, (const signed char *)p + PART_NAME + sizeof(float), h.numbers);
    free(f->document);
    free(f);
    if (--q->left == 0)
        question_end(q);
}

static void fetch(struct question *q, const char *document)
{
    struct chela_inst *in = q->m->in;
    struct fetch *f = chela_need(calloc(1, sizeof *f));
    char *key = NULL;
    *f = (struct fetch){q, chela_need(strdup(document))};
    if (asprintf(&key, "v/%s", document) < 0)
        abort();
    q->left++;
    CHELA_ARGS(chela_key, k, in->host->local->new_call(in));
    k.h.tag = chela_op_new(fetched, f);
    k.key = chela_s(key);
    in->host->kv->get(in, &k);
    free(key);
}

static bool visible(void *arg, const char *document)
{
    const struct question *q = arg;
    return index_visible(q->m, document, q->workspace);
}

static void choose(struct question *q, const uint64_t *bits)
{
    size_t most = q->limit * CANDIDATES;
    struct near *near = chela_need(calloc(most, sizeof *near));
    size_t n = vectors_nearest(&q->m->meaning.table, bits, most, near, visible, q);
    q->found = chela_need(calloc(n + 1, sizeof *q->found));
    q->left = 1;
    for (size_t i = 0; i < n; i++) {
        bool asked = false;
        for (size_t k = 0; k < q->count && !asked; k++)
            asked = strcmp(q->found[k].document, near[i].document) == 0;
        q->found[q->count++] = (struct alike){chela_need(strdup(near[i].document)),
                                              chela_need(strdup(near[i].part)), 0};
        if (!asked)
            fetch(q, near[i].document);
    }
    free(near);
    if (--q->left == 0)
        question_end(q);
}

static void question_embedded(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct memory *m = in->self;
    struct question *q = owner;
    const struct vectors *table = &m->meaning.table;
    json_object *list = NULL;
    m->in->host->local->timer_stop(m->in, q->timer);
    if (d->error == CHELA_OK)
        chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &list, NULL);
    else if (d->error != CHELA_E_CANCELLED)
        meaning_failed(m, d);
    char *vector = chela_need(malloc(table->numbers + sizeof(float)));
    uint64_t *bits = chela_need(malloc((size_t)table->words * 8 + 8));
    bool good = list && table->count &&
                meaning_shrink(chela_json_at(list, 0), table->numbers, vector, bits);
    if (good) {
        q->vector = chela_need(malloc(table->numbers));
        memcpy(q->vector, vector + sizeof(float), table->numbers);
        choose(q, bits);
    } else {
        question_end(q);
    }
    free(vector);
    free(bits);
    json_object_put(list);
}

static void question_late(struct chela_inst *in, void *arg)
{
    struct question *q = arg;
    q->timer = 0;
    chela_cancel(in, q->call);
}

bool alike_ask(struct memory *m, const char *workspace, const char *text, size_t limit,
               uint64_t patience_ms, alike_fn *fn, void *owner)
{
    struct chela_inst *in = m->in;
    if (!m->meaning.loaded || !m->meaning.table.count || !*text)
        return false;
    struct question *q = chela_need(calloc(1, sizeof *q));
    *q = (struct question){.m = m, .limit = limit, .fn = fn, .owner = owner};
    q->workspace = chela_need(strdup(workspace));
    q->call = in->host->local->new_call(in);
    q->timer = in->host->local->timer(in, patience_ms, question_late, q);
    struct chela_pair pair = {{"", 0}, chela_s(text)};
    CHELA_ARGS(chela_embedding, a, q->call);
    a.h.tag = chela_op_new(question_embedded, q);
    a.texts.v = &pair;
    a.texts.n = 1;
    in->host->chat->embed(in, &a);
    return true;
}
