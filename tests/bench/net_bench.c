/*
 * What connections cost the HTTP server: private memory of an idle WebSocket and of an idle
 * keep-alive connection. The clients are a process of their own, so that only the server is
 * counted.
 */
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/loop.h"
#include "net/server.h"

enum { CONNECTIONS = 1000 };

static unsigned opened, answered;

/* Anonymous memory: the process shares nothing of it but with the clients, right after the fork. */
static long memory_kib(void)
{
    char line[256];
    long total = 0, n;
    malloc_trim(0);
    FILE *f = fopen("/proc/self/smaps_rollup", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Anonymous: %ld", &n) == 1)
            total += n;
    if (f)
        fclose(f);
    return total;
}

static void on_message(void *arg, struct server_socket *s, struct chela_str text, bool binary)
{
    (void)arg;
    (void)binary;
    server_socket_send(s, text);
}

static void on_closed(void *arg, struct server_socket *s, unsigned code)
{
    (void)arg;
    (void)s;
    (void)code;
}

static int64_t on_head(void *arg, struct server_request *r, const struct server_head *head)
{
    (void)arg;
    (void)r;
    (void)head;
    return 0;
}

static void on_request(void *arg, struct server_request *r, const struct server_head *head,
                       struct chela_str body)
{
    struct chela_pairs none = {0};
    (void)arg;
    (void)head;
    (void)body;
    answered++;
    server_answer(r, 200, "text/plain", none, chela_s("ok"));
}

static int on_upgrade(void *arg, struct server_request *r, const struct server_head *head)
{
    (void)arg;
    (void)r;
    (void)head;
    return 0;
}

static void on_opened(void *arg, struct server_socket *s, const struct server_head *head)
{
    static const struct server_socket_handlers handlers = {on_message, on_closed, NULL};
    (void)arg;
    (void)head;
    opened++;
    server_socket_attach(s, &handlers, NULL);
    server_socket_limits(s, 1 << 20, 8 << 20, 30000);
}

/* The clients: connect, ask, stay until the pipe closes. */
static pid_t clients(uint16_t port, const char *request, int *ret_pipe)
{
    int ends[2];
    if (pipe(ends) != 0)
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
        char byte;
        close(ends[1]);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        for (int i = 0; i < CONNECTIONS; i++) {
            int fd = socket(AF_INET, SOCK_STREAM, 0);
            if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0 ||
                send(fd, request, strlen(request), 0) < 0)
                _exit(1);
        }
        _exit(read(ends[0], &byte, 1) < 0);
    }
    close(ends[0]);
    *ret_pipe = ends[1];
    return pid;
}

static void measure(struct server *s, const char *what, const char *request, const unsigned *count)
{
    int hold;
    unsigned before = *count;
    long kib = memory_kib();
    pid_t pid = clients(server_port(s), request, &hold);
    while (*count < before + CONNECTIONS)
        loop_turn(true);
    for (int i = 0; i < 10; i++)
        loop_turn(false);
    printf("%-28s %.1f KiB each (%d of them)\n", what, (double)(memory_kib() - kib) / CONNECTIONS,
           CONNECTIONS);
    close(hold);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < 200; i++)
        loop_turn(false);
}

static void on_drained(void *arg)
{
    *(bool *)arg = true;
}

int main(void)
{
    static const struct server_handlers handlers = {on_head, on_request, on_upgrade, on_opened};
    struct server_limits limits = {.connections = 4000,
                                   .header_ms = 10000,
                                   .body_ms = 30000,
                                   .idle_ms = 60000,
                                   .head_bytes = 8192};
    struct rlimit files = {4096, 4096};
    struct error e;
    bool drained = false;
    setrlimit(RLIMIT_NOFILE, &files);
    loop_open();
    struct server *s = server_open("127.0.0.1", 0, &limits, &handlers, NULL, &e);
    if (!s) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    measure(s, "idle keep-alive connection:", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            &answered);
    measure(s, "idle WebSocket:",
            "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            &opened);
    server_close(s, 0, on_drained, &drained);
    while (!drained)
        loop_turn(true);
    loop_close();
    return 0;
}
