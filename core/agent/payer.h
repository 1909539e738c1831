/*
 * Who pays for what a plugin asks of a model in the middle of a call: the turn that the call
 * serves. A router's call has one (opened by route.c); what it asks with that call as parent is
 * booked on the run as soon as the answer is there, whether or not the router waited for it. A
 * service: called by route.c and ask.c.
 */
#ifndef AGENT_PAYER_H
#define AGENT_PAYER_H

#include <stdint.h>

#include "agent/usage.h"

struct payer;

/* run "": nobody's turn (a route that is only explained); it is booked on the session. */
struct payer *payer_open(const char *session, const char *run, const char *channel,
                         const char *sender);
/* The call that it pays for; replaces the one before. */
void payer_for(struct payer *p, uint64_t call);
/* Of the call, with a reference for the caller; NULL if nobody pays. */
struct payer *payer_of(uint64_t call);
void payer_release(struct payer *p); /* NULL is fine */

/* One answer of a model. */
struct payer_bill {
    const char *model, *purpose;
    struct usage usage;
    double cost;
    uint64_t ms;
    const char *outcome; /* "ok" or the class of the error */
};
void payer_book(struct payer *p, const struct payer_bill *bill);

#endif
