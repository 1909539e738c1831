/*
 * JSON-RPC 2.0 with one server: our requests and their answers, in whatever order they come, and
 * what the server sends by itself. Called by the transports with each text that came in; knows no
 * transport but by the one function that sends.
 */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>

static void send_text(struct server *s, struct request *r, const char *text, size_t n)
{
    if (s->transport == TRANSPORT_STDIO)
        stdio_send(s, text, n);
    else
        http_send(s, r, text, n);
}

static json_object *frame(void)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "jsonrpc", "2.0");
    return o;
}

/* ---- our requests ---- */

struct request *rpc_find(struct server *s, uint64_t id)
{
    for (struct request *r = s->requests; r; r = r->next)
        if (r->id == id)
            return r;
    return NULL;
}

static void unlink_request(struct request *r)
{
    struct request **at = &r->server->requests;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
}

static void request_free(struct request *r)
{
    const struct chela_local *local = r->server->mcp->in->host->local;
    local->timer_stop(r->server->mcp->in, r->timer);
    http_forget(r);
    json_object_put(r->source);
    free(r->method);
    free(r->text);
    free(r);
}

void rpc_end(struct request *r, json_object *result, const char *error)
{
    request_fn *fn = r->fn;
    void *owner = r->owner;
    struct server *s = r->server;
    unlink_request(r);
    request_free(r);
    server_used(s);
    if (fn)
        fn(owner, result, error);
}

void rpc_end_all(struct server *s, const char *error)
{
    while (s->requests)
        rpc_end(s->requests, NULL, error);
}

void rpc_cancel(struct request *r, const char *reason)
{
    struct server *s = r->server;
    if (strcmp(r->method, "initialize") != 0) { /* which must not be cancelled */
        json_object *params = chela_json_new_object();
        chela_json_put_int(params, "requestId", (int64_t)r->id);
        chela_json_put_text(params, "reason", reason);
        rpc_notify(s, "notifications/cancelled", params);
    }
    r->fn = NULL;
    rpc_end(r, NULL, reason);
}

static void request_late(struct chela_inst *in, void *arg)
{
    struct request *r = arg;
    (void)in;
    r->timer = 0;
    char *why = format("%s did not answer %s in %llu s", r->server->name, r->method,
                       (unsigned long long)r->timeout_ms / 1000);
    request_fn *fn = r->fn;
    void *owner = r->owner;
    rpc_cancel(r, "timeout");
    if (fn)
        fn(owner, NULL, why);
    free(why);
}

static void set_timer(struct request *r)
{
    struct chela_inst *in = r->server->mcp->in;
    in->host->local->timer_stop(in, r->timer);
    r->timer = r->timeout_ms ? in->host->local->timer(in, r->timeout_ms, request_late, r) : 0;
}

struct request *rpc_request(struct server *s, const char *method, json_object *params,
                            uint64_t timeout_ms, request_fn *fn, void *owner)
{
    struct request *r = need(calloc(1, sizeof *r));
    json_object *o = frame();
    r->server = s;
    r->id = ++s->last_id;
    r->method = need(strdup(method));
    r->timeout_ms = timeout_ms;
    r->fn = fn;
    r->owner = owner;
    chela_json_put_int(o, "id", (int64_t)r->id);
    chela_json_put_text(o, "method", method);
    if (strcmp(method, "tools/call") == 0) {
        json_object *meta = chela_json_put_object(params, "_meta");
        chela_json_put_int(meta, "progressToken", (int64_t)r->id);
    }
    if (params)
        chela_json_put(o, "params", params);
    size_t n;
    const char *text = chela_json_text(o, &n);
    r->text = need(strdup(text));
    json_object_put(o);
    r->next = s->requests;
    s->requests = r;
    set_timer(r);
    send_text(s, r, r->text, n);
    return r;
}

void rpc_notify(struct server *s, const char *method, json_object *params)
{
    json_object *o = frame();
    chela_json_put_text(o, "method", method);
    if (params)
        chela_json_put(o, "params", params);
    size_t n;
    const char *text = chela_json_text(o, &n);
    send_text(s, NULL, text, n);
    json_object_put(o);
}

