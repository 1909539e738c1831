/*
 * The challenge, `connect` and hello-ok: who is there and what may they do. Called by connection.c;
 * a connection leaves CONNECTION_CHALLENGED only here.
 */
#include "config.h"

#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/admission.h"
#include "gateway/connection.h"
#include "gateway/devices.h"
#include "gateway/health.h"
#include "gateway/limits.h"
#include "gateway/method.h"
#include "host/loop.h"
#include "support/json.h"

enum { PROTOCOL = 4, RETRY_WHILE_STARTING_MS = 500 };

static const char connect_params[] =
    "minProtocol:i! maxProtocol:i! client:o! caps:a commands:a computerUse:* "
    "workerRuns:* permissions:o pathEnv:s role:s scopes:a device:o auth:o locale:s "
    "userAgent:s";

static const char *const event_names[] = {
    "connect.challenge",
    "tick",
    "chat",
    "agent",
    "presence",
    "health",
    "shutdown",
    "sessions.changed",
    "session.message",
    "config.changed",
    "exec.approval.requested",
    "exec.approval.resolved",
    "plugin.approval.requested",
    "plugin.approval.resolved",
    "device.pair.requested",
    "device.pair.resolved",
};

void handshake_challenge(struct connection *c)
{
    json_object *payload = chela_json_new_object();
    id_uuid(c->nonce);
    c->challenged_ms = clock_now_ms();
    chela_json_put_text(payload, "nonce", c->nonce);
    chela_json_put_int(payload, "ts", (int64_t)c->challenged_ms);
    connection_event(c, "connect.challenge", chela_s(chela_json_text(payload, NULL)), false);
    json_object_put(payload);
}

/* Answers with a failure and closes. */
static void turn_away(struct connection *c, struct rpc *rpc, const struct refusal *why)
{
    json_object *details = chela_json_new_object();
    chela_json_put_text(details, "code", why->detail);
    if (why->next)
        chela_json_put_text(details, "recommendedNextStep", why->next);
    if (why->reason)
        chela_json_put_text(details, "reason", why->reason);
    if (why->request)
        chela_json_put_text(details, "requestId", why->request);
    log_info("gateway", "refused %s: %s (%s)", c->remote, why->message, why->detail);
    rpc_fail(rpc, why->code, details, "%s", why->message);
    c->state = CONNECTION_CLOSING;
    server_socket_close(c->socket, 1008, why->message);
}

static void refuse(struct connection *c, struct rpc *rpc, const char *detail, const char *message)
{
    const struct refusal why = {.code = "INVALID_REQUEST", .detail = detail, .message = message};
    turn_away(c, rpc, &why);
}

static bool protocol_ok(struct connection *c, struct rpc *rpc, json_object *params)
{
    if (chela_json_int(params, "minProtocol", 0) <= PROTOCOL &&
        chela_json_int(params, "maxProtocol", 0) >= PROTOCOL)
        return true;
    refuse(c, rpc, "PROTOCOL_MISMATCH", "this gateway speaks protocol 4");
    return false;
}

static bool role_ok(struct connection *c, struct rpc *rpc, json_object *params)
{
    const char *role = chela_json_string(params, "role", NULL);
    if (!role || strcmp(role, "operator") == 0)
        return true;
    refuse(c, rpc, "AUTH_SCOPE_MISMATCH", "this gateway takes role operator only");
    return false;
}

static void remember_client(struct connection *c, json_object *params)
{
    json_object *client = chela_json_object(params, "client"),
                *caps = chela_json_array(params, "caps");
    bool approvals = false;
    c->client_id = xstrdup(chela_json_string(client, "id", NULL));
    c->mode = xstrdup(chela_json_string(client, "mode", NULL));
    c->platform = xstrdup(chela_json_string(client, "platform", NULL));
    c->version = xstrdup(chela_json_string(client, "version", NULL));
    c->display_name = xstrdup(chela_json_string(client, "displayName", NULL));
    c->instance_id = xstrdup(chela_json_string(client, "instanceId", NULL));
    for (size_t i = 0; i < chela_json_length(caps); i++) {
        const char *name = chela_json_as_string(chela_json_at(caps, i), NULL);
        if (name && strcmp(name, "tool-events") == 0)
            c->caps |= CAP_TOOL_EVENTS;
        if (name && strcmp(name, "plugin-approvals") == 0)
            c->caps |= CAP_PLUGIN_APPROVALS;
        approvals =
            approvals ||
            (name && (strcmp(name, "approvals") == 0 || strcmp(name, "exec-approvals") == 0));
    }
    if (approvals)
        c->caps &= ~(uint32_t)CAP_PLUGIN_APPROVALS;
}

