/*
 * Cuts a Markdown text into pieces that fit into one message of a channel. Part of markup.h.
 */
#include <stdlib.h>
#include <string.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/chats/markup.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "host/call.h"

enum { SMALLEST = 16, PIECES_MOST = 500 };

uint64_t pieces_units(const char *text, size_t n, uint32_t unit)
{
    if (unit == CHELA_UNIT_CHARACTERS)
        return utf8_count(text, n);
    if (unit == CHELA_UNIT_UTF16)
        return utf8_count_utf16(text, n);
    return n;
}

/* The most bytes of the text that make at most `units`, at a character's end. */
static size_t fit(const char *text, size_t n, uint64_t units, uint32_t unit)
{
    if (unit != CHELA_UNIT_CHARACTERS && unit != CHELA_UNIT_UTF16)
        return utf8_cut(text, n, (size_t)units);
    size_t at = 0;
    uint64_t used = 0;
    while (at < n) {
        uint32_t c;
        size_t length = utf8_next(text + at, n - at, &c);
        if (length == 0)
            length = 1;
        uint64_t cost = unit == CHELA_UNIT_UTF16 && length == 4 ? 2 : 1;
        if (used + cost > units)
            break;
        used += cost;
        at += length;
    }
    return at;
}

static size_t last_of(const char *text, size_t most, const char *what)
{
    size_t length = strlen(what);
    for (size_t i = most; i >= length && i > most / 3; i--) {
        if (memcmp(text + i - length, what, length) == 0)
            return i;
    }
    return 0;
}

/* The end of the link "[text](target)" or "![...](...)" that begins at text[0] == '[', or 0. */
static size_t link_end(const char *text, size_t n)
{
    unsigned depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\\')
            i++;
        else if (text[i] == '\n' && i + 1 < n && text[i + 1] == '\n')
            return 0;
        else if (text[i] == '[')
            depth++;
        else if (text[i] == ']' && --depth == 0) {
            const char *end = i + 1 < n && text[i + 1] == '(' ? memchr(text + i, ')', n - i) : NULL;
            return end ? (size_t)(end - text) + 1 : 0;
        }
    }
    return 0;
}

/* A cut within a link moves to its beginning, if something is left in front of it. */
static size_t before_link(const char *text, size_t n, size_t at)
{
    for (size_t i = at; i-- > 0;) {
        if (text[i] == '\n' && i && text[i - 1] == '\n')
            break;
        if (text[i] == '[' && i + link_end(text + i, n - i) > at)
            at = i && text[i - 1] == '!' ? i - 1 : i;
    }
    return at;
}

/* Where to cut within the first `most` bytes: paragraph, line, sentence, word, character; never
 * within a link, unless it is longer than that. */
static size_t choose(const char *text, size_t n, size_t most)
{
    static const char *const marks[] = {"\n\n", "\n", ". ", "\xe3\x80\x82", " "};
    size_t at = 0;
    for (unsigned i = 0; i < ARRAY_LENGTH(marks) && !at; i++)
        at = last_of(text, most, marks[i]);
    if (!at)
        at = utf8_cut_grapheme(text, n, most);
    if (!at)
        at = most;
    size_t whole = before_link(text, n, at);
    return whole ? whole : at;
}

/* The line that opens the fence in which the text ends (`open`: the one in which it began), or
 * NULL. Free it. */
static char *open_fence(const char *text, size_t n, const char *open)
{
    char *fence = xstrdup(open);
    size_t at = 0;
    while (at < n) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t length = end ? (size_t)(end - text) - at : n - at;
        const char *line = text + at;
        size_t blank = 0;
        while (blank < length && blank < 3 && line[blank] == ' ')
            blank++;
        bool mark = length - blank >= 3 &&
                    (memcmp(line + blank, "```", 3) == 0 || memcmp(line + blank, "~~~", 3) == 0);
        if (mark && !fence) {
            fence = xmemdup(line + blank, length - blank);
        } else if (mark && fence[0] == line[blank]) {
            free(fence);
            fence = NULL;
        }
        at += length + 1;
    }
    return fence;
}

