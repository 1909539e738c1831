/*
 * Methods about models: why a route is taken, whether a model answers, which one answers, what was
 * used and spent. Called by method.c. models.list is methods_system.c's, a session's model is set
 * by sessions.patch.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/journal/journal.h"
#include "base/mem.h"
#include "gateway/method.h"
#include "support/json.h"

static void answer_json(void *owner, json_object *o, const struct error *e)
{
    if (e)
        rpc_fail_error(owner, e);
    else
        rpc_answer(owner, json_object_get(o));
}

static void route_explain(struct rpc *rpc, json_object *params)
{
    const char *session = chela_json_string(params, "session", NULL);
    CLEANUP(freep) char *key = agent_session_key(agent_default(), session ? session : "");
    struct agent_question q = {.session = key,
                               .text = chela_json_string(params, "text", NULL),
                               .channel = chela_json_string(params, "channel", NULL),
                               .sender = chela_json_string(params, "sender", NULL),
                               .attachments = chela_json_string(params, "attachments", NULL)};
    agent_route_explain(&q, answer_json, rpc);
}

/* ---- models ---- */

static void models_all(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    (void)params;
    chela_json_put(o, "models", agent_models());
    rpc_answer(rpc, o);
}

static void models_probe(struct rpc *rpc, json_object *params)
{
    agent_model_probe(chela_json_string(params, "model", NULL), answer_json, rpc);
}

static bool is_agent(const char *name)
{
    bool found = strcmp(name, "defaults") == 0;
    json_object *list = agent_list();
    for (size_t i = 0; i < chela_json_length(list); i++) {
        const char *id = chela_json_string(chela_json_at(list, i), "id", NULL);
        found = found || (id && strcmp(id, name) == 0);
    }
    json_object_put(list);
    return found;
}

static void answer_set(struct rpc *rpc)
{
    rpc_done(rpc, NULL);
}

static void models_set(struct rpc *rpc, json_object *params)
{
    const char *model = chela_json_string(params, "model", NULL),
               *agent = chela_json_string(params, "agent", NULL);
    CLEANUP(freep) char *full = *model ? agent_model_name(model) : NULL;
    if (*model && !full) {
        rpc_fail(rpc, "INVALID_REQUEST", NULL, "no provider has the model \"%.100s\"", model);
        return;
    }
    if (!agent)
        agent = "defaults";
    if (!is_agent(agent)) {
        rpc_fail(rpc, "INVALID_REQUEST", NULL, "there is no agent \"%.100s\"", agent);
        return;
    }
    json_object *patch = chela_json_new_object(),
                *group = chela_json_put_object(chela_json_put_object(patch, "agents"), agent);
    if (full)
        chela_json_put_text(group, "model", full);
    else
        json_object_object_add(group, "model", NULL);
    config_change(rpc, patch, answer_set);
    json_object_put(patch);
}

/* ---- usage ---- */

struct asked {
    struct rpc *rpc;
    json_object *rows;
};

static void usage_row(void *owner, const struct journal_row *row)
{
    static const char *const names[] = {"day",      "session",   "channel", "sender", "provider",
                                        "model",    "messages",  "answers", "local",  "unpriced",
                                        "tokensIn", "tokensOut", "cached",  "cost"};
    struct asked *u = owner;
    json_object *o = chela_json_push_object(u->rows);
    for (unsigned i = 0; i < row->columns && i < ARRAY_LENGTH(names); i++) {
        const struct chela_value *v = &row->values[i];
        if (strcmp(names[i], "local") == 0)
            chela_json_put_bool(o, names[i], v->i != 0);
        else if (v->type == CHELA_V_INT)
            chela_json_put_int(o, names[i], v->i);
        else if (v->type == CHELA_V_REAL)
            chela_json_put_double(o, names[i], v->d);
        else
            chela_json_put_string(o, names[i], v->s.s, (size_t)v->s.n);
    }
}

static void usage_done(void *owner, const struct error *e)
{
    struct asked *u = owner;
    if (e) {
        rpc_fail_error(u->rpc, e);
        json_object_put(u->rows);
    } else {
        json_object *o = chela_json_new_object();
        chela_json_put(o, "rows", u->rows);
        rpc_answer(u->rpc, o);
    }
    free(u);
}

static void usage(struct rpc *rpc, json_object *params)
{
    struct asked *u = xcalloc(1, sizeof *u);
    int64_t from = chela_json_int(params, "from", 0), to = chela_json_int(params, "to", INT64_MAX);
    u->rpc = rpc;
    u->rows = chela_json_new_array();
    journal_usage(from < 0 ? 0 : (uint64_t)from, to < 0 ? 0 : (uint64_t)to, usage_row, usage_done,
                  u);
}

const struct method methods_route[] = {
    {"chela.route.explain", SCOPE_READ, "text:s! session:s channel:s sender:s attachments:s",
     route_explain},
    {"chela.models", SCOPE_READ, "", models_all},
    {"chela.models.probe", SCOPE_WRITE, "model:s!", models_probe},
    {"chela.models.set", SCOPE_ADMIN, "model:s! agent:s", models_set},
    {"chela.usage", SCOPE_READ, "from:i to:i", usage},
    {NULL, 0, NULL, NULL},
};
