/* See fake_peer.h. */
#include "tests/fakes/fake_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/handshake.h"

struct peer peers[PEERS_MOST];
static const struct peer_handlers *handlers;

void peer_send(struct peer *peer, const char *text, size_t length)
{
    struct wslay_event_msg message = {WSLAY_TEXT_FRAME, (const uint8_t *)text, length};
    if (peer->wslay != NULL && !peer->closing) {
        wslay_event_queue_msg(peer->wslay, &message);
    }
}

void peer_hang_up_all(void)
{
    for (size_t i = 0; i < PEERS_MOST; i++) {
        if (peers[i].fd >= 0 && peers[i].wslay != NULL) {
            wslay_event_send(peers[i].wslay);
            peers[i].closing = true;
        }
    }
}

static ssize_t receive(wslay_event_context_ptr wslay, uint8_t *bytes, size_t length, int flags,
                       void *arg)
{
    struct peer *peer = arg;
    (void)flags;
    if (peer->in.n > 0) {
        size_t n = length < peer->in.n ? length : peer->in.n;
        memcpy(bytes, peer->in.p, n);
        buf_consume(&peer->in, n);
        return (ssize_t)n;
    }
    ssize_t n = recv(peer->fd, bytes, length, 0);
    if (n <= 0) {
        bool later = n < 0 && (errno == EAGAIN || errno == EINTR);
        peer->closing = peer->closing || !later;
        wslay_event_set_error(wslay, later ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
        return -1;
    }
    return n;
}

static ssize_t transmit(wslay_event_context_ptr wslay, const uint8_t *bytes, size_t length,
                        int flags, void *arg)
{
    struct peer *peer = arg;
    (void)flags;
    ssize_t n = send(peer->fd, bytes, length, MSG_NOSIGNAL);
    if (n < 0) {
        bool later = errno == EAGAIN || errno == EINTR;
        wslay_event_set_error(wslay, later ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    }
    return n;
}

static void arrived(wslay_event_context_ptr wslay, const struct wslay_event_on_msg_recv_arg *in,
                    void *arg)
{
    (void)wslay;
    if (in->opcode == WSLAY_TEXT_FRAME) {
        handlers->message(arg, (const char *)in->msg, in->msg_length);
    }
}

static void close_peer(struct peer *peer)
{
    if (peer->wslay != NULL) {
        wslay_event_context_free(peer->wslay);
    }
    if (peer->wslay != NULL) {
        handlers->close(peer);
    }
    close(peer->fd);
    buf_free(&peer->in);
    *peer = (struct peer){.fd = -1};
}

/* The upgrade, once the request is whole. */
static void upgrade(struct peer *peer)
{
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = receive,
        .send_callback = transmit,
        .on_msg_recv_callback = arrived,
    };
    char bytes[4096], accept[HANDSHAKE_ACCEPT_SIZE];
    ssize_t n = recv(peer->fd, bytes, sizeof bytes, 0);
    if (n <= 0) {
        close_peer(peer);
        return;
    }
    buf_add(&peer->in, bytes, (size_t)n);
    const char *end = strstr(buf_text(&peer->in), "\r\n\r\n");
    const char *key = strstr(buf_text(&peer->in), "Sec-WebSocket-Key: ");
    if (end == NULL || key == NULL) {
        return;
    }
    char *own_key = xmemdup(key + 19, HANDSHAKE_KEY_SIZE - 1);
    handshake_accept(own_key, accept);
    free(own_key);
    buf_consume(&peer->in, (size_t)(end - peer->in.p) + 4);
    char *head = xprintf("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                         "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
                         accept);
    ssize_t sent = send(peer->fd, head, strlen(head), MSG_NOSIGNAL);
    free(head);
    if (sent < 0) {
        close_peer(peer);
        return;
    }
    wslay_event_context_server_init(&peer->wslay, &callbacks, peer);
    fcntl(peer->fd, F_SETFL, O_NONBLOCK);
    handlers->open(peer);
}

static void serve(struct peer *peer, short events)
{
    if (peer->wslay == NULL) {
        upgrade(peer);
    } else if (events != 0 && wslay_event_recv(peer->wslay) != 0) {
        peer->closing = true;
    }
}

static void accept_peer(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    for (size_t i = 0; fd >= 0 && i < PEERS_MOST; i++) {
        if (peers[i].fd < 0) {
            peers[i] = (struct peer){.fd = fd};
            return;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

static int listen_on(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof address;
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 16) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        perror("fake_gateway");
        exit(1);
    }
    dprintf(3, "ready 127.0.0.1:%u\n", ntohs(address.sin_port));
    return fd;
}

_Noreturn void peer_serve(unsigned port, const struct peer_handlers *to)
{
    handlers = to;
    for (size_t i = 0; i < PEERS_MOST; i++) {
        peers[i].fd = -1;
    }
    int listener = listen_on(port);
    for (;;) {
        struct pollfd fds[PEERS_MOST + 1] = {{listener, POLLIN, 0}};
        for (size_t i = 0; i < PEERS_MOST; i++) {
            bool writes = peers[i].wslay != NULL && wslay_event_want_write(peers[i].wslay);
            fds[i + 1] = (struct pollfd){peers[i].fd, (short)(POLLIN | (writes ? POLLOUT : 0)), 0};
        }
        if (poll(fds, PEERS_MOST + 1, -1) < 0) {
            continue;
        }
        for (size_t i = 0; i < PEERS_MOST; i++) {
            if (peers[i].fd >= 0 && fds[i + 1].revents != 0) {
                serve(&peers[i], fds[i + 1].revents);
            }
        }
        for (size_t i = 0; i < PEERS_MOST; i++) {
            if (peers[i].wslay != NULL && !peers[i].closing &&
                wslay_event_send(peers[i].wslay) != 0) {
                peers[i].closing = true;
            }
            bool over = peers[i].wslay != NULL && !wslay_event_want_read(peers[i].wslay) &&
                        !wslay_event_want_write(peers[i].wslay); /* both have said goodbye */
            if (peers[i].closing || over) {
                close_peer(&peers[i]);
            }
        }
        if (fds[0].revents != 0) {
            accept_peer(listener);
        }
    }
}
