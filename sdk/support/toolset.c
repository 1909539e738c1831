/*
 * The tools that a model is offered (see toolset.h). A set is found again by the bytes that it was
 * read from, so nothing has to say when a tool has changed.
 */
#include "support/toolset.h"

#include <stdlib.h>
#include <string.h>

#include "support/json.h"
#include "support/request.h"

static void *take(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p)
        abort();
    return p;
}

/* ---- what a set is read from ---- */

static size_t key_length(const struct chela_begin *b)
{
    size_t n = 0;
    for (uint64_t i = 0; i < b->tools.n; i++)
        n += sizeof(struct { uint64_t name, manifest; }) + (size_t)b->tools.v[i].name.n +
             (size_t)b->tools.v[i].value.n;
    return n;
}

static char *key_add(char *at, struct chela_str s)
{
    memcpy(at, &s.n, sizeof s.n);
    if (s.n)
        memcpy(at + sizeof s.n, s.s, (size_t)s.n);
    return at + sizeof s.n + s.n;
}

static void keep_key(struct chela_toolset *set, const struct chela_begin *b)
{
    set->key_length = key_length(b);
    char *at = set->key = take(set->key_length);
    for (uint64_t i = 0; i < b->tools.n; i++) {
        at = key_add(at, b->tools.v[i].name);
        at = key_add(at, b->tools.v[i].value);
    }
}

static bool key_has(const char **at, struct chela_str s)
{
    bool same = memcmp(*at, &s.n, sizeof s.n) == 0 &&
                (!s.n || memcmp(*at + sizeof s.n, s.s, (size_t)s.n) == 0);
    *at += sizeof s.n + s.n;
    return same;
}

static bool is_of(const struct chela_toolset *set, const struct chela_begin *b)
{
    const char *at = set->key;
    if (set->key_length != key_length(b))
        return false;
    for (uint64_t i = 0; i < b->tools.n; i++)
        if (!key_has(&at, b->tools.v[i].name) || !key_has(&at, b->tools.v[i].value))
            return false;
    return true;
}

/* ---- a set ---- */

static bool is_taken(const struct chela_toolset *set, const char *wire)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->offers[i].wire, wire) == 0)
            return true;
    return false;
}

static void offer(struct chela_toolset *set, const struct chela_naming *naming,
                  const struct chela_pair *tool)
{
    struct chela_offer *o = &set->offers[set->count];
    chela_wire_name(naming, tool->name.s, (size_t)tool->name.n, o->wire);
    if (is_taken(set, o->wire) ||
        chela_json_parse(tool->value.s, (size_t)tool->value.n, NULL, &o->manifest, NULL) < 0)
        return;
    o->name = take((size_t)tool->name.n + 1);
    if (tool->name.n)
        memcpy(o->name, tool->name.s, (size_t)tool->name.n);
    o->parameters = json_object_get(chela_json_object(o->manifest, "parameters"));
    if (!o->parameters) {
        o->parameters = chela_json_new_object();
        chela_json_put_text(o->parameters, "type", "object");
        chela_json_put_object(o->parameters, "properties");
    }
    set->count++;
}

static struct chela_toolset *read_set(const struct chela_naming *naming,
                                      const struct chela_begin *b)
{
    struct chela_toolset *set = take(sizeof *set);
    set->holders = 1;
    keep_key(set, b);
    set->offers = take((size_t)b->tools.n * sizeof *set->offers);
    for (uint64_t i = 0; i < b->tools.n; i++)
        offer(set, naming, &b->tools.v[i]);
    return set;
}

void chela_toolset_put(struct chela_toolset *set)
{
    if (!set || --set->holders)
        return;
    for (size_t i = 0; i < set->count; i++) {
        free(set->offers[i].name);
        json_object_put(set->offers[i].parameters);
        json_object_put(set->offers[i].manifest);
    }
    free(set->offers);
    free(set->key);
    free(set->text);
    free(set);
}

/* ---- those that an instance keeps ---- */

struct chela_toolset *chela_toolset_get(struct chela_toolsets *sets,
                                        const struct chela_naming *naming,
                                        const struct chela_begin *b)
{
    size_t at = 0;
    if (sets->naming != naming) /* an option changed: the names on the wire do too */
        chela_toolsets_close(sets);
    sets->naming = naming;
    while (at < CHELA_TOOLSETS_KEPT - 1 && sets->kept[at] && !is_of(sets->kept[at], b))
        at++;
    struct chela_toolset *set = sets->kept[at];
    if (!set || !is_of(set, b)) {
        chela_toolset_put(set);
        set = read_set(naming, b);
    }
    memmove(sets->kept + 1, sets->kept, at * sizeof(struct chela_toolset *));
    sets->kept[0] = set;
    set->holders++;
    return set;
}

void chela_toolsets_close(struct chela_toolsets *sets)
{
    for (size_t i = 0; i < CHELA_TOOLSETS_KEPT; i++)
        chela_toolset_put(sets->kept[i]);
    *sets = (struct chela_toolsets){0};
}

int chela_toolsets_instance(struct chela_inst *in)
{
    in->self = take(sizeof(struct chela_toolsets));
    return CHELA_OK;
}

void chela_toolsets_instance_close(struct chela_inst *in)
{
    chela_toolsets_close(in->self);
    free(in->self);
}

/* ---- names, and the text ---- */

const char *chela_toolset_name(const struct chela_toolset *set, const char *wire)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->offers[i].wire, wire) == 0)
            return set->offers[i].name;
    return NULL;
}

static bool is(const char *name, const char *wanted, size_t length)
{
    return strlen(name) == length && memcmp(name, wanted, length) == 0;
}

int chela_toolset_find(const struct chela_toolset *set, const char *name, size_t length)
{
    for (size_t i = 0; i < set->count; i++)
        if (is(set->offers[i].wire, name, length) || is(set->offers[i].name, name, length))
            return (int)i;
    return -1;
}

struct chela_str chela_toolset_text(struct chela_toolset *set, chela_tool_writer *write,
                                    const void *arg)
{
    if (!set->text) {
        FILE *out = chela_write_open(&set->text, &set->text_length);
        for (size_t i = 0; i < set->count; i++) {
            if (i)
                fputc(',', out);
            write(out, &set->offers[i], arg);
        }
        fclose(out);
    }
    return chela_sn(set->text, set->text_length);
}

void chela_toolset_write(FILE *out, struct chela_toolset *set, const char *before,
                         chela_tool_writer *write, const void *arg, const char *after)
{
    struct chela_str text = chela_toolset_text(set, write, arg);
    if (!text.n)
        return;
    fputs(before, out);
    fwrite(text.s, 1, (size_t)text.n, out);
    fputs(after, out);
}
