/*
 * Device identity: an Ed25519 key pair whose public key's SHA-256 is the device's id.
 */
#ifndef GATEWAY_DEVICE_H
#define GATEWAY_DEVICE_H

#include "gateway/connection.h"

struct json_object;

/* Checks params.device against the challenge of the connection and the rest of params (signature v3
 * or v2). NULL if it is right, else the protocol's detail code (DEVICE_AUTH_...). */
const char *device_check(const struct connection *c, struct json_object *params);

#endif
