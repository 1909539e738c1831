/*
 * Memory and texts (see text.h).
 */
#include "support/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *chela_need(void *p)
{
    if (!p)
        abort();
    return p;
}

char *chela_copy(struct chela_str s)
{
    char *text = chela_need(malloc((size_t)s.n + 1));
    if (s.n)
        memcpy(text, s.s, (size_t)s.n);
    text[s.n] = '\0';
    return text;
}

char *chela_format(const char *f, ...)
{
    char *text = NULL;
    va_list a;
    va_start(a, f);
    int n = vasprintf(&text, f, a);
    va_end(a);
    return chela_need(n < 0 ? NULL : text);
}