static void put_auth(json_object *hello, const struct connection *c)
{
    json_object *auth = chela_json_put_object(hello, "auth");
    const struct device *d = admission_device(c);
    chela_json_put_text(auth, "role", "operator");
    chela_json_put(auth, "scopes", scopes_list(c->scopes));
    if (d && !d->revoked_ms) {
        char token[DEVICE_TOKEN_SIZE];
        device_token(d, token);
        chela_json_put_text(auth, "deviceToken", token);
        chela_json_put_int(auth, "issuedAtMs",
                           (int64_t)(d->rotated_ms ? d->rotated_ms : d->approved_ms));
        explicit_bzero(token, sizeof token);
    }
}

static json_object *hello(const struct connection *c)
{
    json_object *hello = chela_json_new_object();
    chela_json_put_text(hello, "type", "hello-ok");
    chela_json_put_int(hello, "protocol", PROTOCOL);
    json_object *server = chela_json_put_object(hello, "server");
    chela_json_put_text(server, "version", PACKAGE_VERSION);
    chela_json_put_text(server, "connId", c->id);
    json_object *features = chela_json_put_object(hello, "features");
    chela_json_put(features, "methods", method_names());
    json_object *events = chela_json_put_array(features, "events");
    for (size_t i = 0; i < ARRAY_LENGTH(event_names); i++)
        chela_json_push(events, json_object_new_string(event_names[i]));
    chela_json_put(hello, "snapshot", health_hello_snapshot());
    put_auth(hello, c);
    json_object *policy = chela_json_put_object(hello, "policy");
    chela_json_put_int(policy, "maxPayload", (int64_t)limit_payload());
    chela_json_put_int(policy, "maxBufferedBytes", LIMIT_BUFFERED);
    chela_json_put_int(policy, "tickIntervalMs", LIMIT_TICK_MS);
    json_object *attachments = chela_json_put_object(policy, "attachments");
    chela_json_put_int(attachments, "maxBytes", LIMIT_ATTACHMENT);
    chela_json_put_int(attachments, "maxImageBytes", LIMIT_IMAGE);
    return hello;
}

static bool params_ok(struct connection *c, struct rpc *rpc, json_object *params)
{
    struct error e;
    json_object *client = chela_json_object(params, "client");
    if (params_check(connect_params, params, &e) < 0 ||
        params_check(
            "id:s! displayName:s version:s! buildId:s platform:s! deviceFamily:s modelIdentifier:s "
            "timeZone:s mode:s! instanceId:s",
            client, &e) < 0) {
        CLEANUP(freep) char *message = xprintf("invalid connect params: %s", e.text);
        refuse(c, rpc, "INVALID_PARAMS", message);
        return false;
    }
    return true;
}

void handshake_connect(struct connection *c, struct rpc *rpc, json_object *params)
{
    if (!health_ready()) {
        json_object *details = chela_json_new_object();
        chela_json_put_text(details, "reason", "startup-sidecars");
        chela_json_put_int(details, "retryAfterMs", RETRY_WHILE_STARTING_MS);
        rpc_fail(rpc, "UNAVAILABLE", details, "the gateway is starting");
        return;
    }
    struct refusal why;
    if (!params_ok(c, rpc, params) || !protocol_ok(c, rpc, params) || !role_ok(c, rpc, params))
        return;
    if (!admission_check(c, params, &why)) {
        turn_away(c, rpc, &why);
        return;
    }
    remember_client(c, params);
    loop_timer_stop(c->timer);
    c->timer = 0;
    c->state = CONNECTION_READY;
    server_socket_limits(c->socket, limit_payload(), LIMIT_BUFFERED, LIMIT_PING_MS);
    log_debug("gateway", "%s (%s) connected from %s as %s", c->client_id, c->mode, c->remote,
              c->id);
    rpc_answer(rpc, hello(c));
    health_presence_changed();
}
