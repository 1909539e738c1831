/*
 * Finds the method of a request, checks rights and parameters, and sends answers. Called by
 * connection.c with each request; the methods_*.c answer through the rpc_* functions. Methods that
 * plugins published are passed on to them.
 */
#include "gateway/method.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/call.h"
#include "support/json.h"
#include "wire/functions.h"

static const struct method *const tables[] = {
    methods_chat,    methods_sessions, methods_system,    methods_approval,
    methods_chela,   methods_send,     methods_channels,  methods_config,
    methods_route,   methods_devices,  methods_chat_read, methods_session_work,
    methods_decided, methods_tools,    methods_cost,      methods_plugin_approval,
    methods_files};

enum { PLUGIN_METHOD_MS = 60000 };

static const struct method *find(const char *name)
{
    for (size_t t = 0; t < ARRAY_LENGTH(tables); t++)
        for (const struct method *m = tables[t]; m->name; m++)
            if (strcmp(m->name, name) == 0)
                return m;
    return NULL;
}

void rpc_free(struct rpc *rpc)
{
    if (!rpc)
        return;
    json_object_put(rpc->data);
    free(rpc->id);
    free(rpc);
}

/* A plugin's call: the same, as a done. */
static void send_to_plugin(const struct rpc *rpc, bool ok, json_object *value)
{
    static const struct {
        const char *code;
        uint32_t class;
    } classes[] = {{"INVALID_REQUEST", CHELA_E_ARGS}, {"FORBIDDEN", CHELA_E_DENIED}};
    CHELA_ARGS(chela_done, d, 0);
    size_t n = 0;
    const char *text = value ? chela_json_text(value, &n) : "{}";
    const char *code = chela_json_string(value, "code", NULL);
    if (ok) {
        d.text = chela_sn(text, value ? n : 2);
    } else {
        d.error = CHELA_E_BUSY;
        for (size_t i = 0; code && i < ARRAY_LENGTH(classes); i++)
            if (strcmp(classes[i].code, code) == 0)
                d.error = classes[i].class;
        d.text = chela_s(chela_json_string(value, "message", NULL));
        d.extra = chela_sn(text, n);
    }
    call_answer(rpc->plugin_call, &d);
    json_object_put(value);
}

static void send_response(const struct rpc *rpc, bool ok, const char *member, json_object *value)
{
    if (rpc->plugin_call) {
        send_to_plugin(rpc, ok, value);
        return;
    }
    struct connection *c = connection_find(rpc->connection);
    if (c && c->state != CONNECTION_CLOSING) {
        struct buf frame = {0};
        json_object *id = json_object_new_string(rpc->id);
        buf_printf(&frame, "{\"type\":\"res\",\"id\":%s,\"ok\":%s", chela_json_text(id, NULL),
                   ok ? "true" : "false");
        if (value)
            buf_printf(&frame, ",\"%s\":%s", member, chela_json_text(value, NULL));
        buf_char(&frame, '}');
        connection_send(c, buf_view(&frame));
        json_object_put(id);
        buf_free(&frame);
    }
    json_object_put(value);
}

void rpc_answer(struct rpc *rpc, json_object *payload)
{
    send_response(rpc, true, "payload", payload);
    rpc_free(rpc);
}

void rpc_answer_first(struct rpc *rpc, json_object *payload)
{
    if (rpc->plugin_call)
        json_object_put(payload); /* it waits for the second */
    else
        send_response(rpc, true, "payload", payload);
}

void rpc_fail(struct rpc *rpc, const char *code, json_object *details, const char *format, ...)
{
    struct buf text = {0};
    va_list ap;
    va_start(ap, format);
    buf_vprintf(&text, format, ap);
    va_end(ap);
    json_object *error = chela_json_new_object();
    chela_json_put_text(error, "code", code);
    chela_json_put_string(error, "message", buf_text(&text), text.n);
    if (details)
        chela_json_put(error, "details", details);
    if (strcmp(code, "UNAVAILABLE") == 0)
        chela_json_put_bool(error, "retryable", true);
    send_response(rpc, false, "error", error);
    buf_free(&text);
    rpc_free(rpc);
}

void rpc_fail_error(struct rpc *rpc, const struct error *e)
{
    switch (e->class) {
    case CHELA_E_ARGS:
    case CHELA_E_TOO_LONG:
    case CHELA_E_CONFLICT:
    case CHELA_E_NOT_FOUND:
    case CHELA_E_UNSUPPORTED: rpc_fail(rpc, "INVALID_REQUEST", NULL, "%s", e->text); break;
    case CHELA_E_DENIED:
    case CHELA_E_AUTH: rpc_fail(rpc, "FORBIDDEN", NULL, "%s", e->text); break;
    default: rpc_fail(rpc, "UNAVAILABLE", NULL, "%s", e->text); break;
    }
}

void rpc_done(struct rpc *rpc, const struct error *e)
{
    if (e) {
        rpc_fail_error(rpc, e);
        return;
    }
    json_object *ok = chela_json_new_object();
    chela_json_put_bool(ok, "ok", true);
    rpc_answer(rpc, ok);
}

/* ---- methods of plugins ---- */

