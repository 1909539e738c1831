/*
 * WebSockets to servers: a libcurl handle with CONNECT_ONLY gives the byte stream (it stays in the
 * multi for life: removed, it could no longer send), wslay the frames. libcurl's callbacks only
 * write; what is due is done in before_poll(). The descriptor is watched here once libcurl has
 * connected, and read until it says "again": TLS may hold bytes that the socket does not show.
 */
#include "net/ws_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <chela/local.h>
#include <wslay/wslay.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/loop.h"
#include "net/http_private.h"
#include "net/ws_handshake.h"

enum {
    CONNECT_MS = 30 * 1000,
    CLOSE_MS = 5 * 1000,
    PONG_MS = 25 * 1000,
    LIMIT = 16 << 20,
    SEND_LIMIT = 16 << 20,
    READ_BUDGET = 256 << 10,
    REFUSAL_LIMIT = 64 << 10
};

enum ws_state {
    WS_NEW,        /* not begun */
    WS_CONNECTING, /* libcurl is at work */
    WS_SHAKING,    /* the request is on its way, or its answer */
    WS_OPEN,
    WS_CLOSING, /* a close frame is on its way, or the peer's is awaited */
    WS_ENDED    /* done is due */
};

struct ws {
    uint64_t id;
    const struct ws_ops *ops;
    void *owner;
    enum ws_state state;
    CURL *easy;
    struct multi_user user;
    char error_text[CURL_ERROR_SIZE];
    struct ws_request request; /* owned copies */
    char *url;                 /* filled in, http or https */
    char key[WS_KEY_SIZE];
    struct loop_watch *watch;
    wslay_event_context_ptr frames;
    struct buf in; /* the head, and what came behind it */
    struct buf out;
    size_t sent, budget;
    bool connected, readable, want_write, eof, again; /* again: the read budget ran out */
    bool told_close;
    CURLcode result;
    struct error error; /* why it ends; class 0: by handshake */
    unsigned status;
    uint64_t timer, ping_timer, heard, pinged;
    struct link link, work;
};

static struct {
    struct map by_id;
    struct link all, work, blocked;
    uint64_t last_id;
} pool;

static void work(struct ws *w)
{
    list_remove(&w->work);
    list_append(&pool.work, &w->work);
    loop_again();
}

static void fail(struct ws *w, uint32_t class, const char *text)
{
    if (w->state == WS_ENDED)
        return;
    w->state = WS_ENDED;
    error_set(&w->error, class, "%s", text);
    w->error.retry = class == CHELA_E_NETWORK || class == CHELA_E_TIMEOUT;
    work(w);
}

static void end_well(struct ws *w)
{
    if (w->state == WS_ENDED)
        return;
    w->state = WS_ENDED;
    work(w);
}

static void tell(struct ws *w, uint32_t kind, uint32_t code, struct chela_str data)
{
    struct chela_ws_event e = {
        .h.size = sizeof e, .h.call = w->id, .kind = kind, .code = code, .data = data};
    if (w->ops && w->ops->event)
        w->ops->event(w->owner, w->id, &e);
}

/* Deadlines. */

static void connect_late(void *arg)
{
    struct ws *w = arg;
    w->timer = 0;
    fail(w, CHELA_E_TIMEOUT, "the WebSocket did not open in time");
}

static void close_late(void *arg)
{
    struct ws *w = arg;
    w->timer = 0;
    end_well(w); /* we closed; that the peer never answered changes nothing */
}

static void start_timer(struct ws *w, uint64_t ms, loop_fn *fn)
{
    loop_timer_stop(w->timer);
    w->timer = loop_timer(ms, fn, w);
}

static void ping(void *arg)
{
    struct ws *w = arg;
    struct wslay_event_msg message = {.opcode = WSLAY_PING};
    uint64_t now = clock_ticks_ms(), age = now - w->pinged, next;
    bool answered = !w->pinged || w->heard >= w->pinged;
    w->ping_timer = 0;
    if (!answered && age >= PONG_MS) {
        fail(w, CHELA_E_NETWORK, "the WebSocket's server answers no ping");
        return;
    }
    if (!answered) {
        next = PONG_MS - age;
    } else if (w->pinged && age < w->request.ping_ms) {
        next = w->request.ping_ms - age;
    } else {
        w->pinged = now;
        wslay_event_queue_msg(w->frames, &message);
        work(w);
        next = w->request.ping_ms < PONG_MS ? w->request.ping_ms : PONG_MS;
    }
    w->ping_timer = loop_timer(next, ping, w);
}

