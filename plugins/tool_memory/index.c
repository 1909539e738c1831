/*
 * The index follows the notes on disk: what has changed since it was last looked at is read and
 * split on a pool thread, a few files at a time, and replaced in the host's full-text index, and
 * given vectors where there is a model for them; a file's stamp is stored beside it, so that a
 * restart reads nothing twice. Called by tool_memory.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/linkhash.h>

#include "memory.h"

enum { BATCH = 16 };

struct waiter {
    struct waiter *next;
    index_fn *fn;
    void *owner;
};

/* One pass over the disk: over all that is there, or over what is known to have changed. */
struct pass {
    struct memory *m;
    json_object *changed; /* path -> true */
    bool whole;
    char **roots;
    size_t root_count;
    struct note_list list;
    size_t at;                 /* next of the list */
    struct note *batch[BATCH]; /* being read */
    bool is_new[BATCH];        /* else only its vectors are missing */
    struct note_parts parts[BATCH];
    size_t batch_count, writes;
};

/* ---- places ---- */

char *index_path(const char *workspace, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", workspace, name) < 0)
        abort();
    return path;
}

void index_learn(struct memory *m, struct chela_str workspace)
{
    for (size_t i = 0; i < chela_json_length(m->workspaces); i++)
        if (chela_str_is(workspace, chela_json_as_string(chela_json_at(m->workspaces, i), NULL)))
            return;
    if (workspace.n)
        chela_json_push(m->workspaces, chela_json_new_string(workspace.s, (size_t)workspace.n));
}

static bool below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return n && strncmp(path, folder, n) == 0 && (path[n] == '/' || folder[n - 1] == '/');
}

static const char *folder_at(struct memory *m, int64_t i)
{
    char name[40];
    snprintf(name, sizeof name, "folders.%d", (int)i);
    return chela_option_text(m->in, name).s;
}

bool index_visible(struct memory *m, const char *path, const char *workspace)
{
    int64_t count = chela_option_number(m->in, "folders");
    if (below(path, workspace))
        return true;
    for (int64_t i = 0; i < count; i++)
        if (below(path, folder_at(m, i)))
            return true;
    return false;
}

/* ---- a pass ---- */

static void next_batch(struct pass *p);

static void pass_free(struct pass *p)
{
    for (size_t i = 0; i < p->root_count; i++)
        free(p->roots[i]);
    free(p->roots);
    json_object_put(p->changed);
    notes_free(&p->list);
    free(p);
}

static void tell_waiters(struct memory *m)
{
    struct waiter *w = m->waiters;
    m->waiters = NULL;
    while (w) {
        struct waiter *next = w->next;
        w->fn(m, w->owner);
        free(w);
        w = next;
    }
}

/* Who came in the middle waits for what had changed by then. */
static void pass_end(struct pass *p)
{
    struct memory *m = p->m;
    m->running = false;
    m->scanned_ms = m->in->host->local->ticks_ms(m->in);
    pass_free(p);
    if (m->again) {
        m->again = false;
        index_refresh(m, NULL, NULL);
    }
    if (!m->running)
        tell_waiters(m);
}

static void stamped(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct memory *m = in->self;
    (void)owner;
    if (d->error != CHELA_OK)
        chela_log(m->in, CHELA_WARN, "a note's stamp could not be stored");
}

static void keep_stamp(struct memory *m, const char *path, const char *stamp)
{
    char *key = NULL;
    if (asprintf(&key, "f/%s", path) < 0)
        abort();
    CHELA_ARGS(chela_key, k, m->in->host->local->new_call(m->in));
    k.h.tag = chela_op_new(stamped, NULL);
    k.key = chela_s(key);
    k.value = chela_s(stamp);
    if (strlen(key) > 1000) /* longer than a key may be: read again after a restart */
        free((void *)(uintptr_t)k.h.tag);
    else if (stamp)
        m->in->host->kv->put(m->in, &k);
    else
        m->in->host->kv->del(m->in, &k);
    free(key);
}

/* One thing of the batch is done. */
static void batch_done(struct pass *p)
{
    if (--p->writes)
        return;
    for (size_t i = 0; i < p->batch_count; i++)
        notes_parts_free(&p->parts[i]);
    next_batch(p);
}

static void written(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct memory *m = in->self;
    if (d->error != CHELA_OK)
        chela_log(m->in, CHELA_WARN, "a note could not be indexed");
    batch_done(owner);
}

static void meant(struct memory *m, void *owner)
{
    (void)m;
    batch_done(owner);
}

