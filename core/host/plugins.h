/*
 * The plugins that this daemon has met: found by name in the folders of the configuration, opened
 * once each (in this process, or in one of their own where `isolated` names them), and asked for
 * their types. Used by settings_read() through plugins_find_type(), by the registry and the doctor.
 */
#ifndef HOST_PLUGINS_H
#define HOST_PLUGINS_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stdint.h>

#include <chela/chela.h>

#include "base/error.h"
#include "host/settings.h"

struct plugin;
struct plugin_type;

/* A settings_find_type. The loop must be open, since an isolated plugin's process is watched by it.
 * The type `type` of the module `plugin`, or of "KIND_TYPE". */
settings_find_type plugins_find_type;
/* The type behind what plugins_find_type() gave. */
struct plugin_type *plugins_type_of(const struct settings_type *t);

/* Where a module's file is: an absolute path, or its bare name if it is built in. Looked for in
 * that order: built in, plugins.path, CHELA_PLUGIN_PATH (folders with colons between), the
 * installed folder. NULL with the nearest name in the error (CHELA_E_NOT_FOUND). Free it. */
char *plugins_find_file(const struct settings *s, const char *module, struct error *e);
/* The folders that are looked into, in order; NULL after the last. Free it. */
char *plugins_folder(const struct settings *s, unsigned index);

/* What a plugin is, for people: those opened so far. NULL after the last. */
struct plugins_info {
    const char *name, *path, *version, *summary; /* path "": built in */
    bool isolated;
};
bool plugins_at(unsigned index, struct plugins_info *ret);

/* An option table as JSON, for settings pages and `chela onboard`: [{name, type, required, secret,
 * reload, default, help, items}]. */
void plugins_describe_options(json_object *list, const struct chela_option *options,
                              uint32_t stride);
/* Opens every plugin that is installed: {"types":[{section, type, plugin, summary, options}]}. */
json_object *plugins_describe(const struct settings *s);

void plugins_close(void); /* at the end, when no instance is left */

#endif
