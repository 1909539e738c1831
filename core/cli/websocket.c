/* WebSocket: see ws.h. */
#include "cli/websocket.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wslay/wslay.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "cli/clean.h"
#include "cli/handshake.h"

struct websocket {
    int fd;
    wslay_event_context_ptr wslay;
    struct buf early; /* bytes that came behind the head of the upgrade */
    bool ended;       /* the other side has closed, or reading failed */
    int failure;      /* errno of that, 0: it was orderly */
    bool in_close;    /* the frame that is coming is a close frame */
    unsigned close_code;
    struct buf close_frame; /* its payload: code and reason */
    websocket_message_fn *message;
    void *arg;
};

/* ---- callbacks of wslay ---- */

static ssize_t receive(wslay_event_context_ptr wslay, uint8_t *bytes, size_t length, int flags,
                       void *arg)
{
    struct websocket *ws = arg;
    (void)flags;
    if (ws->early.n > 0) {
        size_t n = length < ws->early.n ? length : ws->early.n;
        memcpy(bytes, ws->early.p, n);
        buf_consume(&ws->early, n);
        return (ssize_t)n;
    }
    ssize_t n = -1;
    do {
        n = recv(ws->fd, bytes, length, 0);
    } while (n < 0 && errno == EINTR);
    if (n > 0) {
        return n;
    }
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        wslay_event_set_error(wslay, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    ws->ended = true;
    ws->failure = n == 0 ? 0 : errno;
    wslay_event_set_error(wslay, WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static ssize_t transmit(wslay_event_context_ptr wslay, const uint8_t *bytes, size_t length,
                        int flags, void *arg)
{
    struct websocket *ws = arg;
    (void)flags;
    ssize_t n = -1;
    do {
        n = send(ws->fd, bytes, length, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n >= 0) {
        return n;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        wslay_event_set_error(wslay, WSLAY_ERR_WOULDBLOCK);
    } else {
        ws->ended = true;
        ws->failure = errno;
        wslay_event_set_error(wslay, WSLAY_ERR_CALLBACK_FAILURE);
    }
    return -1;
}

static int mask(wslay_event_context_ptr wslay, uint8_t *bytes, size_t length, void *arg)
{
    (void)wslay;
    (void)arg;
    id_bytes(bytes, length);
    return 0;
}

/* Close frames are read here and not from on_msg_recv: wslay 1.1 takes the codes that were
 * registered after the RFC (1012, "service restart") for an error and tells nobody. */
static void frame_begins(wslay_event_context_ptr wslay,
                         const struct wslay_event_on_frame_recv_start_arg *in, void *arg)
{
    struct websocket *ws = arg;
    (void)wslay;
    ws->in_close = in->opcode == WSLAY_CONNECTION_CLOSE;
}

static void frame_goes_on(wslay_event_context_ptr wslay,
                          const struct wslay_event_on_frame_recv_chunk_arg *in, void *arg)
{
    struct websocket *ws = arg;
    (void)wslay;
    if (ws->in_close && ws->close_frame.n + in->data_length <= 125) {
        buf_add(&ws->close_frame, in->data, in->data_length);
    }
}

static void frame_ends(wslay_event_context_ptr wslay, void *arg)
{
    struct websocket *ws = arg;
    (void)wslay;
    if (ws->in_close && ws->close_code == 0) {
        const unsigned char *code = (const unsigned char *)ws->close_frame.p;
        ws->close_code =
            ws->close_frame.n < 2 ? WSLAY_CODE_NO_STATUS_RCVD : (unsigned)code[0] << 8 | code[1];
    }
}

static void arrived(wslay_event_context_ptr wslay, const struct wslay_event_on_msg_recv_arg *in,
                    void *arg)
{
    struct websocket *ws = arg;
    (void)wslay;
    if (in->opcode == WSLAY_TEXT_FRAME) {
        ws->message(ws->arg, (const char *)in->msg, in->msg_length);
    }
}

/* ---- connecting ---- */

/* Waits for the descriptor; 0 when it is ready, -1 at the deadline. */
static int wait_ready(int fd, short events, uint64_t deadline)
{
    for (;;) {
        uint64_t now = clock_ticks_ms();
        struct pollfd poll_fd = {fd, events, 0};
        int n = now >= deadline ? 0 : poll(&poll_fd, 1, (int)(deadline - now));
        if (n > 0) {
            return 0;
        }
        if (n == 0 || errno != EINTR) {
            return -1;
        }
    }
}

static int connect_one(const struct addrinfo *address, uint64_t deadline)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    int failure = 0;
    socklen_t size = sizeof failure;
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
        if (errno != EINPROGRESS) {
            failure = errno;
        } else if (wait_ready(fd, POLLOUT, deadline) != 0) {
            failure = ETIMEDOUT;
        } else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) {
            failure = errno;
        }
    }
    if (failure != 0) {
        close(fd);
        errno = failure;
        return -1;
    }
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

static int connect_host(const char *host, unsigned port, uint64_t deadline, struct error *e)
{
    char service[16];
    snprintf(service, sizeof service, "%u", port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *list = NULL;
    int found = getaddrinfo(host, service, &hints, &list);
    if (found != 0) {
        return error_set(e, CHELA_E_NETWORK, "can't find the host %s: %s", host,
                         gai_strerror(found));
    }
    int fd = -1;
    for (struct addrinfo *a = list; a != NULL && fd < 0; a = a->ai_next) {
        fd = connect_one(a, deadline);
    }
    int failure = errno;
    freeaddrinfo(list);
    if (fd < 0) {
        error_set(e, failure == ETIMEDOUT ? CHELA_E_TIMEOUT : CHELA_E_NETWORK,
                  "can't connect to %s port %u: %s", host, port, strerror(failure));
    }
    return fd;
}

static int send_all(int fd, const struct buf *text, uint64_t deadline)
{
    for (size_t at = 0; at < text->n;) {
        ssize_t n = send(fd, text->p + at, text->n - at, MSG_NOSIGNAL);
        if (n > 0) {
            at += (size_t)n;
        } else if (n < 0 && errno != EINTR && errno != EAGAIN) {
            return -1;
        } else if (wait_ready(fd, POLLOUT, deadline) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Reads the head of the answer into `early`; returns its length, 0 on failure. */
static size_t read_head(struct websocket *ws, uint64_t deadline, struct error *e)
{
    for (;;) {
        const char *end = ws->early.n < 4 ? NULL : memmem(ws->early.p, ws->early.n, "\r\n\r\n", 4);
        if (end != NULL) {
            return (size_t)(end - ws->early.p) + 4;
        }
        if (ws->early.n > HANDSHAKE_HEAD_LIMIT) {
            error_set(e, CHELA_E_PROTOCOL,
                      "what listens there is no gateway: its answer has no end");
            return 0;
        }
        if (wait_ready(ws->fd, POLLIN, deadline) != 0) {
            error_set(e, CHELA_E_TIMEOUT, "the gateway accepted the connection but doesn't answer");
            return 0;
        }
        char bytes[2048];
        ssize_t n = recv(ws->fd, bytes, sizeof bytes, 0);
        if (n > 0) {
            buf_add(&ws->early, bytes, (size_t)n);
        } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
            error_set(e, CHELA_E_NETWORK, "the gateway closed the connection at once");
            return 0;
        }
    }
}

static int upgrade(struct websocket *ws, const char *host, unsigned port, uint64_t deadline,
                   struct error *e)
{
    char key[HANDSHAKE_KEY_SIZE];
    struct buf request = {0}, authority = {0};
    handshake_key(key);
    bool v6 = strchr(host, ':') != NULL;
    buf_printf(&authority, v6 ? "[%s]:%u" : "%s:%u", host, port);
    handshake_request(&request, buf_text(&authority), key);
    int sent = send_all(ws->fd, &request, deadline);
    buf_free(&request);
    buf_free(&authority);
    if (sent != 0) {
        return error_set(e, CHELA_E_NETWORK, "the gateway closed the connection at once");
    }
    size_t head = read_head(ws, deadline, e);
    if (head == 0 || handshake_check(ws->early.p, head, key, e) != 0) {
        return -1;
    }
    buf_consume(&ws->early, head);
    return 0;
}

struct websocket *websocket_open(const char *host, unsigned port, unsigned timeout_ms,
                                 websocket_message_fn *message, void *arg, struct error *e)
{
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = receive,
        .send_callback = transmit,
        .genmask_callback = mask,
        .on_frame_recv_start_callback = frame_begins,
        .on_frame_recv_chunk_callback = frame_goes_on,
        .on_frame_recv_end_callback = frame_ends,
        .on_msg_recv_callback = arrived,
    };
    uint64_t deadline = clock_ticks_ms() + timeout_ms;
    int fd = connect_host(host, port, deadline, e);
    if (fd < 0) {
        return NULL;
    }
    struct websocket *ws = xcalloc(1, sizeof *ws);
    ws->fd = fd;
    ws->message = message;
    ws->arg = arg;
    if (upgrade(ws, host, port, deadline, e) != 0) {
        websocket_close(ws);
        return NULL;
    }
    if (wslay_event_context_client_init(&ws->wslay, &callbacks, ws) != 0) {
        error_set(e, CHELA_E_OTHER, "no memory for the WebSocket");
        websocket_close(ws);
        return NULL;
    }
    wslay_event_config_set_max_recv_msg_length(ws->wslay, WEBSOCKET_MESSAGE_LIMIT);
    return ws;
}

void websocket_close(struct websocket *ws)
{
    if (ws == NULL) {
        return;
    }
    if (ws->wslay != NULL) {
        if (!ws->ended &&
            wslay_event_queue_close(ws->wslay, WSLAY_CODE_NORMAL_CLOSURE, NULL, 0) == 0) {
            wslay_event_send(ws->wslay);
        }
        wslay_event_context_free(ws->wslay);
    }
    close(ws->fd);
    buf_free(&ws->early);
    buf_free(&ws->close_frame);
    free(ws);
}

int websocket_fd(const struct websocket *ws)
{
    return ws->fd;
}

short websocket_poll_events(const struct websocket *ws)
{
    return (short)(POLLIN | (wslay_event_want_write(ws->wslay) ? POLLOUT : 0));
}

static int ended(const struct websocket *ws, struct error *e)
{
    if (ws->close_code == 1009 || wslay_event_get_status_code_sent(ws->wslay) == 1009) {
        return error_set(e, CHELA_E_TOO_LONG, "a message of the gateway is longer than %u bytes",
                         WEBSOCKET_MESSAGE_LIMIT);
    }
    if (ws->close_code != 0) {
        struct buf reason = {0};
        if (ws->close_frame.n > 2) {
            clean_append_line(&reason, ws->close_frame.p + 2, ws->close_frame.n - 2, 120);
        }
        error_set(e, CHELA_E_GONE, "the gateway closed the connection (%u%s%s)", ws->close_code,
                  reason.n > 0 ? ": " : "", buf_text(&reason));
        buf_free(&reason);
        return -1;
    }
    if (ws->failure != 0) {
        return error_set(e, CHELA_E_GONE, "the connection to the gateway broke: %s",
                         strerror(ws->failure));
    }
    return error_set(e, CHELA_E_GONE, "the gateway closed the connection");
}

int websocket_service(struct websocket *ws, struct error *e)
{
    int received = wslay_event_recv(ws->wslay);
    int sent = received == 0 ? wslay_event_send(ws->wslay) : 0;
    if (received != 0 || sent != 0 || ws->close_code != 0 ||
        wslay_event_get_close_received(ws->wslay) || wslay_event_get_close_sent(ws->wslay) ||
        !wslay_event_get_read_enabled(ws->wslay)) {
        wslay_event_send(ws->wslay); /* the close frame that answers */
        ws->ended = true;
        return ended(ws, e);
    }
    return 0;
}

int websocket_send(struct websocket *ws, const char *text, size_t length, struct error *e)
{
    struct wslay_event_msg message = {WSLAY_TEXT_FRAME, (const uint8_t *)text, length};
    if (ws->ended || wslay_event_queue_msg(ws->wslay, &message) != 0) {
        return ended(ws, e);
    }
    if (wslay_event_send(ws->wslay) != 0) {
        return ended(ws, e);
    }
    return 0;
}

unsigned websocket_close_code(const struct websocket *ws)
{
    return ws->close_code;
}
