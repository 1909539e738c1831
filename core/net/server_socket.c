/*
 * A WebSocket of the server: wslay over a descriptor that libmicrohttpd handed over. Output is
 * framed into one buffer and leaves once a pass; input is read while the descriptor has some, and
 * messages are told from the top of the loop. What handlers call only fills the struct; the end is
 * told in server_sockets_deliver(), after which the socket is given back.
 */
#include "net/server_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    DEFAULT_RECEIVE = 1 << 20,
    DEFAULT_SEND = 8 << 20,
    READ_BUDGET = 256 << 10, /* bytes of one socket in one pass */
    MESSAGES_MOST = 32,      /* after which no more is read: others are served between */
    LINGER_MS = 1000         /* so that the peer reads our close frame before the end */
};

enum socket_state {
    SOCKET_OPENING, /* `opened` wasn't called yet */
    SOCKET_OPEN,
    SOCKET_CLOSING, /* a close frame of ours is on its way; we wait for the peer's */
    SOCKET_LINGER,  /* said all; what still comes is dropped until the peer ends */
    SOCKET_ENDED    /* `closed` is to be called */
};

struct server_socket {
    struct server *server;
    struct MHD_UpgradeResponseHandle *handle;
    struct server_request *request; /* until `opened` was called */
    int fd;
    struct loop_watch *watch;
    wslay_event_context_ptr ws;
    enum socket_state state;
    unsigned code; /* how it ended */
    bool eof, failed, broken, above_half, tell_drained;
    struct buf extra; /* came with the request */
    struct buf out;
    size_t sent; /* bytes at the front of `out` that have gone */
    size_t budget;
    unsigned messages; /* in this pass */
    size_t send_limit;
    uint64_t ping_ms, timer, heard, pinged;
    const struct server_socket_handlers *handlers;
    void *arg;
    struct link link, flush, todo;
};

static void todo(struct server_socket *s)
{
    if (list_empty(&s->todo))
        list_append(&s->server->todo, &s->todo);
    server_schedule(s->server);
}

static void end(struct server_socket *s, unsigned code)
{
    if (s->state == SOCKET_ENDED)
        return;
    s->state = SOCKET_ENDED;
    if (!s->code)
        s->code = code;
    loop_unwatch(s->watch);
    s->watch = NULL;
    loop_timer_stop(s->timer);
    s->timer = 0;
    list_remove(&s->flush);
    todo(s);
}

static void linger_over(void *arg)
{
    struct server_socket *s = arg;
    s->timer = 0;
    end(s, WSLAY_CODE_ABNORMAL_CLOSURE);
}

static void start_timer(struct server_socket *s, uint64_t ms, loop_fn *fn)
{
    loop_timer_stop(s->timer);
    s->timer = loop_timer(ms, fn, s);
}

/* Input that nobody will read must not be watched: the poll would return at once, for ever. */
static void update_watch(struct server_socket *s)
{
    bool reads =
        s->state == SOCKET_LINGER || (!s->eof && !s->broken && wslay_event_get_read_enabled(s->ws));
    if (s->state != SOCKET_ENDED)
        loop_watch_change(s->watch, (reads ? CHELA_READABLE : 0u) |
                                        (s->out.n > s->sent ? CHELA_WRITABLE : 0u));
}

/* Output. */

static void mark_flush(struct server_socket *s)
{
    if (s->state == SOCKET_ENDED || !list_empty(&s->flush))
        return;
    list_append(&s->server->flush, &s->flush);
    loop_again();
}

static ssize_t ws_send(wslay_event_context_ptr ws, const uint8_t *p, size_t n, int flags, void *arg)
{
    struct server_socket *s = arg;
    (void)ws;
    (void)flags;
    buf_add(&s->out, p, n);
    mark_flush(s);
    return (ssize_t)n;
}

/* A frame that no peer may send (not masked, a long control frame ...): wslay would close without a
 * code, so the close frame is made here. */
static void bad_frame(struct server_socket *s)
{
    static const char frame[] = {(char)0x88, 2, WSLAY_CODE_PROTOCOL_ERROR >> 8,
                                 (char)(WSLAY_CODE_PROTOCOL_ERROR & 255)};
    s->code = s->code ? s->code : WSLAY_CODE_PROTOCOL_ERROR;
    s->broken = true;
    if (!wslay_event_get_close_sent(s->ws))
        buf_add(&s->out, frame, sizeof frame);
    mark_flush(s);
}

