/*
 * Devices that showed the secret but were never let in, or want more than they may: each waits with
 * a request that somebody with operator.pairing answers. In memory only, as the device asks again.
 */
#ifndef GATEWAY_DEVICE_REQUESTS_H
#define GATEWAY_DEVICE_REQUESTS_H

#include "gateway/devices.h"

/* The device as it would be (taken over) waits; returns the id of its request, NULL: too many
 * wait. Valid until the loop goes on. Tells clients of it when it is new. */
const char *device_request(struct device *d);
/* A request: its device, or NULL. */
const struct device *device_requested(const char *request);
/* Array for device.pair.list. */
struct json_object *device_requests(void);
/* Lets the device of a request in / sends it away. NOT_FOUND: there is no such request. */
void device_request_approve(const char *request, const char *by, journal_fn *fn, void *owner);
int device_request_reject(const char *request, const char *by, struct error *e);
void device_requests_reset(void);

#endif
