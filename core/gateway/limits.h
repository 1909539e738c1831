/*
 * The gateway's limits, as the protocol states them (policy of hello-ok): those that nobody has a
 * reason to change, and those of the configuration (gateway.*), read anew each time.
 */
#ifndef GATEWAY_LIMITS_H
#define GATEWAY_LIMITS_H

#include <stddef.h>
#include <stdint.h>

size_t limit_payload(void);        /* gateway.frame_limit: bytes of a frame after hello-ok */
size_t limit_body(void);           /* gateway.body_limit: of a request */
uint64_t limit_handshake_ms(void); /* gateway.handshake_timeout */
unsigned limit_connections(void);  /* gateway.max_connections */

enum {
    LIMIT_BEFORE_CONNECT = 64 * 1024,  /* bytes of a frame before hello-ok */
    LIMIT_BUFFERED = 50 * 1024 * 1024, /* bytes that may wait for a slow client */
    LIMIT_ATTACHMENT = 20 * 1024 * 1024,
    LIMIT_IMAGE = 6 * 1024 * 1024,
    LIMIT_PING_MS = 25000,
    LIMIT_TICK_MS = 30000,
    LIMIT_HISTORY = 1000 /* messages of one chat.history */
};

#endif
