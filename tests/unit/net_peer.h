/*
 * A raw TCP peer for tests of core/net: a socket on the loop whose bytes are collected, and a loop
 * that turns until a condition holds. No sleeps: a test that waits in vain is ended by SIGALRM.
 */
#ifndef CHELA_TESTS_NET_PEER_H
#define CHELA_TESTS_NET_PEER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <chela/local.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "host/loop.h"

/* Turns the loop until the condition holds; blocks only after a pass that found nothing to do. */
#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        alarm(30);                                                                                 \
        for (bool wait_ = false; !(condition); wait_ = !wait_)                                     \
            loop_turn(wait_);                                                                      \
        alarm(0);                                                                                  \
    } while (0)

struct peer {
    int fd;
    struct buf in;
    bool eof, failed;
    bool deaf; /* reads nothing */
    struct loop_watch *watch;
};

static inline void peer_ready(uint32_t events, void *arg)
{
    struct peer *p = arg;
    char bytes[65536];
    (void)events;
    ssize_t n = recv(p->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) {
        buf_add(&p->in, bytes, (size_t)n);
        buf_text(&p->in);
        return;
    }
    if (n < 0 && errno == EAGAIN)
        return;
    p->eof = true;
    p->failed = n < 0;
    loop_unwatch(p->watch);
    p->watch = NULL;
}

static inline void peer_hear(struct peer *p)
{
    p->deaf = false;
    if (!p->watch && !p->eof)
        p->watch = loop_watch(p->fd, CHELA_READABLE, peer_ready, p);
}

static inline void peer_deafen(struct peer *p)
{
    p->deaf = true;
    loop_unwatch(p->watch);
    p->watch = NULL;
    loop_turn(false); /* a second watch of one descriptor is allowed once the first has closed */
}

static inline void peer_connect(struct peer *p, uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memset(p, 0, sizeof *p);
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(p->fd, (struct sockaddr *)&to, sizeof to), 0);
    peer_hear(p);
}

static inline void peer_send(struct peer *p, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n) {
        ssize_t sent = send(p->fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (errno != EAGAIN)
                return; /* closed by the other side: the test looks at eof */
            loop_turn(false);
            continue;
        }
        at += sent;
        n -= (size_t)sent;
    }
}

static inline void peer_say(struct peer *p, const char *text)
{
    peer_send(p, text, strlen(text));
}

static inline bool peer_has(struct peer *p, const char *text)
{
    return memmem(buf_text(&p->in), p->in.n, text, strlen(text)) != NULL;
}

static inline unsigned peer_count(struct peer *p, const char *text)
{
    unsigned n = 0;
    for (const char *at = buf_text(&p->in); (at = strstr(at, text)); at++)
        n++;
    return n;
}

static inline void peer_close(struct peer *p)
{
    loop_unwatch(p->watch);
    p->watch = NULL;
    loop_turn(false);
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    buf_free(&p->in);
}

#endif
