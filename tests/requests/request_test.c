/*
 * What a provider plugin sends: the request of one conversation with everything in it stands in
 * tests/requests/golden/, and a history that any provider made goes on at this one.
 *
 * Built once for each provider (local.mk sets PLUGIN, GOLDEN and OWN: whose history is its own;
 * OPTIONS; PREPARES: the answer to a request that asks for the prompt). CHELA_TEST_GOLDEN=write
 * writes the golden files anew, to be read before they are committed. tests/peers/types_test.sh
 * holds them against the vendors' own types.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "support/json.h"
#include "tests/streams/recording.h"

#define JOIN(a, b)         a##b
#define DESCRIPTOR(module) JOIN(module, _LTX_chela_plugin)
extern const struct chela_plugin DESCRIPTOR(PLUGIN);

#ifndef OPTIONS
#define OPTIONS                                                                                    \
    {                                                                                              \
        CHELA_LIT("cache"), CHELA_LIT("true")                                                      \
    }
#endif

/* ---- the conversation ---- */

static const struct chela_pair blobs[] = {
    {CHELA_LIT("hash-of-image"), CHELA_LIT("\x89PNG\r\n")},
    {CHELA_LIT("hash-of-file"), CHELA_LIT("%PDF-1.7")},
};

static const struct chela_pair tools[] = {
    {CHELA_LIT("calendar.add"),
     CHELA_LIT("{\"name\":\"calendar.add\",\"description\":\"Adds an appointment\",\"parameters\":{"
               "\"type\":\"object\",\"properties\":{\"title\":{\"type\":\"string\"},\"at\":{"
               "\"type\":\"string\",\"format\":\"date-time\"},\"minutes\":{\"type\":\"integer\","
               "\"minimum\":1,\"default\":30}},\"required\":[\"title\",\"at\"]}}")},
    {CHELA_LIT("get_weather"),
     CHELA_LIT(
         "{\"name\":\"get_weather\",\"description\":\"Weather of a city\",\"parameters\":{"
         "\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"type\":\"object\","
         "\"properties\":{\"city\":{\"type\":\"string\",\"maxLength\":80},\"unit\":{\"enum\":["
         "\"C\",\"F\"]}},\"required\":[\"city\"]}}")},
    {CHELA_LIT("now"), CHELA_LIT("{\"name\":\"now\",\"description\":\"The time\"}")},
};

struct message {
    const char *role, *text;
};

/* @P the provider that made the answer, @S its signature, @1 and @2 its ids. */
static const struct message conversation[] = {
    {"user", "[{\"type\":\"text\",\"text\":\"Wie ist das Wetter? \\u2600\"},{\"type\":\"image\","
             "\"hash\":\"hash-of-image\",\"mime\":\"image/png\",\"name\":\"sky.png\",\"size\":6},"
             "{\"type\":\"file\",\"hash\":\"hash-of-file\",\"mime\":\"application/pdf\",\"name\":"
             "\"plan.pdf\",\"size\":8}]"},
    {"assistant",
     "[{\"type\":\"thinking\",\"text\":\"I look it up.\",\"signature\":@S,\"provider\":\"@P\"},"
     "{\"type\":\"text\",\"text\":\"I look.\"},{\"type\":\"toolCall\",\"id\":\"@1\",\"name\":"
     "\"get_weather\",\"arguments\":{\"city\":\"Z\\u00fcrich\"}},{\"type\":\"toolCall\",\"id\":"
     "\"@2\",\"name\":\"calendar.add\",\"arguments\":{\"title\":\"walk\",\"at\":\"soon\"}}]"},
    {"tool", "[{\"type\":\"toolResult\",\"callId\":\"@1\",\"name\":\"get_weather\",\"content\":[{"
             "\"type\":\"text\",\"text\":\"sunny\"},{\"type\":\"image\",\"hash\":\"hash-of-image\","
             "\"mime\":\"image/png\"}],\"isError\":false},{\"type\":\"toolResult\",\"callId\":"
             "\"@2\",\"name\":\"calendar.add\",\"content\":[{\"type\":\"text\",\"text\":\"at is no "
             "time\"}],\"isError\":true}]"},
    {"assistant", "[{\"type\":\"text\",\"text\":\"Sunny.\"}]"},
    {"user", "[{\"type\":\"text\",\"text\":\"And tomorrow?\"}]"},
};
enum { MESSAGES = sizeof conversation / sizeof conversation[0] };

