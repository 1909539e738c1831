/*
 * Reads one word of a shell line: quotes, escapes, expansions, globs, braces. It decides what a
 * word's text is before the line runs, and says honestly when that can't be known. Substitutions
 * inside are parsed and weighed at once.
 */
#include "risk_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A word while it is built; once it varies, what follows is no longer kept. */
struct builder {
    struct parser *parser;
    char *text;
    size_t length, room;
    unsigned flags;
    size_t equals;
    bool brace, comma; /* an unquoted { was seen, and then a , or .. */
};

static char look(const struct parser *parser, size_t ahead)
{
    return parser->at + ahead < parser->length ? parser->text[parser->at + ahead] : '\0';
}

bool risk_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool risk_ends_word(char c)
{
    return c == '\0' || strchr(" \t\n;&|()<>", c) != NULL;
}

static void add(struct builder *b, char c)
{
    if (b->flags & (WORD_VARIES | WORD_SPLITS))
        return;
    if (b->length + 2 > b->room) {
        b->room = b->room * 2 + 64;
        b->text = realloc(b->text, b->room);
        if (!b->text)
            abort();
    }
    b->text[b->length++] = c;
}

static void vary(struct builder *b, bool quoted)
{
    b->flags |= quoted ? WORD_VARIES : WORD_VARIES | WORD_SPLITS;
}

/* ---- expansions ---- */

static bool is_name(char c, bool first)
{
    return isalpha((unsigned char)c) || c == '_' || (!first && isdigit((unsigned char)c));
}

/* `...`: the text between, with \`, \\ and \$ unescaped, parsed on its own. */
static bool backticks(struct parser *parser, bool quoted)
{
    struct run *run = parser->run;
    size_t start = ++parser->at, used = 0;
    while (look(parser, 0) && look(parser, 0) != '`')
        parser->at += look(parser, 0) == '\\' && look(parser, 1) ? 2 : 1;
    if (look(parser, 0) != '`')
        return risk_fail(run, "a ` without its partner");
    char *text = risk_allocate(run, parser->at - start + 1);
    for (size_t i = start; i < parser->at; i++) {
        char next = i + 1 < parser->at ? parser->text[i + 1] : '\0';
        bool escape =
            parser->text[i] == '\\' && next && (strchr("`\\$", next) || (quoted && next == '"'));
        text[used++] = parser->text[escape ? ++i : i];
    }
    parser->at++;
    return risk_parse_text(run, text, used);
}

/* $(( ... )): only numbers and operators; a name's value would be evaluated, and can run commands.
 */
static bool arithmetic(struct parser *parser)
{
    parser->at += 3;
    unsigned depth = 2;
    for (; look(parser, 0); parser->at++) {
        char c = look(parser, 0);
        if (c == '(')
            depth++;
        else if (c == ')' && --depth == 0)
            break;
        else if (c != ')' && (c == '[' || !strchr("0123456789+-*/%<>=!&|^~?:, \t\n", c)))
            return risk_fail(parser->run, "arithmetic with more than numbers");
    }
    if (look(parser, 0) != ')' || parser->text[parser->at - 1] != ')')
        return risk_fail(parser->run, "arithmetic that doesn't end");
    parser->at++;
    return true;
}

/* ${...}: plain forms, with whatever stands in their second part scanned for substitutions. */
static bool braced(struct parser *parser)
{
    struct run *run = parser->run;
    parser->at += 2;
    if (look(parser, 0) == '#' && look(parser, 1) != '}')
        parser->at++;
    size_t start = parser->at;
    if (is_name(look(parser, 0), true)) {
        while (is_name(look(parser, 0), false))
            parser->at++;
    } else if (isdigit((unsigned char)look(parser, 0))) {
        while (isdigit((unsigned char)look(parser, 0)))
            parser->at++;
    } else if (look(parser, 0) && strchr("@*#?$!-", look(parser, 0))) {
        parser->at++;
    }
    if (parser->at == start)
        return risk_fail(run, "an expansion that isn't parsed");
    char c = look(parser, 0);
    if (c == '}') {
        parser->at++;
        return true;
    }
    bool plain = (c == ':' && look(parser, 1) && strchr("-+?", look(parser, 1))) ||
                 (c && strchr("-+?%#/", c));
    if (!plain)
        return risk_fail(run, "an expansion that isn't parsed");
    unsigned depth = 1;
    size_t end = parser->at;
    for (; end < parser->length && depth > 0; end++) {
        char d = parser->text[end];
        if (d == '\\' || d == '\'' || d == '"' || d == '\n')
            return risk_fail(run, "an expansion with quotes inside");
        depth += d == '{';
        depth -= d == '}';
    }
    if (depth > 0)
        return risk_fail(run, "an expansion that doesn't end");
    if (++run->nesting > RISK_MAX_NESTING)
        return risk_fail(run, "expansions nested too deeply");
    if (!risk_scan_expansions(parser, end - 1))
        return false;
    run->nesting--;
    parser->at = end;
    return true;
}

