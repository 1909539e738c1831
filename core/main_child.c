/*
 * chela-child: a plugin's own process. Started by the daemon (run) for plugins that are isolated,
 * and by whoever wants to look into a file without opening it in its own process (describe, check).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "host/child.h"
#include "host/module.h"

static int usage(void)
{
    fputs("usage: chela-child run FILE FD [info|debug]\n"
          "       chela-child describe FILE\n"
          "       chela-child check FILE\n",
          stderr);
    return 64;
}

static int run(char **arguments, int count)
{
    char *end;
    long fd = strtol(arguments[1], &end, 10);
    if (*end || fd < 3 || fd > 1023)
        return usage();
    bool debug = count > 2 && strcmp(arguments[2], "debug") == 0;
    log_setup(debug ? LOG_DEBUG : LOG_INFO, LOG_PLAIN, NULL);
    return child_run(arguments[0], (int)fd);
}

int main(int argc, char **argv)
{
    MODULE_USE_BUILTINS();
    if (argc >= 4 && argc <= 5 && strcmp(argv[1], "run") == 0)
        return run(argv + 2, argc - 2);
    if (argc == 3 && strcmp(argv[1], "describe") == 0)
        return child_describe(argv[2]);
    if (argc == 3 && strcmp(argv[1], "check") == 0)
        return child_check(argv[2]);
    return usage();
}
