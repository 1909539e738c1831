/* Client: the gateway's protocol 4 as a client speaks it: handshake, requests and their answers by
 * id, events. On top of websocket.c; knows nothing of what is asked or shown. One request may be
 * waited for (client_call), or many be under way while the owner polls (client_request,
 * client_service).
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/place.h"
#include "cli/websocket.h"

#define CLIENT_REQUEST_MS   30000u
#define CLIENT_HANDSHAKE_MS 15000u

/* What a request was answered with. */
struct client_answer {
    bool ok;
    json_object *payload; /* borrowed; NULL on failure */
    const char *code;     /* "INVALID_REQUEST" ..., on failure */
    struct error error;   /* on failure; its class follows from the code */
    json_object *details; /* borrowed; NULL if there are none */
};

/* Returns true to get a further answer on the same id (method "agent" sends two). */
typedef bool client_answer_fn(void *arg, const struct client_answer *answer);
typedef void client_event_fn(void *arg, const char *event, json_object *payload);

struct client_request; /* one that waits for its answer */

struct client {
    struct websocket *ws;
    struct client_request *requests; /* in the order of their beginning */
    uint64_t last_id;
    client_event_fn *event;
    void *event_arg;
    json_object *hello;     /* payload of hello-ok */
    json_object *challenge; /* payload of connect.challenge */
    uint64_t heard_ms;      /* when the last frame came; monotonic */
    struct error broken;    /* what a frame was wrong in */
    bool is_broken;
};

/* Connects and greets. `event` may be NULL. On failure -1; e->class tells: CHELA_E_NETWORK no
 * gateway there, CHELA_E_AUTH it refuses us, others. */
int client_open(struct client *client, const struct place *place, client_event_fn *event, void *arg,
                struct error *e);
/* Requests still under way are answered with CHELA_E_GONE first. Fine on a zeroed one. */
void client_close(struct client *client);

/* Takes over params (NULL: {}). -1: the connection has ended; the callback isn't called then. */
int client_request(struct client *client, const char *method, json_object *params,
                   client_answer_fn *answer, void *arg, struct error *e);

/* For the owner's poll: when ready (or after its timeout), client_service. -1: the connection has
 * ended. */
int client_service(struct client *client, struct error *e);

/* Asks and waits. Events arrive meanwhile by the callback. *payload is the caller's to put. On
 * failure -1, and `code` (may be NULL, else 64 bytes) is the protocol's code or "". */
int client_call(struct client *client, const char *method, json_object *params, unsigned timeout_ms,
                json_object **payload, char *code, struct error *e);

/* Waits up to timeout_ms for something to happen and deals with it; -1: the connection has ended.
 */
int client_wait(struct client *client, int timeout_ms, struct error *e);

/* How long nothing may come before the connection counts as dead, from the gateway's tick. */
uint64_t client_silence_ms(const struct client *client);

/* Whether the gateway offers a method. */
bool client_offers(const struct client *client, const char *method);

#endif