/* What the providers' own histories look like. */
static const struct maker {
    const char *name, *signature, *first, *second;
} makers[] = {
    {"anthropic", "\"c2lnbmVkLWJ5LWFudGhyb3BpYw==\"", "toolu_01AbCdEfGhIjKlMnOpQrStUv",
     "toolu_02AbCdEfGhIjKlMnOpQrStUv"},
    {"openai", "\"\"", "call_AbCdEfGhIjKlMnOpQrStUvWx", "call_BbCdEfGhIjKlMnOpQrStUvWx"},
    {"openai-responses",
     "\"{\\\"type\\\":\\\"reasoning\\\",\\\"id\\\":\\\"rs_1\\\",\\\"summary\\\":[{\\\"type\\\":"
     "\\\"summary_text\\\",\\\"text\\\":\\\"I look it up.\\\"}],\\\"encrypted_content\\\":"
     "\\\"c2lnbmVkLWJ5LXJlc3BvbnNlcw\\\"}\"",
     "call_RbCdEfGhIjKlMnOpQrStUvWx", "call_SbCdEfGhIjKlMnOpQrStUvWx"},
    {"google", "\"c0 c2lnbmVkLWJ5LWdvb2dsZQ==\"", "call_0123456789abcdef", "call_fedcba9876543210"},
    {"mistral", "\"\"", "D681PevKs", "gSIMJiOkT"},
    {"ollama", "\"\"", "call_00112233445566aa", "call_00112233445566bb"},
    {"llama.cpp", "\"\"", "tool.call:1/2",
     "a call whose id is longer than any service would take, "
     "with blanks in it"},
};
enum { MAKERS = sizeof makers / sizeof makers[0] };

static char *body_of(const struct message *m, const struct maker *by)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    fprintf(out, "{\"role\":\"%s\",\"content\":", m->role);
    for (const char *p = m->text; *p; p++) {
        if (*p != '@') {
            fputc(*p, out);
            continue;
        }
        p++;
        fputs(*p == 'P'   ? by->name
              : *p == 'S' ? by->signature
              : *p == '1' ? by->first
                          : by->second,
              out);
    }
    fputc('}', out);
    fclose(out);
    return text;
}

/* ---- one request ---- */

static char *render(struct kit *k, const struct message *m, const struct maker *by)
{
    char *body = body_of(m, by);
    CHELA_ARGS(chela_render, r, 0);
    r.model = chela_s("model-1");
    r.role = chela_s(m->role);
    r.message = chela_s(body);
    r.blobs.v = blobs;
    r.blobs.n = 2;
    kit_call(k, CHELA_FN_PROVIDER_RENDER, &r);
    char *text = strndup(kit_done(k)->text.s, (size_t)kit_done(k)->text.n);
    kit_clear(k);
    free(body);
    return text;
}

/* The request that a conversation made by `by` gives, at the instance `name`; the caller puts. */
static json_object *request(const char *name, const struct maker *by, unsigned count,
                            const char *params)
{
    static const struct chela_pair options[] = {OPTIONS};
    struct kit_setup setup = {.plugin = &DESCRIPTOR(PLUGIN),
                              .name = name,
                              .options = options,
                              .option_count = sizeof options / sizeof options[0],
                              .encoded = true};
    struct kit *k = kit_open(&setup);
    struct chela_pair messages[MESSAGES];
    assert_non_null(k);
    for (unsigned i = 0; i < count; i++)
        messages[i] = (struct chela_pair){chela_s(conversation[i].role),
                                          chela_s(render(k, &conversation[i], by))};
    CHELA_ARGS(chela_begin, b, 0);
    b.model = chela_s("model-1");
    b.system = chela_s("You are helpful.");
    b.params = chela_s(params);
    b.messages.v = messages;
    b.messages.n = count;
    b.tools.v = tools;
    b.tools.n = sizeof tools / sizeof tools[0];
    kit_call(k, CHELA_FN_PROVIDER_BEGIN, &b);
    const struct chela_http *sent = kit_request(k, CHELA_FN_HTTP);
    assert_non_null(sent);
    json_object *o = NULL;
    struct chela_json_error why = {0};
    if (chela_json_parse(sent->body.s, (size_t)sent->body.n, NULL, &o, &why) != 0)
        fail_msg("%s: %s", name, why.text);
    kit_answer_error(k, sent->h.call, CHELA_E_NETWORK, 0, "enough");
    for (unsigned i = 0; i < count; i++)
        free((char *)(uintptr_t)messages[i].value.s);
    assert_int_equal(kit_close(k), 0);
    return o;
}

static const struct maker *maker_of(const char *name)
{
    for (unsigned i = 0; i < MAKERS; i++)
        if (strcmp(makers[i].name, name) == 0)
            return &makers[i];
    return NULL;
}

/* ---- golden ---- */

static void compare(json_object *o, const char *what)
{
    char path[1024];
    const char *top = getenv("CHELA_TEST_SRCDIR"), *write = getenv("CHELA_TEST_GOLDEN"),
               *got = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
                                                            JSON_C_TO_STRING_NOSLASHESCAPE);
    snprintf(path, sizeof path, "%s/tests/requests/golden/%s%s.json", top ? top : ".", GOLDEN,
             what);
    if (write && strcmp(write, "write") == 0) {
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        fprintf(f, "%s\n", got);
        fclose(f);
    }
    size_t length;
    char *wanted = recording_read(path, &length);
    if (!wanted)
        fail_msg("%s is missing", path);
    wanted[strlen(wanted) - 1] = '\0'; /* the last newline */
    assert_string_equal(got, wanted);
    free(wanted);
}

