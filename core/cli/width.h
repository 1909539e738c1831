/* Width: how many columns text takes on a terminal, and where one visible character ends and the
 * next begins. Called by everything in cli/ that lays text out; allocates nothing and prints
 * nothing. */
#ifndef CLI_WIDTH_H
#define CLI_WIDTH_H

#include <stddef.h>
#include <stdint.h>

/* Chooses the character classes of the user's locale, or of C.UTF-8 where that locale is not
 * UTF-8. To be called once, at the program's start. */
void width_init(void);

/* One code point at text (length is at least 1); its bytes are returned. Bytes that are no UTF-8
 * count one by one as U+FFFD. */
size_t width_decode(const char *text, size_t length, uint32_t *character);

/* Columns of one code point: 0, 1 or 2; control characters have none. */
unsigned width_of(uint32_t character);

/* The bytes of the next visible character: a base, what combines with it, and what a zero-width
 * joiner ties to it. *columns may be NULL. length is at least 1. */
size_t width_next(const char *text, size_t length, unsigned *columns);

/* Where the visible character that ends at `at` begins; at is at least 1. */
size_t width_previous(const char *text, size_t at);

unsigned width_columns(const char *text, size_t length);

#endif