static void write_note(struct pass *p, const char *path, uint64_t at,
                       const struct note_parts *parts)
{
    struct memory *m = p->m;
    struct chela_pair *v = chela_need(calloc(parts ? parts->n + 1 : 1, sizeof *v));
    CHELA_ARGS(chela_index, a, m->in->host->local->new_call(m->in));
    a.h.tag = chela_op_new(written, p);
    a.document = chela_s(path);
    a.at = at;
    for (size_t i = 0; parts && i < parts->n; i++)
        v[i] = (struct chela_pair){chela_s(parts->v[i].name), chela_s(parts->v[i].text)};
    a.parts.v = v;
    a.parts.n = parts ? parts->n : 0;
    p->writes++;
    m->in->host->kv->index(m->in, &a);
    free(v);
}

static void read_batch(struct chela_inst *in, void *arg)
{
    struct pass *p = arg;
    (void)in;
    for (size_t i = 0; i < p->batch_count; i++)
        p->parts[i] = notes_parts(p->batch[i]->path);
}

static void take_note(struct pass *p, size_t i)
{
    char stamp[32];
    struct note *n = p->batch[i];
    snprintf(stamp, sizeof stamp, "%llu", (unsigned long long)n->stamp);
    meaning_drop(p->m, n->path);
    write_note(p, n->path, n->time_ms, &p->parts[i]);
    chela_json_put_text(p->m->known, n->path, stamp);
    keep_stamp(p->m, n->path, stamp);
}

static void batch_read(struct chela_inst *in, void *arg)
{
    struct pass *p = arg;
    struct embedding *e = NULL;
    (void)in;
    p->writes = 1;
    for (size_t i = 0; i < p->batch_count; i++) {
        if (p->is_new[i])
            take_note(p, i);
        if (!meaning_wants(p->m, p->batch[i]->path) || !p->parts[i].n)
            continue;
        if (!e)
            e = meaning_begin(p->m, meant, p);
        meaning_add(e, p->batch[i]->path, &p->parts[i]);
    }
    if (e) {
        p->writes++;
        meaning_send(e);
    }
    batch_done(p);
}

static bool has_changed(struct memory *m, const struct note *n)
{
    char stamp[32];
    const char *known = chela_json_string(m->known, n->path, NULL);
    snprintf(stamp, sizeof stamp, "%llu", (unsigned long long)n->stamp);
    return !known || strcmp(known, stamp) != 0;
}

static void next_batch(struct pass *p)
{
    p->batch_count = 0;
    while (p->at < p->list.n && p->batch_count < BATCH) {
        struct note *n = &p->list.v[p->at++];
        bool is_new = has_changed(p->m, n);
        if (!is_new && !meaning_wants(p->m, n->path))
            continue;
        p->is_new[p->batch_count] = is_new;
        p->batch[p->batch_count++] = n;
    }
    p->m->left = p->list.n - p->at + p->batch_count;
    if (p->batch_count)
        p->m->in->host->local->work(p->m->in, read_batch, batch_read, p);
    else
        pass_end(p);
}

/* What was there and is no longer, goes. */
static void drop_gone(struct pass *p)
{
    struct memory *m = p->m;
    json_object *here = chela_json_new_object(), *gone = chela_json_new_array();
    for (size_t i = 0; i < p->list.n; i++)
        chela_json_put_bool(here, p->list.v[i].path, true);
    json_object_object_foreach(p->whole ? m->known : p->changed, path, value)
    {
        (void)value;
        if (chela_json_has(m->known, path) && !chela_json_has(here, path))
            chela_json_push(gone, chela_json_new_string(path, strlen(path)));
    }
    for (size_t i = 0; i < chela_json_length(gone); i++) {
        const char *name = chela_json_as_string(chela_json_at(gone, i), NULL);
        write_note(p, name, 0, NULL);
        meaning_drop(m, name);
        keep_stamp(m, name, NULL);
        json_object_object_del(m->known, name);
    }
    json_object_put(here);
    json_object_put(gone);
}

static void scan(struct chela_inst *in, void *arg)
{
    struct pass *p = arg;
    (void)in;
    for (size_t i = 0; i < p->root_count; i++)
        notes_scan(&p->list, p->roots[i]);
}

static void scanned(struct chela_inst *in, void *arg)
{
    struct pass *p = arg;
    (void)in;
    watch_learn(p->m, &p->list);
    p->writes = 1;
    drop_gone(p);
    batch_done(p);
}

static void add_root(struct pass *p, char *path)
{
    p->roots = chela_need(realloc(p->roots, (p->root_count + 1) * sizeof *p->roots));
    p->roots[p->root_count++] = path;
}

