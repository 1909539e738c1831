/*
 * WebSockets to servers (ws and wss): libcurl connects, with its TLS, proxies and name look-ups,
 * and wslay frames. For the core; plugins come through net_group_ws.c. Everything on the loop
 * thread; `event` and `done` come from the top of the loop, done once and last.
 */
#ifndef NET_WS_CLIENT_H
#define NET_WS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/net.h>

#include "base/buf.h"
#include "base/error.h"

void ws_open(void);  /* after http_open */
void ws_close(void); /* before http_close; drops what is left, without done */

/* As struct chela_ws_connect; 0 = the default. What is pointed to is copied. */
struct ws_request {
    const char *url, *protocols;
    struct chela_pairs headers;
    uint64_t limit;      /* longest message; 16 MiB */
    uint32_t timeout_ms; /* until it is open; 30 s */
    uint32_t ping_ms;    /* 0: none are sent; with them a peer silent for 25 s after one is dead */
    int (*fill)(void *arg, const char *url, struct chela_str text, struct buf *out,
                struct error *e);
    void *fill_arg;
};

struct ws_ops {
    void (*event)(void *owner, uint64_t id, const struct chela_ws_event *e);
    /* OK after a close handshake, from whichever side; else why it ended. */
    void (*done)(void *owner, uint64_t id, const struct chela_done *d);
    bool (*room)(void *owner); /* as in struct http_ops */
};

uint64_t ws_connect(const struct ws_request *r, const struct ws_ops *ops, void *owner);
/* kind CHELA_WS_TEXT, _BYTES, or _CLOSE (data: the reason). Before OPEN, and after CLOSE, dropped.
 * With more than 16 MiB waiting the socket ends with CHELA_E_TOO_LONG. */
void ws_send(uint64_t id, uint32_t kind, uint32_t code, struct chela_str data);
void ws_cancel(uint64_t id);
void ws_forget(uint64_t id);

#endif
