/*
 * Who pays for what is asked of a model outside of a turn's own calls (ask.h): the turn that it
 * serves, or a session. A router's call has a payer (opened by route.c); what it asks with that
 * call as parent is booked on the run as soon as the answer is there, whether or not the router
 * waited for it. A service: called by route.c, ask.c and who asks by it.
 */
#ifndef AGENT_PAYER_H
#define AGENT_PAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/models/usage.h"
#include "base/error.h"

struct payer;

/* run "": nobody's turn (a route that is only explained); it is booked on the session. */
struct payer *payer_open(const char *session, const char *run, const char *channel,
                         const char *sender);
/* The call that it pays for; replaces the one before. */
void payer_for(struct payer *p, uint64_t call);
/* Of the call, with a reference for the caller; NULL if nobody pays. */
struct payer *payer_of(uint64_t call);
void payer_release(struct payer *p); /* NULL is fine */

/* False, and why: a question of so many tokens would go beyond a limit of money. */
bool payer_may(const struct payer *p, const char *model, uint64_t tokens, struct error *e);

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
