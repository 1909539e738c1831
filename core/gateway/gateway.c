/*
 * Opens and closes the gateway (see gateway.h): address, secret, server, events. Called by main.
 */
#include "gateway/gateway.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "agent/agents.h"
#include "base/log.h"
#include "gateway/approval_wait.h"
#include "gateway/broadcast.h"
#include "gateway/connection.h"
#include "gateway/device_requests.h"
#include "gateway/endpoints.h"
#include "gateway/health.h"
#include "gateway/limits.h"
#include "gateway/logs.h"
#include "gateway/method.h"
#include "gateway/record.h"
#include "gateway/secret.h"
#include "host/settings.h"
#include "net/server.h"
#include "support/json.h"

enum { CLOSE_MS = 3000, RESTART_EXPECTED_MS = 2000 };

static struct server *server;

/* The numeric address of gateway.bind. */
static const char *bind_address(const char *bind)
{
    return strcmp(bind, "loopback") == 0 ? "127.0.0.1"
           : strcmp(bind, "lan") == 0    ? "0.0.0.0"
                                         : bind;
}

static bool is_loopback(const char *address)
{
    struct in_addr v4;
    if (inet_pton(AF_INET, address, &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    return strcmp(address, "::1") == 0;
}

int gateway_open(struct error *e)
{
    const struct server_limits limits = {
        .connections = limit_connections(),
        .connections_per_address = limit_connections(),
        .header_ms = 10000,
        .body_ms = (unsigned)settings_number(settings_now(), "gateway.body_timeout"),
        .idle_ms = 60000,
        .head_bytes = 16 * 1024, /* each connection has this room as long as it lives */
    };
    const char *bind = settings_text(settings_now(), "gateway.bind"), *address = bind_address(bind);
    int64_t port = settings_number(settings_now(), "gateway.port");
    health_open();
    endpoints_open();
    if (secret_open(e) < 0 || record_open(e) < 0)
        return -1;
    if (!is_loopback(address) && !secret_is_set())
        return error_set(
            e, CHELA_E_ARGS,
            "gateway.bind = \"%s\" would let everybody on the network in: set gateway.auth.mode to "
            "\"token\" or \"password\", or bind to \"loopback\"",
            bind);
    if (settings_number(settings_now(), "gateway.hooks.enabled") &&
        secret_matches(settings_text(settings_now(), "gateway.hooks.token")))
        return error_set(e, CHELA_E_ARGS,
                         "gateway.hooks.token is the gateway's own secret: set another one, or "
                         "whoever may send a hook may do all");
    if (secret_mode() == SECRET_PROXY && settings_list_count("gateway.trusted_proxies") == 0)
        return error_set(
            e, CHELA_E_ARGS,
            "gateway.auth.mode is \"trusted-proxy\", but gateway.trusted_proxies names "
            "no proxy");
    server = server_open(address, (uint16_t)port, &limits, &endpoints_handlers, NULL, e);
    if (!server)
        return -1;
    broadcast_open();
    method_serve_plugins();
    log_info("gateway", "listening on %s port %u", address, (unsigned)server_port(server));
    return 0;
}

uint16_t gateway_port(void)
{
    return server ? server_port(server) : 0;
}

static struct {
    void (*fn)(void *arg, const struct error *e);
    void *arg;
} waiting_ready;

static void devices_loaded(void *owner, const struct error *e)
{
    (void)owner;
    if (!e) {
        health_set_ready(true);
        health_changed();
    }
    waiting_ready.fn(waiting_ready.arg, e);
}

void gateway_ready(void (*ready)(void *arg, const struct error *e), void *arg)
{
    waiting_ready.fn = ready;
    waiting_ready.arg = arg;
    devices_load(devices_loaded, NULL);
}

void gateway_close(bool restart, void (*closed)(void *arg), void *arg)
{
    json_object *payload = chela_json_new_object();
    endpoints_drain();
    health_set_ready(false);
    approval_wait_close();
    chela_json_put_text(payload, "reason", restart ? "restart" : "shutdown");
    if (restart)
        chela_json_put_int(payload, "restartExpectedMs", RESTART_EXPECTED_MS);
    connection_broadcast("shutdown", payload, 0, 0);
    json_object_put(payload);
    connection_close_all(1012, "service restart");
    record_close();
    device_requests_reset();
    if (server)
        server_close(server, CLOSE_MS, closed, arg);
    else
        closed(arg);
    server = NULL;
}

void gateway_log_tail(int level, const char *line)
{
    (void)level;
    logs_add(line);
}
