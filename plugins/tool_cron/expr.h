/*
 * Cron expressions: five fields (minute, hour, day of month, month, day of week), six with seconds
 * in front, or @hourly, @daily, @weekly, @monthly, @yearly. Pure.
 *
 * When the clocks change: an hour field that begins with "*" goes by elapsed time: what is due
 * every ten minutes is due every ten minutes, through both passes of an hour that comes twice, and
 * never in one that is left out. Any other hour field means the clock on the wall: what is due in
 * an hour that is left out runs once, right after the gap; in an hour that comes twice it runs in
 * the first pass only.
 */
#ifndef TOOL_CRON_EXPR_H
#define TOOL_CRON_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "support/zone.h"

struct expr {
    uint64_t second, minute; /* bits */
    uint32_t hour, day, month, weekday;
    bool any_day, any_weekday, elapsed;
};

/* -1: it is none; *ret_why says what is wrong. */
int expr_parse(const char *text, struct expr *e, const char **ret_why);
/* The next time behind `after` (seconds since 1970), or -1 if there is none in nine years. */
int64_t expr_next(const struct expr *e, const struct chela_zone *z, int64_t after);

#endif
