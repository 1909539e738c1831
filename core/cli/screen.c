/* Screen: see screen.h. */
#include "cli/screen.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/clean.h"
#include "cli/output.h"
#include "cli/terminal.h"

void screen_begin(struct screen *screen, struct line *line)
{
    unsigned columns, rows;
    memset(screen, 0, sizeof *screen);
    screen->level = output_level(STDOUT_FILENO);
    screen->live = screen->level != STYLE_NONE;
    screen->line = line;
    terminal_size(&columns, &rows);
    view_begin(&screen->view, columns, rows);
}

void screen_end(struct screen *screen)
{
    view_erase(&screen->view, &screen->out);
    screen_flush(screen);
    view_free(&screen->view);
    rows_free(&screen->above);
    buf_free(&screen->out);
}

unsigned screen_width(const struct screen *screen)
{
    return screen->view.columns;
}

void screen_resize(struct screen *screen)
{
    unsigned columns, rows;
    terminal_size(&columns, &rows);
    view_resize(&screen->view, columns, rows);
}

void screen_flush(struct screen *screen)
{
    terminal_write(&screen->out);
}

void screen_print(struct screen *screen, const struct rows *rows)
{
    view_erase(&screen->view, &screen->out);
    if (screen->live) {
        view_print(rows, &screen->out);
    } else {
        for (size_t i = 0; i < rows->count; i++) {
            buf_add(&screen->out, rows->bytes.p + rows->row[i].offset, rows->row[i].length);
            buf_char(&screen->out, '\n');
        }
        screen_flush(screen);
    }
}

void screen_say(struct screen *screen, const char *text, unsigned style)
{
    struct buf clean = {0};
    struct styled styled = {0};
    struct rows rows = {0};
    clean_append(&clean, text, strlen(text));
    styled_add(&styled, clean.p, clean.n, style);
    struct wrap wrap = {screen_width(screen), screen->level, NULL, NULL, 0};
    styled_wrap(&styled, &wrap, &rows);
    screen_print(screen, &rows);
    rows_free(&rows);
    styled_free(&styled);
    buf_free(&clean);
}

void screen_blank(struct screen *screen)
{
    struct rows rows = {0};
    rows_add(&rows, "", 0, 0);
    screen_print(screen, &rows);
    rows_free(&rows);
}

void screen_paint(struct screen *screen)
{
    if (!screen->live) {
        return;
    }
    struct rows prompt = {0};
    struct view_content content = {.above = &screen->above};
    if (screen->line != NULL) {
        line_rows(screen->line, screen->view.columns, screen->level, &prompt, &content.cursor_row,
                  &content.cursor_column);
        content.prompt = &prompt;
    }
    view_paint(&screen->view, &content, &screen->out);
    screen_flush(screen);
    rows_free(&prompt);
}

void screen_clear(struct screen *screen)
{
    view_erase(&screen->view, &screen->out);
    if (screen->live) {
        buf_puts(&screen->out, "\x1b[H\x1b[2J");
    }
}
