/*
 * HTTP on the gateway's port: probes, routes of plugins, and the door to WebSockets.
 */
#ifndef GATEWAY_ENDPOINTS_H
#define GATEWAY_ENDPOINTS_H

#include "net/server.h"

extern const struct server_handlers endpoints_handlers;

/* From now on new requests are answered 503. */
void endpoints_drain(void);
void endpoints_open(void);

#endif
