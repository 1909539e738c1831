/*
 * Option tables turned into values (see options.h): walks what was written along the table, finds
 * what is unknown or missing, and fills in the defaults. Single values are options_value.c's.
 */
#include "host/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "host/options_private.h"

enum { DEEPEST = 16, MOST_ITEMS = 4096, NAMES_SHOWN = 12, MOST_KEYS = 64 };

const struct chela_option *options_entry(const struct chela_option *table, uint32_t stride,
                                         size_t index)
{
    const void *entry = (const char *)table + index * stride;
    const struct chela_option *option = entry;
    return table && option->name ? option : NULL;
}

const char *options_type_name(uint32_t type)
{
    static const char *const names[] = {
        [CHELA_STRING] = "string",
        [CHELA_INT] = "int",
        [CHELA_BOOL] = "bool",
        [CHELA_DURATION] = "duration",
        [CHELA_SIZE] = "size",
        [CHELA_LIST] = "list of strings",
        [CHELA_ITEMS] = "list of groups",
        [CHELA_REF] = "reference",
        [CHELA_REAL] = "number",
    };
    return type && type < ARRAY_LENGTH(names) ? names[type] : "unknown";
}

/* ---- reading ---- */

struct reader {
    const struct options_request *request;
    struct options *options;
    struct buf *errors, *warnings;
};

/* A table and where it applies: paths of its options begin with `base`. */
struct scope {
    const struct chela_option *table;
    const char *base; /* "" or "rules.0." */
    unsigned depth;
};

enum match { NO_MATCH, IS_OPTION, IS_GROUP };

/* Whether `path` is what the pattern says, or a group on the way there. */
static enum match match(const char *pattern, const char *path)
{
    for (;;) {
        size_t n = strcspn(pattern, "."), m = strcspn(path, ".");
        bool any = n == 1 && *pattern == '*';
        if (!any && (n != m || memcmp(pattern, path, n) != 0))
            return NO_MATCH;
        pattern += n;
        path += m;
        if (!*path)
            return *pattern ? IS_GROUP : IS_OPTION;
        if (!*pattern)
            return NO_MATCH;
        pattern++;
        path++;
    }
}

bool options_known(const struct chela_option *table, uint32_t stride, const char *path,
                   const struct chela_option **ret)
{
    const struct chela_option *option, *found = NULL;
    bool group = false;
    for (size_t i = 0; (option = options_entry(table, stride, i)); i++) {
        enum match m = match(option->name, path);
        if (m == IS_GROUP)
            group = true;
        else if (m == IS_OPTION && (!found || strchr(found->name, '*')))
            found = option;
    }
    if (ret)
        *ret = found;
    return found || group;
}

/* The name for messages: "providers.groq.url". */
static char *full_name(const struct reader *r, const struct scope *s, const char *path)
{
    const char *prefix = r->request->prefix ? r->request->prefix : "";
    return xprintf("%s%s%s%s", prefix, *prefix ? "." : "", s->base, path);
}

/* The names that could stand beside `path`, as the paths of an otherwise empty snapshot. */
static struct options *names_beside(const struct reader *r, const struct scope *s, const char *path)
{
    const char *dot = strrchr(path, '.');
    CLEANUP(freep) char *group = xmemdup(path, dot ? (size_t)(dot - path) : 0);
    struct options *names = xcalloc(1, sizeof *names);
    names->references = 1;
    const struct chela_option *option;
    for (size_t i = 0; (option = options_entry(s->table, r->request->stride, i)); i++) {
        const char *rest = option->name;
        if (*group && match(option->name, group) != IS_GROUP)
            continue;
        for (const char *p = group; *group && p; p = strchr(p + 1, '.'))
            rest = strchr(rest, '.') + 1;
        CLEANUP(freep) char *name = xmemdup(rest, strcspn(rest, "."));
        if (strcmp(name, "*") != 0 && !options_find(names, name))
            options_add(names, name, option);
    }
    for (size_t i = 0; !*s->base && !*group && r->request->skip && r->request->skip[i]; i++)
        if (!options_find(names, r->request->skip[i]))
            options_add(names, r->request->skip[i], &(struct chela_option){0});
    return names;
}

