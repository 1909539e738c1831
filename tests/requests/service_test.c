/*
 * What a provider asks of its service beside answers: which models there are, with their windows
 * and abilities, and embeddings. Built once for each provider (local.mk sets PLUGIN and SERVICE).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "kit.h"

#define JOIN(a, b)         a##b
#define DESCRIPTOR(module) JOIN(module, _LTX_chela_plugin)
extern const struct chela_plugin DESCRIPTOR(PLUGIN);

/* One question of the plugin, and the answer of the service. */
struct exchange {
    const char *method, *url, *answer;
};

struct service {
    const char *name;
    const char *options[4]; /* name, value ... */
    struct exchange list[3];
    const char *models[4]; /* published, as pieces of NAME=JSON */
    const char *embed_url, *embed_body, *embed_answer;
};

#define OPENAI_VECTORS                                                                             \
    "{\"object\":\"list\",\"data\":[{\"index\":0,\"embedding\":[0.5,-1]},"                         \
    "{\"index\":1,\"embedding\":[0.25,2]}]}"
#define INPUT "{\"model\":\"small\",\"input\":[\"one\",\"zw\\u00f6lf\"]}"

static const struct service services[] = {
    {"anthropic",
     {"base_url", "http://h", "list_models", "1"},
     {{"GET", "http://h/v1/models?limit=1000",
       "{\"data\":[{\"type\":\"model\",\"id\":\"claude-opus-4-1-20250805\"},{\"type\":\"model\","
       "\"id\":\"claude-new\"}],\"has_more\":false}"}},
     {"claude-opus-4-1-20250805", "\"context\":200000", "\"price_cache_read\":1.5", "claude-new"},
     NULL,
     NULL,
     NULL},
    {"openai",
     {"base_url", "http://h/v1", "list_models", "1"},
     {{"GET", "http://h/v1/models",
       "{\"object\":\"list\",\"data\":[{\"id\":\"a/b\",\"object\":\"model\",\"max_model_len\":"
       "4096},{\"id\":\"c\",\"meta\":{\"n_ctx_train\":8192}}]}"}},
     {"a/b", "\"context\":4096", "\"context\":8192", "\"tools\":true"},
     "http://h/v1/embeddings",
     INPUT,
     OPENAI_VECTORS},
    {"deepseek",
     {"preset", "deepseek", "base_url", "http://h"},
     {{NULL, NULL, NULL}},
     {"deepseek-v4-flash", "\"context\":1000000", "\"price_cache_read\":0.0028", "deepseek-v4-pro"},
     "http://h/embeddings",
     INPUT,
     OPENAI_VECTORS},
    {"openai-responses",
     {"base_url", "http://h/v1", NULL, NULL},
     {{NULL, NULL, NULL}},
     {"gpt-5", "\"context\":400000", "\"price_cache_read\":0.125", "gpt-5-codex"},
     "http://h/v1/embeddings",
     INPUT,
     OPENAI_VECTORS},
    {"google",
     {"base_url", "http://h/v1beta", "list_models", "1"},
     {{"GET", "http://h/v1beta/models?pageSize=1000",
       "{\"models\":[{\"name\":\"models/gemini-2.5-pro\",\"inputTokenLimit\":1048576,"
       "\"outputTokenLimit\":65536,\"thinking\":true,\"supportedGenerationMethods\":["
       "\"generateContent\"]},{\"name\":\"models/embedding-001\","
       "\"supportedGenerationMethods\":[\"embedContent\"]},{\"name\":\"models/gemini-x\","
       "\"inputTokenLimit\":1000,\"supportedGenerationMethods\":[\"generateContent\"]}]}"}},
     {"gemini-2.5-pro", "\"context\":1048576", "\"price_in\":1.25", "\"context\":1000"},
     "http://h/v1beta/models/small:batchEmbedContents",
     "{\"requests\":[{\"model\":\"models/small\",\"content\":{\"parts\":[{\"text\":\"one\"}]}},"
     "{\"model\":\"models/small\",\"content\":{\"parts\":[{\"text\":\"zw\\u00f6lf\"}]}}]}",
     "{\"embeddings\":[{\"values\":[0.5,-1]},{\"values\":[0.25,2]}]}"},
    {"mistral",
     {"base_url", "http://h/v1", "list_models", "1"},
     {{"GET", "http://h/v1/models",
       "{\"data\":[{\"id\":\"mistral-small-latest\",\"max_context_length\":131072,"
       "\"capabilities\":{\"completion_chat\":true,\"function_calling\":true,\"vision\":true}},"
       "{\"id\":\"mistral-embed\",\"capabilities\":{\"completion_chat\":false}},{\"id\":"
       "\"plain\",\"max_context_length\":777,\"capabilities\":{\"completion_chat\":true,"
       "\"function_calling\":false,\"vision\":false}}]}"}},
     {"mistral-small-latest", "\"images\":true", "\"tools\":false", "\"context\":777"},
     "http://h/v1/embeddings",
     INPUT,
     OPENAI_VECTORS},
    {"ollama",
     {"base_url", "http://h", NULL, NULL},
     {{"GET", "http://h/api/tags", "{\"models\":[{\"name\":\"qwen2.5:0.5b\",\"size\":1}]}"},
      {"POST", "http://h/api/show",
       "{\"capabilities\":[\"completion\",\"tools\"],\"model_info\":{\"general.architecture\":"
       "\"qwen2\",\"qwen2.context_length\":32768}}"}},
     {"qwen2.5:0.5b", "\"tools\":true", "\"images\":false", "\"context\":32768"},
     "http://h/api/embed",
     INPUT,
     "{\"model\":\"small\",\"embeddings\":[[0.5,-1],[0.25,2]]}"},
    {"llama.cpp",
     {"base_url", "http://h", NULL, NULL},
     {{"GET", "http://h/props",
       "{\"default_generation_settings\":{\"n_ctx\":8192},\"total_slots\":2,\"model_path\":"
       "\"/m/tiny.gguf\",\"chat_template\":\"{{ tools }}\",\"modalities\":{\"vision\":true}}"}},
     {"tiny.gguf", "\"context\":8192", "\"images\":true", "\"tools\":true"},
     "http://h/v1/embeddings",
     INPUT,
     OPENAI_VECTORS},
};

