/*
 * Reading and applying patches (see patch.h), and the operation apply_patch: all files or none.
 * Called by files.c and tool_files.c.
 */
#include "patch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "beneath.h"
#include "files_internal.h"
#include "support/json.h"

enum { FILES_MOST = 200 };

static void *grown(void *p, size_t size)
{
    p = realloc(p, size);
    if (!p)
        abort();
    return p;
}

/* ---- reading ---- */

struct line {
    const char *text;
    size_t length;
};

static bool next_line(const char **p, const char *end, struct line *ret)
{
    if (*p >= end)
        return false;
    const char *stop = memchr(*p, '\n', (size_t)(end - *p));
    ret->text = *p;
    ret->length = (size_t)((stop ? stop : end) - *p);
    *p = stop ? stop + 1 : end;
    if (ret->length && ret->text[ret->length - 1] == '\r')
        ret->length--;
    return true;
}

/* What stands behind a heading, or NULL. Free it. */
static char *after(const struct line *l, const char *heading)
{
    size_t n = strlen(heading);
    if (l->length <= n || memcmp(l->text, heading, n) != 0)
        return NULL;
    const char *from = l->text + n;
    size_t length = l->length - n;
    while (length && *from == ' ') {
        from++;
        length--;
    }
    while (length && from[length - 1] == ' ')
        length--;
    return length ? strndup(from, length) : NULL;
}

static bool is_line(const struct line *l, const char *text)
{
    size_t n = l->length;
    while (n && l->text[n - 1] == ' ')
        n--;
    return n == strlen(text) && memcmp(l->text, text, n) == 0;
}

static struct patch_file *add_file(struct patch *p, enum patch_kind kind, char *path, size_t at)
{
    p->files = grown(p->files, (p->count + 1) * sizeof *p->files);
    p->files[p->count] = (struct patch_file){.kind = kind, .path = path, .at = at};
    return &p->files[p->count++];
}

static void add_line(struct patch_file *f, char sign, const char *text, size_t length)
{
    f->lines = grown(f->lines, (f->count + 1) * sizeof *f->lines);
    f->lines[f->count++] = (struct patch_line){sign, text, length};
}

/* A line of a file's part; false if it can't be one. */
static bool take(struct patch_file *f, const struct line *l)
{
    if (f->kind == PATCH_UPDATE && !f->to && f->count == 0 && (f->to = after(l, "*** Move to:")))
        return true;
    if (is_line(l, "*** End of File"))
        return true;
    if (f->kind == PATCH_UPDATE && l->length >= 2 && memcmp(l->text, "@@", 2) == 0) {
        size_t skip = l->length > 2 && l->text[2] == ' ' ? 3 : 2;
        add_line(f, '@', l->text + skip, l->length - skip);
        return true;
    }
    if (l->length == 0 && f->kind == PATCH_UPDATE) { /* an empty line that stays */
        add_line(f, ' ', l->text, 0);
        return true;
    }
    bool fits = l->length && (f->kind == PATCH_ADD      ? l->text[0] == '+'
                              : f->kind == PATCH_UPDATE ? strchr(" +-", l->text[0]) != NULL
                                                        : false);
    if (fits)
        add_line(f, l->text[0], l->text + 1, l->length - 1);
    return fits;
}

