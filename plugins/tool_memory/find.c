/*
 * A search over the notes: by words (parts with all of them first, then, if there are too few,
 * parts with any; BM25 from the store) and, side by side, by what they mean, if they have vectors.
 * Both lists become one, weighed by the age of dated notes. Called by tool_memory.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum {
    WORDS_MOST = 12,
    MORE = 4,
    PATIENCE_MS = 20000, /* for a question's vector, when somebody asked for a search */
    AUTO_PATIENCE_MS = 1500,
    TEXT_MOST = 4000
};
/* What a perfect hit by words and one by meaning count. */
static const double by_words = 0.4, by_meaning = 0.6;

struct find {
    struct memory *m;
    char *workspace, *words, *error;
    size_t limit, n;
    bool any, automatic;
    unsigned left; /* lists that are awaited */
    struct hit *hits;
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
    free(f->error);
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
    char *out = chela_need(malloc(strlen(text) + 2));
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

static struct hit *hit_of(struct find *f, const char *path, const char *part)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->hits[i].path, path) == 0 && strcmp(f->hits[i].part, part) == 0)
            return &f->hits[i];
    f->hits = chela_need(realloc(f->hits, (f->n + 1) * sizeof *f->hits));
    struct hit *h = &f->hits[f->n++];
    *h = (struct hit){.path = chela_need(strdup(path)), .part = chela_need(strdup(part))};
    return h;
}

/* MEMORY.md is told anyway, so a question need not find it. */
static bool is_wanted(struct find *f, const char *path)
{
    size_t n = strlen(f->workspace);
    return index_visible(f->m, path, f->workspace) &&
           !(f->automatic && strncmp(path, f->workspace, n) == 0 &&
             strcmp(path + n, "/MEMORY.md") == 0);
}

static void row(struct chela_inst *in, void *owner, const struct chela_rows *r)
{
    struct memory *m = in->self;
    struct find *f = owner;
    (void)m;
    for (uint64_t i = 0; i + 4 < r->values.n; i += 5) {
        const struct chela_value *v = &r->values.v[i];
        char *path = chela_need(strndup(v[0].s.s, (size_t)v[0].s.n)),
             *part = chela_need(strndup(v[1].s.s, (size_t)v[1].s.n));
        struct hit *h = is_wanted(f, path) ? hit_of(f, path, part) : NULL;
        if (h && !h->text) {
            h->text = chela_need(strndup(v[4].s.s, (size_t)v[4].s.n));
            h->rank = v[3].d;
        }
        free(path);
        free(part);
    }
}

static int by_score(const void *a, const void *b)
{
    const struct hit *x = a, *y = b;
    return x->score < y->score ? 1 : x->score > y->score ? -1 : strcmp(x->path, y->path);
}

/* Both lists as one: each relative to its best, what stands in both counts twice. */
static void weigh(struct find *f)
{
    struct memory *m = f->m;
    double half = (double)chela_option_number(m->in, "half_life"),
           now = (double)m->in->host->local->now_ms(m->in), best = 0;
    bool alike = false;
    for (size_t i = 0; i < f->n; i++) {
        best = fmax(best, f->hits[i].rank);
        alike = alike || f->hits[i].likeness > 0;
    }
    for (size_t i = 0; i < f->n; i++) {
        struct hit *h = &f->hits[i];
        uint64_t date = notes_date(h->path);
        double age = now - (double)date;
        h->score =
            alike ? by_words * (best > 0 ? h->rank / best : 0) + by_meaning * h->likeness : h->rank;
        if (half > 0 && date && age > 0)
            h->score *= 0.5 + 0.5 * exp2(-age / half);
    }
    if (f->n)
        qsort(f->hits, f->n, sizeof *f->hits, by_score);
}

/* ---- the end ---- */

static void find_end(struct find *f)
{
    size_t n = f->n < f->limit ? f->n : f->limit;
    f->fn(f->m, f->owner, f->hits, n, n ? NULL : f->error);
    find_free(f);
}

/* What was found by its meaning alone is read from its file. */
static void read_texts(struct chela_inst *in, void *arg)
{
    struct find *f = arg;
    (void)in;
    for (size_t i = 0; i < f->n && i < f->limit; i++) {
        struct hit *h = &f->hits[i];
        int first = 1, last = 1;
        if (h->text || sscanf(h->part, "%d-%d", &first, &last) != 2)
            continue;
        h->text = notes_text(h->path, first, last - first + 1, TEXT_MOST);
    }
}

/* What is gone meanwhile goes to the end. */
static void texts_read(struct chela_inst *in, void *arg)
{
    struct find *f = arg;
    size_t n = 0;
    (void)in;
    for (size_t i = 0; i < f->n; i++) {
        struct hit h = f->hits[i];
        if (!h.text)
            continue;
        f->hits[i] = f->hits[n];
        f->hits[n++] = h;
    }
    f->limit = n < f->limit ? n : f->limit;
    find_end(f);
}

static void list_done(struct find *f)
{
    bool missing = false;
    if (--f->left)
        return;
    weigh(f);
    for (size_t i = 0; i < f->n && i < f->limit; i++)
        missing = missing || !f->hits[i].text;
    if (missing)
        f->m->in->host->local->work(f->m->in, read_texts, texts_read, f);
    else
        find_end(f);
}

/* ---- by words ---- */

static void send(struct find *f);

static void found(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct memory *m = in->self;
    struct find *f = owner;
    (void)m;
    if (d->error == CHELA_OK && f->n < f->limit && !f->any) {
        f->any = true;
        send(f);
        return;
    }
    if (d->error != CHELA_OK)
        f->error = chela_need(strndup(d->text.n ? d->text.s : "", (size_t)d->text.n));
    list_done(f);
}

static void send(struct find *f)
{
    struct chela_inst *in = f->m->in;
    CHELA_ARGS(chela_search, s, in->host->local->new_call(in));
    s.h.tag = chela_op_new_rows(found, row, f);
    s.h.flags = f->any ? CHELA_ANY : 0;
    s.limit = (uint32_t)(f->limit * MORE);
    s.text = chela_s(f->words);
    in->host->kv->search(in, &s);
}

/* ---- by meaning ---- */

static void alike_found(struct memory *m, void *owner, const struct alike *v, size_t n)
{
    struct find *f = owner;
    double least = (double)chela_option_number(m->in, "similarity") / 100;
    for (size_t i = 0; i < n; i++)
        if (v[i].likeness >= least && is_wanted(f, v[i].document))
            hit_of(f, v[i].document, v[i].part)->likeness = v[i].likeness;
    list_done(f);
}

void find_notes(struct memory *m, const char *workspace, const char *words, size_t limit, bool any,
                find_fn *fn, void *owner)
{
    struct find *f = chela_need(calloc(1, sizeof *f));
    f->m = m;
    f->workspace = chela_need(strdup(workspace));
    f->words = clean(words);
    f->limit = limit;
    f->any = f->automatic = any;
    f->fn = fn;
    f->owner = owner;
    f->left = 1;
    if (alike_ask(m, workspace, words, limit * 2, any ? AUTO_PATIENCE_MS : PATIENCE_MS, alike_found,
                  f))
        f->left++;
    if (*f->words)
        send(f);
    else
        list_done(f);
}
