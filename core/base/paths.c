/*
 * The folders that the build fixed (see paths.h). The only file that is compiled with their names.
 */
#include "base/paths.h"

#include <stdlib.h>

/* secure_getenv: a program with more rights than its caller takes no folder from the caller. */
static const char *dir(const char *variable, const char *built)
{
    const char *set = secure_getenv(variable);
    return set && set[0] == '/' ? set : built;
}

const char *paths_plugin_dir(void)
{
    return CHELA_PLUGIN_DIR;
}

const char *paths_libexec_dir(void)
{
    return dir("CHELA_LIBEXEC_DIR", CHELA_LIBEXEC_DIR);
}

const char *paths_conf_dir(void)
{
    return dir("CHELA_CONF_DIR", CHELA_CONF_DIR);
}

const char *paths_data_dir(void)
{
    return dir("CHELA_DATA_DIR", CHELA_DATA_DIR);
}
