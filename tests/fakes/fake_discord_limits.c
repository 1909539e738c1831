/* The buckets of Discord's HTTP API (see fake_discord.h): one for each route, of one size. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "support/json.h"
#include "tests/fakes/fake_discord.h"

enum { ROUTES = 64, SEGMENTS = 3 };

static struct {
    char route[160];
    unsigned used;
    double until;
} routes[ROUTES];
static unsigned bucket_limit = 1000;
static double bucket_seconds = 1;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void fake_limit_set(unsigned limit, double seconds)
{
    bucket_limit = limit;
    bucket_seconds = seconds;
    memset(routes, 0, sizeof routes);
}

static size_t bucket_of(const char *method, const char *path)
{
    char route[160];
    size_t i = 0, n = 0, slashes = 0;
    while (path[n] && slashes + (path[n] == '/') <= SEGMENTS)
        slashes += path[n++] == '/';
    snprintf(route, sizeof route, "%s %.*s", method, (int)n, path);
    while (i + 1 < ROUTES && *routes[i].route && strcmp(routes[i].route, route) != 0)
        i++;
    snprintf(routes[i].route, sizeof routes[i].route, "%s", route);
    return i;
}

double fake_limit(const char *method, const char *path, json_object *headers)
{
    char number[32];
    size_t i = bucket_of(method, path);
    double t = now();
    if (t > routes[i].until) {
        routes[i].until = t + bucket_seconds;
        routes[i].used = 0;
    }
    bool ok = routes[i].used++ < bucket_limit;
    snprintf(number, sizeof number, "%u", bucket_limit);
    chela_json_put_text(headers, "X-RateLimit-Limit", number);
    snprintf(number, sizeof number, "%u",
             routes[i].used < bucket_limit ? bucket_limit - routes[i].used : 0);
    chela_json_put_text(headers, "X-RateLimit-Remaining", number);
    snprintf(number, sizeof number, "%.3f", routes[i].until - t);
    chela_json_put_text(headers, "X-RateLimit-Reset-After", number);
    snprintf(number, sizeof number, "bucket%u", (unsigned)i);
    chela_json_put_text(headers, "X-RateLimit-Bucket", number);
    return ok ? 0 : routes[i].until - t;
}
