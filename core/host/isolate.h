/*
 * A plugin in a process of its own, as the daemon sees it: `chela-child run FILE FD` on the other
 * end of a socket pair. This end never blocks. Used by instance.c; call.c sends frames through it.
 */
#ifndef HOST_ISOLATE_H
#define HOST_ISOLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "host/instance_private.h"

/* Starts the child and waits (at most 10 s) until it has described the plugin: types, slots,
 * options, static fields. NULL with the child's own error, which is module_open's. */
struct plugin *isolate_open(const char *path, struct error *e);
/* From now on (the loop runs) nothing waits: a plugin that has not described itself yet is
 * CHELA_E_BUSY, and `fn` is called once when all have, or have failed to; then ask again. */
void isolate_describe_later(bool on);
bool isolate_describing(void);
void isolate_when_described(void (*fn)(void *arg), void *arg);

/* Starts it again after it ended; the plugin must still be the same. Returns at once; instances may
 * be opened right away. */
int isolate_restart(struct plugin *p, struct error *e);
bool isolate_alive(const struct plugin *p);

/* Opens an instance over there: `in` has its number, name, type and options. `opened` comes from
 * the top of the loop; class CHELA_OK or what the plugin's `open` returned, text its reason. */
typedef void isolate_opened(struct instance *in, uint32_t class, const char *text);
void isolate_instance_open(struct instance *in, isolate_opened *opened);
/* Sends a new snapshot (check and apply read it). */
void isolate_instance_options(struct instance *in);
/* Closes it over there; `closed` comes from the top of the loop. */
void isolate_instance_close(struct instance *in, void (*closed)(struct instance *in));

/* Told when a child has ended, for each of its instances, after their calls were ended with
 * CHELA_E_GONE; registered once by instance.c. */
void isolate_on_end(void (*fn)(struct instance *in, const char *why));

/* A frame to the instance's child; args as call.h. Bytes that wait to be taken by it. */
void isolate_send(struct instance *in, uint32_t fn, const void *args);
size_t isolate_waiting(const struct instance *in);

/* Where the frames of the instance's child wait. */
struct inbox *isolate_inbox(const struct instance *in);

/* Ends all children. */
void isolate_close(void);

#endif
