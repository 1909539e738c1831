/*
 * From the URL to the open socket: libcurl connects (CONNECT_ONLY), our request goes out, the
 * answer is read. Called by ws_client.c from the top of the loop; libcurl's callback only writes.
 */
#include "net/ws_private.h"

#include <stdlib.h>
#include <string.h>

#include <chela/local.h>

#include "base/mem.h"

static void socket_ready(uint32_t events, void *arg)
{
    struct ws *w = arg;
    w->readable = w->readable || (events & CHELA_READABLE);
    ws_work(w);
}

static void connected(void *arg, CURLcode result)
{
    struct ws *w = arg;
    w->connected = true;
    w->result = result;
    ws_work(w);
}

void ws_begin(struct ws *w)
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
        ws_fail(w, e.class, e.text);
}

void ws_shake(struct ws *w)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    struct error e = {0};
    w->connected = false;
    if (w->result != CURLE_OK) {
        bool retry;
        ws_fail(w, answer_curl_class(w->result, &retry),
                *w->error_text ? w->error_text : curl_easy_strerror(w->result));
        return;
    }
    curl_easy_getinfo(w->easy, CURLINFO_ACTIVESOCKET, &fd);
    w->watch = fd == CURL_SOCKET_BAD ? NULL : loop_watch(fd, CHELA_READABLE, socket_ready, w);
    if (!w->watch) {
        ws_fail(w, CHELA_E_NETWORK, "the connection was lost");
        return;
    }
    ws_handshake_key(w->key);
    if (ws_handshake_request(&w->request, w->url, w->key, &w->out, &e) != 0) {
        ws_fail(w, e.class, e.text);
        return;
    }
    w->state = WS_SHAKING;
    w->readable = true;
}

static void opened(struct ws *w, const struct ws_answer *a)
{
    if (wslay_event_context_client_init(&w->frames, &ws_callbacks, w) != 0)
        abort();
    wslay_event_config_set_max_recv_msg_length(w->frames,
                                               w->request.limit ? w->request.limit : WS_LIMIT);
    buf_consume(&w->in, a->head_length);
    w->state = WS_OPEN;
    w->readable = true;
    loop_timer_stop(w->timer);
    w->timer = 0;
    if (w->request.ping_ms)
        w->ping_timer = loop_timer(w->request.ping_ms, ws_ping, w);
    ws_tell(w, CHELA_WS_OPEN, 0, chela_s(a->protocol));
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
    ws_fail(w, class == CHELA_OK ? (uint32_t)CHELA_E_PROTOCOL : class, text);
    w->error.retry = retry;
}

void ws_read_answer(struct ws *w)
{
    struct ws_answer a;
    struct error e = {0};
    char piece[4096];
    size_t n;
    while ((n = ws_receive(w, piece, sizeof piece)))
        buf_add(&w->in, piece, n);
    int result =
        w->in.n ? ws_handshake_answer(buf_view(&w->in), w->key, w->request.protocols, &a, &e) : 0;
    if (result < 0)
        ws_fail(w, e.class, e.text);
    else if (result == 1 && a.status == 101)
        opened(w, &a);
    else if (result == 1 &&
             (w->eof || w->in.n - a.head_length >= a.body_length || w->in.n > WS_REFUSAL_LIMIT))
        refused(w, &a);
    else if (w->eof)
        ws_fail(w, CHELA_E_NETWORK, "the connection was lost during the handshake");
}
