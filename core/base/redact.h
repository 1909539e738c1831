/*
 * The one redactor: values that were registered as secrets, and texts that look like well-known
 * keys, leave the program only as "***". Used by the log, the trace, config show and whatever is
 * shown.
 */
#ifndef BASE_REDACT_H
#define BASE_REDACT_H

#include <stddef.h>

#include "base/buf.h"

/* Registers a secret's value (8 bytes or longer; shorter ones would hit by chance). Copied; wiped
 * by redact_forget_all. [any thread] */
void redact_secret(const char *value, size_t n);
void redact_forget_all(void);
/* Appends p with every secret replaced. [any thread] */
void redact(struct buf *out, const char *p, size_t n);

#endif
