/* Styled: text with a style for each byte, and its wrapping into rows of a given width. Used by the
 * Markdown renderer and by the lines that chat and agent print. Text that goes in must be clean
 * already (clean.h). */
#ifndef CLI_STYLED_H
#define CLI_STYLED_H

#include <stddef.h>

#include "cli/rows.h"

enum style {
    STYLE_PLAIN = 0,
    STYLE_BOLD = 1,
    STYLE_ITALIC = 2,
    STYLE_UNDERLINE = 4,
    STYLE_DIM = 8,
    STYLE_STRIKE = 16,
    STYLE_CODE = 32, /* a colour of its own, as the two below */
    STYLE_TITLE = 64,
    STYLE_ALERT = 128,
};

/* What the terminal is given: nothing, attributes without colours (NO_COLOR), or all. */
enum style_level { STYLE_NONE, STYLE_MONO, STYLE_COLOUR };

struct styled {
    struct buf text;
    struct buf style; /* one byte of enum style bits for each byte of text */
};

struct wrap {
    unsigned width;
    enum style_level level;
    const struct styled *first; /* stands before the first row; may be NULL */
    const struct styled *next;  /* stands before each further row */
    int hard;                   /* break anywhere, keep all spaces: for code */
};

void styled_add(struct styled *styled, const char *text, size_t length, unsigned style);
void styled_join(struct styled *styled, const struct styled *more);
void styled_clear(struct styled *styled);
void styled_free(struct styled *styled);

/* Appends bytes with the escape sequences of their styles, all reset at the end. */
void styled_emit(struct buf *out, const struct styled *styled, size_t from, size_t to,
                 enum style_level level);

/* Lays the text out; a line break in it begins a new row. An empty text makes one empty row. */
void styled_wrap(const struct styled *styled, const struct wrap *wrap, struct rows *rows);

/* Widest row that the text takes unwrapped, and its widest word: for table columns. */
unsigned styled_widest_line(const struct styled *styled);
unsigned styled_widest_word(const struct styled *styled);

#endif
