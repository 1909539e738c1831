/*
 * A look at a configuration's text before libconfig reads it. libconfig 1.5 turns numbers beyond 32
 * bits into others without a word, and reports a name that is set twice at the line where its value
 * ends; so numbers and names are found here, by a scanner that knows just enough of the syntax.
 * Called for each file by settings_file.c. Never says that a text is right.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "host/settings_private.h"

enum { DEEPEST = 64 };

struct scanner {
    const char *p;
    unsigned line;
    const struct node_source *source;
    struct buf *errors;
    unsigned mistakes;
    struct map names;           /* "SCOPE/NAME" -> line */
    unsigned scopes[DEEPEST];   /* ids of the groups that are open */
    unsigned depth, last_scope; /* depth may exceed DEEPEST; names there aren't looked at */
};

static void __attribute__((format(printf, 2, 3)))
complain(struct scanner *s, const char *format, ...)
{
    struct node here = {.source = s->source, .line = s->line};
    va_list ap;
    va_start(ap, format);
    node_vcomplain(&here, s->errors, format, ap);
    va_end(ap);
    s->mistakes++;
}

static void skip_string(struct scanner *s)
{
    for (s->p++; *s->p && *s->p != '"'; s->p++) {
        if (*s->p == '\\' && s->p[1])
            s->p++;
        if (*s->p == '\n')
            s->line++;
    }
    if (*s->p)
        s->p++;
}

static void skip_comment(struct scanner *s)
{
    if (s->p[0] == '/' && s->p[1] == '*') {
        for (s->p += 2; *s->p && !(s->p[0] == '*' && s->p[1] == '/'); s->p++)
            if (*s->p == '\n')
                s->line++;
        s->p += *s->p ? 2 : 0;
    } else {
        s->p += strcspn(s->p, "\n");
    }
}

static void check_number(struct scanner *s)
{
    size_t length = strspn(s->p, "0123456789abcdefABCDEFxXL.+-");
    CLEANUP(freep) char *text = xmemdup(s->p, length);
    char *end, *digits = text + (*text == '-' || *text == '+');
    bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    s->p += length;
    if (strpbrk(digits, ".") || (!hex && strpbrk(digits, "eE")))
        return; /* with a decimal point or an exponent, libconfig reads it as it should */
    errno = 0;
    long long n = strtoll(text, &end, hex ? 16 : 10);
    bool wide = *end == 'L';
    if (errno || (wide && end == text))
        complain(s, "the number %s is too large", text);
    else if (!wide && (n > INT32_MAX || n < INT32_MIN))
        complain(s, "the number %s is too large (write an L behind it if it is meant)", text);
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '*';
}

static void check_name(struct scanner *s)
{
    size_t length = 0;
    unsigned line = s->line;
    while (name_char(s->p[length]))
        length++;
    const char *name = s->p;
    s->p += length;
    const char *after = s->p + strspn(s->p, " \t\r\n");
    if ((*after != ':' && *after != '=') || s->depth >= DEEPEST)
        return;
    CLEANUP(freep) char *key = xprintf("%u/%.*s", s->scopes[s->depth], (int)length, name);
    uintptr_t before = (uintptr_t)map_get(&s->names, key);
    if (!before) {
        map_set(&s->names, key, (void *)(uintptr_t)line); /* from 1, so never NULL */
        return;
    }
    complain(s, "\"%.*s\" is set twice, first in line %u", (int)length, name, (unsigned)before);
}

static void check_bracket(struct scanner *s)
{
    if (*s->p == '{') {
        s->depth++;
        if (s->depth < DEEPEST)
            s->scopes[s->depth] = ++s->last_scope;
    } else if (*s->p == '}' && s->depth > 0) {
        s->depth--;
    }
    s->p++;
}

static void step(struct scanner *s, bool names)
{
    char c = *s->p, next = s->p[1];
    bool sign = (c == '-' || c == '+') && isdigit((unsigned char)next);
    if (c == '\n') {
        s->line++;
        s->p++;
    } else if (c == '"') {
        skip_string(s);
    } else if (c == '#' || (c == '/' && (next == '/' || next == '*'))) {
        skip_comment(s);
    } else if (isdigit((unsigned char)c) || sign) {
        check_number(s);
    } else if (name_char(c)) {
        if (names)
            check_name(s);
        else
            while (name_char(*s->p))
                s->p++;
    } else if (c == '@' && s->source->untrusted) {
        complain(s, "a project's file may not include others until it is trusted");
        s->p++;
    } else {
        check_bracket(s);
    }
}

unsigned settings_scan(const char *text, const struct node_source *source, bool names,
                       struct buf *errors)
{
    struct scanner s = {.p = text, .line = 1, .source = source, .errors = errors};
    while (*s.p)
        step(&s, names);
    map_free(&s.names, NULL);
    return s.mistakes;
}
