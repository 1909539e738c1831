/*
 * The instances of the configuration: taken out of their sections, named, given their type and
 * their checked options; and those that exist without being configured. Called by settings_read()
 * only; opens nothing itself, types come from its caller's callback.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "host/instance.h"
#include "host/options_private.h"
#include "host/settings_private.h"

/* What the core says about every instance, and about every channel. */
static const char *const own_names[] = {"type", "plugin", "name", "enabled", NULL};
static const char *const channel_names[] = {"type",
                                            "plugin",
                                            "name",
                                            "enabled",
                                            "dm_policy",
                                            "allow_from",
                                            "group_policy",
                                            "group_allow_from",
                                            "groups",
                                            "require_mention",
                                            "mention_patterns",
                                            "context_messages",
                                            NULL};

static bool is_channel(const char *section)
{
    return strcmp(section, "channels") == 0;
}

struct reading {
    struct settings *settings;
    char **environment;
    settings_find_type *find_type;
    struct buf *errors, *warnings;
    const struct node *routing; /* of the core: rules for the router of that type */
};

/* The role that instances of a section must have: sections stand in the order of the roles. */
static unsigned role_of(const char *section)
{
    for (unsigned i = 0; settings_sections[i]; i++)
        if (strcmp(settings_sections[i], section) == 0)
            return 1u << i;
    return 0;
}

struct node *settings_take_instances(struct node *root, struct buf *errors)
{
    struct node *taken = node_new(NODE_GROUP, NULL, root->source, 0);
    for (size_t i = 0; settings_sections[i]; i++) {
        const char *section = settings_sections[i];
        struct node *group = node_member(root, section);
        if (!group || group->kind != NODE_GROUP)
            continue; /* the core's table says what is wrong with it */
        bool mixed = options_known(settings_core_table, sizeof(struct chela_option), section, NULL);
        struct node *instances = node_new(NODE_GROUP, section, group->source, group->line);
        size_t kept = 0;
        for (size_t k = 0; k < group->count; k++) {
            struct node *n = group->children[k];
            CLEANUP(freep) char *path = xprintf("%s.%s", section, n->name);
            bool of_core = mixed && (n->kind != NODE_GROUP ||
                                     options_known(settings_core_table, sizeof(struct chela_option),
                                                   path, NULL));
            if (of_core) {
                group->children[kept++] = n;
            } else if (n->kind == NODE_GROUP) {
                node_append(instances, n);
            } else {
                node_complain(n, errors, "%s: wants a group { type = \"...\"; ... }, found %s",
                              path, node_kind_name(n->kind));
                node_free(n);
            }
        }
        group->count = kept;
        node_append(taken, instances);
        if (!mixed)
            node_free(node_take(root, section));
    }
    return taken;
}

/* ---- one instance ---- */

static bool is_word(const char *text, const char *others)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i]) &&
            !strchr(others, text[i]))
            return false;
    return n > 0 && n <= 64;
}

/* Anything but what paths, model names and terminals give a meaning to. */
static bool is_name(const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f || strchr("/\\\"'$", text[i]))
            return false;
    return n > 0 && n <= 64;
}

static struct settings_instance *add_instance(struct settings *s, const char *section,
                                              const char *key, const char *name,
                                              const struct node *n)
{
    struct buf place = {0};
    s->instances = xrealloc(s->instances, (s->instance_count + 1) * sizeof *s->instances);
    struct settings_instance *in = &s->instances[s->instance_count++];
    if (n)
        node_place(n, &place);
    else
        buf_puts(&place, "default");
    *in = (struct settings_instance){.section = section,
                                     .name = xstrdup(name),
                                     .key = xstrdup(key),
                                     .origin = buf_take(&place),
                                     .embedded = !n};
    return in;
}

/* What the routers are told: routing.x, unless its own options say something. */
static void add_routing(const struct reading *r, const struct settings_type *type,
                        struct node *group)
{
    static const char *const shared[] = {"rules", "default",        "fallback",     "primary",
                                         "local", "always_primary", "always_local", "classes"};
    for (size_t i = 0; i < ARRAY_LENGTH(shared); i++) {
        const struct node *said = node_member(r->routing, shared[i]);
        if (said && !node_member(group, shared[i]) &&
            options_known(type->options, type->option_size, shared[i], NULL))
            node_append(group, node_copy(said));
    }
}

