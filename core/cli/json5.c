/* JSON5: see json5.h. One pass over the tokens; a comma is written when the next token shows that
 * something follows. */
#include "cli/json5.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *at, *end;
    unsigned line;
    struct buf *out;
    bool comma; /* one was read and not yet written */
};

static int wrong(const struct reader *r, struct error *e, const char *what)
{
    return error_set(e, CHELA_E_ARGS, "line %u: %s", r->line, what);
}

static bool starts(const struct reader *r, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(r->end - r->at) >= n && memcmp(r->at, word, n) == 0;
}

/* Blanks and comments. */
static int skip(struct reader *r, struct error *e)
{
    while (r->at < r->end) {
        if (starts(r, "//")) {
            while (r->at < r->end && *r->at != '\n')
                r->at++;
        } else if (starts(r, "/*")) {
            unsigned line = r->line;
            for (r->at += 2; r->at < r->end && !starts(r, "*/"); r->at++)
                r->line += *r->at == '\n';
            if (r->at >= r->end) {
                r->line = line;
                return wrong(r, e, "a comment has no end");
            }
            r->at += 2;
        } else if (isspace((unsigned char)*r->at)) {
            r->line += *r->at++ == '\n';
        } else if (starts(r, "\xEF\xBB\xBF") || starts(r, "\xC2\xA0")) {
            r->at += *r->at == '\xEF' ? 3 : 2;
        } else {
            break;
        }
    }
    return 0;
}

static void escape(struct reader *r)
{
    char c = *r->at++;
    switch (c) {
    case '\'': buf_char(r->out, '\''); break;
    case '\n': r->line++; break; /* the text goes on in the next line */
    case '\r':
        r->line++;
        r->at += r->at < r->end && *r->at == '\n';
        break;
    case 'v': buf_puts(r->out, "\\u000b"); break;
    case '0': buf_puts(r->out, "\\u0000"); break;
    case 'x':
        buf_puts(r->out, "\\u00");
        for (int i = 0; i < 2 && r->at < r->end; i++)
            buf_char(r->out, *r->at++);
        break;
    default:
        if (strchr("\"\\/bfnrtu", c))
            buf_char(r->out, '\\');
        buf_char(r->out, c);
    }
}

static int string(struct reader *r, struct error *e)
{
    char quote = *r->at++;
    buf_char(r->out, '"');
    while (r->at < r->end && *r->at != quote) {
        if (*r->at == '\\' && r->at + 1 < r->end) {
            r->at++;
            escape(r);
        } else if (*r->at == '\n') {
            return wrong(r, e, "a text has no end");
        } else {
            if (*r->at == '"')
                buf_char(r->out, '\\');
            buf_char(r->out, *r->at++);
        }
    }
    if (r->at >= r->end)
        return wrong(r, e, "a text has no end");
    r->at++;
    buf_char(r->out, '"');
    return 0;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* A bare key, or true, false, null. */
static int word(struct reader *r, struct error *e)
{
    const char *begin = r->at;
    while (r->at < r->end && is_word(*r->at))
        r->at++;
    size_t n = (size_t)(r->at - begin);
    if (skip(r, e) < 0)
        return -1;
    bool key = r->at < r->end && *r->at == ':';
    if (!key && !((n == 4 && (memcmp(begin, "true", 4) == 0 || memcmp(begin, "null", 4) == 0)) ||
                  (n == 5 && memcmp(begin, "false", 5) == 0)))
        return wrong(r, e, "a word that is no value");
    if (key)
        buf_char(r->out, '"');
    buf_add(r->out, begin, n);
    if (key)
        buf_char(r->out, '"');
    return 0;
}

static void number(struct reader *r)
{
    if (*r->at == '+')
        r->at++;
    else if (*r->at == '-')
        buf_char(r->out, *r->at++);
    if (starts(r, "0x") || starts(r, "0X")) {
        char *end;
        buf_printf(r->out, "%llu", strtoull(r->at, &end, 16));
        r->at = end;
        return;
    }
    if (r->at < r->end && *r->at == '.')
        buf_char(r->out, '0');
    while (r->at < r->end && (isalnum((unsigned char)*r->at) || strchr("+-.", *r->at))) {
        bool point = *r->at == '.';
        buf_char(r->out, *r->at++);
        if (point && (r->at >= r->end || !isdigit((unsigned char)*r->at)))
            buf_char(r->out, '0');
    }
}

int json5_to_json(const char *text, size_t length, struct buf *out, struct error *e)
{
    struct reader r = {.at = text, .end = text + length, .line = 1, .out = out};
    while (skip(&r, e) == 0) {
        if (r.at >= r.end)
            return 0;
        char c = *r.at;
        if (c == ',') {
            if (r.comma)
                return wrong(&r, e, "two commas");
            r.comma = true;
            r.at++;
            continue;
        }
        if (r.comma && c != '}' && c != ']')
            buf_char(out, ',');
        r.comma = false;
        int bad = 0;
        if (strchr("{}[]:", c))
            buf_char(out, *r.at++);
        else if (c == '"' || c == '\'')
            bad = string(&r, e);
        else if (isdigit((unsigned char)c) || strchr("+-.", c))
            number(&r);
        else if (is_word(c))
            bad = word(&r, e);
        else
            bad = wrong(&r, e, "a character that begins nothing");
        if (bad)
            return bad;
    }
    return -1;
}
