/*
 * Time zones (see zone.h).
 */
#include "support/zone.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DAY = 86400, FILE_MOST = 1 << 20, TRANSITIONS_MOST = 10000, NAME_MOST = 64 };
/* No zone is further from UTC than this, so a transition that matters for a local time is within
 * it. */
enum { REACH = 27 * 3600 };

enum form { NO_RULE, MONTH_WEEK_DAY, JULIAN, DAY_OF_YEAR };

struct change {
    enum form form;
    int month, week, day;
    int64_t time; /* seconds after midnight of the wall clock before it */
};

struct rule {
    bool is_set, has_summer;
    int64_t standard, summer; /* offsets */
    struct change begin, end; /* of summer */
};

struct chela_zone {
    int64_t *times, *offsets; /* transitions, and what holds from there on */
    size_t count;
    int64_t first; /* before all of them */
    struct rule rule;
};

int64_t chela_zone_days(int64_t year, unsigned month, unsigned day)
{
    int64_t y = month <= 2 ? year - 1 : year, era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400,
            of_year = (153 * ((int64_t)month + (month > 2 ? -3 : 9)) + 2) / 5 + (int64_t)day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

void chela_zone_date(int64_t days, int64_t *ret_year, unsigned *ret_month, unsigned *ret_day)
{
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100), part = (5 * of_year + 2) / 153;
    *ret_day = (unsigned)(of_year - (153 * part + 2) / 5 + 1);
    *ret_month = (unsigned)(part < 10 ? part + 3 : part - 9);
    *ret_year = year + era * 400 + (*ret_month <= 2);
}

/* ---- a rule as text ---- */

static bool read_number(const char **p, int most, int *ret)
{
    int n = 0, digits = 0;
    for (; **p >= '0' && **p <= '9' && digits < 4; (*p)++, digits++)
        n = n * 10 + (**p - '0');
    *ret = n;
    return digits > 0 && n <= most;
}

/* [+-]hh[:mm[:ss]] */
static bool read_time(const char **p, int most, int64_t *ret)
{
    int sign = **p == '-' ? -1 : 1, h, m = 0, s = 0;
    if (**p == '-' || **p == '+')
        (*p)++;
    if (!read_number(p, most, &h))
        return false;
    if (**p == ':') {
        (*p)++;
        if (!read_number(p, 59, &m))
            return false;
    }
    if (**p == ':') {
        (*p)++;
        if (!read_number(p, 59, &s))
            return false;
    }
    *ret = sign * ((int64_t)h * 3600 + m * 60 + s);
    return true;
}

static bool skip_name(const char **p)
{
    const char *from = *p;
    if (**p == '<') {
        size_t n = strcspn(*p, ">");
        *p += n + ((*p)[n] == '>');
        return n > 1 && (*p)[-1] == '>';
    }
    while ((**p >= 'A' && **p <= 'Z') || (**p >= 'a' && **p <= 'z'))
        (*p)++;
    return *p - from >= 3;
}

static bool read_change(const char **p, struct change *c)
{
    c->time = 2 * 3600;
    if (**p == 'M') {
        c->form = MONTH_WEEK_DAY;
        (*p)++;
        if (!read_number(p, 12, &c->month) || c->month < 1 || *(*p)++ != '.' ||
            !read_number(p, 5, &c->week) || c->week < 1 || *(*p)++ != '.' ||
            !read_number(p, 6, &c->day))
            return false;
    } else {
        c->form = **p == 'J' ? JULIAN : DAY_OF_YEAR;
        *p += **p == 'J';
        if (!read_number(p, 365, &c->day) || (c->form == JULIAN && c->day < 1))
            return false;
    }
    if (**p != '/')
        return true;
    (*p)++;
    return read_time(p, 167, &c->time);
}

