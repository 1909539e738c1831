/*
 * The store alone: how many turns a second it takes if nothing else is done, as the limit that the
 * daemon's figures are compared to. A turn is the journal's own commits of a plain one: inbound
 * (barrier), start, attempt, final (barrier), receipt; in a chain, with as many turns in flight as
 * are asked for. Also single commits of one row, lazy and as barriers, and the disk's own rate.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/journal/journal.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/loop.h"
#include "store/bridge.h"

enum { RUN_MS = 1500, SESSIONS_MOST = 512 };

static char dir[64] = "/tmp/chela-bench.XXXXXX";
static uint64_t end_at;
static unsigned running, finished;

struct turn {
    unsigned session, number, seq;
    char key[32], run[48];
    struct journal_run *journal;
    uint64_t began_us;
};
static struct turn turns[SESSIONS_MOST];
static uint32_t *latencies;
static size_t latency_count, latency_size;

static void begin(struct turn *t);

static void receipt_done(void *owner, const struct error *e)
{
    struct turn *t = owner;
    if (e) {
        fprintf(stderr, "%s\n", e->text);
        exit(1);
    }
    finished++;
    running--;
    if (clock_ticks_ms() < end_at)
        begin(t);
}

static void check(void *owner, const struct error *e)
{
    (void)owner;
    if (e) {
        fprintf(stderr, "%s\n", e->text);
        exit(1);
    }
}

static void final_done(void *owner, const struct error *e)
{
    struct turn *t = owner;
    char key[64];
    check(NULL, e);
    if (latency_count == latency_size) {
        latency_size = latency_size ? latency_size * 2 : 4096;
        latencies = xrealloc(latencies, latency_size * sizeof *latencies);
    }
    latencies[latency_count++] = (uint32_t)(clock_ticks_us() - t->began_us);
    journal_run_end(t->journal);
    snprintf(key, sizeof key, "%s:0", t->run);
    journal_chunk_state(t->key, t->run, key, CHELA_SEND_IDEMPOTENT, "SENT", "1", receipt_done, t);
}

static const char body[] =
    "[{\"type\":\"text\",\"text\":\"a message of the length that people write to an assistant, "
    "which is one or two sentences, not a page\"}]";

static void inbound_done(void *owner, const struct error *e)
{
    struct turn *t = owner;
    check(NULL, e);
    uint64_t now = clock_now_ms();
    struct journal_message user = {
        .seq = ++t->seq, .role = "user", .body = body, .inbox = t->run, .at = now};
    struct journal_message answer = {.seq = ++t->seq,
                                     .role = "assistant",
                                     .body = body,
                                     .model = "mock/echo",
                                     .tokens_in = 100,
                                     .tokens_out = 20,
                                     .at = now};
    char key[64];
    snprintf(key, sizeof key, "%s:0", t->run);
    struct journal_chunk chunk = {key, body, CHELA_SEND_IDEMPOTENT};
    t->journal = journal_run_begin(t->key, t->run);
    journal_run_state(t->journal, "RECEIVED", now);
    journal_run_state(t->journal, "CONTEXT_ASSEMBLY", now);
    journal_run_start(t->journal, "main", 1, &user, 1, check, NULL);
    journal_run_state(t->journal, "ROUTING", now);
    journal_run_state(t->journal, "CALLING", now);
    journal_attempt(t->journal, 1, "mock/echo", "default", false, check, NULL);
    journal_run_state(t->journal, "STREAMING", now);
    journal_attempt_end(t->journal, 1, "ok", 1, 100, 20);
    journal_run_state(t->journal, "DONE", now);
    journal_final(t->journal, &answer, &chunk, 1, "DONE", final_done, t);
}

static void begin(struct turn *t)
{
    char event[32];
    running++;
    t->began_us = clock_ticks_us();
    snprintf(t->run, sizeof t->run, "run-%u-%u", t->session, ++t->number);
    snprintf(event, sizeof event, "%u", t->number);
    struct journal_message_in in = {.conversation = t->key,
                                    .kind = "message",
                                    .event = event,
                                    .id = t->run,
                                    .session = t->key,
                                    .agent = "main",
                                    .body = body,
                                    .at = clock_now_ms()};
    journal_inbound(&in, inbound_done, t);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static double cpu_ms(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static void measure_turns(unsigned sessions)
{
    static unsigned base;
    double cpu = cpu_ms();
    uint64_t start = clock_ticks_us();
    finished = 0;
    latency_count = 0;
    end_at = clock_ticks_ms() + RUN_MS;
    for (unsigned i = 0; i < sessions; i++) {
        struct turn *t = &turns[i];
        memset(t, 0, sizeof *t);
        t->session = ++base;
        snprintf(t->key, sizeof t->key, "agent:main:bench-%u", t->session);
        begin(t);
    }
    while (running > 0)
        loop_turn(true);
    double seconds = (double)(clock_ticks_us() - start) / 1e6;
    cpu = cpu_ms() - cpu;
    qsort(latencies, latency_count, sizeof *latencies, by_value);
    printf("turns, %3u in flight   %7.0f /s   p50 %6.2f ms   p99 %6.2f ms   CPU %4.0f us a turn\n",
           sessions, finished / seconds, latencies[latency_count / 2] / 1e3,
           latencies[latency_count * 99 / 100] / 1e3, cpu * 1e3 / finished);
}

static unsigned puts_left, puts_done;
static bool durable;

static void put_next(void *owner, const struct error *e)
{
    char key[24];
    check(NULL, e);
    puts_done += owner != NULL;
    if (clock_ticks_ms() >= end_at) {
        puts_left--;
        return;
    }
    snprintf(key, sizeof key, "k%u", puts_done % 1000);
    journal_kv_put("bench/one", key, chela_s("a small value"), durable, put_next, &puts_left);
}

static void measure_puts(bool barrier, unsigned in_flight)
{
    durable = barrier;
    puts_done = 0;
    puts_left = in_flight;
    uint64_t start = clock_ticks_us();
    end_at = clock_ticks_ms() + RUN_MS / 2;
    for (unsigned i = 0; i < in_flight; i++)
        put_next(NULL, NULL);
    while (puts_left > 0)
        loop_turn(true);
    printf("one row, %s, %3u in flight   %7.0f /s\n", barrier ? "barrier" : "lazy   ", in_flight,
           puts_done * 1e6 / (double)(clock_ticks_us() - start));
}

static void measure_disk(void)
{
    char *path = xprintf("%s/disk", dir), block[4096];
    memset(block, 'x', sizeof block);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    unsigned n = 0;
    uint64_t start = clock_ticks_us();
    while (fd >= 0 && clock_ticks_us() - start < 500000) {
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block || fdatasync(fd) < 0)
            break;
        n++;
    }
    printf("the disk: 4 KiB appended and fdatasync   %7.0f /s\n",
           n * 1e6 / (double)(clock_ticks_us() - start));
    close(fd);
    free(path);
}

static void opened(void *owner, const struct error *e)
{
    check(NULL, e);
    *(bool *)owner = true;
}

static struct fake *open_store(const char *name, bool power, const char **options)
{
    const char *build = getenv("CHELA_TEST_BUILDDIR");
    char *plugin = xprintf("%s/plugins/.libs/store_sqlite.so", build ? build : ".");
    options[0] = xprintf("path=%s/%s.db", dir, name);
    struct fake *f = fake_open(plugin, options);
    free(plugin);
    bool ready = false;
    if (!f)
        exit(1);
    uint64_t start = clock_ticks_us();
    journal_open(bridge_store(f), power, opened, &ready);
    while (!ready)
        loop_turn(true);
    printf("-- durability = \"%s\"; opened in %.1f ms\n", power ? "power" : "process",
           (double)(clock_ticks_us() - start) / 1e3);
    return f;
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    return remove(path);
}

int main(void)
{
    setlinebuf(stdout);
    log_setup(LOG_WARNING, LOG_PLAIN, NULL);
    if (!mkdtemp(dir))
        return 1;
    loop_open();
    measure_disk();
    for (int power = 1; power >= 0; power--) {
        const char *options[2] = {NULL, NULL};
        struct fake *f = open_store(power ? "power" : "process", power, options);
        measure_turns(1);
        measure_turns(50);
        measure_turns(500);
        if (power) {
            measure_puts(false, 1);
            measure_puts(true, 1);
            measure_puts(false, 64);
            measure_puts(true, 64);
        }
        journal_close();
        fake_set_hooks(f, NULL);
        fake_close(f);
        free((char *)(uintptr_t)options[0]);
    }
    loop_close();
    nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(latencies);
    return 0;
}
