/*
 * Fault points (see fault.h). Called wherever something leaves the process; counts and, at the
 * number that a test asked for, ends the process on the spot.
 */
#include "support/fault.h"

#ifdef CHELA_FAULT_POINTS

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(const char *scope, unsigned long number, const char *where)
{
    const char *path = getenv("CHELA_FAULT_LOG");
    if (!path)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    dprintf(fd, "%s %lu %s\n", scope, number, where);
    close(fd);
}

static bool wanted(const char *scope, unsigned long number)
{
    const char *text = getenv("CHELA_FAULT");
    if (!text)
        return false;
    const char *colon = strchr(text, ':');
    if (colon) {
        size_t n = (size_t)(colon - text);
        if (strlen(scope) != n || memcmp(scope, text, n) != 0)
            return false;
        text = colon + 1;
    }
    return strtoul(text, NULL, 10) == number;
}

void chela_fault_point(const char *scope, const char *where)
{
    static atomic_ulong reached;
    unsigned long number = atomic_fetch_add(&reached, 1) + 1;
    note(scope, number, where);
    if (wanted(scope, number))
        _exit(99);
}

#endif
