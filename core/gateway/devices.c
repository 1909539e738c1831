/*
 * Devices that were let in (see devices.h). A token is "chd_" and HMAC-SHA256 of the device's id
 * and generation under a key that is made once and lies beside the devices, so it can be told again
 * to who proves to be that device, and ends with a higher generation. Called from the loop only.
 */
#include "gateway/devices.h"

#include <json-c/json_object.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "gateway/connection.h"
#include "host/loop.h"
#include "support/json.h"

enum { KEY_BYTES = 32 };

static const char space[] = "@devices", key_name[] = "!key";

static struct {
    struct map devices;
    char key[2 * KEY_BYTES + 1]; /* hex; "": not made yet */
} state;

void device_free(struct device *d)
{
    char *const texts[] = {d->id,        d->public_key,  d->name,   d->platform, d->family,
                           d->client_id, d->client_mode, d->remote, d->by};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        free(texts[i]);
    free(d);
}

static void free_device(void *d)
{
    device_free(d);
}

/* ---- the journal ---- */

static const struct {
    const char *name;
    size_t at;
} texts[] = {
    {"id", offsetof(struct device, id)},
    {"publicKey", offsetof(struct device, public_key)},
    {"name", offsetof(struct device, name)},
    {"platform", offsetof(struct device, platform)},
    {"family", offsetof(struct device, family)},
    {"clientId", offsetof(struct device, client_id)},
    {"clientMode", offsetof(struct device, client_mode)},
    {"remote", offsetof(struct device, remote)},
    {"by", offsetof(struct device, by)},
};

static const struct {
    const char *name;
    size_t at;
} times[] = {
    {"created", offsetof(struct device, created_ms)},
    {"approved", offsetof(struct device, approved_ms)},
    {"used", offsetof(struct device, used_ms)},
    {"rotated", offsetof(struct device, rotated_ms)},
    {"revoked", offsetof(struct device, revoked_ms)},
};

static char **text_at(const struct device *d, size_t i)
{
    return (char **)(void *)((char *)(uintptr_t)d + texts[i].at);
}

static uint64_t *time_at(const struct device *d, size_t i)
{
    return (uint64_t *)(void *)((char *)(uintptr_t)d + times[i].at);
}

static void read_device(json_object *o)
{
    struct device *d = xcalloc(1, sizeof *d);
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        const char *s = chela_json_string(o, texts[i].name, NULL);
        *text_at(d, i) = xstrdup(s ? s : "");
    }
    for (size_t i = 0; i < ARRAY_LENGTH(times); i++)
        *time_at(d, i) = (uint64_t)chela_json_int(o, times[i].name, 0);
    d->scopes = (uint32_t)chela_json_int(o, "scopes", 0);
    d->generation = (uint32_t)chela_json_int(o, "generation", 0);
    struct device *before = map_set(&state.devices, d->id, d);
    if (before)
        device_free(before);
}

static void load_row(void *owner, const struct journal_row *row)
{
    json_object *o = NULL;
    (void)owner;
    if (row->columns < 2)
        return;
    struct chela_str name = row->values[0].s, value = row->values[1].s;
    if (chela_str_is(name, key_name)) {
        if (value.n == sizeof state.key - 1)
            memcpy(state.key, value.s, sizeof state.key - 1);
    } else if (chela_json_parse(value.s, (size_t)value.n, NULL, &o, NULL) == 0) {
        read_device(o);
        json_object_put(o);
    }
}

static void noted(void *owner, const struct error *e)
{
    (void)owner;
    if (e)
        log_warning("gateway", "a device could not be stored: %s", e->text);
}

struct load {
    journal_fn *fn;
    void *owner;
};

static void loaded(void *owner, const struct error *e)
{
    struct load *l = owner;
    if (!e && !*state.key) {
        id_hex(state.key, KEY_BYTES);
        journal_kv_put(space, key_name, chela_s(state.key), true, noted, NULL);
    }
    l->fn(l->owner, e);
    free(l);
}

void devices_load(journal_fn *fn, void *owner)
{
    struct load *l = xcalloc(1, sizeof *l);
    *l = (struct load){fn, owner};
    devices_reset();
    journal_kv_list(space, "", load_row, loaded, l);
}

void devices_reset(void)
{
    map_free(&state.devices, free_device);
    explicit_bzero(&state, sizeof state);
}

void devices_store(const struct device *d, journal_fn *fn, void *owner)
{
    json_object *o = chela_json_new_object();
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        chela_json_put_text(o, texts[i].name, *text_at(d, i));
    for (size_t i = 0; i < ARRAY_LENGTH(times); i++)
        chela_json_put_int(o, times[i].name, (int64_t)*time_at(d, i));
    chela_json_put_int(o, "scopes", d->scopes);
    chela_json_put_int(o, "generation", d->generation);
    journal_kv_put(space, d->id, chela_s(chela_json_text(o, NULL)), true, fn ? fn : noted, owner);
    json_object_put(o);
}

