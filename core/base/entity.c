/* Entity: see entity.h. Of the two thousand names of HTML those are here that models write. */
#include "base/entity.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

static const struct {
    const char *name;
    uint32_t character;
} names[] = {
    {"amp", '&'},      {"apos", '\''},     {"bull", 0x2022},  {"cent", 0xA2},   {"copy", 0xA9},
    {"deg", 0xB0},     {"divide", 0xF7},   {"euro", 0x20AC},  {"frac12", 0xBD}, {"ge", 0x2265},
    {"gt", '>'},       {"hellip", 0x2026}, {"infin", 0x221E}, {"laquo", 0xAB},  {"larr", 0x2190},
    {"ldquo", 0x201C}, {"le", 0x2264},     {"lsquo", 0x2018}, {"lt", '<'},      {"mdash", 0x2014},
    {"micro", 0xB5},   {"middot", 0xB7},   {"minus", 0x2212}, {"nbsp", 0xA0},   {"ndash", 0x2013},
    {"ne", 0x2260},    {"para", 0xB6},     {"plusmn", 0xB1},  {"pound", 0xA3},  {"quot", '"'},
    {"raquo", 0xBB},   {"rarr", 0x2192},   {"rdquo", 0x201D}, {"reg", 0xAE},    {"rsquo", 0x2019},
    {"sect", 0xA7},    {"sup2", 0xB2},     {"sup3", 0xB3},    {"times", 0xD7},  {"trade", 0x2122},
    {"yen", 0xA5},
};

static uint32_t numeric(const char *text, size_t length)
{
    unsigned base = length > 0 && (text[0] == 'x' || text[0] == 'X') ? 16 : 10;
    uint32_t value = 0;
    for (size_t i = base == 16 ? 1 : 0; i < length; i++) {
        char c = text[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 99;
        if (digit >= base || value > 0x10FFFF) {
            return 0xFFFD;
        }
        value = value * base + digit;
    }
    return value == 0 || value > 0x10FFFF ? 0xFFFD : value;
}

size_t entity_decode(const char *text, size_t length, char out[4])
{
    if (length < 3 || text[0] != '&' || text[length - 1] != ';') {
        return 0;
    }
    const char *name = text + 1;
    size_t bytes = length - 2;
    if (name[0] == '#') {
        return utf8_put(out, numeric(name + 1, bytes - 1));
    }
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        if (strlen(names[i].name) == bytes && memcmp(names[i].name, name, bytes) == 0) {
            return utf8_put(out, names[i].character);
        }
    }
    return 0;
}
