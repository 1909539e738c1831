/*
 * Routing: from a prompt to a plan, the list of candidates in the order to try. A person's choice
 * is strict; else the router instances are asked in the order of the configuration until one
 * decides, then come what a router offers as its default, the agent's own model and its fallbacks.
 * Called by context.c, calls turn.c. Never calls a model; what a router asks one is booked on the
 * turn (payer.h).
 */
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agents.h"
#include "agent/models/decisions.h"
#include "agent/models/models.h"
#include "agent/models/route_private.h"
#include "agent/runs.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/settings.h"

enum { FROM_ROUTER_MOST = 32 };

static void candidates_free(struct candidate *c, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        free(c[i].model);
        free(c[i].reason);
        free(c[i].by);
    }
    free(c);
}

static void routing_free(struct routing *r)
{
    candidates_free(r->candidates, r->count);
    candidates_free(r->weak, r->weak_count);
    payer_release(r->payer);
    json_object_put(r->heard);
    route_facts_free(r);
    free(r);
}

/* Behind those that are there, once. */
static void add_to(struct candidate **list, unsigned *count, const char *wanted, const char *reason,
                   const char *by)
{
    char *full = models_resolve(wanted);
    if (!full) {
        log_warning("route", "\"%s\" (%s) names no provider that is there", wanted, by);
        return;
    }
    for (unsigned i = 0; i < *count; i++) {
        if (strcmp((*list)[i].model, full) == 0) {
            free(full);
            return;
        }
    }
    *list = xrealloc(*list, (*count + 1) * sizeof **list);
    (*list)[(*count)++] = (struct candidate){full, xstrdup(reason), xstrdup(by)};
}

static void add(struct routing *r, const char *wanted, const char *reason, const char *by)
{
    add_to(&r->candidates, &r->count, wanted, reason, by);
}

/* What the prompt needs and the model hasn't, or NULL. */
static const char *lacking(const struct routing *r, const char *model)
{
    struct model_info info;
    if (!models_info(model, &info))
        return NULL;
    if (r->images > 0 && !info.images)
        return "it takes no images";
    if (r->tools > 0 && !info.tools)
        return "it takes no tools";
    if (info.listed && r->tokens > info.context)
        return "the prompt is longer than its window";
    return NULL;
}

/* Those that lack what the prompt needs go behind those that have it, and say so. */
static void sort_by_ability(struct routing *r)
{
    struct candidate *sorted = xcalloc(r->count ? r->count : 1, sizeof *sorted);
    unsigned n = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < r->count; i++) {
            struct candidate *c = &r->candidates[i];
            const char *lack = lacking(r, c->model);
            if ((lack != NULL) != (pass == 1))
                continue;
            if (lack) {
                char *reason = xprintf("%s; %s", c->reason, lack);
                free(c->reason);
                c->reason = reason;
            }
            sorted[n++] = *c;
        }
    }
    free(r->candidates);
    r->candidates = sorted;
}

static void fill_up(struct routing *r)
{
    for (unsigned i = 0; i < r->weak_count; i++)
        add(r, r->weak[i].model, r->weak[i].reason, r->weak[i].by);
    const char *model = agents_text(r->agent, "model");
    if (*model)
        add(r, model, "the agent's model", "agent");
    if (r->count == 0) {
        CLEANUP(freep) char *first = models_first();
        if (first)
            add(r, first, "the first model that there is", "default");
    }
    for (unsigned i = 0; i < agents_count(r->agent, "fallback"); i++)
        add(r, agents_item(r->agent, "fallback", i), "fallback of the agent", "agent");
    sort_by_ability(r);
}

