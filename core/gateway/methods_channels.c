/*
 * Channels and who was paired: status with what really went over each channel, logging in and out,
 * pairing. Called by method.c.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/mem.h"
#include "gateway/audit.h"
#include "gateway/health.h"
#include "gateway/method.h"
#include "host/call.h"
#include "host/instance.h"
#include "support/json.h"
#include "wire/functions.h"

enum { PROBE_MS = 10000, LOGIN_MS = 300000 };

/* ---- status ---- */

/* What a channel publishes of itself: {"ok","text"}, and its accounts. */
static void add_state(struct instance *in, json_object *channel, json_object *accounts)
{
    const struct published *p = published_get(in, CHELA_STATE);
    for (size_t i = 0; p && i < p->count; i++) {
        json_object *o = NULL;
        if (chela_json_parse(p->items[i].value.s, (size_t)p->items[i].value.n, NULL, &o, NULL) < 0)
            continue;
        if (chela_str_is(p->items[i].name, "state")) {
            bool ok = chela_json_bool(o, "ok", true);
            chela_json_put_bool(channel, "connected", ok);
            chela_json_put_text(channel, ok ? "detail" : "lastError",
                                chela_json_string(o, "text", NULL));
            json_object_put(o);
        } else if (chela_str_is(p->items[i].name, "accounts") &&
                   json_object_is_type(o, json_type_array)) {
            chela_json_put(accounts, instance_name(in), o);
        } else {
            json_object_put(o);
        }
    }
    published_release(p);
}

/* What could not be delivered on it, or may not have been. */
static void add_failures(json_object *channel, const char *name, json_object *failures)
{
    json_object *own = chela_json_put_array(channel, "deliveryFailures");
    for (size_t i = 0; i < chela_json_length(failures); i++) {
        json_object *f = chela_json_at(failures, i);
        const char *where = chela_json_string(f, "channel", NULL);
        if (where && strcmp(where, name) == 0)
            chela_json_push(own, json_object_get(f));
    }
}

static json_object *status_of(const char *only)
{
    json_object *o = health_channels(), *channels = chela_json_object(o, "channels"),
                *accounts = chela_json_put_object(o, "channelAccounts"),
                *failures = agent_delivery_failures();
    for (struct instance *in = NULL; (in = instance_next(ROLE_CHANNEL, in));) {
        json_object *c = chela_json_object(channels, instance_name(in));
        if (only && *only && strcmp(only, instance_name(in)) != 0) {
            json_object_object_del(channels, instance_name(in));
            continue;
        }
        chela_json_put_text(c, "type", instance_type(in));
        agent_channel_traffic(instance_name(in), c);
        add_state(in, c, accounts);
        add_failures(c, instance_name(in), failures);
    }
    json_object_put(failures);
    chela_json_put_int(o, "ts", (int64_t)clock_now_ms());
    chela_json_put_object(o, "channelDefaultAccountId");
    return o;
}

struct probe {
    struct rpc *rpc;
    char *channel;
};

static struct instance *channel_find(struct rpc *rpc, json_object *params)
{
    const char *name = chela_json_string(params, "channel", NULL);
    struct instance *in = instance_find(ROLE_CHANNEL, name ? name : "");
    if (!in)
        rpc_fail(rpc, "INVALID_REQUEST", NULL, "there is no channel \"%.100s\"", name ? name : "");
    return in;
}

/* A channel that can be asked more has the role service, too, and answers "channel.WHAT". */
static bool ask(struct instance *in, const char *what, json_object *params, uint64_t ms,
                const struct call_ops *ops, void *owner)
{
    const struct chela_service *s = instance_iface(in)->service;
    if (!s || !s->method || instance_state(in) != INSTANCE_RUNNING)
        return false;
    CLEANUP(freep) char *name = xprintf("channel.%s", what);
    size_t n;
    const char *text = chela_json_text(params, &n);
    CHELA_ARGS(chela_method, a, 0);
    a.name = chela_s(name);
    a.params = chela_sn(text, n);
    call_begin(in, CHELA_FN_SERVICE_METHOD, &a, ms, 0, ops, owner);
    return true;
}

static void probed(void *owner, uint64_t call, const struct chela_done *d,
                   const struct chela_decide *v)
{
    struct probe *p = owner;
    json_object *o = status_of(p->channel), *answer = NULL,
                *c = chela_json_object(chela_json_object(o, "channels"), p->channel);
    (void)call;
    (void)v;
    json_object *probe = chela_json_put_object(c, "probe");
    chela_json_put_bool(probe, "ok", d->error == CHELA_OK);
    if (d->error != CHELA_OK)
        chela_json_put_string(probe, "error", d->text.s ? d->text.s : "", d->text.n);
    else if (chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &answer, NULL) == 0)
        chela_json_put(probe, "answer", answer);
    rpc_answer(p->rpc, o);
    free(p->channel);
    free(p);
}

