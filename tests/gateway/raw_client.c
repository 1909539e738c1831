/*
 * See raw_client.h.
 */
#include "gateway/raw_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <json-c/json_object.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/json.h"
#include "unit/net_ws_frames.h"

void raw_connect(struct raw *r, unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memset(r, 0, sizeof *r);
    r->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (r->fd < 0 || connect(r->fd, (struct sockaddr *)&a, sizeof a) < 0) {
        perror("connect");
        exit(1);
    }
}

void raw_close(struct raw *r)
{
    close(r->fd);
    buf_free(&r->in);
    r->fd = -1;
}

bool raw_write(struct raw *r, const void *p, size_t n)
{
    const char *at = p;
    while (n > 0) {
        ssize_t sent = send(r->fd, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* Reads what there is within `ms`; false: nothing came, or the end did. */
static bool fill(struct raw *r, int ms)
{
    struct pollfd p = {.fd = r->fd, .events = POLLIN};
    char piece[65536];
    if (poll(&p, 1, ms) <= 0)
        return false;
    ssize_t n = recv(r->fd, piece, sizeof piece, 0);
    if (n <= 0) {
        r->code = r->code ? r->code : RAW_CUT;
        return false;
    }
    buf_add(&r->in, piece, (size_t)n);
    return true;
}

unsigned raw_status(struct raw *r, int ms)
{
    uint64_t end = clock_ticks_ms() + (uint64_t)ms;
    char *stop;
    while (!(stop = strstr(buf_text(&r->in), "\r\n\r\n"))) {
        uint64_t now = clock_ticks_ms();
        if (now >= end || !fill(r, (int)(end - now)))
            return 0;
    }
    unsigned status =
        strncmp(r->in.p, "HTTP/1.1 ", 9) == 0 ? (unsigned)strtoul(r->in.p + 9, NULL, 10) : 0;
    buf_consume(&r->in, (size_t)(stop + 4 - r->in.p));
    return status;
}

unsigned raw_open(struct raw *r, unsigned port, const char *host, const char *headers)
{
    struct buf head = {0};
    raw_connect(r, port);
    buf_puts(&head, "GET / HTTP/1.1\r\n");
    if (host)
        buf_printf(&head, "Host: %s\r\n", host);
    else
        buf_printf(&head, "Host: 127.0.0.1:%u\r\n", port);
    buf_printf(&head,
               "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
               "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n%s\r\n",
               headers);
    raw_write(r, head.p, head.n);
    buf_free(&head);
    return raw_status(r, RAW_WAIT_MS);
}

bool raw_frame(struct raw *r, unsigned first, const void *p, size_t n, bool masked)
{
    struct buf out = {0};
    frame_add(&out, first, p, n, masked);
    bool ok = raw_write(r, out.p, out.n);
    buf_free(&out);
    return ok;
}

bool raw_text(struct raw *r, const char *text)
{
    return raw_frame(r, 0x81, text, strlen(text), true);
}

/* Takes one frame; true: it was a text, in *ret (may be NULL if it is no JSON). */
static bool take(struct raw *r, json_object **ret)
{
    struct frame f;
    size_t n = r->in.n ? frame_read(r->in.p, r->in.n, &f) : 0;
    bool text = false;
    if (n == 0)
        return false;
    switch (f.first & 15) {
    case 1:
        text = true;
        *ret = NULL;
        chela_json_parse(f.p, f.n, NULL, ret, NULL);
        break;
    case 8:
        r->code = f.n >= 2 ? (unsigned)((unsigned char)f.p[0] << 8 | (unsigned char)f.p[1]) : 1005;
        break;
    case 10: r->pongs++; break;
    default: break;
    }
    buf_consume(&r->in, n);
    return text;
}

json_object *raw_next(struct raw *r, int ms)
{
    uint64_t end = clock_ticks_ms() + (uint64_t)ms;
    json_object *o = NULL;
    for (;;) {
        size_t before = r->in.n;
        if (take(r, &o))
            return o;
        if (r->code)
            return NULL;
        if (r->in.n != before)
            continue;
        uint64_t now = clock_ticks_ms();
        if (now >= end || !fill(r, (int)(end - now)))
            return NULL;
    }
}

unsigned raw_wait_close(struct raw *r, int ms)
{
    uint64_t end = clock_ticks_ms() + (uint64_t)ms;
    while (!r->code) {
        uint64_t now = clock_ticks_ms();
        json_object *o = now < end ? raw_next(r, (int)(end - now)) : NULL;
        if (!o && now >= end)
            return RAW_OPEN;
        json_object_put(o);
    }
    return r->code;
}
