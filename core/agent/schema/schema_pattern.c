/*
 * Translates a regular expression of ECMA-262 into one of PCRE2 and matches with bounds. What has
 * another meaning in PCRE2 is rewritten (\v, \s, \u, long property names, "[" in a class, a "{"
 * that repeats nothing); what ECMA-262 doesn't know (\A, \Q, (?R), (*VERB), possessive quantifiers)
 * is refused, since silence would check something else.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "agent/schema/schema_pattern.h"

#include "base/buf.h"
#include "base/mem.h"

#include <ctype.h>
#include <pcre2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LENGTH 4096
#define MAX_NEST   100
#define HEAP_KIB   8192

struct schema_pattern {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
};

struct translator {
    const char *text;
    size_t length, at;
    bool in_class, repeatable;
    struct buf out;
    struct error *error;
};

static int refuse(struct translator *t, const char *what)
{
    return error_set(t->error, CHELA_E_ARGS,
                     "not a regular expression of ECMA-262 at offset %zu: %s", t->at, what);
}

static char look(const struct translator *t, size_t ahead)
{
    return t->at + ahead < t->length ? t->text[t->at + ahead] : '\0';
}

/* ---- escapes ---- */

static int hexadecimal(const struct translator *t, size_t ahead, size_t digits, unsigned *ret)
{
    *ret = 0;
    for (size_t i = 0; i < digits; i++) {
        char c = look(t, ahead + i);
        if (!isxdigit((unsigned char)c))
            return -1;
        *ret = *ret << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return 0;
}

static int code_escape(struct translator *t)
{
    unsigned code, low;
    size_t used = 6;
    if (look(t, 1) == 'x') {
        used = 4;
        if (hexadecimal(t, 2, 2, &code) < 0)
            return refuse(t, "\\x needs two hexadecimal digits");
    } else if (look(t, 2) == '{') {
        size_t digits = 0;
        while (digits < 7 && isxdigit((unsigned char)look(t, 3 + digits)))
            digits++;
        used = digits + 4;
        if (digits == 0 || digits > 6 || look(t, 3 + digits) != '}' ||
            hexadecimal(t, 3, digits, &code) < 0)
            return refuse(t, "\\u{...} needs one to six hexadecimal digits");
    } else if (hexadecimal(t, 2, 4, &code) < 0) {
        return refuse(t, "\\u needs four hexadecimal digits");
    }
    if (code >= 0xd800 && code < 0xdc00 && look(t, 6) == '\\' && look(t, 7) == 'u' &&
        hexadecimal(t, 8, 4, &low) == 0 && low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        used = 12;
    }
    if ((code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
        return refuse(t, "this code is no character");
    buf_printf(&t->out, "\\x{%x}", code);
    t->at += used;
    return 0;
}

/* PCRE2 knows general categories by their short names only. */
static const char *short_category(const char *name, size_t length)
{
    static const char *const names[][2] = {
        {"Letter", "L"},
        {"Cased_Letter", "L&"},
        {"Uppercase_Letter", "Lu"},
        {"Lowercase_Letter", "Ll"},
        {"Titlecase_Letter", "Lt"},
        {"Modifier_Letter", "Lm"},
        {"Other_Letter", "Lo"},
        {"Mark", "M"},
        {"Combining_Mark", "M"},
        {"Nonspacing_Mark", "Mn"},
        {"Spacing_Mark", "Mc"},
        {"Enclosing_Mark", "Me"},
        {"Number", "N"},
        {"Decimal_Number", "Nd"},
        {"digit", "Nd"},
        {"Letter_Number", "Nl"},
        {"Other_Number", "No"},
        {"Punctuation", "P"},
        {"punct", "P"},
        {"Connector_Punctuation", "Pc"},
        {"Dash_Punctuation", "Pd"},
        {"Open_Punctuation", "Ps"},
        {"Close_Punctuation", "Pe"},
        {"Initial_Punctuation", "Pi"},
        {"Final_Punctuation", "Pf"},
        {"Other_Punctuation", "Po"},
        {"Symbol", "S"},
        {"Math_Symbol", "Sm"},
        {"Currency_Symbol", "Sc"},
        {"Modifier_Symbol", "Sk"},
        {"Other_Symbol", "So"},
        {"Separator", "Z"},
        {"Space_Separator", "Zs"},
        {"Line_Separator", "Zl"},
        {"Paragraph_Separator", "Zp"},
        {"Other", "C"},
        {"Control", "Cc"},
        {"cntrl", "Cc"},
        {"Format", "Cf"},
        {"Surrogate", "Cs"},
        {"Private_Use", "Co"},
        {"Unassigned", "Cn"},
        {"LC", "L&"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (strlen(names[i][0]) == length && memcmp(names[i][0], name, length) == 0)
            return names[i][1];
    return NULL;
}

static int property_escape(struct translator *t)
{
    size_t length = 0;
    const char *name = t->text + t->at + 3;
    while (isalnum((unsigned char)look(t, 3 + length)) || look(t, 3 + length) == '_' ||
           look(t, 3 + length) == '=')
        length++;
    if (look(t, 2) != '{' || length == 0 || look(t, 3 + length) != '}')
        return refuse(t, "\\p needs the name of a property in braces");
    buf_add(&t->out, t->text + t->at, 3);
    t->at += length + 4;
    static const char *const kinds[][2] = {
        {"Script=", "sc:"},        {"sc=", "sc:"}, {"Script_Extensions=", "scx:"}, {"scx=", "scx:"},
        {"General_Category=", ""}, {"gc=", ""}};
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        size_t prefix = strlen(kinds[i][0]);
        if (length > prefix && memcmp(name, kinds[i][0], prefix) == 0) {
            buf_puts(&t->out, kinds[i][1]);
            name += prefix;
            length -= prefix;
            break;
        }
    }
    const char *category = short_category(name, length);
    if (category)
        buf_puts(&t->out, category);
    else
        buf_add(&t->out, name, length);
    buf_char(&t->out, '}');
    return 0;
}

static int escape(struct translator *t)
{
    static const char spaces[] = "\\s\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"
                                 "\\x{205f}\\x{3000}\\x{feff}";
    char c = look(t, 1);
    if (t->at + 1 >= t->length)
        return refuse(t, "a backslash at the end");
    if (c == 'u' || c == 'x')
        return code_escape(t);
    if (c == 'p' || c == 'P')
        return property_escape(t);
    if (c == 's' || (c == 'S' && !t->in_class)) {
        if (t->in_class)
            buf_puts(&t->out, spaces);
        else
            buf_printf(&t->out, "[%s%s]", c == 'S' ? "^" : "", spaces);
    } else if (c == 'v') {
        buf_puts(&t->out, "\\x0b");
    } else if (c == '0' && !isdigit((unsigned char)look(t, 2))) {
        buf_puts(&t->out, "\\x00");
    } else if (c == 'c' && isalpha((unsigned char)look(t, 2))) {
        buf_printf(&t->out, "\\c%c", look(t, 2));
        t->at++;
    } else if (c == 'b' && t->in_class) {
        buf_puts(&t->out, "\\x08");
    } else if (!isalnum((unsigned char)c)) {
        if ((unsigned char)c < 0x80)
            buf_char(&t->out, '\\');
        buf_char(&t->out, c);
    } else if (strchr("dDwWtnrfS", c) ||
               (!t->in_class &&
                (strchr("bB", c) || (c >= '1' && c <= '9') || (c == 'k' && look(t, 2) == '<')))) {
        buf_add(&t->out, t->text + t->at, 2);
    } else {
        return refuse(t, "no such escape");
    }
    t->at += 2;
    return 0;
}

/* ---- groups, classes and quantifiers ---- */

static int group(struct translator *t)
{
    if (look(t, 1) == '*')
        return refuse(t, "nothing to repeat");
    size_t length = 1;
    if (look(t, 1) == '?') {
        char kind = look(t, 2), next = look(t, 3);
        if (kind == ':' || kind == '=' || kind == '!') {
            length = 3;
        } else if (kind == '<' && (next == '=' || next == '!')) {
            length = 4;
        } else if (kind == '<' && (isalpha((unsigned char)next) || next == '_')) {
            length = 3;
        } else {
            for (length = 2; look(t, length) && strchr("ims-", look(t, length)); length++)
                ;
            if (length == 2 || look(t, length) != ':')
                return refuse(t, "no such group");
            length++;
        }
    }
    buf_add(&t->out, t->text + t->at, length);
    t->at += length;
    t->repeatable = false;
    return 0;
}

/* The length of {n}, {n,} or {n,m} at the cursor; 0 if it is none. */
static size_t braces(const struct translator *t)
{
    size_t at = 1;
    while (isdigit((unsigned char)look(t, at)))
        at++;
    if (at == 1)
        return 0;
    if (look(t, at) == ',')
        at++;
    while (isdigit((unsigned char)look(t, at)))
        at++;
    return look(t, at) == '}' ? at + 1 : 0;
}

static int quantifier(struct translator *t, size_t length)
{
    if (!t->repeatable)
        return refuse(t, "nothing to repeat");
    length += look(t, length) == '?';
    buf_add(&t->out, t->text + t->at, length);
    t->at += length;
    t->repeatable = false;
    return 0;
}

static int outside(struct translator *t, char c)
{
    size_t length = c == '{' ? braces(t) : 1;
    if (c == '(')
        return group(t);
    if (strchr("*+?", c) || (c == '{' && length > 0))
        return quantifier(t, length);
    t->repeatable = !strchr("|^$", c);
    t->in_class = c == '[';
    if (c == '{' || c == '}')
        buf_char(&t->out, '\\');
    buf_char(&t->out, c);
    t->at++;
    if (t->in_class && look(t, 0) == '^') {
        buf_char(&t->out, '^');
        t->at++;
    }
    return 0;
}

static int translate(struct translator *t)
{
    int result = 0;
    while (t->at < t->length && result == 0) {
        char c = t->text[t->at];
        if (c == '\0') {
            result = refuse(t, "a NUL");
        } else if (c == '\\') {
            result = escape(t);
            t->repeatable = true;
        } else if (!t->in_class) {
            result = outside(t, c);
        } else {
            if (c == '[')
                buf_char(&t->out, '\\');
            buf_char(&t->out, c);
            t->in_class = c != ']';
            t->at++;
        }
    }
    return result;
}

/* ---- compiling and matching ---- */

struct schema_pattern *schema_pattern_compile(const char *text, size_t length, struct error *error)
{
    struct translator t = {.text = text, .length = length, .error = error};
    struct schema_pattern *pattern = NULL;
    if (length > MAX_LENGTH) {
        error_set(error, CHELA_E_UNSUPPORTED, "a pattern of more than %d bytes", MAX_LENGTH);
        return NULL;
    }
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        abort();
    pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
    pcre2_set_parens_nest_limit(context, MAX_NEST);
    if (translate(&t) < 0)
        goto out;
    int number;
    PCRE2_SIZE offset;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)buf_text(&t.out), t.out.n,
                                     PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS |
                                         PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C,
                                     &number, &offset, context);
    if (!code) {
        PCRE2_UCHAR message[160] = "";
        pcre2_get_error_message(number, message, sizeof message);
        error_set(error, CHELA_E_ARGS, "not a regular expression: %s", (const char *)message);
        goto out;
    }
    pattern = xcalloc(1, sizeof *pattern);
    pattern->code = code;
    pattern->data = pcre2_match_data_create(1, NULL);
    pattern->context = pcre2_match_context_create(NULL);
    if (!pattern->data || !pattern->context)
        abort();
    pcre2_set_heap_limit(pattern->context, HEAP_KIB);
out:
    pcre2_compile_context_free(context);
    buf_free(&t.out);
    return pattern;
}

int schema_pattern_match(const struct schema_pattern *pattern, const char *text, size_t length,
                         uint32_t limit)
{
    pcre2_set_match_limit(pattern->context, limit);
    int result =
        pcre2_match(pattern->code, (PCRE2_SPTR)text, length, 0, 0, pattern->data, pattern->context);
    if (result >= 0)
        return 1;
    return result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_DEPTHLIMIT ||
                   result == PCRE2_ERROR_HEAPLIMIT
               ? -1
               : 0;
}

void schema_pattern_free(struct schema_pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_match_context_free(pattern->context);
    pcre2_match_data_free(pattern->data);
    pcre2_code_free(pattern->code);
    free(pattern);
}
