/*
 * How long a program takes from exec to the first connection that it accepts and to the line on its
 * descriptor 3. Each run is a process of its own, ended by SIGTERM. Called by gateway_bench.sh.
 *
 *   start RUNS [--listens] PROGRAM ARGUMENT...    with --listens: "--port N" is put behind, N free
 *
 * Prints the medians: "listening_us=N ready_us=N cpu_us=N": listening 0 without --listens; cpu is
 * the processor time of its first thread until it was ready, which a busy machine doesn't blow up.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS_MOST = 100, ARGUMENTS_MOST = 32, GIVE_UP_US = 20000000 };

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static struct sockaddr_in loopback(unsigned port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((unsigned short)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static unsigned free_port(void)
{
    struct sockaddr_in a = loopback(0);
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&a, n) != 0 || getsockname(fd, (struct sockaddr *)&a, &n) != 0)
        exit(1);
    close(fd);
    return ntohs(a.sin_port);
}

static bool accepts(unsigned port)
{
    struct sockaddr_in a = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
    close(fd);
    return ok;
}

static pid_t launch(char **argv, int ready)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    if (ready == 3)
        fcntl(3, F_SETFD, 0);
    else
        dup2(ready, 3);
    execv(argv[0], argv);
    _exit(127);
}

static uint64_t cpu_of(pid_t pid)
{
    char path[64];
    unsigned long long ns = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f || fscanf(f, "%llu", &ns) != 1)
        ns = 0;
    if (f)
        fclose(f);
    return ns / 1000;
}

static void one(char **argv, unsigned port, uint64_t *listening, uint64_t *ready, uint64_t *cpu)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        exit(1);
    uint64_t from = now_us();
    pid_t pid = launch(argv, ends[1]);
    close(ends[1]);
    struct pollfd p = {ends[0], POLLIN, 0};
    *listening = 0;
    for (*ready = 0; *ready == 0;) {
        if (port && *listening == 0 && accepts(port))
            *listening = now_us() - from;
        struct timespec pause = {0, port && *listening == 0 ? 100000 : 1000000};
        if (ppoll(&p, 1, &pause, NULL) > 0)
            *ready = now_us() - from;
        if (now_us() - from > GIVE_UP_US)
            break;
    }
    char text[64];
    *cpu = cpu_of(pid);
    bool said = *ready != 0 && read(ends[0], text, sizeof text) > 0;
    close(ends[0]);
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
    if (!said) {
        fprintf(stderr, "start: %s did not become ready\n", argv[0]);
        exit(1);
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    static uint64_t listening[RUNS_MOST], ready[RUNS_MOST], cpu[RUNS_MOST];
    char *arguments[ARGUMENTS_MOST] = {NULL}, port_text[16];
    unsigned runs = argc > 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0, count = 0, port = 0;
    int at = 2;
    if (runs == 0 || runs > RUNS_MOST || argc > ARGUMENTS_MOST - 4)
        return 2;
    bool listens = strcmp(argv[at], "--listens") == 0;
    for (at += listens; at < argc; at++)
        arguments[count++] = argv[at];
    if (listens) {
        arguments[count++] = strdup("--port");
        arguments[count] = port_text;
    }
    for (unsigned i = 0; i < runs; i++) {
        if (listens)
            snprintf(port_text, sizeof port_text, "%u", port = free_port());
        one(arguments, port, &listening[i], &ready[i], &cpu[i]);
    }
    qsort(listening, runs, sizeof *listening, by_value);
    qsort(ready, runs, sizeof *ready, by_value);
    qsort(cpu, runs, sizeof *cpu, by_value);
    printf("listening_us=%llu ready_us=%llu cpu_us=%llu\n", (unsigned long long)listening[runs / 2],
           (unsigned long long)ready[runs / 2], (unsigned long long)cpu[runs / 2]);
    return 0;
}
