/*
 * Models, commands and tools as the protocol's clients expect them: its closed objects, without
 * what only our own methods tell. Pure; called by methods_system.c.
 */
#include "gateway/catalog.h"

#include <json-c/json_object.h>
#include <string.h>

#include "base/mem.h"
#include "support/json.h"

static void copy(json_object *to, json_object *from, const char *const *names)
{
    for (; *names; names++) {
        json_object *value = chela_json_get(from, *names);
        if (value)
            json_object_object_add(to, *names, json_object_get(value));
    }
}

static void push_text(json_object *list, const char *word)
{
    chela_json_push(list, chela_json_new_string(word, strlen(word)));
}

/* ---- models ---- */

json_object *catalog_models(json_object *models)
{
    static const char *const same[] = {"id",    "name",      "provider", "available",
                                       "input", "reasoning", NULL};
    json_object *list = chela_json_new_array();
    for (size_t i = 0; i < chela_json_length(models); i++) {
        json_object *m = chela_json_at(models, i), *o = chela_json_push_object(list);
        int64_t window = chela_json_int(m, "contextWindow", 0);
        copy(o, m, same);
        if (window > 0)
            chela_json_put_int(o, "contextWindow", window);
        chela_json_put_bool(o, "supportsTools", chela_json_bool(m, "tools", false));
        if (chela_json_bool(m, "local", false))
            push_text(chela_json_put_array(o, "tags"), "local");
    }
    json_object_put(models);
    return list;
}

/* ---- commands ---- */

static const char *category_of(const char *ours)
{
    static const char *const theirs[][2] = {
        {"help", "status"}, {"session", "session"}, {"tools", "tools"}, {"plugin", "management"}};
    for (size_t i = 0; i < ARRAY_LENGTH(theirs); i++) {
        if (strcmp(ours, theirs[i][0]) == 0)
            return theirs[i][1];
    }
    return "management";
}

static void add_command(json_object *list, json_object *command, bool with_args)
{
    static const char *const same[] = {"name", "description", "acceptsArgs", NULL};
    json_object *o = chela_json_push_object(list);
    const char *source = chela_member(command, "source"), *args = chela_member(command, "args");
    copy(o, command, same);
    if (!chela_json_get(o, "description"))
        chela_json_put_text(o, "description", "");
    chela_json_put_text(o, "source", strcmp(source, "native") == 0 ? "native" : "plugin");
    chela_json_put_text(o, "category", category_of(chela_member(command, "category")));
    chela_json_put_text(o, "scope", "text");
    if (with_args && *args) {
        json_object *arg = chela_json_push_object(chela_json_put_array(o, "args"));
        chela_json_put_text(arg, "name", args);
        chela_json_put_text(arg, "description", "");
        chela_json_put_text(arg, "type", "string");
    }
}

json_object *catalog_commands(json_object *commands, bool with_args)
{
    json_object *list = chela_json_new_array();
    for (size_t i = 0; i < chela_json_length(commands); i++)
        add_command(list, chela_json_at(commands, i), with_args);
    json_object_put(commands);
    return list;
}

/* ---- tools: one group for each instance; why one is hidden stands in its tags ---- */

static json_object *group_of(json_object *groups, const char *instance)
{
    for (size_t i = 0; i < chela_json_length(groups); i++) {
        json_object *g = chela_json_at(groups, i);
        if (strcmp(chela_member(g, "id"), instance) == 0)
            return g;
    }
    json_object *g = chela_json_push_object(groups);
    chela_json_put_text(g, "id", instance);
    chela_json_put_text(g, "label", instance);
    chela_json_put_text(g, "source", "plugin");
    chela_json_put_text(g, "pluginId", instance);
    chela_json_put_array(g, "tools");
    return g;
}

static void add_tool(json_object *groups, json_object *tool)
{
    const char *instance = chela_member(tool, "source"), *name = chela_member(tool, "name"),
               *why = chela_member(tool, "why");
    json_object *list = chela_json_array(group_of(groups, instance), "tools"),
                *o = chela_json_push_object(list), *tags;
    chela_json_put_text(o, "id", name);
    chela_json_put_text(o, "label", name);
    chela_json_put_text(o, "description", chela_member(tool, "description"));
    chela_json_put_text(o, "source", "plugin");
    chela_json_put_text(o, "pluginId", instance);
    chela_json_put_text(o, "risk", chela_member(tool, "risk"));
    tags = chela_json_put_array(o, "tags");
    if (*chela_member(tool, "group"))
        push_text(tags, chela_member(tool, "group"));
    if (*why)
        push_text(tags, why);
    chela_json_put(o, "defaultProfiles", json_object_get(chela_json_get(tool, "profiles")));
}

json_object *catalog_tools(json_object *tools, const char *agent)
{
    static const char *const profiles[] = {"minimal", "coding", "messaging", "full"};
    json_object *o = chela_json_new_object(), *list, *groups;
    chela_json_put_text(o, "agentId", agent);
    list = chela_json_put_array(o, "profiles");
    for (size_t i = 0; i < ARRAY_LENGTH(profiles); i++) {
        json_object *p = chela_json_push_object(list);
        chela_json_put_text(p, "id", profiles[i]);
        chela_json_put_text(p, "label", profiles[i]);
    }
    groups = chela_json_put_array(o, "groups");
    for (size_t i = 0; i < chela_json_length(tools); i++)
        add_tool(groups, chela_json_at(tools, i));
    json_object_put(tools);
    return o;
}

/* ---- what a session's model really gets: what is hidden is left out ---- */

static json_object *effective_group(json_object *groups)
{
    if (chela_json_length(groups))
        return chela_json_at(groups, 0);
    json_object *g = chela_json_push_object(groups);
    chela_json_put_text(g, "id", "plugin");
    chela_json_put_text(g, "label", "Plugins");
    chela_json_put_text(g, "source", "plugin");
    chela_json_put_array(g, "tools");
    return g;
}

json_object *catalog_effective(json_object *tools, const char *agent, const char *profile)
{
    json_object *o = chela_json_new_object(), *groups;
    chela_json_put_text(o, "agentId", agent);
    chela_json_put_text(o, "profile", profile);
    groups = chela_json_put_array(o, "groups");
    for (size_t i = 0; i < chela_json_length(tools); i++) {
        json_object *tool = chela_json_at(tools, i), *t;
        if (!chela_json_bool(tool, "visible", false))
            continue;
        t = chela_json_push_object(chela_json_array(effective_group(groups), "tools"));
        chela_json_put_text(t, "id", chela_member(tool, "name"));
        chela_json_put_text(t, "label", chela_member(tool, "name"));
        chela_json_put_text(t, "description", chela_member(tool, "description"));
        chela_json_put_text(t, "rawDescription", chela_member(tool, "description"));
        chela_json_put_text(t, "source", "plugin");
        if (*chela_member(tool, "source"))
            chela_json_put_text(t, "pluginId", chela_member(tool, "source"));
        if (*chela_member(tool, "risk"))
            chela_json_put_text(t, "risk", chela_member(tool, "risk"));
    }
    json_object_put(tools);
    return o;
}
