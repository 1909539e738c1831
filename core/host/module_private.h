/*
 * What module.c and module_check.c share.
 */
#ifndef HOST_MODULE_PRIVATE_H
#define HOST_MODULE_PRIVATE_H

#include "host/module.h"

bool module_name_char(char c); /* a-z, 0-9, _ */
bool module_name_good(const char *name);
/* Looks at the descriptor before anything in the plugin is called. */
int module_check(const char *path, const char *name, const struct chela_plugin *d, struct error *e);
/* A checked descriptor as the host keeps it. */
struct plugin *module_copy(const char *name, const char *path, const struct chela_plugin *d);

#endif
