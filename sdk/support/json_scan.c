/*
 * The lexer under json_parse.c: places of errors, blanks, strings and numbers of RFC 8259. It
 * checks every byte, and makes json-c's numbers; containers and keys are the parser's.
 */
#include "json_scan.h"
#include "json_utf8.h"

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int json_scan_fail_at(struct json_scan *scan, size_t at, const char *what)
{
    struct chela_json_error *error = scan->error;
    if (!error)
        return -1;
    size_t start = 0;
    error->offset = at;
    error->line = 1;
    for (size_t i = 0; i < at; i++) {
        if (scan->text[i] == '\n') {
            error->line++;
            start = i + 1;
        }
    }
    error->column = (unsigned)(at - start + 1);
    snprintf(error->text, sizeof error->text, "line %u, column %u: %s", error->line, error->column,
             what);
    return -1;
}

int json_scan_fail(struct json_scan *scan, const char *what)
{
    return json_scan_fail_at(scan, scan->at, what);
}

void *json_scan_checked(void *pointer)
{
    if (!pointer)
        abort();
    return pointer;
}

int json_scan_spend(struct json_scan *scan, size_t bytes)
{
    if (bytes > scan->memory)
        return json_scan_fail(scan, "this JSON would take too much memory");
    scan->memory -= bytes;
    return 0;
}

int json_scan_peek(const struct json_scan *scan)
{
    return scan->at < scan->length ? (unsigned char)scan->text[scan->at] : -1;
}

void json_scan_blanks(struct json_scan *scan)
{
    int c = json_scan_peek(scan);
    while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        scan->at++;
        c = json_scan_peek(scan);
    }
}

int json_scan_fail_token(struct json_scan *scan, const char *wanted)
{
    char what[120];
    int c = json_scan_peek(scan);
    if (c < 0)
        snprintf(what, sizeof what, "the text ends where %s should be", wanted);
    else if (c > 0x20 && c < 0x7f)
        snprintf(what, sizeof what, "expected %s, found '%c'", wanted, c);
    else
        snprintf(what, sizeof what, "expected %s, found byte 0x%02x", wanted, (unsigned)c);
    return json_scan_fail(scan, what);
}

/* ---- strings ---- */

