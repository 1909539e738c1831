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
void module_free(struct plugin *p); /* what this process has made of it; the file stays open */

/* Copies an interface and its role tables into zeroed structs of this host's size; shorter and
 * longer ones are fine. */
void plugin_type_fill(struct plugin_type *t, struct plugin *plugin, const struct chela_iface *from);

/* 0 if nobody but root, this user and the owner of this program may write to the file or to a
 * folder on the way to it. */
int module_check_file(const char *path, struct error *e);

/* ---- built-in plugins ---- */

/* libltdl's list of what the program was linked with; the build makes it (plugins/builtin/table.c).
 * A main calls MODULE_USE_BUILTINS() before anything else of this file. */
struct module_builtin {
    const char *name;
    void *address;
};
void module_use_builtins(const struct module_builtin *list);
#define MODULE_USE_BUILTINS()                                                                      \
    do {                                                                                           \
        extern const struct module_builtin lt__PROGRAM__LTX_preloaded_symbols[];                   \
        module_use_builtins(lt__PROGRAM__LTX_preloaded_symbols);                                   \
    } while (0)

bool module_is_builtin(const char *name);
/* Name of the n-th, NULL after the last; good until the next call. */
const char *module_builtin_at(unsigned index);

#endif
