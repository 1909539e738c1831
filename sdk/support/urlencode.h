/*
 * Text inside of a URL's query or a form's body (RFC 3986, section 2.1). Called by plugins.
 */
#ifndef CHELA_SUPPORT_URLENCODE_H
#define CHELA_SUPPORT_URLENCODE_H

#include <stdio.h>

#pragma GCC visibility push(hidden)

/* All but letters, digits and "-._~" as %XX. */
void chela_urlencode(FILE *out, const char *text);

#pragma GCC visibility pop
#endif
