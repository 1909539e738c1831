/*
 * What notes mean, by the embeddings of a provider, where the configuration names a model for them:
 * a vector for each part of a note, kept in the store with one byte for each number and searched by
 * its signs (vectors.h). Without such a model, or while its provider doesn't answer, memory finds
 * by words alone. Called by index.c and find.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meaning.h"

enum {
    LOOK_MS = 60000,     /* how old may be what is known of the configuration's model */
    NONE_MS = 1000,      /* ... if it names none */
    FAILED_MS = 300000,  /* a provider that failed is left alone so long */
    TEXTS_MOST = 32,     /* of one request */
    VALUE_MOST = 900000, /* of the store */
    NUMBERS_MOST = 8192
};

static uint64_t hash_of(const char *text)
{
    uint64_t h = 14695981039346656037u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

static size_t sign_bytes(const struct head *h)
{
    return ((size_t)h->numbers + 63) / 64 * 8;
}

bool meaning_head(struct memory *m, struct chela_str value, bool signs, struct head *h)
{
    if (value.n < sizeof *h)
        return false;
    memcpy(h, value.s, sizeof *h);
    if (h->model != m->meaning.hash || !h->numbers || h->numbers > NUMBERS_MOST)
        return false;
    size_t each = PART_NAME + (signs ? sign_bytes(h) : sizeof(float) + h->numbers);
    return h->count <= value.n / each && value.n == sizeof *h + h->count * each;
}

/* ---- which model ---- */

static void sign_row(struct chela_inst *in, void *owner, const struct chela_rows *r)
{
    struct memory *m = in->self;
    struct vectors *v = &m->meaning.table;
    (void)owner;
    for (uint64_t i = 0; i + 1 < r->values.n; i += 2) {
        const struct chela_value *row = &r->values.v[i];
        struct head h;
        if (row[0].s.n < 2 || !meaning_head(m, row[1].s, true, &h) ||
            (v->count && v->numbers != h.numbers))
            continue;
        if (!v->count)
            vectors_reset(v, h.numbers);
        char *document = chela_need(strndup(row[0].s.s + 2, (size_t)row[0].s.n - 2));
        uint64_t *bits = chela_need(malloc(sign_bytes(&h)));
        const char *p = row[1].s.s + sizeof h;
        for (uint32_t k = 0; k < h.count; k++, p += PART_NAME + sign_bytes(&h)) {
            char name[PART_NAME];
            memcpy(name, p, sizeof name);
            name[PART_NAME - 1] = '\0';
            memcpy(bits, p + PART_NAME, sign_bytes(&h));
            vectors_add(v, document, name, bits);
        }
        free(bits);
        free(document);
    }
}

static void signs_loaded(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct memory *m = in->self;
    (void)owner;
    if (d->error != CHELA_OK)
        chela_log(m->in, CHELA_WARN, "the notes' vectors cannot be read");
    m->meaning.loaded = true;
    m->watch.whole = true; /* what has no vectors gets them */
    index_refresh(m, NULL, NULL);
}

static void model_told(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct memory *m = in->self;
    struct meaning *g = &m->meaning;
    json_object *o = NULL;
    (void)owner;
    chela_json_parse(d->extra.s, (size_t)d->extra.n, NULL, &o, NULL);
    const char *model = d->error == CHELA_OK ? chela_json_string(o, "model", NULL) : NULL;
    uint64_t hash = model ? hash_of(model) : 0;
    if (hash != g->hash) {
        g->hash = hash;
        g->loaded = false;
        vectors_reset(&g->table, 0);
    }
    json_object_put(o);
    if (!hash) /* its provider may still be starting */
        g->next_ms = m->in->host->local->ticks_ms(m->in) + NONE_MS;
    if (!hash || g->loaded)
        return;
    CHELA_ARGS(chela_key, k, m->in->host->local->new_call(m->in));
    k.h.tag = chela_op_new_rows(signs_loaded, sign_row, NULL);
    k.key = chela_s("s/");
    m->in->host->kv->list(m->in, &k);
}

static void ask_model(struct memory *m)
{
    CHELA_ARGS(chela_embedding, e, m->in->host->local->new_call(m->in));
    e.h.tag = chela_op_new(model_told, NULL);
    m->in->host->chat->embed(m->in, &e);
}

void meaning_look(struct memory *m)
{
    uint64_t now = m->in->host->local->ticks_ms(m->in);
    if (!m->loaded || now < m->meaning.next_ms || !chela_option_number(m->in, "vectors"))
        return;
    m->meaning.next_ms = now + LOOK_MS;
    ask_model(m);
}

void meaning_failed(struct memory *m, const struct chela_done *d)
{
    char *line = NULL;
    if (asprintf(&line, "embeddings fail, notes are found by their words: %.*s", (int)d->text.n,
                 d->text.n ? d->text.s : "") < 0)
        abort();
    if (m->meaning.hash)
        chela_log(m->in, CHELA_WARN, line);
    free(line);
    m->meaning.hash = 0;
    m->meaning.loaded = false;
    vectors_reset(&m->meaning.table, 0);
    m->meaning.next_ms = m->in->host->local->ticks_ms(m->in) + FAILED_MS;
}

bool meaning_wants(struct memory *m, const char *document)
{
    return m->meaning.loaded && !vectors_has(&m->meaning.table, document);
}

void meaning_close(struct memory *m)
{
    vectors_reset(&m->meaning.table, 0);
}

/* ---- what an answer says ---- */

bool meaning_shrink(json_object *numbers, uint32_t n, char *out, uint64_t *bits)
{
    double most = 0;
    float scale;
    if (chela_json_length(numbers) != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        most = fmax(most, fabs(json_object_get_double(chela_json_at(numbers, i))));
    if (!(most > 0) || !isfinite(most))
        return false;
    scale = (float)(most / 127);
    memcpy(out, &scale, sizeof scale);
    memset(bits, 0, ((size_t)n + 63) / 64 * 8);
    for (uint32_t i = 0; i < n; i++) {
        double x = json_object_get_double(chela_json_at(numbers, i));
        out[sizeof scale + i] = (char)(signed char)lrint(x / scale);
        if (x > 0)
            bits[i / 64] |= (uint64_t)1 << (i % 64);
    }
    return true;
}

/* ---- vectors for notes ---- */

struct item {
    size_t document;
    const struct note_part *part;
};

struct embedding {
    struct memory *m;
    char **documents;
    size_t document_count;
    struct item *items;
    size_t count;
    uint32_t numbers;
    char *vectors; /* a scale and `numbers` bytes each */
    uint64_t *bits;
    uint64_t hash;
    unsigned left;
    bool failed;
    meaning_fn *fn;
    void *owner;
};

struct slice {
    struct embedding *e;
    size_t first, count;
};

static void put_value(struct memory *m, const char *kind, const char *document, const char *data,
                      size_t n)
{
    char *key = NULL;
    if (asprintf(&key, "%s/%s", kind, document) < 0)
        abort();
    CHELA_ARGS(chela_key, k, m->in->host->local->new_call(m->in));
    k.h.tag = chela_op_new(NULL, NULL);
    k.key = chela_s(key);
    k.value = chela_sn(data, n);
    if (strlen(key) > 1000)
        free((void *)(uintptr_t)k.h.tag);
    else if (data)
        m->in->host->kv->put(m->in, &k);
    else
        m->in->host->kv->del(m->in, &k);
    free(key);
}

void meaning_drop(struct memory *m, const char *document)
{
    if (!vectors_has(&m->meaning.table, document))
        return;
    vectors_remove(&m->meaning.table, document);
    put_value(m, "v", document, NULL, 0);
    put_value(m, "s", document, NULL, 0);
}

/* Stores the vectors of one document: items first to last. */
static void keep(struct embedding *e, size_t document, size_t first, size_t last)
{
    struct memory *m = e->m;
    size_t vector = sizeof(float) + e->numbers, most = VALUE_MOST / (vector + PART_NAME);
    struct head h = {e->hash, e->numbers, (uint32_t)(last - first < most ? last - first : most)};
    size_t sign = sign_bytes(&h), whole = sizeof h + h.count * (PART_NAME + vector),
           short_ = sizeof h + h.count * (PART_NAME + sign);
    char *v = chela_need(calloc(1, whole)), *s = chela_need(calloc(1, short_));
    char *a = v + sizeof h, *b = s + sizeof h;
    memcpy(v, &h, sizeof h);
    memcpy(s, &h, sizeof h);
    for (size_t i = first; i < first + h.count; i++) {
        const char *name = e->items[i].part->name;
        memcpy(a, name, strnlen(name, PART_NAME - 1));
        memcpy(b, name, strnlen(name, PART_NAME - 1));
        memcpy(a + PART_NAME, e->vectors + i * vector, vector);
        memcpy(b + PART_NAME, e->bits + i * (sign / 8), sign);
        a += PART_NAME + vector;
        b += PART_NAME + sign;
        vectors_add(&m->meaning.table, e->documents[document], name, e->bits + i * (sign / 8));
    }
    put_value(m, "v", e->documents[document], v, whole);
    put_value(m, "s", e->documents[document], s, short_);
    free(v);
    free(s);
}

static void embedding_end(struct embedding *e)
{
    struct memory *m = e->m;
    struct vectors *table = &m->meaning.table;
    bool fits = !e->failed && e->numbers && m->meaning.loaded && e->hash == m->meaning.hash;
    if (fits && !table->count)
        vectors_reset(table, e->numbers);
    for (size_t i = 0, last; fits && table->numbers == e->numbers && i < e->count; i = last) {
        for (last = i; last < e->count && e->items[last].document == e->items[i].document;)
            last++;
        keep(e, e->items[i].document, i, last);
    }
    for (size_t i = 0; i < e->document_count; i++)
        free(e->documents[i]);
    free(e->documents);
    free(e->items);
    free(e->vectors);
    free(e->bits);
    e->fn(m, e->owner);
    free(e);
}

static void embedded(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct memory *m = in->self;
    struct slice *s = owner;
    struct embedding *e = s->e;
    json_object *list = NULL;
    if (d->error == CHELA_OK)
        chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &list, NULL);
    uint32_t n = (uint32_t)chela_json_length(chela_json_at(list, 0));
    if (!e->numbers && n && n <= NUMBERS_MOST) {
        e->numbers = n;
        e->vectors = chela_need(calloc(e->count, sizeof(float) + n));
        e->bits = chela_need(calloc(e->count, ((size_t)n + 63) / 64 * 8));
    }
    bool good = e->numbers && n == e->numbers && chela_json_length(list) == s->count;
    for (size_t i = 0; good && i < s->count; i++)
        good = meaning_shrink(chela_json_at(list, i), n,
                              e->vectors + (s->first + i) * (sizeof(float) + n),
                              e->bits + (s->first + i) * (((size_t)n + 63) / 64));
    if (!good && !e->failed)
        meaning_failed(m, d);
    e->failed = e->failed || !good;
    json_object_put(list);
    free(s);
    if (--e->left == 0)
        embedding_end(e);
}

static void send_slice(struct embedding *e, size_t first)
{
    struct chela_inst *in = e->m->in;
    struct chela_pair texts[TEXTS_MOST];
    struct slice *s = chela_need(calloc(1, sizeof *s));
    size_t left = e->count - first;
    *s = (struct slice){e, first, left < TEXTS_MOST ? left : TEXTS_MOST};
    memset(texts, 0, sizeof texts);
    for (size_t i = 0; i < s->count; i++)
        texts[i].value = chela_s(e->items[first + i].part->text);
    e->left++;
    CHELA_ARGS(chela_embedding, a, in->host->local->new_call(in));
    a.h.tag = chela_op_new(embedded, s);
    a.texts.v = texts;
    a.texts.n = s->count;
    in->host->chat->embed(in, &a);
}

struct embedding *meaning_begin(struct memory *m, meaning_fn *fn, void *owner)
{
    struct embedding *e = chela_need(calloc(1, sizeof *e));
    e->m = m;
    e->hash = m->meaning.hash;
    e->fn = fn;
    e->owner = owner;
    return e;
}

void meaning_add(struct embedding *e, const char *document, const struct note_parts *parts)
{
    e->documents =
        chela_need(realloc(e->documents, (e->document_count + 1) * sizeof *e->documents));
    e->items = chela_need(realloc(e->items, (e->count + parts->n + 1) * sizeof *e->items));
    for (size_t i = 0; i < parts->n; i++)
        e->items[e->count++] = (struct item){e->document_count, &parts->v[i]};
    e->documents[e->document_count++] = chela_need(strdup(document));
}

void meaning_send(struct embedding *e)
{
    e->left = 1;
    for (size_t first = 0; first < e->count; first += TEXTS_MOST)
        send_slice(e, first);
    if (--e->left == 0)
        embedding_end(e);
}