static const struct service *service;
static struct kit *k;

static int set_up(void **state)
{
    static struct chela_pair options[2]; /* the kit reads them as long as it is open */
    size_t n = 0;
    for (size_t i = 0; i < sizeof services / sizeof services[0]; i++)
        if (strcmp(services[i].name, SERVICE) == 0)
            service = &services[i];
    assert_non_null(service);
    for (; n < 2 && service->options[2 * n]; n++)
        options[n] = (struct chela_pair){chela_s(service->options[2 * n]),
                                         chela_s(service->options[2 * n + 1])};
    struct kit_setup s = {.plugin = &DESCRIPTOR(PLUGIN),
                          .name = "svc",
                          .options = options,
                          .option_count = n,
                          .encoded = *state != NULL};
    k = kit_open(&s);
    return k ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return kit_close(k) == 0 ? 0 : -1;
}

static const char *published(void)
{
    static char text[16384];
    const struct chela_publish *p = kit_published(k, CHELA_MODELS);
    size_t n = 0;
    text[0] = '\0';
    for (uint64_t i = 0; p && i < p->items.n && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s=%.*s\n", p->items.v[i].name.s,
                              (int)p->items.v[i].value.n, p->items.v[i].value.s);
    return text;
}

static void answer_lists(void)
{
    for (size_t i = 0; i < 3 && service->list[i].url; i++) {
        const struct chela_http *a = kit_request(k, CHELA_FN_HTTP);
        assert_non_null(a);
        assert_true(chela_str_is(a->method, service->list[i].method));
        assert_true(chela_str_is(a->url, service->list[i].url));
        kit_answer_ok(k, a->h.call, service->list[i].answer, strlen(service->list[i].answer));
    }
}

