/* WebSocket: one WebSocket to the gateway over a plain TCP connection. Never blocks but in
 * websocket_open; whoever owns it polls its descriptor together with others and calls
 * websocket_service. wslay does the framing. */
#ifndef CLI_WEBSOCKET_H
#define CLI_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The longest message that is taken: the protocol's policy.maxPayload. */
#define WEBSOCKET_MESSAGE_LIMIT (25u << 20)

struct websocket;

typedef void websocket_message_fn(void *arg, const char *text, size_t length);

/* Connects and upgrades within timeout_ms. NULL with an error: CHELA_E_NETWORK if nobody listens,
 * CHELA_E_TIMEOUT, or CHELA_E_PROTOCOL if it is no gateway. */
struct websocket *websocket_open(const char *host, unsigned port, unsigned timeout_ms,
                                 websocket_message_fn *message, void *arg, struct error *e);
void websocket_close(
    struct websocket *ws); /* says goodbye as far as that goes without waiting; NULL is fine */

int websocket_fd(const struct websocket *ws);
short websocket_poll_events(const struct websocket *ws); /* POLLIN, POLLOUT */

/* Reads and writes what can be read and written now; messages arrive inside this call. -1: the
 * connection has ended, *e says how. */
int websocket_service(struct websocket *ws, struct error *e);

/* Queues a text message (copied) and writes what goes out at once. */
int websocket_send(struct websocket *ws, const char *text, size_t length, struct error *e);

/* The code of the close frame that came, 0 if none. */
unsigned websocket_close_code(const struct websocket *ws);

#endif
