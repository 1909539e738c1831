/* A small terminal for tests: interprets what cli/view.c prints, wide characters, pending wrap and
 * scrolling included, and tells what a person would see. Fails the test on a sequence that it
 * doesn't know. To be included behind cmocka.h. */
#ifndef UNIT_CLI_SCREEN_H
#define UNIT_CLI_SCREEN_H

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "cli/width.h"

#define SCREEN_ROWS    12
#define SCREEN_COLUMNS 40

struct screen {
    char cell[SCREEN_ROWS][SCREEN_COLUMNS]
             [16]; /* UTF-8; "" empty; "\1": right half of a wide one */
    unsigned columns;
    int row, column;
    bool wrap_pending;
};

static inline void screen_scroll(struct screen *s)
{
    memmove(s->cell[0], s->cell[1], sizeof s->cell[0] * (SCREEN_ROWS - 1));
    memset(s->cell[SCREEN_ROWS - 1], 0, sizeof s->cell[0]);
}

static inline void screen_down(struct screen *s)
{
    if (s->row == SCREEN_ROWS - 1) {
        screen_scroll(s);
    } else {
        s->row++;
    }
}

static inline void screen_character(struct screen *s, const char *text, size_t bytes)
{
    uint32_t character;
    width_decode(text, bytes, &character);
    unsigned wide = width_of(character);
    if (wide == 0) {
        int at = s->wrap_pending ? s->column : s->column - 1;
        assert_true(at >= 0);
        while (at > 0 && s->cell[s->row][at][0] == '\1') {
            at--;
        }
        assert_true(strlen(s->cell[s->row][at]) + bytes < sizeof s->cell[0][0]);
        strncat(s->cell[s->row][at], text, bytes);
        return;
    }
    if (s->wrap_pending || s->column + (int)wide > (int)s->columns) {
        s->column = 0;
        s->wrap_pending = false;
        screen_down(s);
    }
    memset(s->cell[s->row][s->column], 0, sizeof s->cell[0][0]);
    memcpy(s->cell[s->row][s->column], text, bytes);
    if (wide == 2) {
        s->cell[s->row][s->column + 1][0] = '\1';
        s->cell[s->row][s->column + 1][1] = '\0';
    }
    s->column += (int)wide;
    if (s->column >= (int)s->columns) {
        s->column = (int)s->columns - 1;
        s->wrap_pending = true;
    }
}

static inline size_t screen_sequence(struct screen *s, const char *text)
{
    unsigned number = 0;
    size_t at = 2;
    bool private = text[at] == '?';
    at += private;
    while (text[at] >= '0' && text[at] <= '?') {
        number = text[at] == ';' ? 0 : number * 10 + (unsigned)(text[at] - '0');
        at++;
    }
    switch (text[at]) {
    case 'A': s->row = s->row > (int)number ? s->row - (int)number : 0; break;
    case 'C': s->column += (int)number; break;
    case 'J':
        memset(s->cell[s->row][s->column], 0,
               sizeof s->cell[0][0] * (size_t)(SCREEN_COLUMNS - s->column));
        for (int row = s->row + 1; row < SCREEN_ROWS; row++) {
            memset(s->cell[row], 0, sizeof s->cell[0]);
        }
        break;
    case 'h':
    case 'l':
    case 'm': break;
    default: fail_msg("a sequence that this terminal doesn't know: %c", text[at]);
    }
    s->wrap_pending = false;
    return at + 1;
}

static inline void screen_write(struct screen *s, const struct buf *bytes)
{
    for (size_t at = 0; at < bytes->n;) {
        const char *text = bytes->p + at;
        if (*text == '\x1b') {
            at += screen_sequence(s, text);
        } else if (*text == '\r') {
            s->column = 0;
            s->wrap_pending = false;
            at++;
        } else if (*text == '\n') {
            screen_down(s);
            at++;
        } else {
            uint32_t character;
            size_t length = width_decode(text, bytes->n - at, &character);
            screen_character(s, text, length);
            at += length;
        }
    }
}

/* All rows up to the last one that holds something, with "_" where the cursor is. */
static inline const char *screen_text(struct screen *s)
{
    static char out[8192];
    size_t n = 0, end = 0;
    for (int row = 0; row < SCREEN_ROWS; row++) {
        size_t last = n;
        for (int column = 0; column < (int)s->columns; column++) {
            const char *cell = s->cell[row][column];
            if (row == s->row && column == s->column) {
                out[n++] = '_';
                last = n;
            }
            if (cell[0] == '\1') {
                continue;
            }
            size_t bytes = cell[0] == '\0' ? 1 : strlen(cell);
            memcpy(out + n, cell[0] == '\0' ? " " : cell, bytes);
            n += bytes;
            last = cell[0] == '\0' ? last : n;
        }
        n = last;
        end = last > 0 && out[last - 1] != '\n' ? last : end;
        out[n++] = '\n';
    }
    out[end] = '\0';
    return out;
}

#endif
