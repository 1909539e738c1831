/*
 * Starts a supervisor: pipes or a terminal, the specification in a file in memory (so that neither
 * arguments nor environment stand in the supervisor's own /proc), and posix_spawn. Called by
 * process.c.
 */
#include "proc/process_private.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/paths.h"

/* The ends that the child gets; -1 = none yet. */
struct ends {
    int child[5]; /* 0, 1, 2, socket, specification */
};

static void close_ends(struct ends *x)
{
    for (int i = 0; i < 5; i++) {
        for (int k = i + 1; k < 5; k++)
            if (x->child[k] == x->child[i])
                x->child[k] = -1;
        if (x->child[i] >= 0)
            close(x->child[i]);
        x->child[i] = -1;
    }
}

/* ---- the specification ---- */

static bool has_variable(struct chela_pairs environment, const char *name)
{
    for (uint64_t i = 0; i < environment.n; i++)
        if (chela_str_is(environment.v[i].name, name))
            return true;
    return false;
}

static void add_variable(struct buf *b, struct chela_str name, struct chela_str value)
{
    buf_str(b, name);
    buf_char(b, '=');
    buf_str(b, value);
    buf_char(b, 0);
}

static const char *or_default(const char *value, const char *fallback)
{
    return value && *value ? value : fallback;
}

/* What every program may expect, and nothing else of our own environment. Returns how many. */
static uint32_t add_defaults(struct buf *b, const struct process_request *r)
{
    const struct passwd *user = getpwuid(getuid());
    const char *values[][2] = {
        {"PATH", or_default(getenv("PATH"), "/usr/local/bin:/usr/bin:/bin")},
        {"HOME", or_default(getenv("HOME"), user ? user->pw_dir : "/")},
        {"USER", user ? user->pw_name : "nobody"},
        {"LANG", or_default(getenv("LANG"), "C.UTF-8")},
        {"TERM", (r->flags & CHELA_PTY) ? "xterm-256color" : "dumb"},
    };
    uint32_t count = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(values); i++)
        if (!has_variable(r->environment, values[i][0])) {
            add_variable(b, chela_s(values[i][0]), chela_s(values[i][1]));
            count++;
        }
    return count;
}

static bool has_nul(struct chela_str s)
{
    return s.n && memchr(s.s, 0, s.n) != NULL;
}

static int make_spec(const struct process_request *r, struct buf *out, struct error *e)
{
    struct supervise_spec spec = {.magic = SUPERVISE_MAGIC,
                                  .terminal = (r->flags & CHELA_PTY) != 0,
                                  .confine = r->confine,
                                  .landlock_most = r->landlock_most,
                                  .argument_count = (uint32_t)r->arguments.n,
                                  .limits = r->limits};
    if (r->arguments.n == 0 || r->arguments.v[0].value.n == 0)
        return error_set(e, CHELA_E_ARGS, "there is no program to start");
    buf_add(out, &spec, sizeof spec);
    buf_puts(out, or_default(r->directory, "/"));
    buf_char(out, 0);
    for (uint64_t i = 0; i < r->arguments.n; i++) {
        if (has_nul(r->arguments.v[i].value))
            return error_set(e, CHELA_E_ARGS, "an argument holds a NUL");
        buf_str(out, r->arguments.v[i].value);
        buf_char(out, 0);
    }
    for (uint64_t i = 0; i < r->environment.n; i++) {
        struct chela_pair v = r->environment.v[i];
        if (!v.name.n || has_nul(v.name) || has_nul(v.value) || memchr(v.name.s, '=', v.name.n))
            return error_set(e, CHELA_E_ARGS, "a variable of the environment has a bad name");
        add_variable(out, v.name, v.value);
    }
    spec.environment_count = (uint32_t)r->environment.n + add_defaults(out, r);
    memcpy(out->p, &spec, sizeof spec);
    if (out->n > SUPERVISE_SPEC_MAX)
        return error_set(e, CHELA_E_TOO_LONG, "arguments and environment are too long");
    return 0;
}

