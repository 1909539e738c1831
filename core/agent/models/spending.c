/*
 * Counters of money and the limits over them (see spending.h). Days and months are UTC, as in the
 * journal's counters.
 */
#include "agent/models/spending.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/agents.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "host/settings.h"

enum { DAY_MS = 24 * 3600 * 1000, LIMITS_MOST = 1000 };

enum kind { BY_AGENT, BY_SENDER, BY_PROVIDER, KINDS };

static const char *const kind_names[KINDS] = {"agent", "sender", "provider"};

static struct map counters; /* "agent main d20423" -> double */

static uint64_t month_of(uint64_t day)
{
    time_t at = (time_t)(day * (DAY_MS / 1000));
    struct tm t;
    if (!gmtime_r(&at, &t))
        return 0;
    return (uint64_t)(t.tm_year * 12 + t.tm_mon);
}

static uint64_t first_day_of_month(uint64_t day)
{
    time_t at = (time_t)(day * (DAY_MS / 1000));
    struct tm t;
    return gmtime_r(&at, &t) ? day - (uint64_t)(t.tm_mday - 1) : day;
}

static char *key_of(enum kind kind, const char *name, bool monthly, uint64_t day)
{
    return xprintf("%s %s %s %llu", kind_names[kind], name, monthly ? "monthly" : "daily",
                   (unsigned long long)(monthly ? month_of(day) : day));
}

static void count(enum kind kind, const char *name, uint64_t day, double cost)
{
    for (unsigned monthly = 0; monthly < 2; monthly++) {
        CLEANUP(freep) char *key = key_of(kind, name, monthly, day);
        double *sum = map_get(&counters, key);
        if (!sum) {
            sum = xcalloc(1, sizeof *sum);
            map_set(&counters, key, sum);
        }
        *sum += cost;
    }
}

char *spending_agent(const char *session)
{
    if (strncmp(session, "agent:", 6) != 0)
        return xstrdup(agents_default());
    return xmemdup(session + 6, strcspn(session + 6, ":"));
}

static void add(const char *session, const char *channel, const char *sender, const char *provider,
                uint64_t day, double cost)
{
    CLEANUP(freep) char *agent = spending_agent(session);
    CLEANUP(freep) char *who = xprintf("%s:%s", channel, sender);
    count(BY_AGENT, agent, day, cost);
    count(BY_SENDER, who, day, cost);
    count(BY_PROVIDER, provider, day, cost);
}

void spending_add(const struct spent *s)
{
    if (s->cost <= 0)
        return;
    CLEANUP(freep) char *provider = xmemdup(s->model, strcspn(s->model, "/"));
    add(s->session, s->channel, s->sender, provider, s->at / DAY_MS, s->cost);
}

/* ---- from the journal ---- */

static char *text(const struct journal_row *row, unsigned i)
{
    return xmemdup(row->values[i].s.s ? row->values[i].s.s : "", row->values[i].s.n);
}

static void load_row(void *owner, const struct journal_row *row)
{
    (void)owner;
    if (row->columns < 14 || row->values[13].d <= 0)
        return;
    CLEANUP(freep) char *session = text(row, 1);
    CLEANUP(freep) char *channel = text(row, 2);
    CLEANUP(freep) char *sender = text(row, 3);
    CLEANUP(freep) char *provider = text(row, 4);
    add(session, channel, sender, provider, (uint64_t)row->values[0].i, row->values[13].d);
}

void spending_load(journal_fn *fn, void *owner)
{
    uint64_t now = clock_now_ms(), first = first_day_of_month(now / DAY_MS);
    journal_usage(first * DAY_MS, now, load_row, fn, owner);
}

/* ---- limits ---- */

static const char *option(unsigned index, const char *name)
{
    CLEANUP(freep) char *path = xprintf("models.limits.%u.%s", index, name);
    return settings_text(settings_now(), path);
}

static double amount(unsigned index, const char *name, bool *ret_set)
{
    CLEANUP(freep) char *path = xprintf("models.limits.%u.%s", index, name);
    *ret_set = settings_has(settings_now(), path);
    return *ret_set ? settings_real(settings_now(), path) : 0;
}

static bool reached(unsigned index, enum kind kind, const char *name, double next,
                    struct spending_limit *ret)
{
    uint64_t day = clock_now_ms() / DAY_MS;
    for (unsigned monthly = 0; monthly < 2; monthly++) {
        bool set;
        double limit = amount(index, monthly ? "monthly" : "daily", &set);
        CLEANUP(freep) char *key = key_of(kind, name, monthly, day);
        const double *sum = map_get(&counters, key);
        double spent = sum ? *sum : 0;
        if (!set || spent + next <= limit)
            continue;
        ret->provider = kind == BY_PROVIDER;
        ret->text = xprintf("the %s limit of %s %s is reached: %.4g spent of %.4g",
                            monthly ? "monthly" : "daily", kind_names[kind], name, spent, limit);
        ret->key = xstrdup(key);
        return true;
    }
    return false;
}

bool spending_over(const struct spending_question *q, struct spending_limit *ret)
{
    int64_t limits = settings_number(settings_now(), "models.limits");
    CLEANUP(freep) char *sender = limits > 0 ? xprintf("%s:%s", q->channel, q->sender) : NULL;
    const char *const names[KINDS] = {q->agent, sender, q->provider};
    memset(ret, 0, sizeof *ret);
    for (unsigned i = 0; i < (unsigned)limits && i < LIMITS_MOST; i++) {
        for (unsigned kind = 0; kind < KINDS; kind++) {
            const char *whom = option(i, kind_names[kind]);
            bool fits = *whom && (strcmp(whom, "*") == 0 || strcmp(whom, names[kind]) == 0);
            if (fits && reached(i, (enum kind)kind, names[kind], q->next, ret))
                return true;
        }
    }
    return false;
}

void spending_limit_free(struct spending_limit *l)
{
    free(l->key);
    free(l->text);
    memset(l, 0, sizeof *l);
}

void spending_reset(void)
{
    map_free(&counters, free);
    memset(&counters, 0, sizeof counters);
}
