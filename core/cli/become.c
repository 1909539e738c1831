/* Become: see become.h. An exec where that is enough: signals, terminal and exit status are then
 * the other program's without any work of ours. A child only where more than one is needed. */
#include "cli/become.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/paths.h"
#include "cli/output.h"

int become(const struct common *common, const char *const *words)
{
    char *path = xprintf("%s/%s", paths_libexec_dir(), words[0]);
    fflush(stdout);
    signal(SIGPIPE, SIG_DFL); /* ours is ignored, and would stay so */
    execv(path, (char *const *)words);
    char *message = xprintf("can't run %s: %s", path, strerror(errno));
    int status = output_failure(common, "other", message, EXIT_FAILED);
    free(message);
    free(path);
    return status;
}

/* ---- children ---- */

/* With those descriptors as its 1, 2 and 3 (-1: none) and nothing on standard input. */
static int spawn(const char *path, const char *const *words, const int *fds, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t back;
    sigemptyset(&back);
    sigaddset(&back, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &back);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            posix_spawn_file_actions_adddup2(&actions, fds[i], i + 1);
    fflush(stdout);
    int failed = posix_spawnp(pid, path, &actions, &attributes, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

int become_child(const char *const *words, struct buf *out)
{
    int ends[2] = {-1, -1}, status;
    pid_t pid;
    if (out && pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    int fds[] = {ends[1], ends[1], -1}, failed = spawn(words[0], words, fds, &pid);
    if (ends[1] >= 0)
        close(ends[1]);
    char piece[4096];
    for (ssize_t n; !failed && out && (n = read(ends[0], piece, sizeof piece)) > 0;)
        if (out->n < 1 << 20)
            buf_add(out, piece, (size_t)n);
    if (ends[0] >= 0)
        close(ends[0]);
    if (failed)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* "ready port=N" from the daemon; 0 if it ended, or took half a minute. */
static unsigned wait_ready(int fd)
{
    char line[128] = "";
    size_t n = 0;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (n < sizeof line - 1 && !strchr(line, '\n') && poll(&p, 1, 30000) > 0) {
        ssize_t got = read(fd, line + n, sizeof line - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
        line[n] = '\0';
    }
    const char *port = strstr(line, "port=");
    return port ? (unsigned)strtoul(port + 5, NULL, 10) : 0;
}

int become_gateway(const char *log, struct become_gateway *ret, struct error *e)
{
    CLEANUP(freep) char *path = xprintf("%s/chelad", paths_libexec_dir());
    int ends[2], fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        if (fd >= 0)
            close(fd);
        return error_set(e, CHELA_E_OTHER, "%s cannot be written: %s", log, strerror(errno));
    }
    static const char *const words[] = {"chelad", "--port", "0", "--ready-fd", "3", NULL};
    int fds[] = {fd, fd, ends[1]};
    int failed = spawn(path, words, fds, &ret->pid);
    close(fd);
    close(ends[1]);
    ret->port = failed ? 0 : wait_ready(ends[0]);
    close(ends[0]);
    if (failed)
        return error_set(e, CHELA_E_OTHER, "can't run %s: %s", path, strerror(failed));
    if (ret->port)
        return 0;
    become_gateway_end(ret);
    return error_set(e, CHELA_E_OTHER, "the gateway did not start");
}

void become_gateway_end(struct become_gateway *gateway)
{
    int status;
    if (gateway->pid <= 0)
        return;
    kill(gateway->pid, SIGTERM);
    while (waitpid(gateway->pid, &status, 0) < 0 && errno == EINTR) {
    }
    gateway->pid = 0;
}

void become_opener(const char *url)
{
    char *const words[] = {(char *)(uintptr_t) "xdg-open", (char *)(uintptr_t)url, NULL};
    fflush(stdout);
    signal(SIGPIPE, SIG_DFL);
    execvp(words[0], words);
}