static int spec_file(const struct buf *b)
{
    int fd = memfd_create("chela-spec", MFD_CLOEXEC);
    size_t at = 0;
    while (fd >= 0 && at < b->n) {
        ssize_t n = write(fd, b->p + at, b->n - at);
        if (n < 0 && errno != EINTR) {
            close(fd);
            return -1;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    return fd;
}

/* ---- descriptors ---- */

static int nonblocking(int fd)
{
    return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static int open_terminal(struct process *p, const struct process_request *r, struct ends *x)
{
    struct winsize size = {.ws_row = (unsigned short)(r->rows ? r->rows : 24),
                           .ws_col = (unsigned short)(r->columns ? r->columns : 80)};
    struct termios t;
    char name[128];
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    p->out[0].fd = p->input = master;
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 ||
        ptsname_r(master, name, sizeof name) != 0)
        return -1;
    int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0)
        return -1;
    x->child[0] = x->child[1] = x->child[2] = slave;
    if (tcgetattr(slave, &t) == 0) {
        t.c_iflag |= IUTF8;
        tcsetattr(slave, TCSANOW, &t);
    }
    ioctl(slave, TIOCSWINSZ, &size);
    return nonblocking(master);
}

static int open_pipes(struct process *p, struct ends *x)
{
    int pair[2];
    for (int i = 0; i < 2; i++) {
        if (pipe2(pair, O_CLOEXEC) != 0)
            return -1;
        p->out[i].fd = pair[0];
        x->child[1 + i] = pair[1];
        if (nonblocking(pair[0]) != 0)
            return -1;
    }
    if (!(p->flags & CHELA_STDIN))
        return x->child[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (pipe2(pair, O_CLOEXEC) != 0)
        return -1;
    x->child[0] = pair[0];
    p->input = pair[1];
    return nonblocking(pair[1]);
}

/* The child's ends above those numbers that they will be moved to. */
static int lift(struct ends *x)
{
    for (int i = 0; i < 5; i++) {
        int from = x->child[i];
        if (from < 0 || from > 9)
            continue;
        int to = fcntl(from, F_DUPFD_CLOEXEC, 10);
        if (to < 0)
            return -1;
        for (int k = i; k < 5; k++)
            if (x->child[k] == from)
                x->child[k] = to;
        close(from);
    }
    return 0;
}

/* ---- start ---- */

static int run_supervisor(struct process *p, const struct ends *x)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    CLEANUP(freep) char *program = xprintf("%s/chela-supervise", paths_libexec_dir());
    char *arguments[] = {program, NULL}, *environment[] = {NULL};
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    for (int i = 0; i < 5; i++)
        posix_spawn_file_actions_adddup2(&actions, x->child[i], i);
    posix_spawn_file_actions_addclosefrom_np(&actions, 5);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    int failed =
        posix_spawn(&p->supervisor, program, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    errno = failed;
    return failed ? -1 : 0;
}

int process_spawn(struct process *p, const struct process_request *r, struct error *e)
{
    struct ends x = {{-1, -1, -1, -1, -1}};
    struct buf spec = {0};
    int sockets[2], result = -1;
    if (make_spec(r, &spec, e) != 0)
        goto out;
    if (((p->flags & CHELA_PTY) ? open_terminal(p, r, &x) : open_pipes(p, &x)) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
        error_set(e, CHELA_E_OTHER, "no pipes or terminal for a process: %s", strerror(errno));
        goto out;
    }
    p->socket = sockets[0];
    x.child[3] = sockets[1];
    x.child[4] = spec_file(&spec);
    if (x.child[4] < 0 || nonblocking(p->socket) != 0 || lift(&x) != 0 ||
        run_supervisor(p, &x) != 0) {
        error_set(e, CHELA_E_OTHER, "%s/chela-supervise can't be started: %s", paths_libexec_dir(),
                  strerror(errno));
        goto out;
    }
    p->supervisor_fd = pidfd_open(p->supervisor, 0);
    if (p->supervisor_fd < 0) {
        error_set(e, CHELA_E_OTHER, "no pidfd: %s", strerror(errno));
        kill(p->supervisor, SIGKILL);
        waitpid(p->supervisor, NULL, 0);
        goto out;
    }
    result = 0;
out:
    if (spec.n)
        explicit_bzero(spec.p, spec.n);
    buf_free(&spec);
    close_ends(&x);
    return result;
}
