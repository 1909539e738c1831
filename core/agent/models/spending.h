/*
 * What was spent today and this month (UTC) for each agent, sender and provider, and the limits of
 * the configuration (models.limits) over it. Counters in memory, read once from the journal at
 * start. A service: called by turn_candidate.c (before a model is called), turn_call.c and payer.c
 * (afterwards).
 */
#ifndef AGENT_SPENDING_H
#define AGENT_SPENDING_H

#include <stdbool.h>

#include "agent/journal/journal.h"
#include "agent/models/usage.h"

/* The agent of a session's key "agent:NAME:...", else the default one. Free it. */
char *spending_agent(const char *session);
/* Reads this month's counters; before anything is added. */
void spending_load(journal_fn *fn, void *owner);
void spending_add(const struct spent *s);

struct spending_question {
    const char *agent, *channel, *sender, *provider;
    double next; /* what the call will cost at the least */
};
/* A limit that the call would reach: which, and how a person is told. */
struct spending_limit {
    char *key;  /* "provider anthropic daily 20423": the same limit in the same period */
    char *text; /* "anthropic has cost 5.02 of 5.00 today" */
    bool provider;
};
bool spending_over(const struct spending_question *q, struct spending_limit *ret);
void spending_limit_free(struct spending_limit *l);
void spending_reset(void);

#endif
