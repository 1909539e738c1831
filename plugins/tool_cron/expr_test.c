/*
 * Cron expressions and time zones: what fits, and what happens when the clocks change. The rules
 * are given as text, so that no zone files are needed; where they are installed, they must say the
 * same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "expr.h"

#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"

static char shown[64];

static const char *show(int64_t utc)
{
    int64_t year, days = utc / 86400, s = utc % 86400;
    unsigned month, day;
    if (utc < 0)
        return "never";
    chela_zone_date(days, &year, &month, &day);
    snprintf(shown, sizeof shown, "%04d-%02u-%02u %02d:%02d:%02d", (int)year, month, day,
             (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
    return shown;
}

static int64_t at(int year, unsigned month, unsigned day, int hour, int minute)
{
    return chela_zone_days(year, month, day) * 86400 + hour * 3600 + minute * 60;
}

/* The next `count` times behind `after`, each as it is in UTC. */
static void expect(const char *text, const char *zone, int64_t after, unsigned count, ...)
{
    struct expr e;
    const char *why;
    struct chela_zone *z = chela_zone_open(zone);
    va_list ap;
    assert_non_null(z);
    assert_int_equal(expr_parse(text, &e, &why), 0);
    va_start(ap, count);
    for (unsigned i = 0; i < count; i++) {
        after = expr_next(&e, z, after);
        assert_string_equal(show(after), va_arg(ap, const char *));
    }
    va_end(ap);
    chela_zone_free(z);
}

static void fields_are_numbers_lists_ranges_steps_and_names(void **state)
{
    (void)state;
    int64_t from = at(2026, 1, 1, 0, 0); /* a Thursday */
    expect("*/20 * * * *", "UTC", from, 3, "2026-01-01 00:20:00", "2026-01-01 00:40:00",
           "2026-01-01 01:00:00");
    expect("5,10-12 8 * * *", "UTC", from, 5, "2026-01-01 08:05:00", "2026-01-01 08:10:00",
           "2026-01-01 08:11:00", "2026-01-01 08:12:00", "2026-01-02 08:05:00");
    expect("0 9 * * mon-fri", "UTC", from, 3, "2026-01-01 09:00:00", "2026-01-02 09:00:00",
           "2026-01-05 09:00:00");
    expect("0 0 1 jan,JUL *", "UTC", from, 2, "2026-07-01 00:00:00", "2027-01-01 00:00:00");
    expect("30 0/6 * * 7", "UTC", from, 5, "2026-01-04 00:30:00", "2026-01-04 06:30:00",
           "2026-01-04 12:30:00", "2026-01-04 18:30:00", "2026-01-11 00:30:00");
    expect("15 30 6 * * *", "UTC", from, 1, "2026-01-01 06:30:15");
    expect("@weekly", "UTC", from, 2, "2026-01-04 00:00:00", "2026-01-11 00:00:00");
    expect("@hourly", "UTC", from, 1, "2026-01-01 01:00:00");
}

static void day_of_month_or_day_of_week(void **state)
{
    (void)state;
    expect("0 0 13 * fri", "UTC", at(2026, 1, 10, 0, 0), 4, "2026-01-13 00:00:00",
           "2026-01-16 00:00:00", "2026-01-23 00:00:00", "2026-01-30 00:00:00");
    expect("0 0 13 * *", "UTC", at(2026, 1, 10, 0, 0), 2, "2026-01-13 00:00:00",
           "2026-02-13 00:00:00");
}

static void a_leap_day_comes_after_eight_years_at_last(void **state)
{
    (void)state;
    expect("0 12 29 2 *", "UTC", at(2096, 3, 1, 0, 0), 1, "2104-02-29 12:00:00");
    expect("0 12 31 4 *", "UTC", at(2026, 1, 1, 0, 0), 1, "never");
    expect("*/5 * 30 2 *", "UTC", at(2026, 1, 1, 0, 0), 1, "never");
}

/* 2026-03-29 in Berlin: 02:00 becomes 03:00 (01:00 UTC). */
static void a_skipped_hour(void **state)
{
    (void)state;
    int64_t before = at(2026, 3, 28, 12, 0);
    /* once, right after the gap */
    expect("30 2 * * *", BERLIN, before, 2, "2026-03-29 01:00:00", "2026-03-30 00:30:00");
    /* several in the gap are one */
    expect("0,15,30 2 * * *", BERLIN, before, 2, "2026-03-29 01:00:00", "2026-03-30 00:00:00");
    /* with one at the gap's end, too */
    expect("0 2,3 * * *", BERLIN, before, 3, "2026-03-29 01:00:00", "2026-03-30 00:00:00",
           "2026-03-30 01:00:00");
    /* by elapsed time: nothing is missing and nothing is made up */
    expect("*/30 * * * *", BERLIN, at(2026, 3, 29, 0, 15), 4, "2026-03-29 00:30:00",
           "2026-03-29 01:00:00", "2026-03-29 01:30:00", "2026-03-29 02:00:00");
    expect("30 */2 * * *", BERLIN, at(2026, 3, 28, 23, 45), 2, "2026-03-29 02:30:00",
           "2026-03-29 04:30:00"); /* 02:30 is not there: 04:30, 06:30 */
}

