/*
 * The configuration as a whole (see settings.h): read, kept, asked. The steps of reading are in the
 * other settings_*.c. Called by main and by whoever has a setting to look up.
 */
#include "host/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/options_private.h"
#include "host/settings_private.h"

static struct settings *running;

void settings_free(struct settings *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->instance_count; i++) {
        struct settings_instance *in = &s->instances[i];
        options_release(in->options);
        options_release(in->common);
        free((char *)in->name);
        free((char *)in->key);
        free((char *)in->origin);
    }
    for (size_t i = 0; i < s->absent_count; i++) {
        free(s->absent[i].section);
        free(s->absent[i].name);
        free(s->absent[i].why);
    }
    for (size_t i = 0; i < s->source_count; i++) {
        free(s->sources[i]->name);
        free(s->sources[i]);
    }
    options_release(s->core);
    free(s->instances);
    free(s->absent);
    free(s->sources);
    free(s->project);
    free(s->own_file);
    free(s);
}

/* There is always an agent. */
static void add_main_agent(struct node *root)
{
    struct node *agents = node_member(root, "agents");
    if (!agents) {
        agents = node_new(NODE_GROUP, "agents", root->source, 0);
        node_append(root, agents);
    }
    bool only_defaults =
        agents->count == 0 || (agents->count == 1 && node_member(agents, "defaults"));
    if (agents->kind == NODE_GROUP && only_defaults)
        node_append(agents, node_new(NODE_GROUP, "main", root->source, 0));
}

static void log_warnings(struct buf *warnings)
{
    for (char *line = warnings->p, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        log_warning("config", "%s", line);
    }
}

struct settings *settings_read(const struct settings_sources *sources,
                               settings_find_type *find_type, struct buf *errors)
{
    struct settings *s = xcalloc(1, sizeof *s);
    struct buf warnings = {0}, mistakes = {0};
    struct node *root = settings_merge(s, sources, &mistakes, &warnings);
    struct options_request request = {.table = settings_core_table,
                                      .stride = sizeof(struct chela_option),
                                      .group = root,
                                      .environment = sources->environment};
    struct node *instances = settings_take_instances(root, &mistakes);
    add_main_agent(root);
    s->core = options_read(&request, &mistakes, &warnings);
    settings_read_instances(s, root, instances, sources->environment, find_type, &mistakes,
                            &warnings);
    settings_check(s, find_type != NULL, &mistakes);
    node_free(instances);
    node_free(root);
    log_warnings(&warnings);
    if (mistakes.n) {
        buf_add(errors, mistakes.p, mistakes.n);
        settings_free(s);
        s = NULL;
    }
    buf_free(&warnings);
    buf_free(&mistakes);
    return s;
}

/* ---- asking ---- */

const struct settings_instance *settings_instance(const struct settings *s, size_t index)
{
    return s && index < s->instance_count ? &s->instances[index] : NULL;
}

const struct settings_instance *settings_find_instance(const struct settings *s,
                                                       const char *section, const char *name)
{
    for (size_t i = 0; s && i < s->instance_count; i++)
        if (strcmp(s->instances[i].section, section) == 0 &&
            strcmp(s->instances[i].name, name) == 0)
            return &s->instances[i];
    return NULL;
}

/* The snapshot that answers for a path, and the path in it. Names of instances may hold dots. */
static const struct options *snapshot_of(const struct settings *s, const char *path,
                                         const char **ret_rest)
{
    *ret_rest = path;
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->instance_count; i++) {
        const struct settings_instance *in = &s->instances[i];
        size_t section = strlen(in->section), name = strlen(in->name);
        if (strncmp(path, in->section, section) != 0 || path[section] != '.')
            continue;
        const char *rest = path + section + 1;
        if (strncmp(rest, in->name, name) == 0 && rest[name] == '.') {
            *ret_rest = rest + name + 1;
            CLEANUP(freep) char *first = xmemdup(*ret_rest, strcspn(*ret_rest, "."));
            bool common = in->common && options_known(settings_channel_table,
                                                      sizeof(struct chela_option), first, NULL);
            return common ? in->common : in->options;
        }
    }
    return s->core;
}

const char *settings_text(const struct settings *s, const char *path)
{
    const char *rest;
    const struct options *o = snapshot_of(s, path, &rest);
    const struct option_entry *entry = options_find(o, rest);
    if (o && o == s->core && entry && entry->secret)
        return entry->secret;
    return entry && entry->text ? entry->text : "";
}

int64_t settings_number(const struct settings *s, const char *path)
{
    const char *rest;
    const struct options *o = snapshot_of(s, path, &rest);
    return o ? options_number(o, rest) : 0;
}

double settings_real(const struct settings *s, const char *path)
{
    const char *rest;
    const struct options *o = snapshot_of(s, path, &rest);
    return o ? options_real(o, rest) : 0;
}

bool settings_has(const struct settings *s, const char *path)
{
    const char *rest;
    const struct options *o = snapshot_of(s, path, &rest);
    return o && options_has(o, rest);
}

const char *settings_origin(const struct settings *s, const char *path)
{
    const char *rest;
    const struct options *o = snapshot_of(s, path, &rest);
    return o ? options_origin(o, rest) : "";
}

const char *settings_member(const struct settings *s, const char *path, unsigned index)
{
    if (s && !settings_kind(path))
        return options_member(s->core, path, index);
    for (size_t i = 0; s && i < s->instance_count; i++)
        if (strcmp(s->instances[i].section, path) == 0 && index-- == 0)
            return s->instances[i].name;
    return NULL;
}

const struct settings *settings_now(void)
{
    return running;
}

void settings_use(struct settings *s)
{
    struct settings *before = running;
    running = s;
    if (before != s)
        settings_free(before);
}
