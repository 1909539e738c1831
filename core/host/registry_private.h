/*
 * What instance.c, registry.c and reload.c share.
 */
#ifndef HOST_REGISTRY_PRIVATE_H
#define HOST_REGISTRY_PRIVATE_H

#include "host/instance_private.h"
#include "host/registry.h"

extern struct link registry_list; /* of struct instance, in the order of the configuration */

/* The role with which an instance is started: its last one in that order. */
enum role registry_role(const struct instance *in);
struct instance *registry_add(const struct settings_instance *s);
/* Out of the list; kept until registry_close(), since others may hold its pointer. */
void registry_bury(struct instance *in);
/* Opens and starts an instance that stands alone (after a failure, in a reload); `done` may be
 * NULL. One that fails is tried again later. */
void registry_bring_up(struct instance *in,
                       void (*done)(struct instance *in, const struct error *));

/* A reload that is under way ends where it is: everything is about to be stopped. */
void reload_forget(void);

/* One piece of work at a time: who begins, and the end of it. */
bool registry_begin(registry_done *done, void *arg);
void registry_end(const struct error *e);

#endif