/* Bytes. */

static void socket_ready(uint32_t events, void *arg)
{
    struct ws *w = arg;
    w->readable = w->readable || (events & CHELA_READABLE);
    work(w);
}

/* Reads up to n bytes: 0 = none now. */
static size_t receive(struct ws *w, void *p, size_t n)
{
    size_t got = 0;
    if (w->eof || w->budget == 0) {
        w->again = !w->eof;
        return 0;
    }
    CURLcode result = curl_easy_recv(w->easy, p, n, &got);
    if (result == CURLE_AGAIN) {
        w->readable = false;
        return 0;
    }
    if (result != CURLE_OK || got == 0) {
        w->eof = true;
        return 0;
    }
    w->heard = clock_ticks_ms();
    w->budget -= got < w->budget ? got : w->budget;
    return got;
}

static void flush(struct ws *w)
{
    w->want_write = false;
    while (w->sent < w->out.n) {
        size_t n = 0;
        CURLcode result = curl_easy_send(w->easy, w->out.p + w->sent, w->out.n - w->sent, &n);
        if (result == CURLE_AGAIN || (result == CURLE_OK && n == 0)) {
            w->want_write = true;
            break;
        }
        if (result != CURLE_OK) {
            w->eof = true; /* what the peer still said is read first */
            buf_clear(&w->out);
            w->sent = 0;
            return;
        }
        w->sent += n;
    }
    if (w->sent >= w->out.n / 2 && w->sent) {
        buf_consume(&w->out, w->sent);
        w->sent = 0;
    }
    if (!w->out.n)
        buf_free(&w->out);
}

static ssize_t frame_send(wslay_event_context_ptr c, const uint8_t *p, size_t n, int flags,
                          void *arg)
{
    struct ws *w = arg;
    (void)c;
    (void)flags;
    buf_add(&w->out, p, n);
    return (ssize_t)n;
}

static ssize_t frame_receive(wslay_event_context_ptr c, uint8_t *p, size_t n, int flags, void *arg)
{
    struct ws *w = arg;
    size_t got;
    (void)flags;
    if (w->in.n) { /* came behind the head */
        got = n < w->in.n ? n : w->in.n;
        memcpy(p, w->in.p, got);
        buf_consume(&w->in, got);
    } else {
        got = receive(w, p, n);
    }
    if (got)
        return (ssize_t)got;
    wslay_event_set_error(c, WSLAY_ERR_WOULDBLOCK);
    return -1;
}

static int frame_mask(wslay_event_context_ptr c, uint8_t *p, size_t n, void *arg)
{
    (void)c;
    (void)arg;
    id_bytes(p, n);
    return 0;
}

static void tell_close(struct ws *w, unsigned code, struct chela_str reason)
{
    if (!w->told_close)
        tell(w, CHELA_WS_CLOSE, code, reason);
    w->told_close = true;
}

static void frame_message(wslay_event_context_ptr c, const struct wslay_event_on_msg_recv_arg *m,
                          void *arg)
{
    struct ws *w = arg;
    struct chela_str data = chela_sn((const char *)m->msg, m->msg_length);
    (void)c;
    if (w->state == WS_ENDED)
        return;
    if (m->opcode == WSLAY_TEXT_FRAME) {
        struct buf text = {0}; /* with a NUL behind it */
        buf_str(&text, data);
        tell(w, CHELA_WS_TEXT, 0, buf_view(&text));
        buf_free(&text);
    } else if (m->opcode == WSLAY_BINARY_FRAME) {
        tell(w, CHELA_WS_BYTES, 0, data);
    } else if (m->opcode == WSLAY_PONG) {
        tell(w, CHELA_WS_PONG, 0, data);
    } else if (m->opcode == WSLAY_CONNECTION_CLOSE) {
        struct chela_str reason = data.n > 2 ? chela_sn(data.s + 2, data.n - 2) : chela_s("");
        tell_close(w, m->status_code ? m->status_code : WSLAY_CODE_NO_STATUS_RCVD, reason);
    }
}

/* Steps of the way. */

