/*
 * From fork to exec: session, terminal, limits, directory, confinement, descriptors, program. Part
 * of chela-supervise, which has one thread, so that all of this is allowed after fork.
 */
#include "proc/supervise_child.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/confine.h"

static int report_fd;

static void report(uint32_t stage, uint32_t value)
{
    struct supervise_report r = {stage, value};
    if (write(report_fd, &r, sizeof r) != (ssize_t)sizeof r)
        _exit(126);
}

static void give_up(enum supervise_stage stage)
{
    report(stage, (uint32_t)errno);
    _exit(126);
}

static const char *variable(char **environment, const char *name)
{
    size_t n = strlen(name);
    for (; *environment; environment++)
        if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
            return *environment + n + 1;
    return "";
}

/* As execvp does, but in the child's PATH and without running scripts that lack a "#!". */
static void run(char **arguments, char **environment)
{
    const char *name = arguments[0], *path = variable(environment, "PATH");
    char file[PATH_MAX];
    int seen = ENOENT;
    if (strchr(name, '/')) {
        execve(name, arguments, environment);
        return;
    }
    while (*name) {
        size_t n = strcspn(path, ":");
        int length = n ? snprintf(file, sizeof file, "%.*s/%s", (int)n, path, name) : 0;
        if (length > 0 && (size_t)length < sizeof file && path[0] == '/') {
            execve(file, arguments, environment);
            if (errno != ENOENT && errno != ENOTDIR)
                seen = errno;
        }
        path += n;
        if (!*path++)
            break;
    }
    errno = seen;
}

/* By number: glibc keeps its hands on two, which posix_spawn leaves ignored. */
static void reset_signals(void)
{
    static const uint64_t by_default[8]; /* struct sigaction as the kernel has it */
    sigset_t none;
    for (int i = 1; i < _NSIG; i++)
        syscall(SYS_rt_sigaction, i, by_default, NULL, sizeof(uint64_t));
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void supervise_child(const struct supervise_spec *spec, const struct supervise_strings *strings,
                     int fd)
{
    uint32_t missing = 0;
    report_fd = fd;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* should somebody kill the supervisor itself */
    if (setsid() < 0 || (spec->terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0))
        give_up(STAGE_SESSION);
    if (confine_limits(&spec->limits) != 0)
        give_up(STAGE_LIMITS);
    if (chdir(strings->directory) != 0)
        give_up(STAGE_DIRECTORY);
    if (close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) != 0)
        give_up(STAGE_SESSION);
    reset_signals();
    if (confine_apply(spec, strings->directory, variable(strings->environment, "TMPDIR"),
                      &missing) != 0)
        give_up(STAGE_CONFINE);
    report(STAGE_NONE, missing);
    run(strings->arguments, strings->environment);
    give_up(STAGE_PROGRAM);
    _exit(126);
}
