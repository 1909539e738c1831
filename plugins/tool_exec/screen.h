/*
 * A terminal's screen: what a program on a PTY has drawn, as rows of text, and the bytes that keys
 * are on it. By libvterm; no host, no process.
 */
#ifndef TOOL_EXEC_SCREEN_H
#define TOOL_EXEC_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

struct screen;

struct screen *screen_new(unsigned rows, unsigned columns);
void screen_free(struct screen *s); /* NULL is fine */
/* What the program printed. lines: it is no terminal's output, so a newline also returns. */
void screen_feed(struct screen *s, const char *bytes, size_t n, bool lines);
void screen_resize(struct screen *s, unsigned rows, unsigned columns);
/* The rows, without blanks at their ends and empty rows at the end, each with a newline. Free it.
 */
char *screen_text(struct screen *s, size_t *ret_length);
/* Counted from 1. */
void screen_cursor(const struct screen *s, unsigned *ret_row, unsigned *ret_column);
/* A full-screen program has taken the whole of it. */
bool screen_is_full(const struct screen *s);

/*
 * Input, as the terminal would send it in its present modes. screen_key: a key by name ("Enter",
 * "Up", "F5", "C-c", "M-x", "S-Tab"; one character is itself); false if there is no such key.
 * screen_paste: bracketed where the program asked for that.
 */
bool screen_key(struct screen *s, const char *name);
void screen_paste(struct screen *s, const char *text, size_t n);
/* What is to be sent to the program: input, and answers to its questions. Free it; NULL: nothing.
 */
char *screen_take(struct screen *s, size_t *ret_length);

#endif
