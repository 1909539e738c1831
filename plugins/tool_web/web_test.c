/* web_fetch and web_search against the host of the test kit: permissions, redirects, results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <chela/chela.h>

#include "testkit/kit.h"

extern const struct chela_plugin tool_web_LTX_chela_plugin;

static const struct chela_pair options[] = {
    {CHELA_LIT("allow"), CHELA_LIT("1")},
    {CHELA_LIT("allow.0"), CHELA_LIT("*.example.org")},
    {CHELA_LIT("max_bytes"), CHELA_LIT("1000000")},
    {CHELA_LIT("max_chars"), CHELA_LIT("1000")},
    {CHELA_LIT("timeout"), CHELA_LIT("1000")},
    {CHELA_LIT("search.backend"), CHELA_LIT("json")},
    {CHELA_LIT("search.url"), CHELA_LIT("https://search.test/find?lang=en")},
    {CHELA_LIT("search.query"), CHELA_LIT("q")},
    {CHELA_LIT("search.key"), CHELA_LIT("${secret:search.key}")},
    {CHELA_LIT("search.key_header"), CHELA_LIT("X-Key")},
    {CHELA_LIT("search.results"), CHELA_LIT("/data/items")},
    {CHELA_LIT("search.title"), CHELA_LIT("name")},
    {CHELA_LIT("search.link"), CHELA_LIT("href")},
    {CHELA_LIT("search.snippet"), CHELA_LIT("text")},
};

static struct kit *k;

static int set_up(void **state)
{
    k = kit_open(&(struct kit_setup){.plugin = &tool_web_LTX_chela_plugin,
                                     .options = options,
                                     .option_count = sizeof options / sizeof options[0],
                                     .encoded = *state != NULL});
    assert_non_null(k);
    kit_start(k);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(kit_close(k), 0);
    return 0;
}

static void call(uint32_t fn, const char *name, const char *arguments)
{
    CHELA_ARGS(chela_tool_run, r, 0);
    r.name = chela_s(name);
    r.arguments = chela_s(arguments);
    r.workspace = chela_s("/w");
    kit_clear(k);
    kit_call(k, fn, &r);
}

static const struct chela_http *request(void)
{
    const struct chela_http *q = kit_request(k, CHELA_FN_HTTP);
    assert_non_null(q);
    return q;
}

static void answer(uint32_t status, const char *name, const char *value, const char *body)
{
    struct chela_pair header = {chela_s(name), chela_s(value)};
    CHELA_ARGS(chela_done, d, 0);
    d.http_status = status;
    d.text = chela_s(body);
    d.headers.v = &header;
    d.headers.n = 1;
    kit_answer(k, request()->h.call, &d);
    kit_advance(k, 0);
}

static void expect_result(const char *part)
{
    const struct chela_done *d = kit_done(k);
    assert_non_null(d);
    if (!strstr(d->text.s, part))
        fail_msg("\"%s\" does not say \"%s\"", d->text.s, part);
}

static void only_listed_hosts_need_no_permission(void **state)
{
    (void)state;
    call(CHELA_FN_TOOL_PREPARE, "web_fetch", "{\"url\":\"https://a.example.org/x\"}");
    assert_non_null(strstr(kit_trace(k), "low"));
    static const char *const others[] = {
        "https://example.org.evil.test/", "https://evil.test/?a.example.org",
        "https://evil.test/#.example.org", "http://[::1]/.example.org"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char arguments[200];
        snprintf(arguments, sizeof arguments, "{\"url\":\"%s\"}", others[i]);
        call(CHELA_FN_TOOL_PREPARE, "web_fetch", arguments);
        assert_null(strstr(kit_trace(k), "low"));
    }
    call(CHELA_FN_TOOL_PREPARE, "web_fetch", "{\"url\":\"https://a.example.org@evil.test/\"}");
    assert_non_null(strstr(kit_trace(k), "verdict=2"));
    call(CHELA_FN_TOOL_PREPARE, "web_fetch", "{\"url\":\"file:///etc/passwd\"}");
    assert_non_null(strstr(kit_trace(k), "verdict=2"));
}

static void a_page_comes_as_markdown(void **state)
{
    (void)state;
    call(CHELA_FN_TOOL_RUN, "web_fetch", "{\"url\":\"https://a.example.org/x\"}");
    assert_int_equal(request()->h.flags, CHELA_NO_REDIRECT | CHELA_PUBLIC);
    answer(200, "content-type", "text/html; charset=utf-8", "<h1>Head</h1><a href='/y'>y</a>");
    expect_result("# Head\n\n[y](https://a.example.org/y)");
}

static void a_redirect_is_followed_only_where_it_may_go(void **state)
{
    (void)state;
    call(CHELA_FN_TOOL_RUN, "web_fetch", "{\"url\":\"https://one.test/\"}");
    answer(302, "location", "/next", "");
    assert_string_equal(request()->url.s, "https://one.test/next");
    answer(302, "location", "https://b.example.org/", "");
    assert_string_equal(request()->url.s, "https://b.example.org/");
    answer(301, "location", "http://169.254.169.254/latest", "");
    assert_null(kit_request(k, CHELA_FN_HTTP));
    expect_result("redirects to another host");
    call(CHELA_FN_TOOL_RUN, "web_fetch", "{\"url\":\"https://one.test/\"}");
    for (int i = 0; i < 5; i++)
        answer(302, "location", "/again", "");
    answer(302, "location", "/again", "");
    expect_result("again and again");
}

static void what_is_no_text_is_refused(void **state)
{
    (void)state;
    call(CHELA_FN_TOOL_RUN, "web_fetch", "{\"url\":\"https://one.test/\"}");
    answer(404, "content-type", "text/html", "");
    CHELA_ARGS(chela_done, d, 0);
    (void)d;
    call(CHELA_FN_TOOL_RUN, "web_fetch", "{\"url\":\"https://one.test/t\",\"maxChars\":100}");
    answer(200, "content-type", "text/plain", "plain");
    expect_result("plain");
}

static void a_search_goes_out_and_its_list_comes_back(void **state)
{
    (void)state;
    call(CHELA_FN_TOOL_RUN, "web_search", "{\"query\":\"a b&c\",\"count\":1}");
    assert_string_equal(request()->url.s, "https://search.test/find?lang=en&q=a%20b%26c");
    assert_true(chela_str_is(request()->headers.v[1].value, "${secret:search.key}"));
    answer(200, "content-type", "application/json",
           "{\"data\":{\"items\":[{\"name\":\"T\",\"href\":\"https://t/\",\"text\":\"S\"},"
           "{\"name\":\"U\"}]}}");
    expect_result("1. T\n   https://t/\n   S\n");
    assert_null(strstr(kit_done(k)->text.s, "U"));
}

int main(void)
{
#define WEB_TEST(name) KIT_TWICE(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WEB_TEST(only_listed_hosts_need_no_permission),        WEB_TEST(a_page_comes_as_markdown),
        WEB_TEST(a_redirect_is_followed_only_where_it_may_go), WEB_TEST(what_is_no_text_is_refused),
        WEB_TEST(a_search_goes_out_and_its_list_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
