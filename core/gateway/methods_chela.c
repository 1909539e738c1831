/*
 * Our own methods, beyond the protocol: trace, plugins, doctor, export of a session, instructions,
 * reload. Called by method.c.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/journal/journal.h"
#include "base/mem.h"
#include "gateway/audit.h"
#include "gateway/connection.h"
#include "gateway/gateway.h"
#include "gateway/method.h"
#include "gateway/view.h"
#include "host/doctor.h"
#include "host/instance.h"
#include "host/plugins.h"
#include "host/settings.h"
#include "support/json.h"

enum { EXPORT_PAGE = 200 };

static gateway_reload_fn *reload_configuration;

void gateway_on_reload(gateway_reload_fn *fn)
{
    reload_configuration = fn;
}

static void answer_json(void *owner, json_object *o, const struct error *e)
{
    if (e)
        rpc_fail_error(owner, e);
    else
        rpc_answer(owner, json_object_get(o));
}

static void trace(struct rpc *rpc, json_object *params)
{
    agent_trace(chela_json_string(params, "run", NULL), answer_json, rpc);
}

/* ---- plugins ---- */

static const char *const role_names[ROLE_COUNT] = {"store", "hook",    "provider", "router",
                                                   "tool",  "service", "channel"};

static json_object *find_plugin(json_object *list, const char *name)
{
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *o = chela_json_at(list, i);
        const char *its = chela_json_string(o, "name", NULL);
        if (its && strcmp(its, name) == 0)
            return o;
    }
    json_object *o = chela_json_push_object(list);
    chela_json_put_text(o, "name", name);
    chela_json_put_array(o, "instances");
    return o;
}

static void list_instance(void *arg, struct instance *in)
{
    json_object *plugin = find_plugin(arg, instance_plugin(in));
    for (unsigned role = 0; role < ROLE_COUNT; role++) {
        if (!(instance_roles(in) & (1u << role)))
            continue;
        json_object *i = chela_json_push_object(chela_json_array(plugin, "instances"));
        chela_json_put_text(i, "name", instance_name(in));
        chela_json_put_text(i, "type", instance_type(in));
        chela_json_put_text(i, "role", role_names[role]);
        chela_json_put_text(i, "state", instance_state_name(instance_state(in)));
        chela_json_put_text(i, "why", instance_why(in));
    }
}

static void plugins_list(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object(), *plugins = chela_json_put_array(o, "plugins");
    (void)params;
    instance_each(list_instance, plugins);
    rpc_answer(rpc, o);
}

static void plugins_options(struct rpc *rpc, json_object *params)
{
    const char *name = chela_json_string(params, "name", NULL);
    for (unsigned role = 0; role < ROLE_COUNT; role++)
        for (struct instance *in = NULL; (in = instance_next((enum role)role, in));) {
            if (strcmp(instance_plugin(in), name) != 0 && strcmp(instance_name(in), name) != 0 &&
                strcmp(instance_type(in), name) != 0)
                continue;
            const struct chela_iface *i = instance_iface(in);
            json_object *o = chela_json_new_object();
            chela_json_put_text(o, "plugin", instance_plugin(in));
            chela_json_put_text(o, "type", instance_type(in));
            plugins_describe_options(chela_json_put_array(o, "options"), i->options,
                                     i->option_size);
            rpc_answer(rpc, o);
            return;
        }
    rpc_fail(rpc, "INVALID_REQUEST", NULL,
             "no plugin, type or instance is named \"%.100s\"; see chela plugin list", name);
}

static void doctor(struct rpc *rpc, json_object *params)
{
    (void)params;
    rpc_answer(rpc, doctor_report(settings_now()));
}

static void finished(void *owner, const struct error *e)
{
    rpc_done(owner, e);
}

void gateway_reload(void (*done)(void *arg, const struct error *e), void *arg)
{
    struct error e;
    if (reload_configuration) {
        reload_configuration(done, arg);
        return;
    }
    error_set(&e, CHELA_E_UNSUPPORTED, "this gateway cannot reload");
    done(arg, &e);
}

static void reload(struct rpc *rpc, json_object *params)
{
    (void)params;
    gateway_reload(finished, rpc);
}

/* ---- export: the transcript as it is stored, a page at a time ---- */

struct export
{
    struct rpc *rpc;
    json_object *lines;
    int64_t last;
};

static void export_row(void *owner, const struct journal_row *row)
{
    static const char *const names[] = {"seq",      "role",      "body", "run", "model",
                                        "tokensIn", "tokensOut", "cost", "at"};
    struct export *x = owner;
    json_object *o = chela_json_new_object(), *body = NULL;
    for (unsigned i = 0; i < row->columns && i < ARRAY_LENGTH(names); i++) {
        const struct chela_value *v = &row->values[i];
        if (v->type == CHELA_V_INT)
            chela_json_put_int(o, names[i], v->i);
        else if (v->type == CHELA_V_REAL)
            chela_json_put_double(o, names[i], v->d);
        else if (v->type == CHELA_V_TEXT)
            chela_json_put_string(o, names[i], v->s.s, (size_t)v->s.n);
    }
    if (chela_json_parse(view_text(row, 2), strlen(view_text(row, 2)), NULL, &body, NULL) == 0)
        chela_json_put(o, "body", body);
    x->last = view_int(row, 0);
    chela_json_push(x->lines, o);
}

