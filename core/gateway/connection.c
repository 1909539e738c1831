/*
 * One client on a WebSocket (see connection.h). Called by endpoints.c when a socket was opened and
 * by the server with each message; hands requests to handshake.c until the client is known, then to
 * method.c.
 */
#include "gateway/connection.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "gateway/limits.h"
#include "gateway/method.h"
#include "gateway/proxy.h"
#include "gateway/record.h"
#include "host/loop.h"
#include "support/json.h"

static struct link connections = {&connections, &connections};
static struct map by_number;
static uint64_t last_number;
static uint64_t tick_timer;

static const struct {
    const char *name;
    uint32_t scope;
} scopes[] = {
    {"operator.read", SCOPE_READ},           {"operator.write", SCOPE_WRITE},
    {"operator.admin", SCOPE_ADMIN},         {"operator.approvals", SCOPE_APPROVALS},
    {"operator.questions", SCOPE_QUESTIONS}, {"operator.pairing", SCOPE_PAIRING},
};

uint32_t scope_from_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(scopes); i++)
        if (strcmp(scopes[i].name, name) == 0)
            return scopes[i].scope;
    return 0;
}

const char *scope_name(uint32_t scope)
{
    for (size_t i = 0; i < ARRAY_LENGTH(scopes); i++)
        if (scopes[i].scope == scope)
            return scopes[i].name;
    return "";
}

bool connection_may(const struct connection *c, uint32_t scope)
{
    uint32_t has = c->scopes;
    if (has & SCOPE_ADMIN)
        return true;
    if (has & SCOPE_WRITE)
        has |= SCOPE_READ;
    return (scope & ~has) == 0;
}

json_object *connection_describe(const struct connection *c)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "id", c->client_id);
    chela_json_put_text(o, "mode", c->mode);
    chela_json_put_text(o, "platform", c->platform);
    chela_json_put_text(o, "connection", c->id);
    return o;
}

char *connection_person(const struct connection *c)
{
    const char *name = *c->user                              ? c->user
                       : c->display_name && *c->display_name ? c->display_name
                                                             : c->client_id;
    return xprintf("%s (%s)", name, c->id);
}

struct connection *connection_find(uint64_t number)
{
    static struct connection plugins = {
        .number = CONNECTION_PLUGINS,
        .state = CONNECTION_READY,
        .local = true,
        .id = "plugins",
        .scopes = SCOPE_READ | SCOPE_WRITE,
        .client_id = (char *)(uintptr_t) "gateway-client",
        .mode = (char *)(uintptr_t) "backend",
        .platform = (char *)(uintptr_t) "plugin",
        .version = (char *)(uintptr_t) "",
        .display_name = (char *)(uintptr_t) "",
        .instance_id = (char *)(uintptr_t) "",
        .user = (char *)(uintptr_t) "",
    };
    if (number == CONNECTION_PLUGINS)
        return &plugins;
    return map_get_number(&by_number, number);
}

unsigned connection_count(void)
{
    return (unsigned)by_number.count;
}

void connection_each(void (*fn)(void *arg, struct connection *c), void *arg)
{
    LIST_EACH(l, &connections)
    {
        struct connection *c = CONTAINER_OF(l, struct connection, link);
        if (c->state == CONNECTION_READY)
            fn(arg, c);
    }
}

void connection_send(struct connection *c, struct chela_str frame)
{
    record_sent(c->number, frame);
    server_socket_send(c->socket, frame);
}

void connection_event(struct connection *c, const char *name, struct chela_str payload,
                      bool numbered)
{
    struct buf frame = {0};
    buf_printf(&frame, "{\"type\":\"event\",\"event\":\"%s\",\"payload\":", name);
    buf_str(&frame, payload);
    if (numbered)
        buf_printf(&frame, ",\"seq\":%" PRIu64, ++c->seq);
    buf_char(&frame, '}');
    connection_send(c, buf_view(&frame));
    buf_free(&frame);
}

void connection_broadcast(const char *name, json_object *payload, uint32_t scope, uint32_t caps)
{
    struct chela_str text = {0};
    LIST_EACH(l, &connections)
    {
        struct connection *c = CONTAINER_OF(l, struct connection, link);
        if (c->state != CONNECTION_READY || !connection_may(c, scope) || (caps & ~c->caps))
            continue;
        if (!text.s) {
            size_t n;
            text.s = chela_json_text(payload, &n);
            text.n = n;
        }
        connection_event(c, name, text, true);
    }
}

/* ---- tick: only while somebody is there, so that an idle gateway sleeps ---- */

static void tick(void *arg)
{
    (void)arg;
    tick_timer = 0;
    if (list_empty(&connections))
        return;
    json_object *payload = chela_json_new_object();
    chela_json_put_int(payload, "ts", (int64_t)clock_now_ms());
    connection_broadcast("tick", payload, 0, 0);
    json_object_put(payload);
    tick_timer = loop_timer(LIMIT_TICK_MS, tick, NULL);
}