static void connected(void *arg, CURLcode result)
{
    struct ws *w = arg;
    w->connected = true;
    w->result = result;
    work(w);
}

static void begin(struct ws *w)
{
    struct error e = {0};
    struct buf filled = {0};
    char *plain = NULL;
    w->state = WS_CONNECTING;
    if (w->request.fill ? w->request.fill(w->request.fill_arg, w->request.url,
                                          chela_s(w->request.url), &filled, &e) != 0
                        : (buf_puts(&filled, w->request.url), 0))
        goto out;
    plain = ws_handshake_url(buf_text(&filled), &e);
    if (!plain)
        goto out;
    w->url = plain;
    w->easy = multi_handle_new();
    w->user.finished = connected;
    w->user.arg = w;
    curl_easy_setopt(w->easy, CURLOPT_PRIVATE, &w->user);
    curl_easy_setopt(w->easy, CURLOPT_ERRORBUFFER, w->error_text);
    curl_easy_setopt(w->easy, CURLOPT_URL, plain);
    curl_easy_setopt(w->easy, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(w->easy, CURLOPT_HTTP_VERSION,
                     (long)CURL_HTTP_VERSION_1_1); /* no h2 by ALPN */
    curl_easy_setopt(w->easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
    curl_easy_setopt(w->easy, CURLOPT_FRESH_CONNECT, 1L);
    if (multi_add(w->easy) != 0)
        error_set(&e, CHELA_E_OTHER, "libcurl refuses the WebSocket");
out:
    buf_free(&filled);
    if (e.class)
        fail(w, e.class, e.text);
}

/* libcurl has connected: our request goes out. */
static void shake(struct ws *w)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    struct error e = {0};
    w->connected = false;
    if (w->result != CURLE_OK) {
        bool retry;
        fail(w, answer_curl_class(w->result, &retry),
             *w->error_text ? w->error_text : curl_easy_strerror(w->result));
        return;
    }
    curl_easy_getinfo(w->easy, CURLINFO_ACTIVESOCKET, &fd);
    w->watch = fd == CURL_SOCKET_BAD ? NULL : loop_watch(fd, CHELA_READABLE, socket_ready, w);
    if (!w->watch) {
        fail(w, CHELA_E_NETWORK, "the connection was lost");
        return;
    }
    ws_handshake_key(w->key);
    if (ws_handshake_request(&w->request, w->url, w->key, &w->out, &e) != 0) {
        fail(w, e.class, e.text);
        return;
    }
    w->state = WS_SHAKING;
    w->readable = true;
}

static void opened(struct ws *w, const struct ws_answer *a)
{
    static const struct wslay_event_callbacks callbacks = {.recv_callback = frame_receive,
                                                           .send_callback = frame_send,
                                                           .genmask_callback = frame_mask,
                                                           .on_msg_recv_callback = frame_message};
    if (wslay_event_context_client_init(&w->frames, &callbacks, w) != 0)
        abort();
    wslay_event_config_set_max_recv_msg_length(w->frames,
                                               w->request.limit ? w->request.limit : LIMIT);
    buf_consume(&w->in, a->head_length);
    w->state = WS_OPEN;
    w->readable = true;
    loop_timer_stop(w->timer);
    w->timer = 0;
    if (w->request.ping_ms)
        w->ping_timer = loop_timer(w->request.ping_ms, ping, w);
    tell(w, CHELA_WS_OPEN, 0, chela_s(a->protocol));
}

static void refused(struct ws *w, const struct ws_answer *a)
{
    bool retry;
    uint32_t class = http_class(a->status, &retry);
    CLEANUP(freep)
    char *text = xprintf("the server refuses the WebSocket with status %u: %.*s", a->status,
                         (int)(w->in.n - a->head_length < 400 ? w->in.n - a->head_length : 400),
                         w->in.p + a->head_length);
    w->status = a->status;
    fail(w, class == CHELA_OK ? (uint32_t)CHELA_E_PROTOCOL : class, text);
    w->error.retry = retry;
}

static void read_answer(struct ws *w)
{
    struct ws_answer a;
    struct error e = {0};
    char piece[4096];
    size_t n;
    while ((n = receive(w, piece, sizeof piece)))
        buf_add(&w->in, piece, n);
    int result =
        w->in.n ? ws_handshake_answer(buf_view(&w->in), w->key, w->request.protocols, &a, &e) : 0;
    if (result < 0)
        fail(w, e.class, e.text);
    else if (result == 1 && a.status == 101)
        opened(w, &a);
    else if (result == 1 &&
             (w->eof || w->in.n - a.head_length >= a.body_length || w->in.n > REFUSAL_LIMIT))
        refused(w, &a);
    else if (w->eof)
        fail(w, CHELA_E_NETWORK, "the connection was lost during the handshake");
}

/* Frames in, frames out, and whether that was all. */
static void exchange(struct ws *w)
{
    int result = 0;
    if (w->readable || w->in.n)
        result = wslay_event_recv(w->frames);
    if (w->state == WS_ENDED)
        return;
    wslay_event_send(w->frames);
    if (result != 0 && !w->eof) {
        tell_close(w, WSLAY_CODE_PROTOCOL_ERROR, chela_s(""));
        fail(w, CHELA_E_PROTOCOL, "the server broke the rules of WebSocket");
        return;
    }
    flush(w);
    bool sent = wslay_event_get_close_sent(w->frames) && !w->out.n;
    bool received = wslay_event_get_close_received(w->frames);
    if ((sent && received) || (received && w->eof)) {
        end_well(w);
    } else if (sent && !wslay_event_get_read_enabled(w->frames)) {
        unsigned code = wslay_event_get_status_code_sent(w->frames);
        tell_close(w, code, chela_s(""));
        fail(w, code == WSLAY_CODE_MESSAGE_TOO_BIG ? CHELA_E_TOO_LONG : CHELA_E_PROTOCOL,
             code == WSLAY_CODE_MESSAGE_TOO_BIG ? "the server sent a message that is too long"
                                                : "the server broke the rules of WebSocket");
    } else if (w->eof) {
        tell_close(w, WSLAY_CODE_ABNORMAL_CLOSURE, chela_s(""));
        fail(w, CHELA_E_NETWORK, "the connection was lost");
    }
}

static void ws_free(struct ws *w)
{
    loop_timer_stop(w->timer);
    loop_timer_stop(w->ping_timer);
    loop_unwatch(w->watch); /* before libcurl closes the descriptor */
    if (w->frames)
        wslay_event_context_free(w->frames);
    if (w->easy) {
        multi_remove(w->easy);
        curl_easy_cleanup(w->easy);
    }
    map_remove_number(&pool.by_id, w->id);
    list_remove(&w->link);
    list_remove(&w->work);
    for (uint64_t i = 0; i < w->request.headers.n; i++) {
        free((void *)(uintptr_t)w->request.headers.v[i].name.s);
        free((void *)(uintptr_t)w->request.headers.v[i].value.s);
    }
    free((void *)(uintptr_t)w->request.headers.v);
    free((void *)(uintptr_t)w->request.url);
    free((void *)(uintptr_t)w->request.protocols);
    if (w->url)
        explicit_bzero(w->url, strlen(w->url));
    free(w->url);
    buf_free(&w->in);
    buf_free(&w->out);
    free(w);
}

static void finish(struct ws *w)
{
    struct chela_done d = {.h.size = sizeof d, .h.call = w->id, .http_status = w->status};
    d.error = w->error.class;
    d.text = chela_s(w->error.class ? w->error.text : "");
    d.h.flags = w->error.retry ? (uint32_t)CHELA_RETRY : 0;
    map_remove_number(&pool.by_id, w->id);
    if (w->ops)
        w->ops->done(w->owner, w->id, &d);
    ws_free(w);
}

static bool has_room(const struct ws *w)
{
    return !w->ops || !w->ops->room || w->ops->room(w->owner);
}

/* Does what is due; false: the consumer has no room. */
static bool step(struct ws *w)
{
    bool room = true;
    w->budget = READ_BUDGET;
    w->again = false;
    if (w->state == WS_NEW)
        begin(w);
    if (w->state == WS_CONNECTING && w->connected)
        shake(w);
    if (w->state == WS_SHAKING) {
        flush(w);
        read_answer(w);
    }
    if (w->state == WS_OPEN || w->state == WS_CLOSING) {
        room = has_room(w);
        w->budget = room ? READ_BUDGET : 0;
        exchange(w);
    }
    if (w->state == WS_ENDED) {
        finish(w);
        return true;
    }
    if (w->watch)
        loop_watch_change(w->watch,
                          (room ? CHELA_READABLE : 0u) | (w->want_write ? CHELA_WRITABLE : 0u));
    if (room && w->again)
        work(w);
    return room;
}

static bool before_poll(void)
{
    struct link now;
    list_init(&now);
    for (int i = 0; i < 2; i++) {
        struct link *from = i ? &pool.work : &pool.blocked;
        while (!list_empty(from)) {
            struct link *l = from->next;
            list_remove(l);
            list_append(&now, l);
        }
    }
    while (!list_empty(&now)) {
        struct ws *w = CONTAINER_OF(now.next, struct ws, work);
        list_remove(&w->work);
        if (!step(w) && list_empty(&w->work))
            list_append(&pool.blocked, &w->work);
    }
    return !list_empty(&pool.work);
}

/* What others call. */

void ws_open(void)
{
    list_init(&pool.all);
    list_init(&pool.work);
    list_init(&pool.blocked);
    loop_before_poll(before_poll);
}

void ws_close(void)
{
    LIST_EACH(l, &pool.all)
    {
        ws_free(CONTAINER_OF(l, struct ws, link));
    }
    map_free(&pool.by_id, NULL);
    memset(&pool.by_id, 0, sizeof pool.by_id);
}

uint64_t ws_connect(const struct ws_request *r, const struct ws_ops *ops, void *owner)
{
    struct ws *w = xcalloc(1, sizeof *w);
    struct chela_pair *headers = xcalloc(r->headers.n + 1, sizeof *headers);
    for (uint64_t i = 0; i < r->headers.n; i++) {
        const struct chela_pair *from = &r->headers.v[i];
        headers[i].name.s = xmemdup(from->name.s, from->name.n);
        headers[i].name.n = from->name.n;
        headers[i].value.s = xmemdup(from->value.s, from->value.n);
        headers[i].value.n = from->value.n;
    }
    w->id = ++pool.last_id;
    w->ops = ops;
    w->owner = owner;
    w->request = *r;
    w->request.url = xstrdup(r->url);
    w->request.protocols = xstrdup(r->protocols);
    w->request.headers.v = headers;
    w->heard = clock_ticks_ms();
    list_init(&w->work);
    list_append(&pool.all, &w->link);
    map_set_number(&pool.by_id, w->id, w);
    start_timer(w, r->timeout_ms ? r->timeout_ms : CONNECT_MS, connect_late);
    work(w);
    return w->id;
}

void ws_send(uint64_t id, uint32_t kind, uint32_t code, struct chela_str data)
{
    struct ws *w = map_get_number(&pool.by_id, id);
    if (!w || w->state != WS_OPEN)
        return;
    if (kind == CHELA_WS_CLOSE) {
        w->state = WS_CLOSING;
        start_timer(w, CLOSE_MS, close_late);
        wslay_event_queue_close(w->frames, (uint16_t)code, (const uint8_t *)data.s,
                                data.n > 123 ? 123 : data.n);
    } else {
        struct wslay_event_msg message = {.opcode = kind == CHELA_WS_BYTES ? WSLAY_BINARY_FRAME
                                                                           : WSLAY_TEXT_FRAME,
                                          .msg = (const uint8_t *)data.s,
                                          .msg_length = data.n};
        if (wslay_event_queue_msg(w->frames, &message) == 0)
            wslay_event_send(w->frames);
        if (w->out.n - w->sent > SEND_LIMIT)
            fail(w, CHELA_E_TOO_LONG, "the WebSocket's server takes too little of what is sent");
    }
    work(w);
}

void ws_cancel(uint64_t id)
{
    struct ws *w = map_get_number(&pool.by_id, id);
    if (!w)
        return;
    if (w->state == WS_OPEN) { /* said politely, not waited for */
        wslay_event_queue_close(w->frames, WSLAY_CODE_GOING_AWAY, NULL, 0);
        wslay_event_send(w->frames);
        flush(w);
    }
    fail(w, CHELA_E_CANCELLED, "cancelled");
}

void ws_forget(uint64_t id)
{
    struct ws *w = map_get_number(&pool.by_id, id);
    if (!w)
        return;
    w->ops = NULL;
    ws_cancel(id);
}
