/*
 * Who may talk to the assistant, and what is said to it: the policies of direct chats and groups
 * (channels.NAME.dm_policy and so on), mention gating, owners. Decides from the message and the
 * settings alone; called by ingress.c before anything is stored.
 */
#ifndef AGENT_ACCESS_H
#define AGENT_ACCESS_H

#include <stdbool.h>

struct message;

enum access {
    ACCESS_YES,
    ACCESS_NO,  /* not answered */
    ACCESS_PAIR /* an unknown sender, who is told how to be let in */
};

/* Sets CHELA_OWNER for owners, CHELA_MENTIONED where the group wants no mention or a pattern names
 * the assistant. */
enum access access_check(struct message *m);
/* How many messages of a group that were not meant for the assistant are told to it with the next
 * one that is. */
unsigned access_context(const struct message *m);

#endif
