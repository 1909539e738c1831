/*
 * A screen by libvterm (see screen.h). Called by session.c and process.c on the loop.
 */
#include "screen.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vterm.h>

enum { SMALLEST = 2, LARGEST = 500 };

struct screen {
    VTerm *terminal;
    VTermScreen *screen;
    unsigned rows, columns;
    VTermPos cursor;
    bool full;
    FILE *out; /* what is to be sent */
    char *sent;
    size_t sent_length;
};

/* ---- what libvterm tells ---- */

static int moved(VTermPos now, VTermPos before, int visible, void *user)
{
    struct screen *s = user;
    (void)before;
    (void)visible;
    s->cursor = now;
    return 1;
}

static int changed(VTermProp what, VTermValue *value, void *user)
{
    struct screen *s = user;
    if (what == VTERM_PROP_ALTSCREEN)
        s->full = value->boolean != 0;
    return 1;
}

static const VTermScreenCallbacks callbacks = {.movecursor = moved, .settermprop = changed};

/* ---- life ---- */

static unsigned bounded(unsigned n)
{
    return n < SMALLEST ? SMALLEST : n > LARGEST ? LARGEST : n;
}

static void open_out(struct screen *s)
{
    s->out = open_memstream(&s->sent, &s->sent_length);
    if (!s->out)
        abort();
}

/* libvterm's own buffer is small: emptied after each thing that may fill it. */
static void collect(struct screen *s)
{
    char piece[512];
    size_t n;
    while ((n = vterm_output_read(s->terminal, piece, sizeof piece)) > 0)
        fwrite(piece, 1, n, s->out);
}

static void make_terminal(struct screen *s, unsigned rows, unsigned columns)
{
    s->rows = bounded(rows);
    s->columns = bounded(columns);
    s->terminal = vterm_new((int)s->rows, (int)s->columns);
    if (!s->terminal)
        abort();
    vterm_set_utf8(s->terminal, 1);
    s->screen = vterm_obtain_screen(s->terminal);
    vterm_screen_enable_altscreen(s->screen, 1);
    vterm_screen_set_callbacks(s->screen, &callbacks, s);
    vterm_screen_reset(s->screen, 1);
}

struct screen *screen_new(unsigned rows, unsigned columns)
{
    struct screen *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    make_terminal(s, rows, columns);
    open_out(s);
    return s;
}

void screen_free(struct screen *s)
{
    if (!s)
        return;
    vterm_free(s->terminal);
    fclose(s->out);
    free(s->sent);
    free(s);
}

void screen_feed(struct screen *s, const char *bytes, size_t n, bool lines)
{
    while (n > 0) {
        const char *newline = lines ? memchr(bytes, '\n', n) : NULL;
        size_t piece = newline ? (size_t)(newline - bytes) : n;
        for (size_t at = 0; at < piece;) { /* small pieces, so that no answer is lost */
            size_t step = piece - at < 256 ? piece - at : 256;
            vterm_input_write(s->terminal, bytes + at, step);
            collect(s);
            at += step;
        }
        if (newline)
            vterm_input_write(s->terminal, "\r\n", 2);
        piece += newline != NULL;
        bytes += piece;
        n -= piece;
    }
}

/* ---- what is seen ---- */

static void put_utf8(FILE *out, uint32_t c)
{
    if (c < 0x80) {
        fputc((int)c, out);
    } else if (c < 0x800) {
        fprintf(out, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        fprintf(out, "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3f)),
                (int)(0x80 | (c & 0x3f)));
    } else if (c < 0x110000) {
        fprintf(out, "%c%c%c%c", (int)(0xf0 | c >> 18), (int)(0x80 | (c >> 12 & 0x3f)),
                (int)(0x80 | (c >> 6 & 0x3f)), (int)(0x80 | (c & 0x3f)));
    }
}

/* Width of the row up to its last visible cell. */
static int visible(const struct screen *s, int row)
{
    VTermScreenCell cell;
    int width = (int)s->columns;
    while (width > 0) {
        VTermPos at = {.row = row, .col = width - 1};
        if (vterm_screen_get_cell(s->screen, at, &cell) && cell.chars[0] && cell.chars[0] != ' ')
            break;
        width--;
    }
    return width;
}

static void put_cells(const struct screen *s, FILE *out, int row, int width)
{
    VTermScreenCell cell;
    for (int column = 0; column < width; column++) {
        VTermPos at = {.row = row, .col = column};
        if (!vterm_screen_get_cell(s->screen, at, &cell))
            continue;
        if (cell.chars[0] == UINT32_MAX) /* the right half of a wide character */
            continue;
        if (!cell.chars[0])
            fputc(' ', out);
        for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell.chars[i]; i++)
            put_utf8(out, cell.chars[i]);
    }
}

