/*
 * The estimate of tokens. Counts lead bytes only, so that it costs one pass over the text.
 */
#include "agent/models/tokens.h"

uint32_t tokens_of(const char *text, size_t n)
{
    size_t plain = 0, wide = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        plain += c < 0x80;
        wide += c >= 0xc0;
    }
    return (uint32_t)((plain + 3) / 4 + wide);
}
