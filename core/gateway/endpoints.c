/*
 * HTTP on the gateway's port (see endpoints.h). Called by the server; checks Host and Origin of
 * everything before it looks at the path.
 */
#include "gateway/endpoints.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/api.h"
#include "gateway/api_turn.h"
#include "gateway/connection.h"
#include "gateway/health.h"
#include "gateway/limits.h"
#include "gateway/secret.h"
#include "host/call.h"
#include "host/instance.h"
#include "host/metrics.h"
#include "support/json.h"
#include "wire/functions.h"

enum { ROUTE_BODY = 1024 * 1024, ROUTE_MS = 60000 };

static bool draining;

void endpoints_open(void)
{
    draining = false;
    api_turn_open();
}

void endpoints_drain(void)
{
    draining = true;
}

static bool get_or_head(const struct server_head *head)
{
    return strcmp(head->method, "GET") == 0 || strcmp(head->method, "HEAD") == 0;
}

/* ---- the gateway's own paths ---- */

static void answer_json(struct server_request *r, unsigned status, json_object *o)
{
    size_t n;
    struct chela_str body = {.s = chela_json_text(o, &n)};
    body.n = n;
    server_answer(r, status, "application/json; charset=utf-8", (struct chela_pairs){0}, body);
    json_object_put(o);
}

static void answer_error(struct server_request *r, unsigned status, const char *type,
                         const char *message)
{
    json_object *o = chela_json_new_object(), *error = chela_json_put_object(o, "error");
    chela_json_put_text(error, "type", type);
    chela_json_put_text(error, "message", message);
    answer_json(r, status, o);
}

static void healthz(struct server_request *r)
{
    json_object *o = chela_json_new_object();
    chela_json_put_bool(o, "ok", true);
    chela_json_put_text(o, "status", "live");
    answer_json(r, 200, o);
}

static void readyz(struct server_request *r)
{
    json_object *o = chela_json_new_object(), *failing = chela_json_put_array(o, "failing");
    bool ready = health_ready() && !draining;
    chela_json_put_bool(o, "ready", ready);
    if (!health_ready())
        chela_json_push(failing, json_object_new_string("startup"));
    if (draining)
        chela_json_push(failing, json_object_new_string("draining"));
    chela_json_put_int(o, "uptimeMs", (int64_t)health_uptime_ms());
    answer_json(r, ready ? 200 : 503, o);
}

static void startupz(struct server_request *r)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "status",
                        draining         ? "draining"
                        : health_ready() ? "started"
                                         : "starting");
    answer_json(r, health_ready() && !draining ? 200 : 503, o);
}

/* 0, or the refusal. */
static int64_t secret_wanted(struct server_request *r, const struct server_head *head)
{
    unsigned wait = 0;
    int status = auth_request(r, head, false, &wait);
    if (status == 429)
        server_refusal(r, wait, NULL);
    return -(int64_t)status;
}

static void metrics(struct server_request *r)
{
    struct buf text = {0};
    metrics_text(&text);
    server_answer(r, 200, "text/plain; version=0.0.4; charset=utf-8", (struct chela_pairs){0},
                  buf_view(&text));
    buf_free(&text);
}

static const struct page {
    const char *path;
    bool secret;
    void (*answer)(struct server_request *r);
} pages[] = {
    {"/health", false, healthz}, {"/healthz", false, healthz},   {"/ready", false, readyz},
    {"/readyz", false, readyz},  {"/startupz", false, startupz}, {"/metrics", true, metrics},
};

static const struct page *page_find(const char *path)
{
    for (size_t i = 0; i < ARRAY_LENGTH(pages); i++)
        if (strcmp(pages[i].path, path) == 0)
            return &pages[i];
    return NULL;
}

/* ---- routes of plugins ---- */

struct route {
    struct instance *instance;
    int64_t body_limit;
    bool secret, method_ok;
};

static bool method_listed(json_object *about, const char *method)
{
    json_object *methods = chela_json_array(about, "methods");
    for (size_t i = 0; i < chela_json_length(methods); i++) {
        const char *m = chela_json_as_string(chela_json_at(methods, i), NULL);
        if (m && strcmp(m, method) == 0)
            return true;
    }
    return !methods;
}

static bool route_match(struct instance *in, const struct server_head *head, struct route *ret)
{
    const struct published *list = published_get(in, CHELA_ROUTES);
    bool found = false;
    for (size_t i = 0; list && i < list->count && !found; i++) {
        json_object *about = NULL;
        if (!chela_str_is(list->items[i].name, head->path) ||
            chela_json_parse(list->items[i].value.s, (size_t)list->items[i].value.n, NULL, &about,
                             NULL) < 0)
            continue;
        const char *auth = chela_json_string(about, "auth", NULL);
        found = true;
        ret->instance = in;
        ret->secret = !auth || strcmp(auth, "none") != 0;
        ret->method_ok = method_listed(about, head->method);
        ret->body_limit = chela_json_int(about, "body_limit", ROUTE_BODY);
        if (ret->body_limit < 0 || ret->body_limit > (int64_t)limit_body())
            ret->body_limit = (int64_t)limit_body();
        json_object_put(about);
    }
    published_release(list);
    return found;
}

