/*
 * A channel's WebSocket to its service, one at a time: objects of JSON in both directions, a
 * deadline for what the service has to say next, a connection that is lost and begun again later.
 * Called by channel plugins, which know the service's protocol and its session.
 */
#ifndef CHELA_SUPPORT_SOCKET_H
#define CHELA_SUPPORT_SOCKET_H

#include <chela/chela.h>
#include <json-c/json_object.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/peer.h"

#pragma GCC visibility push(hidden)

struct chela_socket;

struct chela_socket_way {
    chela_callback *open; /* begins the next connection; arg: the socket's peer */
    void (*received)(struct chela_socket *s, json_object *o);
    /* It was closed by the service with this code (0: it broke). Why trying again would not help;
     * NULL: it may. */
    const char *(*closed)(struct chela_socket *s, unsigned code);
};

struct chela_socket {
    struct chela_peer *p;
    const struct chela_socket_way *way;
    uint64_t call, timer, stop_call;
    unsigned code;
    bool refused; /* for good, until somebody changes something */
};

void chela_socket_open(struct chela_socket *s, struct chela_peer *p,
                       const struct chela_socket_way *way);
/* Whether a connection may be begun now. */
bool chela_socket_idle(const struct chela_socket *s);
/* Something has to come within `greeting_ms`: chela_socket_timer() ends that wait. */
void chela_socket_connect(struct chela_socket *s, const char *url, uint64_t greeting_ms);
/* Takes o over. */
void chela_socket_send(struct chela_socket *s, json_object *o);
/* The socket's only timer: instead of the one before. ms 0 with fn NULL: none. arg: the peer. */
void chela_socket_timer(struct chela_socket *s, uint64_t ms, chela_callback *fn);
/* The connection is over, for us: says why; the next one comes by itself, after `least` ms. */
void chela_socket_drop(struct chela_socket *s, const char *why, uint64_t least);
/* The plugin's `ws` slot. */
void chela_socket_event(struct chela_socket *s, const struct chela_ws_event *e);
/* For the plugin's `stop`: says good-bye; the call ends when the connection has. */
void chela_socket_stop(struct chela_socket *s, uint64_t call);

#pragma GCC visibility pop
#endif
