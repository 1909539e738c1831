/*
 * How the gateway is (see health.h). Called by the handshake, endpoints.c and the methods; asks the
 * registry of instances, never a plugin.
 */
#include "gateway/health.h"

#include <json-c/json_object.h>
#include <string.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/mem.h"
#include "gateway/connection.h"
#include "gateway/secret.h"
#include "host/instance.h"
#include "host/loop.h"
#include "host/settings.h"
#include "support/json.h"

static struct {
    bool ready;
    uint64_t opened_ms;
    int64_t presence_version, health_version;
    uint64_t presence_timer, presence_told_ms;
} state;

enum { PRESENCE_MOST = 100, PRESENCE_TOLD_MOST = 1000, PRESENCE_PAUSE_MS = 10 };

void health_open(void)
{
    state.ready = false;
    state.opened_ms = clock_ticks_ms();
}

void health_set_ready(bool ready)
{
    state.ready = ready;
    if (!ready) {
        loop_timer_stop(state.presence_timer);
        state.presence_timer = 0;
    }
}

bool health_ready(void)
{
    return state.ready;
}

uint64_t health_uptime_ms(void)
{
    return clock_ticks_ms() - state.opened_ms;
}

static bool running(const struct instance *in)
{
    return instance_state(in) == INSTANCE_RUNNING;
}

static void add_plugin(void *arg, struct instance *in)
{
    json_object *plugins = arg;
    if (running(in)) {
        chela_json_push(chela_json_array(plugins, "loaded"),
                        json_object_new_string(instance_name(in)));
        return;
    }
    json_object *error = chela_json_push_object(chela_json_array(plugins, "errors"));
    chela_json_put_text(error, "id", instance_name(in));
    chela_json_put_text(error, "origin", instance_plugin(in));
    chela_json_put_bool(error, "activated", false);
    const char *why = instance_why(in);
    chela_json_put_text(error, "error", *why ? why : instance_state_name(instance_state(in)));
}

json_object *health_channels(void)
{
    json_object *o = chela_json_new_object(), *order = chela_json_put_array(o, "channelOrder"),
                *labels = chela_json_put_object(o, "channelLabels"),
                *channels = chela_json_put_object(o, "channels");
    for (struct instance *in = NULL; (in = instance_next(ROLE_CHANNEL, in));) {
        const char *name = instance_name(in);
        chela_json_push(order, json_object_new_string(name));
        chela_json_put_text(labels, name, name);
        json_object *c = chela_json_put_object(channels, name);
        chela_json_put_bool(c, "configured", true);
        chela_json_put_bool(c, "running", running(in));
        if (*instance_why(in))
            chela_json_put_text(c, "lastError", instance_why(in));
    }
    return o;
}

json_object *health_snapshot(void)
{
    json_object *o = health_channels();
    chela_json_put_bool(o, "ok", true);
    chela_json_put_int(o, "ts", (int64_t)clock_now_ms());
    chela_json_put_int(o, "durationMs", 0);
    json_object *plugins = chela_json_put_object(o, "plugins");
    chela_json_put_array(plugins, "loaded");
    chela_json_put_array(plugins, "errors");
    instance_each(add_plugin, plugins);
    chela_json_put_text(o, "defaultAgentId", agent_default());
    return o;
}

static void add_presence(void *arg, struct connection *c)
{
    if (chela_json_length(arg) == PRESENCE_MOST)
        return;
    json_object *o = chela_json_push_object(arg);
    chela_json_put_int(o, "ts", (int64_t)c->connected_ms);
    chela_json_put_text(o, "mode", c->mode);
    chela_json_put_text(o, "platform", c->platform);
    chela_json_put_text(o, "version", c->version);
    chela_json_put_text(o, "ip", c->remote);
    chela_json_put_text(o, "reason", "connect");
    if (c->instance_id)
        chela_json_put_text(o, "instanceId", c->instance_id);
    if (c->device_id)
        chela_json_put_text(o, "deviceId", c->device_id);
    if (c->display_name)
        chela_json_put_text(o, "host", c->display_name);
}

json_object *health_presence(void)
{
    json_object *list = chela_json_new_array();
    connection_each(add_presence, list);
    return list;
}

static void tell_presence(void *arg)
{
    json_object *payload = chela_json_new_object();
    (void)arg;
    loop_timer_stop(state.presence_timer);
    state.presence_timer = 0;
    state.presence_told_ms = clock_ticks_ms();
    chela_json_put(payload, "presence", health_presence());
    connection_broadcast("presence", payload, 0, 0);
    json_object_put(payload);
}

/* The more there are, the seldomer each is told of one more: what it costs in all stays the same
 * however many connect. */
void health_presence_changed(void)
{
    uint64_t pause = (uint64_t)connection_count() * PRESENCE_PAUSE_MS,
             due = state.presence_told_ms + pause, now = clock_ticks_ms();
    state.presence_version++;
    if (state.presence_timer || connection_count() > PRESENCE_TOLD_MOST)
        return; /* of thousands nobody is told each; system-presence answers who asks */
    if (!state.presence_told_ms || now >= due)
        tell_presence(NULL);
    else
        state.presence_timer = loop_timer(due - now, tell_presence, NULL);
}

void health_changed(void)
{
    state.health_version++;
    if (!state.ready || connection_count() == 0)
        return;
    json_object *payload = health_snapshot();
    connection_broadcast("health", payload, SCOPE_READ, 0);
    json_object_put(payload);
}

json_object *health_hello_snapshot(void)
{
    json_object *o = chela_json_new_object();
    chela_json_put(o, "presence", health_presence());
    chela_json_put(o, "health", health_snapshot());
    json_object *version = chela_json_put_object(o, "stateVersion");
    chela_json_put_int(version, "presence", state.presence_version);
    chela_json_put_int(version, "health", state.health_version);
    chela_json_put_int(o, "uptimeMs", (int64_t)health_uptime_ms());
    chela_json_put_text(o, "stateDir", settings_state_dir());
    chela_json_put_text(o, "authMode", secret_mode_name());
    CLEANUP(freep) char *main_key = agent_session_key(agent_default(), "");
    json_object *defaults = chela_json_put_object(o, "sessionDefaults");
    chela_json_put_text(defaults, "defaultAgentId", agent_default());
    chela_json_put_text(defaults, "mainKey", "main");
    chela_json_put_text(defaults, "mainSessionKey", main_key);
    chela_json_put_text(defaults, "scope", "per-sender");
    return o;
}
