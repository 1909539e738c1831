/*
 * What went wrong, in a struct that the caller owns. Functions return 0 or -1 and fill it once;
 * they do not log it.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#include <chela/base.h>

struct error {
    uint32_t class; /* CHELA_E_* */
    uint32_t http_status;
    uint64_t retry_after_ms;
    bool retry;      /* the same may succeed later */
    char text[1024]; /* a sentence for a person: what, where, how to mend it */
};

/* Fills it (NULL is fine) and returns -1. A text that is too long is cut at a character. */
int error_set(struct error *e, uint32_t class, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts "format: " before the text that is there; returns -1. */
int error_prefix(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Fills it from the end of a call; returns 0 if that was CHELA_OK, else -1. */
int error_from_done(struct error *e, const struct chela_done *d);
/* "rate_limit", "timeout" ...: the class as a word, for logs, traces and clients. */
const char *error_class_name(uint32_t class);

#endif
