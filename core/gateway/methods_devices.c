/*
 * Methods of devices: who waits, who was let in, their tokens, codes for the page, the audit log.
 * Called by method.c. Nobody can give away scopes that he does not have.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "gateway/audit.h"
#include "gateway/codes.h"
#include "gateway/device_requests.h"
#include "gateway/devices.h"
#include "gateway/method.h"
#include "support/json.h"

enum { NAME_MOST = 64, AUDIT_DEFAULT = 50, AUDIT_MOST = 1000 };

static const char *param(json_object *params, const char *name)
{
    return chela_json_string(params, name, NULL);
}

static struct connection *asker(const struct rpc *rpc)
{
    return connection_find(rpc->connection);
}

static void fail_not_found(struct rpc *rpc)
{
    rpc_fail(rpc, "INVALID_REQUEST", NULL, "unknown deviceId; see chela devices list");
}

/* Those of `scopes` that the asker has not; answers then. */
static bool beyond(struct rpc *rpc, uint32_t scopes)
{
    const struct connection *c = asker(rpc);
    for (uint32_t bit = 1; bit <= SCOPE_PAIRING; bit <<= 1) {
        if (!(scopes & bit) || connection_may(c, bit))
            continue;
        json_object *details = chela_json_new_object();
        chela_json_put_text(details, "code", "MISSING_SCOPE");
        chela_json_put_text(details, "missingScope", scope_name(bit));
        chela_json_push(chela_json_put_array(details, "requiredScopes"),
                        json_object_new_string(scope_name(bit)));
        rpc_fail(rpc, "FORBIDDEN", details, "missing scope: %s", scope_name(bit));
        return true;
    }
    return false;
}

static void note(struct rpc *rpc, const char *action, const struct device *d)
{
    json_object *what = chela_json_new_object();
    CLEANUP(freep) char *by = connection_person(asker(rpc));
    chela_json_put_text(what, "device", d->id);
    chela_json_put_text(what, "name", d->name);
    audit_note(action, by, what);
}

/* ---- device.pair ---- */

static void add_paired(void *arg, struct device *d)
{
    chela_json_push(arg, device_describe(d));
}

static void pair_list(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    (void)params;
    chela_json_put(o, "pending", device_requests());
    devices_each(add_paired, chela_json_put_array(o, "paired"));
    rpc_answer(rpc, o);
}

struct approval {
    struct rpc *rpc;
    char *request, *device;
};

static void approved(void *owner, const struct error *e)
{
    struct approval *a = owner;
    const struct device *d = devices_find(a->device);
    if (e || !d) {
        if (e)
            rpc_fail_error(a->rpc, e);
        else
            fail_not_found(a->rpc);
    } else {
        json_object *o = chela_json_new_object();
        chela_json_put_text(o, "requestId", a->request);
        chela_json_put(o, "device", device_describe(d));
        rpc_answer(a->rpc, o);
    }
    free(a->request);
    free(a->device);
    free(a);
}

static void pair_approve(struct rpc *rpc, json_object *params)
{
    const char *request = param(params, "requestId");
    const struct device *d = device_requested(request);
    if (d && beyond(rpc, d->scopes))
        return;
    struct approval *a = xcalloc(1, sizeof *a);
    CLEANUP(freep) char *by = connection_person(asker(rpc));
    a->rpc = rpc;
    a->request = xstrdup(request);
    a->device = xstrdup(d ? d->id : "");
    device_request_approve(request, by, approved, a);
}

static void pair_reject(struct rpc *rpc, json_object *params)
{
    const char *request = param(params, "requestId");
    const struct device *d = device_requested(request);
    CLEANUP(freep) char *by = connection_person(asker(rpc)), *device = xstrdup(d ? d->id : "");
    struct error e = {0};
    if (device_request_reject(request, by, &e) < 0) {
        rpc_fail_error(rpc, &e);
        return;
    }
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "requestId", request);
    chela_json_put_text(o, "deviceId", device);
    rpc_answer(rpc, o);
}

/* What a change of one device is answered with, once it is stored. */
struct change {
    struct rpc *rpc;
    json_object *answer;
    char *close; /* the device whose connections end, or NULL */
    const char *why;
};

static void changed(void *owner, const struct error *e)
{
    struct change *c = owner;
    if (e) {
        rpc_fail_error(c->rpc, e);
        json_object_put(c->answer);
    } else {
        rpc_answer(c->rpc, c->answer);
        if (c->close)
            connection_close_device(c->close, c->why);
    }
    free(c->close);
    free(c);
}

static struct change *change_begin(struct rpc *rpc, const struct device *d)
{
    struct change *c = xcalloc(1, sizeof *c);
    c->rpc = rpc;
    c->answer = chela_json_new_object();
    chela_json_put_text(c->answer, "deviceId", d->id);
    return c;
}

/* The device of the parameters, if the asker may change it; else it was answered. */
static struct device *device_of(struct rpc *rpc, json_object *params)
{
    struct device *d = devices_find(param(params, "deviceId"));
    const char *role = param(params, "role");
    if (!d || (role && strcmp(role, "operator") != 0)) {
        fail_not_found(rpc);
        return NULL;
    }
    return beyond(rpc, d->scopes) ? NULL : d;
}

