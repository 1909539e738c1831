/*
 * Methods about the gateway itself: health, status, presence, models, agents, commands, tools,
 * channels, logs. Called by method.c.
 */
#include "config.h"

#include <json-c/json_object.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "gateway/catalog.h"
#include "gateway/gateway.h"
#include "gateway/health.h"
#include "gateway/logs.h"
#include "gateway/method.h"
#include "host/instance.h"
#include "support/json.h"

enum {
    LOG_LINES = 200,
    LOG_LINES_MOST = 1000,
    LOG_BYTES = 256 * 1024,
    LOG_BYTES_MOST = 1024 * 1024
};

static void health(struct rpc *rpc, json_object *params)
{
    (void)params;
    rpc_answer(rpc, health_snapshot());
}

static void add_run(void *arg, const struct agent_run *r)
{
    json_object *o = chela_json_push_object(arg);
    chela_json_put_text(o, "runId", r->run);
    chela_json_put_text(o, "sessionKey", r->session);
    chela_json_put_text(o, "agentId", r->agent);
    chela_json_put_text(o, "state", r->state);
    chela_json_put_text(o, "model", r->model);
    chela_json_put_int(o, "startedAt", (int64_t)r->started_ms);
}

static void add_instances(json_object *list, enum role role)
{
    for (struct instance *in = NULL; (in = instance_next(role, in));) {
        json_object *o = chela_json_push_object(list);
        chela_json_put_text(o, "name", instance_name(in));
        chela_json_put_text(o, "type", instance_type(in));
        chela_json_put_text(o, "plugin", instance_plugin(in));
        chela_json_put_text(o, "state", instance_state_name(instance_state(in)));
        if (*instance_why(in))
            chela_json_put_text(o, "why", instance_why(in));
    }
}

static void status(struct rpc *rpc, json_object *params)
{
    static const struct {
        enum role role;
        const char *name;
    } kinds[] = {
        {ROLE_CHANNEL, "channels"}, {ROLE_PROVIDER, "providers"}, {ROLE_ROUTER, "routers"},
        {ROLE_TOOL, "tools"},       {ROLE_STORE, "stores"},       {ROLE_HOOK, "hooks"},
        {ROLE_SERVICE, "services"},
    };
    json_object *o = chela_json_new_object();
    (void)params;
    chela_json_put_text(o, "version", PACKAGE_VERSION);
    chela_json_put_int(o, "pid", getpid());
    chela_json_put_int(o, "port", gateway_port());
    chela_json_put_int(o, "ts", (int64_t)clock_now_ms());
    chela_json_put_int(o, "uptimeMs", (int64_t)health_uptime_ms());
    chela_json_put_int(o, "connections", connection_count());
    chela_json_put_bool(o, "ready", health_ready());
    agent_runs(NULL, add_run, chela_json_put_array(o, "runs"));
    json_object *waiting = agent_approvals();
    chela_json_put_int(o, "approvalsWaiting", (int64_t)chela_json_length(waiting));
    json_object_put(waiting);
    json_object *instances = chela_json_put_object(o, "instances");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        add_instances(chela_json_put_array(instances, kinds[i].name), kinds[i].role);
    chela_json_put(o, "models", agent_models());
    rpc_answer(rpc, o);
}

static void presence(struct rpc *rpc, json_object *params)
{
    (void)params;
    rpc_answer(rpc, health_presence());
}

static void models_list(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    (void)params;
    chela_json_put(o, "models", catalog_models(agent_models()));
    rpc_answer(rpc, o);
}

static void agents_list(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    (void)params;
    chela_json_put_text(o, "defaultId", agent_default());
    chela_json_put_text(o, "mainKey", "main");
    chela_json_put_text(o, "scope", "per-sender");
    chela_json_put(o, "agents", agent_list());
    rpc_answer(rpc, o);
}

static void commands_list(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    bool with_args = chela_json_bool(params, "includeArgs", true);
    chela_json_put(o, "commands", catalog_commands(agent_commands(), with_args));
    rpc_answer(rpc, o);
}

static void tools_catalog(struct rpc *rpc, json_object *params)
{
    const char *agent = chela_json_string(params, "agentId", NULL),
               *session = chela_json_string(params, "sessionKey", NULL);
    char *key = agent_session_key(agent ? agent : agent_default(), session ? session : "");
    rpc_answer(rpc, catalog_tools(agent_tools(key), agent ? agent : agent_default()));
    free(key);
}

static unsigned bounded(json_object *params, const char *name, unsigned fallback, unsigned most)
{
    int64_t v = chela_json_int(params, name, fallback);
    return v < 1 ? 1 : v > most ? most : (unsigned)v;
}

static void logs_tail(struct rpc *rpc, json_object *params)
{
    rpc_answer(rpc, logs_read(chela_json_int(params, "cursor", -1),
                              bounded(params, "limit", LOG_LINES, LOG_LINES_MOST),
                              bounded(params, "maxBytes", LOG_BYTES, LOG_BYTES_MOST)));
}

/* Clients of the protocol ask for this list at their start; there is nothing in it. */
static void question_list(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    (void)params;
    chela_json_put_array(o, "questions");
    rpc_answer(rpc, o);
}

const struct method methods_system[] = {
    {"health", SCOPE_READ, "probe:b includeSensitive:b", health},
    {"status", SCOPE_READ, "includeChannelSummary:b includeCliProjection:b", status},
    {"system-presence", SCOPE_READ, "", presence},
    {"models.list", SCOPE_READ,
     "agentId:s includeProviderCapabilities:b preparedOnly:b refresh:b view:s", models_list},
    {"agents.list", SCOPE_READ, "", agents_list},
    {"commands.list", SCOPE_READ, "sessionKey:s agentId:s provider:s scope:s includeArgs:b",
     commands_list},
    {"tools.catalog", SCOPE_READ, "agentId:s includePlugins:b sessionKey:s", tools_catalog},
    {"logs.tail", SCOPE_ADMIN, "cursor:i limit:i maxBytes:i", logs_tail},
    {"question.list", SCOPE_QUESTIONS, "", question_list},
    {NULL, 0, NULL, NULL},
};