static int hex4(const char *text, const char *end)
{
    int code = 0;
    if (end - text < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = text[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        code = code << 4 | digit;
    }
    return code;
}

/* Finds the closing quote; everything but the meaning of escapes is checked here. */
static int scan_string(struct json_scan *scan, size_t *ret_end, bool *ret_escapes)
{
    const unsigned char *text = (const unsigned char *)scan->text;
    while (scan->at < scan->length) {
        unsigned char c = text[scan->at];
        if (c == '"') {
            *ret_end = scan->at++;
            return 0;
        }
        if (c < 0x20)
            return json_scan_fail(scan, "a control character inside a string must be escaped");
        if (c == '\\') {
            *ret_escapes = true;
            scan->at++;
            if (scan->at < scan->length && text[scan->at] < 0x80)
                scan->at++;
        } else {
            int step = json_utf8_step(text + scan->at, scan->length - scan->at, false);
            if (step < 1)
                return json_scan_fail(scan, "this isn't valid UTF-8");
            scan->at += (size_t)step;
        }
    }
    return json_scan_fail(scan, "the text ends inside a string");
}

/* Reads the \u escape that begins at text[at], which may be a pair. */
static int unescape_code(struct json_scan *scan, size_t *at, size_t end, unsigned *ret_code)
{
    const char *text = scan->text;
    int code = hex4(text + *at + 2, text + end);
    if (code < 0)
        return json_scan_fail_at(scan, *at, "\\u needs four hexadecimal digits");
    *ret_code = (unsigned)code;
    if (code >= 0xd800 && code < 0xdc00 && end - *at >= 12 && text[*at + 6] == '\\' &&
        text[*at + 7] == 'u') {
        int low = hex4(text + *at + 8, text + end);
        if (low >= 0xdc00 && low < 0xe000) {
            *ret_code = 0x10000u + ((unsigned)(code - 0xd800) << 10) + (unsigned)(low - 0xdc00);
            *at += 12;
            return 0;
        }
    }
    if (code >= 0xd800 && code < 0xe000 && !(scan->flags & CHELA_JSON_KEEP_HALVES))
        return json_scan_fail_at(scan, *at, "a surrogate half without its partner");
    *at += 6;
    return 0;
}

static int unescape(struct json_scan *scan, size_t start, size_t end, size_t *ret_length)
{
    static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    if (scan->scratch_size < end - start + 4) {
        free(scan->scratch);
        scan->scratch_size = (end - start) * 2 + 64;
        scan->scratch = json_scan_checked(malloc(scan->scratch_size));
    }
    size_t used = 0, at = start;
    while (at < end) {
        if (scan->text[at] != '\\') {
            const char *stop = memchr(scan->text + at, '\\', end - at);
            size_t run = stop ? (size_t)(stop - scan->text) - at : end - at;
            memcpy(scan->scratch + used, scan->text + at, run);
            used += run;
            at += run;
            continue;
        }
        char c = scan->text[at + 1];
        const char *name = c ? strchr(names, c) : NULL;
        if (name) {
            scan->scratch[used++] = means[name - names];
            at += 2;
        } else if (c == 'u') {
            unsigned code = 0;
            if (unescape_code(scan, &at, end, &code) < 0)
                return -1;
            used += json_utf8_write(code, scan->scratch + used);
        } else {
            return json_scan_fail_at(scan, at, "no escape of JSON's begins like this");
        }
    }
    *ret_length = used;
    return 0;
}

/* The string that begins at the cursor; *ret_text points into the input or the scratch buffer. */
int json_scan_string(struct json_scan *scan, const char **ret_text, size_t *ret_length)
{
    size_t start = ++scan->at, end = 0;
    bool escapes = false;
    if (scan_string(scan, &end, &escapes) < 0)
        return -1;
    *ret_text = scan->text + start;
    *ret_length = end - start;
    if (!escapes)
        return 0;
    if (unescape(scan, start, end, ret_length) < 0)
        return -1;
    *ret_text = scan->scratch;
    return 0;
}

/* ---- numbers ---- */

static size_t digits(struct json_scan *scan)
{
    size_t start = scan->at;
    while (json_scan_peek(scan) >= '0' && json_scan_peek(scan) <= '9')
        scan->at++;
    return scan->at - start;
}

/* Moves over one number by RFC 8259's grammar. */
static int scan_number(struct json_scan *scan, bool *ret_integer)
{
    *ret_integer = true;
    if (json_scan_peek(scan) == '-')
        scan->at++;
    if (json_scan_peek(scan) == '0') {
        scan->at++;
        if (json_scan_peek(scan) >= '0' && json_scan_peek(scan) <= '9')
            return json_scan_fail(scan, "a number can't begin with 0 and go on");
    } else if (digits(scan) == 0) {
        return json_scan_fail_token(scan, "a digit");
    }
    if (json_scan_peek(scan) == '.') {
        *ret_integer = false;
        scan->at++;
        if (digits(scan) == 0)
            return json_scan_fail_token(scan, "a digit after the point");
    }
    if (json_scan_peek(scan) == 'e' || json_scan_peek(scan) == 'E') {
        *ret_integer = false;
        scan->at++;
        if (json_scan_peek(scan) == '+' || json_scan_peek(scan) == '-')
            scan->at++;
        if (digits(scan) == 0)
            return json_scan_fail_token(scan, "a digit of the exponent");
    }
    return 0;
}

static int parse_double(struct json_scan *scan, size_t start, json_object **ret)
{
    char small[64];
    size_t length = scan->at - start;
    char *text = length < sizeof small ? small : json_scan_checked(malloc(length + 1));
    memcpy(text, scan->text + start, length);
    text[length] = '\0';
    if (!scan->locale)
        scan->locale = json_scan_checked(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    double number = strtod_l(text, NULL, scan->locale);
    int result = 0;
    if (isinf(number))
        result = json_scan_fail_at(scan, start, "this number is beyond the range of a double");
    else
        *ret = json_scan_checked(json_object_new_double_s(number, text));
    if (text != small)
        free(text);
    return result;
}

int json_scan_number(struct json_scan *scan, json_object **ret)
{
    size_t start = scan->at;
    bool integer;
    if (scan_number(scan, &integer) < 0 ||
        json_scan_spend(scan, COST_SCALAR + (integer ? 0 : 32)) < 0)
        return -1;
    bool negative = scan->text[start] == '-';
    size_t at = start + negative;
    if (!integer || scan->at - at > 20 || (negative && scan->text[at] == '0'))
        return parse_double(scan, start, ret);
    uint64_t number = 0;
    for (; at < scan->at; at++) {
        unsigned digit = (unsigned)(scan->text[at] - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return parse_double(scan, start, ret);
        number = number * 10 + digit;
    }
    if (negative && number > (uint64_t)INT64_MAX + 1)
        return parse_double(scan, start, ret);
    if (negative)
        *ret = json_scan_checked(
            json_object_new_int64(number > INT64_MAX ? INT64_MIN : -(int64_t)number));
    else if (number > INT64_MAX)
        *ret = json_scan_checked(json_object_new_uint64(number));
    else
        *ret = json_scan_checked(json_object_new_int64((int64_t)number));
    return 0;
}