int patch_read(const char *text, size_t length, struct patch *ret, char *error, size_t size)
{
    const char *p = text, *end = text + length;
    struct line l;
    size_t number = 0;
    bool begun = false, ended = false;
    char *path;
    *ret = (struct patch){0};
    while (!ended && next_line(&p, end, &l)) {
        number++;
        if (!begun) {
            begun = is_line(&l, "*** Begin Patch");
            if (!begun && l.length)
                break;
        } else if (is_line(&l, "*** End Patch")) {
            ended = true;
        } else if ((path = after(&l, "*** Add File:"))) {
            add_file(ret, PATCH_ADD, path, number);
        } else if ((path = after(&l, "*** Delete File:"))) {
            add_file(ret, PATCH_DELETE, path, number);
        } else if ((path = after(&l, "*** Update File:"))) {
            add_file(ret, PATCH_UPDATE, path, number);
        } else if (ret->count == 0 || !take(&ret->files[ret->count - 1], &l)) {
            snprintf(error, size, "line %zu of the patch makes no sense: \"%.*s\"", number,
                     (int)(l.length < 80 ? l.length : 80), l.text);
            return -1;
        }
    }
    if (begun && ended && ret->count > 0 && ret->count <= FILES_MOST)
        return 0;
    snprintf(error, size, "%s",
             !begun            ? "a patch begins with the line \"*** Begin Patch\""
             : !ended          ? "a patch ends with the line \"*** End Patch\""
             : ret->count == 0 ? "the patch names no file"
                               : "the patch names too many files");
    return -1;
}

void patch_free(struct patch *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->files[i].path);
        free(p->files[i].to);
        free(p->files[i].lines);
    }
    free(p->files);
    *p = (struct patch){0};
}

/* ---- applying ---- */

struct text {
    struct line *lines;
    size_t count;
};

static bool same(const struct line *a, const struct patch_line *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* Does the hunk's old part stand at `at`? */
static bool stands(const struct text *t, size_t at, const struct patch_line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (lines[i].sign == '+')
            continue;
        if (at >= t->count || !same(&t->lines[at], &lines[i]))
            return false;
        at++;
    }
    return true;
}

/* Where the hunk stands, from `from` on; -1 with a sentence. */
static long find(const struct text *t, size_t from, const struct patch_line *lines, size_t n,
                 const struct patch_line *before, char *error, size_t size)
{
    size_t old = 0;
    for (size_t i = 0; i < n; i++)
        old += lines[i].sign != '+';
    bool anchored = before && before->length > 0;
    for (; anchored && from < t->count && !same(&t->lines[from], before); from++)
        ;
    if (anchored && from == t->count) {
        snprintf(error, size, "the line \"%.*s\" behind @@ is not in the file",
                 (int)(before->length < 80 ? before->length : 80), before->text);
        return -1;
    }
    from += anchored;
    if (old == 0)
        return (long)(anchored ? from : t->count); /* only new lines: there, or at the end */
    long found = -1;
    for (size_t at = from; at < t->count; at++) {
        if (!stands(t, at, lines, n))
            continue;
        if (found >= 0 && !anchored) {
            snprintf(error, size,
                     "the lines of a hunk stand in the file more than once (lines %ld and %zu); "
                     "give more of them, or the line before them behind @@",
                     found + 1, at + 1);
            return -1;
        }
        if (found < 0)
            found = (long)at;
        if (anchored)
            break;
    }
    if (found < 0)
        snprintf(error, size,
                 "the lines of a hunk (the first is \"%.*s\") do not stand in the file; read it "
                 "again and copy them exactly",
                 (int)(lines[0].length < 80 ? lines[0].length : 80), lines[0].text);
    return found;
}

static void put(FILE *out, const char *text, size_t length)
{
    fwrite(text, 1, length, out);
    fputc('\n', out);
}

static bool apply_hunks(const struct patch_file *f, const struct text *t, FILE *out, char *error,
                        size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < f->count;) {
        const struct patch_line *before = f->lines[i].sign == '@' ? &f->lines[i++] : NULL;
        size_t n = 0;
        while (i + n < f->count && f->lines[i + n].sign != '@')
            n++;
        if (n == 0)
            continue;
        long found = find(t, at, f->lines + i, n, before, error, size);
        if (found < 0)
            return false;
        for (; at < (size_t)found; at++)
            put(out, t->lines[at].text, t->lines[at].length);
        for (size_t k = 0; k < n; k++) {
            const struct patch_line *l = &f->lines[i + k];
            if (l->sign != '-')
                put(out, l->text, l->length);
            at += l->sign != '+';
        }
        i += n;
    }
    for (; at < t->count; at++)
        put(out, t->lines[at].text, t->lines[at].length);
    return true;
}

