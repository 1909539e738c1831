/*
 * The part of the facade that is about models: lists, probes, why a route is taken. Called by the
 * gateway.
 */
#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/agent.h"
#include "agent/flow.h"
#include "agent/models/ask.h"
#include "agent/models/health.h"
#include "agent/models/models.h"
#include "agent/session.h"
#include "agent/tools/toolplan.h"
#include "agent/transcript.h"
#include "base/clock.h"
#include "base/mem.h"

enum { PROBE_TOKENS = 16, PROBE_MS = 30000 };

struct json_object *agent_models(void)
{
    return models_list();
}

char *agent_model_name(const char *wanted)
{
    return models_resolve(wanted);
}

struct explain {
    char *session, *text, *channel, *sender, *attachments;
    agent_json_fn *fn;
    void *owner;
};

static void explained(void *owner, struct json_object *o)
{
    struct explain *x = owner;
    x->fn(x->owner, o, NULL);
    json_object_put(o);
    free(x->session);
    free(x->text);
    free(x->channel);
    free(x->sender);
    free(x->attachments);
    free(x);
}

static void explain_loaded(void *owner, struct transcript *t, const struct error *e)
{
    struct explain *x = owner;
    (void)e; /* without a history the facts are those of a new session */
    CLEANUP(freep) char *agent = session_key_agent(x->session);
    struct tool_plan *plan = toolplan_get(agent);
    struct route_question q = {.session = x->session,
                               .agent = agent,
                               .channel = x->channel,
                               .sender = x->sender,
                               .text = x->text,
                               .prefer = t ? transcript_field(t, "model") : "",
                               .attachments = x->attachments,
                               .transcript = t,
                               .tokens = (t ? transcript_tokens(t, 0) : 0) + plan->tokens,
                               .tools = plan->count,
                               .tool_calls = t ? t->tool_calls : 0};
    toolplan_release(plan);
    route_explain(&q, explained, x);
    transcript_release(t);
}

struct probe {
    char *model;
    uint64_t began;
    agent_json_fn *fn;
    void *owner;
};

static void probed(void *owner, const char *text, const struct usage *u, double cost,
                   const struct error *e)
{
    struct probe *p = owner;
    uint64_t ms = clock_ticks_ms() - p->began;
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "model", p->model);
    chela_json_put_bool(o, "ok", e == NULL);
    chela_json_put_int(o, "ms", (int64_t)ms);
    chela_json_put_text(o, e ? "error" : "text", e ? e->text : text);
    if (e)
        chela_json_put_text(o, "class", error_class_name(e->class));
    else
        health_good(p->model, ms);
    chela_json_put(o, "usage", usage_json(u, cost));
    p->fn(p->owner, o, NULL);
    json_object_put(o);
    free(p->model);
    free(p);
}

void agent_model_probe(const char *model, agent_json_fn *fn, void *owner)
{
    struct error e = {0};
    char *full = models_resolve(model);
    if (!full) {
        error_set(&e, CHELA_E_NOT_FOUND, "no provider has the model \"%.100s\"", model);
        fn(owner, NULL, &e);
        return;
    }
    struct probe *p = xcalloc(1, sizeof *p);
    p->model = full;
    p->began = clock_ticks_ms();
    p->fn = fn;
    p->owner = owner;
    struct ask_request q = {.model = full,
                            .system = "Answer with one word.",
                            .text = "Say: ok",
                            .max_tokens = PROBE_TOKENS,
                            .timeout_ms = PROBE_MS,
                            .purpose = "probe"};
    ask_model(&q, probed, p);
}

static char *text_or(const char *text, const char *fallback)
{
    return xstrdup(text && *text ? text : fallback);
}

void agent_route_explain(const struct agent_question *q, agent_json_fn *fn, void *owner)
{
    struct explain *x = xcalloc(1, sizeof *x);
    x->session = session_key_full("", q->session);
    x->text = xstrdup(q->text);
    x->channel = text_or(q->channel, "cli");
    x->sender = text_or(q->sender, "");
    x->attachments = text_or(q->attachments, "");
    x->fn = fn;
    x->owner = owner;
    transcript_get(x->session, explain_loaded, x);
}
