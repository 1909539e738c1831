/*
 * Ingress beside what flow.h says of it: submits of plugins, messages of the gateway's clients.
 */
#ifndef AGENT_INGRESS_H
#define AGENT_INGRESS_H

#include "agent/agent.h"

/* The handlers of chat.submit and chat.receipt. What is submitted waits until ingress_open(). */
void ingress_register(void);
void ingress_open(void);
void ingress_submit_reset(void);
/* No new messages from now on. */
void ingress_stop(void);
/* What was accepted but not consumed before a restart: on to the session. Owns m. */
struct message;
void ingress_resume(const char *id, const char *session, const char *agent, struct message *m);
/* ingress_client.c: a client's message goes to its channel, which submits it; the submit gets what
 * the client wished, and the client is told what became of it. */
void ingress_client_amend(struct message *m);
void ingress_client_submitted(const char *channel, const char *event, const char *run,
                              const struct error *e);
void ingress_client_reset(void);
void ingress_client_send(const struct agent_client_message *q, agent_sent_fn *fn, void *owner);
/* A message as one user message of the transcript: array of parts; owned by the caller. */
struct json_object *ingress_content(const struct message *m, const char *before);
void ingress_reset(void);

#endif
