/*
 * WebSocket frames made and read by hand, so that tests of core/net do not check wslay with wslay.
 */
#ifndef CHELA_TESTS_NET_WS_FRAMES_H
#define CHELA_TESTS_NET_WS_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

/* Appends a frame; first = FIN, RSV and opcode bits. */
static inline void frame_add(struct buf *out, unsigned first, const char *p, size_t n, bool masked)
{
    static const unsigned char mask[4] = {1, 2, 3, 4};
    unsigned bit = masked ? 128 : 0;
    buf_char(out, (char)first);
    if (n < 126) {
        buf_char(out, (char)(n | bit));
    } else if (n < 65536) {
        buf_char(out, (char)(126 | bit));
        buf_char(out, (char)(n >> 8));
        buf_char(out, (char)n);
    } else {
        buf_char(out, (char)(127 | bit));
        for (int shift = 56; shift >= 0; shift -= 8)
            buf_char(out, (char)((uint64_t)n >> shift));
    }
    if (masked)
        buf_add(out, mask, 4);
    for (size_t i = 0; i < n; i++)
        buf_char(out, masked ? (char)((unsigned char)p[i] ^ mask[i % 4]) : p[i]);
}

struct frame {
    unsigned first;
    bool masked;
    size_t n;
    char *p; /* inside the buffer, unmasked in place */
};

/* Takes the frame at the front of p; returns its whole length, 0 if it isn't whole. */
static inline size_t frame_read(char *p, size_t n, struct frame *f)
{
    unsigned char *u = (unsigned char *)p;
    size_t head = 2;
    if (n < 2)
        return 0;
    f->first = u[0];
    f->masked = (u[1] & 128) != 0;
    f->n = u[1] & 127;
    if (f->n == 126) {
        if (n < 4)
            return 0;
        f->n = (size_t)u[2] << 8 | u[3];
        head = 4;
    } else if (f->n == 127) {
        if (n < 10)
            return 0;
        f->n = 0;
        for (int i = 2; i < 10; i++)
            f->n = f->n << 8 | u[i];
        head = 10;
    }
    size_t mask = head;
    head += f->masked ? 4 : 0;
    if (n < head || n - head < f->n)
        return 0;
    f->p = p + head;
    if (f->masked)
        for (size_t i = 0; i < f->n; i++)
            f->p[i] = (char)((unsigned char)f->p[i] ^ u[mask + i % 4]);
    return head + f->n;
}

#endif
