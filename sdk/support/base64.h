/*
 * Base64 (RFC 4648). Called by the core and by plugins; allocates nothing.
 */
#ifndef CHELA_SUPPORT_BASE64_H
#define CHELA_SUPPORT_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

/* Room for the text of so many bytes, and for the bytes of so much text. */
#define CHELA_BASE64_TEXT(bytes) (((bytes) + 2) / 3 * 4 + 1)
#define CHELA_BASE64_BYTES(text) ((text) / 4 * 3 + 3)

/* With padding and a NUL; the text's length. */
size_t chela_base64_encode(const void *data, size_t length, char *out);
/* With or without padding. url: "-" and "_" are taken as well. False if anything else stands
 * there. */
bool chela_base64_decode(const char *text, size_t length, bool url, void *out, size_t *ret_length);

#pragma GCC visibility pop
#endif