static void complain_unknown(const struct reader *r, const struct scope *s, const struct node *n,
                             const char *path)
{
    struct nearest near = {.wanted = n->name};
    struct buf known = {0};
    CLEANUP(freep) char *name = full_name(r, s, path);
    struct options *names = names_beside(r, s, path);
    for (size_t i = 0; i < names->count; i++) {
        nearest_offer(&near, names->entries[i]->path);
        if (i < NAMES_SHOWN)
            buf_printf(&known, "%s%s", i ? ", " : "", names->entries[i]->path);
    }
    if (near.name)
        node_complain(n, r->errors, "%s: unknown option (did you mean \"%s\"?)", name, near.name);
    else
        node_complain(n, r->errors, "%s: unknown option (known here: %s%s)", name,
                      known.n ? buf_text(&known) : "none",
                      names->count > NAMES_SHOWN ? " ..." : "");
    options_release(names);
    buf_free(&known);
}

static void walk(struct reader *r, const struct scope *s, const struct node *group,
                 const char *path);
static void fill(struct reader *r, const struct scope *s, const struct node *group);

static void set_origin(struct option_entry *entry, const struct node *n)
{
    struct buf place = {0};
    node_place(n, &place);
    entry->origin = buf_take(&place);
    entry->given = !n->source->builtin;
}

/* A scalar, or one element of a list. */
static bool read_scalar(struct reader *r, const struct chela_option *option, const struct node *n,
                        const char *path, const char *name)
{
    struct chela_option one = *option;
    if (one.type == CHELA_LIST)
        one.type = CHELA_STRING;
    struct option_entry *entry = options_add(r->options, path, &one);
    enum option_outcome outcome = option_convert(&one, r->request->stride, n, name,
                                                 r->request->environment, entry, r->errors);
    if (outcome == OPTION_READ) {
        set_origin(entry, n);
        return true;
    }
    entry->broken = outcome == OPTION_WRONG;
    return entry->broken;
}

static void read_count(struct reader *r, const struct chela_option *option, const struct node *n,
                       const char *path, size_t count)
{
    struct option_entry *entry = options_add(r->options, path, option);
    entry->number = (int64_t)count;
    entry->text = xprintf("%zu", count);
    set_origin(entry, n);
}

static void read_list(struct reader *r, const struct chela_option *option, const struct node *n,
                      const char *path, const char *name)
{
    bool alone = n->kind != NODE_LIST;
    size_t count = alone ? 1 : n->count;
    if (alone && n->kind != NODE_TEXT) {
        node_complain(n, r->errors, "%s: wants a list of strings such as [\"a\", \"b\"], found %s",
                      name, node_kind_name(n->kind));
        count = 0;
    }
    read_count(r, option, n, path, count);
    for (size_t i = 0; i < count; i++) {
        CLEANUP(freep) char *at = xprintf("%s.%zu", path, i);
        CLEANUP(freep) char *element = xprintf("%s.%zu", name, i);
        read_scalar(r, option, alone ? n : n->children[i], at, element);
    }
}

static void read_items(struct reader *r, const struct scope *s, const struct chela_option *option,
                       const struct node *n, const char *path, const char *name)
{
    size_t count = n->kind == NODE_LIST ? n->count : 0;
    if (n->kind != NODE_LIST || s->depth >= DEEPEST || count > MOST_ITEMS) {
        node_complain(n, r->errors, "%s: wants a list of groups such as ( { ... }, { ... } )",
                      name);
        count = 0;
    }
    read_count(r, option, n, path, count);
    for (size_t i = 0; i < count; i++) {
        const struct node *item = n->children[i];
        CLEANUP(freep) char *base = xprintf("%s.%zu.", path, i);
        struct scope inner = {option->items, base, s->depth + 1};
        if (item->kind != NODE_GROUP) {
            node_complain(item, r->errors, "%s.%zu: wants a group { ... }, found %s", name, i,
                          node_kind_name(item->kind));
            continue;
        }
        walk(r, &inner, item, "");
        fill(r, &inner, item);
    }
}