void rpc_answer(struct server *s, json_object *id, json_object *result, int code, const char *error)
{
    json_object *o = frame();
    chela_json_put(o, "id", json_object_get(id));
    if (error) {
        json_object *e = chela_json_put_object(o, "error");
        chela_json_put_int(e, "code", code);
        chela_json_put_text(e, "message", error);
        json_object_put(result);
    } else {
        chela_json_put(o, "result", result ? result : chela_json_new_object());
    }
    size_t n;
    const char *text = chela_json_text(o, &n);
    send_text(s, NULL, text, n);
    json_object_put(o);
}

/* ---- what comes ---- */

/* Some servers send the number back as text. */
static bool id_of(json_object *o, uint64_t *ret)
{
    int64_t n = -1;
    json_object *id = chela_json_get(o, "id");
    const char *text = chela_json_as_string(id, NULL);
    if (text) {
        char *end;
        n = *text ? strtoll(text, &end, 10) : -1;
        if (n < 0 || *end)
            return false;
    } else if (!chela_json_as_int(id, &n)) {
        return false;
    }
    *ret = (uint64_t)n;
    return n >= 0;
}

static void answered(struct server *s, json_object *o)
{
    uint64_t id;
    struct request *r = id_of(o, &id) ? rpc_find(s, id) : NULL;
    if (!r) {
        mcp_log(s->mcp, CHELA_DEBUG, "%s: an answer that nobody waits for", s->name);
        return;
    }
    json_object *error = chela_json_object(o, "error");
    if (!error) {
        rpc_end(r, chela_json_get(o, "result"), NULL);
        return;
    }
    const char *said = chela_json_string(error, "message", NULL);
    char *text =
        format("%s (%lld)", said ? said : "error", (long long)chela_json_int(error, "code", 0));
    rpc_end(r, NULL, text);
    free(text);
}

/* Progress keeps a call alive. */
static void progress(struct server *s, json_object *params)
{
    json_object *token = chela_json_get(params, "progressToken");
    int64_t id = -1;
    const char *text = chela_json_as_string(token, NULL);
    if (text)
        id = strtoll(text, NULL, 10);
    else
        chela_json_as_int(token, &id);
    struct request *r = id > 0 ? rpc_find(s, (uint64_t)id) : NULL;
    if (!r)
        return;
    set_timer(r);
    if (!r->call)
        return;
    const char *message = chela_json_string(params, "message", NULL);
    double at = chela_json_double(params, "progress", 0),
           total = chela_json_double(params, "total", 0);
    char *line = total > 0
                     ? format("%g/%g%s%s\n", at, total, message ? " " : "", message ? message : "")
                     : format("%g%s%s\n", at, message ? " " : "", message ? message : "");
    chela_text_of(s->mcp->in, r->call, line, strlen(line));
    free(line);
}

static void take(struct server *s, json_object *o)
{
    const char *method = chela_json_string(o, "method", NULL);
    json_object *params = chela_json_object(o, "params");
    if (!method && (chela_json_has(o, "result") || chela_json_has(o, "error")))
        answered(s, o);
    else if (method && chela_json_get(o, "id"))
        incoming_request(s, chela_json_get(o, "id"), method, params);
    else if (method && strcmp(method, "notifications/progress") == 0)
        progress(s, params);
    else if (method)
        incoming_notification(s, method, params);
    else
        mcp_log(s->mcp, CHELA_WARN, "%s sent something that is no JSON-RPC", s->name);
}

void rpc_incoming(struct server *s, const char *text, size_t length)
{
    json_object *o = NULL;
    struct chela_json_error e;
    if (chela_json_parse(text, length, NULL, &o, &e) < 0) {
        mcp_log(s->mcp, CHELA_WARN, "%s sent something that is no JSON: %s (\"%.60s\")", s->name,
                e.text, text);
        return;
    }
    if (json_object_is_type(o, json_type_array)) /* a batch, up to 2025-03-26 */
        for (size_t i = 0; i < chela_json_length(o); i++)
            take(s, chela_json_at(o, i));
    else
        take(s, o);
    json_object_put(o);
}