static const struct call_ops probe_ops = {NULL, probed};

static void channels_status(struct rpc *rpc, json_object *params)
{
    const char *only = chela_json_string(params, "channel", NULL);
    struct instance *in = NULL;
    if (only && *only && !(in = channel_find(rpc, params)))
        return;
    if (in && chela_json_bool(params, "probe", false)) {
        struct probe *p = xcalloc(1, sizeof *p);
        p->rpc = rpc;
        p->channel = xstrdup(only);
        if (ask(in, "probe", params, PROBE_MS, &probe_ops, p))
            return;
        free(p->channel);
        free(p);
    }
    rpc_answer(rpc, status_of(only));
}

/* ---- logging in and out ---- */

static void asked(void *owner, uint64_t call, const struct chela_done *d,
                  const struct chela_decide *v)
{
    struct rpc *rpc = owner;
    json_object *o = NULL;
    (void)call;
    (void)v;
    if (d->error != CHELA_OK) {
        struct error e = {0};
        error_set(&e, d->error, "%.*s", (int)d->text.n, d->text.s ? d->text.s : "");
        rpc_fail_error(rpc, &e);
        return;
    }
    if (!d->text.n || chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL) < 0)
        o = chela_json_new_object();
    rpc_answer(rpc, o);
}

static const struct call_ops asked_ops = {NULL, asked};

static void log_in_or_out(struct rpc *rpc, json_object *params, const char *what)
{
    struct instance *in = channel_find(rpc, params);
    if (in && !ask(in, what, params, LOGIN_MS, &asked_ops, rpc))
        rpc_fail(rpc, "INVALID_REQUEST", NULL,
                 "%s has no %s of its own: it uses what the configuration says (chela plugin "
                 "options %s)",
                 instance_name(in), what, instance_type(in));
}

static void channels_login(struct rpc *rpc, json_object *params)
{
    log_in_or_out(rpc, params, "login");
}

static void channels_logout(struct rpc *rpc, json_object *params)
{
    log_in_or_out(rpc, params, "logout");
}

/* ---- pairing ---- */

static void pairing_list(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    (void)params;
    chela_json_put(o, "people", agent_pairings());
    rpc_answer(rpc, o);
}

/* What was done goes into the audit log once it was done: rpc->data is its parameters. */
static void noted(struct rpc *rpc, const char *action, const struct error *e)
{
    struct connection *c = connection_find(rpc->connection);
    CLEANUP(freep) char *by = c ? connection_person(c) : NULL;
    if (!e)
        audit_note(action, by, json_object_get(rpc->data));
    rpc_done(rpc, e);
}

static void approved(void *owner, const struct error *e)
{
    noted(owner, "pairing.approve", e);
}

static void revoked(void *owner, const struct error *e)
{
    noted(owner, "pairing.revoke", e);
}

static void pairing_approve(struct rpc *rpc, json_object *params)
{
    CLEANUP(freep) char *by = connection_person(connection_find(rpc->connection));
    rpc->data = json_object_get(params);
    agent_pairing_approve(chela_json_string(params, "channel", NULL),
                          chela_json_string(params, "code", NULL), by, approved, rpc);
}

static void pairing_revoke(struct rpc *rpc, json_object *params)
{
    rpc->data = json_object_get(params);
    agent_pairing_revoke(chela_json_string(params, "channel", NULL),
                         chela_json_string(params, "sender", NULL), revoked, rpc);
}

const struct method methods_channels[] = {
    {"channels.status", SCOPE_READ, "probe:b timeoutMs:i channel:s", channels_status},
    {"channels.login", SCOPE_ADMIN, "channel:s! accountId:s timeoutMs:i", channels_login},
    {"channels.logout", SCOPE_ADMIN, "channel:s! accountId:s", channels_logout},
    {"chela.pairing.list", SCOPE_PAIRING, "", pairing_list},
    {"chela.pairing.approve", SCOPE_PAIRING, "channel:s! code:s!", pairing_approve},
    {"chela.pairing.revoke", SCOPE_PAIRING, "channel:s! sender:s!", pairing_revoke},
    {NULL, 0, NULL, NULL},
};
