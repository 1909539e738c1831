/*
 * Base64 (see base64.h).
 */
#include "support/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t chela_base64_encode(const void *data, size_t length, char *out)
{
    const unsigned char *p = data;
    char *at = out;
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t v = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0u) |
                     (left > 2 ? p[i + 2] : 0u);
        *at++ = digits[v >> 18];
        *at++ = digits[v >> 12 & 63];
        *at++ = left > 1 ? digits[v >> 6 & 63] : '=';
        *at++ = left > 2 ? digits[v & 63] : '=';
    }
    *at = '\0';
    return (size_t)(at - out);
}

static int value_of(char c, bool url)
{
    const char *p = c ? strchr(digits, c) : NULL;
    if (p)
        return (int)(p - digits);
    return url && c == '-' ? 62 : url && c == '_' ? 63 : -1;
}

bool chela_base64_decode(const char *text, size_t length, bool url, void *out, size_t *ret_length)
{
    unsigned char *bytes = out;
    uint32_t bits = 0;
    unsigned have = 0;
    size_t n = 0;
    while (length && text[length - 1] == '=')
        length--;
    for (size_t i = 0; i < length; i++) {
        int value = value_of(text[i], url);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        have += 6;
        if (have >= 8) {
            have -= 8;
            bytes[n++] = (unsigned char)(bits >> have & 0xff);
        }
    }
    *ret_length = n;
    return true;
}
