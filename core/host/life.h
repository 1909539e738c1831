/*
 * The life of one instance: made, opened, started, stopped and closed, in this process or in its
 * plugin's own. The registry decides when; this does it, one step at a time for each instance.
 * Private to core/host. [loop]
 */
#ifndef HOST_LIFE_H
#define HOST_LIFE_H

#include "host/instance_private.h"

/* `e` NULL: the step went well. Never called before the step's function has returned. */
typedef void life_done(struct instance *in, const struct error *e);

struct instance *life_new(const char *section, const char *name, const char *origin, bool embedded,
                          struct plugin_type *type, struct options *options);
void life_free(struct instance *in); /* closed ones only */

/* 0: open now. 1: under way, `done` will tell. -1: refused, see e. */
int life_open(struct instance *in, life_done *done, struct error *e);
/* Opens and closes a second one with these options, to see whether they would do. 0 or -1; of an
 * isolated plugin always 0, since its answer would come later. */
int life_try(const struct instance *in, struct options *options, struct error *e);
void life_start(struct instance *in, life_done *done);
/* Cancels what runs, stops and closes. Leaves nothing behind, whatever the plugin does. */
void life_stop(struct instance *in, life_done *done);
/* Asks whether the options would do, or puts them in force. */
void life_check(struct instance *in, struct options *options, life_done *done);
void life_apply(struct instance *in, struct options *options, life_done *done);

/* Sets the state, and tells who asked to be told. `why` NULL: none. */
void life_state(struct instance *in, enum instance_state state, const char *why);

#endif
