/*
 * What was used and spent, by day and in all, as the protocol's clients ask for it. Called by
 * method.c; chela.usage (methods_route.c) has every row.
 */
#include <json-c/json_object.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "agent/agent.h"
#include "agent/journal/journal.h"
#include "base/clock.h"
#include "base/mem.h"
#include "gateway/method.h"
#include "gateway/view.h"
#include "support/json.h"

enum { DAYS = 30, DAYS_MOST = 366, DAY_MS = 24 * 3600 * 1000 };

enum { U_DAY = 0, U_UNPRICED = 9, U_IN, U_OUT, U_CACHED, U_COST };

struct sum {
    int64_t day, in, out, cached, unpriced;
    double cost;
};

struct bill {
    struct rpc *rpc;
    struct sum total, *days;
    size_t count;
    unsigned wanted;
};

static void add(struct sum *s, const struct journal_row *row)
{
    s->in += view_int(row, U_IN);
    s->out += view_int(row, U_OUT);
    s->cached += view_int(row, U_CACHED);
    s->unpriced += view_int(row, U_UNPRICED);
    s->cost += U_COST < row->columns ? row->values[U_COST].d : 0;
}

static void bill_row(void *owner, const struct journal_row *row)
{
    struct bill *b = owner;
    int64_t day = view_int(row, U_DAY);
    size_t i = 0;
    while (i < b->count && b->days[i].day != day)
        i++;
    if (i == b->count) {
        if (b->count == DAYS_MOST + 1)
            return;
        b->days = xrealloc(b->days, (b->count + 1) * sizeof *b->days);
        b->days[b->count++] = (struct sum){.day = day};
    }
    add(&b->days[i], row);
    add(&b->total, row);
}

static void put_sum(json_object *o, const struct sum *s)
{
    chela_json_put_int(o, "input", s->in - s->cached);
    chela_json_put_int(o, "output", s->out);
    chela_json_put_int(o, "cacheRead", s->cached);
    chela_json_put_int(o, "cacheWrite", 0);
    chela_json_put_int(o, "totalTokens", s->in + s->out);
    chela_json_put_double(o, "totalCost", s->cost);
    chela_json_put_int(o, "missingCostEntries", s->unpriced);
}

static int by_day(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    return x->day < y->day ? -1 : x->day > y->day;
}

static void bill_done(void *owner, const struct error *e)
{
    struct bill *b = owner;
    if (e) {
        rpc_fail_error(b->rpc, e);
    } else {
        json_object *o = chela_json_new_object(), *daily;
        chela_json_put_int(o, "updatedAt", (int64_t)clock_now_ms());
        chela_json_put_int(o, "days", b->wanted);
        daily = chela_json_put_array(o, "daily");
        if (b->count)
            qsort(b->days, b->count, sizeof *b->days, by_day);
        for (size_t i = 0; i < b->count; i++) {
            json_object *day = chela_json_push_object(daily);
            time_t at = (time_t)b->days[i].day * 86400;
            struct tm tm;
            char date[16];
            gmtime_r(&at, &tm);
            strftime(date, sizeof date, "%Y-%m-%d", &tm);
            chela_json_put_text(day, "date", date);
            put_sum(day, &b->days[i]);
        }
        put_sum(chela_json_put_object(o, "totals"), &b->total);
        rpc_answer(b->rpc, o);
    }
    free(b->days);
    free(b);
}

static void usage_cost(struct rpc *rpc, json_object *params)
{
    struct bill *b = xcalloc(1, sizeof *b);
    int64_t days = chela_json_int(params, "days", DAYS);
    uint64_t now = clock_now_ms(), span;
    b->rpc = rpc;
    b->wanted = days < 1 ? 1 : days > DAYS_MOST ? DAYS_MOST : (unsigned)days;
    span = (uint64_t)(b->wanted - 1) * DAY_MS;
    journal_usage(now > span ? now - span : 0, now, bill_row, bill_done, b);
}

/* The windows of subscriptions, which no provider of ours tells. */
static void usage_status(struct rpc *rpc, json_object *params)
{
    json_object *o = chela_json_new_object();
    (void)params;
    chela_json_put_int(o, "updatedAt", (int64_t)clock_now_ms());
    chela_json_put_array(o, "providers");
    rpc_answer(rpc, o);
}

const struct method methods_cost[] = {
    {"usage.status", SCOPE_READ, "", usage_status},
    {"usage.cost", SCOPE_READ,
     "days:i startDate:s endDate:s mode:s range:s utcOffset:s timeZone:s agentId:s agentScope:s",
     usage_cost},
    {NULL, 0, NULL, NULL},
};
