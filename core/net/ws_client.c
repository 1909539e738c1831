/*
 * WebSockets to servers: a libcurl handle with CONNECT_ONLY gives the byte stream (it stays in the
 * multi for life: removed, it could no longer send), wslay the frames. libcurl's callbacks only
 * write; what is due is done in before_poll(). The descriptor is watched here once libcurl has
 * connected, and read until it says "again": TLS may hold bytes that the socket does not show.
 */
#include "net/ws_private.h"

#include <stdlib.h>
#include <string.h>

#include <chela/local.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/worklist.h"

static struct {
    struct map by_id;
    struct link all;
    struct worklist work;
    uint64_t last_id;
} pool;

void ws_work(struct ws *w)
{
    worklist_add(&pool.work, &w->work);
}

void ws_fail(struct ws *w, uint32_t class, const char *text)
{
    if (w->state == WS_ENDED)
        return;
    w->state = WS_ENDED;
    error_set(&w->error, class, "%s", text);
    w->error.retry = class == CHELA_E_NETWORK || class == CHELA_E_TIMEOUT;
    ws_work(w);
}

void ws_end(struct ws *w)
{
    if (w->state == WS_ENDED)
        return;
    w->state = WS_ENDED;
    ws_work(w);
}

void ws_tell(struct ws *w, uint32_t kind, uint32_t code, struct chela_str data)
{
    struct chela_ws_event e = {
        .h.size = sizeof e, .h.call = w->id, .kind = kind, .code = code, .data = data};
    if (w->ops && w->ops->event)
        w->ops->event(w->owner, w->id, &e);
}

void ws_tell_close(struct ws *w, unsigned code, struct chela_str reason)
{
    if (!w->told_close)
        ws_tell(w, CHELA_WS_CLOSE, code, reason);
    w->told_close = true;
}

/* Deadlines. */

static void connect_late(void *arg)
{
    struct ws *w = arg;
    w->timer = 0;
    ws_fail(w, CHELA_E_TIMEOUT, "the WebSocket did not open in time");
}

static void close_late(void *arg)
{
    struct ws *w = arg;
    w->timer = 0;
    ws_end(w); /* we closed; that the peer never answered changes nothing */
}

static void start_timer(struct ws *w, uint64_t ms, loop_fn *fn)
{
    loop_timer_stop(w->timer);
    w->timer = loop_timer(ms, fn, w);
}

void ws_ping(void *arg)
{
    struct ws *w = arg;
    struct wslay_event_msg message = {.opcode = WSLAY_PING};
    uint64_t now = clock_ticks_ms(), age = now - w->pinged, next;
    bool answered = !w->pinged || w->heard >= w->pinged;
    w->ping_timer = 0;
    if (!answered && age >= WS_PONG_MS) {
        ws_fail(w, CHELA_E_NETWORK, "the WebSocket's server answers no ping");
        return;
    }
    if (!answered) {
        next = WS_PONG_MS - age;
    } else if (w->pinged && age < w->request.ping_ms) {
        next = w->request.ping_ms - age;
    } else {
        w->pinged = now;
        wslay_event_queue_msg(w->frames, &message);
        ws_work(w);
        next = w->request.ping_ms < WS_PONG_MS ? w->request.ping_ms : WS_PONG_MS;
    }
    w->ping_timer = loop_timer(next, ws_ping, w);
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
static bool step(struct link *work)
{
    struct ws *w = CONTAINER_OF(work, struct ws, work);
    bool room = true;
    w->budget = WS_READ_BUDGET;
    w->again = false;
    if (w->state == WS_NEW)
        ws_begin(w);
    if (w->state == WS_CONNECTING && w->connected)
        ws_shake(w);
    if (w->state == WS_SHAKING) {
        ws_flush(w);
        ws_read_answer(w);
    }
    if (w->state == WS_OPEN || w->state == WS_CLOSING) {
        room = has_room(w);
        w->budget = room ? WS_READ_BUDGET : 0;
        ws_exchange(w);
    }
    if (w->state == WS_ENDED) {
        finish(w);
        return true;
    }
    if (w->watch)
        loop_watch_change(w->watch,
                          (room ? CHELA_READABLE : 0u) | (w->want_write ? CHELA_WRITABLE : 0u));
    if (room && w->again)
        ws_work(w);
    return room;
}

static bool before_poll(void)
{
    return worklist_run(&pool.work, step);
}

/* What others call. */

void ws_open(void)
{
    list_init(&pool.all);
    worklist_open(&pool.work);
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
    start_timer(w, r->timeout_ms ? r->timeout_ms : WS_CONNECT_MS, connect_late);
    ws_work(w);
    return w->id;
}

void ws_send(uint64_t id, uint32_t kind, uint32_t code, struct chela_str data)
{
    struct ws *w = map_get_number(&pool.by_id, id);
    if (!w || w->state != WS_OPEN)
        return;
    if (kind == CHELA_WS_CLOSE) {
        w->state = WS_CLOSING;
        start_timer(w, WS_CLOSE_MS, close_late);
        wslay_event_queue_close(w->frames, (uint16_t)code, (const uint8_t *)data.s,
                                data.n > 123 ? 123 : data.n);
    } else {
        struct wslay_event_msg message = {.opcode = kind == CHELA_WS_BYTES ? WSLAY_BINARY_FRAME
                                                                           : WSLAY_TEXT_FRAME,
                                          .msg = (const uint8_t *)data.s,
                                          .msg_length = data.n};
        if (wslay_event_queue_msg(w->frames, &message) == 0)
            wslay_event_send(w->frames);
        if (w->out.n - w->sent > WS_SEND_LIMIT)
            ws_fail(w, CHELA_E_TOO_LONG, "the WebSocket's server takes too little of what is sent");
    }
    ws_work(w);
}

void ws_cancel(uint64_t id)
{
    struct ws *w = map_get_number(&pool.by_id, id);
    if (!w)
        return;
    if (w->state == WS_OPEN) { /* said politely, not waited for */
        wslay_event_queue_close(w->frames, WSLAY_CODE_GOING_AWAY, NULL, 0);
        wslay_event_send(w->frames);
        ws_flush(w);
    }
    ws_fail(w, CHELA_E_CANCELLED, "cancelled");
}

void ws_forget(uint64_t id)
{
    struct ws *w = map_get_number(&pool.by_id, id);
    if (!w)
        return;
    w->ops = NULL;
    ws_cancel(id);
}
