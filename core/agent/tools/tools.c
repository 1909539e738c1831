/*
 * Published tools, parsed. A manifest that is no JSON object or whose schema can't be compiled
 * stays in the list with the reason, so that `chela tools` can show it, but is never offered.
 */
#include "agent/tools/tools.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/digest.h"
#include "agent/models/tokens.h"
#include "agent/schema/schema.h"
#include "base/map.h"
#include "base/mem.h"

static struct map newest; /* by instance name */

static const char *const risk_names[] = {"low", "medium", "high"};

enum tool_risk tool_risk_of(const char *name, enum tool_risk fallback)
{
    for (unsigned i = 0; name && i < ARRAY_LENGTH(risk_names); i++) {
        if (strcmp(risk_names[i], name) == 0)
            return (enum tool_risk)i;
    }
    return name ? RISK_HIGH : fallback; /* a word that we don't know is no reason for trust */
}

const char *tool_risk_name(enum tool_risk r)
{
    return risk_names[r];
}

static bool name_ok(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > 128)
        return false;
    for (const char *p = name; *p; p++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.", *p))
            return false;
    }
    return true;
}

static struct schema *compile(struct tool *t, const char *what, struct json_object *text)
{
    struct error e = {0};
    struct schema *s = schema_compile(text, &e);
    if (!s && !t->broken)
        t->broken = xprintf("its \"%s\" is no schema that can be used: %s", what, e.text);
    return s;
}

static void make_definition(struct tool *t, struct json_object *parameters)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "name", t->name);
    chela_json_put_text(o, "description", t->description);
    chela_json_put(o, "parameters", json_object_get(parameters));
    size_t n;
    const char *text = chela_json_text(o, &n);
    t->definition = xmemdup(text, n);
    t->tokens = tokens_of(text, n);
    json_object_put(o);
}

static void tool_read(struct tool *t, const struct chela_pair *item)
{
    struct json_object *m = NULL;
    digest_hex(item->value.s, item->value.n, t->hash);
    if (chela_json_parse(item->value.s, item->value.n, NULL, &m, NULL) != 0 ||
        !json_object_is_type(m, json_type_object)) {
        json_object_put(m);
        m = chela_json_new_object();
        t->broken = xstrdup("its manifest is no JSON object");
    }
    t->manifest = m;
    chela_json_put_string(m, "name", item->name.s, item->name.n);
    const char *name = chela_json_string(m, "name", NULL);
    const char *description = chela_json_string(m, "description", NULL);
    const char *group = chela_json_string(m, "group", NULL);
    const char *sort_key = chela_json_string(m, "sort_key", NULL);
    t->name = name ? name : "";
    t->description = description ? description : "";
    t->group = group ? group : "";
    t->sort_key = sort_key && *sort_key ? sort_key : t->name;
    if (!name_ok(t->name) && !t->broken)
        t->broken = xstrdup("its name may hold letters, digits, '_', '-' and '.' only");
    struct json_object *security = chela_json_object(m, "security");
    t->requires_approval = chela_json_bool(security, "requiresApproval", false);
    const char *execution = chela_json_string(m, "execution", NULL);
    t->sequential = execution && strcmp(execution, "sequential") == 0;
    t->repeatable = chela_json_bool(m, "repeatable", false);
    t->reads_only = chela_json_bool(m, "reads_only", false);
    t->deferred = chela_json_bool(m, "deferred", false);
    /* who doesn't say how risky a tool is gets asked about it, unless it only reads */
    t->risk = tool_risk_of(chela_json_string(security, "riskLevel", NULL),
                           t->reads_only ? RISK_LOW : RISK_MEDIUM);
    struct json_object *parameters = json_object_get(chela_json_object(m, "parameters"));
    if (!parameters) {
        parameters = chela_json_new_object();
        chela_json_put_text(parameters, "type", "object");
        chela_json_put_object(parameters, "properties");
    }
    t->parameters = compile(t, "parameters", parameters);
    struct json_object *returns = chela_json_get(m, "returns");
    t->returns = returns ? compile(t, "returns", returns) : NULL;
    make_definition(t, parameters);
    json_object_put(parameters);
}

static struct toolset *toolset_make(struct instance *in, const struct published *p)
{
    struct toolset *s = xcalloc(1, sizeof *s);
    s->refs = 1;
    s->revision = p->revision;
    s->instance = in;
    s->count = (unsigned)p->count;
    s->tools = xcalloc(p->count ? p->count : 1, sizeof *s->tools);
    for (unsigned i = 0; i < s->count; i++) {
        s->tools[i].set = s;
        s->tools[i].instance = in;
        tool_read(&s->tools[i], &p->items[i]);
    }
    return s;
}

struct toolset *toolset_of_client(struct json_object *list)
{
    struct toolset *s = xcalloc(1, sizeof *s);
    size_t count = chela_json_length(list);
    s->refs = 1;
    s->tools = xcalloc(count ? count : 1, sizeof *s->tools);
    for (size_t i = 0; i < count; i++) {
        struct json_object *about = chela_json_at(list, i);
        size_t name_n = 0, n = 0;
        const char *name = chela_json_string(about, "name", &name_n);
        const char *text = chela_json_text(about, &n);
        struct chela_pair item = {chela_sn(name ? name : "", name_n), chela_sn(text, n)};
        struct tool *t = &s->tools[s->count++];
        t->set = s;
        tool_read(t, &item);
    }
    return s;
}

void toolset_ref(struct toolset *s)
{
    s->refs++;
}

void toolset_release(struct toolset *s)
{
    if (!s || --s->refs)
        return;
    for (unsigned i = 0; i < s->count; i++) {
        struct tool *t = &s->tools[i];
        free(t->definition);
        free(t->broken);
        schema_free(t->parameters);
        schema_free(t->returns);
        json_object_put(t->manifest);
    }
    free(s->tools);
    free(s);
}

struct toolset *toolset_get(struct instance *in)
{
    const struct published *p = published_get(in, CHELA_TOOLS);
    struct toolset *s = map_get(&newest, instance_name(in));
    if (s && (!p || s->revision != p->revision || s->instance != in)) {
        map_remove(&newest, instance_name(in));
        toolset_release(s);
        s = NULL;
    }
    if (!s && p) {
        s = toolset_make(in, p);
        map_set(&newest, instance_name(in), s);
    }
    published_release(p);
    if (s)
        s->refs++;
    return s;
}

const struct tool *toolset_find(const struct toolset *s, const char *name)
{
    for (unsigned i = 0; i < s->count; i++) {
        if (strcmp(s->tools[i].name, name) == 0)
            return &s->tools[i];
    }
    return NULL;
}

static void release(void *p)
{
    toolset_release(p);
}

void toolset_reset(void)
{
    map_free(&newest, release);
    memset(&newest, 0, sizeof newest);
}
