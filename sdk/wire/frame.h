/*
 * Frames: a function's arguments as one piece of bytes, for the run queue, the socket to a child,
 * traces and the test kit. Byte order and alignment are the machine's; a frame never leaves it.
 *
 * Behind the header stand the fields in the order of the table: u32 and u64 as 8 bytes; a string as
 * its length, its bytes, a NUL, and padding to 8; pairs and values as their number and each one's
 * parts. A frame may end before the last field (an older sender: the rest reads as zero) or go on
 * behind it (a newer one: ignored), but never inside a field.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include "wire/table.h"

struct wire_frame {
    uint32_t length; /* of the whole, a multiple of 8 */
    uint16_t function, marks;
    uint32_t instance, flags; /* flags, call, tag: of the head */
    uint64_t call, tag;
};

/* marks; set by the host's own code, never accepted from another process */
enum {
    WIRE_BY_HOST = 1, /* an end that the host itself made */
    WIRE_LOST = 2     /* the arguments were not kept: beyond the sender's credit */
};

enum { WIRE_FRAME_MAX = 256 << 20 };

/* Bytes that the frame of these arguments takes; 0 if they can't be sent (larger than
 * WIRE_FRAME_MAX, or a length without bytes). Only fields that lie within head.size are read. */
size_t wire_size(const struct wire_args *a, const void *args);
/* Writes it; `to` is aligned to 8 and has wire_size() bytes. */
void wire_write(void *to, uint32_t function, uint32_t instance, const struct wire_args *a,
                const void *args);

/* What stands at the beginning of n bytes: 1 a whole frame (or at least its true header and
 * length), 0 not enough bytes, -1 nothing that can be a frame. */
int wire_look(const void *p, size_t n);

/* Decoded arguments: zeroed to WIRE_ARGS_MAX bytes behind the struct; strings lie in the frame,
 * arrays in `arrays`, which is kept from one use to the next. */
struct wire_decoder {
    union {
        struct chela_head head;
        uint64_t align;
        unsigned char bytes[WIRE_ARGS_MAX];
    } args;
    void *arrays;
    size_t room;
};

/* 0, or -1: the frame is damaged. The frame is whole (wire_look), and must stay as long as args. */
int wire_read(struct wire_decoder *d, const struct wire_args *a, const struct wire_frame *f);
void wire_decoder_free(struct wire_decoder *d);

#endif
