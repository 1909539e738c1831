/*
 * Routing: from a prompt to a plan, the list of candidates in the order to try. A person's choice
 * is strict; else the router instances are asked in the order of the configuration, then come the
 * agent's own model and its fallbacks. Called by context.c, calls turn.c. Never calls a model.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/agents.h"
#include "agent/flow.h"
#include "agent/health.h"
#include "agent/models.h"
#include "agent/runs.h"
#include "agent/toolplan.h"
#include "agent/transcript.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/call.h"

/* What the routers are told, and what came of it. */
struct routing {
    struct prompt *prompt; /* NULL: only explained */
    char *session, *agent, *channel, *account, *chat, *sender, *text, *prefer;
    uint64_t tokens;
    unsigned tools, images, tool_calls;
    struct instance *router;
    uint64_t call;
    struct candidate *candidates;
    unsigned count;
    bool strict, decided;
    struct json_object *explain; /* array, or NULL */
    route_fn *fn;
    void *owner;
};

static void routing_free(struct routing *r)
{
    free(r->session);
    free(r->agent);
    free(r->channel);
    free(r->account);
    free(r->chat);
    free(r->sender);
    free(r->text);
    free(r->prefer);
    json_object_put(r->explain);
    free(r);
}

static void add(struct routing *r, const char *wanted, const char *reason, const char *by)
{
    char *full = models_resolve(wanted);
    if (!full) {
        log_warning("route", "\"%s\" (%s) names no provider that is there", wanted, by);
        return;
    }
    for (unsigned i = 0; i < r->count; i++) {
        if (strcmp(r->candidates[i].model, full) == 0) {
            free(full);
            return;
        }
    }
    r->candidates = xrealloc(r->candidates, (r->count + 1) * sizeof *r->candidates);
    r->candidates[r->count++] = (struct candidate){full, xstrdup(reason), xstrdup(by)};
}

/* Those that lack what the prompt needs go behind those that have it, and say so. */
static void sort_by_ability(struct routing *r)
{
    struct candidate *sorted = xcalloc(r->count ? r->count : 1, sizeof *sorted);
    unsigned n = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < r->count; i++) {
            struct candidate *c = &r->candidates[i];
            struct model_info info;
            bool known = models_info(c->model, &info);
            bool lacks_tools = known && r->tools > 0 && !info.tools;
            bool lacks_images = known && r->images > 0 && !info.images;
            if ((lacks_tools || lacks_images) != (pass == 1))
                continue;
            if (pass == 1) {
                char *reason =
                    xprintf("%s; it takes no %s", c->reason, lacks_images ? "images" : "tools");
                free(c->reason);
                c->reason = reason;
            }
            sorted[n++] = *c;
        }
    }
    free(r->candidates);
    r->candidates = sorted;
}

