/*
 * Who stands behind a proxy: the address that a request really came from, and the person whom a
 * trusted proxy has let in.
 */
#ifndef GATEWAY_PROXY_H
#define GATEWAY_PROXY_H

#include <stdbool.h>

#include "net/server.h"

struct comer {
    char remote[64]; /* the client's address, as far as it can be known */
    bool local;      /* a program of this machine, by no proxy */
    bool proxied;    /* by a proxy of gateway.trusted_proxies */
    char user[128];  /* the person that a trusted proxy names, "" if none */
};

/* Reads the head; to be called while the handler that got it runs. */
void proxy_comer(const struct server_head *head, struct comer *out);
/* gateway.auth.mode = "trusted-proxy": may this person in? */
bool proxy_user_ok(const char *user);
/* Is `address` inside of "a.b.c.d", "a.b.c.d/24", "::1" or "fd00::/8"? */
bool proxy_address_in(const char *address, const char *network);

#endif
