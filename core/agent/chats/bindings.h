/*
 * Bindings: which agent, and which session, a message belongs to by its channel, account and peer.
 * Reads settings only; called by ingress.c.
 */
#ifndef AGENT_BINDINGS_H
#define AGENT_BINDINGS_H

struct message;

struct binding {
    const char *agent;   /* "" if the binding names none */
    const char *session; /* likewise: by the rules of session.dm_scope */
};

/* The binding that says most about the message (peer before account before channel; the first of
 * several), or one of "" and "". Valid as long as the running settings. */
struct binding bindings_find(const struct message *m);

#endif
