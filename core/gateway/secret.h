/*
 * The gateway's secret (token or password), who guessed wrong how often, and whether a browser may
 * ask.
 */
#ifndef GATEWAY_SECRET_H
#define GATEWAY_SECRET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum secret_mode { SECRET_NONE, SECRET_TOKEN, SECRET_PASSWORD, SECRET_PROXY };

/* Reads gateway.auth; makes the token on first use ("gateway.token" in the state folder, mode
 * 0600). */
int secret_open(struct error *e);
void secret_close(void);
enum secret_mode secret_mode(void);
const char *secret_mode_name(void);
/* Is anything asked for at all? A bind beyond loopback needs it. */
bool secret_is_set(void);
/* In constant time. NULL never matches. */
bool secret_matches(const char *given);

/* Wrong guesses by address: after 10 within 60 s the address is locked out for 300 s. Loopback
 * without an Origin is exempt. secret_locked: milliseconds until it may try again, 0 = now. */
uint64_t secret_locked(const char *remote);
void secret_failed(const char *remote);

/*
 * Is this a request that a page of another site, or a name that was rebound to this machine, could
 * have made? Host must name this machine (a numeric address, localhost, or gateway.allowed_hosts);
 * an Origin must be of this gateway or stand in gateway.allowed_origins.
 */
bool origin_host_ok(const char *host);
bool origin_ok(const char *origin, const char *host);

#endif
