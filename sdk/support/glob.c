/* Patterns (see glob.h): after a '*' that was too short, it is tried one character longer. */
#include "glob.h"

#include <stddef.h>

bool chela_glob(const char *pattern, const char *text)
{
    const char *star = NULL, *from = text;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}
