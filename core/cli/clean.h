/* Clean: makes text that others wrote (models, tools, other people) harmless for a terminal. Every
 * byte from outside passes here before it is printed; nothing else in cli/ may print foreign text.
 */
#ifndef CLI_CLEAN_H
#define CLI_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Control characters (C0 but line break and tab, DEL, C1) and the marks that reorder text (bidi
 * overrides and isolates): what could move the cursor, change the terminal or make a line read
 * otherwise than it is. */
bool clean_is_harmful(uint32_t character);

/* Appends the text without its harmful characters; bytes that are no UTF-8 become U+FFFD. */
void clean_append(struct buf *out, const char *text, size_t length);

/* For lines that a person decides on (what an approval will run): nothing is left out. Harmful
 * characters appear as \xNN or \u{NNNN}; line breaks and tabs appear as \n and \t. */
void clean_append_visible(struct buf *out, const char *text, size_t length);

/* On one line, cut to `columns` with an ellipsis; runs of white space become one space. */
void clean_append_line(struct buf *out, const char *text, size_t length, unsigned columns);

#endif
