/*
 * The plugins that this daemon has met (see plugins.h). Each is opened once and stays; a file that
 * changes on disk counts from the next start.
 */
#include "host/plugins.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/paths.h"
#include "host/instance_private.h"
#include "host/isolate.h"
#include "host/module.h"
#include "host/settings_private.h"
#include "support/json.h"

struct met {
    struct link link;
    struct plugin *plugin;
    struct settings_type *types; /* in the order of the plugin's own */
};

static struct link all = {&all, &all};

/* ---- finding ---- */

static bool may_isolate(const struct settings *s, const char *module)
{
    int64_t n = settings_number(s, "isolated");
    for (int64_t i = 0; i < n; i++) {
        CLEANUP(freep) char *path = xprintf("isolated.%lld", (long long)i);
        if (strcmp(settings_text(s, path), module) == 0)
            return true;
    }
    return false;
}

/* The n-th of the folders in a text with colons between; *index counts down. */
static char *nth_folder(const char *list, unsigned *index)
{
    for (const char *p = list; p && *p;) {
        size_t n = strcspn(p, ":");
        if (n && *p == '/' && (*index)-- == 0)
            return xmemdup(p, n);
        p += n + (p[n] == ':');
    }
    return NULL;
}

char *plugins_folder(const struct settings *s, unsigned index)
{
    unsigned configured = (unsigned)settings_number(s, "plugins.path");
    if (index < configured) {
        CLEANUP(freep) char *path = xprintf("plugins.path.%u", index);
        return xstrdup(settings_text(s, path));
    }
    index -= configured;
    char *folder = nth_folder(secure_getenv("CHELA_PLUGIN_PATH"), &index);
    if (folder)
        return folder;
    return index == 0 ? xstrdup(paths_plugin_dir()) : NULL;
}

/* Offers the modules of a folder. Names are kept in `names`, since the nearest one is borrowed. */
static void offer_folder(const char *folder, struct nearest *near, struct map *names)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        size_t n = strlen(entry->d_name);
        if (n < 4 || n > 100 || strcmp(entry->d_name + n - 3, ".so") != 0)
            continue;
        char *name = xmemdup(entry->d_name, n - 3);
        if (map_get(names, name)) {
            free(name);
            continue;
        }
        map_set(names, name, name);
        nearest_offer(near, name);
    }
    if (dir)
        closedir(dir);
}

static void complain_absent(const struct settings *s, const char *module, struct error *e)
{
    struct nearest near = {.wanted = module};
    struct map names = {0};
    struct buf folders = {0};
    const char *builtin;
    char *folder;
    for (unsigned i = 0; (builtin = module_builtin_at(i)); i++)
        if (!map_get(&names, builtin)) {
            char *name = xstrdup(builtin);
            map_set(&names, name, name);
            nearest_offer(&near, name);
        }
    for (unsigned i = 0; (folder = plugins_folder(s, i)); i++) {
        buf_printf(&folders, "%s%s", i ? ", " : "", folder);
        offer_folder(folder, &near, &names);
        free(folder);
    }
    error_set(e, CHELA_E_NOT_FOUND,
              "wanted the plugin %s.so, found none in %.400s%s%s%s; fix: install it, name its "
              "folder in plugins.path, or its module by plugin = \"...\"",
              module, buf_text(&folders), near.name ? " (did you mean \"" : "",
              near.name ? near.name : "", near.name ? "\"?)" : "");
    map_free(&names, free);
    buf_free(&folders);
}

char *plugins_find_file(const struct settings *s, const char *module, struct error *e)
{
    char *folder;
    if (module_is_builtin(module))
        return xstrdup(module);
    for (unsigned i = 0; (folder = plugins_folder(s, i)); i++) {
        char *path = xprintf("%s/%s.so", folder, module);
        free(folder);
        if (access(path, F_OK) == 0)
            return path;
        free(path);
    }
    complain_absent(s, module, e);
    return NULL;
}

/* ---- opening ---- */

static struct met *find_met(const char *module)
{
    LIST_EACH(l, &all)
    {
        struct met *m = CONTAINER_OF(l, struct met, link);
        if (strcmp(m->plugin->name, module) == 0)
            return m;
    }
    return NULL;
}

static struct met *meet(const struct settings *s, const char *module, struct error *e)
{
    struct met *m = find_met(module);
    CLEANUP(freep) char *path = m ? NULL : plugins_find_file(s, module, e);
    if (m || !path)
        return m;
    bool isolated = may_isolate(s, module);
    if (isolated && path[0] == '/' && module_check_file(path, e) < 0)
        return NULL;
    struct plugin *p = isolated ? isolate_open(path, e) : module_open(path, e);
    if (!p)
        return NULL;
    m = xcalloc(1, sizeof *m);
    m->plugin = p;
    m->types = xcalloc(p->type_count, sizeof *m->types);
    for (size_t i = 0; i < p->type_count; i++) {
        const struct plugin_type *t = &p->types[i];
        m->types[i] = (struct settings_type){.plugin = p->name,
                                             .type = t->iface.type,
                                             .options = t->iface.options,
                                             .option_size = t->iface.option_size,
                                             .caps = t->iface.caps,
                                             .roles = t->roles};
    }
    list_append(&all, &m->link);
    return m;
}

