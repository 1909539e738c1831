/*
 * chela-supervise: starts one program for the daemon and ends it with all its descendants (see
 * supervise.h). A program of its own, with one thread and no library but libc, so that it may fork
 * and arrange the child in peace, outlives the daemon by a moment, and costs little memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/supervise_child.h"
#include "proc/supervise_tree.h"

enum { KILL_AGAIN_MS = 5, LEFTOVER_MS = 300 };

static struct {
    pid_t main;       /* the program; 0 once it was reaped */
    int status;       /* of waitpid */
    bool socket_open; /* the daemon is there */
    bool told;        /* STARTED was said: ENDED is owed */
    enum { RUNNING, TERMINATING, KILLING } state;
    int timer; /* a timerfd: the state's next step */
} s = {.socket_open = true};

static void say(uint32_t kind, uint32_t first, uint32_t second)
{
    struct supervise_reply r = {kind, first, second};
    if (s.socket_open)
        send(SUPERVISE_SOCKET, &r, sizeof r, MSG_NOSIGNAL);
}

/* ---- the specification ---- */

static const char *next_string(const char **p, const char *end)
{
    const char *begin = *p, *zero = memchr(begin, 0, (size_t)(end - begin));
    if (!zero)
        return NULL;
    *p = zero + 1;
    return begin;
}

static char **read_list(uint32_t count, const char **p, const char *end)
{
    char **list = calloc((size_t)count + 1, sizeof *list);
    for (uint32_t i = 0; list && i < count; i++)
        if (!(list[i] = (char *)(uintptr_t)next_string(p, end)))
            return NULL;
    return list;
}

static const struct supervise_spec *read_spec(struct supervise_strings *strings)
{
    struct stat status;
    if (fstat(SUPERVISE_SPEC, &status) != 0 ||
        status.st_size < (off_t)sizeof(struct supervise_spec) ||
        status.st_size > SUPERVISE_SPEC_MAX)
        return NULL;
    size_t size = (size_t)status.st_size;
    void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, SUPERVISE_SPEC, 0);
    if (map == MAP_FAILED)
        return NULL;
    const struct supervise_spec *spec = map;
    const char *p = (const char *)map + sizeof *spec, *end = (const char *)map + size;
    if (spec->magic != SUPERVISE_MAGIC || spec->argument_count > size ||
        spec->environment_count > size || spec->argument_count == 0)
        return NULL;
    strings->directory = next_string(&p, end);
    if (!strings->directory)
        return NULL;
    strings->arguments = read_list(spec->argument_count, &p, end);
    strings->environment = strings->arguments ? read_list(spec->environment_count, &p, end) : NULL;
    return strings->environment ? spec : NULL;
}

/* ---- beginning ---- */

static int start(const struct supervise_spec *spec, const struct supervise_strings *strings)
{
    struct supervise_report r = {0};
    struct supervise_spec limited = *spec;
    uint32_t missing = 0;
    int ends[2];
    if (limited.limits.processes) /* the kernel counts all of the user's */
        limited.limits.processes += supervise_tree_tasks();
    if (pipe2(ends, O_CLOEXEC) != 0 || (s.main = fork()) < 0) {
        say(SUPERVISE_FAILED, STAGE_FORK, (uint32_t)errno);
        return -1;
    }
    if (s.main == 0)
        supervise_child(&limited, strings, ends[1]);
    close(ends[1]);
    /* the child alone keeps its output open */
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    while (read(ends[0], &r, sizeof r) == (ssize_t)sizeof r && r.stage == STAGE_NONE)
        missing = r.value;
    close(ends[0]);
    if (r.stage != STAGE_NONE) {
        say(SUPERVISE_FAILED, r.stage, r.value);
        waitpid(s.main, NULL, 0);
        return -1;
    }
    say(SUPERVISE_STARTED, (uint32_t)s.main, missing);
    s.told = true;
    return 0;
}

/* ---- ending ---- */