/* "[ \"a\", b ]" or "a, b": a list in a variable of the environment or a table's default. */
static struct node *split_list(const struct node *n)
{
    struct node *list = node_new(NODE_LIST, n->name, n->source, n->line);
    const char *p = n->text + strspn(n->text, "[( \t");
    while (*p) {
        size_t length = strcspn(p, ",");
        const char *next = p[length] ? p + length + 1 : p + length;
        while (length && strchr(" \t\"", *p)) {
            p++;
            length--;
        }
        while (length && strchr(" \t\"])", p[length - 1]))
            length--;
        if (length) {
            struct node *element = node_new(NODE_TEXT, NULL, n->source, n->line);
            element->text = xmemdup(p, length);
            node_append(list, element);
        }
        p = next;
    }
    return list;
}

/* Several keys in place of one: the host takes turns with them, the plugin sees one. */
static bool read_keys(struct reader *r, const struct chela_option *option, const struct node *n,
                      const char *path, const char *name)
{
    if (n->count == 0 || n->count > MOST_KEYS) {
        node_complain(n, r->errors, "%s: wants a string, or a list of 1 to %d", name, MOST_KEYS);
        return true;
    }
    if (!read_scalar(r, option, n->children[0], path, name))
        return false;
    struct option_entry *entry = options_find(r->options, path);
    for (size_t i = 1; i < n->count; i++) {
        struct option_entry one = {.path = entry->path};
        if (option_convert(option, r->request->stride, n->children[i], name,
                           r->request->environment, &one, r->errors) == OPTION_READ &&
            one.secret_length) {
            entry->more = xrealloc(entry->more, (entry->more_count + 1) * sizeof *entry->more);
            entry->more[entry->more_count++] =
                (struct option_entry){.secret = one.secret, .secret_length = one.secret_length};
            one.secret = NULL;
        }
        free(one.secret);
        free(one.text);
    }
    return true;
}

/* Reads what stands at base + path; false if it turned out to be absent. */
static bool read_option(struct reader *r, const struct scope *s, const struct chela_option *option,
                        const struct node *n, const char *path)
{
    CLEANUP(freep) char *whole = xprintf("%s%s", s->base, path);
    CLEANUP(freep) char *name = full_name(r, s, path);
    if ((option->flags & CHELA_DEPRECATED) && !n->source->builtin && r->warnings)
        node_complain(n, r->warnings, "%s: deprecated: %s", name, option->help);
    if (option->type == CHELA_ITEMS) {
        read_items(r, s, option, n, whole, name);
    } else if (option->type == CHELA_LIST) {
        bool text = n->kind == NODE_TEXT && (n->source->environment || n->source->builtin);
        struct node *list = text ? split_list(n) : NULL;
        read_list(r, option, list ? list : n, whole, name);
        node_free(list);
    } else if (n->kind == NODE_LIST && option->type == CHELA_STRING && r->request->prefix &&
               *r->request->prefix &&
               (option->flags & (CHELA_SECRET | CHELA_REVEAL)) == CHELA_SECRET) {
        return read_keys(r, option, n, whole, name);
    } else {
        return read_scalar(r, option, n, whole, name);
    }
    return true;
}

static bool skipped(const struct reader *r, const struct scope *s, const char *path)
{
    for (size_t i = 0; !*s->base && r->request->skip && r->request->skip[i]; i++)
        if (strcmp(path, r->request->skip[i]) == 0)
            return true;
    return false;
}

static void walk(struct reader *r, const struct scope *s, const struct node *group,
                 const char *path)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct node *n = group->children[i];
        CLEANUP(freep) char *at = xprintf("%s%s%s", path, *path ? "." : "", n->name);
        const struct chela_option *option;
        if (skipped(r, s, at))
            continue;
        bool is_group = options_known(s->table, r->request->stride, at, &option) && !option;
        if (option) {
            read_option(r, s, option, n, at);
        } else if (is_group && n->kind == NODE_GROUP) {
            CLEANUP(freep) char *whole = xprintf("%s%s", s->base, path);
            options_add_member(r->options, whole, n->name);
            walk(r, s, n, at);
        } else if (is_group) {
            CLEANUP(freep) char *name = full_name(r, s, at);
            node_complain(n, r->errors, "%s: wants a group { ... }, found %s", name,
                          node_kind_name(n->kind));
        } else {
            complain_unknown(r, s, n, at);
        }
    }
}

/* ---- defaults ---- */