static const struct settings_type *type_of(const struct met *m, const char *type, struct error *e)
{
    struct nearest near = {.wanted = type};
    struct buf known = {0};
    for (size_t i = 0; i < m->plugin->type_count; i++)
        if (strcmp(m->types[i].type, type) == 0)
            return &m->types[i];
    for (size_t i = 0; i < m->plugin->type_count; i++) {
        nearest_offer(&near, m->types[i].type);
        buf_printf(&known, "%s%s", i ? ", " : "", m->types[i].type);
    }
    error_set(e, CHELA_E_ARGS, "wanted the type \"%s\" of the plugin %s, found %.300s%s", type,
              m->plugin->name, buf_text(&known),
              near.name ? " (is that the one that is meant?)" : "");
    buf_free(&known);
    return NULL;
}

const struct settings_type *plugins_find_type(const struct settings *so_far, const char *section,
                                              const char *plugin, const char *type, struct error *e)
{
    CLEANUP(freep)
    char *module = plugin ? xstrdup(plugin) : xprintf("%s_%s", settings_kind(section), type);
    for (char *p = module; *p; p++)
        if (*p == '-' || *p == '.') /* a type may have them, a module can't */
            *p = '_';
    const struct met *m = meet(so_far, module, e);
    return m ? type_of(m, type, e) : NULL;
}

struct plugin_type *plugins_type_of(const struct settings_type *t)
{
    const struct met *m = find_met(t->plugin);
    for (size_t i = 0; m && i < m->plugin->type_count; i++)
        if (&m->types[i] == t)
            return &m->plugin->types[i];
    return NULL;
}

bool plugins_at(unsigned index, struct plugins_info *ret)
{
    LIST_EACH(l, &all)
    {
        const struct plugin *p = CONTAINER_OF(l, struct met, link)->plugin;
        if (index-- > 0)
            continue;
        *ret = (struct plugins_info){p->name, p->path, p->version, p->summary, p->child != NULL};
        return true;
    }
    return false;
}

/* Opens the module if its name is one of a plugin's kind; what can't be opened is left out. */
static void describe_module(const struct settings *s, const char *module, json_object *list)
{
    struct error e;
    for (size_t i = 0; settings_sections[i]; i++) {
        const char *kind = settings_kind(settings_sections[i]);
        size_t n = strlen(kind);
        if (strncmp(module, kind, n) != 0 || module[n] != '_')
            continue;
        struct met *m = meet(s, module, &e);
        for (size_t k = 0; m && k < m->plugin->type_count; k++) {
            json_object *o = chela_json_push_object(list);
            chela_json_put_text(o, "section", settings_sections[i]);
            chela_json_put_text(o, "type", m->types[k].type);
            chela_json_put_text(o, "plugin", m->plugin->name);
            chela_json_put_text(o, "summary", m->plugin->summary);
            plugins_describe_options(chela_json_put_array(o, "options"), m->types[k].options,
                                     m->types[k].option_size);
        }
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

json_object *plugins_describe(const struct settings *s)
{
    json_object *o = chela_json_new_object(), *list = chela_json_put_array(o, "types");
    struct map names = {0};
    struct nearest near = {.wanted = ""};
    const char *builtin;
    char *folder;
    for (unsigned i = 0; (builtin = module_builtin_at(i)); i++)
        describe_module(s, builtin, list);
    for (unsigned i = 0; (folder = plugins_folder(s, i)); i++) {
        offer_folder(folder, &near, &names);
        free(folder);
    }
    const struct map_slot *slot;
    const char **sorted = xcalloc(names.count + 1, sizeof *sorted);
    size_t count = 0;
    for (size_t i = 0; map_next(&names, &i, &slot);)
        sorted[count++] = slot->key;
    qsort(sorted, count, sizeof *sorted, by_text);
    for (size_t i = 0; i < count; i++)
        if (!module_is_builtin(sorted[i]))
            describe_module(s, sorted[i], list);
    free(sorted);
    map_free(&names, free);
    return o;
}

void plugins_close(void)
{
    LIST_EACH(l, &all)
    {
        struct met *m = CONTAINER_OF(l, struct met, link);
        list_remove(&m->link);
        if (!m->plugin->child)
            module_free(m->plugin);
        free(m->types);
        free(m);
    }
    isolate_close();
}