/* One piece from the front of the text: returns how many bytes it takes; *ret_piece is rendered. */
static size_t take(const char *text, size_t n, char **fence, const char *dialect, uint64_t limit,
                   uint32_t unit, char **ret_piece)
{
    uint64_t budget = limit;
    for (;;) {
        CLEANUP(freep) char *before = *fence ? xprintf("%s\n", *fence) : xstrdup("");
        uint64_t extra = pieces_units(before, strlen(before), unit);
        size_t cut = n;
        if (pieces_units(text, n, unit) + extra > budget) {
            uint64_t room = budget > extra + 8 ? budget - extra - 4 : budget / 2 + 1;
            size_t most = fit(text, n, room, unit);
            if (most == 0) /* not even one character: it is sent nevertheless */
                most = fit(text, n, 1, CHELA_UNIT_CHARACTERS);
            cut = choose(text, n, most);
        }
        char *after = open_fence(text, cut, *fence);
        bool newline = cut && text[cut - 1] == '\n';
        CLEANUP(freep) char *part = xmemdup(text, cut);
        CLEANUP(freep)
        char *source = xprintf("%s%s%s", before, part, after ? newline ? "```" : "\n```" : "");
        if (after && after[0] == '~')
            memcpy(source + strlen(source) - 3, "~~~", 3);
        char *piece = markup_render(source, strlen(source), dialect);
        uint64_t units = pieces_units(piece, strlen(piece), unit);
        if (units <= limit || budget <= SMALLEST || cut <= 4) {
            free(*fence);
            *fence = cut < n ? after : NULL;
            if (cut >= n)
                free(after);
            *ret_piece = piece;
            return cut;
        }
        free(after);
        free(piece);
        budget = budget * limit / units;
        budget -= budget / 16 + 1;
    }
}

unsigned pieces_make(const char *text, const char *dialect, uint64_t limit, uint32_t unit,
                     char ***ret)
{
    size_t n = strlen(text);
    unsigned count = 0;
    char **pieces = NULL, *fence = NULL;
    if (limit && limit < SMALLEST)
        limit = SMALLEST;
    while (n && count < PIECES_MOST) {
        char *piece = NULL;
        size_t used;
        if (limit) {
            used = take(text, n, &fence, dialect, limit, unit, &piece);
        } else {
            piece = markup_render(text, n, dialect);
            used = n;
        }
        text += used;
        n -= used;
        while (!fence && n && (*text == '\n' || *text == ' ') && count + 1 < PIECES_MOST) {
            text++;
            n--;
        }
        if (*piece) {
            pieces = xrealloc(pieces, (count + 1) * sizeof *pieces);
            pieces[count++] = piece;
        } else {
            free(piece);
        }
    }
    free(fence);
    *ret = pieces;
    return count;
}

void pieces_free(char **pieces, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        free(pieces[i]);
    free(pieces);
}

static void plugin_renders(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_markup *m = args;
    (void)in;
    CLEANUP(freep) char *text = xmemdup(m->text.s ? m->text.s : "", m->text.n);
    CLEANUP(freep) char *dialect = xmemdup(m->dialect.s ? m->dialect.s : "", m->dialect.n);
    if (!markup_known(dialect)) {
        call_answer_error(id, CHELA_E_ARGS, "no such dialect of Markdown");
        return;
    }
    char **pieces;
    unsigned count = pieces_make(text, dialect, m->limit, m->unit, &pieces);
    struct json_object *list = chela_json_new_array();
    for (unsigned i = 0; i < count; i++)
        chela_json_push(list, chela_json_new_string(pieces[i], strlen(pieces[i])));
    size_t n;
    const char *json = chela_json_text(list, &n);
    CHELA_ARGS(chela_done, d, 0);
    d.extra = chela_sn(json, n);
    call_answer(id, &d);
    json_object_put(list);
    pieces_free(pieces, count);
}

void markup_register(void)
{
    call_handle(CHELA_FN_MARKUP, plugin_renders, NULL);
}
