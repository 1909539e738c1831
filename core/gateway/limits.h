/*
 * The gateway's limits, as the protocol states them (policy of hello-ok).
 */
#ifndef GATEWAY_LIMITS_H
#define GATEWAY_LIMITS_H

enum {
    LIMIT_BEFORE_CONNECT = 64 * 1024,  /* bytes of a frame before hello-ok */
    LIMIT_PAYLOAD = 25 * 1024 * 1024,  /* bytes of a frame afterwards */
    LIMIT_BUFFERED = 50 * 1024 * 1024, /* bytes that may wait for a slow client */
    LIMIT_ATTACHMENT = 20 * 1024 * 1024,
    LIMIT_IMAGE = 6 * 1024 * 1024,
    LIMIT_HANDSHAKE_MS = 15000,
    LIMIT_PING_MS = 25000,
    LIMIT_TICK_MS = 30000,
    LIMIT_HISTORY = 1000 /* messages of one chat.history */
};

#endif