static void complete(struct routing *r)
{
    if (!r->strict)
        fill_up(r);
    if (!r->prompt) {
        struct json_object *o = route_explanation(r);
        route_fn *fn = r->fn;
        void *owner = r->owner;
        routing_free(r);
        fn(owner, o);
        return;
    }
    struct plan *plan = xcalloc(1, sizeof *plan);
    struct run *run = runs_find(r->prompt->job->run);
    if (run) {
        runs_set_owner(run, NULL, NULL);
        decisions_note(run, "route", route_decision(r));
    }
    plan->prompt = r->prompt;
    plan->candidates = r->candidates;
    plan->count = r->count;
    plan->strict = r->strict;
    r->candidates = NULL;
    r->count = 0;
    routing_free(r);
    turn_begin(plan);
}

static void ask_next(struct routing *r);

static void take_candidates(struct routing *r, const struct chela_decide *v)
{
    bool weak = v->h.flags & CHELA_WEAK;
    for (uint64_t i = 0; i < v->candidates.n && i < FROM_ROUTER_MOST; i++) {
        const struct chela_pair *p = &v->candidates.v[i];
        CLEANUP(freep) char *model = xmemdup(p->name.s ? p->name.s : "", p->name.n);
        CLEANUP(freep) char *reason = xmemdup(p->value.s ? p->value.s : "", p->value.n);
        if (weak)
            add_to(&r->weak, &r->weak_count, model, reason, instance_name(r->router));
        else
            add(r, model, reason, instance_name(r->router));
    }
    r->decided = r->decided || (!weak && r->count > 0);
}

static void routed(void *owner, uint64_t call, const struct chela_done *d,
                   const struct chela_decide *v)
{
    struct routing *r = owner;
    (void)call;
    r->call = 0;
    route_heard(r, d, v);
    if (!v)
        log_warning("route", "router %s: %.*s", instance_name(r->router), (int)d->text.n,
                    d->text.s ? d->text.s : "");
    if (v && v->verdict == CHELA_YES && !r->decided)
        take_candidates(r, v);
    ask_next(r);
}

static const struct call_ops ops = {NULL, routed};

static void ask_next(struct routing *r)
{
    const struct run *run = r->prompt ? runs_find(r->prompt->job->run) : NULL;
    do {
        r->router = instance_next(ROLE_ROUTER, r->router);
    } while (r->router && instance_state(r->router) != INSTANCE_RUNNING);
    if (!r->router || (r->decided && r->prompt) || (run && run->aborted)) {
        complete(r);
        return;
    }
    r->call = route_ask(r, &ops);
    payer_for(r->payer, r->call);
}

/* An agent whose own entry names a model has chosen; what it inherits leaves room for the
 * routers. */
static bool agent_chose(const char *agent)
{
    static const char inherited[] = "agents.defaults.model";
    const struct settings *s = settings_now();
    CLEANUP(freep) char *path = xprintf("agents.%s.model", agent);
    if (!settings_has(s, path))
        return false;
    return strcmp(settings_text(s, path), settings_text(s, inherited)) != 0 ||
           strcmp(settings_origin(s, path), settings_origin(s, inherited)) != 0;
}

static void start(struct routing *r)
{
    r->heard = chela_json_new_array();
    if (*r->prefer) {
        r->strict = r->decided = true;
        add(r, r->prefer, "chosen by a person", "person");
    } else {
        r->decided = agent_chose(r->agent);
    }
    if (r->decided && r->prompt)
        complete(r);
    else
        ask_next(r);
}

static void aborted(void *owner)
{
    call_cancel(((struct routing *)owner)->call);
}

void route_choose(struct prompt *p)
{
    struct run *run = runs_find(p->job->run);
    if (run)
        runs_move(run, TURN_ROUTING);
    struct routing *r = xcalloc(1, sizeof *r);
    route_facts_of_prompt(r, p);
    r->payer = payer_open(r->session, p->job->run, r->channel, r->sender);
    if (run)
        runs_set_owner(run, aborted, r);
    start(r);
}

void route_explain(const struct route_question *q, route_fn *fn, void *owner)
{
    struct routing *r = xcalloc(1, sizeof *r);
    route_facts_of_question(r, q);
    r->payer = payer_open(r->session, "", r->channel, r->sender);
    r->fn = fn;
    r->owner = owner;
    start(r);
}