static bool read_rule(const char *text, struct rule *r)
{
    const char *p = text;
    memset(r, 0, sizeof *r);
    if (!skip_name(&p) || !read_time(&p, 24, &r->standard))
        return false;
    r->standard = -r->standard; /* POSIX counts west */
    r->summer = r->standard + 3600;
    r->is_set = true;
    if (!*p)
        return true;
    if (!skip_name(&p))
        return false;
    if (*p && *p != ',') {
        if (!read_time(&p, 24, &r->summer))
            return false;
        r->summer = -r->summer;
    }
    r->has_summer = true;
    return *p++ == ',' && read_change(&p, &r->begin) && *p++ == ',' && read_change(&p, &r->end) &&
           !*p;
}

static bool leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Wall clock seconds since 1970 at which it happens. */
static int64_t change_at(const struct change *c, int64_t year)
{
    int64_t day = chela_zone_days(year, 1, 1);
    if (c->form == JULIAN) {
        day += c->day - 1 + (c->day >= 60 && leap(year));
    } else if (c->form == DAY_OF_YEAR) {
        day += c->day;
    } else {
        day = chela_zone_days(year, (unsigned)c->month, 1);
        int64_t next = c->month == 12 ? chela_zone_days(year + 1, 1, 1)
                                      : chela_zone_days(year, (unsigned)c->month + 1, 1);
        day += ((c->day - (day + 4)) % 7 + 7) % 7 + 7 * (c->week - 1); /* 1970-01-01: a Thursday */
        while (day >= next)
            day -= 7;
    }
    return day * DAY + c->time;
}

static int64_t rule_offset(const struct rule *r, int64_t utc)
{
    int64_t year, local = utc + r->standard;
    unsigned month, day;
    if (!r->has_summer)
        return r->standard;
    chela_zone_date((local >= 0 ? local : local - DAY + 1) / DAY, &year, &month, &day);
    int64_t begin = change_at(&r->begin, year) - r->standard,
            end = change_at(&r->end, year) - r->summer;
    bool summer = begin < end ? utc >= begin && utc < end : utc >= begin || utc < end;
    return summer ? r->summer : r->standard;
}

/* ---- files ---- */

static int64_t number(const unsigned char *p, unsigned bytes)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < bytes; i++)
        n = n << 8 | p[i];
    if (bytes == 4)
        return (int32_t)(uint32_t)n;
    return (int64_t)n;
}

struct block {
    size_t times, types, chars, leaps, standards, utcs;
};

static bool read_header(const unsigned char *p, size_t n, struct block *b)
{
    if (n < 44 || memcmp(p, "TZif", 4) != 0)
        return false;
    b->utcs = (size_t)number(p + 20, 4);
    b->standards = (size_t)number(p + 24, 4);
    b->leaps = (size_t)number(p + 28, 4);
    b->times = (size_t)number(p + 32, 4);
    b->types = (size_t)number(p + 36, 4);
    b->chars = (size_t)number(p + 40, 4);
    return b->utcs <= 256 && b->standards <= 256 && b->leaps <= 1000 &&
           b->times <= TRANSITIONS_MOST && b->types >= 1 && b->types <= 256 && b->chars <= 10000;
}

static size_t block_size(const struct block *b, size_t word)
{
    return b->times * (word + 1) + b->types * 6 + b->chars + b->leaps * (word + 4) + b->standards +
           b->utcs;
}

static bool take_block(struct chela_zone *z, const unsigned char *p, const struct block *b)
{
    const unsigned char *index = p + b->times * 8, *types = index + b->times;
    z->times = calloc(b->times + 1, sizeof *z->times);
    z->offsets = calloc(b->times + 1, sizeof *z->offsets);
    if (!z->times || !z->offsets)
        abort();
    for (size_t i = 0; i < b->times; i++) {
        if (index[i] >= b->types)
            return false;
        z->times[i] = number(p + i * 8, 8);
        z->offsets[i] = number(types + index[i] * 6, 4);
        if (i && z->times[i] <= z->times[i - 1])
            return false;
        if (z->offsets[i] < -REACH || z->offsets[i] > REACH)
            return false;
    }
    z->count = b->times;
    z->first = number(types, 4);
    return true;
}

