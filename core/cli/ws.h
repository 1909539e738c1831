/* WS: one WebSocket to the gateway over a plain TCP connection. Never blocks but in ws_open;
 * whoever owns it polls its descriptor together with others and calls ws_service. wslay does the
 * framing. */
#ifndef CLI_WS_H
#define CLI_WS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The longest message that is taken: the protocol's policy.maxPayload. */
#define WS_MESSAGE_LIMIT (25u << 20)

struct ws;

typedef void ws_message_fn(void *arg, const char *text, size_t length);

/* Connects and upgrades within timeout_ms. NULL with an error: CHELA_E_NETWORK if nobody listens,
 * CHELA_E_TIMEOUT, or CHELA_E_PROTOCOL if it is no gateway. */
struct ws *ws_open(const char *host, unsigned port, unsigned timeout_ms, ws_message_fn *message,
                   void *arg, struct error *e);
void ws_close(struct ws *ws); /* says goodbye as far as that goes without waiting; NULL is fine */

int ws_fd(const struct ws *ws);
short ws_poll_events(const struct ws *ws); /* POLLIN, POLLOUT */

/* Reads and writes what can be read and written now; messages arrive inside this call. -1: the
 * connection has ended, *e says how. */
int ws_service(struct ws *ws, struct error *e);

/* Queues a text message (copied) and writes what goes out at once. */
int ws_send(struct ws *ws, const char *text, size_t length, struct error *e);

/* The code of the close frame that came, 0 if none. */
unsigned ws_close_code(const struct ws *ws);

#endif
