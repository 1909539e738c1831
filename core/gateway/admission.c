/*
 * Admission of a client (see admission.h), in this order: the device's signature; a secret, a token
 * of the device, a code for one use, or a person named by a trusted proxy; then whether the device
 * was let in for the scopes that it wants. Called by handshake.c only.
 */
#include "gateway/admission.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "gateway/audit.h"
#include "gateway/codes.h"
#include "gateway/device.h"
#include "gateway/device_requests.h"
#include "gateway/proxy.h"
#include "gateway/secret.h"
#include "host/settings.h"
#include "support/json.h"

/* How a client proved itself. */
enum proof { PROOF_NONE, PROOF_SECRET, PROOF_TOKEN, PROOF_CODE, PROOF_PROXY, PROOF_NOT_ASKED };

struct asker {
    struct connection *c;
    json_object *params, *auth, *device;
    const char *id;        /* of the device, its signature was right; NULL: none */
    struct device *paired; /* that is let in, or NULL */
    enum proof proof;
    char *code_by; /* who made the code */
    uint32_t wanted;
};

static bool refuse(struct refusal *why, const char *code, const char *detail, const char *next,
                   const char *message)
{
    *why = (struct refusal){.code = code, .detail = detail, .next = next, .message = message};
    return false;
}

static bool bad(struct refusal *why, const char *detail, const char *next, const char *message)
{
    return refuse(why, "INVALID_REQUEST", detail, next, message);
}

static const char *text(json_object *o, const char *name)
{
    return chela_json_string(o, name, NULL);
}

/* ---- the device ---- */

static bool device_signed(struct asker *a, struct refusal *why)
{
    if (!chela_json_get(a->params, "device"))
        return true;
    const char *wrong = device_check(a->c, a->params);
    if (wrong)
        return bad(why, wrong, NULL, "the device's signature was refused");
    a->id = text(a->device, "id");
    a->paired = devices_find(a->id);
    return true;
}

/* ---- the proof ---- */

static enum proof proof_of(struct asker *a)
{
    const char *token = text(a->auth, "token"), *password = text(a->auth, "password"),
               *own = text(a->auth, "deviceToken"), *code = text(a->auth, "bootstrapToken");
    if (secret_mode() == SECRET_PROXY && a->c->proxied)
        return proxy_user_ok(a->c->user) ? PROOF_PROXY : PROOF_NONE;
    if (code && (a->code_by = code_use(code)) != NULL)
        return PROOF_CODE;
    if (secret_matches(token) || secret_matches(password))
        return PROOF_SECRET;
    struct device *d = device_by_token(a->id, own);
    if (!d) /* older clients put it there */
        d = device_by_token(a->id, token);
    if (d) {
        a->paired = d;
        return PROOF_TOKEN;
    }
    /* without a secret only programs of this machine are let in, no proxy's clients */
    return secret_mode() == SECRET_NONE && a->c->local ? PROOF_NOT_ASKED : PROOF_NONE;
}

static bool say_what_is_wrong(const struct asker *a, struct refusal *why)
{
    bool password = secret_mode() == SECRET_PASSWORD;
    if (secret_mode() == SECRET_PROXY && a->c->proxied)
        return bad(why, "AUTH_UNAUTHORIZED", "review_auth_configuration",
                   "the proxy names nobody who may in");
    if (secret_mode() == SECRET_NONE)
        return bad(why, "AUTH_REQUIRED", "update_auth_configuration",
                   "a proxy stands in front, so gateway.auth.mode = \"none\" lets nobody in");
    if (text(a->auth, "bootstrapToken"))
        return bad(
            why, "AUTH_BOOTSTRAP_TOKEN_INVALID", "update_auth_credentials",
            "the code was used already or is too old; ask for another one by chela dashboard");
    if (text(a->auth, "deviceToken") && !text(a->auth, "token"))
        return bad(why, "AUTH_DEVICE_TOKEN_MISMATCH", "update_auth_credentials",
                   "the device's token is not, or no longer, good");
    if (!text(a->auth, "token") && !text(a->auth, "password"))
        return bad(why, password ? "AUTH_PASSWORD_MISSING" : "AUTH_TOKEN_MISSING",
                   "update_auth_configuration",
                   "a secret is needed: set CHELA_GATEWAY_TOKEN or gateway.auth");
    return bad(why, password ? "AUTH_PASSWORD_MISMATCH" : "AUTH_TOKEN_MISMATCH",
               "update_auth_credentials", "the secret is not this gateway's");
}

static bool proven(struct asker *a, struct refusal *why)
{
    bool limited = !a->c->local || a->c->browser;
    if (secret_is_set() && limited && secret_locked(a->c->remote))
        return bad(why, "AUTH_RATE_LIMITED", "wait_then_retry",
                   "too many wrong secrets from this address; wait five minutes");
    a->proof = proof_of(a);
    if (a->proof != PROOF_NONE)
        return true;
    say_what_is_wrong(a, why);
    bool guessed =
        !strstr(why->detail, "_MISSING") && strcmp(why->detail, "AUTH_UNAUTHORIZED") != 0;
    if (limited && guessed)
        secret_failed(a->c->remote);
    return false;
}

