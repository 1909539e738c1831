/*
 * A plugin's descriptor: checked before anything in the plugin is called, then copied into zeroed
 * structs of this host's size. A plugin may be older (shorter structs) or newer (longer ones).
 * Guards against mistakes and against files of other versions; a plugin that means harm runs in
 * this process and can't be held by checks.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "host/module_private.h"
#include "host/options.h"

enum {
    LONGEST_TEXT = 1000,
    MOST_TYPES = 64,
    MOST_OPTIONS = 512,
    DEEPEST_OPTIONS = 4,
    LARGEST_TABLE = 65536,
    LARGEST_OPTION = 4096
};

/* What the oldest plugin of this major has: its descriptor up to ifaces, interfaces up to options.
 */
#define OLDEST_DESCRIPTOR                                                                          \
    (offsetof(struct chela_plugin, ifaces) + sizeof(const struct chela_iface *const *))
#define OLDEST_IFACE  (offsetof(struct chela_iface, options) + sizeof(const struct chela_option *))
#define OLDEST_OPTION (offsetof(struct chela_option, items) + sizeof(const struct chela_option *))

bool module_name_char(char c)
{
    return islower((unsigned char)c) || isdigit((unsigned char)c) || c == '_';
}

bool module_name_good(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++)
        if (!module_name_char(name[i]))
            return false;
    return n > 0 && n <= 64;
}

struct check {
    const char *path;
    struct error *e;
};

static int refuse(const struct check *c, const char *wanted, const char *found, const char *fix)
{
    return error_set(c->e, CHELA_E_ARGS, "%s: wanted %s, found %s; fix: %s", c->path, wanted, found,
                     fix);
}

static const char rebuild[] = "rebuild it with the headers of this version (chela-sdk)";

static bool good_text(const char *s)
{
    size_t n = s ? strnlen(s, LONGEST_TEXT) : 0;
    return s && n < LONGEST_TEXT && utf8_valid(s, n);
}

/* ---- the head ---- */

static int check_head(const struct check *c, const struct chela_plugin *d)
{
    CLEANUP(freep) char *found = NULL;
    if (d->magic != CHELA_MAGIC) {
        found = xprintf("0x%08x", (unsigned)d->magic);
        return refuse(c, "a descriptor that begins with \"CHLA\" (0x414c4843)", found,
                      "define it by CHELA_PLUGIN()");
    }
    CLEANUP(freep) char *host = xprintf("a plugin of SDK %u.x", CHELA_MAJOR);
    if (d->major != CHELA_MAJOR) {
        found = xprintf("one of SDK %u.%u", d->major, d->minor);
        return refuse(c, host, found, rebuild);
    }
    if (d->size < OLDEST_DESCRIPTOR || d->size > LARGEST_TABLE) {
        CLEANUP(freep)
        char *wanted = xprintf("a descriptor of at least %zu bytes", (size_t)OLDEST_DESCRIPTOR);
        found = xprintf("one of %u bytes", (unsigned)d->size);
        return refuse(c, wanted, found, rebuild);
    }
    if (d->minor_need > CHELA_MINOR) {
        found = xprintf("one that needs SDK %u.%u or newer (this is %u.%u)", d->major,
                        d->minor_need, CHELA_MAJOR, CHELA_MINOR);
        return refuse(c, host, found, "upgrade chela, or install an older version of the plugin");
    }
    return 0;
}

static int check_texts(const struct check *c, const char *name, const struct chela_plugin *d)
{
    const struct {
        const char *what, *text;
    } texts[] = {{"name", d->name},
                 {"version", d->version},
                 {"summary", d->summary},
                 {"license", d->license},
                 {"origin", d->origin}};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        if (good_text(texts[i].text))
            continue;
        CLEANUP(freep) char *wanted = xprintf("the plugin's %s as text", texts[i].what);
        return refuse(c, wanted, texts[i].text ? "bytes without an end, or not UTF-8" : "NULL",
                      "give CHELA_PLUGIN() all of its texts (\"\" is fine for origin)");
    }
    if (strcmp(d->name, name) != 0) {
        CLEANUP(freep) char *found = xprintf("\"%.100s\"", d->name);
        CLEANUP(freep) char *wanted = xprintf("the name \"%s\" like the file's", name);
        return refuse(c, wanted, found, "name file and module alike");
    }
    return 0;
}

/* ---- options ---- */

