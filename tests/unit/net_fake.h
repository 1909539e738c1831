/*
 * A scripted HTTP server on the loop for tests of clients: it collects a request, then says what
 * the test wants, byte for byte.
 */
#ifndef CHELA_TESTS_NET_FAKE_H
#define CHELA_TESTS_NET_FAKE_H

#include "net_peer.h"

enum { FAKE_PEERS = 64 };

struct fake {
    int fd;
    uint16_t port;
    struct loop_watch *watch;
    struct peer peers[FAKE_PEERS];
    unsigned count; /* connections so far */
    bool deaf;      /* accepts, but reads nothing */
};

static inline void fake_accept(uint32_t events, void *arg)
{
    struct fake *f = arg;
    (void)events;
    int fd = accept4(f->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    assert_true(f->count < FAKE_PEERS);
    struct peer *p = &f->peers[f->count++];
    memset(p, 0, sizeof *p);
    p->fd = fd;
    if (!f->deaf)
        peer_hear(p);
}

static inline void fake_open(struct fake *f)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memset(f, 0, sizeof *f);
    f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(f->fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(f->fd, 64), 0);
    getsockname(f->fd, (struct sockaddr *)&at, &n);
    f->port = ntohs(at.sin_port);
    f->watch = loop_watch(f->fd, CHELA_READABLE, fake_accept, f);
}

static inline void fake_close(struct fake *f)
{
    for (unsigned i = 0; i < f->count; i++)
        if (f->peers[i].fd >= 0)
            peer_close(&f->peers[i]);
    loop_unwatch(f->watch);
    loop_turn(false);
    close(f->fd);
}

/* Has the peer's input a whole request? (Content-Length only.) */
static inline bool fake_whole(struct peer *p)
{
    char *text = (char *)(uintptr_t)buf_text(&p->in);
    char *end = strstr(text, "\r\n\r\n");
    if (!end)
        return false;
    char *length = strcasestr(text, "\r\ncontent-length:");
    size_t body = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
    return p->in.n - (size_t)(end + 4 - text) >= body;
}

/* Waits for the n-th connection's request; says the answer, and forgets the request. */
#define FAKE_REQUEST(f, n)                                                                         \
    do {                                                                                           \
        WAIT_FOR((f)->count > (n));                                                                \
        WAIT_FOR(fake_whole(&(f)->peers[n]));                                                      \
    } while (0)

static inline void fake_hang_up(struct peer *p)
{
    peer_close(p);
}

/* An end by RST. */
static inline void fake_reset(struct peer *p)
{
    struct linger now = {1, 0};
    setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    peer_close(p);
}

#endif
