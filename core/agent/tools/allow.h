/*
 * The allow-list in memory: which source may run which kind of call without being asked. Filled
 * from the journal at start; a change is written there first. Called by toolcall.c, approval.c, the
 * facade.
 *
 * An entry that a person's "always" made holds for exactly that source and kind. An entry that
 * begins with "~" is a pattern that somebody wrote by hand: a glob in its source and one in its
 * kind. A kind of several lines (a command line of several commands) needs a pattern for each line.
 */
#ifndef AGENT_ALLOW_H
#define AGENT_ALLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/journal/journal.h"

struct json_object;

/* Reads it; fn once that is done. */
void allow_load(journal_fn *fn, void *owner);
bool allow_has(const char *source, const char *kind);
/* Stores it; in force at once, since a person has just said so. */
void allow_add(const char *source, const char *kind, const char *by);
void allow_remove(const char *source, const char *kind, journal_fn *fn, void *owner);
/* May this be a pattern's kind? ARGS: it would allow any program of exec, or one that runs what it
 * is given. */
int allow_check(const char *kind, struct error *e);
/* [{"source","kind"}] in no order; owned by the caller. */
struct json_object *allow_entries(void);
void allow_reset(void);

#endif