char *patch_apply(const struct patch_file *f, const char *text, size_t length, size_t *ret_length,
                  char *error, size_t size)
{
    struct text t = {0};
    const char *end = text + length;
    bool last_open = length > 0 && text[length - 1] != '\n';
    for (const char *p = text; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        t.lines = grown(t.lines, (t.count + 1) * sizeof *t.lines);
        t.lines[t.count++] = (struct line){p, (size_t)((stop ? stop : end) - p)};
        p = stop ? stop + 1 : end;
    }
    char *result = NULL;
    FILE *out = open_memstream(&result, ret_length);
    if (!out)
        abort();
    bool fine = apply_hunks(f, &t, out, error, size);
    fclose(out);
    free(t.lines);
    if (!fine) {
        free(result);
        return NULL;
    }
    if (last_open && *ret_length) /* a file without a last newline keeps that */
        (*ret_length)--;
    return result;
}

/* ---- the operation ---- */

struct change {
    char *text;
    size_t length;
    mode_t mode;
};

/* Both parts would be worked out from the same old text. */
static bool twice(struct job *j, const struct patch *p, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (strcmp(p->files[i].path, p->files[at].path) != 0)
            continue;
        files_fail(j, "the patch names %s twice; put its hunks into one part", p->files[at].path);
        return true;
    }
    return false;
}

static bool prepare(struct job *j, const struct patch_file *f, struct change *c)
{
    char why[400];
    char *text = NULL;
    size_t length = 0;
    if (!files_aim(j, f->path))
        return false;
    bool there = files_mode(j) != 0;
    if (f->kind == PATCH_ADD && there) {
        files_fail(j, "%s is there already; use Update File", f->path);
        return false;
    }
    if (f->kind == PATCH_DELETE && !there) {
        files_fail(j, "%s is not a file that is there", f->path);
        return false;
    }
    if (f->kind == PATCH_DELETE)
        return true;
    if (f->kind == PATCH_UPDATE && !(text = files_slurp(j, &length, &c->mode)))
        return false;
    c->text = patch_apply(f, text ? text : "", length, &c->length, why, sizeof why);
    free(text);
    if (!c->text)
        files_fail(j, "%s (line %zu of the patch): %s", f->path, f->at, why);
    else if (f->to && files_aim(j, f->to) && files_mode(j) != 0)
        files_fail(j, "%s is there already, so %s cannot be moved there", f->to, f->path);
    return !j->failed;
}

static void write_change(struct job *j, const struct patch_file *f, const struct change *c)
{
    files_aim(j, f->to ? f->to : f->path);
    if (f->kind == PATCH_DELETE)
        files_delete(j);
    else
        files_put(j, c->text, c->length, c->mode);
    if (f->to && !j->failed) {
        fputc('\n', j->out);
        files_aim(j, f->path);
        files_delete(j);
    }
    fputc('\n', j->out);
}

void patch_run(struct job *j)
{
    char why[300];
    size_t n = 0;
    struct patch p;
    const char *text = chela_json_string(j->arguments, "input", &n);
    if (patch_read(text ? text : "", n, &p, why, sizeof why) != 0) {
        files_fail(j, "%s", why);
        patch_free(&p);
        return;
    }
    struct change *changes = calloc(p.count, sizeof *changes);
    if (!changes)
        abort();
    for (size_t i = 0; i < p.count && !j->failed; i++)
        if (!twice(j, &p, i))
            prepare(j, &p.files[i], &changes[i]);
    for (size_t i = 0; i < p.count && !j->failed; i++)
        write_change(j, &p.files[i], &changes[i]);
    for (size_t i = 0; i < p.count; i++)
        free(changes[i].text);
    free(changes);
    patch_free(&p);
}
