/*
 * Bytes and frames of a WebSocket to a server. Read until libcurl says "again": TLS may hold bytes
 * that the socket does not show. Called by ws_client.c from the top of the loop.
 */
#include "net/ws_private.h"

#include <string.h>

#include "base/clock.h"
#include "base/id.h"

/* Reads up to n bytes: 0 = none now. */
size_t ws_receive(struct ws *w, void *p, size_t n)
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

void ws_flush(struct ws *w)
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
        got = ws_receive(w, p, n);
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
        ws_tell(w, CHELA_WS_TEXT, 0, buf_view(&text));
        buf_free(&text);
    } else if (m->opcode == WSLAY_BINARY_FRAME) {
        ws_tell(w, CHELA_WS_BYTES, 0, data);
    } else if (m->opcode == WSLAY_PONG) {
        ws_tell(w, CHELA_WS_PONG, 0, data);
    } else if (m->opcode == WSLAY_CONNECTION_CLOSE) {
        struct chela_str reason = data.n > 2 ? chela_sn(data.s + 2, data.n - 2) : chela_s("");
        ws_tell_close(w, m->status_code ? m->status_code : WSLAY_CODE_NO_STATUS_RCVD, reason);
    }
}

const struct wslay_event_callbacks ws_callbacks = {.recv_callback = frame_receive,
                                                   .send_callback = frame_send,
                                                   .genmask_callback = frame_mask,
                                                   .on_msg_recv_callback = frame_message};

void ws_exchange(struct ws *w)
{
    int result = 0;
    if (w->readable || w->in.n)
        result = wslay_event_recv(w->frames);
    if (w->state == WS_ENDED)
        return;
    wslay_event_send(w->frames);
    if (result != 0 && !w->eof) {
        ws_tell_close(w, WSLAY_CODE_PROTOCOL_ERROR, chela_s(""));
        ws_fail(w, CHELA_E_PROTOCOL, "the server broke the rules of WebSocket");
        return;
    }
    ws_flush(w);
    bool sent = wslay_event_get_close_sent(w->frames) && !w->out.n;
    bool received = wslay_event_get_close_received(w->frames);
    if ((sent && received) || (received && w->eof)) {
        ws_end(w);
    } else if (sent && !wslay_event_get_read_enabled(w->frames)) {
        unsigned code = wslay_event_get_status_code_sent(w->frames);
        ws_tell_close(w, code, chela_s(""));
        ws_fail(w, code == WSLAY_CODE_MESSAGE_TOO_BIG ? CHELA_E_TOO_LONG : CHELA_E_PROTOCOL,
                code == WSLAY_CODE_MESSAGE_TOO_BIG ? "the server sent a message that is too long"
                                                   : "the server broke the rules of WebSocket");
    } else if (w->eof) {
        ws_tell_close(w, WSLAY_CODE_ABNORMAL_CLOSURE, chela_s(""));
        ws_fail(w, CHELA_E_NETWORK, "the connection was lost");
    }
}
