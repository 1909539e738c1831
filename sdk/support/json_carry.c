/*
 * Joins what a stream has cut: surrogate halves (as the parser keeps them with
 * CHELA_JSON_KEEP_HALVES) and UTF-8 sequences. Providers call it on each text delta. It holds at
 * most five bytes back and never allocates.
 */
#include "json.h"
#include "json_utf8.h"

#include <string.h>

#define REPLACEMENT 0xfffdu

static unsigned surrogate(const unsigned char *bytes)
{
    return 0xd000u | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3fu);
}

static bool is_high(const unsigned char *bytes)
{
    return bytes[0] == 0xed && bytes[1] >= 0xa0 && bytes[1] < 0xb0;
}

static bool is_low(const unsigned char *bytes)
{
    return bytes[0] == 0xed && bytes[1] >= 0xb0;
}

/* Could these bytes, fewer than three, still become the second half? */
static bool may_be_low(const unsigned char *bytes, size_t length)
{
    return length == 0 || (bytes[0] == 0xed && (length == 1 || bytes[1] >= 0xb0));
}

/* Takes the first character of bytes: how many were used, 0 if more must come first (never when
 * last is set). */
static size_t take(const unsigned char *bytes, size_t length, bool last, char *output,
                   size_t *written)
{
    int step = json_utf8_step(bytes, length, true);
    if (step == 0 && !last)
        return 0;
    if (step <= 0) {
        *written += json_utf8_write(REPLACEMENT, output + *written);
        return step == 0 ? length : (size_t)-step;
    }
    if (step != 3 || bytes[0] != 0xed || bytes[1] < 0xa0) {
        memcpy(output + *written, bytes, (size_t)step);
        *written += (size_t)step;
        return (size_t)step;
    }
    if (is_high(bytes)) {
        size_t rest = length - 3;
        if (!last && rest < 3 && may_be_low(bytes + 3, rest))
            return 0;
        if (rest >= 3 && json_utf8_step(bytes + 3, 3, true) == 3 && is_low(bytes + 3)) {
            unsigned code = 0x10000u + ((surrogate(bytes) - 0xd800u) << 10);
            code += surrogate(bytes + 3) - 0xdc00u;
            *written += json_utf8_write(code, output + *written);
            return 6;
        }
    }
    *written += json_utf8_write(REPLACEMENT, output + *written);
    return 3;
}

size_t chela_json_carry_room(size_t length)
{
    return (length + sizeof(((struct chela_json_utf16_carry *)0)->pending)) * 3;
}

/* Gives out what the pending bytes have become. */
static void settle(struct chela_json_utf16_carry *carry, bool last, char *output, size_t *written)
{
    while (carry->used > 0) {
        size_t used = take(carry->pending, carry->used, last, output, written);
        if (used == 0)
            return;
        carry->used = (unsigned char)(carry->used - used);
        memmove(carry->pending, carry->pending + used, carry->used);
    }
}

size_t chela_json_carry_feed(struct chela_json_utf16_carry *carry, const char *text, size_t length,
                             char *output)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t written = 0, at = 0;
    while (at < length) {
        if (carry->used == 0) {
            size_t used = take(bytes + at, length - at, false, output, &written);
            at += used;
            if (used > 0)
                continue;
        }
        carry->pending[carry->used++] = bytes[at++];
        settle(carry, false, output, &written);
    }
    return written;
}

size_t chela_json_carry_end(struct chela_json_utf16_carry *carry, char *output)
{
    size_t written = 0;
    settle(carry, true, output, &written);
    return written;
}
