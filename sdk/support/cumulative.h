/*
 * Recognises a service whose pieces each hold the whole text so far instead of what is new, and
 * makes deltas of them. Needs libc only; one struct for each text that grows. Called by stream.c.
 *
 * Two pieces that begin with all that came before them settle it; until then the second is held
 * back, so nothing has to be taken back. The first piece that doesn't settles it the other way, and
 * from then on nothing is compared or kept.
 */
#ifndef CHELA_SUPPORT_CUMULATIVE_H
#define CHELA_SUPPORT_CUMULATIVE_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

enum chela_growth { CHELA_GROWTH_UNKNOWN, CHELA_GROWTH_DELTA, CHELA_GROWTH_WHOLE };

struct chela_cumulative {
    enum chela_growth mode;
    char *text;          /* all that came so far, while it is needed */
    size_t length, held; /* held: bytes of the second piece, which stands behind `length` */
};

/* Takes a piece; *ret_text (until the next call) and *ret_length are what is new. */
void chela_cumulative_feed(struct chela_cumulative *c, const char *piece, size_t length,
                           const char **ret_text, size_t *ret_length);
/* At the end: what was held back, as a delta or as the rest of a whole. */
void chela_cumulative_end(struct chela_cumulative *c, const char **ret_text, size_t *ret_length);
void chela_cumulative_free(struct chela_cumulative *c);

#pragma GCC visibility pop
#endif
