/*
 * Cron expressions (see expr.h).
 */
#include "expr.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DAY = 86400, DAYS_MOST = 9 * 366 };

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                     "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const weekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};

static const struct {
    const char *name, *text;
} shorts[] = {{"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
              {"@weekly", "0 0 * * 0"},  {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
              {"@annually", "0 0 1 1 *"}};

/* ---- reading ---- */

/* A number, or a name of the field; -1 if it is neither. */
static int value(const char **p, const char *const *names, int base)
{
    for (int i = 0; names && names[i]; i++) {
        if (strncasecmp(*p, names[i], 3) == 0) {
            *p += 3;
            return i + base;
        }
    }
    int n = 0, digits = 0;
    for (; **p >= '0' && **p <= '9' && digits < 3; (*p)++, digits++)
        n = n * 10 + (**p - '0');
    return digits ? n : -1;
}

/* One of the parts between commas: "*", "a", "a-b", each with "/step". */
static bool part(const char **p, int low, int high, const char *const *names, int base,
                 uint64_t *bits)
{
    int from = low, to = high, step = 1;
    if (**p == '*' || **p == '?') {
        (*p)++;
    } else {
        from = to = value(p, names, base);
        if (**p == '-') {
            (*p)++;
            to = value(p, names, base);
        } else if (**p == '/') {
            to = high;
        }
    }
    if (**p == '/') {
        (*p)++;
        step = value(p, NULL, 0);
    }
    if (from < low || to > high || from > to || step < 1)
        return false;
    for (int i = from; i <= to; i += step)
        *bits |= (uint64_t)1 << i;
    return true;
}

static bool field(const char **p, int low, int high, const char *const *names, int base,
                  uint64_t *bits)
{
    *bits = 0;
    *p += strspn(*p, " \t");
    for (;;) {
        if (!part(p, low, high, names, base, bits))
            return false;
        if (**p != ',')
            break;
        (*p)++;
    }
    return **p == '\0' || **p == ' ' || **p == '\t';
}

static unsigned fields_of(const char *text)
{
    unsigned n = 0;
    for (const char *p = text; *(p += strspn(p, " \t")); p += strcspn(p, " \t"))
        n++;
    return n;
}

int expr_parse(const char *text, struct expr *e, const char **ret_why)
{
    uint64_t bits;
    memset(e, 0, sizeof *e);
    for (size_t i = 0; i < sizeof shorts / sizeof shorts[0]; i++)
        if (strcasecmp(text, shorts[i].name) == 0)
            text = shorts[i].text;
    unsigned n = fields_of(text);
    const char *p = text;
    *ret_why = "it has five fields (minute hour day month weekday), or six with seconds in front";
    if (n != 5 && n != 6)
        return -1;
    e->second = 1;
    *ret_why = "its seconds are not 0 to 59";
    if (n == 6 && !field(&p, 0, 59, NULL, 0, &e->second))
        return -1;
    *ret_why = "its minutes are not 0 to 59";
    if (!field(&p, 0, 59, NULL, 0, &e->minute))
        return -1;
    *ret_why = "its hours are not 0 to 23";
    p += strspn(p, " \t");
    e->elapsed = *p == '*';
    if (!field(&p, 0, 23, NULL, 0, &bits))
        return -1;
    e->hour = (uint32_t)bits;
    *ret_why = "its days are not 1 to 31";
    p += strspn(p, " \t");
    e->any_day = *p == '*' || *p == '?';
    if (!field(&p, 1, 31, NULL, 0, &bits))
        return -1;
    e->day = (uint32_t)bits;
    *ret_why = "its months are not 1 to 12, or jan to dec";
    if (!field(&p, 1, 12, months, 1, &bits))
        return -1;
    e->month = (uint32_t)bits;
    *ret_why = "its weekdays are not 0 to 7, or sun to sat";
    p += strspn(p, " \t");
    e->any_weekday = *p == '*' || *p == '?';
    if (!field(&p, 0, 7, weekdays, 0, &bits))
        return -1;
    e->weekday = (uint32_t)(bits | bits >> 7) & 0x7f;
    return 0;
}

/* ---- searching ---- */

static int64_t day_of(int64_t local)
{
    return (local >= 0 ? local : local - DAY + 1) / DAY;
}

/* Day of month and day of week: either, where both are restricted. */
static bool day_fits(const struct expr *e, int64_t days)
{
    int64_t year;
    unsigned month, day;
    chela_zone_date(days, &year, &month, &day);
    if (!(e->month >> month & 1))
        return false;
    bool by_day = e->day >> day & 1, by_weekday = e->weekday >> (((days + 4) % 7 + 7) % 7) & 1;
    if (e->any_day || e->any_weekday)
        return by_day && by_weekday;
    return by_day || by_weekday;
}

/* The first second of the day (0 to 86399) at or behind `from` that fits, or -1. */
static int64_t second_of_day(const struct expr *e, int64_t from)
{
    for (int64_t s = from; s < DAY;) {
        if (!(e->hour >> (s / 3600) & 1))
            s = (s / 3600 + 1) * 3600;
        else if (!(e->minute >> (s / 60 % 60) & 1))
            s = (s / 60 + 1) * 60;
        else if (!(e->second >> (s % 60) & 1))
            s++;
        else
            return s;
    }
    return -1;
}

/* By the clock on the wall. */
static int64_t next_on_wall(const struct expr *e, const struct chela_zone *z, int64_t after)
{
    int64_t first = day_of(after + chela_zone_offset(z, after)) - 1;
    for (int64_t d = first; d < first + DAYS_MOST; d++) {
        if (!day_fits(e, d))
            continue;
        for (int64_t s = second_of_day(e, 0); s >= 0; s = second_of_day(e, s + 1)) {
            bool gap;
            int64_t utc = chela_zone_utc(z, d * DAY + s, &gap);
            if (utc > after)
                return utc;
        }
    }
    return -1;
}

/* By elapsed time: in steps to what fits next, never over a change of the clocks. */
static int64_t next_elapsed(const struct expr *e, const struct chela_zone *z, int64_t after)
{
    int64_t utc = after + 1, end = after + (int64_t)DAYS_MOST * DAY;
    while (utc < end) {
        int64_t offset = chela_zone_offset(z, utc), local = utc + offset, d = day_of(local),
                s = local - d * DAY, wanted = day_fits(e, d) ? second_of_day(e, s) : -1;
        if (wanted == s)
            return utc;
        int64_t step = (wanted < 0 ? DAY : wanted) - s, hour = 3600 - s % 3600;
        bool changes = chela_zone_offset(z, utc + step) != offset;
        utc += changes && step > hour ? hour : step;
    }
    return -1;
}

int64_t expr_next(const struct expr *e, const struct chela_zone *z, int64_t after)
{
    return e->elapsed ? next_elapsed(e, z, after) : next_on_wall(e, z, after);
}