static struct options *read_options(const struct reading *r, const char *section, const char *name,
                                    const struct settings_type *type, struct node *group,
                                    bool embedded, struct buf *errors)
{
    CLEANUP(freep) char *prefix = xprintf("%s.%s", section, name);
    if (strcmp(section, "routers") == 0 && r->routing)
        add_routing(r, type, group);
    struct options_request request = {.table = type->options,
                                      .stride = type->option_size,
                                      .group = group,
                                      .prefix = prefix,
                                      .environment = r->environment,
                                      .skip = is_channel(section) ? channel_names : own_names,
                                      .embedded = embedded};
    struct options *o = options_read(&request, errors, r->warnings);
    if (o) { /* where the instance may keep files of its own */
        struct option_entry *state =
            options_add(o, "$state", &(struct chela_option){.type = CHELA_STRING});
        state->text = xstrdup(settings_state_dir());
        state->origin = xstrdup("host");
    }
    return o;
}

static struct options *read_head(const struct reading *r, const char *section, const char *prefix,
                                 const struct node *n, struct buf *errors)
{
    const char *const *names = is_channel(section) ? channel_names : own_names;
    struct node *head = node_new(NODE_GROUP, n->name, n->source, n->line);
    for (size_t i = 0; names[i]; i++)
        if (node_member(n, names[i]))
            node_append(head, node_copy(node_member(n, names[i])));
    struct options_request request = {.table = is_channel(section) ? settings_channel_table
                                                                   : settings_instance_table,
                                      .stride = sizeof(struct chela_option),
                                      .group = head,
                                      .prefix = prefix,
                                      .environment = r->environment};
    struct options *o = options_read(&request, errors, r->warnings);
    node_free(head);
    return o;
}

static bool check_names(const struct reading *r, const char *section, const struct node *n,
                        const char *name, const char *type, const char *plugin)
{
    const struct settings_instance *same = settings_find_instance(r->settings, section, name);
    if (!is_name(name))
        node_complain(n, r->errors, "%s.%s: \"%s\" can't be an instance's name", section, n->name,
                      name);
    else if (!is_word(type, "_-."))
        node_complain(n, r->errors, "%s.%s.type: \"%s\" can't be a type's name", section, n->name,
                      type);
    else if (*plugin && !is_word(plugin, "_"))
        node_complain(n, r->errors,
                      "%s.%s.plugin: \"%s\" can't be a module's name (a folder "
                      "belongs into plugins.path)",
                      section, n->name, plugin);
    else if (same)
        node_complain(n, r->errors, "%s.%s: there is an instance of the name \"%s\" already, in %s",
                      section, n->name, name, same->origin);
    else
        return true;
    return false;
}

/* A type that isn't there may be a misspelt group of the core's ("tools.aproval"). */
static void complain_type(const struct reading *r, const char *section, const struct node *n,
                          const struct error *e)
{
    struct nearest near = {.wanted = n->name};
    const struct node *type = node_member(n, "type");
    size_t length = strlen(section);
    for (size_t i = 0; !type && settings_core_table[i].name; i++) {
        const char *name = settings_core_table[i].name;
        if (strncmp(name, section, length) != 0 || name[length] != '.')
            continue;
        CLEANUP(freep) char *first = xmemdup(name + length + 1, strcspn(name + length + 1, "."));
        nearest_offer(&near, first);
        if (near.name == first) /* as the table has it, which stays */
            near.name = name + length + 1;
    }
    node_complain(type ? type : n, r->errors, "%s.%s: %s%s%.*s%s", section, n->name, e->text,
                  near.name ? " (did you mean \"" : "",
                  near.name ? (int)strcspn(near.name, ".") : 0, near.name ? near.name : "",
                  near.name ? "\"?)" : "");
}

static void read_instance(const struct reading *r, const char *section, struct node *n,
                          bool *ret_enabled)
{
    struct error e;
    CLEANUP(freep) char *prefix = xprintf("%s.%s", section, n->name);
    size_t mistakes = r->errors->n;
    struct options *head = read_head(r, section, prefix, n, r->errors);
    const char *name = options_text(head, "name"), *type = options_text(head, "type");
    const char *plugin = options_text(head, "plugin");
    name = *name ? name : n->name;
    type = *type ? type : n->name;
    bool enabled = options_number(head, "enabled") != 0;
    if (enabled && r->errors->n == mistakes && check_names(r, section, n, name, type, plugin)) {
        struct settings_instance *in = add_instance(r->settings, section, n->name, name, n);
        in->type = r->find_type
                       ? r->find_type(r->settings, section, *plugin ? plugin : NULL, type, &e)
                       : NULL;
        if (in->type && !(in->type->roles & role_of(section)))
            node_complain(n, r->errors, "%s: the type %s of %s is no %s", prefix, type,
                          in->type->plugin, settings_kind(section));
        else if (in->type)
            in->options = read_options(r, section, n->name, in->type, n, false, r->errors);
        else if (r->find_type)
            complain_type(r, section, n, &e);
        if (is_channel(section))
            in->common = options_hold(head);
    }
    *ret_enabled = enabled;
    options_release(head);
}

