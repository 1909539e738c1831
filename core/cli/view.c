/* View: see view.h. Each row is ended by CR LF of our own, also one that fills the terminal's
 * width: the pending wrap of the last column is cancelled by the CR, so a row is always exactly one
 * line of the screen. Moves up by as many lines as the rows take, which after a change of size
 * depends on how the terminal wrapped them. */
#include "cli/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void view_begin(struct view *view, unsigned columns, unsigned height)
{
    memset(view, 0, sizeof *view);
    view_resize(view, columns, height);
}

void view_free(struct view *view)
{
    free(view->drawn);
    memset(view, 0, sizeof *view);
}

void view_resize(struct view *view, unsigned columns, unsigned height)
{
    view->columns = columns < 4 ? 4 : columns;
    view->height = height < 2 ? 2 : height;
}

static unsigned lines_taken(const struct view *view, size_t row)
{
    unsigned columns = view->drawn[row];
    return columns <= view->columns ? 1 : (columns + view->columns - 1) / view->columns;
}

void view_erase(struct view *view, struct buf *out)
{
    if (view->drawn_count == 0) {
        return;
    }
    unsigned up = 0;
    for (size_t i = 0; i < view->cursor_row; i++) {
        up += lines_taken(view, i);
    }
    up = up < view->height ? up : view->height - 1;
    buf_char(out, '\r');
    if (up > 0) {
        buf_printf(out, "\x1b[%uA", up);
    }
    buf_puts(out, "\x1b[J");
    view->drawn_count = 0;
}

static void put_row(struct view *view, const struct rows *rows, size_t index, struct buf *out)
{
    const struct row *row = &rows->row[index];
    if (view->drawn_count > 0) {
        buf_puts(out, "\r\n");
    }
    buf_add(out, rows->bytes.p + row->offset, row->length);
    view->drawn[view->drawn_count++] = row->columns;
}

void view_paint(struct view *view, const struct view_content *content, struct buf *out)
{
    buf_puts(out, "\x1b[?25l");
    view_erase(view, out);
    size_t prompt = content->prompt == NULL ? 0 : content->prompt->count;
    size_t first = 0; /* the first row of the prompt to be seen */
    if (prompt > view->height) {
        size_t half = view->height / 2;
        first = content->cursor_row < half ? 0 : content->cursor_row - half;
        first = first > prompt - view->height ? prompt - view->height : first;
        prompt = view->height;
    }
    size_t above = content->above == NULL ? 0 : content->above->count;
    size_t shown = above < view->height - prompt ? above : view->height - prompt;
    view->drawn = xrealloc(view->drawn, (prompt + shown + 1) * sizeof *view->drawn);
    for (size_t i = above - shown; i < above; i++) {
        put_row(view, content->above, i, out);
    }
    for (size_t i = 0; i < prompt; i++) {
        put_row(view, content->prompt, first + i, out);
    }
    view->cursor_row = view->drawn_count == 0 ? 0 : view->drawn_count - 1;
    if (prompt > 0) {
        size_t row = shown + content->cursor_row - first;
        if (view->cursor_row > row) {
            buf_printf(out, "\x1b[%uA", (unsigned)(view->cursor_row - row));
        }
        view->cursor_row = row;
        buf_char(out, '\r');
        if (content->cursor_column > 0) {
            buf_printf(out, "\x1b[%uC", content->cursor_column);
        }
    }
    buf_puts(out, "\x1b[?25h");
}

void view_print(const struct rows *rows, struct buf *out)
{
    for (size_t i = 0; i < rows->count; i++) {
        buf_add(out, rows->bytes.p + rows->row[i].offset, rows->row[i].length);
        buf_puts(out, "\r\n");
    }
}
