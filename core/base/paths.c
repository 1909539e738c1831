/*
 * The folders that the build fixed (see paths.h). The only file that is compiled with their names.
 */
#include "base/paths.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* The folder of the running program when that is a build tree (configure's record lies there, which
 * is never installed), else NULL: a program that was only built uses what was built with it. */
static const char *build_tree(void)
{
    static char folder[4096];
    static bool known;
    if (!known) {
        known = true;
        ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
        folder[n > 0 ? n : 0] = '\0';
        char *slash = strrchr(folder, '/');
        if (slash)
            *slash = '\0';
        CLEANUP(freep) char *record = xprintf("%s/config.status", folder);
        if (!slash || access(record, F_OK) != 0)
            folder[0] = '\0';
    }
    return folder[0] ? folder : NULL;
}

/* secure_getenv: a program with more rights than its caller takes no folder from the caller. */
static const char *dir(const char *variable, const char *built)
{
    const char *set = secure_getenv(variable);
    return set && set[0] == '/' ? set : built;
}

const char *paths_plugin_dir(void)
{
    static char *built;
    if (build_tree() && !built)
        built = xprintf("%s/plugins/.libs", build_tree());
    return built ? built : CHELA_PLUGIN_DIR;
}

const char *paths_libexec_dir(void)
{
    return dir("CHELA_LIBEXEC_DIR", build_tree() ? build_tree() : CHELA_LIBEXEC_DIR);
}

const char *paths_conf_dir(void)
{
    return dir("CHELA_CONF_DIR", CHELA_CONF_DIR);
}

const char *paths_data_dir(void)
{
    return dir("CHELA_DATA_DIR", CHELA_DATA_DIR);
}

char *paths_user_config(const char *xdg_config_home, const char *home)
{
    if (xdg_config_home && *xdg_config_home == '/')
        return xstrdup(xdg_config_home);
    return xprintf("%s/.config", home ? home : "");
}
