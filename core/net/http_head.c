/*
 * Small questions about HTTP heads: see http_head.h.
 */
#include "net/http_head.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

bool http_head_is_token(struct chela_str s)
{
    for (uint64_t i = 0; i < s.n; i++)
        if (!isalnum((unsigned char)s.s[i]) && (!s.s[i] || !strchr("!#$%&'*+-.^_`|~", s.s[i])))
            return false;
    return s.n > 0;
}

bool http_head_is_value(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] == '\r' || p[i] == '\n' || p[i] == 0)
            return false;
    return true;
}

bool http_head_has_token(const char *list, const char *token)
{
    size_t n = strlen(token);
    while (list && *list) {
        list += strspn(list, ", \t");
        size_t length = strcspn(list, ", \t");
        if (n && length == n && strncasecmp(list, token, n) == 0)
            return true;
        list += length;
    }
    return false;
}
