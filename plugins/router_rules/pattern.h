/*
 * One pattern of a rule: words, or a regular expression.
 */
#ifndef ROUTER_RULES_PATTERN_H
#define ROUTER_RULES_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct pattern;

/*
 * A pattern of plain words matches whole words, whatever their case in any script ("hi" is not in
 * "this"); one that contains a Chinese, Japanese or Korean character matches anywhere, since these
 * scripts put no space between words. A regular expression is PCRE2 with Unicode, without case.
 * NULL: it can't be compiled; `error` says why.
 */
struct pattern *pattern_words(const char *text, char *error, size_t error_size);
struct pattern *pattern_regex(const char *text, char *error, size_t error_size);
void pattern_free(struct pattern *p);
/* Within fixed limits of time and memory; beyond them it doesn't match. */
bool pattern_matches(const struct pattern *p, const char *text, size_t length);

#endif
