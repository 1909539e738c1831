/*
 * A login instead of a key: a token that has run out is renewed before the call goes out, one that
 * is refused once; tools have the login's names on the wire and their own in what the host hears.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "support/json.h"

extern const struct chela_plugin provider_anthropic_LTX_chela_plugin;

static const struct chela_pair login[] = {
    {CHELA_LIT("auth"), CHELA_LIT("oauth")},
    {CHELA_LIT("access_token"), CHELA_LIT("first")},
    {CHELA_LIT("refresh_token"), CHELA_LIT("refresh-1")},
    {CHELA_LIT("client_id"), CHELA_LIT("client")},
};
static const struct chela_pair key[] = {{CHELA_LIT("api_key"), CHELA_LIT("sk-1")}};

static struct kit *open_with(const struct chela_pair *options, size_t count)
{
    struct kit_setup setup = {
        .plugin = &provider_anthropic_LTX_chela_plugin, .options = options, .option_count = count};
    struct kit *k = kit_open(&setup);
    assert_non_null(k);
    kit_start(k);
    return k;
}

/* What an earlier run has kept. */
static void answer_kept(struct kit *k, const char *text)
{
    const struct chela_key *get = kit_request(k, CHELA_FN_KV_GET);
    assert_non_null(get);
    if (text)
        kit_answer_ok(k, get->h.call, text, strlen(text));
    else
        kit_answer_error(k, get->h.call, CHELA_E_NOT_FOUND, 0, "nothing");
}

static uint64_t begin(struct kit *k)
{
    static const struct chela_pair message = {CHELA_LIT("user"),
                                              CHELA_LIT("{\"type\":\"text\",\"text\":\"hello\"}")};
    static const struct chela_pair tool = {
        CHELA_LIT("read"), CHELA_LIT("{\"name\":\"read\",\"description\":\"reads\"}")};
    CHELA_ARGS(chela_begin, b, 0);
    b.model = chela_s("m");
    b.params = chela_s("{}");
    b.messages.v = &message;
    b.messages.n = 1;
    b.tools.v = &tool;
    b.tools.n = 1;
    return kit_call(k, CHELA_FN_PROVIDER_BEGIN, &b);
}

static const char *header(const struct chela_http *request, const char *name)
{
    for (uint64_t i = 0; i < request->headers.n; i++)
        if (chela_str_is(request->headers.v[i].name, name))
            return request->headers.v[i].value.s;
    return NULL;
}

static const struct chela_http *model_request(struct kit *k)
{
    const struct chela_http *request = kit_request(k, CHELA_FN_HTTP);
    assert_non_null(request);
    assert_non_null(strstr(request->url.s, "/v1/messages"));
    return request;
}

static void renew(struct kit *k, const char *access)
{
    char text[200];
    const struct chela_http *request = kit_request(k, CHELA_FN_HTTP);
    assert_non_null(request);
    assert_non_null(strstr(request->url.s, "/oauth/token"));
    assert_non_null(strstr(request->body.s, "\"grant_type\":\"refresh_token\""));
    snprintf(text, sizeof text,
             "{\"access_token\":\"%s\",\"refresh_token\":\"refresh-2\",\"expires_in\":3600}",
             access);
    kit_answer_ok(k, request->h.call, text, strlen(text));
    const struct chela_key *put = kit_request(k, CHELA_FN_KV_PUT);
    assert_non_null(put);
    assert_non_null(strstr(put->value.s, "refresh-2"));
    kit_answer_ok(k, put->h.call, "", 0);
}

static void say_hello(struct kit *k)
{
    static const char *const events[] = {
        "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\","
        "\"id\":\"t1\",\"name\":\"Read\",\"input\":{}}}",
        "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\","
        "\"partial_json\":\"{}\"}}",
        "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}",
        "{\"type\":\"message_stop\"}"};
    uint64_t call = model_request(k)->h.call;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        kit_http_event(k, call, "", events[i], strlen(events[i]));
    kit_answer_ok(k, call, "", 0);
}

