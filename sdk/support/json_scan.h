/*
 * The lexer of JSON texts, private to json_scan.c and json_parse.c. A cursor over the text with
 * what is left of the limits; every function returns 0, or -1 with the caller's error filled in.
 */
#ifndef CHELA_SUPPORT_JSON_SCAN_H
#define CHELA_SUPPORT_JSON_SCAN_H

#include "json.h"

#include <locale.h>

#pragma GCC visibility push(hidden)

/* What json-c allocates, roughly, for the estimate that bounds a tree. */
enum {
    COST_OBJECT = 48 + 96 + 16 * 48,
    COST_ARRAY = 48 + 32 + 8 * 8,
    COST_SCALAR = 56,
    COST_SLOT = 16
};

struct json_scan {
    const char *text;
    size_t length, at;
    size_t memory;
    unsigned depth, flags;
    char *scratch; /* a string without its escapes */
    size_t scratch_size;
    locale_t locale; /* "C", made at the first number that needs it */
    struct chela_json_error *error;
};

void *json_scan_checked(void *pointer); /* aborts for NULL */
int json_scan_fail_at(struct json_scan *scan, size_t at, const char *what);
int json_scan_fail(struct json_scan *scan, const char *what);
int json_scan_fail_token(struct json_scan *scan, const char *wanted);
int json_scan_spend(struct json_scan *scan, size_t bytes); /* of the memory limit */
int json_scan_peek(const struct json_scan *scan); /* the byte under the cursor, -1 at the end */
void json_scan_blanks(struct json_scan *scan);

/* The string at the cursor's quote; *ret_text points into the input or the scratch buffer, until
 * the next string. */
int json_scan_string(struct json_scan *scan, const char **ret_text, size_t *ret_length);
int json_scan_number(struct json_scan *scan, json_object **ret);

#pragma GCC visibility pop
#endif