char *screen_text(struct screen *s, size_t *ret_length)
{
    char *text = NULL;
    int rows = (int)s->rows;
    while (rows > 0 && visible(s, rows - 1) == 0)
        rows--;
    FILE *out = open_memstream(&text, ret_length);
    if (!out)
        abort();
    for (int row = 0; row < rows; row++) {
        put_cells(s, out, row, visible(s, row));
        fputc('\n', out);
    }
    fclose(out);
    return text;
}

/* ---- another size ---- */

static void say(VTerm *terminal, const char *text)
{
    vterm_input_write(terminal, text, strlen(text));
}

struct picture {
    char *bytes;
    size_t n;
};

/* What draws the lower rows of what is shown, as far as there is room, and puts the cursor there.
 */
static struct picture picture_of(const struct screen *s, int rows_most, int columns_most)
{
    struct picture p;
    int rows = (int)s->rows;
    FILE *out = open_memstream(&p.bytes, &p.n);
    if (!out)
        abort();
    while (rows > s->cursor.row + 1 && visible(s, rows - 1) == 0)
        rows--;
    int first = rows > rows_most ? rows - rows_most : 0;
    for (int row = first; row < rows; row++) {
        int width = visible(s, row);
        fprintf(out, "\x1b[%d;1H", row - first + 1);
        put_cells(s, out, row, width < columns_most ? width : columns_most);
    }
    int row = s->cursor.row < first ? 0 : s->cursor.row - first;
    fprintf(out, "\x1b[%d;%dH", row + 1, s->cursor.col + 1);
    fclose(out);
    return p;
}

static void draw(VTerm *terminal, struct picture p)
{
    vterm_input_write(terminal, p.bytes, p.n);
    free(p.bytes);
}

/* DECRQM tells the modes that a program has set: of the cursor keys, wrapping, the cursor, the
 * mouse, pasting. */
static void copy_modes(VTerm *from, VTerm *to)
{
    static const int modes[] = {1, 7, 25, 1000, 1002, 1003, 1006, 2004};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        char text[64], answer[64];
        int mode, value;
        snprintf(text, sizeof text, "\x1b[?%d$p", modes[i]);
        say(from, text);
        answer[vterm_output_read(from, answer, sizeof answer - 1)] = '\0';
        if (sscanf(answer, "\x1b[?%d;%d$y", &mode, &value) == 2 && mode == modes[i]) {
            snprintf(text, sizeof text, "\x1b[?%d%c", mode, value == 1 ? 'h' : 'l');
            say(to, text);
        }
    }
}

/* A new terminal that gets what the old one shows: after vterm_set_size, libvterm 0.1.4 reads and
 * writes outside of its memory once the program moves the cursor to where the old size allowed. */
void screen_resize(struct screen *s, unsigned rows, unsigned columns)
{
    struct screen old = *s;
    vterm_screen_set_callbacks(old.screen, &callbacks, &old);
    make_terminal(s, rows, columns);
    s->full = false;
    say(s->terminal, "\x1b[?7l");
    say(old.terminal, "\x18"); /* a sequence that has only begun is given up */
    struct picture front = picture_of(&old, (int)s->rows, (int)s->columns);
    if (old.full) { /* and what is behind it */
        say(old.terminal, "\x1b[?1049l");
        draw(s->terminal, picture_of(&old, (int)s->rows, (int)s->columns));
        say(s->terminal, "\x1b[?1049h");
    }
    draw(s->terminal, front);
    copy_modes(old.terminal, s->terminal);
    vterm_free(old.terminal);
}