/* All was sent: is that the end? */
static void after_output(struct server_socket *s)
{
    if ((!wslay_event_get_close_sent(s->ws) && !s->broken) || s->state == SOCKET_LINGER)
        return;
    if (!s->code)
        s->code = wslay_event_get_status_code_sent(s->ws);
    if (wslay_event_get_close_received(s->ws)) {
        end(s, s->code);
    } else if (!wslay_event_get_read_enabled(s->ws)) {
        /* the peer broke the rules; closing now, with its bytes unread, would reset the connection
         * and take our close frame with it */
        s->state = SOCKET_LINGER;
        shutdown(s->fd, SHUT_WR);
        start_timer(s, LINGER_MS, linger_over);
    }
}

static void flush(struct server_socket *s)
{
    while (s->sent < s->out.n) {
        ssize_t n =
            send(s->fd, s->out.p + s->sent, s->out.n - s->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            end(s, WSLAY_CODE_ABNORMAL_CLOSURE);
            return;
        }
        s->sent += (size_t)n;
    }
    size_t waiting = s->out.n - s->sent;
    if (s->above_half && waiting <= s->send_limit / 2) {
        s->above_half = false;
        s->tell_drained = true;
        todo(s);
    }
    if (waiting) {
        if (s->sent >= s->out.n / 2) {
            buf_consume(&s->out, s->sent);
            s->sent = 0;
        }
    } else {
        s->sent = 0;
        buf_free(&s->out); /* an idle socket keeps no buffer */
        after_output(s);
    }
    update_watch(s);
}

void server_sockets_flush(struct server *server)
{
    while (!list_empty(&server->flush)) {
        struct server_socket *s = CONTAINER_OF(server->flush.next, struct server_socket, flush);
        list_remove(&s->flush);
        if (s->state != SOCKET_ENDED && s->watch)
            flush(s);
    }
}

/* Input. */

static ssize_t ws_receive(wslay_event_context_ptr ws, uint8_t *p, size_t n, int flags, void *arg)
{
    struct server_socket *s = arg;
    ssize_t got = -1;
    (void)flags;
    if (s->extra.n) {
        got = (ssize_t)(n < s->extra.n ? n : s->extra.n);
        memcpy(p, s->extra.p, (size_t)got);
        buf_consume(&s->extra, (size_t)got);
        return got;
    }
    if (s->budget > 0 && !s->eof) {
        do
            got = recv(s->fd, p, n, MSG_DONTWAIT);
        while (got < 0 && errno == EINTR);
        s->eof = got == 0;
        s->failed = got < 0 && errno != EAGAIN;
    }
    if (got > 0) {
        s->heard = clock_ticks_ms();
        s->budget -= (size_t)got < s->budget ? (size_t)got : s->budget;
        return got;
    }
    wslay_event_set_error(ws, WSLAY_ERR_WOULDBLOCK);
    return -1;
}

/* One byte is no code (RFC 6455, section 5.5.1); wslay would take it for none at all. */
static void ws_frame_begins(wslay_event_context_ptr ws,
                            const struct wslay_event_on_frame_recv_start_arg *f, void *arg)
{
    struct server_socket *s = arg;
    if (f->opcode != WSLAY_CONNECTION_CLOSE || f->payload_length != 1)
        return;
    s->code = s->code ? s->code : WSLAY_CODE_PROTOCOL_ERROR;
    wslay_event_queue_close(ws, WSLAY_CODE_PROTOCOL_ERROR, NULL, 0);
}

static void ws_message(wslay_event_context_ptr ws, const struct wslay_event_on_msg_recv_arg *m,
                       void *arg)
{
    struct server_socket *s = arg;
    (void)ws;
    if (m->opcode == WSLAY_CONNECTION_CLOSE) {
        if (!s->code)
            s->code = m->status_code ? m->status_code : WSLAY_CODE_NO_STATUS_RCVD;
    } else if (!wslay_is_ctrl_frame(m->opcode) && s->state == SOCKET_OPEN && s->handlers) {
        if (++s->messages >= MESSAGES_MOST)
            s->budget = 0;
        s->handlers->message(s->arg, s, chela_sn((const char *)m->msg, m->msg_length),
                             m->opcode == WSLAY_BINARY_FRAME);
    }
}

