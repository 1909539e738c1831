/* Entity: HTML entities as they may stand in Markdown ("&amp;", "&#8212;"), as characters. For the
 * terminal and the dialects of channels. */
#ifndef BASE_ENTITY_H
#define BASE_ENTITY_H

#include <stddef.h>

/* The character of one entity, from its ampersand to its semicolon; its bytes (up to 4), or 0 for
 * one that isn't known: it then stands for itself. What comes out is as foreign as what went in. */
size_t entity_decode(const char *text, size_t length, char out[4]);

#endif
