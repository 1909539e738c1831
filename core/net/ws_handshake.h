/*
 * The HTTP half of a WebSocket client (RFC 6455, section 4.1): the text of the request, and what
 * the answer means. Does no I/O; used by ws_client.c.
 */
#ifndef NET_WS_HANDSHAKE_H
#define NET_WS_HANDSHAKE_H

#include "net/ws_client.h"

enum { WS_KEY_SIZE = 25, WS_HEAD_LIMIT = 16 << 10 };

struct ws_answer {
    unsigned status;
    size_t head_length; /* up to and with the empty line; what follows is frames, or a body */
    size_t body_length; /* by Content-Length, 0 = unknown */
    char protocol[64];  /* chosen by the server, "" = none */
};

/* A new key, and the answer to it. */
void ws_handshake_key(char key[WS_KEY_SIZE]);
void ws_handshake_accept(const char *key, char out[32]);
/* Makes http(s)://... of ws(s)://...; NULL if it isn't such a URL. Free it. */
char *ws_handshake_url(const char *url, struct error *e);
/* Appends the request; `url` with its secrets filled in. */
int ws_handshake_request(const struct ws_request *r, const char *url, const char *key,
                         struct buf *out, struct error *e);
/* Reads the head: 1 = whole (status 101 is checked against key and protocols), 0 = more is needed,
 * -1 = nobody speaks WebSocket there. */
int ws_handshake_answer(struct chela_str in, const char *key, const char *protocols,
                        struct ws_answer *ret, struct error *e);

#endif
