/*
 * What libcurl alone can do: the same body posted to the same model service, by the multi
 * interface, so many at a time, connections kept. Its latency is what a turn's is compared to, its
 * rate one of the limits of turns per second, its processor time what a long history costs anybody.
 * Called by gateway_bench.sh.
 *
 *   curl_rate URL BODY_FILE AT_A_TIME MILLISECONDS [MOST]
 *
 * Prints "requests=N rate=R first_p50=US first_p99=US final_p50=US final_p99=US cpu_us=US bytes=N".
 */
#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { AT_A_TIME_MOST = 1024, SAMPLES_MOST = 1 << 20 };

struct transfer {
    CURL *easy;
    uint64_t sent_us;
    bool delta_seen;
};

static struct {
    char *body;
    size_t length;
    uint64_t end_us;
    unsigned begun, done, most;
    uint32_t *first, *final;
    size_t first_count, final_count;
} rate;

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static uint64_t cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static size_t take(char *p, size_t size, size_t n, void *arg)
{
    struct transfer *t = arg;
    if (!t->delta_seen && memmem(p, size * n, "word", 4)) {
        t->delta_seen = true;
        if (rate.first_count < SAMPLES_MOST)
            rate.first[rate.first_count++] = (uint32_t)(now_us() - t->sent_us);
    }
    return size * n;
}

static bool begin(CURLM *multi, struct transfer *t)
{
    if (now_us() >= rate.end_us || rate.begun >= rate.most)
        return false;
    rate.begun++;
    t->sent_us = now_us();
    t->delta_seen = false;
    return curl_multi_add_handle(multi, t->easy) == CURLM_OK;
}

static void prepare(struct transfer *t, const char *url, struct curl_slist *headers)
{
    t->easy = curl_easy_init();
    curl_easy_setopt(t->easy, CURLOPT_URL, url);
    curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, rate.body);
    curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE, (long)rate.length);
    curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(t->easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
}

/* False: the service failed. */
static bool take_ended(CURLM *multi)
{
    int left;
    for (CURLMsg *m; (m = curl_multi_info_read(multi, &left));) {
        struct transfer *t = NULL;
        long status = 0;
        CURL *easy = m->easy_handle;
        CURLcode code = m->data.result;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)(void *)&t);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        if (code != CURLE_OK || status != 200) {
            fprintf(stderr, "curl_rate: %s, status %ld\n", curl_easy_strerror(code), status);
            return false;
        }
        if (rate.final_count < SAMPLES_MOST)
            rate.final[rate.final_count++] = (uint32_t)(now_us() - t->sent_us);
        rate.done++;
        curl_multi_remove_handle(multi, easy);
        begin(multi, t);
    }
    return true;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t share(uint32_t *us, size_t count, unsigned percent)
{
    if (count == 0)
        return 0;
    qsort(us, count, sizeof *us, by_value);
    return us[(count - 1) * percent / 100];
}

static bool read_body(const char *path)
{
    FILE *f = fopen(path, "re");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        return false;
    rate.length = (size_t)ftell(f);
    rewind(f);
    rate.body = malloc(rate.length + 1);
    bool ok = rate.body && fread(rate.body, 1, rate.length, f) == rate.length;
    fclose(f);
    return ok;
}

int main(int argc, char **argv)
{
    static struct transfer transfers[AT_A_TIME_MOST];
    unsigned at_a_time = argc > 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    if (at_a_time == 0 || at_a_time > AT_A_TIME_MOST)
        return 2;
    if (!read_body(argv[2])) {
        perror(argv[2]);
        return 1;
    }
    rate.most = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : UINT32_MAX;
    rate.first = calloc(SAMPLES_MOST, sizeof *rate.first);
    rate.final = calloc(SAMPLES_MOST, sizeof *rate.final);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURLM *multi = curl_multi_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    headers = curl_slist_append(headers, "Expect:");
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)at_a_time);
    for (unsigned i = 0; i < at_a_time; i++)
        prepare(&transfers[i], argv[1], headers);
    uint64_t from = now_us(), cpu = cpu_us();
    rate.end_us = from + strtoul(argv[4], NULL, 10) * 1000;
    for (unsigned i = 0; i < at_a_time; i++)
        begin(multi, &transfers[i]);
    bool ok = true;
    for (int running = 1; ok && rate.done < rate.begun;) {
        ok = curl_multi_perform(multi, &running) == CURLM_OK && take_ended(multi);
        if (ok && rate.done < rate.begun)
            curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    double seconds = (double)(now_us() - from) / 1e6;
    cpu = cpu_us() - cpu;
    printf("requests=%u rate=%.1f first_p50=%u first_p99=%u final_p50=%u final_p99=%u cpu_us=%.1f "
           "bytes=%zu\n",
           rate.done, rate.done / seconds, share(rate.first, rate.first_count, 50),
           share(rate.first, rate.first_count, 99), share(rate.final, rate.final_count, 50),
           share(rate.final, rate.final_count, 99), rate.done ? (double)cpu / rate.done : 0,
           rate.length);
    for (unsigned i = 0; i < at_a_time; i++)
        curl_easy_cleanup(transfers[i].easy);
    curl_multi_cleanup(multi);
    curl_slist_free_all(headers);
    free(rate.first);
    free(rate.final);
    free(rate.body);
    return ok ? 0 : 1;
}