static bool is_published(struct instance *in, const char *name, uint32_t *ret_scope)
{
    const struct published *list = published_get(in, CHELA_METHODS);
    bool found = false;
    for (size_t i = 0; list && i < list->count && !found; i++) {
        found = chela_str_is(list->items[i].name, name);
        if (!found)
            continue;
        json_object *about = NULL;
        *ret_scope = SCOPE_ADMIN;
        if (chela_json_parse(list->items[i].value.s, (size_t)list->items[i].value.n, NULL, &about,
                             NULL) == 0) {
            const char *scope = chela_json_string(about, "scope", NULL);
            if (scope && scope_from_name(scope))
                *ret_scope = scope_from_name(scope);
            json_object_put(about);
        }
    }
    published_release(list);
    return found;
}

static void plugin_done(void *owner, uint64_t call, const struct chela_done *done,
                        const struct chela_decide *decide)
{
    struct rpc *rpc = owner;
    struct error e;
    json_object *payload = NULL;
    (void)call;
    (void)decide;
    if (error_from_done(&e, done) < 0)
        rpc_fail_error(rpc, &e);
    else if (done->text.n &&
             chela_json_parse(done->text.s, (size_t)done->text.n, NULL, &payload, NULL) < 0)
        rpc_fail(rpc, "UNAVAILABLE", NULL, "the plugin answered with something that is not JSON");
    else
        rpc_answer(rpc, payload ? payload : chela_json_new_object());
}

static const struct call_ops plugin_ops = {.done = plugin_done};

static bool may(struct connection *c, struct rpc *rpc, uint32_t scope)
{
    if (connection_may(c, scope))
        return true;
    json_object *details = chela_json_new_object();
    chela_json_put_text(details, "code", "MISSING_SCOPE");
    chela_json_put_text(details, "missingScope", scope_name(scope));
    chela_json_push(chela_json_put_array(details, "requiredScopes"),
                    json_object_new_string(scope_name(scope)));
    rpc_fail(rpc, "FORBIDDEN", details, "missing scope: %s", scope_name(scope));
    return false;
}

static bool dispatch_to_plugin(struct connection *c, struct rpc *rpc, const char *name,
                               json_object *params)
{
    for (struct instance *in = NULL; (in = instance_next(ROLE_SERVICE, in));) {
        uint32_t scope = 0;
        if (!is_published(in, name, &scope))
            continue;
        if (!may(c, rpc, scope))
            return true;
        CHELA_ARGS(chela_method, a, 0);
        json_object *client = connection_describe(c);
        a.name = chela_s(name);
        a.params = chela_s(params ? chela_json_text(params, NULL) : "{}");
        a.client = chela_s(chela_json_text(client, NULL));
        call_begin(in, CHELA_FN_SERVICE_METHOD, &a, PLUGIN_METHOD_MS, 0, &plugin_ops, rpc);
        json_object_put(client);
        return true;
    }
    return false;
}

void method_dispatch(struct connection *c, struct rpc *rpc, const char *name, json_object *params)
{
    struct error e;
    rpc->method = find(name);
    if (!rpc->method) {
        if (!dispatch_to_plugin(c, rpc, name, params))
            rpc_fail(rpc, "INVALID_REQUEST", NULL, "unknown method: %.200s", name);
        return;
    }
    if (!may(c, rpc, rpc->method->scope))
        return;
    if (params_check(rpc->method->params, params, &e) < 0) {
        rpc_fail(rpc, "INVALID_REQUEST", NULL, "invalid %s params: %s", name, e.text);
        return;
    }
    rpc->method->run(rpc, params);
}

/* ---- plugins as callers ---- */

static void invoke_begin(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_invoke *a = args;
    json_object *params = NULL;
    (void)in;
    if (a->params.n &&
        chela_json_parse(a->params.s, (size_t)a->params.n, NULL, &params, NULL) < 0) {
        call_answer_error(id, CHELA_E_ARGS, "the parameters are no JSON");
        return;
    }
    struct rpc *rpc = xcalloc(1, sizeof *rpc);
    rpc->connection = CONNECTION_PLUGINS;
    rpc->id = xstrdup("");
    rpc->plugin_call = id;
    CLEANUP(freep) char *name = xmemdup(a->name.s, a->name.n);
    method_dispatch(connection_find(CONNECTION_PLUGINS), rpc, name, params);
    json_object_put(params);
}

/* What it began goes on; only nobody waits for it any more. */
static void invoke_end(struct instance *in, uint64_t id)
{
    (void)in;
    call_answer_error(id, CHELA_E_CANCELLED, "no longer waited for");
}

void method_serve_plugins(void)
{
    call_handle(CHELA_FN_INVOKE, invoke_begin, invoke_end);
}

json_object *method_names(void)
{
    json_object *names = chela_json_new_array();
    for (size_t t = 0; t < ARRAY_LENGTH(tables); t++)
        for (const struct method *m = tables[t]; m->name; m++)
            chela_json_push(names, json_object_new_string(m->name));
    for (struct instance *in = NULL; (in = instance_next(ROLE_SERVICE, in));) {
        const struct published *list = published_get(in, CHELA_METHODS);
        for (size_t i = 0; list && i < list->count; i++)
            chela_json_push(
                names, chela_json_new_string(list->items[i].name.s, (size_t)list->items[i].name.n));
        published_release(list);
    }
    return names;
}
