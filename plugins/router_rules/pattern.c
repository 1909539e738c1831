/*
 * Patterns (see pattern.h): both kinds become one compiled expression. Called by router_rules.c.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern.h"

#include <pcre2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MATCH_LIMIT = 100000, DEPTH_LIMIT = 1000, HEAP_KIB = 4096, LONGEST_TEXT = 64 * 1024 };

struct pattern {
    pcre2_code *code;
    pcre2_match_context *limits;
};

static struct pattern *compile(const char *text, char *error, size_t error_size)
{
    int number;
    PCRE2_SIZE offset;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_UCP | PCRE2_CASELESS, &number, &offset, NULL);
    if (!code) {
        PCRE2_UCHAR message[200];
        pcre2_get_error_message(number, message, sizeof message);
        snprintf(error, error_size, "at character %zu: %s", (size_t)offset, (const char *)message);
        return NULL;
    }
    struct pattern *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    p->code = code;
    p->limits = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(p->limits, MATCH_LIMIT);
    pcre2_set_depth_limit(p->limits, DEPTH_LIMIT);
    pcre2_set_heap_limit(p->limits, HEAP_KIB);
    return p;
}

struct pattern *pattern_regex(const char *text, char *error, size_t error_size)
{
    return compile(text, error, error_size);
}

/* Does a text hold a character of a script without spaces between words? */
static bool is_cjk(const char *text)
{
    static const char cjk[] = "[\\p{Han}\\p{Hiragana}\\p{Katakana}\\p{Hangul}\\p{Bopomofo}]";
    char ignored[200];
    struct pattern *p = compile(cjk, ignored, sizeof ignored);
    bool has = p && pattern_matches(p, text, strlen(text));
    pattern_free(p);
    return has;
}

struct pattern *pattern_words(const char *text, char *error, size_t error_size)
{
    bool anywhere = is_cjk(text);
    char *expression = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&expression, &n);
    if (!out)
        abort();
    fputs(anywhere ? "" : "(?<![\\p{L}\\p{M}\\p{N}_])", out);
    for (const char *p = text; *p; p++) {
        if (*p == ' ') {
            fputs("\\s+", out);
            while (p[1] == ' ')
                p++;
            continue;
        }
        if (strchr("\\^$.|?*+()[]{}#-", *p))
            fputc('\\', out);
        fputc(*p, out);
    }
    fputs(anywhere ? "" : "(?![\\p{L}\\p{M}\\p{N}_])", out);
    fclose(out);
    struct pattern *p = compile(expression, error, error_size);
    free(expression);
    return p;
}

void pattern_free(struct pattern *p)
{
    if (!p)
        return;
    pcre2_code_free(p->code);
    pcre2_match_context_free(p->limits);
    free(p);
}

bool pattern_matches(const struct pattern *p, const char *text, size_t length)
{
    if (length > LONGEST_TEXT) {
        length = LONGEST_TEXT;
        while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    int r = pcre2_match(p->code, (PCRE2_SPTR)text, length, 0, 0, data, p->limits);
    pcre2_match_data_free(data);
    return r >= 0;
}
