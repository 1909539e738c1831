/*
 * One client on a WebSocket: its handshake, rights, and the frames in and out.
 */
#ifndef GATEWAY_CONNECTION_H
#define GATEWAY_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/base.h>

#include "base/buf.h"
#include "base/list.h"
#include "net/server.h"

struct json_object;

enum scope {
    SCOPE_READ = 1,
    SCOPE_WRITE = 2,
    SCOPE_ADMIN = 4, /* implies all */
    SCOPE_APPROVALS = 8,
    SCOPE_QUESTIONS = 16,
    SCOPE_PAIRING = 32
};

enum { CAP_TOOL_EVENTS = 1, CAP_PLUGIN_APPROVALS = 2 /* and no others */ };

enum connection_state { CONNECTION_CHALLENGED, CONNECTION_READY, CONNECTION_CLOSING };

struct connection {
    struct link link;
    uint64_t number; /* key of rpc.connection; never used twice */
    struct server_socket *socket;
    enum connection_state state;
    char id[37], nonce[37];
    uint64_t challenged_ms; /* the challenge's ts */
    uint64_t timer;         /* handshake's deadline */
    bool browser;           /* came with an Origin */
    bool local;             /* from this machine, by no proxy */
    bool proxied;           /* by a trusted proxy ... */
    char *user;             /* ... that named this person; "" */
    char *remote;
    uint32_t scopes, caps;
    char *client_id, *mode, *platform, *version, *display_name, *instance_id, *device_id;
    uint64_t connected_ms;
    uint64_t seq;
    bool follows_sessions; /* sessions.subscribe */
};

/* What calls of plugins come from: no socket, the scopes read and write. */
#define CONNECTION_PLUGINS UINT64_MAX

void connection_opened(struct server_socket *s, const struct server_head *head, bool browser);
/* For each ready connection. */
void connection_each(void (*fn)(void *arg, struct connection *c), void *arg);
struct connection *connection_find(uint64_t number);
unsigned connection_count(void);
bool connection_may(const struct connection *c, uint32_t scope);
/* {"id","mode","platform","connection"}: who it is, for channels and plugins; the caller puts it.
 */
struct json_object *connection_describe(const struct connection *c);
/* "name (connection)": who it is, for the audit log and those who read it; free it. */
char *connection_person(const struct connection *c);
uint32_t scope_from_name(const char *name); /* 0 = unknown */
const char *scope_name(uint32_t scope);

void connection_send(struct connection *c, struct chela_str frame);
/* An event to one client. seq: numbered (broadcast) or not (targeted). */
void connection_event(struct connection *c, const char *name, struct chela_str payload,
                      bool numbered);
/* An event to every ready client that has `scope` (0: all) and all of `caps`. */
void connection_broadcast(const char *name, struct json_object *payload, uint32_t scope,
                          uint32_t caps);
/* Those of a device whose rights have ended. */
void connection_close_device(const char *device, const char *reason);
void connection_close_all(unsigned code, const char *reason);

/* handshake.c: the answer to `connect`; returns false if the socket must be closed. */
struct rpc;
void handshake_connect(struct connection *c, struct rpc *rpc, struct json_object *params);
void handshake_challenge(struct connection *c);

#endif