static void a_login_sends_a_bearer_token_and_names_of_its_own(void **state)
{
    struct kit *k = open_with(login, 4);
    const char *name = NULL;
    (void)state;
    answer_kept(k, NULL);
    begin(k);
    assert_string_equal(header(model_request(k), "authorization"), "Bearer first");
    assert_null(header(model_request(k), "x-api-key"));
    assert_non_null(strstr(header(model_request(k), "anthropic-beta"), "oauth"));
    assert_non_null(strstr(model_request(k)->body.s, "\"name\":\"Read\""));
    say_hello(k);
    kit_tool_call(k, 0, &name, NULL);
    assert_string_equal(name, "read");
    assert_int_equal(kit_done(k)->error, CHELA_OK);
    assert_int_equal(kit_close(k), 0);
}

static void a_plain_key_renames_nothing(void **state)
{
    struct kit *k = open_with(key, 1);
    (void)state;
    begin(k);
    assert_string_equal(header(model_request(k), "x-api-key"), "sk-1");
    assert_null(header(model_request(k), "authorization"));
    assert_non_null(strstr(model_request(k)->body.s, "\"name\":\"read\""));
    kit_answer_error(k, model_request(k)->h.call, CHELA_E_NETWORK, 0, "enough");
    assert_int_equal(kit_close(k), 0);
}

static void a_token_that_has_run_out_is_renewed_before_the_call(void **state)
{
    struct kit *k = open_with(login, 4);
    (void)state;
    answer_kept(k, "{\"access_token\":\"old\",\"refresh_token\":\"refresh-1\",\"expires\":1}");
    begin(k);
    renew(k, "second");
    assert_string_equal(header(model_request(k), "authorization"), "Bearer second");
    say_hello(k);
    assert_int_equal(kit_done(k)->error, CHELA_OK);
    assert_int_equal(kit_close(k), 0);
}

static void a_token_that_is_refused_is_renewed_once(void **state)
{
    struct kit *k = open_with(login, 4);
    (void)state;
    answer_kept(k, NULL);
    begin(k);
    kit_answer_error(k, model_request(k)->h.call, CHELA_E_AUTH, 401, "{}");
    renew(k, "second");
    assert_string_equal(header(model_request(k), "authorization"), "Bearer second");
    kit_answer_error(k, model_request(k)->h.call, CHELA_E_AUTH, 401, "{}");
    assert_int_equal(kit_done(k)->error, CHELA_E_AUTH);
    assert_int_equal(kit_open_requests(k), 0);
    assert_int_equal(kit_close(k), 0);
}

static void a_login_that_can_not_be_renewed_says_so(void **state)
{
    struct kit *k = open_with(login, 4);
    (void)state;
    answer_kept(k, "{\"access_token\":\"old\",\"refresh_token\":\"refresh-1\",\"expires\":1}");
    begin(k);
    const struct chela_http *request = kit_request(k, CHELA_FN_HTTP);
    kit_answer_error(k, request->h.call, CHELA_E_ARGS, 400, "{\"error\":\"invalid_grant\"}");
    assert_int_equal(kit_done(k)->error, CHELA_E_AUTH);
    assert_non_null(strstr(kit_done(k)->text.s, "log in anew"));
    assert_int_equal(kit_close(k), 0);
}

static void a_call_that_waits_for_a_token_can_be_cancelled(void **state)
{
    struct kit *k = open_with(login, 4);
    (void)state;
    answer_kept(k, "{\"access_token\":\"old\",\"refresh_token\":\"refresh-1\",\"expires\":1}");
    kit_cancel(k, begin(k));
    assert_int_equal(kit_done(k)->error, CHELA_E_CANCELLED);
    renew(k, "second");
    assert_int_equal(kit_open_requests(k), 0);
    assert_int_equal(kit_close(k), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_login_sends_a_bearer_token_and_names_of_its_own),
        cmocka_unit_test(a_plain_key_renames_nothing),
        cmocka_unit_test(a_token_that_has_run_out_is_renewed_before_the_call),
        cmocka_unit_test(a_token_that_is_refused_is_renewed_once),
        cmocka_unit_test(a_login_that_can_not_be_renewed_says_so),
        cmocka_unit_test(a_call_that_waits_for_a_token_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
