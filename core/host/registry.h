/*
 * The registry's work for main: all instances of a configuration are opened and started, stopped,
 * and brought to another configuration. One of these at a time. [loop]
 */
#ifndef HOST_REGISTRY_H
#define HOST_REGISTRY_H

#include <stdbool.h>

#include "base/error.h"
#include "host/settings.h"

/* `e` NULL: it went well. Never called before the function has returned. */
typedef void registry_done(void *arg, const struct error *e);

/* The stores have started; the others wait for registry_go_on. */
typedef void registry_stores_fn(void *arg);

/*
 * Opens all instances of settings_now(), then starts them: the stores, then (behind `stores`,
 * if it isn't NULL) hooks, providers, routers, tools and services at the same time, then channels.
 * Done when all have started or failed, or 3 s after the last that made it wait began (they go on
 * starting meanwhile). An error: one that is configured could not be opened, or a store could not
 * be started; then nothing is left running. Another one that fails later is in INSTANCE_FAILED with
 * its reason, and tried again.
 */
void registry_start(registry_stores_fn *stores, registry_done *done, void *arg);
/* Nothing happens if the start has been ended meanwhile. */
void registry_go_on(void);
/* Stops all, channels first, stores last. `but_stores`: leave these, for what is still to be
 * written; call it again without. */
void registry_stop(bool but_stores, registry_done *done, void *arg);
/* Goes over to `fresh`, which it takes: asks every instance that stays whether its new options
 * would do and tries to open the new ones, and only if all say yes applies them, starts and stops
 * what must be, and makes `fresh` the running configuration. Else the error says why, and
 * everything is as before. */
void registry_reload(struct settings *fresh, registry_done *done, void *arg);
bool registry_busy(void); /* one of these is under way */
/* Frees all; they are stopped. Plugins and their processes go too. */
void registry_close(void);

#endif