static void the_request_of_a_conversation_is_the_one_that_was_read_and_kept(void **state)
{
    (void)state;
    json_object *o = request(OWN, maker_of(OWN), MESSAGES,
                             "{\"max_tokens\":1000,\"temperature\":0.5,\"tool_choice\":\"auto\","
                             "\"session\":\"agent:main:one\"}");
    compare(o, "");
    json_object_put(o);
}

static void thinking_and_results_go_back_in_the_middle_of_a_turn(void **state)
{
    (void)state;
    json_object *o =
        request(OWN, maker_of(OWN), 3, "{\"thinking\":\"medium\",\"tool_choice\":\"auto\"}");
    compare(o, "-thinking");
    json_object_put(o);
}

static void the_same_conversation_gives_the_same_bytes(void **state)
{
    (void)state;
    json_object *one = request(OWN, maker_of(OWN), MESSAGES, "{}"),
                *other = request(OWN, maker_of(OWN), MESSAGES, "{}");
    assert_string_equal(chela_json_text(one, NULL), chela_json_text(other, NULL));
    json_object_put(one);
    json_object_put(other);
}

/* ---- the matrix ---- */

struct pairs {
    char calls[8][80], results[8][80];
    unsigned call_count, result_count;
};

static void note(char list[8][80], unsigned *count, const char *id)
{
    if (id && *count < 8)
        snprintf(list[(*count)++], 80, "%s", id);
}

/* Calls and results in all wire forms: by id, or by name where ids don't go over the wire. */
static void collect(json_object *o, struct pairs *p)
{
    const char *type = chela_json_string(o, "type", NULL);
    if (json_object_is_type(o, json_type_array))
        for (size_t i = 0; i < chela_json_length(o); i++)
            collect(chela_json_at(o, i), p);
    if (!json_object_is_type(o, json_type_object))
        return;
    json_object *call = chela_json_object(o, "functionCall"),
                *result = chela_json_object(o, "functionResponse"),
                *function = chela_json_object(o, "function");
    if (call)
        note(p->calls, &p->call_count, chela_json_string(call, "name", NULL));
    if (result)
        note(p->results, &p->result_count, chela_json_string(result, "name", NULL));
    if (type && strcmp(type, "tool_use") == 0)
        note(p->calls, &p->call_count, chela_json_string(o, "id", NULL));
    if (type && strcmp(type, "function_call") == 0)
        note(p->calls, &p->call_count, chela_json_string(o, "call_id", NULL));
    if (function && chela_json_has(function, "arguments"))
        note(p->calls, &p->call_count,
             chela_json_has(o, "id") ? chela_json_string(o, "id", NULL)
                                     : chela_json_string(function, "name", NULL));
    note(p->results, &p->result_count, chela_json_string(o, "tool_use_id", NULL));
    note(p->results, &p->result_count, chela_json_string(o, "tool_call_id", NULL));
    note(p->results, &p->result_count, chela_json_string(o, "tool_name", NULL));
    if (type && strcmp(type, "function_call_output") == 0)
        note(p->results, &p->result_count, chela_json_string(o, "call_id", NULL));
    json_object_object_foreach(o, key, value)
    {
        if (strcmp(key, "tools") != 0)
            collect(value, p);
    }
}

/* The part of a signature that must not reach anybody else. */
static const char *secret_of(const struct maker *by)
{
    const char *at = strstr(by->signature, "c2lnbmVk");
    return at ? "c2lnbmVk" : NULL;
}

static void one_pair(const struct maker *by)
{
    json_object *o = request(OWN, by, MESSAGES, "{}");
    const char *text = chela_json_text(o, NULL), *secret = secret_of(by);
    struct pairs p = {0};
    collect(o, &p);
    assert_int_equal(p.call_count, 2);
    assert_int_equal(p.result_count, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_string_equal(p.calls[i], p.results[i]);
        for (const char *c = p.calls[i]; *c; c++)
            if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-')
                fail_msg("%s -> %s: id \"%s\"", by->name, OWN, p.calls[i]);
        assert_true(strlen(p.calls[i]) <= 64);
    }
    assert_string_not_equal(p.calls[0], p.calls[1]);
    if (secret && strcmp(by->name, OWN) != 0)
        assert_null(strstr(text, secret));
    if (secret && strcmp(by->name, OWN) == 0)
        assert_non_null(strstr(text, secret));
    assert_non_null(strstr(text, "Sunny."));
    assert_non_null(strstr(text, "And tomorrow?"));
    assert_non_null(strstr(text, "Wie ist das Wetter?"));
    printf("# %-18s -> %-18s pairs kept, ids \"%.20s\", %s\n", by->name, OWN, p.calls[0],
           !secret                      ? "nothing signed"
           : strcmp(by->name, OWN) == 0 ? "signature sent back"
                                        : "signature dropped");
    json_object_put(o);
}

static void a_history_of_any_provider_goes_on_here(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MAKERS; i++)
        one_pair(&makers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_request_of_a_conversation_is_the_one_that_was_read_and_kept),
        cmocka_unit_test(thinking_and_results_go_back_in_the_middle_of_a_turn),
        cmocka_unit_test(the_same_conversation_gives_the_same_bytes),
        cmocka_unit_test(a_history_of_any_provider_goes_on_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
