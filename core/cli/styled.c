/* Styled: see styled.h. A row may be broken at a space, between two wide characters (scripts that
 * put no spaces between words), and inside a word only when the word alone is wider than a row. */
#include "cli/styled.h"

#include <stdbool.h>
#include <string.h>

#include "cli/width.h"

void styled_add(struct styled *styled, const char *text, size_t length, unsigned style)
{
    buf_add(&styled->text, text, length);
    buf_reserve(&styled->style, length);
    if (length > 0) {
        memset(styled->style.p + styled->style.n, (int)style, length);
        styled->style.n += length;
    }
}

void styled_join(struct styled *styled, const struct styled *more)
{
    buf_add(&styled->text, more->text.p, more->text.n);
    buf_add(&styled->style, more->style.p, more->style.n);
}

void styled_clear(struct styled *styled)
{
    buf_clear(&styled->text);
    buf_clear(&styled->style);
}

void styled_free(struct styled *styled)
{
    buf_free(&styled->text);
    buf_free(&styled->style);
}

static void emit_style(struct buf *out, unsigned style, enum style_level level)
{
    static const struct {
        unsigned bit;
        const char *mono, *colour;
    } codes[] = {
        {STYLE_BOLD, "1", "1"},      {STYLE_DIM, "2", "2"},      {STYLE_ITALIC, "3", "3"},
        {STYLE_UNDERLINE, "4", "4"}, {STYLE_STRIKE, "9", "9"},   {STYLE_CODE, "", "36"},
        {STYLE_TITLE, "1", "1;35"},  {STYLE_ALERT, "1", "1;33"},
    };
    buf_add(out, "\x1b[0", 3);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        const char *code = level == STYLE_COLOUR ? codes[i].colour : codes[i].mono;
        if ((style & codes[i].bit) != 0 && code[0] != '\0') {
            buf_printf(out, ";%s", code);
        }
    }
    buf_add(out, "m", 1);
}

void styled_emit(struct buf *out, const struct styled *styled, size_t from, size_t to,
                 enum style_level level)
{
    unsigned now = STYLE_PLAIN;
    for (size_t at = from; at < to;) {
        unsigned style = (unsigned char)styled->style.p[at];
        size_t end = at;
        while (end < to && (unsigned char)styled->style.p[end] == style) {
            end++;
        }
        if (style != now && level != STYLE_NONE) {
            emit_style(out, style, level);
        }
        now = style;
        buf_add(out, styled->text.p + at, end - at);
        at = end;
    }
    if (now != STYLE_PLAIN && level != STYLE_NONE) {
        buf_add(out, "\x1b[0m", 4);
    }
}

/* One row of the text: bytes from `from` to `to` are shown, `next` is where the next row begins. */
struct piece {
    size_t from, to, next;
    unsigned columns;
};

static bool wide_at(const struct styled *styled, size_t at, size_t end)
{
    unsigned columns;
    width_next(styled->text.p + at, end - at, &columns);
    return columns >= 2;
}

/* Finds the row that begins at `from` in the line that ends at `end`. */
static struct piece next_piece(const struct styled *styled, size_t from, size_t end, unsigned room,
                               int hard)
{
    const char *text = styled->text.p;
    struct piece whole = {from, end, end, 0};
    struct piece word = {0}; /* the last place where the row may end */
    bool have_word = false, before_wide = false;
    unsigned used = 0;
    for (size_t at = from; at < end;) {
        unsigned columns;
        size_t bytes = width_next(text + at, end - at, &columns);
        bool space = text[at] == ' ';
        if (!hard && at > from && !space && (before_wide || columns >= 2) && text[at - 1] != ' ') {
            word = (struct piece){from, at, at, used};
            have_word = true;
        }
        if (!hard && space && (at == from || text[at - 1] != ' ')) {
            size_t after = at;
            while (after < end && text[after] == ' ') {
                after++;
            }
            if (used <= room) {
                word = (struct piece){from, at, after, used};
                have_word = at > from;
            }
        }
        if (used + columns > room && at > from) {
            if (have_word) {
                return word;
            }
            return (struct piece){from, at, at, used};
        }
        used += columns;
        before_wide = columns >= 2;
        at += bytes;
    }
    whole.columns = used;
    return whole;
}

void styled_wrap(const struct styled *styled, const struct wrap *wrap, struct rows *rows)
{
    size_t length = styled->text.n;
    const struct styled *prefix = wrap->first;
    for (size_t at = 0;;) {
        const char *line = length == 0 ? NULL : memchr(styled->text.p + at, '\n', length - at);
        size_t end = line == NULL ? length : (size_t)(line - styled->text.p);
        size_t from = at;
        do {
            unsigned before = 0;
            if (prefix != NULL) {
                before = width_columns(prefix->text.p, prefix->text.n);
                styled_emit(&rows->bytes, prefix, 0, prefix->text.n, wrap->level);
            }
            unsigned room = wrap->width > before + 1 ? wrap->width - before : 2;
            struct piece piece = next_piece(styled, from, end, room, wrap->hard);
            styled_emit(&rows->bytes, styled, piece.from, piece.to, wrap->level);
            rows_end(rows, before + piece.columns);
            prefix = wrap->next;
            from = piece.next;
        } while (from < end);
        if (line == NULL) {
            return;
        }
        at = end + 1;
    }
}

unsigned styled_widest_line(const struct styled *styled)
{
    unsigned widest = 0, used = 0;
    for (size_t at = 0; at < styled->text.n;) {
        unsigned columns;
        bool line_break = styled->text.p[at] == '\n';
        at += width_next(styled->text.p + at, styled->text.n - at, &columns);
        used = line_break ? 0 : used + columns;
        widest = used > widest ? used : widest;
    }
    return widest;
}

unsigned styled_widest_word(const struct styled *styled)
{
    unsigned widest = 0, used = 0;
    for (size_t at = 0; at < styled->text.n;) {
        unsigned columns;
        char c = styled->text.p[at];
        bool apart = wide_at(styled, at, styled->text.n);
        at += width_next(styled->text.p + at, styled->text.n - at, &columns);
        used = c == ' ' || c == '\n' ? 0 : apart ? columns : used + columns;
        widest = used > widest ? used : widest;
    }
    return widest;
}
