/*
 * UTF-8 (see utf8.h). Classes of characters come from the C library in the C.UTF-8 locale, which
 * utf8.c opens for itself and never sets for the process.
 */
#include "base/utf8.h"

#include <locale.h>
#include <wctype.h>

size_t utf8_next(const char *p, size_t n, uint32_t *ret)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (n == 0)
        return 0;
    unsigned char c = (unsigned char)p[0];
    size_t length = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (length == 0 || length > n)
        return 0;
    uint32_t v = length == 1 ? c : (uint32_t)(c & (0xff >> (length + 1)));
    for (size_t i = 1; i < length; i++) {
        unsigned char d = (unsigned char)p[i];
        if ((d & 0xc0) != 0x80)
            return 0;
        v = (v << 6) | (d & 0x3fu);
    }
    if (v < smallest[length] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        return 0;
    *ret = v;
    return length;
}

size_t utf8_put(char *p, uint32_t c)
{
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    if (c < 0x80) {
        p[0] = (char)c;
        return 1;
    }
    size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, c >>= 6)
        p[i] = (char)(0x80 | (c & 0x3f));
    p[0] = (char)((0xf00 >> length) | c);
    return length;
}

bool utf8_valid(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint32_t c;
        size_t k = (unsigned char)p[i] < 0x80 ? 1 : utf8_next(p + i, n - i, &c);
        if (k == 0)
            return false;
        i += k;
    }
    return true;
}

size_t utf8_cut(const char *p, size_t n, size_t limit)
{
    size_t at = n < limit ? n : limit, begin = at;
    while (begin > 0 && at - begin < 4 && ((unsigned char)p[begin - 1] & 0xc0) == 0x80)
        begin--;
    if (begin == 0 || (unsigned char)p[begin - 1] < 0xc0)
        return at; /* ends with ASCII, or is no UTF-8 anyway */
    uint32_t c;
    begin--;
    return utf8_next(p + begin, at - begin, &c) == at - begin ? at : begin;
}

void utf8_repair(struct buf *out, const char *p, size_t n)
{
    size_t i = 0, good = 0;
    while (i < n) {
        uint32_t c;
        size_t k = utf8_next(p + i, n - i, &c);
        if (k == 0) {
            buf_add(out, p + good, i - good);
            buf_add(out, "\xef\xbf\xbd", 3);
            good = ++i;
        } else {
            i += k;
        }
    }
    buf_add(out, p + good, n - good);
}

static size_t count(const char *p, size_t n, bool utf16)
{
    size_t r = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        r += (c & 0xc0) != 0x80;
        r += utf16 && c >= 0xf0;
    }
    return r;
}

size_t utf8_count(const char *p, size_t n)
{
    return count(p, n, false);
}

size_t utf8_count_utf16(const char *p, size_t n)
{
    return count(p, n, true);
}

/* Opened once and kept for the life of the process. */
static locale_t utf8_locale(void)
{
    static locale_t l;
    if (!l)
        l = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    return l;
}

void utf8_fold(struct buf *out, const char *p, size_t n)
{
    size_t i = 0;
    locale_t l = utf8_locale();
    while (i < n) {
        uint32_t c;
        size_t k = utf8_next(p + i, n - i, &c);
        if (k == 0) {
            buf_char(out, p[i++]);
            continue;
        }
        char t[4];
        uint32_t lower = c;
        if (c >= 0xff01 && c <= 0xff5e)
            lower = c - 0xfee0; /* full-width form of an ASCII character */
        if (lower < 0x80)
            lower = lower >= 'A' && lower <= 'Z' ? lower + 32 : lower;
        else if (l)
            lower = (uint32_t)towlower_l((wint_t)lower, l);
        buf_add(out, t, utf8_put(t, lower));
        i += k;
    }
}