/* ---- those that exist without configuration ---- */

static void add_absent(struct settings *s, const char *section, const char *name, const char *why)
{
    s->absent = xrealloc(s->absent, (s->absent_count + 1) * sizeof *s->absent);
    s->absent[s->absent_count++] =
        (struct settings_absent){xstrdup(section), xstrdup(name), xstrdup(why)};
}

static const char *section_of(const char *module, const char **ret_type)
{
    for (size_t i = 0; settings_sections[i]; i++) {
        const char *kind = settings_kind(settings_sections[i]);
        size_t n = strlen(kind);
        if (strncmp(module, kind, n) == 0 && module[n] == '_' && module[n + 1]) {
            *ret_type = module + n + 1;
            return settings_sections[i];
        }
    }
    return NULL;
}

/* Whether the configuration leaves room for the section's default of that type. Where one choice
 * replaces another (stores, providers) a single enabled instance takes the room of all; routers,
 * tools, channels, hooks and services add up. */
static bool has_room(const struct node *instances, const char *section, const char *type,
                     const bool *enabled)
{
    const struct node *group = node_member(instances, section);
    unsigned role = role_of(section);
    bool replaces = role & (1u << ROLE_STORE | 1u << ROLE_PROVIDER);
    for (unsigned i = 0; replaces && settings_sections[i]; i++)
        if (strcmp(settings_sections[i], section) == 0 && enabled[i])
            return false;
    for (size_t i = 0; group && i < group->count; i++) {
        const struct node *n = group->children[i], *said = node_member(n, "type");
        const char *has = said && said->text ? said->text : n->name;
        if (strcmp(has, type) == 0 || strcmp(n->name, type) == 0)
            return false;
    }
    return true;
}

static void add_default(const struct reading *r, const char *module)
{
    const char *name;
    const char *section = section_of(module, &name);
    struct error e = {0};
    struct buf mistakes = {0};
    const struct settings_type *type = r->find_type(r->settings, section, module, name, &e);
    if (!type) {
        add_absent(r->settings, section, name, e.text);
        if (e.class != CHELA_E_NOT_FOUND)
            buf_printf(r->warnings, "%s\n", e.text);
        return;
    }
    if (!(type->caps & CHELA_CAP_DEFAULT) || !(type->roles & role_of(section)))
        return;
    struct node *group =
        node_new(NODE_GROUP, name, settings_source(r->settings, "default", NULL), 0);
    struct options *options = read_options(r, section, name, type, group, true, &mistakes);
    if (mistakes.n) {
        char *why = strstr(mistakes.p, ": ");
        mistakes.p[mistakes.n - 1] = '\0';
        add_absent(r->settings, section, name, why ? why + 2 : mistakes.p);
        options_release(options);
    } else {
        struct settings_instance *in = add_instance(r->settings, section, name, name, NULL);
        in->type = type;
        in->options = options;
    }
    node_free(group);
    buf_free(&mistakes);
}

static void add_defaults(const struct reading *r, const struct node *instances, const bool *enabled)
{
    int64_t n = options_number(r->settings->core, "plugins.defaults");
    for (int64_t i = 0; i < n; i++) {
        CLEANUP(freep) char *path = xprintf("plugins.defaults.%lld", (long long)i);
        const char *module = options_text(r->settings->core, path), *type;
        const char *section = section_of(module, &type);
        if (!section || !is_word(module, "_"))
            buf_printf(r->errors, "%s: plugins.defaults: \"%s\" can't be a module's name\n",
                       options_origin(r->settings->core, path), module);
        else if (strcmp(module, "router_llm") == 0 && !node_member(r->routing, "classes"))
            continue; /* it has nothing to say */
        else if (has_room(instances, section, type, enabled))
            add_default(r, module);
    }
}

void settings_read_instances(struct settings *s, const struct node *root, struct node *instances,
                             char **environment, settings_find_type *find_type, struct buf *errors,
                             struct buf *warnings)
{
    struct reading r = {.settings = s,
                        .environment = environment,
                        .find_type = find_type,
                        .errors = errors,
                        .warnings = warnings,
                        .routing = node_member(root, "routing")};
    bool enabled[ROLE_COUNT] = {false};
    settings_source(s, "default", &(struct node_source){.builtin = true});
    for (size_t i = 0; settings_sections[i]; i++) {
        struct node *group = node_member(instances, settings_sections[i]);
        for (size_t k = 0; group && k < group->count; k++) {
            bool one;
            read_instance(&r, settings_sections[i], group->children[k], &one);
            enabled[i] = enabled[i] || one;
        }
    }
    if (find_type)
        add_defaults(&r, instances, enabled);
}
