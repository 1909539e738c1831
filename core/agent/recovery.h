/*
 * What a crash or a stop has left: read once at start, taken up again. Called by agent.c.
 */
#ifndef AGENT_RECOVERY_H
#define AGENT_RECOVERY_H

#include "agent/journal/journal.h"

void recovery_run(journal_fn *fn, void *owner);

#endif
