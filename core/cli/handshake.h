/* Handshake: the HTTP upgrade by which a TCP connection becomes a WebSocket (RFC 6455, section 4),
 * the client's half: the request's text and the check of the answer. Does no I/O. */
#ifndef CLI_HANDSHAKE_H
#define CLI_HANDSHAKE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define HANDSHAKE_KEY_SIZE    25 /* base64 of 16 bytes and a NUL */
#define HANDSHAKE_ACCEPT_SIZE 29 /* base64 of 20 bytes and a NUL */
#define HANDSHAKE_HEAD_LIMIT  8192

/* A new random key. */
void handshake_key(char key[HANDSHAKE_KEY_SIZE]);

/* What the server must answer to the key. */
void handshake_accept(const char *key, char accept[HANDSHAKE_ACCEPT_SIZE]);

/* Appends the request. `host` as in the Host header. */
void handshake_request(struct buf *out, const char *host, const char *key);

/* Judges a whole answer head (up to and with its empty line). 0, or -1 with an error that says what
 * answered instead. */
int handshake_check(const char *head, size_t length, const char *key, struct error *e);

#endif
