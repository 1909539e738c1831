/*
 * Approvals for clients that know only those of plugins (a terminal with the capability
 * plugin-approvals and neither approvals nor exec-approvals): the same approvals in that form, with
 * all of what will run. Called by broadcast.c and method.c.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/approval_wait.h"
#include "gateway/connection.h"
#include "gateway/method.h"
#include "support/json.h"

enum { TITLE_BYTES = 80 };

static json_object *in_its_form(json_object *record)
{
    static const char *const same[] = {"agentId",    "sessionKey", "runId",
                                       "toolCallId", "toolName",   "allowedDecisions"};
    json_object *o = chela_json_new_object(), *request = chela_json_object(record, "request"),
                *form;
    const char *risk = chela_member(request, "risk"), *command = chela_member(request, "command");
    chela_json_put_text(o, "id", chela_member(record, "id"));
    chela_json_put_int(o, "createdAtMs", chela_json_int(record, "createdAtMs", 0));
    chela_json_put_int(o, "expiresAtMs", chela_json_int(record, "expiresAtMs", 0));
    form = chela_json_put_object(o, "request");
    CLEANUP(freep)
    char *title = xprintf("%s asks to run%s%s", chela_member(request, "toolName"),
                          *risk ? ", risk: " : "", risk);
    chela_json_put_string(form, "title", title, utf8_cut(title, strlen(title), TITLE_BYTES));
    chela_json_put_text(form, "description",
                        *command ? command : chela_member(request, "toolName"));
    chela_json_put_text(form, "severity", strcmp(risk, "high") == 0 ? "critical" : "warning");
    for (size_t i = 0; i < ARRAY_LENGTH(same); i++)
        if (chela_json_get(request, same[i]))
            chela_json_put(form, same[i], json_object_get(chela_json_get(request, same[i])));
    return o;
}

struct telling {
    const char *event;
    struct chela_str payload;
};

static void tell(void *arg, struct connection *c)
{
    const struct telling *t = arg;
    if ((c->caps & CAP_PLUGIN_APPROVALS) && connection_may(c, SCOPE_APPROVALS))
        connection_event(c, t->event, t->payload, true);
}

static void tell_all(const char *event, json_object *payload)
{
    size_t n;
    struct telling t = {.event = event, .payload.s = chela_json_text(payload, &n)};
    t.payload.n = n;
    connection_each(tell, &t);
}

void plugin_approval_requested(json_object *record)
{
    json_object *o = in_its_form(record);
    tell_all("plugin.approval.requested", o);
    json_object_put(o);
}

void plugin_approval_resolved(json_object *payload)
{
    static const char *const same[] = {"id", "decision", "resolvedBy", "ts"};
    json_object *o = chela_json_new_object();
    for (size_t i = 0; i < ARRAY_LENGTH(same); i++)
        if (chela_json_get(payload, same[i]))
            chela_json_put(o, same[i], json_object_get(chela_json_get(payload, same[i])));
    tell_all("plugin.approval.resolved", o);
    json_object_put(o);
}

/* ---- methods ---- */

static void list(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_array(), *open = agent_approvals();
    const struct connection *c = connection_find(rpc->connection);
    (void)params;
    for (size_t i = 0; (c->caps & CAP_PLUGIN_APPROVALS) && i < chela_json_length(open); i++)
        chela_json_push(o, in_its_form(chela_json_at(open, i)));
    json_object_put(open);
    rpc_answer(rpc, o);
}

static void resolved(void *owner, const struct error *e)
{
    struct rpc *rpc = owner;
    if (!e || e->class != CHELA_E_NOT_FOUND) {
        rpc_done(rpc, e);
        return;
    }
    json_object *details = chela_json_new_object();
    chela_json_put_text(details, "reason", "APPROVAL_NOT_FOUND");
    rpc_fail(rpc, "INVALID_REQUEST", details, "unknown or expired approval id");
}

static void resolve(struct rpc *rpc, json_object *params)
{
    CLEANUP(freep) char *by = connection_person(connection_find(rpc->connection));
    agent_approval_resolve(chela_json_string(params, "id", NULL),
                           chela_json_string(params, "decision", NULL), by, resolved, rpc);
}

const struct method methods_plugin_approval[] = {
    {"plugin.approval.list", SCOPE_APPROVALS, "", list},
    {"plugin.approval.resolve", SCOPE_APPROVALS, "id:s! decision:s! reviewer:o", resolve},
    {NULL, 0, NULL, NULL},
};
