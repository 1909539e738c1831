/*
 * Which files make up the configuration, and in which order they are put on top of each other:
 * system, user, project, environment; beside each file plugins-enabled/ and conf.d/. Called by
 * settings.c; knows nothing of what options mean, but for the few that have a short form.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/paths.h"
#include "host/options_private.h"
#include "host/settings_private.h"

/* How one file is met. */
enum file_kind {
    OPTIONAL,  /* may be absent */
    DEMANDED,  /* named by the user */
    PLUGIN,    /* of plugins-enabled */
    OF_PROJECT /* of a folder that may be anybody's */
};

struct layers {
    struct settings *settings;
    struct node *root;
    struct buf *errors, *warnings;
    const char *project; /* while its files are read */
    bool trusted;
    struct buf *listing; /* settings_paths: only names the files */
};

static bool ours(const struct stat *status)
{
    return (status->st_uid == geteuid() || status->st_uid == 0) && !(status->st_mode & S_IWOTH);
}

/* Whether the file may be read at all; a mistake or warning is noted if not. */
static bool acceptable(struct layers *l, const char *path, enum file_kind kind)
{
    struct stat status;
    struct node_source source = {.name = (char *)path};
    struct node at = {.source = &source};
    if (stat(path, &status) < 0) {
        if (errno == ENOENT && kind != DEMANDED && kind != PLUGIN)
            return false;
        if (errno == ENOENT && kind == PLUGIN)
            node_complain(&at, l->errors,
                          "leads nowhere: was the plugin's package removed? (delete "
                          "the link or install it again)");
        else if (kind != OF_PROJECT)
            node_complain(&at, l->errors, "can't be read: %s", strerror(errno));
        return false;
    }
    if (ours(&status) || (kind == DEMANDED && !(status.st_mode & S_IWOTH)))
        return true;
    if (kind == OF_PROJECT)
        node_complain(&at, l->warnings,
                      "ignored: it belongs to somebody else or others may write "
                      "to it");
    else
        node_complain(&at, l->errors,
                      "belongs to user %u with mode %03o, but must be root's or "
                      "mine (user %u) and not writable by others (chown, chmod o-w)",
                      (unsigned)status.st_uid, (unsigned)status.st_mode & 0777u,
                      (unsigned)geteuid());
    return false;
}

/* Two files of plugins-enabled that define the same instance. */
static void find_duplicates(struct layers *l, const struct node *over)
{
    for (size_t i = 0; settings_sections[i]; i++) {
        const struct node *before = node_member(l->root, settings_sections[i]);
        const struct node *now = node_member(over, settings_sections[i]);
        for (size_t k = 0; before && now && k < now->count; k++) {
            const struct node *same = node_member(before, now->children[k]->name);
            if (!same || !same->source->plugins || same->source == now->children[k]->source)
                continue;
            struct buf place = {0};
            node_place(same, &place);
            node_complain(now->children[k], l->errors,
                          "the instance %s.%s is defined already in %s", settings_sections[i],
                          same->name, buf_text(&place));
            buf_free(&place);
        }
    }
}

/* routing = ( { patterns ... }, { default = "..." } ) as a short form of the group. */
static void shape_routing(struct node *root)
{
    struct node *routing = node_member(root, "routing"), *rules = NULL;
    if (routing && routing->kind == NODE_LIST) {
        rules = node_take(root, "routing");
        routing = node_new(NODE_GROUP, "routing", rules->source, rules->line);
        free(rules->name);
        rules->name = xstrdup("rules");
        node_append(routing, rules);
        node_append(root, routing);
    }
    rules = node_member(routing, "rules");
    struct node *last = rules && rules->kind == NODE_LIST && rules->count
                            ? rules->children[rules->count - 1]
                            : NULL;
    if (last && last->kind == NODE_GROUP && last->count == 1 && node_member(last, "default") &&
        !node_member(routing, "default")) {
        node_append(routing, node_take(last, "default"));
        node_free(last);
        rules->count--;
    }
}

