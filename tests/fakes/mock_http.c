/*
 * HTTP/1.1 for mock_model: clients on one thread, each request read whole (see mock_http.h).
 */
#include "tests/fakes/mock_http.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fakes/mock_answer.h"

enum { READ = 65536, LARGEST = 64 * 1024 * 1024 };

struct client {
    int fd;
    char *in;
    size_t n, size;
};

static struct {
    int epoll, listener;
    http_serve_fn *serve;
} http;

const char *http_header(const char *head, const char *name, char *out, size_t size)
{
    size_t n = strlen(name);
    for (const char *p = head; (p = strstr(p, "\r\n"));) {
        p += 2;
        if (strncasecmp(p, name, n) == 0 && p[n] == ':') {
            p += n + 1;
            p += strspn(p, " ");
            snprintf(out, size, "%.*s", (int)strcspn(p, "\r"), p);
            return out;
        }
    }
    return NULL;
}

static void drop(struct client *c)
{
    epoll_ctl(http.epoll, EPOLL_CTL_DEL, c->fd, NULL);
    close(c->fd);
    free(c->in);
    free(c);
}

/* Serves what has come whole; false: drop the client. */
static bool advance(struct client *c)
{
    for (;;) {
        char *end = c->in ? memmem(c->in, c->n, "\r\n\r\n", 4) : NULL, value[32];
        if (!end)
            return c->n < LARGEST;
        end[2] = '\0';
        size_t length = http_header(c->in, "content-length", value, sizeof value)
                            ? strtoul(value, NULL, 10)
                            : 0,
               head_length = (size_t)(end - c->in) + 4;
        bool expects = http_header(c->in, "expect", value, sizeof value) != NULL;
        if (length > LARGEST)
            return false;
        if (c->n < head_length + length) {
            if (expects && c->n == head_length)
                answer_send(c->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
            end[2] = '\r';
            return true;
        }
        char *body = strndup(c->in + head_length, length);
        bool goes_on = http.serve(c->fd, c->in, body);
        free(body);
        if (!goes_on)
            return false;
        c->n -= head_length + length;
        memmove(c->in, c->in + head_length + length, c->n);
        c->in[c->n] = '\0';
    }
}

static void readable(struct client *c)
{
    if (c->size - c->n < READ + 1) {
        c->size = c->size ? c->size * 2 : READ * 2;
        c->in = realloc(c->in, c->size);
        if (!c->in)
            abort();
    }
    ssize_t n = recv(c->fd, c->in + c->n, READ, 0);
    if (n <= 0) {
        drop(c);
        return;
    }
    c->n += (size_t)n;
    c->in[c->n] = '\0';
    if (c->in[0] == 0x16) { /* a client that speaks TLS */
        drop(c);
        return;
    }
    if (!advance(c))
        drop(c);
}

static void take_client(void)
{
    int fd = accept4(http.listener, NULL, NULL, SOCK_CLOEXEC), one = 1;
    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct client *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->fd = fd;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(http.epoll, EPOLL_CTL_ADD, fd, &e);
}

unsigned http_listen(unsigned short port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof address;
    int one = 1;
    http.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(http.listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(http.listener, (struct sockaddr *)&address, n) != 0 ||
        listen(http.listener, 1024) != 0 ||
        getsockname(http.listener, (struct sockaddr *)&address, &n) != 0) {
        perror("mock_model");
        exit(1);
    }
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};
    http.epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(http.epoll, EPOLL_CTL_ADD, http.listener, &e);
    return ntohs(address.sin_port);
}

void http_serve(http_serve_fn *serve)
{
    http.serve = serve;
    for (;;) {
        struct epoll_event events[64];
        int n = epoll_wait(http.epoll, events, 64, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr)
                readable(events[i].data.ptr);
            else
                take_client();
        }
    }
}
