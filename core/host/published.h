/*
 * What instances publish, as the registry keeps it: a list for each kind, replaced as a whole,
 * frozen while somebody holds it. Private to core/host; others see instance.h.
 */
#ifndef HOST_PUBLISHED_H
#define HOST_PUBLISHED_H

#include "host/instance_private.h"

/* The host's side of answer->publish; a call_handler. */
void published_take(struct instance *in, uint64_t id, const void *args);
void published_drop(struct instance *in); /* all of an instance */
/* Tells who asked by instance_on_change(). */
void published_tell(struct instance *in, uint32_t what);

#endif
