/*
 * Clients of the gateway by their cost: how long from connecting to hello-ok, and what an idle
 * connection takes of the gateway's memory.
 *
 *   clients PORT TOKEN PID COUNT       prints "hello_us=MEDIAN p99_us=N bytes=N connections=N"
 *   clients PORT TOKEN turns ROUNDS    TALKERS connections, a session each, ROUNDS turns by
 *                                      chat.send on each: prints "turns_per_s=N turns=N"
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

/* scopes: as a program that talks; else as one that only is there */
static bool greet(struct raw *r, unsigned port, const char *token, bool scopes)
{
    CLEANUP(freep)
    char *connect = xprintf(
        "{\"type\":\"req\",\"id\":\"1\",\"method\":\"connect\",\"params\":{\"minProtocol\":4,"
        "\"maxProtocol\":4,\"client\":{\"id\":\"gateway-client\",\"mode\":\"backend\","
        "\"version\":\"1\",\"platform\":\"linux\"},%s\"auth\":{\"token\":\"%s\"}}}",
        scopes ? "\"role\":\"operator\",\"scopes\":[\"operator.read\",\"operator.write\"]," : "",
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

enum { TALKERS = 10 };

/* One turn on each; true when each has had its final event. */
static bool talk(struct raw *all, unsigned round, uint64_t run)
{
    for (unsigned i = 0; i < TALKERS; i++) {
        CLEANUP(freep)
        char *send =
            xprintf("{\"type\":\"req\",\"id\":\"r%u\",\"method\":\"chat.send\",\"params\":{"
                    "\"sessionKey\":\"agent:main:bench-%u\",\"message\":\"hi\","
                    "\"idempotencyKey\":\"bench-%llu-%u-%u\"}}",
                    round, i, (unsigned long long)run, round, i);
        if (!raw_text(&all[i], send))
            return false;
    }
    for (unsigned i = 0; i < TALKERS; i++) {
        CLEANUP(freep) char *key = xprintf("agent:main:bench-%u", i);
        bool over = false;
        for (json_object *o; !over && (o = raw_next(&all[i], 120000)) != NULL;) {
            json_object *payload = chela_json_object(o, "payload");
            const char *event = chela_json_string(o, "event", NULL),
                       *state = chela_json_string(payload, "state", NULL),
                       *session = chela_json_string(payload, "sessionKey", NULL);
            over = event && state && session && strcmp(event, "chat") == 0 &&
                   strcmp(state, "final") == 0 && strcmp(session, key) == 0;
            json_object_put(o);
        }
        if (!over)
            return false;
    }
    return true;
}

static int count_turns(unsigned port, const char *token, unsigned rounds)
{
    struct raw all[TALKERS];
    uint64_t run = clock_now_ms();
    for (unsigned i = 0; i < TALKERS; i++)
        if (!greet(&all[i], port, token, true))
            return 1;
    if (!talk(all, 0, run)) /* warm */
        return 1;
    uint64_t begin = clock_ticks_us();
    for (unsigned i = 1; i <= rounds; i++)
        if (!talk(all, i, run))
            return 1;
    double s = (double)(clock_ticks_us() - begin) / 1e6;
    printf("turns_per_s=%.1f turns=%u\n", rounds * TALKERS / s, rounds * TALKERS);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    unsigned port = (unsigned)strtoul(argv[1], NULL, 10),
             count = (unsigned)strtoul(argv[4], NULL, 10);
    if (strcmp(argv[3], "turns") == 0)
        return count_turns(port, argv[2], count);
    long pid = strtol(argv[3], NULL, 10), before = memory_kib(pid);
    struct raw *all = xcalloc(count, sizeof *all);
    uint64_t *us = xcalloc(count, sizeof *us);
    for (unsigned i = 0; i < count; i++) {
        uint64_t begin = clock_ticks_us();
        if (!greet(&all[i], port, argv[2], false)) {
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