static bool route_find(const struct server_head *head, struct route *ret)
{
    for (struct instance *in = NULL; (in = instance_next(ROLE_SERVICE, in));)
        if (route_match(in, head, ret))
            return true;
    return false;
}

/* A request that a plugin answers; `request` is NULL once the client has gone. */
struct routed {
    struct server_request *request;
    uint64_t call;
};

static void routed_gone(void *arg, struct server_request *r)
{
    struct routed *w = arg;
    (void)r;
    w->request = NULL;
    call_cancel(w->call);
}

static void routed_done(void *owner, uint64_t call, const struct chela_done *done,
                        const struct chela_decide *decide)
{
    struct routed *w = owner;
    (void)call;
    (void)decide;
    if (w->request && done->error == CHELA_OK) {
        const char *type = "text/plain; charset=utf-8";
        for (uint64_t i = 0; i < done->headers.n; i++)
            if (chela_str_is(done->headers.v[i].name, "content-type"))
                type = done->headers.v[i].value.s;
        /* it goes into the answer by itself */
        struct chela_pair *kept = xcalloc(done->headers.n + 1, sizeof *kept);
        struct chela_pairs headers = {kept, 0};
        for (uint64_t i = 0; i < done->headers.n; i++)
            if (!chela_str_is(done->headers.v[i].name, "content-type"))
                kept[headers.n++] = done->headers.v[i];
        server_answer(w->request, done->http_status ? done->http_status : 200, type, headers,
                      done->text);
        free(kept);
    } else if (w->request) {
        answer_error(w->request, 502, error_class_name(done->error), "the plugin could not answer");
    }
    free(w);
}

static const struct call_ops routed_ops = {.done = routed_done};

static void add_header(void *arg, const char *name, const char *value)
{
    struct buf *pairs = arg;
    struct chela_pair p = {chela_s(name), chela_s(value)};
    buf_add(pairs, &p, sizeof p);
}

static void route_request(const struct route *route, struct server_request *r,
                          const struct server_head *head, struct chela_str body)
{
    struct routed *w = xcalloc(1, sizeof *w);
    struct buf pairs = {0};
    w->request = r;
    server_each_header(r, add_header, &pairs);
    CHELA_ARGS(chela_request, a, 0);
    a.method = chela_s(head->method);
    a.path = chela_s(head->path);
    a.query = chela_s(head->query);
    a.remote = chela_s(head->remote);
    a.body = body;
    a.headers.v = (const struct chela_pair *)(const void *)pairs.p;
    a.headers.n = pairs.n / sizeof(struct chela_pair);
    server_on_gone(r, routed_gone, w);
    w->call =
        call_begin(route->instance, CHELA_FN_SERVICE_REQUEST, &a, ROUTE_MS, 0, &routed_ops, w);
    buf_free(&pairs);
}

/* ---- the server's questions ---- */

static int64_t on_head(void *arg, struct server_request *r, const struct server_head *head)
{
    struct route route;
    (void)arg;
    if (!origin_host_ok(server_header(r, "host")) ||
        !origin_ok(server_header(r, "origin"), server_header(r, "host")))
        return -403;
    const struct page *page = page_find(head->path);
    if (page && !get_or_head(head))
        return -405;
    if (page)
        return page->secret ? secret_wanted(r, head) : 0;
    const struct api_page *api = api_find(head);
    if (api)
        return api_head(api, r, head);
    if (!route_find(head, &route))
        return -404;
    if (!route.method_ok)
        return -405;
    int64_t refused = route.secret ? secret_wanted(r, head) : 0;
    return refused ? refused : route.body_limit;
}

static void on_request(void *arg, struct server_request *r, const struct server_head *head,
                       struct chela_str body)
{
    struct route route;
    const struct page *page = page_find(head->path);
    (void)arg;
    if (page)
        page->answer(r);
    else if (draining)
        answer_error(r, 503, "unavailable", "the gateway is shutting down");
    else if (api_find(head))
        api_request(api_find(head), r, body);
    else if (route_find(head, &route))
        route_request(&route, r, head, body);
    else
        answer_error(r, 404, "not_found", "nothing is here");
}

static int on_upgrade(void *arg, struct server_request *r, const struct server_head *head)
{
    (void)arg;
    (void)head;
    if (draining)
        return 503;
    return origin_host_ok(server_header(r, "host")) &&
                   origin_ok(server_header(r, "origin"), server_header(r, "host"))
               ? 0
               : 403;
}

static void on_opened(void *arg, struct server_socket *s, const struct server_head *head)
{
    (void)arg;
    connection_opened(s, head, head->browser);
}

const struct server_handlers endpoints_handlers = {
    .head = on_head,
    .request = on_request,
    .upgrade = on_upgrade,
    .opened = on_opened,
};
