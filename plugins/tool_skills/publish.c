/*
 * What the skills give to the gateway: manifests of their tools (a skill without tools has one that
 * returns its body), slash commands, and the tool by which a model reads a skill. Called when what
 * is on disk has changed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skills.h"

static const char read_manifest[] =
    "{\"name\":\"read_skill\",\"group\":\"plugins\",\"description\":\"Reads the instructions of a "
    "skill by its name.\",\"parameters\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":"
    "\"string\"}},\"required\":[\"name\"],\"additionalProperties\":false},\"security\":{"
    "\"requiresApproval\":false,\"riskLevel\":\"low\"},\"reads_only\":true,\"repeatable\":true}";

char *skills_tool_name(const struct skill *s, json_object *tool)
{
    const char *name = chela_json_string(tool, "name", NULL);
    char *text = NULL;
    if (name ? asprintf(&text, "%.64s", name) < 0 : asprintf(&text, "skill_%s", s->name) < 0)
        abort();
    return text;
}

static char *body_manifest(const struct skill *s)
{
    json_object *m = chela_json_new_object();
    char *name = skills_tool_name(s, NULL);
    chela_json_put_text(m, "name", name);
    chela_json_put_text(m, "description", s->description);
    json_object *p = chela_json_put_object(m, "parameters");
    chela_json_put_text(p, "type", "object");
    chela_json_put_object(p, "properties");
    chela_json_put_text(m, "group", "plugins");
    chela_json_put_bool(m, "reads_only", true);
    chela_json_put_bool(m, "repeatable", true);
    chela_json_put_bool(m, "deferred", true); /* the list in the prompt leads to read_skill */
    json_object *security = chela_json_put_object(m, "security");
    chela_json_put_bool(security, "requiresApproval", false);
    chela_json_put_text(security, "riskLevel", "low");
    char *text = skills_need(strdup(chela_json_text(m, NULL)));
    json_object_put(m);
    free(name);
    return text;
}

static char *tool_manifest(const struct skill *s, json_object *tool)
{
    json_object *m = chela_json_new_object(), *parameters = chela_json_object(tool, "parameters");
    const char *about = chela_json_string(tool, "description", NULL),
               *risk = chela_json_string(tool, "risk", NULL);
    char *name = skills_tool_name(s, tool);
    chela_json_put_text(m, "name", name);
    chela_json_put_text(m, "description", about ? about : s->description);
    if (parameters) {
        chela_json_put(m, "parameters", json_object_get(parameters));
    } else {
        parameters = chela_json_put_object(m, "parameters");
        chela_json_put_text(parameters, "type", "object");
        chela_json_put_object(parameters, "properties");
    }
    chela_json_put_text(m, "group", "plugins");
    json_object *security = chela_json_put_object(m, "security");
    chela_json_put_bool(security, "requiresApproval", true);
    chela_json_put_text(security, "riskLevel",
                        risk && strcmp(risk, "high") == 0 ? "high" : "medium");
    char *text = skills_need(strdup(chela_json_text(m, NULL)));
    json_object_put(m);
    free(name);
    return text;
}

struct list {
    struct chela_pair *v;
    size_t n;
};

static void add(struct list *l, char *name, char *value)
{
    for (size_t i = 0; i < l->n; i++)
        if (chela_str_is(l->v[i].name, name)) { /* the first one counts */
            free(name);
            free(value);
            return;
        }
    l->v = skills_need(realloc(l->v, (l->n + 1) * sizeof *l->v));
    l->v[l->n++] = (struct chela_pair){chela_s(name), chela_s(value)};
}

static void list_free(struct list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free((void *)(uintptr_t)l->v[i].name.s);
        free((void *)(uintptr_t)l->v[i].value.s);
    }
    free(l->v);
}

static char *command_about(const struct skill *s)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "description", s->description);
    chela_json_put_text(o, "args", "[text]");
    char *text = skills_need(strdup(chela_json_text(o, NULL)));
    json_object_put(o);
    return text;
}

void skills_publish(struct skills *m)
{
    struct list tools = {0}, commands = {0};
    for (size_t i = 0; i < m->count; i++) {
        const struct skill *s = m->all[i];
        json_object *list = skill_tools(s);
        if (!skills_usable(s, NULL))
            continue;
        if (s->user_invocable)
            add(&commands, skills_need(strdup(s->name)), command_about(s));
        if (!s->for_models)
            continue;
        for (size_t k = 0; k < chela_json_length(list); k++)
            add(&tools, skills_tool_name(s, chela_json_at(list, k)),
                tool_manifest(s, chela_json_at(list, k)));
        if (!list)
            add(&tools, skills_tool_name(s, NULL), body_manifest(s));
    }
    if (tools.n)
        add(&tools, skills_need(strdup("read_skill")), skills_need(strdup(read_manifest)));
    m->revision++;
    chela_publish_list(m->in, CHELA_TOOLS, m->revision, tools.v, tools.n);
    chela_publish_list(m->in, CHELA_COMMANDS, m->revision, commands.v, commands.n);
    list_free(&tools);
    list_free(&commands);
}
