/*
 * What a plugin's file is, as JSON (see child.h): printed by a process of its own, since opening a
 * file runs its constructors. Read by the command line and `chela doctor`.
 */
#include <json-c/json_object.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "host/child.h"
#include "host/module.h"
#include "host/options.h"
#include "support/json.h"

enum { OPTION_DEPTH = 8 };

static void put_options(json_object *to, const char *key, const struct chela_option *table,
                        uint32_t stride, unsigned depth)
{
    json_object *list = chela_json_put_array(to, key);
    const struct chela_option *o;
    for (size_t i = 0; table && depth && (o = options_entry(table, stride, i)); i++) {
        json_object *entry = chela_json_push_object(list);
        chela_json_put_text(entry, "name", o->name);
        chela_json_put_text(entry, "type", options_type_name(o->type));
        chela_json_put_bool(entry, "required", o->flags & CHELA_REQUIRED);
        chela_json_put_bool(entry, "secret", o->flags & CHELA_SECRET);
        chela_json_put_bool(entry, "reload", o->flags & CHELA_RELOAD);
        chela_json_put_bool(entry, "deprecated", o->flags & CHELA_DEPRECATED);
        chela_json_put_text(entry, "default", o->fallback);
        chela_json_put_text(entry, "help", o->help ? o->help : "");
        if (o->items)
            put_options(entry, "items", o->items, stride, depth - 1);
    }
}

static void put_roles(json_object *type, unsigned roles)
{
    static const char *const names[ROLE_COUNT] = {"store", "hook",    "provider", "router",
                                                  "tool",  "service", "channel"};
    json_object *list = chela_json_put_array(type, "roles");
    for (unsigned i = 0; i < ROLE_COUNT; i++)
        if (roles & (1u << i))
            chela_json_push(list, json_object_new_string(names[i]));
}

static void put_plugin(json_object *o, const struct plugin *p)
{
    char sdk[32];
    snprintf(sdk, sizeof sdk, "%u.%u", (unsigned)p->major, (unsigned)p->minor);
    chela_json_put_text(o, "name", p->name);
    chela_json_put_text(o, "version", p->version);
    chela_json_put_text(o, "summary", p->summary);
    chela_json_put_text(o, "license", p->license);
    chela_json_put_text(o, "origin", p->origin);
    chela_json_put_text(o, "sdk", sdk);
    chela_json_put_int(o, "minorNeed", p->minor_need);
    json_object *types = chela_json_put_array(o, "types");
    for (size_t i = 0; i < p->type_count; i++) {
        const struct plugin_type *t = &p->types[i];
        json_object *type = chela_json_push_object(types);
        chela_json_put_text(type, "type", t->iface.type);
        chela_json_put_text(type, "summary", t->iface.summary ? t->iface.summary : "");
        chela_json_put_bool(type, "default", (t->iface.caps & CHELA_CAP_DEFAULT) != 0);
        put_roles(type, t->roles);
        put_options(type, "options", t->iface.options, t->iface.option_size, OPTION_DEPTH);
    }
}

int child_describe(const char *file)
{
    struct error e = {0};
    /* what a constructor may print must not get between the braces */
    int out = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "file", file);
    struct plugin *p = module_open(file, &e);
    if (p)
        put_plugin(o, p);
    else
        chela_json_put_text(o, "error", e.text);
    dprintf(out, "%s\n", chela_json_text(o, NULL));
    close(out);
    json_object_put(o);
    int status = p ? 0 : 1;
    module_free(p);
    return status;
}

int child_check(const char *file)
{
    struct error e = {0};
    struct plugin *p = module_open(file, &e);
    if (!p) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    printf("%s is good: %s %s\n", file, p->name, p->version);
    for (uint32_t i = 0; i < p->type_count; i++) {
        const struct chela_iface *iface = &p->types[i].iface;
        printf("  type %s: %s\n", iface->type, iface->summary ? iface->summary : "");
    }
    module_free(p);
    return 0;
}
