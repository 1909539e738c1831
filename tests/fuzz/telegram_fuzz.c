/*
 * Feeds channel_telegram any update, as one of a poll's answer: no crash, no mistake in the use of
 * the SDK, and the poll goes on behind it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chela/chela.h>

#include "testkit/kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct chela_plugin channel_telegram_LTX_chela_plugin;

static const struct chela_pair options[] = {
    {CHELA_LIT("token"), CHELA_LIT("t")},           {CHELA_LIT("base_url"), CHELA_LIT("https://b")},
    {CHELA_LIT("poll_timeout"), CHELA_LIT("5000")}, {CHELA_LIT("media_limit"), CHELA_LIT("1000")},
    {CHELA_LIT("commands"), CHELA_LIT("0")},
};

static void must(int truth)
{
    if (!truth)
        abort();
}

static int ends_with(struct chela_str url, const char *what)
{
    size_t n = strlen(what);
    return url.n >= n && memcmp(url.s + url.n - n, what, n) == 0;
}

static void answer(struct kit *k, uint64_t call, const char *text, size_t n)
{
    CHELA_ARGS(chela_done, d, 0);
    d.http_status = 200;
    d.text = chela_sn(text, n);
    kit_answer(k, call, &d);
    kit_advance(k, 0);
}

/* One step of what the plugin waits for; 0: only for the next poll. */
static int serve(struct kit *k)
{
    static const char file[] = "{\"ok\":true,\"result\":{\"id\":42,\"username\":\"chela_bot\","
                               "\"file_path\":\"p\"}}";
    const struct chela_arg *a;
    const struct chela_http *q = kit_request(k, CHELA_FN_HTTP);
    if ((a = kit_request(k, CHELA_FN_SUBMIT)) || (a = kit_request(k, CHELA_FN_KV_PUT)))
        kit_answer_ok(k, a->h.call, "", 0);
    else if ((a = kit_request(k, CHELA_FN_KV_LIST)))
        kit_answer_ok(k, a->h.call, "", 0);
    else if (q && ends_with(q->url, "/getUpdates"))
        return 0;
    else if (q)
        answer(k, q->h.call, file, sizeof file - 1);
    else
        kit_advance(k, 1000);
    kit_advance(k, 0);
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kit *k =
        kit_open(&(struct kit_setup){.plugin = &channel_telegram_LTX_chela_plugin,
                                     .options = options,
                                     .option_count = sizeof options / sizeof options[0]});
    static const char head[] = "{\"ok\":true,\"result\":[";
    char *text = malloc(size + sizeof head + 2);
    CHELA_ARGS(chela_arg, stop, 0);
    must(k && text);
    kit_start(k);
    while (serve(k))
        continue;
    size_t n = sizeof head - 1;
    memcpy(text, head, n);
    memcpy(text + n, data, size);
    memcpy(text + n + size, "]}", 2);
    const struct chela_http *poll = kit_request(k, CHELA_FN_HTTP);
    answer(k, poll->h.call, text, n + size + 2);
    int steps = 0;
    while (serve(k))
        must(++steps < 500);
    kit_call(k, CHELA_FN_STOP, &stop);
    if ((poll = kit_request(k, CHELA_FN_HTTP)))
        kit_answer_error(k, poll->h.call, CHELA_E_CANCELLED, 0, "");
    must(kit_close(k) == 0);
    free(text);
    return 0;
}