static void complete(struct routing *r)
{
    if (!r->strict) {
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
    if (r->prompt) {
        struct plan *plan = xcalloc(1, sizeof *plan);
        plan->prompt = r->prompt;
        plan->candidates = r->candidates;
        plan->count = r->count;
        plan->strict = r->strict;
        struct run *run = runs_find(r->prompt->job->run);
        if (run)
            runs_set_owner(run, NULL, NULL);
        routing_free(r);
        turn_begin(plan);
        return;
    }
    struct json_object *o = chela_json_new_object();
    struct json_object *facts = chela_json_put_object(o, "facts");
    chela_json_put_text(facts, "text", r->text);
    chela_json_put_text(facts, "prefer", r->prefer);
    chela_json_put_text(facts, "agent", r->agent);
    chela_json_put_text(facts, "session", r->session);
    chela_json_put_text(facts, "channel", r->channel);
    chela_json_put_int(facts, "contextTokens", (int64_t)r->tokens);
    chela_json_put_int(facts, "toolCalls", r->tool_calls);
    chela_json_put_int(facts, "tools", r->tools);
    chela_json_put_int(facts, "images", r->images);
    chela_json_put(o, "routers", json_object_get(r->explain));
    struct json_object *list = chela_json_put_array(o, "candidates");
    for (unsigned i = 0; i < r->count; i++) {
        struct json_object *c = chela_json_push_object(list);
        struct model_info info;
        bool known = models_info(r->candidates[i].model, &info);
        chela_json_put_text(c, "model", r->candidates[i].model);
        chela_json_put_text(c, "reason", r->candidates[i].reason);
        chela_json_put_text(c, "by", r->candidates[i].by);
        chela_json_put_bool(c, "available",
                            known && models_available(info.instance) &&
                                health_usable(r->candidates[i].model));
        chela_json_put_int(c, "latencyMs", (int64_t)health_latency(r->candidates[i].model));
        chela_json_put_double(c, "estimatedCost",
                              known ? (double)r->tokens * info.price_in / 1e6 : 0);
        free(r->candidates[i].model);
        free(r->candidates[i].reason);
        free(r->candidates[i].by);
    }
    free(r->candidates);
    chela_json_put_bool(o, "strict", r->strict);
    route_fn *fn = r->fn;
    void *owner = r->owner;
    routing_free(r);
    fn(owner, o);
}

static void ask_next(struct routing *r);

static void explain(struct routing *r, const struct chela_done *d, const struct chela_decide *v)
{
    struct json_object *o = chela_json_push_object(r->explain);
    chela_json_put_text(o, "name", instance_name(r->router));
    chela_json_put_text(o, "verdict",
                        !v                        ? "failed"
                        : v->verdict == CHELA_YES ? "yes"
                                                  : "no opinion");
    if (v)
        chela_json_put_string(o, "reason", v->text.s ? v->text.s : "", v->text.n);
    else
        chela_json_put_string(o, "reason", d->text.s ? d->text.s : "", d->text.n);
    struct json_object *list = chela_json_put_array(o, "candidates");
    for (uint64_t i = 0; v && i < v->candidates.n; i++) {
        struct json_object *c = chela_json_push_object(list);
        const struct chela_pair *p = &v->candidates.v[i];
        chela_json_put_string(c, "model", p->name.s, p->name.n);
        chela_json_put_string(c, "reason", p->value.s ? p->value.s : "", p->value.n);
    }
}

static void routed(void *owner, uint64_t call, const struct chela_done *d,
                   const struct chela_decide *v)
{
    struct routing *r = owner;
    (void)call;
    r->call = 0;
    if (r->explain)
        explain(r, d, v);
    if (!v)
        log_warning("route", "router %s: %.*s", instance_name(r->router), (int)d->text.n,
                    d->text.s ? d->text.s : "");
    if (v && v->verdict == CHELA_YES && v->candidates.n && !r->decided) {
        for (uint64_t i = 0; i < v->candidates.n && i < 32; i++) {
            const struct chela_pair *p = &v->candidates.v[i];
            CLEANUP(freep) char *model = xmemdup(p->name.s ? p->name.s : "", p->name.n);
            CLEANUP(freep) char *reason = xmemdup(p->value.s ? p->value.s : "", p->value.n);
            add(r, model, reason, instance_name(r->router));
        }
        r->decided = r->count > 0;
    }
    ask_next(r);
}

static const struct call_ops ops = {NULL, routed};

struct fact_list {
    struct chela_pair *pairs;
    unsigned count;
};

static void fact_of(void *arg, const char *full, const struct model_info *info)
{
    struct fact_list *f = arg;
    if (f->count >= 500)
        return;
    bool available = models_available(info->instance) && health_usable(full);
    char *json =
        xprintf("{\"available\":%s,\"availability\":%.2f,\"latency_ms\":%llu,"
                "\"context\":%llu,\"tools\":%s,\"images\":%s,\"local\":%s,"
                "\"price_in\":%g,\"price_out\":%g}",
                available ? "true" : "false", health_availability(full),
                (unsigned long long)health_latency(full), (unsigned long long)info->context,
                info->tools ? "true" : "false", info->images ? "true" : "false",
                info->local ? "true" : "false", info->price_in, info->price_out);
    f->pairs = xrealloc(f->pairs, (f->count + 1) * sizeof *f->pairs);
    f->pairs[f->count++] = (struct chela_pair){chela_s(xstrdup(full)), chela_s(json)};
}

static void ask_next(struct routing *r)
{
    const struct run *run = r->prompt ? runs_find(r->prompt->job->run) : NULL;
    do {
        r->router = instance_next(ROLE_ROUTER, r->router);
    } while (r->router && instance_state(r->router) != INSTANCE_RUNNING);
    if (!r->router || (r->decided && !r->explain) || (run && run->aborted)) {
        complete(r);
        return;
    }
    struct fact_list f = {0};
    models_each(fact_of, &f);
    CHELA_ARGS(chela_facts, a, 0);
    a.tool_calls = r->tool_calls;
    a.images = r->images;
    a.tools = r->tools;
    a.context_tokens = r->tokens;
    a.at = clock_now_ms() / 1000;
    a.text = chela_s(r->text);
    a.prefer = chela_s(r->prefer);
    a.channel = chela_s(r->channel);
    a.account = chela_s(r->account);
    a.chat = chela_s(r->chat);
    a.sender = chela_s(r->sender);
    a.agent = chela_s(r->agent);
    a.session = chela_s(r->session);
    a.models = (struct chela_pairs){f.pairs, f.count};
    r->call = call_begin(r->router, CHELA_FN_ROUTER_ROUTE, &a,
                         (uint64_t)settings_number_or("routing.timeout", 3000), 0, &ops, r);
    for (unsigned i = 0; i < f.count; i++) {
        free((char *)(uintptr_t)f.pairs[i].name.s);
        free((char *)(uintptr_t)f.pairs[i].value.s);
    }
    free(f.pairs);
}

/* An agent whose own entry names a model has chosen; only what it inherits leaves room for the
 * routers. */
static bool agent_chose(const char *agent)
{
    char path[256];
    snprintf(path, sizeof path, "agents.%s.model", agent);
    return settings_list_count(path) > 0;
}

static void start(struct routing *r)
{
    if (*r->prefer) {
        r->strict = true;
        add(r, r->prefer, "chosen by a person", "person");
        if (!r->explain) {
            complete(r);
            return;
        }
        r->decided = true;
    } else if (agent_chose(r->agent) && !r->explain) {
        complete(r);
        return;
    }
    ask_next(r);
}

static void aborted(void *owner)
{
    call_cancel(((struct routing *)owner)->call);
}

void route_choose(struct prompt *p)
{
    const struct job *j = p->job;
    struct run *run = runs_find(j->run);
    if (run)
        runs_move(run, TURN_ROUTING);
    struct routing *r = xcalloc(1, sizeof *r);
    const char *wish = chela_json_string(message_wishes(j->message), "model", NULL);
    const char *chosen = p->transcript ? transcript_field(p->transcript, "model") : "";
    r->prompt = p;
    r->session = xstrdup(j->session);
    r->agent = xstrdup(j->agent);
    r->channel = xstrdup(j->message->channel);
    r->account = xstrdup(j->message->account);
    r->chat = xstrdup(j->message->chat);
    r->sender = xstrdup(j->message->sender);
    r->text = xstrdup(j->message->text);
    r->prefer = xstrdup(wish && *wish ? wish : chosen);
    r->tokens = p->tokens;
    r->tools = p->tools->count;
    r->images = p->images;
    r->tool_calls = p->transcript ? p->transcript->tool_calls : 0;
    if (run)
        runs_set_owner(run, aborted, r);
    start(r);
}

void route_explain(const struct route_question *q, route_fn *fn, void *owner)
{
    struct routing *r = xcalloc(1, sizeof *r);
    r->session = xstrdup(q->session);
    r->agent = xstrdup(q->agent);
    r->channel = xstrdup(q->channel);
    r->account = xstrdup("");
    r->chat = xstrdup("");
    r->sender = xstrdup("");
    r->text = xstrdup(q->text);
    r->prefer = xstrdup(q->prefer);
    r->tokens = q->tokens;
    r->tools = q->tools;
    r->tool_calls = q->tool_calls;
    r->explain = chela_json_new_array();
    r->fn = fn;
    r->owner = owner;
    start(r);
}
