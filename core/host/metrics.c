/*
 * Numbers about the running program (see metrics.h). One table under a lock; the number of series
 * is bounded, since labels may come from plugins.
 */
#include "host/metrics.h"

#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "host/instance_private.h"

enum { MOST_SERIES = 2000, LONGEST = 512 };

struct series {
    char *name, *labels;
    bool gauge;
    double value;
    double (*ask)(void);
};

static struct {
    pthread_mutex_t lock;
    struct map by_key; /* "NAME{LABELS}" */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_name(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)p[i]) && p[i] != '_')
            return false;
    return n > 0 && n <= 128 && !isdigit((unsigned char)p[0]);
}

/* a="b",c="d": no quote, backslash or control character inside the values. */
static bool are_labels(const char *p)
{
    if (strlen(p) > LONGEST)
        return false;
    while (*p) {
        const char *equals = strchr(p, '=');
        if (!equals || !is_name(p, (size_t)(equals - p)) || equals[1] != '"')
            return false;
        for (p = equals + 2; *p && *p != '"'; p++)
            if (*p == '\\' || (unsigned char)*p < ' ')
                return false;
        if (*p != '"' || (p[1] != '\0' && (p[1] != ',' || !p[2])))
            return false;
        p += p[1] == ',' ? 2 : 1;
    }
    return true;
}

/* With the lock held; NULL: dropped. */
static struct series *find(const char *name, const char *labels, bool make)
{
    char key[LONGEST + 160];
    if (!is_name(name, strlen(name)) || !are_labels(labels))
        return NULL;
    snprintf(key, sizeof key, "%s{%s}", name, labels);
    struct series *s = map_get(&table.by_key, key);
    if (!s && make && table.by_key.count < MOST_SERIES) {
        s = xcalloc(1, sizeof *s);
        s->name = xstrdup(name);
        s->labels = xstrdup(labels);
        map_set(&table.by_key, key, s);
    }
    return s;
}

void metrics_count(const char *name, const char *labels, double add)
{
    pthread_mutex_lock(&table.lock);
    struct series *s = find(name, labels, true);
    if (s && add >= 0) /* a counter never falls, and is a number */
        s->value += add;
    pthread_mutex_unlock(&table.lock);
}

void metrics_gauge(const char *name, const char *labels, double value)
{
    pthread_mutex_lock(&table.lock);
    struct series *s = find(name, labels, true);
    if (s) {
        s->gauge = true;
        s->value = value;
    }
    pthread_mutex_unlock(&table.lock);
}

void metrics_ask(const char *name, const char *labels, double (*value)(void))
{
    pthread_mutex_lock(&table.lock);
    struct series *s = find(name, labels, true);
    if (s) {
        s->gauge = true;
        s->ask = value;
    }
    pthread_mutex_unlock(&table.lock);
}

void metrics_from_plugin(struct instance *in, uint32_t kind, const char *name, const char *labels,
                         double value)
{
    char whole[160], all[2 * LONGEST];
    const char *own = labels ? labels : "";
    snprintf(whole, sizeof whole, "chela_plugin_%s", name ? name : "");
    snprintf(all, sizeof all, "plugin=\"%s\",instance=\"%s\"%s%s", in->type->plugin->name, in->name,
             *own ? "," : "", own);
    if (kind == CHELA_GAUGE)
        metrics_gauge(whole, all, value);
    else
        metrics_count(whole, all, value);
}

double metrics_value(const char *name, const char *labels)
{
    pthread_mutex_lock(&table.lock);
    const struct series *s = find(name, labels, false);
    double value = !s ? 0 : s->ask ? s->ask() : s->value;
    pthread_mutex_unlock(&table.lock);
    return value;
}

static int by_name(const void *a, const void *b)
{
    const struct series *x = *(struct series *const *)a, *y = *(struct series *const *)b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->labels, y->labels);
}

void metrics_text(struct buf *out)
{
    pthread_mutex_lock(&table.lock);
    size_t n = 0;
    struct series **all = xcalloc(table.by_key.count + 1, sizeof(struct series *));
    const struct map_slot *slot;
    for (size_t at = 0; map_next(&table.by_key, &at, &slot);)
        all[n++] = slot->value;
    qsort(all, n, sizeof(struct series *), by_name);
    for (size_t i = 0; i < n; i++) {
        const struct series *s = all[i];
        double value = s->ask ? s->ask() : s->value;
        if (i == 0 || strcmp(all[i - 1]->name, s->name) != 0)
            buf_printf(out, "# TYPE %s %s\n", s->name, s->gauge ? "gauge" : "counter");
        if (*s->labels)
            buf_printf(out, "%s{%s} %.15g\n", s->name, s->labels, value);
        else
            buf_printf(out, "%s %.15g\n", s->name, value);
    }
    free(all);
    pthread_mutex_unlock(&table.lock);
}

static void series_free(void *value)
{
    struct series *s = value;
    free(s->name);
    free(s->labels);
    free(s);
}

void metrics_close(void)
{
    pthread_mutex_lock(&table.lock);
    map_free(&table.by_key, series_free);
    pthread_mutex_unlock(&table.lock);
}
