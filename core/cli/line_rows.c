/* Line rows: how the text being typed looks on the screen, row by row, and where its cursor is. The
 * other half of line.h. */
#include "cli/line.h"

#include <string.h>

#include "cli/clean.h"
#include "cli/width.h"

#define TAB_COLUMNS 4

/* The rows being built. */
struct layout {
    unsigned columns;
    unsigned indent; /* of all rows but the first */
    enum style_level level;
    struct rows *rows;
    unsigned used; /* columns of the row that is open */
};

static void put(struct layout *layout, const char *text, size_t length, unsigned style)
{
    struct styled styled = {0};
    styled_add(&styled, text, length, style);
    styled_emit(&layout->rows->bytes, &styled, 0, length, layout->level);
    styled_free(&styled);
}

static void new_row(struct layout *layout)
{
    rows_end(layout->rows, layout->used);
    for (unsigned i = 0; i < layout->indent; i++) {
        buf_char(&layout->rows->bytes, ' ');
    }
    layout->used = layout->indent;
}

/* A visible character; it never hangs over the edge. */
static void put_glyph(struct layout *layout, const char *text, size_t length, unsigned columns,
                      unsigned style)
{
    if (layout->used + columns > layout->columns) {
        new_row(layout);
    }
    if (style == STYLE_PLAIN) {
        buf_add(&layout->rows->bytes, text, length);
    } else {
        put(layout, text, length, style);
    }
    layout->used += columns;
}

/* Returns the bytes of the text that were taken. */
static size_t put_character(struct layout *layout, const char *text, size_t length)
{
    unsigned columns;
    size_t bytes = width_next(text, length, &columns);
    unsigned char c = (unsigned char)text[0];
    if (c == '\n') {
        new_row(layout);
    } else if (c == '\t') {
        put_glyph(layout, "    ", TAB_COLUMNS, TAB_COLUMNS, STYLE_PLAIN);
    } else if (c < 0x20 || c == 0x7F) {
        char shown[2] = {'^', (char)(c ^ 0x40)};
        put_glyph(layout, shown, 2, 2, STYLE_DIM);
    } else {
        struct buf clean = {0};
        clean_append(&clean, text, bytes);
        if (clean.n > 0) {
            put_glyph(layout, clean.p, clean.n, columns, STYLE_PLAIN);
        }
        buf_free(&clean);
    }
    return bytes;
}

static void note_cursor(struct layout *layout, size_t *row, unsigned *column)
{
    if (layout->used >= layout->columns) { /* behind a full row is the next one's begin */
        new_row(layout);
    }
    *row = layout->rows->count;
    *column = layout->used;
}

static void put_prompt(struct layout *layout, const char *prompt)
{
    for (size_t at = 0, n = strlen(prompt); at < n;) {
        unsigned columns;
        size_t bytes = width_next(prompt + at, n - at, &columns);
        put_glyph(layout, prompt + at, bytes, columns, STYLE_BOLD);
        at += bytes;
    }
}

static void put_search(struct layout *layout, const struct line *line)
{
    struct buf shown = {0};
    buf_puts(&shown, "search: ");
    clean_append_line(&shown, line->wanted.p, line->wanted.n, layout->columns / 2);
    put_prompt(layout, buf_text(&shown));
    buf_free(&shown);
}

static void put_found(struct layout *layout, const struct line *line)
{
    if (line->found == (size_t)-1) {
        return;
    }
    const char *entry = line->history->entries[line->found];
    struct buf shown = {0};
    if (layout->columns > layout->used + 8) {
        clean_append_line(&shown, entry, strlen(entry), layout->columns - layout->used - 3);
        put(layout, "  ", 2, STYLE_PLAIN);
        put(layout, shown.p, shown.n, STYLE_DIM);
        layout->used += 2 + width_columns(shown.p, shown.n);
    }
    buf_free(&shown);
}

void line_rows(struct line *line, unsigned columns, enum style_level level, struct rows *rows,
               size_t *cursor_row, unsigned *cursor_column)
{
    struct layout layout = {.columns = columns < 4 ? 4 : columns, .level = level, .rows = rows};
    if (line->choices != NULL) {
        put_prompt(&layout, line->question);
        note_cursor(&layout, cursor_row, cursor_column);
    } else if (line->searching) {
        put_search(&layout, line);
        note_cursor(&layout, cursor_row, cursor_column);
        put_found(&layout, line);
    } else {
        unsigned prompt = width_columns(line->prompt, strlen(line->prompt));
        layout.indent = prompt <= layout.columns / 2 ? prompt : 0;
        put_prompt(&layout, line->prompt);
        const struct edit *edit = &line->edit;
        for (size_t at = 0; at < edit->text.n;) {
            if (at == edit->cursor) {
                note_cursor(&layout, cursor_row, cursor_column);
            }
            at += put_character(&layout, edit->text.p + at, edit->text.n - at);
        }
        if (edit->cursor == edit->text.n) {
            note_cursor(&layout, cursor_row, cursor_column);
        }
    }
    rows_end(rows, layout.used);
    if (line->hint.n > 0) {
        struct buf hint = {0};
        clean_append_line(&hint, line->hint.p, line->hint.n, layout.columns);
        put(&layout, hint.p, hint.n, STYLE_DIM);
        rows_end(rows, width_columns(hint.p, hint.n));
        buf_free(&hint);
    }
}
