/*
 * Feeds the decoder of frames any bytes as what a child sent: looked at as frames, each decoded by
 * its function's table and by a wrong one; what can be read is read to its last byte, written again
 * and must then decode to the same.
 */
#include "wire/frame.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
    if (!truth)
        abort();
}

static void again(const struct wire_function *f, struct wire_decoder *d)
{
    static struct wire_decoder second;
    size_t size = wire_size(f->args, &d->args);
    must(size >= sizeof(struct wire_frame));
    struct wire_frame *frame = malloc(size);
    must(frame != NULL);
    wire_write(frame, f->number, 1, f->args, &d->args); /* reads every string */
    must(frame->length == size && wire_look(frame, size) == 1);
    must(wire_read(&second, f->args, frame) == 0);
    must(wire_size(f->args, &second.args) == size);
    free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct wire_decoder d;
    while (wire_look(data, size) == 1) {
        uint32_t length;
        memcpy(&length, data, sizeof length);
        struct wire_frame *frame = malloc(length); /* exact: one byte too far is seen */
        must(frame != NULL);
        memcpy(frame, data, length);
        const struct wire_function *f = wire_function(frame->function);
        if (f && wire_read(&d, f->args, frame) == 0)
            again(f, &d);
        const struct wire_function *wrong = wire_function(frame->function % 90u);
        if (wrong && wire_read(&d, wrong->args, frame) == 0)
            again(wrong, &d);
        free(frame);
        data += length;
        size -= length;
    }
    return 0;
}
