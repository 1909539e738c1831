/*
 * The circuit breaker of each candidate, by its full name. A service with a bounded table; reads
 * the clock only.
 */
#include "agent/models/health.h"

#include <stdlib.h>
#include <string.h>

#include <chela/base.h>

#include "agent/agents.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"

enum { CANDIDATES = 1000 };

struct health {
    uint64_t until; /* ticks; 0: closed */
    unsigned step;  /* of the ladder */
    bool probing;
    bool known;
    double availability, latency;
};

static struct map table;

static const uint64_t ladder[] = {1, 2, 10}; /* times models.cooldown */

static struct health *of(const char *model)
{
    struct health *h = map_get(&table, model);
    if (h)
        return h;
    if (table.count >= CANDIDATES)
        health_reset();
    h = xcalloc(1, sizeof *h);
    h->availability = 1;
    map_set(&table, model, h);
    return h;
}

enum health_circuit health_circuit(const char *model)
{
    const struct health *h = map_get(&table, model);
    if (!h || !h->until)
        return HEALTH_CLOSED;
    return clock_ticks_ms() < h->until ? HEALTH_OPEN : HEALTH_HALF_OPEN;
}

bool health_usable(const char *model)
{
    const struct health *h = map_get(&table, model);
    switch (health_circuit(model)) {
    case HEALTH_CLOSED: return true;
    case HEALTH_OPEN: return false;
    case HEALTH_HALF_OPEN: return !h->probing;
    }
    return true;
}

uint64_t health_until(const char *model)
{
    const struct health *h = map_get(&table, model);
    return h && health_circuit(model) == HEALTH_OPEN ? h->until : 0;
}

void health_begin(const char *model)
{
    if (health_circuit(model) == HEALTH_HALF_OPEN)
        of(model)->probing = true;
}

static void average(double *a, double sample, bool known)
{
    *a = known ? *a + (sample - *a) * 0.2 : sample;
}

void health_good(const char *model, uint64_t latency_ms)
{
    struct health *h = of(model);
    h->until = 0;
    h->step = 0;
    h->probing = false;
    average(&h->availability, 1, h->known);
    average(&h->latency, (double)latency_ms, h->latency > 0);
    h->known = true;
}

void health_bad(const char *model, uint32_t class, uint64_t retry_after_ms)
{
    switch (class) {
    case CHELA_E_AUTH:
    case CHELA_E_RATE:
    case CHELA_E_QUOTA:
    case CHELA_E_NETWORK:
    case CHELA_E_TIMEOUT:
    case CHELA_E_GONE:
    case CHELA_E_PROTOCOL:
    case CHELA_E_OVERLOADED:
    case CHELA_E_NOT_FOUND: break;
    default: health_neutral(model); return;
    }
    struct health *h = of(model);
    int64_t first = settings_number_or("models.cooldown", 30000);
    uint64_t wait = ladder[h->step] * (uint64_t)(first > 0 ? first : 0);
    if (class == CHELA_E_QUOTA)
        wait = 600000;
    if (retry_after_ms > wait)
        wait = retry_after_ms;
    if (h->step + 1 < ARRAY_LENGTH(ladder))
        h->step++;
    h->until = clock_ticks_ms() + wait;
    h->probing = false;
    average(&h->availability, 0, true);
    h->known = true;
}

void health_neutral(const char *model)
{
    struct health *h = map_get(&table, model);
    if (h)
        h->probing = false;
}

bool health_known(const char *model)
{
    return map_get(&table, model) != NULL;
}

double health_availability(const char *model)
{
    const struct health *h = map_get(&table, model);
    return h ? h->availability : 1;
}

uint64_t health_latency(const char *model)
{
    const struct health *h = map_get(&table, model);
    return h ? (uint64_t)h->latency : 0;
}

void health_reset(void)
{
    map_free(&table, free);
    memset(&table, 0, sizeof table);
}
