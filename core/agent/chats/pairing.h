/*
 * Pairing: people whom the owner has let in, and those who wait with a code. Kept in the journal
 * and in memory. Called by access.c and ingress.c, and by the facade for the owner's side.
 */
#ifndef AGENT_PAIRING_H
#define AGENT_PAIRING_H

#include <stdbool.h>

#include "agent/journal/journal.h"

struct json_object;
struct message;

void pairing_load(journal_fn *fn, void *owner);
bool pairing_has(const char *channel, const char *sender);
/* The code of who sent this; *ret_fresh: it was made now, so tell it. NULL: too many wait on this
 * account already. Valid until the loop goes on. */
const char *pairing_code(const struct message *m, bool *ret_fresh);
/* [{"channel","account","sender","name","state": "waiting"|"paired","code","at","expires","by"}];
 * owned by the caller. */
struct json_object *pairing_list(void);
/* NOT_FOUND: nobody waits with that code. The person is told. */
void pairing_approve(const char *channel, const char *code, const char *by, journal_fn *fn,
                     void *owner);
/* Also one who only waits. NOT_FOUND: there is no such sender. */
void pairing_revoke(const char *channel, const char *sender, journal_fn *fn, void *owner);
void pairing_reset(void);

#endif
