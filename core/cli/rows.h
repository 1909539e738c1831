/* Rows: text that has been laid out, one entry for each row of the terminal, with its colours in
 * it. Made by wrap.c and markdown; printed by view.c. */
#ifndef CLI_ROWS_H
#define CLI_ROWS_H

#include <stddef.h>

#include "base/buf.h"

struct row {
    size_t offset, length; /* in rows.bytes */
    unsigned columns;      /* that it takes on the screen */
};

struct rows {
    struct buf bytes;
    struct row *row;
    size_t count, capacity;
};

/* Ends a row that consists of the bytes appended to rows->bytes since the last one. */
void rows_end(struct rows *rows, unsigned columns);
void rows_add(struct rows *rows, const char *text, size_t length, unsigned columns);
/* Appends all rows of `more`. */
void rows_join(struct rows *rows, const struct rows *more);
void rows_clear(struct rows *rows);
void rows_free(struct rows *rows);

#endif
