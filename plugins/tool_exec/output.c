/*
 * What a command prints (see output.h). Called by tool_exec.c with each piece.
 */
#include "output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LINE = 64 * 1024 };

static void *take(size_t n)
{
    void *p = calloc(1, n ? n : 1);
    if (!p)
        abort();
    return p;
}

void output_open(struct output *o, size_t limit)
{
    o->half = limit / 2;
    o->head = take(o->half);
    o->tail = take(o->half);
}

void output_free(struct output *o)
{
    free(o->head);
    free(o->tail);
    free(o->line);
    memset(o, 0, sizeof *o);
}

static void keep(struct output *o, const char *p, size_t n)
{
    size_t room = o->half - o->head_length, first = n < room ? n : room;
    memcpy(o->head + o->head_length, p, first);
    o->head_length += first;
    for (p += first, n -= first; n && o->half; p++, n--) {
        if (o->tail_length == o->half)
            o->dropped++;
        else
            o->tail_length++;
        o->tail[o->tail_at] = *p;
        o->tail_at = (o->tail_at + 1) % o->half;
    }
}

static void flush_line(struct output *o, bool newline)
{
    keep(o, o->line ? o->line : "", o->line_length);
    if (newline)
        keep(o, "\n", 1);
    o->line_length = o->column = 0;
}

static void put(struct output *o, char c)
{
    if (o->column >= LONGEST_LINE)
        flush_line(o, false);
    if (o->column >= o->line_size) {
        size_t size = o->line_size ? o->line_size * 2 : 256;
        char *grown = realloc(o->line, size);
        if (!grown)
            abort();
        o->line = grown;
        o->line_size = size;
    }
    o->line[o->column++] = c;
    if (o->column > o->line_length)
        o->line_length = o->column;
}

/* One byte of text: what a terminal's cursor would do with it, in one line. */
static void text(struct output *o, unsigned char c)
{
    if (c == '\n')
        flush_line(o, true);
    else if (c == '\r')
        o->column = 0;
    else if (c == '\b')
        o->column -= o->column > 0;
    else if (c == 0x1b)
        o->state = OUTPUT_ESCAPE;
    else if (c == '\t' || c >= 0x20) {
        if (c != 0x7f)
            put(o, (char)c);
    }
}

static void step(struct output *o, unsigned char c)
{
    switch (o->state) {
    case OUTPUT_TEXT: text(o, c); break;
    case OUTPUT_ESCAPE:
        o->state = c == '['                                                   ? OUTPUT_CSI
                   : c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_' ? OUTPUT_STRING
                   : c == '(' || c == ')' || c == '#' || c == '%'             ? OUTPUT_CHARSET
                                                                              : OUTPUT_TEXT;
        break;
    case OUTPUT_CSI:
        if (c == 'K' && o->column < o->line_length)
            o->line_length = o->column; /* erases to the end of the line */
        if (c >= 0x40 && c <= 0x7e)
            o->state = OUTPUT_TEXT;
        break;
    case OUTPUT_STRING:
        o->state = c == 0x07 ? OUTPUT_TEXT : c == 0x1b ? OUTPUT_STRING_ESCAPE : OUTPUT_STRING;
        break;
    case OUTPUT_STRING_ESCAPE: o->state = c == '\\' ? OUTPUT_TEXT : OUTPUT_STRING; break;
    case OUTPUT_CHARSET: o->state = OUTPUT_TEXT; break;
    }
}

void output_add(struct output *o, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        /* a line that ends with "\r\n" is not written over */
        if (bytes[i] == '\n' && o->state == OUTPUT_TEXT)
            o->column = o->line_length;
        step(o, (unsigned char)bytes[i]);
    }
}

/* Appends p with bytes that are no UTF-8 replaced. */
static void write_clean(FILE *out, const char *p, size_t n)
{
    json_object *s = chela_json_new_string(p, n);
    size_t length = 0;
    const char *clean = chela_json_as_string(s, &length);
    fwrite(clean, 1, length, out);
    json_object_put(s);
}

char *output_take(struct output *o, size_t *ret_length)
{
    char *r = NULL, *tail = take(o->tail_length + 1);
    flush_line(o, false);
    FILE *out = open_memstream(&r, ret_length);
    if (!out)
        abort();
    size_t from = o->half ? (o->tail_at + o->half - o->tail_length) % o->half : 0;
    for (size_t i = 0; i < o->tail_length; i++)
        tail[i] = o->tail[(from + i) % o->half];
    if (!o->dropped) { /* head and tail are one text */
        char *whole = take(o->head_length + o->tail_length + 1);
        memcpy(whole, o->head, o->head_length);
        memcpy(whole + o->head_length, tail, o->tail_length);
        write_clean(out, whole, o->head_length + o->tail_length);
        free(whole);
    } else {
        size_t cut = 0; /* begin with a whole line, or at least a whole character */
        while (cut < o->tail_length && tail[cut] != '\n')
            cut++;
        cut = cut < o->tail_length ? cut + 1 : 0;
        write_clean(out, o->head, o->head_length);
        fprintf(out, "\n[... %llu bytes left out ...]\n", o->dropped + cut);
        write_clean(out, tail + cut, o->tail_length - cut);
    }
    fclose(out);
    free(tail);
    output_free(o);
    return r;
}
