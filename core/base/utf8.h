/*
 * UTF-8: checking, cutting, counting, folding. Bytes that are not UTF-8 never get past the edges of
 * the program, so most functions may assume that they get whole text.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Reads one character of at most n bytes into ret; returns its length, 0 if it is not valid UTF-8
 * (overlong forms, surrogates and values above U+10FFFF included) or n is 0. */
size_t utf8_next(const char *p, size_t n, uint32_t *ret);
/* Writes a character, up to 4 bytes; returns the length. Surrogates become U+FFFD. */
size_t utf8_put(char *p, uint32_t c);
bool utf8_valid(const char *p, size_t n);
/* The largest length <= limit at which p (n bytes) can be cut without parting a character. */
size_t utf8_cut(const char *p, size_t n, size_t limit);
/* The same without parting what is seen as one character: no cut in front of a combining mark, a
 * vowel sign, a variation selector or an emoji's modifier, none beside a joiner, none within a
 * flag. An approximation of Unicode's grapheme clusters that errs to the larger cluster. 0 if there
 * is no such place. */
size_t utf8_cut_grapheme(const char *p, size_t n, size_t limit);
/* Appends p with each invalid byte as U+FFFD. */
void utf8_repair(struct buf *out, const char *p, size_t n);
size_t utf8_count(const char *p, size_t n);       /* characters */
size_t utf8_count_utf16(const char *p, size_t n); /* UTF-16 units */
/* Appends p folded for comparing without case (simple folding of Latin, Greek, Cyrillic, Armenian,
 * and full-width letters; others as they are). */
void utf8_fold(struct buf *out, const char *p, size_t n);
/* Part of a word: letters, digits, marks of any script. Ideographs, kana and hangul: see
 * utf8_is_cjk. */
bool utf8_is_word(uint32_t c);
bool utf8_is_cjk(uint32_t c);

#endif
