/* Table: the cells of one Markdown table, and its layout in columns that fit the terminal. Called
 * by render.c. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli/styled.h"

struct table_cell_text {
    struct styled text;
    int align; /* MD_ALIGN of md4c */
};

struct table {
    unsigned columns;
    struct table_cell_text *cells; /* row by row, the heading first */
    size_t count, capacity;
};

void table_begin(struct table *table, unsigned columns);
void table_cell(struct table *table, const struct styled *text, int align);
/* Lays the rows out behind the wrap's prefixes and forgets the cells. */
void table_end(struct table *table, const struct wrap *wrap, struct rows *rows);
void table_free(struct table *table);

#endif
