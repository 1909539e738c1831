/* View: the region at the bottom of the terminal that is painted again and again: what an answer
 * has come to so far, and the prompt. What is printed above it scrolls away for good. Makes bytes
 * for the terminal; writes none itself. Used by line.c and screen.c. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <stdbool.h>

#include "cli/rows.h"

struct view {
    unsigned columns, height; /* of the terminal */
    unsigned *drawn;          /* columns of each row that stands on the screen */
    size_t drawn_count;
    size_t cursor_row; /* in which of them the cursor is */
};

/* What is to be seen: rows above (their end, when not all fit), then the prompt's rows. */
struct view_content {
    const struct rows *above;  /* may be NULL */
    const struct rows *prompt; /* may be NULL: then there is no cursor to show */
    size_t cursor_row;         /* in prompt */
    unsigned cursor_column;
};

void view_begin(struct view *view, unsigned columns, unsigned height);
void view_free(struct view *view);

/* The terminal has another size. What stood on it has been wrapped anew by the terminal. */
void view_resize(struct view *view, unsigned columns, unsigned height);

/* Takes the region off the screen; the cursor then stands where it began. */
void view_erase(struct view *view, struct buf *out);

/* Puts the region on the screen in the place of what stands there. */
void view_paint(struct view *view, const struct view_content *content, struct buf *out);

/* Prints rows for good. The region must be off the screen. */
void view_print(const struct rows *rows, struct buf *out);

#endif
