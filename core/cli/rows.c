/* Rows: see rows.h. */
#include "cli/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void rows_end(struct rows *rows, unsigned columns)
{
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity == 0 ? 16 : 2 * rows->capacity;
        rows->row = xrealloc(rows->row, rows->capacity * sizeof *rows->row);
    }
    size_t offset = 0;
    if (rows->count > 0) {
        offset = rows->row[rows->count - 1].offset + rows->row[rows->count - 1].length;
    }
    rows->row[rows->count++] =
        (struct row){.offset = offset, .length = rows->bytes.n - offset, .columns = columns};
}

void rows_add(struct rows *rows, const char *text, size_t length, unsigned columns)
{
    buf_add(&rows->bytes, text, length);
    rows_end(rows, columns);
}

void rows_join(struct rows *rows, const struct rows *more)
{
    for (size_t i = 0; i < more->count; i++) {
        rows_add(rows, more->bytes.p + more->row[i].offset, more->row[i].length,
                 more->row[i].columns);
    }
}

void rows_clear(struct rows *rows)
{
    buf_clear(&rows->bytes);
    rows->count = 0;
}

void rows_free(struct rows *rows)
{
    buf_free(&rows->bytes);
    free(rows->row);
    memset(rows, 0, sizeof *rows);
}