/* At a '$': *ret_varies is false if it stands for itself. */
static bool dollar(struct parser *parser, bool *ret_varies)
{
    char c = look(parser, 1);
    *ret_varies = true;
    if (c == '(' && look(parser, 2) == '(')
        return arithmetic(parser);
    if (c == '(') {
        parser->at += 2;
        return risk_parse_nested(parser);
    }
    if (c == '{')
        return braced(parser);
    if (c == '[')
        return risk_fail(parser->run, "arithmetic in the old form");
    if (is_name(c, true)) {
        parser->at++;
        while (is_name(look(parser, 0), false))
            parser->at++;
        return true;
    }
    if (isdigit((unsigned char)c) || (c && strchr("@*#?$!-", c))) {
        parser->at += 2;
        return true;
    }
    *ret_varies = false;
    parser->at++;
    return true;
}

bool risk_scan_expansions(struct parser *parser, size_t end)
{
    size_t length = parser->length;
    bool varies, result = true;
    parser->length = end;
    while (result && parser->at < end) {
        char c = look(parser, 0);
        if (c == '\\')
            parser->at += 2;
        else if (c == '$')
            result = dollar(parser, &varies);
        else if (c == '`')
            result = backticks(parser, true);
        else
            parser->at++;
    }
    parser->length = length;
    return result;
}

/* ---- quotes ---- */

static bool single_quotes(struct builder *b)
{
    struct parser *parser = b->parser;
    for (parser->at++; look(parser, 0) != '\''; parser->at++) {
        if (parser->at >= parser->length)
            return risk_fail(parser->run, "a ' without its partner");
        add(b, look(parser, 0));
    }
    parser->at++;
    return true;
}

static bool double_quotes(struct builder *b)
{
    struct parser *parser = b->parser;
    bool varies;
    parser->at++;
    while (look(parser, 0) != '"') {
        char c = look(parser, 0), next = look(parser, 1);
        if (parser->at >= parser->length)
            return risk_fail(parser->run, "a \" without its partner");
        if (c == '\\' && next == '\n') {
            parser->at += 2;
        } else if (c == '\\' && next && strchr("$`\"\\", next)) {
            add(b, next);
            parser->at += 2;
        } else if (c == '$' || c == '`') {
            bool all = c == '$' && (next == '@' || (next == '{' && look(parser, 2) == '@'));
            varies = true;
            if (c == '$' ? !dollar(parser, &varies) : !backticks(parser, true))
                return false;
            if (varies)
                vary(b, !all); /* "$@" is many words */
            else
                add(b, '$');
        } else {
            add(b, c);
            parser->at++;
        }
    }
    parser->at++;
    return true;
}

