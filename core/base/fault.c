/*
 * Fault points (see fault.h). Called wherever something leaves the process; counts and, at the
 * number that a test asked for, ends the process on the spot.
 */
#include "base/fault.h"

#ifdef CHELA_FAULT_POINTS

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void note(unsigned long number, const char *where)
{
    const char *path = getenv("CHELA_FAULT_LOG");
    if (!path)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    dprintf(fd, "%lu %s\n", number, where);
    close(fd);
}

void fault_point(const char *where)
{
    static atomic_ulong reached;
    unsigned long number = atomic_fetch_add(&reached, 1) + 1;
    note(number, where);
    const char *wanted = getenv("CHELA_FAULT");
    if (wanted && strtoul(wanted, NULL, 10) == number)
        _exit(99);
}

#endif
