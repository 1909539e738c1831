/*
 * What a channel of the gateway's own clients does with their messages: hand them on as the
 * owner's, and pass the answer back. Called by channel plugins.
 */
#ifndef CHELA_SUPPORT_CLIENT_H
#define CHELA_SUPPORT_CLIENT_H

#include <chela/chela.h>

#pragma GCC visibility push(hidden)

/* Submits a client's message; the gateway has checked who it is. tag: comes back with the done. */
void chela_client_submit(struct chela_inst *in, const struct chela_client_message *m, uint64_t tag);
/* Ends a call of the host's as a request of ours has ended. */
void chela_end_as(struct chela_inst *in, uint64_t call, const struct chela_done *d);
/* The `send` slot of a channel whose clients get the gateway's events: there is nothing to do. */
void chela_client_sent(struct chela_inst *in, const struct chela_send *s);

#pragma GCC visibility pop
#endif
