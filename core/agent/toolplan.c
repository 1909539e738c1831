/*
 * Builds tool plans and keeps one for each agent until a published list, the state of an instance
 * or the configuration changes.
 */
#include "agent/toolplan.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/policy.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/settings.h"

static struct map plans; /* by agent */

struct cached {
    struct tool_plan *plan;
    uint64_t stamp;
    const struct settings *settings;
};

/* Changes when an instance's list or state does. */
static uint64_t stamp_now(void)
{
    uint64_t stamp = 14695981039346656037u;
    for (struct instance *in = NULL; (in = instance_next(ROLE_TOOL, in));) {
        const struct published *p = published_get(in, CHELA_TOOLS);
        uint64_t part[] = {(uint64_t)(uintptr_t)in, p ? p->revision + 1 : 0,
                           (uint64_t)instance_state(in)};
        published_release(p);
        for (unsigned i = 0; i < ARRAY_LENGTH(part); i++)
            stamp = (stamp ^ part[i]) * 1099511628211u;
    }
    return stamp;
}

static int by_sort_key(const void *a, const void *b)
{
    const struct tool *x = *(const struct tool *const *)a, *y = *(const struct tool *const *)b;
    int order = strcmp(x->sort_key, y->sort_key);
    return order ? order : strcmp(x->name, y->name);
}

static void add(struct tool_plan *p, const struct tool *t)
{
    p->tools = xrealloc(p->tools, (p->count + 1) * sizeof *p->tools);
    p->tools[p->count++] = t;
    p->tokens += t->tokens;
    toolset_ref(t->set);
}

static void make_pairs(struct tool_plan *p)
{
    p->pairs = xrealloc(p->pairs, (p->count ? p->count : 1) * sizeof *p->pairs);
    for (unsigned i = 0; i < p->count; i++)
        p->pairs[i] =
            (struct chela_pair){chela_s(p->tools[i]->name), chela_s(p->tools[i]->definition)};
}

/* Why a tool is not offered, or NULL if it is. `taken`: tools before it. */
static const char *hidden(const char *agent, const struct tool *t, const struct tool_plan *taken)
{
    if (t->broken)
        return t->broken;
    if (instance_state(t->instance) != INSTANCE_RUNNING)
        return "its plugin does not run";
    if (toolplan_find(taken, t->name))
        return "another plugin before it has a tool of this name";
    const char *why = NULL;
    if (!policy_visible(agent, t, &why))
        return why;
    return NULL;
}

static struct tool_plan *build(const char *agent, struct json_object *explain)
{
    struct tool_plan *p = xcalloc(1, sizeof *p);
    p->refs = 1;
    p->agent = xstrdup(agent);
    for (struct instance *in = NULL; (in = instance_next(ROLE_TOOL, in));) {
        struct toolset *s = toolset_get(in);
        for (unsigned i = 0; s && i < s->count; i++) {
            const struct tool *t = &s->tools[i];
            const char *why = hidden(agent, t, p);
            if (!why && !t->deferred)
                add(p, t);
            if (!explain)
                continue;
            struct json_object *o = chela_json_push_object(explain);
            chela_json_put_text(o, "name", t->name);
            chela_json_put_text(o, "description", t->description);
            chela_json_put_text(o, "source", instance_name(in));
            chela_json_put_text(o, "group", t->group);
            chela_json_put_text(o, "risk", tool_risk_name(t->risk));
            policy_profiles(t, chela_json_put_array(o, "profiles"));
            chela_json_put_bool(o, "visible", !why && !t->deferred);
            chela_json_put_text(o, "why",
                                why           ? why
                                : t->deferred ? "deferred: found when a model asks for it by name"
                                              : "");
        }
        toolset_release(s);
    }
    if (p->count)
        qsort(p->tools, p->count, sizeof *p->tools, by_sort_key);
    make_pairs(p);
    return p;
}

static void cached_free(void *v)
{
    struct cached *c = v;
    toolplan_release(c->plan);
    free(c);
}