bool utf8_is_cjk(uint32_t c)
{
    return (c >= 0x2e80 && c <= 0x2fdf) || (c >= 0x3040 && c <= 0x30ff) ||
           (c >= 0x3105 && c <= 0x312f) || (c >= 0x31f0 && c <= 0x31ff) ||
           (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff) ||
           (c >= 0xac00 && c <= 0xd7af) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0x20000 && c <= 0x3ffff) || c == 0x3005 || c == 0x3007;
}

bool utf8_is_word(uint32_t c)
{
    if (c < 0x80)
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '_';
    if ((c >= 0x300 && c <= 0x36f) || (c >= 0x1ab0 && c <= 0x1aff) || (c >= 0x20d0 && c <= 0x20ff))
        return true; /* combining marks */
    locale_t l = utf8_locale();
    return l && iswalnum_l((wint_t)c, l);
}

/* ---- what is seen as one character ---- */

enum { JOINER = 0x200d, FLAG_FIRST = 0x1f1e6, FLAG_LAST = 0x1f1ff };

/* Extends the character before it. */
static bool extends(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x0300, 0x036f},   {0x0483, 0x0489},   {0x0591, 0x05c7}, {0x0610, 0x061a},
        {0x064b, 0x065f},   {0x0670, 0x0670},   {0x06d6, 0x06ed}, {0x0711, 0x0711},
        {0x0730, 0x074a},   {0x07a6, 0x07b0},   {0x0e31, 0x0e31}, {0x0e33, 0x0e3a},
        {0x0e47, 0x0e4e},   {0x0eb1, 0x0eb1},   {0x0eb3, 0x0ebc}, {0x0ec8, 0x0ece},
        {0x0f71, 0x0f84},   {0x102b, 0x103e},   {0x1056, 0x1059}, {0x1160, 0x11ff},
        {0x135d, 0x135f},   {0x17b4, 0x17d3},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
        {0x200c, 0x200d},   {0x20d0, 0x20ff},   {0x302a, 0x302f}, {0x3099, 0x309a},
        {0xfe00, 0xfe0f},   {0xfe20, 0xfe2f},   {0xff9e, 0xff9f}, {0x1f3fb, 0x1f3ff},
        {0xe0020, 0xe007f}, {0xe0100, 0xe01ef},
    };
    if (c < 0x300)
        return false;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    if (c < 0x0900 || c > 0x0d7f)
        return false;
    /* the scripts of India lie alike, each in a block of 128 */
    uint32_t place = c & 0x7f;
    return place <= 0x03 || place == 0x3a || place == 0x3b || place == 0x3c ||
           (place >= 0x3e && place <= 0x4d) || (place >= 0x51 && place <= 0x57) || place == 0x62 ||
           place == 0x63;
}

/* The character that ends at `at`; 0 at the beginning. */
static uint32_t before(const char *p, size_t at, size_t *ret_start)
{
    uint32_t c = 0;
    size_t i = at;
    while (i && at - i < 4 && ((unsigned char)p[--i] & 0xc0) == 0x80)
        ;
    *ret_start = i;
    if (at == 0 || utf8_next(p + i, at - i, &c) == 0)
        return 0;
    return c;
}

static bool is_flag(uint32_t c)
{
    return c >= FLAG_FIRST && c <= FLAG_LAST;
}

/* An odd number of a flag's letters in front of it: the next one belongs to the last. */
static bool within_flag(const char *p, size_t at)
{
    unsigned letters = 0;
    while (at && is_flag(before(p, at, &at)))
        letters++;
    return letters % 2 == 1;
}

size_t utf8_cut_grapheme(const char *p, size_t n, size_t limit)
{
    size_t at = utf8_cut(p, n, limit);
    while (at && at < n) {
        uint32_t next = 0;
        size_t start;
        uint32_t last = before(p, at, &start);
        utf8_next(p + at, n - at, &next);
        bool crlf = last == '\r' && next == '\n';
        if (!extends(next) && last != JOINER && !crlf && !(is_flag(next) && within_flag(p, at)))
            break;
        at = start;
    }
    return at;
}