/* 2026-10-25 in Berlin: 03:00 becomes 02:00 (01:00 UTC), so 02:30 is at 00:30 and 01:30 UTC. */
static void a_doubled_hour(void **state)
{
    (void)state;
    int64_t before = at(2026, 10, 24, 12, 0);
    expect("30 2 * * *", BERLIN, before, 2, "2026-10-25 00:30:00", "2026-10-26 01:30:00");
    expect("*/15 2 * * *", BERLIN, before, 5, "2026-10-25 00:00:00", "2026-10-25 00:15:00",
           "2026-10-25 00:30:00", "2026-10-25 00:45:00", "2026-10-26 01:00:00");
    expect("30 * * * *", BERLIN, at(2026, 10, 25, 0, 0), 4, "2026-10-25 00:30:00",
           "2026-10-25 01:30:00", "2026-10-25 02:30:00", "2026-10-25 03:30:00");
    /* asked between the two passes: the second is not a new one */
    expect("30 2 * * *", BERLIN, at(2026, 10, 25, 0, 45), 1, "2026-10-26 01:30:00");
}

static void other_rules(void **state)
{
    (void)state;
    /* south of the equator summer is over new year */
    expect("0 12 * * *", "AEST-10AEDT,M10.1.0,M4.1.0/3", at(2026, 1, 1, 0, 0), 1,
           "2026-01-01 01:00:00");
    expect("0 12 * * *", "AEST-10AEDT,M10.1.0,M4.1.0/3", at(2026, 7, 1, 0, 0), 1,
           "2026-07-01 02:00:00");
    expect("0 0 * * *", "<+0545>-5:45", at(2026, 1, 1, 0, 0), 1, "2026-01-01 18:15:00");
    /* half an hour is left out: 02:00 becomes 02:30 */
    expect("10 2 * * *", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", at(2026, 10, 3, 12, 0), 1,
           "2026-10-03 15:30:00");
    expect("0 8 * * *", "EST5EDT,M3.2.0,M11.1.0", at(2026, 3, 7, 20, 0), 1, "2026-03-08 12:00:00");
    expect("0 8 * * *", "XXX0YYY,J60/0,J300/0", at(2028, 2, 29, 12, 0), 1, "2028-03-01 07:00:00");
}

static void the_systems_files_say_the_same(void **state)
{
    (void)state;
    struct chela_zone *file = chela_zone_open("Europe/Berlin"), *rule = chela_zone_open(BERLIN);
    if (!file) {
        chela_zone_free(rule);
        skip();
    }
    for (int64_t t = at(2024, 1, 1, 0, 0); t < at(2045, 1, 1, 0, 0); t += 1800)
        assert_int_equal(chela_zone_offset(file, t), chela_zone_offset(rule, t));
    assert_int_equal(chela_zone_offset(file, at(1940, 6, 1, 0, 0)), 7200);
    assert_int_equal(chela_zone_offset(file, at(1850, 1, 1, 0, 0)), 3208); /* its own noon */
    chela_zone_free(file);
    chela_zone_free(rule);
}

static void what_is_wrong_is_said(void **state)
{
    static const char *const bad[] = {"",
                                      "* * * *",
                                      "60 * * * *",
                                      "* 24 * * *",
                                      "* * 0 * *",
                                      "* * 32 * *",
                                      "* * * 13 *",
                                      "* * * * 8",
                                      "*/0 * * * *",
                                      "5-1 * * * *",
                                      "a * * * *",
                                      "* * * * * * *",
                                      "1, * * * *",
                                      "1,,2 * * * *",
                                      "*x * * * *",
                                      "@sometimes",
                                      "-1 * * * *",
                                      "1-99 * * * *",
                                      "1/a * * * *",
                                      "99999999999 * * * *",
                                      "* * * janu *"};
    struct expr e;
    const char *why;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(expr_parse(bad[i], &e, &why), -1);
        assert_non_null(why);
    }
    static const char *const nowhere[] = {
        "Nowhere/Land", "../../etc/passwd",         "/etc/passwd", "X",
        "CET-1CEST",    "CET-1CEST,M13.1.0,M1.1.0", "CET-99"};
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++)
        assert_null(chela_zone_open(nowhere[i]));
}

/* Whatever the zone: the next time is later, and it fits the wall clock or follows a gap. */
static void the_next_is_later_and_fits(void **state)
{
    static const char *const zones[] = {"UTC", BERLIN, "EST5EDT,M3.2.0,M11.1.0",
                                        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"};
    static const char *const texts[] = {"*/7 * * * *", "13 2 * * *", "0 */3 1,15 * 2",
                                        "59 23 31 * *", "*/10 1-3 * * *"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct chela_zone *z = chela_zone_open(zones[i]);
        for (size_t k = 0; k < 5; k++) {
            struct expr e;
            const char *why;
            assert_int_equal(expr_parse(texts[k], &e, &why), 0);
            int64_t t = at(2026, 1, 1, 0, 0);
            for (unsigned n = 0; n < 400; n++) {
                int64_t next = expr_next(&e, z, t);
                assert_true(next > t);
                int64_t local = next + chela_zone_offset(z, next),
                        s = ((local % 86400) + 86400) % 86400;
                bool fits = (e.hour >> (s / 3600) & 1) && (e.minute >> (s / 60 % 60) & 1);
                bool after_gap = chela_zone_offset(z, next) != chela_zone_offset(z, next - 1);
                assert_true(fits || after_gap);
                t = next;
            }
        }
        chela_zone_free(z);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_numbers_lists_ranges_steps_and_names),
        cmocka_unit_test(day_of_month_or_day_of_week),
        cmocka_unit_test(a_leap_day_comes_after_eight_years_at_last),
        cmocka_unit_test(a_skipped_hour),
        cmocka_unit_test(a_doubled_hour),
        cmocka_unit_test(other_rules),
        cmocka_unit_test(the_systems_files_say_the_same),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(the_next_is_later_and_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
