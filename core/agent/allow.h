/*
 * The allow-list in memory: which source may run which kind of call without being asked. Filled
 * from the journal at start; a change is written there first. Called by toolcall.c, approval.c, the
 * facade.
 */
#ifndef AGENT_ALLOW_H
#define AGENT_ALLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/journal.h"

/* Reads it; fn once that is done. */
void allow_load(journal_fn *fn, void *owner);
bool allow_has(const char *source, const char *kind);
/* Stores it; in force at once, since a person has just said so. */
void allow_add(const char *source, const char *kind, const char *by);
void allow_remove(const char *source, const char *kind, journal_fn *fn, void *owner);
void allow_reset(void);

#endif
