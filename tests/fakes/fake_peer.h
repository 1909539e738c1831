/* The WebSocket server below a fake gateway: one thread, a few peers, no clock. */
#ifndef FAKE_PEER_H
#define FAKE_PEER_H

#include <stdbool.h>
#include <wslay/wslay.h>

#include "base/buf.h"

#define PEERS_MOST 16

struct peer {
    int fd; /* -1: free */
    struct buf in;
    wslay_event_context_ptr wslay; /* NULL before the upgrade */
    bool greeted, closing;
};

struct peer_handlers {
    void (*open)(struct peer *peer);
    void (*message)(struct peer *peer, const char *text, size_t length);
    void (*close)(struct peer *peer);
};

extern struct peer peers[PEERS_MOST];

/* Listens on the loopback address (port 0: any), writes "ready 127.0.0.1:PORT" to descriptor 3, and
 * serves for ever. */
_Noreturn void peer_serve(unsigned port, const struct peer_handlers *handlers);

void peer_send(struct peer *peer, const char *text, size_t length);
/* What was sent so far goes out, then all connections end without a word. */
void peer_hang_up_all(void);

#endif