static void drop_input(struct server_socket *s)
{
    char rest[4096];
    for (int i = 0; i < 16; i++) {
        ssize_t n = recv(s->fd, rest, sizeof rest, MSG_DONTWAIT);
        if (n > 0)
            continue;
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            end(s, WSLAY_CODE_ABNORMAL_CLOSURE);
        return;
    }
}

static void read_input(struct server_socket *s)
{
    s->budget = READ_BUDGET;
    s->messages = 0;
    int result = s->broken ? 0 : wslay_event_recv(s->ws);
    if (s->state == SOCKET_ENDED)
        return;
    if (s->failed || (s->eof && !wslay_event_get_close_received(s->ws)))
        end(s, WSLAY_CODE_ABNORMAL_CLOSURE);
    else if (result != 0)
        bad_frame(s);
    else if (!s->broken && wslay_event_send(s->ws) == 0 && s->out.n == s->sent) /* pongs, a close */
        after_output(s);
}

static void socket_ready(uint32_t events, void *arg)
{
    struct server_socket *s = arg;
    if (events & CHELA_WRITABLE)
        mark_flush(s);
    if (!(events & CHELA_READABLE))
        return;
    if (s->state == SOCKET_LINGER)
        drop_input(s);
    else
        read_input(s);
    update_watch(s);
}

/* Pings. */

static void ping(void *arg)
{
    struct server_socket *s = arg;
    struct wslay_event_msg message = {.opcode = WSLAY_PING};
    uint64_t now = clock_ticks_ms(), age = now - s->pinged, next;
    bool answered = !s->pinged || s->heard >= s->pinged;
    s->timer = 0;
    if (!answered && age >= SERVER_PONG_MS) {
        log_debug("server", "a WebSocket answers no ping, closing");
        end(s, WSLAY_CODE_ABNORMAL_CLOSURE);
        return;
    }
    if (!answered) {
        next = SERVER_PONG_MS - age;
    } else if (s->pinged && age < s->ping_ms) {
        next = s->ping_ms - age;
    } else {
        s->pinged = now;
        wslay_event_queue_msg(s->ws, &message);
        wslay_event_send(s->ws);
        next = s->ping_ms < SERVER_PONG_MS ? s->ping_ms : SERVER_PONG_MS;
    }
    start_timer(s, next, ping);
}

/* Beginning and end. */

struct server_socket *server_socket_new(struct server *server,
                                        struct MHD_UpgradeResponseHandle *handle, int fd,
                                        const char *extra, size_t extra_size,
                                        struct server_request *r)
{
    static const struct wslay_event_callbacks callbacks = {.recv_callback = ws_receive,
                                                           .send_callback = ws_send,
                                                           .on_frame_recv_start_callback =
                                                               ws_frame_begins,
                                                           .on_msg_recv_callback = ws_message};
    struct server_socket *s = xcalloc(1, sizeof *s);
    int on = 1;
    s->server = server;
    s->handle = handle;
    s->request = r;
    s->fd = fd;
    s->send_limit = DEFAULT_SEND;
    s->heard = clock_ticks_ms();
    buf_add(&s->extra, extra, extra_size);
    list_init(&s->flush);
    list_init(&s->todo);
    list_append(&server->sockets, &s->link);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (wslay_event_context_server_init(&s->ws, &callbacks, s) != 0)
        abort();
    wslay_event_config_set_max_recv_msg_length(s->ws, DEFAULT_RECEIVE);
    todo(s);
    return s;
}

static void tell_opened(struct server_socket *s)
{
    struct server *server = s->server;
    struct server_request *r = s->request;
    s->request = NULL;
    s->state = SOCKET_OPEN;
    s->watch = loop_watch(s->fd, CHELA_READABLE, socket_ready, s);
    r->held = false;
    server->handlers.opened(server->arg, s, &r->head);
    free(r->block); /* the struct itself goes when the connection ends */
    r->block = NULL;
    r->header_count = 0;
    if (!s->handlers)
        server_socket_close(s, WSLAY_CODE_INTERNAL_SERVER_ERROR, "nobody is here");
    if (s->state != SOCKET_ENDED)
        read_input(s);
    if (server->closing)
        server_socket_close(s, WSLAY_CODE_GOING_AWAY, "going away");
}

