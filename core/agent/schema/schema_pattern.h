/*
 * Regular expressions of ECMA-262, as JSON Schema wants them, on PCRE2 with a bound on the work.
 * Called by the schema compiler and the checker; patterns are hostile, and so are the texts.
 */
#ifndef AGENT_SCHEMA_PATTERN_H
#define AGENT_SCHEMA_PATTERN_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct schema_pattern;

/* NULL and *error (the message alone, no place) if it isn't one, or uses what only other dialects
 * know. */
struct schema_pattern *schema_pattern_compile(const char *text, size_t length, struct error *error);

/* 1 found anywhere, 0 not, -1 if that took more than limit steps of the matcher. */
int schema_pattern_match(const struct schema_pattern *pattern, const char *text, size_t length,
                         uint32_t limit);

void schema_pattern_free(struct schema_pattern *pattern);

#endif