void screen_cursor(const struct screen *s, unsigned *ret_row, unsigned *ret_column)
{
    *ret_row = (unsigned)s->cursor.row + 1;
    *ret_column =
        s->cursor.col < 0 ? 1 : (unsigned)s->cursor.col + 1; /* libvterm says -1 at times */
}

bool screen_is_full(const struct screen *s)
{
    return s->full;
}

/* ---- input ---- */

static VTermKey named(const char *name)
{
    static const struct {
        const char *name;
        VTermKey key;
    } keys[] = {
        {"Enter", VTERM_KEY_ENTER},       {"Return", VTERM_KEY_ENTER},
        {"Tab", VTERM_KEY_TAB},           {"Escape", VTERM_KEY_ESCAPE},
        {"Esc", VTERM_KEY_ESCAPE},        {"Backspace", VTERM_KEY_BACKSPACE},
        {"BSpace", VTERM_KEY_BACKSPACE},  {"Up", VTERM_KEY_UP},
        {"Down", VTERM_KEY_DOWN},         {"Left", VTERM_KEY_LEFT},
        {"Right", VTERM_KEY_RIGHT},       {"Home", VTERM_KEY_HOME},
        {"End", VTERM_KEY_END},           {"PageUp", VTERM_KEY_PAGEUP},
        {"PageDown", VTERM_KEY_PAGEDOWN}, {"Insert", VTERM_KEY_INS},
        {"Delete", VTERM_KEY_DEL},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i].name, name) == 0)
            return keys[i].key;
    if (name[0] == 'F' && isdigit((unsigned char)name[1])) {
        char *end;
        long number = strtol(name + 1, &end, 10);
        if (*end == '\0' && number >= 1 && number <= 24)
            return (VTermKey)VTERM_KEY_FUNCTION((int)number);
    }
    return VTERM_KEY_NONE;
}

/* The character if the text is one; 0 else. */
static uint32_t single(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t length = c[0] < 0x80 ? 1 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    if (!*text || strlen(text) != length)
        return 0;
    uint32_t code = length == 1 ? c[0] : c[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (c[i] & 0x3f);
    return code;
}

bool screen_key(struct screen *s, const char *name)
{
    unsigned modifier = VTERM_MOD_NONE;
    while (name[0] && name[1] == '-' && name[2] && strchr("CMS", name[0])) {
        modifier |= name[0] == 'C'   ? VTERM_MOD_CTRL
                    : name[0] == 'M' ? VTERM_MOD_ALT
                                     : VTERM_MOD_SHIFT;
        name += 2;
    }
    VTermKey key = named(name);
    uint32_t character = strcmp(name, "Space") == 0 ? ' ' : single(name);
    if (key != VTERM_KEY_NONE)
        vterm_keyboard_key(s->terminal, key, (VTermModifier)modifier);
    else if (character)
        vterm_keyboard_unichar(s->terminal, character, (VTermModifier)modifier);
    else
        return false;
    collect(s);
    return true;
}

void screen_paste(struct screen *s, const char *text, size_t n)
{
    vterm_keyboard_start_paste(s->terminal);
    collect(s);
    for (size_t i = 0; i < n; i++) /* a terminal sends a newline as the Enter key */
        if ((unsigned char)text[i] != 0x1b)
            fputc(text[i] == '\n' ? '\r' : text[i], s->out);
    vterm_keyboard_end_paste(s->terminal);
    collect(s);
}

char *screen_take(struct screen *s, size_t *ret_length)
{
    collect(s);
    fflush(s->out);
    if (s->sent_length == 0)
        return NULL;
    fclose(s->out);
    char *text = s->sent;
    *ret_length = s->sent_length;
    open_out(s);
    return text;
}