static void give_back(struct server_socket *s)
{
    list_remove(&s->link);
    list_remove(&s->todo);
    if (s->handlers)
        s->handlers->closed(s->arg, s, s->code);
    MHD_upgrade_action(s->handle, MHD_UPGRADE_ACTION_CLOSE);
    s->server->run_needed = true;
    wslay_event_context_free(s->ws);
    buf_free(&s->out);
    buf_free(&s->extra);
    free(s);
}

void server_sockets_deliver(struct server *server)
{
    struct link now;
    list_init(&now);
    while (!list_empty(&server->todo)) {
        struct link *l = server->todo.next;
        list_remove(l);
        list_append(&now, l);
    }
    while (!list_empty(&now)) {
        struct server_socket *s = CONTAINER_OF(now.next, struct server_socket, todo);
        list_remove(&s->todo);
        if (s->request)
            tell_opened(s);
        if (s->tell_drained && s->state != SOCKET_ENDED) {
            s->tell_drained = false;
            if (s->handlers && s->handlers->drained)
                s->handlers->drained(s->arg, s);
        }
        if (s->state == SOCKET_ENDED)
            give_back(s);
    }
}

void server_sockets_close(struct server *server)
{
    LIST_EACH(l, &server->sockets)
    {
        struct server_socket *s = CONTAINER_OF(l, struct server_socket, link);
        if (s->state != SOCKET_OPENING)
            server_socket_close(s, WSLAY_CODE_GOING_AWAY, "going away");
    }
}

void server_sockets_cut(struct server *server)
{
    LIST_EACH(l, &server->sockets)
    {
        struct server_socket *s = CONTAINER_OF(l, struct server_socket, link);
        if (s->state != SOCKET_OPENING)
            end(s, WSLAY_CODE_ABNORMAL_CLOSURE);
    }
}

/* What handlers call. */

void server_socket_attach(struct server_socket *s, const struct server_socket_handlers *handlers,
                          void *arg)
{
    s->handlers = handlers;
    s->arg = arg;
}

void server_socket_limits(struct server_socket *s, size_t receive_limit, size_t send_limit,
                          uint64_t ping_ms)
{
    wslay_event_config_set_max_recv_msg_length(s->ws, receive_limit);
    s->send_limit = send_limit;
    s->ping_ms = ping_ms;
    if (s->state != SOCKET_OPEN)
        return;
    loop_timer_stop(s->timer);
    s->timer = ping_ms ? loop_timer(ping_ms, ping, s) : 0;
}

void server_socket_send(struct server_socket *s, struct chela_str text)
{
    struct wslay_event_msg message = {
        .opcode = WSLAY_TEXT_FRAME, .msg = (const uint8_t *)text.s, .msg_length = text.n};
    if (s->state != SOCKET_OPEN || wslay_event_queue_msg(s->ws, &message) != 0)
        return;
    wslay_event_send(s->ws);
    size_t waiting = s->out.n - s->sent;
    if (waiting > s->send_limit) {
        log_debug("server", "a WebSocket's client is too slow, closing");
        end(s, WSLAY_CODE_POLICY_VIOLATION);
    } else if (waiting > s->send_limit / 2) {
        s->above_half = true;
    }
}

size_t server_socket_waiting(const struct server_socket *s)
{
    return s->out.n - s->sent;
}

void server_socket_close(struct server_socket *s, unsigned code, const char *reason)
{
    size_t n = reason ? strlen(reason) : 0;
    if (s->state != SOCKET_OPEN)
        return;
    s->state = SOCKET_CLOSING;
    s->code = code;
    wslay_event_queue_close(s->ws, (uint16_t)code, (const uint8_t *)reason, n > 123 ? 123 : n);
    wslay_event_send(s->ws);
    start_timer(s, SERVER_CLOSE_MS, linger_over);
}
