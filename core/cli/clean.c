/* Clean: see clean.h. What is taken out is the introducer only: the rest of an escape sequence
 * then stands there as the plain characters that it is. */
#include "cli/clean.h"

#include "base/utf8.h"
#include "cli/width.h"

bool clean_is_harmful(uint32_t character)
{
    if (character < 0x20) {
        return character != '\n' && character != '\t';
    }
    if (character >= 0x7F && character < 0xA0) {
        return true;
    }
    return character == 0x061C || character == 0x200E || character == 0x200F ||
           (character >= 0x2028 && character <= 0x202E) ||
           (character >= 0x2066 && character <= 0x2069) ||
           (character >= 0xE0000 && character <= 0xE007F); /* invisible "tag" letters */
}

static void append_character(struct buf *out, uint32_t character)
{
    char bytes[4];
    buf_add(out, bytes, utf8_put(bytes, character));
}

void clean_append(struct buf *out, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        uint32_t character;
        at += width_decode(text + at, length - at, &character);
        if (!clean_is_harmful(character)) {
            append_character(out, character);
        }
    }
}

void clean_append_visible(struct buf *out, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        uint32_t character;
        size_t bytes = width_decode(text + at, length - at, &character);
        if (character == '\n') {
            buf_add(out, "\\n", 2);
        } else if (character == '\t') {
            buf_add(out, "\\t", 2);
        } else if (character == 0xFFFD && bytes == 1) {
            buf_printf(out, "\\x%02x", (unsigned)(unsigned char)text[at]);
        } else if (clean_is_harmful(character) || width_of(character) == 0) {
            buf_printf(out, character < 0x80 ? "\\x%02x" : "\\u{%x}", (unsigned)character);
        } else {
            append_character(out, character);
        }
        at += bytes;
    }
}

void clean_append_line(struct buf *out, const char *text, size_t length, unsigned columns)
{
    struct buf line = {0};
    bool space = false;
    for (size_t at = 0; at < length && line.n < 8 * (size_t)columns + 64;) {
        uint32_t character;
        at += width_decode(text + at, length - at, &character);
        if (character == ' ' || character == '\n' || character == '\t') {
            space = line.n > 0;
        } else if (!clean_is_harmful(character)) {
            if (space) {
                buf_add(&line, " ", 1);
            }
            space = false;
            append_character(&line, character);
        }
    }
    unsigned used = 0;
    size_t fits = 0;
    for (size_t at = 0; at < line.n;) {
        unsigned wide;
        size_t bytes = width_next(line.p + at, line.n - at, &wide);
        if (used + wide > columns) {
            buf_add(out, line.p, fits);
            buf_add(out, "\xE2\x80\xA6", 3);
            buf_free(&line);
            return;
        }
        used += wide;
        at += bytes;
        if (used + 1 <= columns) {
            fits = at;
        }
    }
    buf_add(out, line.p, line.n);
    buf_free(&line);
}
