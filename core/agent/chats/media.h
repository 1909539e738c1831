/*
 * Media that a channel submitted by reference only: fetched through its `fetch` slot once the
 * message is stored, and kept as blobs. Called by ingress.c.
 */
#ifndef AGENT_MEDIA_H
#define AGENT_MEDIA_H

#include <stdbool.h>

struct message;

/* Has it any that are to be fetched? */
bool media_wanted(const struct message *m);
/* fn once all are there, or have failed to come; m stays the caller's and lives until then. here:
 * false at the end of the program: only what hangs on owner is to be freed. */
typedef void media_fn(void *owner, bool here);
void media_fetch(struct message *m, media_fn *fn, void *owner);
void media_reset(void);

#endif