void devices_put(struct device *d, journal_fn *fn, void *owner)
{
    struct device *before = map_set(&state.devices, d->id, d);
    if (before)
        device_free(before);
    devices_store(d, fn, owner);
}

struct device *devices_find(const char *id)
{
    return id ? map_get(&state.devices, id) : NULL;
}

void devices_each(void (*fn)(void *arg, struct device *d), void *arg)
{
    const struct map_slot *slot;
    for (size_t i = 0; map_next(&state.devices, &i, &slot);)
        fn(arg, slot->value);
}

static void not_found(void *arg)
{
    struct load *l = arg;
    struct error e = {0};
    error_set(&e, CHELA_E_NOT_FOUND, "no device of that id is paired; see chela devices list");
    l->fn(l->owner, &e);
    free(l);
}

void devices_remove(const char *id, journal_fn *fn, void *owner)
{
    struct device *d = map_remove(&state.devices, id);
    if (!d) {
        struct load *l = xcalloc(1, sizeof *l);
        *l = (struct load){fn, owner};
        loop_defer(not_found, l);
        return;
    }
    journal_kv_delete(space, d->id, fn, owner);
    device_free(d);
}

/* ---- tokens ---- */

void device_token(const struct device *d, char out[DEVICE_TOKEN_SIZE])
{
    CLEANUP(freep) char *text = xprintf("%s|operator|%u", d->id, d->generation);
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    HMAC(EVP_sha256(), state.key, (int)strlen(state.key), (const unsigned char *)text, strlen(text),
         mac, &n);
    memcpy(out, "chd_", 4);
    for (unsigned i = 0; i < 32; i++)
        snprintf(out + 4 + (size_t)2 * i, 3, "%02x", mac[i]);
}

static bool is_token_of(const struct device *d, const char *token)
{
    char its[DEVICE_TOKEN_SIZE];
    if (d->revoked_ms || strlen(token) != sizeof its - 1)
        return false;
    device_token(d, its);
    return CRYPTO_memcmp(its, token, sizeof its - 1) == 0;
}

struct device *device_by_token(const char *id, const char *token)
{
    const struct map_slot *slot;
    if (!token || strncmp(token, "chd_", 4) != 0)
        return NULL;
    if (id) {
        struct device *d = devices_find(id);
        return d && is_token_of(d, token) ? d : NULL;
    }
    struct device *found = NULL;
    for (size_t i = 0; map_next(&state.devices, &i, &slot);) {
        struct device *d = slot->value;
        if (!*d->public_key && is_token_of(d, token))
            found = d;
    }
    return found;
}

/* ---- for the lists ---- */

json_object *scopes_list(uint32_t scopes)
{
    json_object *list = chela_json_new_array();
    for (uint32_t bit = 1; bit <= SCOPE_PAIRING; bit <<= 1)
        if (scopes & bit)
            chela_json_push(list, json_object_new_string(scope_name(bit)));
    return list;
}

static void put_some(json_object *o, const char *name, const char *text)
{
    if (*text)
        chela_json_put_text(o, name, text);
}

json_object *device_describe(const struct device *d)
{
    json_object *o = chela_json_new_object(), *token;
    chela_json_put_text(o, "deviceId", d->id);
    put_some(o, "publicKey", d->public_key);
    put_some(o, "displayName", d->name);
    put_some(o, "platform", d->platform);
    put_some(o, "deviceFamily", d->family);
    put_some(o, "clientId", d->client_id);
    put_some(o, "clientMode", d->client_mode);
    put_some(o, "remoteIp", d->remote);
    put_some(o, "approvedBy", d->by);
    chela_json_put_text(o, "role", "operator");
    chela_json_push(chela_json_put_array(o, "roles"), json_object_new_string("operator"));
    chela_json_put(o, "scopes", scopes_list(d->scopes));
    chela_json_put(o, "approvedScopes", scopes_list(d->scopes));
    chela_json_put_int(o, "createdAtMs", (int64_t)d->created_ms);
    chela_json_put_int(o, "approvedAtMs", (int64_t)d->approved_ms);
    token = chela_json_push_object(chela_json_put_array(o, "tokens"));
    chela_json_put_text(token, "role", "operator");
    chela_json_put(token, "scopes", scopes_list(d->scopes));
    chela_json_put_int(token, "createdAtMs", (int64_t)d->approved_ms);
    if (d->rotated_ms)
        chela_json_put_int(token, "rotatedAtMs", (int64_t)d->rotated_ms);
    if (d->revoked_ms)
        chela_json_put_int(token, "revokedAtMs", (int64_t)d->revoked_ms);
    if (d->used_ms)
        chela_json_put_int(token, "lastUsedAtMs", (int64_t)d->used_ms);
    return o;
}
