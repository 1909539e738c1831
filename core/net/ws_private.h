/*
 * What the files of the WebSocket client share: ws_client.c (life, deadlines, the scheduler),
 * ws_connect.c (from the URL to the open socket) and ws_frames.c (bytes and frames). Included by
 * nobody else.
 */
#ifndef NET_WS_PRIVATE_H
#define NET_WS_PRIVATE_H

#include "net/ws_client.h"

#include <wslay/wslay.h>

#include "base/list.h"
#include "host/loop.h"
#include "net/http_private.h"
#include "net/ws_handshake.h"

enum {
    WS_CONNECT_MS = 30 * 1000,
    WS_CLOSE_MS = 5 * 1000,
    WS_PONG_MS = 25 * 1000,
    WS_LIMIT = 16 << 20,
    WS_SEND_LIMIT = 16 << 20,
    WS_READ_BUDGET = 256 << 10, /* bytes of one socket in one pass */
    WS_REFUSAL_LIMIT = 64 << 10
};

enum ws_state {
    WS_NEW,        /* not begun */
    WS_CONNECTING, /* libcurl is at work */
    WS_SHAKING,    /* the request is on its way, or its answer */
    WS_OPEN,
    WS_CLOSING, /* a close frame is on its way, or the peer's is awaited */
    WS_ENDED    /* done is due */
};

struct ws {
    uint64_t id;
    const struct ws_ops *ops;
    void *owner;
    enum ws_state state;
    CURL *easy;
    struct multi_user user;
    char error_text[CURL_ERROR_SIZE];
    struct ws_request request; /* owned copies */
    char *url;                 /* filled in, http or https */
    char key[WS_KEY_SIZE];
    struct loop_watch *watch;
    wslay_event_context_ptr frames;
    struct buf in; /* the head, and what came behind it */
    struct buf out;
    size_t sent, budget;
    bool connected, readable, want_write, eof, again; /* again: the read budget ran out */
    bool told_close;
    CURLcode result;
    struct error error; /* why it ends; class 0: by handshake */
    unsigned status;
    uint64_t timer, ping_timer, heard, pinged;
    struct link link, work;
};

/* ws_client.c */
void ws_work(struct ws *w); /* have the scheduler look at it before the next poll */
void ws_fail(struct ws *w, uint32_t class, const char *text);
void ws_end(struct ws *w); /* it ended well */
void ws_tell(struct ws *w, uint32_t kind, uint32_t code, struct chela_str data);
void ws_tell_close(struct ws *w, unsigned code, struct chela_str reason); /* once */
void ws_ping(void *arg);

/* ws_connect.c */
void ws_begin(struct ws *w);
void ws_shake(struct ws *w); /* libcurl has connected: our request goes out */
void ws_read_answer(struct ws *w);

/* ws_frames.c */
extern const struct wslay_event_callbacks ws_callbacks;
size_t ws_receive(struct ws *w, void *p, size_t n); /* 0 = none now */
void ws_flush(struct ws *w);
/* Frames in, frames out, and whether that was all. */
void ws_exchange(struct ws *w);

#endif