/* $'...': the escapes whose value is plain; the others aren't guessed. */
static bool ansi_quotes(struct builder *b)
{
    /* Not \', which ends the quotes for a shell that doesn't know this form. */
    static const char names[] = "abefnrtv\\\"?E", means[] = "\a\b\033\f\n\r\t\v\\\"?\033";
    struct parser *parser = b->parser;
    for (parser->at += 2; look(parser, 0) != '\'';) {
        char c = look(parser, 0), next = look(parser, 1);
        if (parser->at >= parser->length)
            return risk_fail(parser->run, "a $' without its partner");
        if (c != '\\') {
            add(b, c);
            parser->at++;
            continue;
        }
        const char *name = next ? strchr(names, next) : NULL;
        unsigned code = 0;
        size_t used = 2;
        if (name) {
            code = (unsigned char)means[name - names];
        } else if (next >= '0' && next <= '7') {
            for (used = 1; used < 4 && look(parser, used) >= '0' && look(parser, used) <= '7';
                 used++)
                code = code * 8 + (unsigned)(look(parser, used) - '0');
        } else if (next == 'x' && isxdigit((unsigned char)look(parser, 2))) {
            for (; used < 4 && isxdigit((unsigned char)look(parser, used)); used++) {
                int digit = tolower((unsigned char)look(parser, used));
                code = code * 16 + (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
            }
        }
        if (code == 0 || code > 0x7f)
            return risk_fail(parser->run, "an escape in $'...' that isn't parsed");
        add(b, (char)code);
        parser->at += used;
    }
    parser->at++;
    return true;
}

/* ---- words ---- */

static bool unquoted(struct builder *b)
{
    struct parser *parser = b->parser;
    char c = look(parser, 0);
    if (strchr("*?[", c)) {
        b->flags |= WORD_GLOB | WORD_VARIES;
    } else if (c == '{') {
        b->brace = true;
    } else if (c == ',' || (c == '.' && look(parser, 1) == '.')) {
        b->comma |= b->brace;
    } else if (c == '}' && b->comma) {
        vary(b, false);
    } else if (c == '~' && b->length == 0 && !(b->flags & WORD_QUOTED)) {
        b->flags |= WORD_TILDE;
    } else if (c == '=' && b->length > 0 && b->equals == 0 &&
               !(b->flags & (WORD_QUOTED | WORD_VARIES))) {
        b->equals = b->length;
    }
    add(b, c);
    parser->at++;
    return true;
}

static bool part(struct builder *b)
{
    struct parser *parser = b->parser;
    char c = look(parser, 0), next = look(parser, 1);
    bool varies = true;
    if (c == '\\') {
        if (next == '\n') {
            parser->at += 2;
            return true;
        }
        b->flags |= WORD_QUOTED;
        add(b, parser->at + 1 < parser->length ? next : '\\');
        parser->at += parser->at + 1 < parser->length ? 2 : 1;
        return true;
    }
    if (c == '\'' || c == '"' || (c == '$' && (next == '\'' || next == '"'))) {
        b->flags |= WORD_QUOTED;
        if (c == '$' && next == '"')
            parser->at++;
        return c == '\''                  ? single_quotes(b)
               : next == '\'' && c == '$' ? ansi_quotes(b)
                                          : double_quotes(b);
    }
    if (c == '$' || c == '`') {
        if (c == '$' ? !dollar(parser, &varies) : !backticks(parser, false))
            return false;
        if (varies)
            vary(b, false);
        else
            add(b, '$');
        return true;
    }
    return unquoted(b);
}

/* <(list) or >(list): the name of a pipe takes its place. */
static bool process_substitution(struct builder *b)
{
    static const char name[] = "/dev/fd/";
    b->parser->at += 2;
    for (const char *c = name; *c; c++)
        add(b, *c);
    vary(b, true);
    return risk_parse_nested(b->parser);
}

bool risk_read_word(struct parser *parser, struct word *ret)
{
    struct run *run = parser->run;
    struct builder b = {.parser = parser};
    size_t start = parser->at;
    bool result = true;
    if (++run->words > RISK_MAX_WORDS)
        return risk_fail(run, "more words than are looked at");
    while (result && parser->at < parser->length) {
        char c = look(parser, 0);
        if ((c == '<' || c == '>') && look(parser, 1) == '(')
            result = process_substitution(&b);
        else if (risk_ends_word(c))
            break;
        else
            result = part(&b);
    }
    if (result) {
        memset(ret, 0, sizeof *ret);
        ret->text = risk_copy(run, b.text ? b.text : "", b.length);
        ret->length = b.length;
        ret->source = risk_copy(run, parser->text + start, parser->at - start);
        ret->flags = b.flags;
        ret->equals = b.equals;
        if (strcmp(ret->source, "[") == 0 ||
            strcmp(ret->source, "[[") == 0) { /* commands, not globs */
            ret->text = ret->source;
            ret->length = strlen(ret->source);
            ret->flags = 0;
        }
    }
    free(b.text);
    return result;
}
