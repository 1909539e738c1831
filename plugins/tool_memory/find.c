/*
 * A search over the notes: first for parts with all of the words, then, if there are too few, for
 * parts with any of them; BM25 from the store, weighed by the age of dated notes. Called by
 * tool_memory.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { WORDS_MOST = 12, MORE = 4 };

struct find {
    char *workspace, *words;
    size_t limit;
    bool any;
    struct hit *hits;
    size_t n;
    find_fn *fn;
    void *owner;
};

static void find_free(struct find *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->hits[i].path);
        free(f->hits[i].part);
        free(f->hits[i].text);
    }
    free(f->hits);
    free(f->workspace);
    free(f->words);
    free(f);
}

/* Words that every text has say nothing and cost most. */
static bool is_common(const char *w, size_t n)
{
    static const char words[] =
        " a an and are as at be but by can did do for from had has have how i if in is it its me "
        "my "
        "of on or our so that the their them then there they this to was we were what when where "
        "which who why will with would you your about tell please ";
    char padded[24];
    if (n + 2 >= sizeof padded)
        return false;
    padded[0] = ' ';
    for (size_t i = 0; i < n; i++)
        padded[i + 1] = w[i] >= 'A' && w[i] <= 'Z' ? (char)(w[i] - 'A' + 'a') : w[i];
    padded[n + 1] = ' ';
    padded[n + 2 < sizeof padded ? n + 2 : n + 1] = '\0';
    return strstr(words, padded) != NULL;
}

static bool is_word_byte(unsigned char c)
{
    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char *clean(const char *text)
{
    char *out = notes_need(malloc(strlen(text) + 2));
    size_t n = 0, count = 0;
    for (const char *p = text; *p && count < WORDS_MOST && n < 900;) {
        while (*p && !is_word_byte((unsigned char)*p))
            p++;
        const char *w = p;
        while (is_word_byte((unsigned char)*p))
            p++;
        size_t length = (size_t)(p - w);
        if (!length || length > 100 || is_common(w, length))
            continue;
        memcpy(out + n, w, length);
        n += length;
        out[n++] = ' ';
        count++;
    }
    out[n] = '\0';
    return out;
}

static void row(struct memory *m, void *owner, const struct chela_rows *r)
{
    struct find *f = owner;
    for (uint64_t i = 0; i + 4 < r->values.n; i += 5) {
        const struct chela_value *v = &r->values.v[i];
        char *path = notes_need(strndup(v[0].s.s, (size_t)v[0].s.n)),
             *part = notes_need(strndup(v[1].s.s, (size_t)v[1].s.n));
        bool known = !index_visible(m, path, f->workspace);
        for (size_t k = 0; k < f->n && !known; k++)
            known = strcmp(f->hits[k].path, path) == 0 && strcmp(f->hits[k].part, part) == 0;
        if (known) {
            free(path);
            free(part);
            continue;
        }
        f->hits = notes_need(realloc(f->hits, (f->n + 1) * sizeof *f->hits));
        f->hits[f->n++] = (struct hit){path, part, notes_need(strndup(v[4].s.s, (size_t)v[4].s.n)),
                                       (uint64_t)v[2].i, v[3].d};
    }
}

static int by_score(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    return x->score < y->score ? 1 : x->score > y->score ? -1 : strcmp(x->path, y->path);
}

static void weigh(struct memory *m, struct find *f)
{
    double half = (double)chela_option_number(m->in, "half_life"),
           now = (double)m->in->host->local->now_ms(m->in);
    for (size_t i = 0; i < f->n; i++) {
        double age = now - (double)f->hits[i].at;
        if (half > 0 && age > 0 && notes_date(f->hits[i].path))
            f->hits[i].score *= 0.5 + 0.5 * exp2(-age / half);
    }
    if (f->n)
        qsort(f->hits, f->n, sizeof *f->hits, by_score);
}

static void send(struct memory *m, struct find *f);

static void found(struct memory *m, void *owner, const struct chela_done *d)
{
    struct find *f = owner;
    if (d->error == CHELA_OK && f->n < f->limit && !f->any) {
        f->any = true;
        send(m, f);
        return;
    }
    weigh(m, f);
    f->fn(m, f->owner, f->hits, f->n < f->limit ? f->n : f->limit,
          d->error == CHELA_OK ? NULL : d->text.s);
    find_free(f);
}

static void send(struct memory *m, struct find *f)
{
    struct op *op = op_new(found, f);
    op->rows = row;
    CHELA_ARGS(chela_search, s, m->in->host->local->new_call(m->in));
    s.h.tag = (uint64_t)(uintptr_t)op;
    s.h.flags = f->any ? CHELA_ANY : 0;
    s.limit = (uint32_t)(f->limit * MORE);
    s.text = chela_s(f->words);
    m->in->host->kv->search(m->in, &s);
}

void find_notes(struct memory *m, const char *workspace, const char *words, size_t limit, bool any,
                find_fn *fn, void *owner)
{
    struct find *f = notes_need(calloc(1, sizeof *f));
    f->workspace = notes_need(strdup(workspace));
    f->words = clean(words);
    f->limit = limit;
    f->any = any;
    f->fn = fn;
    f->owner = owner;
    if (*f->words) {
        send(m, f);
        return;
    }
    fn(m, owner, NULL, 0, NULL);
    find_free(f);
}
