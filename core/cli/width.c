/* Width: see width.h. The columns of a code point are the C library's (wcwidth), since its tables
 * are the ones that the distribution keeps up to date; a cluster's are its parts' sum, which is
 * how terminals without ligature support show it. */
#include "cli/width.h"

#include <langinfo.h>
#include <locale.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>

#include "base/utf8.h"

#define REPLACEMENT       0xFFFDu
#define ZERO_WIDTH_JOINER 0x200Du

void width_init(void)
{
    if (setlocale(LC_CTYPE, "") == NULL || strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
        setlocale(LC_CTYPE, "C.UTF-8");
    }
}

size_t width_decode(const char *text, size_t length, uint32_t *character)
{
    size_t bytes = utf8_next(text, length, character);
    if (bytes == 0) {
        *character = REPLACEMENT;
        return 1;
    }
    return bytes;
}

unsigned width_of(uint32_t character)
{
    if (character < 0x20 || (character >= 0x7F && character < 0xA0)) {
        return 0;
    }
    if (character < 0x300) {
        return character == 0xAD ? 0 : 1;
    }
    int columns = wcwidth((wchar_t)character);
    return columns < 0 ? 1 : (unsigned)columns; /* a character that is newer than the tables */
}

static bool joins(uint32_t character)
{
    return character >= 0x300 && width_of(character) == 0;
}

size_t width_next(const char *text, size_t length, unsigned *columns)
{
    uint32_t character;
    size_t at = width_decode(text, length, &character);
    unsigned sum = width_of(character);
    bool tied = false;
    bool open = character >= 0x20; /* nothing combines with a control character */
    while (open && at < length) {
        size_t bytes = width_decode(text + at, length - at, &character);
        if (!tied && !joins(character)) {
            break;
        }
        if (tied && (character < 0x2190 || joins(character))) {
            tied = false; /* only pictographs are tied by a joiner */
            if (!joins(character)) {
                break;
            }
        }
        sum += width_of(character);
        at += bytes;
        tied = character == ZERO_WIDTH_JOINER;
    }
    if (columns != NULL) {
        *columns = sum;
    }
    return at;
}

size_t width_previous(const char *text, size_t at)
{
    /* Clusters can't be found backwards with certainty: go back to a place that surely begins one
     * (a character that takes columns and is not behind a joiner), then forwards. */
    size_t start = at;
    for (;;) {
        do {
            start--;
        } while (start > 0 && ((unsigned char)text[start] & 0xC0) == 0x80 && at - start < 128);
        uint32_t character;
        width_decode(text + start, at - start, &character);
        bool behind_joiner = start >= 3 && memcmp(text + start - 3, "\xE2\x80\x8D", 3) == 0;
        if (start == 0 || at - start >= 128 || (!joins(character) && !behind_joiner)) {
            break;
        }
    }
    for (;;) {
        size_t bytes = width_next(text + start, at - start, NULL);
        if (start + bytes >= at) {
            return start;
        }
        start += bytes;
    }
}

unsigned width_columns(const char *text, size_t length)
{
    unsigned sum = 0;
    for (size_t at = 0; at < length;) {
        uint32_t character;
        at += width_decode(text + at, length - at, &character);
        sum += width_of(character);
    }
    return sum;
}
