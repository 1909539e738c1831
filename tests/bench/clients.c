/*
 * Clients of the gateway by their cost: how long from connecting to hello-ok, and what an idle
 * connection takes of the gateway's memory.
 *
 *   clients PORT TOKEN PID COUNT
 *
 * Prints "hello_us=MEDIAN p99_us=N bytes=N connections=N".
 */
#include <json-c/json_object.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "gateway/raw_client.h"
#include "support/json.h"

static long memory_kib(long pid)
{
    CLEANUP(freep) char *path = xprintf("/proc/%ld/smaps_rollup", pid);
    char line[256];
    long kib = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "Private_Dirty:", 14) == 0)
            kib = strtol(line + 14, NULL, 10);
    if (f)
        fclose(f);
    return kib;
}

static bool greet(struct raw *r, unsigned port, const char *token)
{
    CLEANUP(freep)
    char *connect = xprintf(
        "{\"type\":\"req\",\"id\":\"1\",\"method\":\"connect\",\"params\":{\"minProtocol\":4,"
        "\"maxProtocol\":4,\"client\":{\"id\":\"test\",\"mode\":\"test\",\"version\":\"1\","
        "\"platform\":\"linux\"},\"auth\":{\"token\":\"%s\"}}}",
        token);
    if (raw_open(r, port, NULL, "") != 101)
        return false;
    json_object_put(raw_next(r, RAW_WAIT_MS));
    raw_text(r, connect);
    for (json_object *o; (o = raw_next(r, RAW_WAIT_MS)) != NULL;) {
        bool hello = chela_json_bool(o, "ok", false);
        json_object_put(o);
        if (hello)
            return true;
    }
    return false;
}

static int by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    unsigned port = (unsigned)strtoul(argv[1], NULL, 10),
             count = (unsigned)strtoul(argv[4], NULL, 10);
    long pid = strtol(argv[3], NULL, 10), before = memory_kib(pid);
    struct raw *all = xcalloc(count, sizeof *all);
    uint64_t *us = xcalloc(count, sizeof *us);
    for (unsigned i = 0; i < count; i++) {
        uint64_t begin = clock_ticks_us();
        if (!greet(&all[i], port, argv[2])) {
            fprintf(stderr, "connection %u was not let in\n", i);
            return 1;
        }
        us[i] = clock_ticks_us() - begin;
        buf_free(&all[i].in);
    }
    for (unsigned i = 0; i < count; i++) /* idle, not slow: what came is read */
        for (json_object *o; (o = raw_next(&all[i], 1)) != NULL;)
            json_object_put(o);
    long grown = memory_kib(pid) - before;
    qsort(us, count, sizeof *us, by_size);
    printf("hello_us=%llu p99_us=%llu bytes=%ld connections=%u\n",
           (unsigned long long)us[count / 2], (unsigned long long)us[count * 99 / 100],
           grown * 1024 / (long)count, count);
    return 0;
}