static void export_done(void *owner, const struct error *e)
{
    struct export *x = owner;
    if (e) {
        rpc_fail_error(x->rpc, e);
        json_object_put(x->lines);
    } else {
        json_object *o = chela_json_new_object();
        if (chela_json_length(x->lines) == EXPORT_PAGE)
            chela_json_put_int(o, "cursor", x->last);
        chela_json_put(o, "lines", x->lines);
        rpc_answer(x->rpc, o);
    }
    free(x);
}

static void sessions_export(struct rpc *rpc, json_object *params)
{
    struct export *x = xcalloc(1, sizeof *x);
    int64_t cursor = chela_json_int(params, "cursor", 0);
    CLEANUP(freep)
    char *key = agent_session_key(agent_default(), chela_json_string(params, "key", NULL));
    x->rpc = rpc;
    x->lines = chela_json_new_array();
    journal_history(key, cursor > 0 ? (uint64_t)cursor : 0, EXPORT_PAGE, export_row, export_done,
                    x);
}

static void sessions_instructions(struct rpc *rpc, json_object *params)
{
    json_object *fields = chela_json_new_object(), *text = chela_json_get(params, "text");
    CLEANUP(freep)
    char *key = agent_session_key(agent_default(), chela_json_string(params, "key", NULL));
    json_object_object_add(fields, "instructions", json_object_get(text));
    agent_session_patch(key, fields, finished, rpc);
    json_object_put(fields);
}

/* ---- tools and the allow-list ---- */

static void tools_explain(struct rpc *rpc, json_object *params)
{
    const char *name = chela_json_string(params, "name", NULL);
    const char *channel = chela_json_string(params, "channel", NULL);
    const char *sender = chela_json_string(params, "sender", NULL);
    CLEANUP(freep)
    char *key = agent_session_key(agent_default(), chela_json_string(params, "session", NULL));
    json_object *all = agent_tools_explain(key, channel ? channel : "", sender ? sender : "",
                                           chela_json_string(params, "text", NULL));
    json_object *o = chela_json_new_object(), *list = chela_json_put_array(o, "tools");
    for (size_t i = 0; i < chela_json_length(all); i++) {
        json_object *tool = chela_json_at(all, i);
        if (!name || strcmp(chela_json_string(tool, "name", NULL), name) == 0)
            chela_json_push(list, json_object_get(tool));
    }
    json_object_put(all);
    rpc_answer(rpc, o);
}

static void allow_list(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    (void)params;
    chela_json_put(o, "entries", agent_allow_list());
    rpc_answer(rpc, o);
}

static void allow_add_pattern(struct rpc *rpc, json_object *params)
{
    struct error e = {0};
    const struct connection *c = connection_find(rpc->connection);
    CLEANUP(freep) char *by = connection_person(c);
    int result = agent_allow_add(chela_json_string(params, "source", NULL),
                                 chela_json_string(params, "kind", NULL), by, &e);
    if (result == 0)
        audit_note("allowlist.add", by, json_object_get(params));
    rpc_done(rpc, result == 0 ? NULL : &e);
}

static void removed(void *owner, const struct error *e)
{
    struct rpc *rpc = owner;
    struct connection *c = connection_find(rpc->connection);
    CLEANUP(freep) char *by = c ? connection_person(c) : NULL;
    if (!e)
        audit_note("allowlist.remove", by, json_object_get(rpc->data));
    rpc_done(rpc, e);
}

static void allow_remove_entry(struct rpc *rpc, json_object *params)
{
    rpc->data = json_object_get(params);
    agent_allow_remove(chela_json_string(params, "source", NULL),
                       chela_json_string(params, "kind", NULL), removed, rpc);
}

const struct method methods_chela[] = {
    {"chela.tools.explain", SCOPE_READ, "name:s session:s channel:s sender:s text:s",
     tools_explain},
    {"chela.allowlist.list", SCOPE_APPROVALS, "", allow_list},
    {"chela.allowlist.add", SCOPE_ADMIN, "kind:s! source:s", allow_add_pattern},
    {"chela.allowlist.remove", SCOPE_ADMIN, "kind:s! source:s!", allow_remove_entry},
    {"chela.trace", SCOPE_READ, "run:s! message:b", trace},
    {"chela.plugins.list", SCOPE_READ, "", plugins_list},
    {"chela.plugins.options", SCOPE_READ, "name:s!", plugins_options},
    {"chela.doctor", SCOPE_READ, "", doctor},
    {"chela.reload", SCOPE_ADMIN, "", reload},
    {"chela.sessions.export", SCOPE_READ, "key:s! cursor:i", sessions_export},
    {"chela.sessions.instructions", SCOPE_WRITE, "key:s! text:s|null", sessions_instructions},
    {NULL, 0, NULL, NULL},
};
