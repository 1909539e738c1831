/*
 * What a provider plugin costs for each piece of an answer: the modules as they are built, fed with
 * pieces of text and of a call's arguments, beside a copy of the same bytes and beside reading them
 * as JSON alone, all in one run. Nothing of the gateway but an empty host takes part.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <chela/chela.h>

#include "support/json.h"

enum { PIECES = 200000, ROUNDS = 5 };

struct form {
    const char *module, *text, *first, *arguments, *prompt;
};

static const struct form forms[] = {
    {"provider_anthropic",
     "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":"
     "\" and then\"}}",
     "{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\","
     "\"id\":"
     "\"toolu_1\",\"name\":\"get_weather\",\"input\":{}}}",
     "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\","
     "\"partial_json\":\"city\\\"\"}}",
     NULL},
    {"provider_openai",
     "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1796066465,\"model\":"
     "\"gpt-5\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" and then\"},\"finish_reason\":"
     "null}]}",
     "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\","
     "\"type\":"
     "\"function\",\"function\":{\"name\":\"get_weather\",\"arguments\":\"\"}}]}}]}",
     "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1796066465,\"model\":"
     "\"gpt-5\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{"
     "\"arguments\":\"city\\\"\"}}]},\"finish_reason\":null}]}",
     NULL},
    {"provider_openai_responses",
     "{\"type\":\"response.output_text.delta\",\"content_index\":0,\"delta\":\" and then\","
     "\"item_id\":\"msg_1\",\"logprobs\":[],\"output_index\":0,\"sequence_number\":8}",
     "{\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":"
     "\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_1\",\"name\":\"get_weather\","
     "\"arguments\":\"\"}}",
     "{\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc_1\",\"output_index\":1,"
     "\"delta\":\"city\\\"\",\"sequence_number\":9}",
     NULL},
    {"provider_google",
     "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\" and then\"}],\"role\":\"model\"},"
     "\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":23,"
     "\"totalTokenCount\":32},\"modelVersion\":\"gemini-2.5-pro\",\"responseId\":\"r\"}",
     NULL,
     "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"get_weather\","
     "\"args\":{\"city\":\"Bern\"}}}],\"role\":\"model\"},\"index\":0}]}",
     NULL},
    {"provider_mistral",
     "{\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":1769088720,\"model\":"
     "\"mistral-small-latest\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" and then\"},"
     "\"finish_reason\":null,\"logprobs\":null}]}",
     NULL,
     "{\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":1769088720,\"model\":"
     "\"mistral-small-latest\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"id\":"
     "\"abcdefghi\",\"index\":0,\"function\":{\"name\":\"get_weather\",\"arguments\":"
     "\"{\\\"city\\\":\\\"Bern\\\"}\"}}]},\"finish_reason\":null}]}",
     NULL},
    {"provider_ollama",
     "{\"model\":\"llama3.2\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":"
     "\"assistant\",\"content\":\" and then\"},\"done\":false}",
     NULL,
     "{\"model\":\"llama3.2\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":"
     "\"assistant\",\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"get_weather\","
     "\"arguments\":{\"city\":\"Bern\"}}}]},\"done\":false}",
     NULL},
    {"provider_llama_cpp",
     "{\"index\":0,\"content\":\" and then\",\"tokens\":[126],\"stop\":false,\"id_slot\":-1,"
     "\"tokens_predicted\":1,\"tokens_evaluated\":7}",
     NULL,
     "{\"index\":0,\"content\":\"<tool_call>{\\\"name\\\": \\\"get_weather\\\", \\\"arguments"
     "\\\": {\\\"city\\\": \\\"Bern\\\"}}</tool_call>\",\"tokens\":[126],\"stop\":false,"
     "\"id_slot\":-1,\"tokens_predicted\":1,\"tokens_evaluated\":7}",
     "{\"prompt\":\"hello\"}"},
};

/* ---- an empty host ---- */

static uint64_t last_call, sent_call, sent_tag, events;

static struct chela_str option(struct chela_inst *in, const char *path)
{
    (void)in;
    return chela_s(strcmp(path, "base_url") == 0 ? "http://127.0.0.1" : "");
}

static int64_t number(struct chela_inst *in, const char *path)
{
    (void)in;
    (void)path;
    return 0;
}

static uint64_t new_call(struct chela_inst *in)
{
    (void)in;
    return ++last_call;
}

static uint64_t ticks(struct chela_inst *in)
{
    (void)in;
    return 1;
}

static void http(struct chela_inst *in, const struct chela_http *a)
{
    (void)in;
    sent_call = a->h.call;
    sent_tag = a->h.tag;
}

#define TAKES(name, type)                                                                          \
    static void name(struct chela_inst *in, const struct type *a)                                  \
    {                                                                                              \
        (void)in;                                                                                  \
        (void)a;                                                                                   \
        events++;                                                                                  \
    }
TAKES(take_done, chela_done)
TAKES(take_text, chela_text)
TAKES(take_thinking, chela_thinking)
TAKES(take_call, chela_tool_call)
TAKES(take_usage, chela_usage)
TAKES(take_publish, chela_publish)

