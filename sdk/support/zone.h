/*
 * Time zones: what a clock on the wall shows, from the system's zone files (RFC 9636) or a rule as
 * in POSIX's TZ. Reads files only, calls no function that knows a "current" zone.
 */
#ifndef CHELA_SUPPORT_ZONE_H
#define CHELA_SUPPORT_ZONE_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct chela_zone;

/* An IANA name ("Europe/Berlin"), "UTC", a rule ("CET-1CEST,M3.5.0,M10.5.0/3"), or "" for the
 * machine's own. NULL: there is none of that name. */
struct chela_zone *chela_zone_open(const char *name);
void chela_zone_free(struct chela_zone *z);

/* Seconds east of UTC at that time (seconds since 1970). */
int64_t chela_zone_offset(const struct chela_zone *z, int64_t utc);
/* The time at which the wall clock shows `local` (seconds since 1970 as if it were UTC): the first
 * of two where a clock was put back, the end of the gap where it was put forward (*ret_gap). */
int64_t chela_zone_utc(const struct chela_zone *z, int64_t local, bool *ret_gap);

/* Days since 1970 of a date, and back; month 1 to 12. */
int64_t chela_zone_days(int64_t year, unsigned month, unsigned day);
void chela_zone_date(int64_t days, int64_t *ret_year, unsigned *ret_month, unsigned *ret_day);

#pragma GCC visibility pop
#endif
