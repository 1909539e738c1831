/*
 * Who is who: the persons behind the senders of channels (session.identities) and the owners of
 * this assistant (owners). Reads settings only; called by access.c and session_key.c.
 */
#ifndef AGENT_IDENTITIES_H
#define AGENT_IDENTITIES_H

#include <stdbool.h>

struct message;

/* The name of the person, or NULL if the configuration links nothing to this sender. */
const char *identities_name(const struct message *m);
/* Does "*", "SENDER", "CHANNEL:SENDER" (the instance's name or the platform) or the name of an
 * identity mean who sent this message? `bare`: a sender alone counts, without its channel. */
bool identities_match(const struct message *m, const char *entry, bool bare);
bool identities_owner(const struct message *m); /* by `owners`, or the channel vouches */

#endif