static const struct chela_local local = {.size = sizeof(struct chela_local),
                                         .option = option,
                                         .number = number,
                                         .new_call = new_call,
                                         .now_ms = ticks,
                                         .ticks_ms = ticks};
static const struct chela_answer answer = {.size = sizeof(struct chela_answer),
                                           .done = take_done,
                                           .text = take_text,
                                           .thinking = take_thinking,
                                           .tool_call = take_call,
                                           .usage = take_usage,
                                           .publish = take_publish};
static const struct chela_net net = {.size = sizeof(struct chela_net), .http = http};
static const struct chela_host host = {
    .size = sizeof(struct chela_host), .local = &local, .answer = &answer, .net = &net};

/* ---- measuring ---- */

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void begin(const struct chela_iface *iface, struct chela_inst *in, const char *prompt)
{
    static const struct chela_pair message = {CHELA_LIT("user"), CHELA_LIT("{}")};
    static const struct chela_pair tool = {CHELA_LIT("get_weather"), CHELA_LIT("{}")};
    CHELA_ARGS(chela_begin, b, ++last_call);
    b.model = chela_s("m");
    b.params = chela_s("{}");
    b.messages.v = &message;
    b.messages.n = 1;
    b.tools.v = &tool;
    b.tools.n = 1;
    iface->provider->begin(in, &b);
    if (!prompt)
        return;
    CHELA_ARGS(chela_done, d, sent_call);
    d.h.tag = sent_tag;
    d.http_status = 200;
    d.text = chela_s(prompt);
    iface->done(in, &d);
}

static void end(const struct chela_iface *iface, struct chela_inst *in)
{
    CHELA_ARGS(chela_done, d, sent_call);
    d.h.tag = sent_tag;
    iface->done(in, &d);
}

static void feed(const struct chela_iface *iface, struct chela_inst *in, const char *data)
{
    CHELA_ARGS(chela_http_event, e, sent_call);
    e.h.tag = sent_tag;
    e.status = 200;
    e.name = chela_s("message");
    e.data = chela_s(data);
    iface->http(in, &e);
}

static double plugin_ns(const struct chela_iface *iface, struct chela_inst *in,
                        const struct form *f, const char *piece, bool calls)
{
    double best = 1e18;
    unsigned count = calls && !f->first ? 100 : PIECES; /* whole calls: as many as may be */
    for (int round = 0; round < (calls && !f->first ? 200 : ROUNDS); round++) {
        begin(iface, in, f->prompt);
        if (calls && f->first)
            feed(iface, in, f->first);
        double start = now_ns();
        for (unsigned i = 0; i < count; i++)
            feed(iface, in, piece);
        double each = (now_ns() - start) / count;
        best = each < best ? each : best;
        end(iface, in);
    }
    return best;
}

static double copy_ns(const char *piece)
{
    static volatile char sink[4096];
    size_t n = strlen(piece);
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (unsigned i = 0; i < PIECES; i++) {
            memcpy((char *)(uintptr_t)sink, piece, n);
            __asm__ volatile("" ::: "memory");
        }
        double each = (now_ns() - start) / PIECES;
        best = each < best ? each : best;
    }
    return best;
}

static double json_ns(const char *piece)
{
    size_t n = strlen(piece);
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (unsigned i = 0; i < PIECES; i++) {
            json_object *o = NULL;
            chela_json_parse(piece, n, NULL, &o, NULL);
            json_object_put(o);
        }
        double each = (now_ns() - start) / PIECES;
        best = each < best ? each : best;
    }
    return best;
}

static void measure(const struct form *f, const struct chela_iface *iface, const char *what,
                    const char *piece, bool calls)
{
    struct chela_inst in = {&host, "bench", NULL};
    if (iface->open)
        iface->open(&in);
    double plugin = plugin_ns(iface, &in, f, piece, calls), json = json_ns(piece),
           copy = copy_ns(piece);
    if (iface->close)
        iface->close(&in);
    printf("%-26s %-10s %4zu bytes %7.0f ns a piece, of it JSON %6.0f ns, a copy %4.1f ns\n",
           f->module, what, strlen(piece), plugin, json, copy);
}

int main(int argc, char **argv)
{
    const char *build = argc > 1 ? argv[1] : getenv("CHELA_TEST_BUILDDIR");
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char path[1024], symbol[128];
        snprintf(path, sizeof path, "%s/plugins/.libs/%s.so", build ? build : ".", forms[i].module);
        snprintf(symbol, sizeof symbol, "%s_LTX_chela_plugin", forms[i].module);
        void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const struct chela_plugin *plugin = module ? dlsym(module, symbol) : NULL;
        if (!plugin) {
            printf("%-26s is not built\n", forms[i].module);
            continue;
        }
        measure(&forms[i], plugin->ifaces[0], "text", forms[i].text, false);
        if (forms[i].arguments)
            measure(&forms[i], plugin->ifaces[0], forms[i].first ? "arguments" : "whole call",
                    forms[i].arguments, true);
    }
}
