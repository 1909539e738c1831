/*
 * What an agent has: its tools as a session sees them, calling one, its plugins, its name, a part
 * of the configuration's schema. Called by method.c.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/agents.h"
#include "agent/tools/invoke.h"
#include "base/mem.h"
#include "gateway/catalog.h"
#include "gateway/denied.h"
#include "gateway/method.h"
#include "host/instance.h"
#include "host/settings.h"
#include "support/json.h"

static const char *param(json_object *params, const char *name)
{
    return chela_json_string(params, name, NULL);
}

/* ---- tools ---- */

static void tools_effective(struct rpc *rpc, json_object *params)
{
    const char *agent = param(params, "agentId"), *name = agent ? agent : agent_default();
    CLEANUP(freep) char *key = agent_session_key(name, param(params, "sessionKey"));
    const char *profile = agents_text(name, "tools.profile");
    if (!*profile)
        profile = settings_text(settings_now(), "tools.profile");
    rpc_answer(rpc, catalog_effective(agent_tools(key), name, *profile ? profile : "full"));
}

static void invoked(void *owner, const struct invoke_result *result, const struct error *e)
{
    struct rpc *rpc = owner;
    json_object *o = chela_json_new_object();
    bool failed = e || result->is_error;
    chela_json_put_bool(o, "ok", !failed);
    chela_json_put(o, "toolName", json_object_get(rpc->data));
    chela_json_put_text(o, "source", "plugin");
    if (failed) {
        json_object *error = chela_json_put_object(o, "error");
        const char *text = e ? e->text : result->content;
        chela_json_put_text(error, "code", e ? error_class_name(e->class) : "tool_error");
        chela_json_put_text(error, "message", text && *text ? text : "it failed");
        if (e && e->class == CHELA_E_DENIED)
            chela_json_put_bool(o, "requiresApproval", true);
    } else {
        chela_json_put_text(o, "output", result->content);
    }
    rpc_answer(rpc, o);
}

static void tools_invoke(struct rpc *rpc, json_object *params)
{
    const char *agent = param(params, "agentId"), *session = param(params, "sessionKey"),
               *tool = param(params, "name");
    json_object *arguments = chela_json_object(params, "args");
    if (!agent)
        agent = agent_default();
    CLEANUP(freep) char *key = agent_session_key(agent, session ? session : "");
    const struct invoke_request q = {.agent = agent,
                                     .session = key,
                                     .tool = tool,
                                     .arguments =
                                         arguments ? chela_json_text(arguments, NULL) : "{}",
                                     .channel = "gateway"};
    rpc->data = json_object_new_string(tool);
    if (denied_tool(tool)) {
        struct error e = {0};
        error_set(&e, CHELA_E_DENIED, "%s is never run without a turn", tool);
        invoked(rpc, NULL, &e);
        return;
    }
    invoke_begin(&q, invoked, rpc);
}

/* ---- plugins ---- */

static void add_plugin(void *arg, struct instance *in)
{
    json_object *list = arg, *o;
    const char *name = instance_plugin(in), *why = instance_why(in);
    bool runs = instance_state(in) == INSTANCE_RUNNING;
    for (size_t i = 0; i < chela_json_length(list); i++)
        if (strcmp(param(chela_json_at(list, i), "id"), name) == 0)
            return; /* another instance of it */
    o = chela_json_push_object(list);
    chela_json_put_text(o, "id", name);
    chela_json_put_text(o, "name", name);
    chela_json_put_bool(o, "installed", true);
    chela_json_put_bool(o, "enabled", true);
    chela_json_put_text(o, "state", runs ? "enabled" : "error");
    if (*why)
        chela_json_put_text(o, "error", why);
}

static void plugins_list(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    (void)params;
    instance_each(add_plugin, chela_json_put_array(o, "plugins"));
    chela_json_put_array(o, "diagnostics");
    chela_json_put_bool(o, "mutationAllowed", false); /* the configuration says what is loaded */
    rpc_answer(rpc, o);
}

/* ---- names ---- */

static void agent_identity(struct rpc *rpc, json_object *params)
{
    const char *agent = param(params, "agentId");
    json_object *o = chela_json_new_object();
    if (!agent)
        agent = agent_default();
    if (!agents_known(agent)) {
        json_object_put(o);
        rpc_fail(rpc, "INVALID_REQUEST", NULL, "unknown agent id \"%.100s\"", agent);
        return;
    }
    const char *name = agents_text(agent, "name");
    chela_json_put_text(o, "agentId", agent);
    chela_json_put_text(o, "name", *name ? name : agent);
    chela_json_put_text(o, "nameSource", *name ? "config" : "default");
    chela_json_put_text(o, "avatarStatus", "none");
    rpc_answer(rpc, o);
}

/* Nothing suggests tasks here; clients ask at their start. */
static void task_suggestions(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    (void)params;
    chela_json_put_array(o, "suggestions");
    rpc_answer(rpc, o);
}

const struct method methods_tools[] = {
    {"tools.effective", SCOPE_READ, "sessionKey:s! agentId:s", tools_effective},
    {"tools.invoke", SCOPE_WRITE,
     "name:s! args:o sessionKey:s agentId:s confirm:b idempotencyKey:s conversationReadOrigin:s",
     tools_invoke},
    {"plugins.list", SCOPE_READ, "", plugins_list},
    {"agent.identity.get", SCOPE_READ, "agentId:s sessionKey:s", agent_identity},
    {"taskSuggestions.list", SCOPE_READ, "sessionKey:s agentId:s", task_suggestions},
    {NULL, 0, NULL, NULL},
};