/* ---- may this device do that? ---- */

static char *copy(json_object *o, const char *name)
{
    const char *s = text(o, name);
    return xstrdup(s ? s : "");
}

static struct device *device_made(const struct asker *a, const char *id)
{
    json_object *client = chela_json_object(a->params, "client");
    struct device *d = xcalloc(1, sizeof *d);
    d->id = xstrdup(id);
    d->public_key = copy(a->device, "publicKey");
    d->name = copy(client, "displayName");
    d->platform = copy(client, "platform");
    d->family = copy(client, "deviceFamily");
    d->client_id = copy(client, "id");
    d->client_mode = copy(client, "mode");
    d->remote = xstrdup(a->c->remote);
    d->by = xstrdup("");
    d->scopes = a->wanted | (a->paired ? a->paired->scopes : 0);
    d->created_ms = clock_now_ms();
    return d;
}

/* Lets it in without a question; `by` says why. */
static void let_in(struct asker *a, const char *id, const char *by)
{
    struct device *d = device_made(a, id);
    json_object *what = chela_json_new_object();
    d->approved_ms = clock_now_ms();
    d->by = (free(d->by), xstrdup(by));
    d->generation = a->paired ? a->paired->generation + (a->paired->revoked_ms != 0) : 1;
    if (a->paired)
        d->created_ms = a->paired->created_ms;
    chela_json_put_text(what, "device", id);
    chela_json_put_text(what, "name", d->name);
    chela_json_put_text(what, "remote", d->remote);
    chela_json_put(what, "scopes", scopes_list(d->scopes));
    audit_note("device.approve", by, what);
    devices_put(d, NULL, NULL);
    a->paired = d;
}

/* Why it needs nobody's yes, or NULL. */
static const char *free_pass(const struct asker *a)
{
    if (a->proof == PROOF_CODE)
        return a->code_by;
    if (a->proof == PROOF_PROXY)
        return a->c->user;
    if (a->c->local && (a->proof == PROOF_SECRET || a->proof == PROOF_NOT_ASKED) &&
        settings_number(settings_now(), "gateway.devices.auto_approve_local"))
        return "auto (on this machine)";
    return NULL;
}

static bool paired(struct asker *a, struct refusal *why)
{
    if (a->paired && (a->wanted & ~a->paired->scopes) == 0)
        return true;
    const char *by = free_pass(a);
    if (by) {
        let_in(a, a->id, by);
        return true;
    }
    const char *reason = a->paired ? "scope-upgrade" : "not-paired",
               *request = device_request(device_made(a, a->id));
    refuse(why, "NOT_PAIRED", "PAIRING_REQUIRED", "wait_then_retry",
           request ? "this device must be let in first: chela devices list, chela devices approve"
                   : "too many devices wait to be let in; see chela devices list");
    why->reason = reason;
    why->request = request;
    return false;
}

/* A page without a key of its own (no secure context) that came by a code: its token is all that it
 * will have. */
static void let_page_in(struct asker *a)
{
    char id[65];
    id_hex(id, 32);
    let_in(a, id, a->code_by);
}

static uint32_t scopes_wanted(json_object *params)
{
    json_object *list = chela_json_array(params, "scopes");
    uint32_t scopes = 0;
    for (size_t i = 0; i < chela_json_length(list); i++) {
        const char *name = chela_json_as_string(chela_json_at(list, i), NULL);
        scopes |= name ? scope_from_name(name) : 0;
    }
    return scopes;
}

static bool decide(struct asker *a, struct refusal *why)
{
    if (!device_signed(a, why) || !proven(a, why))
        return false;
    if (a->proof == PROOF_TOKEN && !a->wanted)
        a->wanted = a->paired->scopes;
    if (a->id && !paired(a, why))
        return false;
    if (!a->id && a->proof == PROOF_CODE)
        let_page_in(a);
    if (!a->id && !a->paired && !a->c->local && a->proof == PROOF_SECRET &&
        settings_number(settings_now(), "gateway.devices.required"))
        return bad(why, "DEVICE_IDENTITY_REQUIRED", "review_auth_configuration",
                   "clients of other machines need a device identity here");
    a->c->scopes = a->proof == PROOF_TOKEN ? a->wanted & a->paired->scopes : a->wanted;
    if (a->paired) {
        a->c->device_id = xstrdup(a->paired->id);
        a->paired->used_ms = clock_now_ms();
    }
    return true;
}

bool admission_check(struct connection *c, json_object *params, struct refusal *why)
{
    struct asker a = {
        .c = c,
        .params = params,
        .auth = chela_json_object(params, "auth"),
        .device = chela_json_object(params, "device"),
        .wanted = scopes_wanted(params),
    };
    bool ok = decide(&a, why);
    free(a.code_by);
    return ok;
}

struct device *admission_device(const struct connection *c)
{
    return devices_find(c->device_id);
}
