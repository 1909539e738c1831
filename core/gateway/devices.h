/*
 * Devices that were let in: who they are, what they may, and the tokens that they show instead of
 * the gateway's secret. Kept in the journal's space "@devices" and in memory. Asked by the
 * handshake and by methods_devices.c.
 */
#ifndef GATEWAY_DEVICES_H
#define GATEWAY_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/journal/journal.h"

struct json_object;

enum { DEVICE_TOKEN_SIZE = 4 + 64 + 1 };

struct device {
    char *id;         /* hex SHA-256 of the public key; random for a page without a key */
    char *public_key; /* base64url; "" for a page without a key */
    char *name, *platform, *family, *client_id, *client_mode, *remote;
    char *by; /* who approved it */
    uint32_t scopes;
    uint64_t created_ms, approved_ms, used_ms, rotated_ms, revoked_ms; /* revoked_ms 0: it counts */
    uint32_t generation; /* of its token: a number more makes the one before worthless */
};

void devices_load(journal_fn *fn, void *owner);
void devices_reset(void);
/* NULL: not let in. */
struct device *devices_find(const char *id);
void devices_each(void (*fn)(void *arg, struct device *d), void *arg);
/* Puts one that the caller made (and no longer owns) in place of an earlier one of its id, and
 * stores it. fn may be NULL. */
void devices_put(struct device *d, journal_fn *fn, void *owner);
void devices_store(const struct device *d, journal_fn *fn, void *owner);
/* NOT_FOUND: there is none. */
void devices_remove(const char *id, journal_fn *fn, void *owner);
void device_free(struct device *d);

/* The token of a device; it follows from the gateway's own key, so none is stored. */
void device_token(const struct device *d, char out[DEVICE_TOKEN_SIZE]);
/* The device whose token this is, in constant time for each; id: only that one, or NULL for those
 * without a key. NULL: it is nobody's, or was revoked. */
struct device *device_by_token(const char *id, const char *token);

/* Names of the bits: array. */
struct json_object *scopes_list(uint32_t scopes);
/* As `device.pair.list` shows it. */
struct json_object *device_describe(const struct device *d);

#endif
