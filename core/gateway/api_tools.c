/*
 * POST /tools/invoke: one tool call without a model. What changes files, runs programs or reaches
 * other sessions is refused whatever the configuration says. Called by api.c.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/tools/invoke.h"
#include "base/mem.h"
#include "gateway/api.h"
#include "gateway/denied.h"
#include "support/json.h"

struct invoking {
    struct server_request *request;
    struct invoke *call;
};

bool denied_tool(const char *name)
{
    static const char *const names[] = {
        "exec",    "process",       "spawn",          "shell",       "fs_write", "fs_delete",
        "fs_move", "write",         "edit",           "apply_patch", "cron",     "automations",
        "gateway", "sessions_send", "sessions_spawn", "nodes"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void gone(void *arg, struct server_request *r)
{
    struct invoking *w = arg;
    (void)r;
    invoke_forget(w->call);
    free(w);
}

static void done(void *owner, const struct invoke_result *result, const struct error *e)
{
    struct invoking *w = owner;
    if (e) {
        api_fail_error(w->request, API_PLAIN, e);
    } else {
        json_object *o = chela_json_new_object(), *r, *part;
        chela_json_put_bool(o, "ok", true);
        r = chela_json_put_object(o, "result");
        part = chela_json_push_object(chela_json_put_array(r, "content"));
        chela_json_put_text(part, "type", "text");
        chela_json_put_text(part, "text", result->content);
        chela_json_put_bool(r, "isError", result->is_error);
        if (result->details)
            chela_json_put(r, "details", json_object_get(result->details));
        api_json(w->request, 200, o);
    }
    free(w);
}

void api_tools_invoke(struct server_request *r, json_object *body)
{
    const char *tool = chela_json_string(body, "tool", NULL),
               *agent = chela_json_string(body, "agentId", NULL),
               *session = chela_json_string(body, "sessionKey", NULL);
    json_object *arguments = chela_json_object(body, "args");
    if (!tool)
        tool = chela_json_string(body, "name", NULL);
    if (!tool) {
        api_fail(r, API_PLAIN, 400, "tool is required");
        return;
    }
    if (denied_tool(tool)) {
        CLEANUP(freep) char *why = xprintf("%s is never run by HTTP", tool);
        api_fail(r, API_PLAIN, 403, why);
        return;
    }
    if (!agent || !*agent)
        agent = agent_default();
    CLEANUP(freep) char *key = agent_session_key(agent, session ? session : "");
    struct invoking *w = xcalloc(1, sizeof *w);
    struct invoke_request q = {.agent = agent,
                               .session = key,
                               .tool = tool,
                               .arguments = arguments ? chela_json_text(arguments, NULL) : "{}",
                               .channel = "http"};
    w->request = r;
    server_on_gone(r, gone, w);
    w->call = invoke_begin(&q, done, w);
}