/* Version 2 and later: the second block, with eight bytes for a time, and a rule behind it. */
static bool take_file(struct chela_zone *z, const unsigned char *p, size_t n)
{
    struct block b;
    if (!read_header(p, n, &b) || p[4] < '2')
        return false;
    size_t skip = 44 + block_size(&b, 4);
    if (skip > n || !read_header(p + skip, n - skip, &b))
        return false;
    size_t size = block_size(&b, 8), rest = n - skip - 44;
    if (size > rest || !take_block(z, p + skip + 44, &b))
        return false;
    const unsigned char *footer = p + skip + 44 + size;
    rest -= size;
    const unsigned char *end = rest > 2 ? memchr(footer + 1, '\n', rest - 1) : NULL;
    if (!end || footer[0] != '\n')
        return true;
    char text[128];
    size_t length = (size_t)(end - footer) - 1;
    if (length >= sizeof text)
        return true;
    memcpy(text, footer + 1, length);
    text[length] = '\0';
    if (!read_rule(text, &z->rule))
        z->rule.is_set = false;
    return true;
}

static bool read_path(struct chela_zone *z, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    unsigned char *bytes = NULL;
    ssize_t n = 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= FILE_MOST &&
        (bytes = malloc((size_t)st.st_size + 1)))
        n = read(fd, bytes, (size_t)st.st_size);
    close(fd);
    bool ok = bytes && n > 0 && take_file(z, bytes, (size_t)n);
    free(bytes);
    return ok;
}

static bool is_name(const char *name)
{
    if (strlen(name) > NAME_MOST || *name == '/' || *name == '.' || strstr(name, ".."))
        return false;
    return name[strspn(
               name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/")] == '\0';
}

static bool read_name(struct chela_zone *z, const char *name)
{
    char path[PATH_MAX];
    const char *folder = getenv("TZDIR");
    if (!is_name(name))
        return false;
    snprintf(path, sizeof path, "%s/%s", folder && *folder == '/' ? folder : "/usr/share/zoneinfo",
             name);
    return read_path(z, path);
}

struct chela_zone *chela_zone_open(const char *name)
{
    struct chela_zone *z = calloc(1, sizeof *z);
    const char *own = getenv("TZ");
    if (!z)
        abort();
    if (!*name && own && *own)
        name = *own == ':' ? own + 1 : own;
    bool ok = false;
    if (!*name) /* a machine without a zone shows UTC */
        ok = read_path(z, "/etc/localtime") || read_rule("UTC0", &z->rule);
    else if (strcmp(name, "UTC") == 0 || strcmp(name, "Etc/UTC") == 0)
        ok = read_rule("UTC0", &z->rule);
    else
        ok = read_name(z, name) || read_rule(name, &z->rule);
    if (ok)
        return z;
    chela_zone_free(z);
    return NULL;
}

void chela_zone_free(struct chela_zone *z)
{
    if (!z)
        return;
    free(z->times);
    free(z->offsets);
    free(z);
}

/* ---- times ---- */

int64_t chela_zone_offset(const struct chela_zone *z, int64_t utc)
{
    size_t low = 0, high = z->count;
    if (z->rule.is_set && (z->count == 0 || utc >= z->times[z->count - 1]))
        return rule_offset(&z->rule, utc);
    while (low < high) { /* the number of transitions that have been */
        size_t middle = (low + high) / 2;
        if (z->times[middle] <= utc)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? z->offsets[low - 1] : z->first;
}

int64_t chela_zone_utc(const struct chela_zone *z, int64_t local, bool *ret_gap)
{
    int64_t before = chela_zone_offset(z, local - REACH),
            after = chela_zone_offset(z, local + REACH);
    int64_t a = local - before, b = local - after;
    bool a_is = chela_zone_offset(z, a) == before, b_is = chela_zone_offset(z, b) == after;
    *ret_gap = !a_is && !b_is;
    if (a_is && b_is)
        return a < b ? a : b;
    if (a_is || b_is)
        return a_is ? a : b;
    int64_t low = local - REACH, high = local + REACH; /* the first that shows `local` or later */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (middle + chela_zone_offset(z, middle) >= local)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