static void pair_remove(struct rpc *rpc, json_object *params)
{
    struct device *d = device_of(rpc, params);
    if (!d)
        return;
    struct change *c = change_begin(rpc, d);
    c->close = xstrdup(d->id);
    c->why = "this device was removed";
    note(rpc, "device.remove", d);
    devices_remove(c->close, changed, c);
}

static void pair_rename(struct rpc *rpc, json_object *params)
{
    struct device *d = device_of(rpc, params);
    const char *label = param(params, "label");
    if (!d)
        return;
    if (!*label || strlen(label) > NAME_MOST) {
        rpc_fail(rpc, "INVALID_REQUEST", NULL,
                 "invalid device.pair.rename params: a label has 1 to %d bytes", NAME_MOST);
        return;
    }
    struct change *c = change_begin(rpc, d);
    free(d->name);
    d->name = xstrdup(label);
    chela_json_put_text(c->answer, "label", label);
    devices_store(d, changed, c);
}

/* ---- device.token ---- */

static uint32_t scopes_of(json_object *list)
{
    uint32_t scopes = 0;
    for (size_t i = 0; i < chela_json_length(list); i++) {
        const char *name = chela_json_as_string(chela_json_at(list, i), NULL);
        scopes |= name ? scope_from_name(name) : 0;
    }
    return scopes;
}

static void token_rotate(struct rpc *rpc, json_object *params)
{
    struct device *d = device_of(rpc, params);
    json_object *wanted = chela_json_array(params, "scopes");
    if (!d)
        return;
    if (wanted && (scopes_of(wanted) & ~d->scopes)) {
        rpc_fail(rpc, "INVALID_REQUEST", NULL,
                 "a rotation can only take scopes away; the device asks for more by connecting");
        return;
    }
    const struct connection *by = asker(rpc);
    struct change *c = change_begin(rpc, d);
    bool own = by->device_id && strcmp(by->device_id, d->id) == 0;
    if (wanted)
        d->scopes = scopes_of(wanted);
    d->generation++;
    d->revoked_ms = 0;
    d->rotated_ms = clock_now_ms();
    chela_json_put_text(c->answer, "role", "operator");
    chela_json_put(c->answer, "scopes", scopes_list(d->scopes));
    chela_json_put_int(c->answer, "rotatedAtMs", (int64_t)d->rotated_ms);
    if (own) {
        char token[DEVICE_TOKEN_SIZE];
        device_token(d, token);
        chela_json_put_text(c->answer, "token", token);
        explicit_bzero(token, sizeof token);
    } else {
        c->close = xstrdup(d->id);
        c->why = "the token of this device was replaced";
    }
    chela_json_put_text(c->answer, "tokenDelivery", own ? "in-band" : "withheld-cross-device");
    note(rpc, "device.rotate", d);
    devices_store(d, changed, c);
}

static void token_revoke(struct rpc *rpc, json_object *params)
{
    struct device *d = device_of(rpc, params);
    if (!d)
        return;
    struct change *c = change_begin(rpc, d);
    d->revoked_ms = clock_now_ms();
    c->close = xstrdup(d->id);
    c->why = "the token of this device was revoked";
    chela_json_put_text(c->answer, "role", "operator");
    chela_json_put_int(c->answer, "revokedAtMs", (int64_t)d->revoked_ms);
    note(rpc, "device.revoke", d);
    devices_store(d, changed, c);
}

/* ---- our own ---- */

static void dashboard_code(struct rpc *rpc, json_object *params)
{
    char code[CODE_SIZE];
    CLEANUP(freep) char *by = connection_person(asker(rpc));
    json_object *o = chela_json_new_object();
    (void)params;
    code_make(code, by);
    audit_note("dashboard.code", by, NULL);
    chela_json_put_text(o, "code", code);
    rpc_answer(rpc, o);
    explicit_bzero(code, sizeof code);
}

static void audit(struct rpc *rpc, json_object *params)
{
    int64_t limit = chela_json_int(params, "limit", AUDIT_DEFAULT);
    rpc_answer(rpc, audit_read(limit < 1 ? 1 : limit > AUDIT_MOST ? AUDIT_MOST : (unsigned)limit));
}

const struct method methods_devices[] = {
    {"device.pair.list", SCOPE_PAIRING, "", pair_list},
    {"device.pair.approve", SCOPE_PAIRING, "requestId:s!", pair_approve},
    {"device.pair.reject", SCOPE_PAIRING, "requestId:s!", pair_reject},
    {"device.pair.remove", SCOPE_PAIRING, "deviceId:s!", pair_remove},
    {"device.pair.rename", SCOPE_PAIRING, "deviceId:s! label:s!", pair_rename},
    {"device.token.rotate", SCOPE_PAIRING, "deviceId:s! role:s! scopes:a", token_rotate},
    {"device.token.revoke", SCOPE_PAIRING, "deviceId:s! role:s!", token_revoke},
    {"chela.dashboard.code", SCOPE_ADMIN, "", dashboard_code},
    {"chela.audit", SCOPE_ADMIN, "limit:i", audit},
    {NULL, 0, NULL, NULL},
};
