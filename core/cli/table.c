/* Table: see table.h. A column is as wide as its widest cell; when all together don't fit, the
 * widest columns give way first, down to their widest word and then beyond, and their cells wrap.
 */
#include "cli/table.h"

#include <md4c.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/width.h"

#define CELLS_MOST 20000
#define GAP        3 /* columns of " │ " */

void table_begin(struct table *table, unsigned columns)
{
    table_free(table);
    table->columns = columns;
}

void table_cell(struct table *table, const struct styled *text, int align)
{
    if (table->count >= CELLS_MOST) {
        return;
    }
    if (table->count == table->capacity) {
        table->capacity = table->capacity == 0 ? 32 : 2 * table->capacity;
        table->cells = xrealloc(table->cells, table->capacity * sizeof *table->cells);
    }
    struct table_cell_text *cell = &table->cells[table->count++];
    memset(cell, 0, sizeof *cell);
    styled_join(&cell->text, text);
    cell->align = align;
}

void table_free(struct table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        styled_free(&table->cells[i].text);
    }
    free(table->cells);
    memset(table, 0, sizeof *table);
}

/* The width of each column; caller frees. */
static unsigned *column_widths(const struct table *table, unsigned room)
{
    unsigned *width = xcalloc(table->columns, sizeof *width);
    unsigned total = GAP * (table->columns - 1);
    for (size_t i = 0; i < table->count; i++) {
        unsigned wanted = styled_widest_line(&table->cells[i].text);
        unsigned *column = &width[i % table->columns];
        *column = wanted > *column ? wanted : *column;
    }
    for (unsigned i = 0; i < table->columns; i++) {
        width[i] = width[i] == 0 ? 1 : width[i];
        total += width[i];
    }
    while (total > room) {
        unsigned widest = 0;
        for (unsigned i = 1; i < table->columns; i++) {
            widest = width[i] > width[widest] ? i : widest;
        }
        if (width[widest] <= 2) {
            break; /* more columns than fit at all: the terminal's edge cuts them */
        }
        width[widest]--;
        total--;
    }
    return width;
}

static void spaces(struct buf *out, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        buf_char(out, ' ');
    }
}

static void dim(struct buf *out, const char *text, enum style_level level)
{
    struct styled styled = {0};
    styled_add(&styled, text, strlen(text), STYLE_DIM);
    styled_emit(out, &styled, 0, styled.text.n, level);
    styled_free(&styled);
}

static unsigned put_prefix(const struct styled *prefix, enum style_level level, struct rows *rows)
{
    if (prefix == NULL) {
        return 0;
    }
    styled_emit(&rows->bytes, prefix, 0, prefix->text.n, level);
    return width_columns(prefix->text.p, prefix->text.n);
}

static void put_cell(const struct rows *cell, size_t line, unsigned width, int align, bool last,
                     struct buf *out)
{
    const struct row *row = line < cell->count ? &cell->row[line] : NULL;
    unsigned used = row == NULL ? 0 : row->columns;
    unsigned space = used < width ? width - used : 0;
    unsigned before = align == MD_ALIGN_RIGHT ? space : align == MD_ALIGN_CENTER ? space / 2 : 0;
    spaces(out, before);
    if (row != NULL) {
        buf_add(out, cell->bytes.p + row->offset, row->length);
    }
    if (!last) {
        spaces(out, space - before);
    }
}

static void put_row(const struct table *table, size_t first, const unsigned *width,
                    const struct wrap *wrap, const struct styled *prefix, struct rows *rows)
{
    struct rows *cells = xcalloc(table->columns, sizeof *cells);
    size_t height = 1;
    unsigned columns = GAP * (table->columns - 1);
    for (unsigned i = 0; i < table->columns; i++) {
        struct wrap inner = {width[i], wrap->level, NULL, NULL, 0};
        columns += width[i];
        if (first + i < table->count) {
            styled_wrap(&table->cells[first + i].text, &inner, &cells[i]);
            height = cells[i].count > height ? cells[i].count : height;
        }
    }
    for (size_t line = 0; line < height; line++) {
        unsigned before = put_prefix(prefix, wrap->level, rows);
        for (unsigned i = 0; i < table->columns; i++) {
            if (i > 0) {
                dim(&rows->bytes, " \xE2\x94\x82 ", wrap->level);
            }
            int align = first + i < table->count ? table->cells[first + i].align : 0;
            put_cell(&cells[i], line, width[i], align, i + 1 == table->columns, &rows->bytes);
        }
        rows_end(rows, before + columns);
        prefix = wrap->next;
    }
    for (unsigned i = 0; i < table->columns; i++) {
        rows_free(&cells[i]);
    }
    free(cells);
}

static void put_rule(const struct table *table, const unsigned *width, const struct wrap *wrap,
                     struct rows *rows)
{
    unsigned columns = put_prefix(wrap->next, wrap->level, rows);
    struct buf rule = {0};
    for (unsigned i = 0; i < table->columns; i++) {
        if (i > 0) {
            buf_puts(&rule, "\xE2\x94\x80\xE2\x94\xBC\xE2\x94\x80");
            columns += GAP;
        }
        for (unsigned n = 0; n < width[i]; n++) {
            buf_puts(&rule, "\xE2\x94\x80");
        }
        columns += width[i];
    }
    dim(&rows->bytes, buf_text(&rule), wrap->level);
    buf_free(&rule);
    rows_end(rows, columns);
}

void table_end(struct table *table, const struct wrap *wrap, struct rows *rows)
{
    if (table->columns > 0 && table->count > 0) {
        unsigned before = 0;
        if (wrap->next != NULL) {
            before = width_columns(wrap->next->text.p, wrap->next->text.n);
        }
        unsigned room = wrap->width > before ? wrap->width - before : 1;
        unsigned *width = column_widths(table, room);
        for (size_t first = 0; first < table->count; first += table->columns) {
            put_row(table, first, width, wrap, first == 0 ? wrap->first : wrap->next, rows);
            if (first == 0) {
                put_rule(table, width, wrap, rows);
            }
        }
        free(width);
    }
    table_free(table);
}