static void copy_entry(struct options *o, const struct option_entry *from, const char *path)
{
    struct chela_option option = {.type = from->type, .flags = from->flags};
    if (options_find(o, path))
        return;
    struct option_entry *to = options_add(o, path, &option);
    to->text = xstrdup(from->text);
    to->number = from->number;
    to->real = from->real;
    to->secret = from->secret ? xmemdup(from->secret, from->secret_length) : NULL;
    to->secret_length = from->secret_length;
    to->url = xstrdup(from->url);
    to->origin = xstrdup(from->origin);
}

/* What "agents.defaults" says counts for "agents.main", lists with their elements. */
static bool inherit(struct options *o, const char *from, const char *to)
{
    size_t n = strlen(from), count = o->count;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const char *path = o->entries[i]->path;
        if (strncmp(path, from, n) != 0 || (path[n] && path[n] != '.'))
            continue;
        CLEANUP(freep) char *copy = xprintf("%s%s", to, path + n);
        copy_entry(o, o->entries[i], copy);
        any = true;
    }
    return any;
}

static const struct node_source builtin = {.name = (char *)"default", .builtin = true};

static void fill_one(struct reader *r, const struct scope *s, const struct chela_option *option,
                     const struct node *group, const char *path)
{
    CLEANUP(freep) char *whole = xprintf("%s%s", s->base, path);
    const struct option_entry *entry = options_find(r->options, whole);
    bool absent = !entry, for_default = (option->flags & CHELA_FOR_DEFAULT) != 0;
    if (absent && option->fallback && (!for_default || r->request->embedded)) {
        struct node *n = node_new(NODE_TEXT, NULL, &builtin, 0);
        n->text = xstrdup(option->fallback);
        absent = !read_option(r, s, option, n, path);
        node_free(n);
    } else if (absent && (option->type == CHELA_LIST || option->type == CHELA_ITEMS)) {
        struct node *n = node_new(NODE_LIST, NULL, &builtin, 0);
        read_count(r, option, n, whole, 0);
        node_free(n);
    }
    entry = options_find(r->options, whole);
    bool has = entry && entry->text && *entry->text;
    bool required = (option->flags & CHELA_REQUIRED) || (for_default && r->request->embedded);
    if (required && !has && !(entry && entry->broken)) {
        CLEANUP(freep) char *name = full_name(r, s, path);
        struct node nowhere = {.source = &builtin};
        node_complain(group ? group : &nowhere, r->errors, "%s: missing%s%s", name,
                      option->help ? ": " : "", option->help ? option->help : "");
    }
}

/* An option below "*": for each member of the group before it, "defaults" first. */
static void fill_members(struct reader *r, const struct scope *s, const struct chela_option *option,
                         const struct node *group, const char *star)
{
    CLEANUP(freep) char *before = xmemdup(option->name, (size_t)(star - option->name - 1));
    CLEANUP(freep) char *owner = xprintf("%s%s", s->base, before);
    CLEANUP(freep) char *defaults = xprintf("%s.defaults%s", before, star + 1);
    CLEANUP(freep) char *source = xprintf("%s%s", s->base, defaults);
    fill_one(r, s, option, group, defaults);
    for (size_t i = 0; i < r->options->member_count; i++) {
        const struct option_member *m = &r->options->members[i];
        if (strcmp(m->group, owner) != 0 || strcmp(m->name, "defaults") == 0)
            continue;
        CLEANUP(freep) char *path = xprintf("%s.%s%s", before, m->name, star + 1);
        CLEANUP(freep) char *whole = xprintf("%s%s", s->base, path);
        if (!options_find(r->options, whole))
            inherit(r->options, source, whole);
        fill_one(r, s, option, group, path);
    }
}

static void fill(struct reader *r, const struct scope *s, const struct node *group)
{
    const struct chela_option *option;
    for (size_t i = 0; (option = options_entry(s->table, r->request->stride, i)); i++) {
        const char *star = strstr(option->name, ".*.");
        if (star)
            fill_members(r, s, option, group, star + 1);
        else
            fill_one(r, s, option, group, option->name);
    }
}

struct options *options_read(const struct options_request *request, struct buf *errors,
                             struct buf *warnings)
{
    struct reader r = {request, xcalloc(1, sizeof(struct options)), errors, warnings};
    struct scope top = {request->table, "", 0};
    r.options->references = 1;
    if (request->group)
        walk(&r, &top, request->group, "");
    fill(&r, &top, request->group);
    return r.options;
}
