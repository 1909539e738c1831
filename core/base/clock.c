/*
 * The clocks (see clock.h).
 */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static struct {
    bool on;
    uint64_t now_ms, ticks_ms;
} fake;

static uint64_t read_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

uint64_t clock_now_ms(void)
{
    return fake.on ? fake.now_ms : read_us(CLOCK_REALTIME) / 1000u;
}

uint64_t clock_ticks_ms(void)
{
    return fake.on ? fake.ticks_ms : read_us(CLOCK_MONOTONIC) / 1000u;
}

uint64_t clock_ticks_us(void)
{
    return fake.on ? fake.ticks_ms * 1000u : read_us(CLOCK_MONOTONIC);
}

void clock_format(uint64_t ms, char *out, size_t size)
{
    time_t s = (time_t)(ms / 1000u);
    struct tm tm;
    gmtime_r(&s, &tm);
    snprintf(out, size, "%04d-%02d-%02dT%02d:%02d:%02d.%03uZ", tm.tm_year + 1900, tm.tm_mon + 1,
             tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (unsigned)(ms % 1000u));
}

void clock_fake(uint64_t now_ms)
{
    fake.on = true;
    fake.now_ms = now_ms;
    fake.ticks_ms = 3600u * 1000u;
}

void clock_fake_advance(uint64_t ms)
{
    fake.now_ms += ms;
    fake.ticks_ms += ms;
}

void clock_fake_end(void)
{
    fake.on = false;
}

bool clock_is_fake(void)
{
    return fake.on;
}
