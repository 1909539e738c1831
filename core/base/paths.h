/*
 * The folders that the build fixed. Each may be overridden for a run from the build tree by one
 * variable of the environment, CHELA_CONF_DIR, CHELA_LIBEXEC_DIR or CHELA_DATA_DIR (the plugins'
 * folder by CHELA_PLUGIN_PATH, see host/module.h). Absolute, without a slash at the end.
 */
#ifndef BASE_PATHS_H
#define BASE_PATHS_H

const char *paths_plugin_dir(void);
const char *paths_libexec_dir(void);
const char *paths_conf_dir(void);
const char *paths_data_dir(void);

#endif
