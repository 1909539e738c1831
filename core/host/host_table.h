/*
 * The table that chela_inst.host points to, and the frame around each call into a plugin.
 *
 * Its remote groups are thunks: they encode their arguments and return; what happens with the bytes
 * differs only between the daemon (the instance's inbox) and a child (the socket), see host_send.
 * The local group is local.c's.
 */
#ifndef HOST_HOST_TABLE_H
#define HOST_HOST_TABLE_H

#include <stdint.h>

#include <chela/chela.h>

#include "host/instance_private.h"

extern const struct chela_host host_table;
extern const struct chela_local local_group; /* local.c */

/* Where the thunks' frames go; set once at start, by queue_open (daemon) or by the child. */
typedef void host_send_fn(struct instance *in, uint32_t fn, const void *args);
void host_set_send(host_send_fn *send);

/* Around every call into a plugin's code, local callbacks included: measures it, and warns with the
 * instance's name when it took over 50 ms. `what`: for the log, e.g. "timer". */
uint64_t callback_enter(void);
void callback_leave(const struct instance *in, const char *what, uint64_t entered);

/* An id for a call that the instance begins: local->new_call. */
uint64_t call_new_id(struct instance *in);

/* Where local->metric goes; set once at start (the daemon's registry of metrics, or the socket).
 * [any thread] */
typedef void host_metric_fn(struct instance *in, uint32_t kind, const char *name,
                            const char *labels, double value);
void host_set_metric(host_metric_fn *metric);
void host_metric(struct instance *in, uint32_t kind, const char *name, const char *labels,
                 double value);

/* local.c: readies an instance for the local group; ends the timers, watches and work that are left
 * after `close` and returns how many there were (the caller names the instance in the log). */
void local_attach(struct instance *in);
unsigned local_detach(struct instance *in);
/* Frees a detached instance (its name and struct), now or when its last work has ended. */
void local_release(struct instance *in);

#endif
