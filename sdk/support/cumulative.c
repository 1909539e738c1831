/*
 * Pieces that repeat the whole text so far (see cumulative.h).
 */
#include "support/cumulative.h"

#include <stdlib.h>
#include <string.h>

/* A second piece that repeats at least so much, with nothing behind it, counts as a repetition. */
enum { SURELY = 12 };

static void keep(struct chela_cumulative *c, const char *text, size_t length, size_t at)
{
    char *grown = realloc(c->text, at + length + 1);
    if (!grown)
        abort();
    c->text = grown;
    memcpy(c->text + at, text, length);
}

static void settle(struct chela_cumulative *c, enum chela_growth mode)
{
    c->mode = mode;
    c->held = 0;
}

/* The service sends wholes: what of this one is new. */
static void feed_whole(struct chela_cumulative *c, const char *piece, size_t length,
                       const char **ret_text, size_t *ret_length)
{
    size_t same = length < c->length ? length : c->length;
    *ret_length = 0;
    if (memcmp(c->text, piece, same) != 0) { /* it isn't a whole after all: take it as new */
        size_t before = c->length;
        keep(c, piece, length, before);
        c->length += length;
        *ret_text = c->text + before;
        *ret_length = length;
    } else if (length > c->length) {
        size_t before = c->length;
        keep(c, piece + before, length - before, before);
        c->length = length;
        *ret_text = c->text + before;
        *ret_length = length - before;
    }
}

void chela_cumulative_feed(struct chela_cumulative *c, const char *piece, size_t length,
                           const char **ret_text, size_t *ret_length)
{
    *ret_text = piece;
    *ret_length = length;
    if (c->mode == CHELA_GROWTH_DELTA || length == 0)
        return;
    if (c->mode == CHELA_GROWTH_WHOLE) {
        feed_whole(c, piece, length, ret_text, ret_length);
    } else if (c->length == 0) { /* the first */
        keep(c, piece, length, 0);
        c->length = length;
    } else if (c->held == 0) { /* the second */
        if (length <= c->length || memcmp(c->text, piece, c->length) != 0) {
            settle(c, CHELA_GROWTH_DELTA);
            return;
        }
        keep(c, piece, length, c->length);
        c->held = length;
        *ret_length = 0;
    } else if (length > c->held && memcmp(c->text + c->length, piece, c->held) == 0) {
        settle(c, CHELA_GROWTH_WHOLE);
        feed_whole(c, piece, length, ret_text, ret_length);
    } else { /* the second was a delta, and so is this */
        size_t begin = c->length;
        keep(c, piece, length, begin + c->held);
        *ret_text = c->text + begin;
        *ret_length = c->held + length;
        settle(c, CHELA_GROWTH_DELTA);
    }
}

void chela_cumulative_end(struct chela_cumulative *c, const char **ret_text, size_t *ret_length)
{
    size_t known = c->length >= SURELY ? c->length : 0;
    *ret_text = "";
    *ret_length = 0;
    if (c->mode != CHELA_GROWTH_UNKNOWN || c->held == 0)
        return;
    *ret_text = c->text + c->length + known;
    *ret_length = c->held - known;
    settle(c, CHELA_GROWTH_DELTA);
}

void chela_cumulative_free(struct chela_cumulative *c)
{
    free(c->text);
    *c = (struct chela_cumulative){0};
}
