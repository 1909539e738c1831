/*
 * Builds tool plans and keeps one for each agent until a published list, the state of an instance
 * or the configuration changes.
 */
#include "agent/tools/toolplan.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/tools/policy.h"
#include "agent/tools/toolsearch.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/settings.h"

static struct map plans; /* by agent, the rules that fit, and what a turn leaves */

enum { PLANS_MOST = 64 };

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

static struct policy_scope scope_of(const struct tool_plan *p)
{
    return (struct policy_scope){.agent = p->agent,
                                 .channel = p->channel,
                                 .sender = p->sender,
                                 .only = p->only,
                                 .without = p->without};
}

/* Why a tool is not offered, or NULL if it is. `taken`: tools before it. */
static const char *hidden(const struct tool_plan *taken, const struct tool *t)
{
    const struct policy_scope scope = scope_of(taken);
    if (t->broken)
        return t->broken;
    if (instance_state(t->instance) != INSTANCE_RUNNING)
        return "its plugin does not run";
    if (toolplan_find(taken, t->name))
        return "another plugin before it has a tool of this name";
    const char *why = NULL;
    if (!policy_visible(&scope, t, &why))
        return why;
    return NULL;
}

static struct tool_plan *new_plan(const struct policy_scope *scope)
{
    struct tool_plan *p = xcalloc(1, sizeof *p);
    p->refs = 1;
    p->agent = xstrdup(scope->agent);
    p->channel = xstrdup(scope->channel ? scope->channel : "");
    p->sender = xstrdup(scope->sender ? scope->sender : "");
    p->only = xstrdup(scope->only ? scope->only : "");
    p->without = xstrdup(scope->without ? scope->without : "");
    return p;
}

/* ---- too many tools: those of the largest instances are found by search ---- */

enum { SMALL_ENOUGH = 1000 };

static const struct instance *largest(const struct tool_plan *p)
{
    const struct instance *found = NULL;
    uint32_t most = SMALL_ENOUGH;
    for (unsigned i = 0; i < p->count; i++) {
        uint32_t sum = 0;
        for (unsigned k = 0; k < p->count; k++)
            sum += p->tools[k]->instance == p->tools[i]->instance ? p->tools[k]->tokens : 0;
        if (sum > most) {
            most = sum;
            found = p->tools[i]->instance;
        }
    }
    return found;
}

static void drop(struct tool_plan *p, const struct instance *in)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < p->count; i++) {
        if (p->tools[i]->instance == in) {
            p->tokens -= p->tools[i]->tokens;
            toolset_release(p->tools[i]->set);
        } else {
            p->tools[kept++] = p->tools[i];
        }
    }
    p->count = kept;
}

static void defer_many(struct tool_plan *p)
{
    int64_t most = settings_number_or("tools.defer_above", 12000);
    const struct instance *in;
    while (most > 0 && p->tokens > most && (in = largest(p)))
        drop(p, in);
}