static void set_timer(int ms)
{
    struct itimerspec when = {.it_value = {ms / 1000, ms % 1000 * 1000000L},
                              .it_interval = {0, KILL_AGAIN_MS * 1000000L}};
    timerfd_settime(s.timer, 0, &when, NULL);
}

static void begin_end(int grace_ms)
{
    if (s.state == KILLING || (s.state == TERMINATING && grace_ms > 0))
        return;
    s.state = grace_ms > 0 ? TERMINATING : KILLING;
    set_timer(grace_ms > 0 ? grace_ms : KILL_AGAIN_MS);
    supervise_tree_signal(grace_ms > 0 ? SIGTERM : SIGKILL, false);
    if (grace_ms > 0)
        supervise_tree_signal(SIGCONT, false); /* a stopped one could not even die */
}

/* True when nobody is left. The children of a dead one become ours (we are their subreaper). */
static bool reap(void)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != s.main)
            continue;
        s.main = 0;
        s.status = status;
        if (s.state == RUNNING)
            begin_end(LEFTOVER_MS); /* what it left behind */
    }
    return pid < 0 && errno == ECHILD;
}

static void time_is_up(void)
{
    bool first = s.state != KILLING;
    uint64_t ticks;
    if (read(s.timer, &ticks, sizeof ticks) < 0)
        return;
    s.state = KILLING;
    supervise_tree_signal(SIGKILL, !first);
}

static void read_requests(void)
{
    struct supervise_request r;
    ssize_t n = recv(SUPERVISE_SOCKET, &r, sizeof r, MSG_DONTWAIT | MSG_WAITALL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n != (ssize_t)sizeof r) { /* the daemon is gone */
        s.socket_open = false;
        begin_end(0);
        return;
    }
    if (r.kind == SUPERVISE_END) {
        begin_end(r.value ? (int)r.value : SUPERVISE_GRACE_MS);
    } else if (r.kind == SUPERVISE_KILL) {
        begin_end(0);
    } else if (r.kind == SUPERVISE_SIGNAL && s.main) {
        kill(-s.main, (int)r.value);
    }
}

static void watch(int signals)
{
    struct pollfd fds[3] = {{.fd = SUPERVISE_SOCKET, .events = POLLIN},
                            {.fd = signals, .events = POLLIN},
                            {.fd = s.timer, .events = POLLIN}};
    while (!reap()) {
        struct signalfd_siginfo came;
        fds[0].fd = s.socket_open ? SUPERVISE_SOCKET : -1;
        if (poll(fds, 3, -1) < 0)
            continue;
        if (fds[1].revents && read(signals, &came, sizeof came) == (ssize_t)sizeof came &&
            came.ssi_signo != SIGCHLD)
            begin_end(SUPERVISE_GRACE_MS);
        if (fds[2].revents)
            time_is_up();
        if (fds[0].revents)
            read_requests();
    }
}

int main(void)
{
    struct supervise_strings strings;
    sigset_t set;
    if (fcntl(SUPERVISE_SOCKET, F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(SUPERVISE_SPEC, F_SETFD, FD_CLOEXEC) != 0) {
        fprintf(stderr, "chela-supervise: started by the gateway only\n");
        return 64;
    }
    close_range(SUPERVISE_SPEC + 1, ~0u, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_DUMPABLE, 0); /* the child runs as the same user and must not trace us */
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    s.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    const struct supervise_spec *spec = read_spec(&strings);
    close(SUPERVISE_SPEC);
    if (!spec || signals < 0 || s.timer < 0)
        say(SUPERVISE_FAILED, STAGE_SPEC, EINVAL);
    else if (start(spec, &strings) == 0)
        watch(signals);
    if (s.told)
        say(SUPERVISE_ENDED, WIFEXITED(s.status) ? (uint32_t)WEXITSTATUS(s.status) : 0,
            WIFSIGNALED(s.status) ? (uint32_t)WTERMSIG(s.status) : 0);
    _exit(0);
}
