/*
 * The gateway: protocol 4 over WebSockets and HTTP on one port. main opens and closes it; it calls
 * the agent (agent/agent.h) and reads the journal, and is told of events by agent/events.h.
 */
#ifndef GATEWAY_GATEWAY_H
#define GATEWAY_GATEWAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Listens as the settings say (gateway.bind, gateway.port, gateway.auth). Refuses an address other
 * than loopback without a secret. The secret is made on first use and kept in the state folder. */
int gateway_open(struct error *e);
uint16_t gateway_port(void);
/* Reads what the store knows of devices, then lets clients in and calls `ready`. Until then /readyz
 * says 503 and `connect` is answered UNAVAILABLE with a retry time. */
void gateway_ready(void (*ready)(void *arg, const struct error *e), void *arg);
/* Tells clients `shutdown` and closes; `closed` is called when the port is free. restart: clients
 * will come back. */
void gateway_close(bool restart, void (*closed)(void *arg), void *arg);

/* Called for `chela.reload`: reads the configuration anew and applies it, then calls done; set by
 * main. */
typedef void gateway_reload_fn(void (*done)(void *arg, const struct error *e), void *arg);
void gateway_on_reload(gateway_reload_fn *fn);
void gateway_reload(void (*done)(void *arg, const struct error *e), void *arg);
/* Given each finished log line (log_setup's tail), for logs.tail. [any thread] */
void gateway_log_tail(int level, const char *line);

#endif