static void add_roots(struct pass *p)
{
    struct memory *m = p->m;
    int64_t folders = chela_option_number(m->in, "folders");
    for (size_t i = 0; i < chela_json_length(m->workspaces); i++) {
        const char *w = chela_json_as_string(chela_json_at(m->workspaces, i), NULL);
        add_root(p, index_path(w, "MEMORY.md"));
        add_root(p, index_path(w, "memory"));
    }
    for (int64_t i = 0; i < folders; i++)
        add_root(p, chela_need(strdup(folder_at(m, i))));
}

/* What no watched folder tells: MEMORY.md of the workspaces, and folders that have come since. */
static bool look_beside(struct memory *m, json_object *changed)
{
    bool whole = false;
    int64_t folders = chela_option_number(m->in, "folders");
    for (size_t i = 0; i < chela_json_length(m->workspaces); i++) {
        const char *w = chela_json_as_string(chela_json_at(m->workspaces, i), NULL);
        char *path = index_path(w, "MEMORY.md"), *folder = index_path(w, "memory"), text[32] = "";
        const char *known = chela_json_string(m->known, path, NULL);
        uint64_t stamp;
        if (notes_stamp(path, &stamp))
            snprintf(text, sizeof text, "%llu", (unsigned long long)stamp);
        if (strcmp(text, known ? known : "") != 0)
            chela_json_put_bool(changed, path, true);
        whole = whole || (!watch_knows(m, folder) && access(folder, F_OK) == 0);
        free(path);
        free(folder);
    }
    for (int64_t i = 0; i < folders; i++)
        whole = whole || (!watch_knows(m, folder_at(m, i)) && access(folder_at(m, i), F_OK) == 0);
    return whole;
}

void index_forget(struct memory *m, void *owner)
{
    for (struct waiter **at = &m->waiters; *at; at = &(*at)->next) {
        struct waiter *w = *at;
        if (w->owner != owner)
            continue;
        *at = w->next;
        free(w);
        return;
    }
}

static void pass_begin(struct memory *m, bool whole, json_object *changed)
{
    struct pass *p = chela_need(calloc(1, sizeof *p));
    m->running = true;
    p->m = m;
    p->whole = whole;
    p->changed = changed;
    p->list.watch = m->watch.fd;
    if (whole)
        add_roots(p);
    json_object_object_foreach(changed, path, value)
    {
        (void)value;
        if (!whole)
            add_root(p, chela_need(strdup(path)));
    }
    m->in->host->local->work(m->in, scan, scanned, p);
}

void index_refresh(struct memory *m, index_fn *fn, void *owner)
{
    json_object *changed;
    meaning_look(m);
    if (!m->running && m->loaded) {
        bool whole = watch_take(m, &changed);
        whole = look_beside(m, changed) || whole;
        if (whole || json_object_object_length(changed)) {
            pass_begin(m, whole, changed);
        } else {
            json_object_put(changed);
            if (fn)
                fn(m, owner);
            return;
        }
    } else if (m->running) {
        m->again = true;
    }
    if (fn) {
        struct waiter *w = chela_need(calloc(1, sizeof *w));
        *w = (struct waiter){m->waiters, fn, owner};
        m->waiters = w;
    }
}

/* ---- what an earlier run has indexed ---- */

static void stamp_row(struct chela_inst *in, void *owner, const struct chela_rows *r)
{
    struct memory *m = in->self;
    (void)owner;
    for (uint64_t i = 0; i + 1 < r->values.n; i += 2) {
        const struct chela_value *v = &r->values.v[i];
        char *path = chela_need(strndup(v[0].s.s + 2, v[0].s.n > 2 ? (size_t)v[0].s.n - 2 : 0));
        chela_json_put_string(m->known, path, v[1].s.s, (size_t)v[1].s.n);
        free(path);
    }
}

static void loaded(struct chela_inst *in, void *owner, const struct chela_done *d)
{
    struct memory *m = in->self;
    (void)owner;
    if (d->error != CHELA_OK) {
        char *line = NULL;
        if (asprintf(&line, "what is indexed cannot be read, all notes are indexed anew: %.*s",
                     (int)d->text.n, d->text.s ? d->text.s : "") < 0)
            abort();
        chela_log(m->in, CHELA_WARN, line);
        free(line);
    }
    m->loaded = true;
    index_refresh(m, NULL, NULL);
}

void index_load(struct memory *m)
{
    CHELA_ARGS(chela_key, k, m->in->host->local->new_call(m->in));
    k.h.tag = chela_op_new_rows(loaded, stamp_row, NULL);
    k.key = chela_s("f/");
    m->in->host->kv->list(m->in, &k);
}
