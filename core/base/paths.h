/*
 * The folders that the build fixed; programs and plugins of a program that runs in its build tree
 * are those beside it. Each may be overridden by one variable of the environment, CHELA_CONF_DIR,
 * CHELA_LIBEXEC_DIR or CHELA_DATA_DIR (the plugins' folder by CHELA_PLUGIN_PATH, see
 * host/plugins.h). Absolute, without a slash at the end.
 */
#ifndef BASE_PATHS_H
#define BASE_PATHS_H

const char *paths_plugin_dir(void);
const char *paths_libexec_dir(void);
const char *paths_conf_dir(void);
const char *paths_data_dir(void);

/* The folder of the user's configuration files by the two variables, NULL where not set:
 * $XDG_CONFIG_HOME if it is absolute, else $HOME/.config. Free it. */
char *paths_user_config(const char *xdg_config_home, const char *home);

#endif