static void its_models_are_published_with_windows_and_abilities(void **state)
{
    (void)state;
    kit_start(k);
    answer_lists();
    assert_null(kit_request(k, CHELA_FN_HTTP));
    for (size_t i = 0; i < 4; i++) {
        if (!strstr(published(), service->models[i]))
            print_message("# %s is not in %s\n", service->models[i], published());
        assert_non_null(strstr(published(), service->models[i]));
    }
    assert_null(strstr(published(), "embed"));
}

static void a_service_that_does_not_say_leaves_what_is_known(void **state)
{
    (void)state;
    kit_start(k);
    const struct chela_http *a = kit_request(k, CHELA_FN_HTTP);
    if (!a)
        skip();
    char before[16384];
    snprintf(before, sizeof before, "%s", published());
    kit_answer_error(k, a->h.call, CHELA_E_NETWORK, 0, "refused");
    assert_string_equal(published(), before);
    assert_int_equal(kit_open_requests(k), 0);
}

static void embed(void)
{
    static const struct chela_pair texts[] = {{CHELA_LIT("0"), CHELA_LIT("one")},
                                              {CHELA_LIT("1"), CHELA_LIT("zw\xc3\xb6lf")}};
    CHELA_ARGS(chela_embed, e, 0);
    e.model = chela_s("small");
    e.texts.v = texts;
    e.texts.n = 2;
    kit_start(k);
    answer_lists();
    kit_clear(k);
    kit_call(k, CHELA_FN_PROVIDER_EMBED, &e);
}

/* The text with its one non-ASCII letter escaped, since either form may be written. */
static bool is_body(struct chela_str body, const char *wanted)
{
    char text[1024];
    size_t n = 0;
    for (uint64_t i = 0; i < body.n && n + 8 < sizeof text; i++) {
        if (body.s[i] == '\xc3' && body.s[i + 1] == '\xb6') {
            memcpy(text + n, "\\u00f6", 6);
            n += 6;
            i++;
        } else {
            text[n++] = body.s[i];
        }
    }
    text[n] = '\0';
    if (strcmp(text, wanted) != 0)
        print_message("# body: %s\n", text);
    return strcmp(text, wanted) == 0;
}

static void embeddings_come_in_the_texts_order(void **state)
{
    (void)state;
    if (!service->embed_url)
        skip(); /* the service has none */
    embed();
    const struct chela_http *a = kit_request(k, CHELA_FN_HTTP);
    assert_non_null(a);
    assert_true(chela_str_is(a->url, service->embed_url));
    assert_true(is_body(a->body, service->embed_body));
    kit_answer_ok(k, a->h.call, service->embed_answer, strlen(service->embed_answer));
    assert_int_equal(kit_done(k)->error, CHELA_OK);
    assert_true(chela_str_is(kit_done(k)->text, "[[0.5,-1],[0.25,2]]"));
}

static void an_answer_without_embeddings_is_an_error(void **state)
{
    static const char *const wrong[] = {"{}", "not JSON", "{\"data\":{},\"embeddings\":3}"};
    (void)state;
    if (!service->embed_url)
        skip();
    for (size_t i = 0; i < 3; i++) {
        embed();
        const struct chela_http *a = kit_request(k, CHELA_FN_HTTP);
        kit_answer_ok(k, a->h.call, wrong[i], strlen(wrong[i]));
        assert_int_equal(kit_done(k)->error, CHELA_E_PROTOCOL);
    }
    embed();
    const struct chela_http *a = kit_request(k, CHELA_FN_HTTP);
    kit_answer_error(k, a->h.call, CHELA_E_AUTH, 401, "{\"error\":{\"message\":\"bad key\"}}");
    assert_int_equal(kit_done(k)->error, CHELA_E_AUTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KIT_TWICE(its_models_are_published_with_windows_and_abilities, set_up, tear_down),
        KIT_TWICE(a_service_that_does_not_say_leaves_what_is_known, set_up, tear_down),
        KIT_TWICE(embeddings_come_in_the_texts_order, set_up, tear_down),
        KIT_TWICE(an_answer_without_embeddings_is_an_error, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
