/*
 * One step of a UTF-8 decoder (RFC 3629), shared by the files of the JSON wrapper and by nobody
 * else. It looks at bytes and never writes.
 */
#ifndef CHELA_SUPPORT_JSON_UTF8_H
#define CHELA_SUPPORT_JSON_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Length of the sequence at the start of bytes; 0 if it is right so far but not complete; minus the
 * number of bytes to replace by one U+FFFD if it is none. With halves, a surrogate written as three
 * bytes counts as a sequence.
 */
static inline int json_utf8_step(const unsigned char *bytes, size_t length, bool halves)
{
    if (length == 0)
        return 0;
    unsigned lead = bytes[0];
    if (lead < 0x80)
        return 1;
    if (lead < 0xc2 || lead > 0xf4)
        return -1;
    int count = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned high = lead == 0xed && !halves ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    for (int i = 1; i < count; i++) {
        if ((size_t)i >= length)
            return 0;
        if (bytes[i] < low || bytes[i] > high)
            return -i;
        low = 0x80;
        high = 0xbf;
    }
    return count;
}

/* Writes code (below 0x110000, halves of surrogates included) and returns the bytes written, at
 * most 4. */
static inline size_t json_utf8_write(unsigned code, char *output)
{
    if (code < 0x80) {
        output[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        output[0] = (char)(0xc0 | code >> 6);
        output[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        output[0] = (char)(0xe0 | code >> 12);
        output[1] = (char)(0x80 | (code >> 6 & 0x3f));
        output[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    output[0] = (char)(0xf0 | code >> 18);
    output[1] = (char)(0x80 | (code >> 12 & 0x3f));
    output[2] = (char)(0x80 | (code >> 6 & 0x3f));
    output[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

#endif
