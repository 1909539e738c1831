/*
 * Opens a plugin's file in this process: libltdl, the checks before anything is called, the copies
 * of its tables. In the daemon for plugins that are not isolated, in a child for the one it holds.
 */
#ifndef HOST_MODULE_H
#define HOST_MODULE_H

#include "base/error.h"
#include "host/instance_private.h"

/* NULL with an error that names file, wanted, found and fix. `path` is absolute, or the bare module
 * name of one that is built in. */
struct plugin *module_open(const char *path, struct error *e);

/* Copies an interface and its role tables into zeroed structs of this host's size; shorter and
 * longer ones are fine. */
void plugin_type_fill(struct plugin_type *t, struct plugin *plugin, const struct chela_iface *from);

#endif