/* ---- frames in ---- */

static void refuse(struct connection *c, unsigned code, const char *reason)
{
    log_info("gateway", "connection from %s closed: %s", c->remote, reason);
    c->state = CONNECTION_CLOSING;
    server_socket_close(c->socket, code, reason);
}

static void take_request(struct connection *c, json_object *frame)
{
    const char *type = chela_json_string(frame, "type", NULL),
               *id = chela_json_string(frame, "id", NULL),
               *name = chela_json_string(frame, "method", NULL);
    if (!type || strcmp(type, "req") != 0 || !id || !*id || strlen(id) > 256 || !name) {
        refuse(c, 1008, "not a request frame");
        return;
    }
    record_asked(c->number, name, id);
    struct rpc *rpc = xcalloc(1, sizeof *rpc);
    rpc->connection = c->number;
    rpc->id = xstrdup(id);
    json_object *params = chela_json_get(frame, "params");
    if (c->state == CONNECTION_READY) {
        method_dispatch(c, rpc, name, params);
    } else if (strcmp(name, "connect") == 0) {
        handshake_connect(c, rpc, params);
    } else {
        rpc_fail(rpc, "INVALID_REQUEST", NULL, "the first request must be connect");
        refuse(c, 1008, "a request before connect");
    }
}

static void on_message(void *arg, struct server_socket *s, struct chela_str text, bool binary)
{
    struct connection *c = arg;
    struct chela_json_limits limits = {.size = limit_payload(), .depth = 64};
    struct chela_json_error why;
    json_object *frame = NULL;
    (void)s;
    if (c->state == CONNECTION_CLOSING)
        return;
    if (binary) {
        refuse(c, 1003, "binary frames are not part of the protocol");
    } else if (chela_json_parse(text.s, (size_t)text.n, &limits, &frame, &why) < 0) {
        log_debug("gateway", "frame from %s: %s", c->remote, why.text);
        refuse(c, 1008, "a frame that is not JSON");
    } else {
        take_request(c, frame);
        json_object_put(frame);
    }
}

static void on_closed(void *arg, struct server_socket *s, unsigned code)
{
    struct connection *c = arg;
    (void)s;
    log_debug("gateway", "connection %s (%s) ended with code %u", c->id,
              c->client_id ? c->client_id : "unknown", code);
    loop_timer_stop(c->timer);
    list_remove(&c->link);
    map_remove_number(&by_number, c->number);
    if (list_empty(&connections))
        map_free(&by_number, NULL);
    char *const strings[] = {c->remote,  c->user,         c->client_id,   c->mode,     c->platform,
                             c->version, c->display_name, c->instance_id, c->device_id};
    for (size_t i = 0; i < ARRAY_LENGTH(strings); i++)
        free(strings[i]);
    free(c);
}

static void handshake_late(void *arg)
{
    struct connection *c = arg;
    c->timer = 0;
    if (c->state == CONNECTION_CHALLENGED)
        refuse(c, 1008, "connect did not come in time");
}

void connection_opened(struct server_socket *s, const struct server_head *head, bool browser)
{
    static const struct server_socket_handlers handlers = {.message = on_message,
                                                           .closed = on_closed};
    struct connection *c = xcalloc(1, sizeof *c);
    c->number = ++last_number;
    c->socket = s;
    struct comer comer;
    proxy_comer(head, &comer);
    c->local = comer.local;
    c->proxied = comer.proxied;
    c->user = xstrdup(comer.user);
    c->browser = browser;
    c->remote = xstrdup(comer.remote);
    c->connected_ms = clock_now_ms();
    id_uuid(c->id);
    list_append(&connections, &c->link);
    map_set_number(&by_number, c->number, c);
    server_socket_attach(s, &handlers, c);
    server_socket_limits(s, LIMIT_BEFORE_CONNECT, LIMIT_BUFFERED, LIMIT_PING_MS);
    c->timer = loop_timer(limit_handshake_ms(), handshake_late, c);
    if (!tick_timer)
        tick_timer = loop_timer(LIMIT_TICK_MS, tick, NULL);
    handshake_challenge(c);
}

void connection_close_device(const char *device, const char *reason)
{
    LIST_EACH(l, &connections)
    {
        struct connection *c = CONTAINER_OF(l, struct connection, link);
        if (c->device_id && strcmp(c->device_id, device) == 0 && c->state != CONNECTION_CLOSING)
            refuse(c, 1008, reason);
    }
}

void connection_close_all(unsigned code, const char *reason)
{
    loop_timer_stop(tick_timer);
    tick_timer = 0;
    LIST_EACH(l, &connections)
    {
        struct connection *c = CONTAINER_OF(l, struct connection, link);
        if (c->state == CONNECTION_CLOSING)
            continue;
        c->state = CONNECTION_CLOSING;
        server_socket_close(c->socket, code, reason);
    }
}
