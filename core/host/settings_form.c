/*
 * The configuration as forms: for each group the options that its tables know, with what is set and
 * where that comes from. For the page's settings and config.schema. Never a secret's value.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/instance.h"
#include "host/options_private.h"
#include "host/settings_private.h"
#include "support/json.h"

/* A table and where its options stand. */
struct form {
    const struct options *options; /* NULL: an instance that was never opened */
    const char *prefix;            /* "channels.webchat." or "" */
    json_object *list;
};

static json_object *value_of(const struct options *o, const char *path, uint32_t type)
{
    const struct option_entry *entry = o ? options_find(o, path) : NULL;
    if (!entry)
        return NULL;
    switch (type) {
    case CHELA_BOOL: return json_object_new_boolean(entry->number != 0);
    case CHELA_INT: return json_object_new_int64(entry->number);
    case CHELA_LIST: {
        json_object *list = chela_json_new_array();
        for (int64_t i = 0; i < entry->number; i++) {
            CLEANUP(freep) char *at = xprintf("%s.%lld", path, (long long)i);
            const struct option_entry *element = options_find(o, at);
            if (element && element->text)
                chela_json_push(list, chela_json_new_string(element->text, strlen(element->text)));
        }
        return list;
    }
    default: return entry->text ? chela_json_new_string(entry->text, strlen(entry->text)) : NULL;
    }
}

static const char *form_type(uint32_t type)
{
    switch (type) {
    case CHELA_BOOL: return "bool";
    case CHELA_INT: return "int";
    case CHELA_REAL: return "real";
    case CHELA_LIST: return "list";
    default: return "string";
    }
}

static void add_choices(json_object *o, const struct chela_option *option)
{
    if (option->type != CHELA_STRING || !option->items)
        return;
    json_object *list = chela_json_put_array(o, "choices");
    for (const struct chela_option *v = option->items; v->name; v++)
        chela_json_push(list, chela_json_new_string(v->name, strlen(v->name)));
}

/* name: the option's, with "*" filled in. */
static void add_option(const struct form *f, const struct chela_option *option, const char *name,
                       const char *shown)
{
    bool secret = (option->flags & CHELA_SECRET) != 0;
    const struct option_entry *entry = f->options ? options_find(f->options, name) : NULL;
    if (option->type == CHELA_ITEMS || strchr(name, '*'))
        return; /* a list of groups is written by hand */
    json_object *o = chela_json_push_object(f->list);
    CLEANUP(freep) char *path = xprintf("%s%s", f->prefix, name);
    chela_json_put_text(o, "path", path);
    chela_json_put_text(o, "name", shown);
    chela_json_put_text(o, "type", form_type(option->type));
    chela_json_put_text(o, "help", option->help);
    if (option->fallback)
        chela_json_put_text(o, "default", option->fallback);
    chela_json_put_text(o, "origin", entry && entry->origin ? entry->origin : "default");
    chela_json_put_bool(o, "secret", secret);
    chela_json_put_bool(o, "set", entry && (entry->given || (secret && entry->text)));
    chela_json_put_bool(o, "required", (option->flags & CHELA_REQUIRED) != 0);
    json_object *value = secret ? NULL : value_of(f->options, name, option->type);
    if (value)
        chela_json_put(o, "value", value);
    add_choices(o, option);
}

/* "agents.*.x" for one agent: agents.main.x */
static char *fill_name(const char *pattern, const char *member)
{
    const char *star = strchr(pattern, '*');
    return star ? xprintf("%.*s%s%s", (int)(star - pattern), pattern, member, star + 1)
                : xstrdup(pattern);
}

static void add_section(json_object *sections, const struct settings *s, const char *group,
                        const char *member)
{
    json_object *o = chela_json_push_object(sections);
    CLEANUP(freep) char *name = member ? xprintf("%s.%s", group, member) : xstrdup(group);
    struct form f = {s->core, "", NULL};
    size_t n = strlen(group);
    chela_json_put_text(o, "name", name);
    f.list = chela_json_put_array(o, "options");
    for (const struct chela_option *option = settings_core_table; option->name; option++) {
        bool here =
            strncmp(option->name, group, n) == 0 && (option->name[n] == '.' || !option->name[n]);
        if (!here)
            continue;
        CLEANUP(freep) char *full = fill_name(option->name, member ? member : "*");
        add_option(&f, option, full, full + (option->name[n] ? n + 1 : 0));
    }
}

static void add_core(json_object *sections, const struct settings *s)
{
    const char *before = "";
    for (const struct chela_option *option = settings_core_table; option->name; option++) {
        size_t n = strcspn(option->name, ".");
        if (strncmp(before, option->name, n) == 0 && (before[n] == '.' || !before[n]))
            continue;
        before = option->name;
        CLEANUP(freep) char *group = xmemdup(option->name, n);
        const char *member;
        if (strcmp(group, "agents") != 0)
            add_section(sections, s, group, NULL);
        for (unsigned i = 0;
             strcmp(group, "agents") == 0 && (member = settings_member(s, "agents", i)); i++)
            add_section(sections, s, "agents", member);
    }
}

static struct instance *opened(const struct settings_instance *in)
{
    for (unsigned role = 0; role < ROLE_COUNT; role++) {
        struct instance *found = instance_find((enum role)role, in->name);
        if (found && strcmp(instance_type(found), in->type ? in->type->type : "") == 0)
            return found;
    }
    return NULL;
}

static void add_instance(json_object *sections, const struct settings_instance *in)
{
    json_object *o = chela_json_push_object(sections);
    const struct instance *running = opened(in);
    CLEANUP(freep) char *name = xprintf("%s.%s", in->section, in->key ? in->key : in->name);
    CLEANUP(freep) char *prefix = xprintf("%s.", name);
    struct form f = {in->options, prefix, NULL};
    chela_json_put_text(o, "name", name);
    f.list = chela_json_put_array(o, "options");
    if (running) {
        bool ok = instance_state(running) == INSTANCE_RUNNING;
        chela_json_put_bool(o, "ok", ok);
        chela_json_put_text(o, "why",
                            *instance_why(running) ? instance_why(running)
                                                   : instance_state_name(instance_state(running)));
    }
    const struct chela_option *option;
    for (size_t i = 0;
         in->type && (option = options_entry(in->type->options, in->type->option_size, i)); i++)
        add_option(&f, option, option->name, option->name);
}

json_object *settings_form(const struct settings *s)
{
    json_object *sections = chela_json_new_array();
    const struct settings_instance *in;
    for (size_t i = 0; (in = settings_instance(s, i)); i++)
        if (strcmp(in->section, "channels") == 0 || strcmp(in->section, "providers") == 0)
            add_instance(sections, in);
    add_core(sections, s);
    for (size_t i = 0; (in = settings_instance(s, i)); i++)
        if (strcmp(in->section, "channels") != 0 && strcmp(in->section, "providers") != 0)
            add_instance(sections, in);
    return sections;
}

const char *settings_own_file(const struct settings *s)
{
    return s && s->own_file ? s->own_file : "";
}
