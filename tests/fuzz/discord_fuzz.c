/*
 * Feeds channel_discord any line of text as a frame of the gateway (several, parted by newlines),
 * after a session has begun: no crash, no mistake in the use of the SDK, and a connection that is
 * given up is followed by the next one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chela/chela.h>

#include "testkit/kit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct chela_plugin channel_discord_LTX_chela_plugin;

static const struct chela_pair options[] = {
    {CHELA_LIT("token"), CHELA_LIT("t")},           {CHELA_LIT("base_url"), CHELA_LIT("https://b")},
    {CHELA_LIT("cdn_url"), CHELA_LIT("https://c")}, {CHELA_LIT("media_limit"), CHELA_LIT("1000")},
    {CHELA_LIT("commands"), CHELA_LIT("1")},
};

static void must(int truth)
{
    if (!truth)
        abort();
}

static void frame(struct kit *k, const char *text, size_t n)
{
    const struct chela_ws_connect *c = kit_request(k, CHELA_FN_WS_CONNECT);
    CHELA_ARGS(chela_ws_event, e, 0);
    e.kind = CHELA_WS_TEXT;
    e.data = chela_sn(text, n);
    if (c)
        kit_tell(k, c->h.call, CHELA_FN_WS_EVENT, &e);
    kit_advance(k, 0);
}

/* One thing that the plugin waits for; 0: nothing but the gateway. */
static int serve(struct kit *k)
{
    static const char body[] =
        "{\"url\":\"wss://g\",\"id\":\"5\",\"commands\":[{\"name\":\"a\",\"description\":\"b\"}]}";
    const struct chela_arg *a;
    CHELA_ARGS(chela_done, d, 0);
    d.http_status = 200;
    d.text = chela_s(body);
    if ((a = kit_request(k, CHELA_FN_SUBMIT)) || (a = kit_request(k, CHELA_FN_KV_PUT)) ||
        (a = kit_request(k, CHELA_FN_KV_LIST)))
        kit_answer_ok(k, a->h.call, "", 0);
    else if ((a = kit_request(k, CHELA_FN_HTTP)) || (a = kit_request(k, CHELA_FN_INVOKE)))
        kit_answer(k, a->h.call, &d);
    else
        return 0;
    kit_advance(k, 0);
    return 1;
}

static void serve_all(struct kit *k)
{
    for (int steps = 0; serve(k);)
        must(++steps < 500);
}

static void greet(struct kit *k)
{
    static const char hello[] = "{\"op\":10,\"d\":{\"heartbeat_interval\":40000}}",
                      ready[] = "{\"op\":0,\"t\":\"READY\",\"s\":1,\"d\":{\"session_id\":\"s\","
                                "\"resume_gateway_url\":\"wss://r\",\"user\":{\"id\":\"4\"},"
                                "\"application\":{\"id\":\"5\"}}}";
    serve_all(k);
    frame(k, hello, sizeof hello - 1);
    frame(k, ready, sizeof ready - 1);
    serve_all(k);
}

static void end_all(struct kit *k, uint32_t fn)
{
    const struct chela_head *h;
    while ((h = kit_request(k, fn)) != NULL)
        kit_answer_error(k, h->call, CHELA_E_CANCELLED, 0, "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kit *k =
        kit_open(&(struct kit_setup){.plugin = &channel_discord_LTX_chela_plugin,
                                     .options = options,
                                     .option_count = sizeof options / sizeof options[0]});
    CHELA_ARGS(chela_arg, stop, 0);
    const char *p = (const char *)data, *end = p + size;
    must(k != NULL);
    kit_start(k);
    greet(k);
    while (p < end) {
        const char *line = memchr(p, '\n', (size_t)(end - p));
        size_t n = line ? (size_t)(line - p) : (size_t)(end - p);
        frame(k, p, n);
        serve_all(k);
        kit_advance(k, 2500);
        serve_all(k);
        p += n + 1;
    }
    kit_call(k, CHELA_FN_STOP, &stop);
    end_all(k, CHELA_FN_WS_CONNECT);
    end_all(k, CHELA_FN_HTTP);
    end_all(k, CHELA_FN_KV_PUT);
    end_all(k, CHELA_FN_SUBMIT);
    end_all(k, CHELA_FN_INVOKE);
    must(kit_close(k) == 0);
    return 0;
}
