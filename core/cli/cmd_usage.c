/* chela usage: what was used and spent, by day, session, channel, sender, provider or model, and
 * which share was answered on this machine. The sums are made here, of the gateway's counters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/output.h"
#include "support/json.h"

enum { DAY_MS = 24 * 3600 * 1000, DAYS = 30, DAYS_MOST = 36500 };

static const char *const keys[] = {"day", "session", "channel", "sender", "provider", "model"};

struct sum {
    char *name;
    int64_t in, out, cached, answers, local, unpriced;
    double cost;
};

struct sums {
    struct sum *v;
    size_t n;
};

static void add(struct sum *s, json_object *row)
{
    int64_t answers = chela_json_int(row, "answers", 0);
    s->in += chela_json_int(row, "tokensIn", 0);
    s->out += chela_json_int(row, "tokensOut", 0);
    s->cached += chela_json_int(row, "cached", 0);
    s->unpriced += chela_json_int(row, "unpriced", 0);
    s->cost += chela_json_double(row, "cost", 0);
    s->answers += answers;
    if (chela_json_bool(row, "local", false))
        s->local += answers;
}

static char *name_of(json_object *row, const char *by)
{
    if (strcmp(by, "model") == 0)
        return xprintf("%s/%s", output_field(row, "provider", "-"), output_field(row, by, "-"));
    if (strcmp(by, "day") != 0)
        return xstrdup(output_field(row, by, "-"));
    char day[32];
    clock_format((uint64_t)chela_json_int(row, "day", 0) * DAY_MS, day, sizeof day);
    return xmemdup(day, strcspn(day, "T"));
}

/* The rows come by day and session, so a name that is there stands near the end. */
static struct sum *sum_of(struct sums *all, json_object *row, const char *by)
{
    char *name = name_of(row, by);
    for (size_t i = all->n; i > 0; i--) {
        if (strcmp(all->v[i - 1].name, name) == 0) {
            free(name);
            return &all->v[i - 1];
        }
    }
    all->v = xrealloc(all->v, (all->n + 1) * sizeof *all->v);
    all->v[all->n] = (struct sum){.name = name};
    return &all->v[all->n++];
}

static int by_cost(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    if (x->cost < y->cost || x->cost > y->cost)
        return x->cost > y->cost ? -1 : 1;
    return x->in + x->out > y->in + y->out ? -1 : x->in + x->out < y->in + y->out;
}

/* ---- printed ---- */

static double share(const struct sum *s)
{
    return s->answers > 0 ? (double)s->local * 100 / (double)s->answers : 0;
}

static void print_sum(const struct sum *s, unsigned width)
{
    output_cell(s->name, width);
    printf("%11lld %11lld %11lld %7lld %5.0f %%  %.4f%s\n", (long long)s->in, (long long)s->out,
           (long long)s->cached, (long long)s->answers, share(s), s->cost, s->unpriced ? " ?" : "");
}

static void print_sums(const struct sums *all, const struct sum *total, const char *by)
{
    unsigned width = 12;
    for (size_t i = 0; i < all->n; i++) {
        size_t n = strlen(all->v[i].name) + 2;
        width = n > width ? (unsigned)(n < 60 ? n : 60) : width;
    }
    output_cell(by, width);
    printf("%11s %11s %11s %7s %7s  %s\n", "tokens in", "out", "cached", "answers", "local",
           "price");
    for (size_t i = 0; i < all->n; i++)
        print_sum(&all->v[i], width);
    print_sum(total, width);
    if (total->unpriced)
        printf("? %lld answers came from models without a known price: the dearest known one was "
               "taken.\n",
               (long long)total->unpriced);
}

static void put_sum(json_object *o, const struct sum *s)
{
    chela_json_put_int(o, "tokensIn", s->in);
    chela_json_put_int(o, "tokensOut", s->out);
    chela_json_put_int(o, "cached", s->cached);
    chela_json_put_int(o, "answers", s->answers);
    chela_json_put_int(o, "answeredLocally", s->local);
    chela_json_put_int(o, "unpriced", s->unpriced);
    chela_json_put_double(o, "price", s->cost);
}

static void print_json(const struct sums *all, const struct sum *total, const char *by)
{
    json_object *o = chela_json_new_object(), *rows = chela_json_put_array(o, "rows");
    chela_json_put_text(o, "by", by);
    for (size_t i = 0; i < all->n; i++) {
        json_object *row = chela_json_push_object(rows);
        chela_json_put_text(row, by, all->v[i].name);
        put_sum(row, &all->v[i]);
    }
    put_sum(chela_json_put_object(o, "total"), total);
    output_json(o);
    json_object_put(o);
}

static void print_usage(json_object *payload, const char *by, bool json)
{
    struct sums all = {0};
    char word[] = "total";
    struct sum total = {.name = word};
    json_object *rows = chela_json_array(payload, "rows");
    for (size_t i = 0; i < chela_json_length(rows); i++) {
        json_object *row = chela_json_at(rows, i);
        add(sum_of(&all, row, by), row);
        add(&total, row);
    }
    if (strcmp(by, "day") != 0 && all.n > 0)
        qsort(all.v, all.n, sizeof *all.v, by_cost);
    (json ? print_json : print_sums)(&all, &total, by);
    for (size_t i = 0; i < all.n; i++)
        free(all.v[i].name);
    free(all.v);
}

/* ---- asked ---- */

static bool is_key(const char *by)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i], by) == 0)
            return true;
    return false;
}

int cmd_usage(int argc, char **argv)
{
    struct common common = {0};
    const char *by = "day", *days = NULL;
    const struct option_row rows[] = {
        {'b', "by", "WHAT", "day (the default), session, channel, sender, provider or model", NULL,
         &by},
        {'n', "days", "NUMBER", "of the last days (30)", NULL, &days},
        {0},
    };
    const struct command_line line = {
        .synopsis = "usage [--by WHAT] [--days NUMBER]",
        .summary = "Shows tokens read, written and taken from a cache, answers with the share that "
                   "this machine gave itself, and the price. Days are those of UTC.",
        .rows = rows,
    };
    char **arguments, *end = NULL;
    int count, status;
    if (!command_line_read(&line, argc, argv, &common, &arguments, &count, &status))
        return status;
    long number = days ? strtol(days, &end, 10) : DAYS;
    if (number < 1 || number > DAYS_MOST || (days && *end))
        return output_failure(&common, "usage", "--days takes a number from 1 to 36500",
                              EXIT_USAGE);
    if (!is_key(by))
        return output_failure(&common, "usage",
                              "--by takes day, session, channel, sender, provider or model",
                              EXIT_USAGE);
    json_object *params = chela_json_new_object(), *payload = NULL;
    int64_t now = (int64_t)clock_now_ms();
    int64_t from = now - (int64_t)(number - 1) * DAY_MS;
    chela_json_put_int(params, "from", from > 0 ? from : 0);
    status = output_ask(&common, "chela.usage", params, &payload);
    if (status == EXIT_OK)
        print_usage(payload, by, common.json);
    json_object_put(payload);
    return status;
}
