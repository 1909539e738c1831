/*
 * chela/net.h - HTTP requests and WebSockets, carried by the host. Each is a call of the plugin:
 * h.call from local->new_call, h.tag whatever it likes; it ends by the done slot.
 *
 * `parent`: the call that this one serves, 0 = none. When the parent is cancelled or done, what is
 * left of its children is cancelled.
 */
#ifndef CHELA_NET_H
#define CHELA_NET_H

#include <chela/plugin.h>

/* How an answer with a 2xx status arrives. Others always come whole, in done. */
enum {
    CHELA_BODY = 0, /* whole, in done.text; above 8 MiB as a blob (CHELA_BLOB) */
    CHELA_SSE = 1, /* an http event for each server-sent event: name = its type ("message"), data */
    CHELA_LINES = 2, /* an http event for each line, without its end */
    CHELA_FILE = 3 /* stored as a blob while it comes; done.text = hash, extra = {"size","mime"} */
};

/* chela_http.h.flags */
enum {
    CHELA_NO_REDIRECT =
        1, /* don't follow redirects (by default up to 5, secrets only to their hosts) */
    CHELA_PUBLIC =
        2, /* refuse private, loopback, link-local and metadata addresses, after resolution */
    CHELA_HEAD = 4 /* SSE, LINES: as soon as the head of a 2xx answer is there, an http event with
                      the name "" and the headers, before all others */
};

/*
 * A request. Times in ms, 0 = default: timeout (whole; 0 = none for SSE and LINES, else 120 s),
 * idle (between two bytes; 120 s), connect (10 s). limit: longest body in bytes (0 = 64 MiB). done:
 * error class from the status or the failure, http_status, headers, retry_after_ms, text.
 */
struct chela_http {
    struct chela_head h;
    uint64_t parent, limit;
    uint32_t decode, timeout_ms, idle_ms, connect_ms;
    struct chela_str method, url, body;
    struct chela_pairs headers;
};

/* status of the answer. id: of an SSE event, "" = none; retry_ms: the time to wait before
 * connecting anew that the server asked for last, 0 = it didn't. headers: of a CHELA_HEAD event
 * only. */
struct chela_http_event {
    struct chela_head h;
    uint32_t status, zero;
    struct chela_str name, data, id;
    uint64_t retry_ms;
    struct chela_pairs headers;
};

/* Opens a WebSocket (ws, wss). Events until done: OPEN, then messages, then CLOSE. */
enum {
    CHELA_WS_OPEN = 1,
    CHELA_WS_TEXT = 2,
    CHELA_WS_BYTES = 3,
    CHELA_WS_CLOSE = 4,
    CHELA_WS_PONG = 5
};
struct chela_ws_connect {
    struct chela_head h;
    uint64_t parent, limit; /* longest message; 0 = 16 MiB */
    uint32_t timeout_ms, ping_ms;
    struct chela_str url, protocols;
    struct chela_pairs headers;
};

/* kind CHELA_WS_*; CLOSE: code, data = reason. */
struct chela_ws_event {
    struct chela_head h;
    uint32_t kind, code;
    struct chela_str data;
};

/* Sends on the socket h.call. kind TEXT, BYTES or CLOSE (with code). */
struct chela_ws_send {
    struct chela_head h;
    uint32_t kind, code;
    struct chela_str data;
};

/*
 * Signs `data` with a secret that the plugin never sees: algorithm "hmac-sha256", "hmac-sha1",
 * "rs256" (secret: PEM key), "ed25519"; secret = "${secret:PATH}". done.text = raw signature bytes.
 */
struct chela_sign {
    struct chela_head h;
    struct chela_str algorithm, secret, data;
};

struct chela_net {
    uint32_t size, zero;
    void (*http)(struct chela_inst *, const struct chela_http *);
    void (*ws_connect)(struct chela_inst *, const struct chela_ws_connect *);
    void (*ws_send)(struct chela_inst *, const struct chela_ws_send *);
    void (*sign)(struct chela_inst *, const struct chela_sign *);
    void (*cancel)(struct chela_inst *,
                   const struct chela_arg *); /* any call of mine; it still ends by done */
};

#endif