static struct tool_plan *build(const struct policy_scope *scope)
{
    struct tool_plan *p = new_plan(scope);
    bool searches = settings_number_or("tools.search", 1) != 0;
    unsigned allowed = 0;
    for (struct instance *in = NULL; (in = instance_next(ROLE_TOOL, in));) {
        struct toolset *s = toolset_get(in);
        for (unsigned i = 0; s && i < s->count; i++) {
            if (hidden(p, &s->tools[i]))
                continue;
            allowed++;
            if (!s->tools[i].deferred)
                add(p, &s->tools[i]);
        }
        toolset_release(s);
    }
    if (searches)
        defer_many(p);
    if (searches && p->count < allowed)
        add(p, toolsearch_tool());
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

struct tool_plan *toolplan_get_for(const struct policy_scope *scope)
{
    static uint64_t revisions;
    uint64_t stamp = stamp_now();
    CLEANUP(freep) char *rules = policy_rules_key(scope);
    CLEANUP(freep)
    char *key = xprintf("%s\n%s\n%s\n%s", scope->agent, rules, scope->only ? scope->only : "",
                        scope->without ? scope->without : "");
    struct cached *c = map_get(&plans, key);
    if (c && (c->stamp != stamp || c->settings != settings_now())) {
        map_remove(&plans, key);
        cached_free(c);
        c = NULL;
    }
    if (!c) {
        if (plans.count >= PLANS_MOST) { /* narrowed ones are as many as there are wishes */
            map_free(&plans, cached_free);
            memset(&plans, 0, sizeof plans);
        }
        c = xcalloc(1, sizeof *c);
        c->plan = build(scope);
        c->plan->shared = true;
        c->plan->revision = ++revisions;
        c->stamp = stamp;
        c->settings = settings_now();
        map_set(&plans, key, c);
    }
    c->plan->refs++;
    return c->plan;
}

struct tool_plan *toolplan_get(const char *agent)
{
    struct policy_scope scope = {.agent = agent};
    return toolplan_get_for(&scope);
}

struct tool_plan *toolplan_with_client(struct tool_plan *p, struct json_object *list)
{
    if (chela_json_length(list) == 0)
        return p;
    struct toolset *theirs = toolset_of_client(list);
    struct policy_scope scope = scope_of(p);
    struct tool_plan *own = new_plan(&scope);
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
    free(p->channel);
    free(p->sender);
    free(p->only);
    free(p->without);
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
        if (t && !hidden(*plan, t)) {
            found = t;
            holder = s;
        } else {
            toolset_release(s);
        }
    }
    if (!found)
        return NULL;
    if ((*plan)->shared) {
        struct policy_scope scope = scope_of(*plan);
        struct tool_plan *own = new_plan(&scope);
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

void toolplan_each_left_out(const struct tool_plan *p, void (*fn)(void *arg, const struct tool *t),
                            void *arg)
{
    for (struct instance *in = NULL; (in = instance_next(ROLE_TOOL, in));) {
        struct toolset *s = toolset_get(in);
        for (unsigned i = 0; s && i < s->count; i++)
            if (!hidden(p, &s->tools[i]))
                fn(arg, &s->tools[i]);
        toolset_release(s); /* the newest is held by tools.c */
    }
}

bool toolplan_allows(const struct tool_plan *p, const struct tool *t, const char *provider,
                     const char **why)
{
    struct policy_scope scope = scope_of(p);
    scope.provider = provider;
    return !t->instance || policy_visible(&scope, t, why);
}

struct chela_pair *toolplan_pairs(const struct tool_plan *p, const char *provider,
                                  unsigned *ret_count)
{
    const char *why;
    struct policy_scope scope = scope_of(p);
    CLEANUP(freep) char *without = policy_rules_key(&scope);
    scope.provider = provider;
    CLEANUP(freep) char *with = policy_rules_key(&scope);
    *ret_count = p->count;
    if (strcmp(with, without) == 0)
        return NULL;
    struct chela_pair *own = xcalloc(p->count ? p->count : 1, sizeof *own);
    *ret_count = 0;
    for (unsigned i = 0; i < p->count; i++)
        if (toolplan_allows(p, p->tools[i], provider, &why))
            own[(*ret_count)++] = p->pairs[i];
    return own;
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

/* ---- why a tool is offered, or not ---- */

static struct json_object *explain_one(const struct tool_plan *p, const struct tool *t,
                                       const char *text)
{
    struct json_object *o = chela_json_new_object();
    const struct tool *in_plan = toolplan_find(p, t->name);
    struct tool_plan nothing = *p; /* so that it isn't in its own way */
    nothing.count = in_plan == t ? 0 : p->count;
    const char *why = hidden(&nothing, t);
    const char *risk = tool_risk_name(t->risk);
    struct policy_verdict v = policy_call(p->agent, t, t->risk);
    chela_json_put_text(o, "name", t->name);
    chela_json_put_text(o, "description", t->description);
    chela_json_put_text(o, "source", instance_name(t->instance));
    chela_json_put_text(o, "group", t->group);
    chela_json_put_text(o, "risk", risk);
    chela_json_put_int(o, "tokens", t->tokens);
    policy_profiles(t, chela_json_put_array(o, "profiles"));
    chela_json_put_bool(o, "visible", in_plan == t);
    chela_json_put_text(o, "why",
                        in_plan == t  ? ""
                        : why         ? why
                        : t->deferred ? "deferred: tool_search finds it"
                                      : "left out because there are many tools: tool_search "
                                        "finds it (tools.defer_above)");
    CLEANUP(freep)
    char *approval = xprintf("%s: %s",
                             v.answer == POLICY_FREE     ? "runs unasked"
                             : v.answer == POLICY_ASK    ? "a person is asked"
                             : v.answer == POLICY_LISTED ? "runs if the allow-list has it"
                                                         : "never runs",
                             v.why);
    chela_json_put_text(o, "approval", approval);
    if (text)
        chela_json_put_int(o, "score", toolsearch_score(t, text));
    return o;
}

struct json_object *toolplan_explain(const struct policy_scope *scope, const char *text)
{
    struct json_object *list = chela_json_new_array();
    struct tool_plan *p = build(scope);
    for (struct instance *in = NULL; (in = instance_next(ROLE_TOOL, in));) {
        struct toolset *s = toolset_get(in);
        for (unsigned i = 0; s && i < s->count; i++)
            chela_json_push(list, explain_one(p, &s->tools[i], text));
        toolset_release(s);
    }
    toolplan_release(p);
    return list;
}

void toolplan_reset(void)
{
    map_free(&plans, cached_free);
    memset(&plans, 0, sizeof plans);
    toolsearch_reset();
}
