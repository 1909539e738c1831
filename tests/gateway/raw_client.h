/*
 * A client of the gateway that may break every rule: bytes and frames as the test wants them, one
 * blocking socket, time limits on all waiting. Used by the programs of tests/gateway.
 */
#ifndef TESTS_GATEWAY_RAW_CLIENT_H
#define TESTS_GATEWAY_RAW_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct json_object;

enum { RAW_OPEN = 0, RAW_CUT = 1006, RAW_WAIT_MS = 10000 };

struct raw {
    int fd;
    struct buf in;
    unsigned code; /* of the gateway's close frame; RAW_CUT: the connection ended without one */
    unsigned pongs;
};

void raw_connect(struct raw *r, unsigned port);
/* Connects and asks for a WebSocket, with more header lines ("Name: value\r\n"); host NULL: the
 * usual one. Returns the HTTP status; 0: nothing came. */
unsigned raw_open(struct raw *r, unsigned port, const char *host, const char *headers);
void raw_close(struct raw *r);
/* False when the gateway has closed. */
bool raw_write(struct raw *r, const void *p, size_t n);
bool raw_frame(struct raw *r, unsigned first, const void *p, size_t n, bool masked);
bool raw_text(struct raw *r, const char *text);
/* The next text frame as JSON (to be put); NULL: closed (r->code) or nothing within `ms`. */
struct json_object *raw_next(struct raw *r, int ms);
/* The code of the close, 0 if it stays open for `ms`. */
unsigned raw_wait_close(struct raw *r, int ms);
/* The head of an HTTP answer, up to the empty line; its status or 0. */
unsigned raw_status(struct raw *r, int ms);

#endif
