/*
 * Patterns with '*' (anything) and '?' (one character), as configurations name tools and hosts.
 * Called by plugins.
 */
#ifndef CHELA_SUPPORT_GLOB_H
#define CHELA_SUPPORT_GLOB_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Whether the whole text is as the pattern says. Time: at most the product of both lengths. */
bool chela_glob(const char *pattern, const char *text);

#pragma GCC visibility pop
#endif