static bool option_name_good(const char *name)
{
    size_t n = name ? strnlen(name, 65) : 0;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_-.", name[i]))
            return false;
    return n > 0 && n <= 64 && isalpha((unsigned char)name[0]) && name[n - 1] != '.' &&
           !strstr(name, "..");
}

static bool is_reserved(const char *name)
{
    static const char *const names[] = {"type", "plugin", "name", "enabled"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static const char *option_problem(const struct chela_option *o, unsigned depth)
{
    if (!option_name_good(o->name))
        return "a name that a configuration can't hold";
    if (depth == 0 && is_reserved(o->name))
        return "a name that is the host's (type, plugin, name, enabled)";
    if (o->type == 0 || o->type > CHELA_REAL)
        return "a type that this version doesn't know";
    if (o->type == CHELA_ITEMS && !o->items)
        return "CHELA_ITEMS without items";
    if ((o->flags & CHELA_SECRET) && o->type != CHELA_STRING && o->type != CHELA_LIST)
        return "CHELA_SECRET on something that is no string";
    if ((o->help && !good_text(o->help)) || (o->fallback && !good_text(o->fallback)))
        return "a text without an end, or not UTF-8";
    return NULL;
}

static int refuse_option(const struct check *c, const struct chela_iface *from, const char *name,
                         const char *problem)
{
    CLEANUP(freep)
    char *wanted = xprintf("a table of options for the type \"%s\"", from->type);
    CLEANUP(freep) char *found = xprintf("\"%.64s\" with %s", name ? name : "?", problem);
    return refuse(c, wanted, found, "correct the table, see chela/plugin.h");
}

static int check_options(const struct check *c, const struct chela_iface *from,
                         const struct chela_option *table, unsigned depth)
{
    const struct chela_option *o, *other;
    size_t i = 0;
    if (depth > DEEPEST_OPTIONS)
        return refuse_option(c, from, "items", "more than four levels of items");
    for (; (o = options_entry(table, from->option_size, i)); i++) {
        const char *problem =
            i >= MOST_OPTIONS ? "more than 512 beside it" : option_problem(o, depth);
        for (size_t k = 0; !problem && k < i; k++)
            if ((other = options_entry(table, from->option_size, k)) &&
                strcmp(other->name, o->name) == 0)
                problem = "the same name twice";
        if (problem)
            return refuse_option(c, from, o->name, problem);
        if (o->type == CHELA_ITEMS && check_options(c, from, o->items, depth + 1) < 0)
            return -1;
    }
    return 0;
}

/* ---- interfaces ---- */

static bool has(const struct chela_iface *from, size_t offset)
{
    return from->size >= offset + sizeof(void *);
}

/* The role tables of an interface, as far as it reaches: each begins with its size. */
static const uint32_t *role_table(const struct chela_iface *from, enum role role)
{
#define ROLE(field)                                                                                \
    (has(from, offsetof(struct chela_iface, field)) ? (const void *)from->field : NULL)
    switch (role) {
    case ROLE_STORE: return ROLE(store);
    case ROLE_HOOK: return ROLE(hook);
    case ROLE_PROVIDER: return ROLE(provider);
    case ROLE_ROUTER: return ROLE(router);
    case ROLE_TOOL: return ROLE(tool);
    case ROLE_SERVICE: return ROLE(service);
    case ROLE_CHANNEL: return ROLE(channel);
    case ROLE_COUNT: break;
    }
    return NULL;
#undef ROLE
}

static int check_iface(const struct check *c, const struct chela_iface *from)
{
    CLEANUP(freep) char *found = NULL;
    unsigned roles = 0;
    if (from->size < OLDEST_IFACE || from->size > LARGEST_TABLE) {
        CLEANUP(freep)
        char *wanted = xprintf("an interface of at least %zu bytes", (size_t)OLDEST_IFACE);
        found = xprintf("one of %u bytes", (unsigned)from->size);
        return refuse(c, wanted, found, "begin it with CHELA_IFACE()");
    }
    if (!good_text(from->type) || !*from->type || !good_text(from->summary))
        return refuse(c, "an interface with type and summary",
                      from->type && from->summary ? "an empty or broken text" : "NULL",
                      "begin it with CHELA_IFACE()");
    for (const char *p = from->type; *p; p++)
        if (!module_name_char(*p) && *p != '-' && *p != '.')
            return refuse(c, "a type of a-z, 0-9, '_', '-' and '.'", from->type, "rename the type");
    if (from->options && (from->option_size < OLDEST_OPTION || from->option_size > LARGEST_OPTION ||
                          from->option_size % _Alignof(struct chela_option))) {
        CLEANUP(freep)
        char *wanted = xprintf("an option_size of at least %zu", (size_t)OLDEST_OPTION);
        found = xprintf("%u", (unsigned)from->option_size);
        return refuse(c, wanted, found, "begin the interface with CHELA_IFACE()");
    }
    for (unsigned r = 0; r < ROLE_COUNT; r++) {
        const uint32_t *table = role_table(from, (enum role)r);
        roles |= table ? 1u << r : 0;
        if (table && (*table < 2 * sizeof(uint32_t) || *table > LARGEST_TABLE)) {
            found = xprintf("one that says its size is %u", (unsigned)*table);
            return refuse(c, "a role's table with its size in front", found,
                          "set .size = sizeof the table");
        }
    }
    if (!roles) {
        found = xprintf("none in the type \"%s\"", from->type);
        return refuse(c, "an interface with a role (channel, provider, router, tool ...)", found,
                      "let one of its role pointers lead to a table");
    }
    return check_options(c, from, from->options, 0);
}

static int check_ifaces(const struct check *c, const struct chela_plugin *d)
{
    size_t n = 0;
    for (; d->ifaces && d->ifaces[n]; n++) {
        if (n >= MOST_TYPES)
            return refuse(c, "at most 64 interfaces and NULL behind the last", "more",
                          "end the list with NULL");
        if (check_iface(c, d->ifaces[n]) < 0)
            return -1;
        for (size_t k = 0; k < n; k++)
            if (strcmp(d->ifaces[k]->type, d->ifaces[n]->type) == 0)
                return refuse(c, "types of different names", d->ifaces[n]->type,
                              "rename one of the two");
    }
    if (n == 0)
        return refuse(c, "at least one interface", "none", "name one in CHELA_PLUGIN()");
    return 0;
}

int module_check(const char *path, const char *name, const struct chela_plugin *d, struct error *e)
{
    const struct check c = {path, e};
    if (check_head(&c, d) < 0 || check_texts(&c, name, d) < 0)
        return -1;
    return check_ifaces(&c, d);
}

/* ---- copies ---- */

/* `size`: how much the plugin has of it; what this host knows more of stays zero. */
static void copy_part(void *to, size_t room, const void *from, uint32_t size)
{
    memset(to, 0, room);
    memcpy(to, from, size < room ? size : room);
}

void plugin_type_fill(struct plugin_type *t, struct plugin *plugin, const struct chela_iface *from)
{
    memset(t, 0, sizeof *t);
    t->plugin = plugin;
    copy_part(&t->iface, sizeof t->iface, from, from->size);
    t->iface.size = (uint32_t)sizeof t->iface;
#define FILL(role, field)                                                                          \
    if (t->iface.field) {                                                                          \
        copy_part(&t->field, sizeof t->field, t->iface.field, t->iface.field->size);               \
        t->field.size = (uint32_t)sizeof t->field;                                                 \
        t->iface.field = &t->field;                                                                \
        t->roles |= 1u << (role);                                                                  \
    }
    FILL(ROLE_STORE, store)
    FILL(ROLE_HOOK, hook)
    FILL(ROLE_PROVIDER, provider)
    FILL(ROLE_ROUTER, router)
    FILL(ROLE_TOOL, tool)
    FILL(ROLE_SERVICE, service)
    FILL(ROLE_CHANNEL, channel)
#undef FILL
}

struct plugin *module_copy(const char *name, const char *path, const struct chela_plugin *d)
{
    struct plugin *p = xcalloc(1, sizeof *p);
    list_init(&p->link);
    p->name = xstrdup(name);
    p->path = xstrdup(path);
    p->version = xstrdup(d->version);
    p->summary = xstrdup(d->summary);
    p->license = xstrdup(d->license);
    p->origin = xstrdup(d->origin);
    p->major = d->major;
    p->minor = d->minor;
    p->minor_need = d->minor_need;
    while (d->ifaces[p->type_count])
        p->type_count++;
    p->types = xcalloc(p->type_count, sizeof *p->types);
    for (size_t i = 0; i < p->type_count; i++)
        plugin_type_fill(&p->types[i], p, d->ifaces[i]);
    return p;
}

void module_free(struct plugin *p)
{
    if (!p)
        return;
    free(p->name);
    free(p->path);
    free(p->version);
    free(p->summary);
    free(p->license);
    free(p->origin);
    free(p->types);
    free(p);
}
