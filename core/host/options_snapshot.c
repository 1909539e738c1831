/*
 * The snapshot of options: kept, asked, compared, and sent to a child as pairs (see options.h).
 * Never changed once options_read() or options_from_pairs() has returned it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/options_private.h"

struct option_entry *options_find(const struct options *o, const char *path)
{
    return o ? map_get(&o->by_path, path) : NULL;
}

struct option_entry *options_add(struct options *o, const char *path,
                                 const struct chela_option *option)
{
    struct option_entry *entry = xcalloc(1, sizeof *entry);
    entry->path = xstrdup(path);
    entry->type = option->type;
    entry->flags = option->flags;
    if ((o->count & (o->count - 1)) == 0)
        o->entries = xrealloc(o->entries, (o->count ? o->count * 2 : 1) * sizeof entry);
    o->entries[o->count++] = entry;
    map_set(&o->by_path, path, entry);
    return entry;
}

void options_add_member(struct options *o, const char *group, const char *name)
{
    for (size_t i = 0; i < o->member_count; i++)
        if (strcmp(o->members[i].group, group) == 0 && strcmp(o->members[i].name, name) == 0)
            return;
    o->members = xrealloc(o->members, (o->member_count + 1) * sizeof *o->members);
    o->members[o->member_count++] = (struct option_member){xstrdup(group), xstrdup(name)};
}

static void secret_free(struct option_entry *entry)
{
    if (entry->secret)
        explicit_bzero(entry->secret, entry->secret_length);
    free(entry->secret);
}

static void entry_free(struct option_entry *entry)
{
    secret_free(entry);
    for (size_t i = 0; i < entry->more_count; i++)
        secret_free(&entry->more[i]);
    free(entry->more);
    if (entry->text && (entry->flags & CHELA_SECRET))
        explicit_bzero(entry->text, strlen(entry->text));
    free(entry->text);
    free(entry->wire);
    free(entry->url);
    free(entry->origin);
    free(entry->path);
    free(entry);
}

struct options *options_hold(struct options *o)
{
    if (o)
        o->references++;
    return o;
}

void options_release(struct options *o)
{
    if (!o || --o->references > 0)
        return;
    for (size_t i = 0; i < o->count; i++)
        entry_free(o->entries[i]);
    for (size_t i = 0; i < o->member_count; i++) {
        free(o->members[i].group);
        free(o->members[i].name);
    }
    map_free(&o->by_path, NULL);
    free(o->entries);
    free(o->members);
    free(o);
}

const char *options_text(const struct options *o, const char *path)
{
    const struct option_entry *entry = options_find(o, path);
    return entry && entry->text ? entry->text : "";
}

int64_t options_number(const struct options *o, const char *path)
{
    const struct option_entry *entry = options_find(o, path);
    return entry ? entry->number : 0;
}

double options_real(const struct options *o, const char *path)
{
    const struct option_entry *entry = options_find(o, path);
    return !entry ? 0 : entry->type == CHELA_REAL ? entry->real : (double)entry->number;
}

bool options_has(const struct options *o, const char *path)
{
    const struct option_entry *entry = options_find(o, path);
    return entry && entry->text;
}

bool options_given(const struct options *o, const char *path)
{
    const struct option_entry *entry = options_find(o, path);
    return entry && entry->text && entry->given;
}

const char *options_origin(const struct options *o, const char *path)
{
    const struct option_entry *entry = options_find(o, path);
    return entry && entry->origin ? entry->origin : "";
}

const char *options_member(const struct options *o, const char *group, unsigned index)
{
    for (size_t i = 0; o && i < o->member_count; i++)
        if (strcmp(o->members[i].group, group) == 0 && strcmp(o->members[i].name, "defaults") != 0)
            if (index-- == 0)
                return o->members[i].name;
    return NULL;
}

bool options_next(const struct options *o, size_t *position, struct options_value *ret)
{
    while (o && *position < o->count && !o->entries[*position]->text)
        (*position)++;
    if (!o || *position >= o->count)
        return false;
    const struct option_entry *entry = o->entries[(*position)++];
    bool hidden = (entry->flags & CHELA_SECRET) && entry->secret_length;
    *ret = (struct options_value){entry->path,
                                  hidden ? "***" : entry->text,
                                  entry->origin ? entry->origin : "",
                                  entry->type,
                                  entry->flags,
                                  entry->given};
    return true;
}

static bool same_secret(const struct option_entry *a, const struct option_entry *b)
{
    return a->secret_length == b->secret_length &&
           (!a->secret_length || memcmp(a->secret, b->secret, a->secret_length) == 0);
}

static bool same(const struct option_entry *a, const struct option_entry *b)
{
    if (!a || !b || !a->text || !b->text)
        return (!a || !a->text) && (!b || !b->text);
    bool keys = a->more_count == b->more_count;
    for (size_t i = 0; keys && i < a->more_count; i++)
        keys = same_secret(&a->more[i], &b->more[i]);
    return keys && strcmp(a->text, b->text) == 0 && same_secret(a, b) &&
           strcmp(a->url ? a->url : "", b->url ? b->url : "") == 0;
}

static void compare_one(const struct option_entry *entry, const struct options *other,
                        struct buf *changed, bool *reloadable)
{
    if (same(entry, options_find(other, entry->path)))
        return;
    buf_printf(changed, "%s%s", changed->n ? ", " : "", entry->path);
    if (!(entry->flags & CHELA_RELOAD))
        *reloadable = false;
}

void options_compare(const struct options *a, const struct options *b, struct buf *changed,
                     bool *reloadable)
{
    *reloadable = true;
    for (size_t i = 0; b && i < b->count; i++)
        compare_one(b->entries[i], a, changed, reloadable);
    for (size_t i = 0; a && i < a->count; i++)
        if (!options_find(b, a->entries[i]->path))
            compare_one(a->entries[i], b, changed, reloadable);
}

/* ---- crossing: each value as its number, a blank and its text ---- */

size_t options_pairs(const struct options *o, struct chela_pair **ret)
{
    size_t n = 0;
    *ret = xcalloc(o && o->count ? o->count : 1, sizeof **ret);
    for (size_t i = 0; o && i < o->count; i++) {
        struct option_entry *entry = o->entries[i];
        if (!entry->text)
            continue;
        if (!entry->wire)
            entry->wire = xprintf("%lld %s", (long long)entry->number, entry->text);
        (*ret)[n].name = chela_s(entry->path);
        (*ret)[n++].value = chela_s(entry->wire);
    }
    return n;
}

struct options *options_from_pairs(const struct chela_pair *v, size_t n)
{
    struct options *o = xcalloc(1, sizeof *o);
    o->references = 1;
    for (size_t i = 0; i < n; i++) {
        CLEANUP(freep) char *path = xmemdup(v[i].name.s, (size_t)v[i].name.n);
        CLEANUP(freep) char *value = xmemdup(v[i].value.s, (size_t)v[i].value.n);
        char *text;
        long long number = strtoll(value, &text, 10);
        if (*text != ' ' || options_find(o, path))
            continue;
        struct option_entry *entry = options_add(o, path, &(struct chela_option){0});
        entry->number = number;
        entry->text = xstrdup(text + 1);
    }
    return o;
}
