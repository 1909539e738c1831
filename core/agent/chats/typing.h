/*
 * "Is typing": shown in the chat while a turn works, refreshed since services forget it, ended with
 * it. Called by the turn; a service over the channel, nothing is stored.
 */
#ifndef AGENT_TYPING_H
#define AGENT_TYPING_H

#include <stdbool.h>

struct message;
struct typing;

/* Shows it at once; NULL if the message's channel can't, or messages.typing is off. */
struct typing *typing_begin(const struct message *m);
/* Not while a person is waited for. NULL is fine, as below. */
void typing_show(struct typing *t, bool on);
void typing_end(struct typing *t);

#endif