static void add_file(struct layers *l, const char *path, enum file_kind kind)
{
    if (l->listing) {
        buf_printf(l->listing, "%s%s\n", path,
                   access(path, R_OK) == 0
                       ? kind == OF_PROJECT && !l->trusted ? " (not trusted: chela trust)" : ""
                       : " (absent)");
        return;
    }
    if (!acceptable(l, path, kind))
        return;
    struct node_source like = {.plugins = kind == PLUGIN,
                               .untrusted = kind == OF_PROJECT && !l->trusted};
    struct node_source *source = settings_source(l->settings, path, &like);
    struct node *over = settings_parse_file(l->settings, source, l->errors);
    if (!over)
        return;
    shape_routing(over);
    if (source->untrusted)
        settings_confine(over, l->project, l->warnings);
    if (source->plugins)
        find_duplicates(l, over);
    node_merge(l->root, over);
}

static int is_conf(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return entry->d_name[0] != '.' && n > 5 && strcmp(entry->d_name + n - 5, ".conf") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_folder(struct layers *l, const char *folder, const char *name, enum file_kind kind)
{
    CLEANUP(freep) char *path = xprintf("%s/%s", folder, name);
    struct dirent **entries;
    int n = scandir(path, &entries, is_conf, by_name);
    if (n < 0) {
        struct node_source source = {.name = path};
        struct node at = {.source = &source};
        if (errno != ENOENT && errno != ENOTDIR && kind != OF_PROJECT && !l->listing)
            node_complain(&at, l->errors, "can't be read: %s", strerror(errno));
        return;
    }
    for (int i = 0; i < n; i++) {
        CLEANUP(freep) char *file = xprintf("%s/%s", path, entries[i]->d_name);
        add_file(l, file, kind);
        free(entries[i]);
    }
    free(entries);
}

/* A file and the folders beside it. */
static void add_layer(struct layers *l, const char *path, enum file_kind kind)
{
    const char *slash = strrchr(path, '/');
    CLEANUP(freep) char *folder = slash ? xmemdup(path, (size_t)(slash - path)) : xstrdup(".");
    add_file(l, path, kind);
    if (kind != OF_PROJECT)
        add_folder(l, folder, "plugins-enabled", PLUGIN);
    add_folder(l, folder, "conf.d", kind == OF_PROJECT ? OF_PROJECT : OPTIONAL);
}

static char *user_file(char **environment)
{
    CLEANUP(freep)
    char *folder = paths_user_config(option_variable(environment, "XDG_CONFIG_HOME"),
                                     option_variable(environment, "HOME"));
    return *folder == '/' ? xprintf("%s/chela/chela.conf", folder) : NULL;
}

static void add_all(struct layers *l, const struct settings_sources *from)
{
    const char *named =
        from->file ? from->file : option_variable(from->environment, "CHELA_CONFIG");
    CLEANUP(freep) char *whole = named && *named ? realpath(named, NULL) : NULL;
    CLEANUP(freep) char *user = user_file(from->environment);
    CLEANUP(freep) char *project = from->directory ? settings_project(from->directory) : NULL;
    if (named && *named) {
        add_layer(l, whole ? whole : named, DEMANDED);
    } else {
        CLEANUP(freep) char *system = xprintf("%s/chela.conf", paths_conf_dir());
        if (!from->no_system)
            add_layer(l, system, OPTIONAL);
        if (user)
            add_layer(l, user, OPTIONAL);
    }
    const char *beside = named && *named ? (whole ? whole : named) : user;
    CLEANUP(freep) char *fallback = xprintf("%s/chela.conf", paths_conf_dir());
    const char *slash = strrchr(beside ? beside : fallback, '/');
    CLEANUP(freep)
    char *folder =
        slash ? xmemdup(beside ? beside : fallback, (size_t)(slash - (beside ? beside : fallback)))
              : xstrdup(".");
    l->settings->own_file = xprintf("%s/conf.d/90-gateway.conf", folder);
    if (project) {
        CLEANUP(freep) char *file = xprintf("%s/.chela/chela.conf", project);
        l->project = project;
        l->trusted = settings_is_trusted(project, from->environment);
        add_layer(l, file, OF_PROJECT);
        l->settings->project = xstrdup(project);
        l->settings->project_ignored = !l->trusted;
    }
}

/* ---- the environment ---- */

static const struct {
    const char *variable, *path;
} everyday[] = {
    {"CHELA_GATEWAY_BIND", "gateway.bind"},
    {"CHELA_GATEWAY_PORT", "gateway.port"},
    {"CHELA_GATEWAY_TOKEN", "gateway.auth.token"},
    {"CHELA_GATEWAY_PASSWORD", "gateway.auth.password"},
    {"CHELA_LOG_LEVEL", "logging.level"},
    {"CHELA_LOG_FORMAT", "logging.format"},
};

/* "CHELA_GATEWAY__AUTH__TOKEN" as "gateway.auth.token"; NULL: not a setting. */
static char *path_of(const char *variable)
{
    for (size_t i = 0; i < ARRAY_LENGTH(everyday); i++)
        if (strcmp(everyday[i].variable, variable) == 0)
            return xstrdup(everyday[i].path);
    struct buf path = {0};
    for (const char *p = variable + 6; *p; p++) {
        if (p[0] == '_' && p[1] == '_' && path.n && p[2]) {
            buf_char(&path, '.');
            p++;
        } else {
            buf_char(&path, (char)tolower((unsigned char)*p));
        }
    }
    bool deep = strchr(buf_text(&path), '.') != NULL;
    if (deep || options_known(settings_core_table, sizeof(struct chela_option), path.p, NULL))
        return buf_take(&path);
    buf_free(&path);
    return NULL;
}

/* The member that is meant: names in variables can't show case and dashes. */
static struct node *member_like(const struct node *group, const char *name)
{
    struct node *exact = node_member(group, name);
    for (size_t i = 0; !exact && i < group->count; i++)
        if (nearest_distance(group->children[i]->name, name) == 0)
            exact = group->children[i];
    return exact;
}

static struct node *value_of(struct settings *s, const char *name, const char *value,
                             struct node_source *source, struct buf *errors)
{
    struct node *n = NULL;
    if (*value == '(' || *value == '{') { /* a list of groups, as it would stand in a file */
        CLEANUP(freep) char *text = xprintf("value = %s;", value);
        struct node *root = settings_parse_text(s, text, source, errors);
        n = root ? node_take(root, "value") : NULL;
        node_free(root);
        if (n) {
            free(n->name);
            n->name = xstrdup(name);
        }
        return n;
    }
    n = node_new(NODE_TEXT, name, source, 0);
    n->text = xstrdup(value);
    return n;
}

static void set_path(struct settings *s, struct node *root, char *path, const char *value,
                     struct node_source *source, struct buf *errors)
{
    struct node *group = root;
    for (char *dot; (dot = strchr(path, '.')); path = dot + 1) {
        *dot = '\0';
        struct node *next = member_like(group, path);
        if (next && next->kind != NODE_GROUP) {
            node_free(node_take(group, next->name));
            next = NULL;
        }
        if (!next) {
            next = node_new(NODE_GROUP, path, source, 0);
            node_append(group, next);
        }
        group = next;
    }
    const struct node *before = member_like(group, path);
    struct node *n = value_of(s, before ? before->name : path, value, source, errors);
    if (!n)
        return;
    node_free(node_take(group, n->name));
    node_append(group, n);
}

void settings_environment(struct settings *s, struct node *root, char **environment,
                          struct buf *errors)
{
    for (char **v = environment; v && *v; v++) {
        const char *equals = strchr(*v, '=');
        if (!equals || strncmp(*v, "CHELA_", 6) != 0)
            continue;
        CLEANUP(freep) char *variable = xmemdup(*v, (size_t)(equals - *v));
        CLEANUP(freep) char *path = path_of(variable);
        if (!path)
            continue;
        CLEANUP(freep) char *name = xprintf("environment %s", variable);
        struct node_source *source =
            settings_source(s, name, &(struct node_source){.environment = true});
        set_path(s, root, path, equals + 1, source, errors);
    }
}

struct node *settings_merge(struct settings *s, const struct settings_sources *from,
                            struct buf *errors, struct buf *warnings)
{
    static const struct node_source nowhere = {.name = (char *)"default", .builtin = true};
    struct layers l = {.settings = s,
                       .root = node_new(NODE_GROUP, NULL, &nowhere, 0),
                       .errors = errors,
                       .warnings = warnings};
    add_all(&l, from);
    settings_environment(s, l.root, from->environment, errors);
    return l.root;
}

void settings_paths(const struct settings_sources *sources, struct buf *out)
{
    struct settings nothing = {0};
    struct layers l = {.settings = &nothing, .listing = out};
    add_all(&l, sources);
    free(nothing.project);
    free(nothing.own_file);
}