struct tool_plan *toolplan_get(const char *agent)
{
    static uint64_t revisions;
    uint64_t stamp = stamp_now();
    struct cached *c = map_get(&plans, agent);
    if (c && (c->stamp != stamp || c->settings != settings_now())) {
        map_remove(&plans, agent);
        cached_free(c);
        c = NULL;
    }
    if (!c) {
        c = xcalloc(1, sizeof *c);
        c->plan = build(agent, NULL);
        c->plan->shared = true;
        c->plan->revision = ++revisions;
        c->stamp = stamp;
        c->settings = settings_now();
        map_set(&plans, agent, c);
    }
    c->plan->refs++;
    return c->plan;
}

struct tool_plan *toolplan_with_client(struct tool_plan *p, struct json_object *list)
{
    if (chela_json_length(list) == 0)
        return p;
    struct toolset *theirs = toolset_of_client(list);
    struct tool_plan *own = xcalloc(1, sizeof *own);
    own->refs = 1;
    own->agent = xstrdup(p->agent);
    own->revision = p->revision;
    for (unsigned i = 0; i < theirs->count; i++)
        if (!theirs->tools[i].broken && !toolplan_find(own, theirs->tools[i].name))
            add(own, &theirs->tools[i]);
    for (unsigned i = 0; i < p->count; i++)
        if (!toolset_find(theirs, p->tools[i]->name))
            add(own, p->tools[i]);
    qsort(own->tools, own->count, sizeof *own->tools, by_sort_key);
    make_pairs(own);
    toolset_release(theirs);
    toolplan_release(p);
    return own;
}

void toolplan_release(struct tool_plan *p)
{
    if (!p || --p->refs)
        return;
    for (unsigned i = 0; i < p->count; i++)
        toolset_release(p->tools[i]->set);
    free(p->tools);
    free(p->pairs);
    free(p->agent);
    free(p);
}

const struct tool *toolplan_find(const struct tool_plan *p, const char *name)
{
    for (unsigned i = 0; i < p->count; i++) {
        if (strcmp(p->tools[i]->name, name) == 0)
            return p->tools[i];
    }
    return NULL;
}

const struct tool *toolplan_resolve(struct tool_plan **plan, const char *name)
{
    const struct tool *found = NULL;
    struct toolset *holder = NULL;
    for (struct instance *in = NULL; !found && (in = instance_next(ROLE_TOOL, in));) {
        struct toolset *s = toolset_get(in);
        const struct tool *t = s ? toolset_find(s, name) : NULL;
        if (t && t->deferred && !hidden((*plan)->agent, t, *plan)) {
            found = t;
            holder = s;
        } else {
            toolset_release(s);
        }
    }
    if (!found)
        return NULL;
    if ((*plan)->shared) {
        struct tool_plan *own = xcalloc(1, sizeof *own);
        own->refs = 1;
        own->agent = xstrdup((*plan)->agent);
        own->revision = (*plan)->revision;
        for (unsigned i = 0; i < (*plan)->count; i++)
            add(own, (*plan)->tools[i]);
        toolplan_release(*plan);
        *plan = own;
    }
    add(*plan, found);
    make_pairs(*plan);
    toolset_release(holder);
    return found;
}

bool toolplan_current(const struct tool *t)
{
    if (!t->instance)
        return true;
    if (instance_state(t->instance) != INSTANCE_RUNNING)
        return false;
    struct toolset *s = toolset_get(t->instance);
    const struct tool *now = s ? toolset_find(s, t->name) : NULL;
    bool same = now && strcmp(now->hash, t->hash) == 0;
    toolset_release(s);
    return same;
}

struct json_object *toolplan_explain(const char *agent)
{
    struct json_object *list = chela_json_new_array();
    toolplan_release(build(agent, list));
    return list;
}

void toolplan_reset(void)
{
    map_free(&plans, cached_free);
    memset(&plans, 0, sizeof plans);
}
