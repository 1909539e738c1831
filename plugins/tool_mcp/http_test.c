/* An MCP server by HTTP against the host of the test kit: sessions and versions in headers, answers
 * as JSON and as streams, streams taken up again, forgotten sessions, the older SSE, logins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <chela/chela.h>

#include "testkit/kit.h"

extern const struct chela_plugin tool_mcp_LTX_chela_plugin;

static const struct chela_pair options[] = {
    {CHELA_LIT("servers"), CHELA_LIT("1")},
    {CHELA_LIT("servers.0.name"), CHELA_LIT("s")},
    {CHELA_LIT("servers.0.url"), CHELA_LIT("http://127.0.0.1:9/mcp")},
    {CHELA_LIT("servers.0.transport"), CHELA_LIT("http")},
    {CHELA_LIT("servers.0.enabled"), CHELA_LIT("1")},
    {CHELA_LIT("servers.0.connect_timeout"), CHELA_LIT("60000")},
    {CHELA_LIT("servers.0.request_timeout"), CHELA_LIT("120000")},
    {CHELA_LIT("servers.0.headers"), CHELA_LIT("1")},
    {CHELA_LIT("servers.0.headers.0.name"), CHELA_LIT("X-Own")},
    {CHELA_LIT("servers.0.headers.0.value"), CHELA_LIT("${secret:servers.0.headers.0.value}")},
};

static struct kit *k;

static int set_up(void **state)
{
    k = kit_open(&(struct kit_setup){.plugin = &tool_mcp_LTX_chela_plugin,
                                     .options = options,
                                     .option_count = sizeof options / sizeof options[0],
                                     .encoded = *state != NULL});
    assert_non_null(k);
    kit_start(k);
    const struct chela_invoke *status = kit_request(k, CHELA_FN_INVOKE);
    kit_answer_ok(k, status->h.call, "{\"port\":1}", 10);
    const struct chela_key *kept = kit_request(k, CHELA_FN_KV_GET);
    assert_non_null(kept);
    kit_answer_error(k, kept->h.call, CHELA_E_NOT_FOUND, 0, "no such key");
    return 0;
}

/* The newest request that is open. */
static const struct chela_http *request(void)
{
    const struct chela_http *q = kit_request(k, CHELA_FN_HTTP);
    assert_non_null(q);
    return q;
}

static void assert_says(const char *part)
{
    char body[4000];
    snprintf(body, sizeof body, "%.*s", (int)request()->body.n,
             request()->body.n ? request()->body.s : "");
    if (!strstr(body, part))
        fail_msg("\"%s\" is not in \"%s\"", part, body);
}

static bool has_header(const char *name, const char *value)
{
    const struct chela_pairs *h = &request()->headers;
    for (uint64_t i = 0; i < h->n; i++)
        if (chela_str_is(h->v[i].name, name) && (!value || chela_str_is(h->v[i].value, value)))
            return true;
    return false;
}

static void answer(uint32_t status, const char *header, const char *value, const char *body)
{
    struct chela_pair pair = {chela_s(header), chela_s(value)};
    CHELA_ARGS(chela_done, d, 0);
    d.error = status < 400 ? CHELA_OK : CHELA_E_OTHER;
    d.http_status = status;
    d.text = chela_s(body);
    d.headers.v = &pair;
    d.headers.n = header ? 1 : 0;
    kit_answer(k, request()->h.call, &d);
    kit_advance(k, 0);
}

static void event(uint64_t call, const char *name, const char *id, const char *data)
{
    CHELA_ARGS(chela_http_event, e, call);
    e.status = 200;
    e.name = chela_s(name);
    e.id = chela_s(id);
    e.data = chela_s(data);
    kit_tell(k, call, CHELA_FN_HTTP_EVENT, &e);
}

/* initialize and tools/list, ids from `first` on; what stays open: the server's own stream. */
static void greet(int first)
{
    char text[400];
    assert_says("\"method\":\"initialize\"");
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"protocolVersion\":\"2025-11-25\","
             "\"capabilities\":{\"tools\":{}}}}",
             first);
    answer(200, "mcp-session-id", "abc", text);
    assert_says("\"method\":\"tools/list\"");
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"tools\":[{\"name\":\"t\","
             "\"inputSchema\":{\"type\":\"object\"}}]}}",
             first + 1);
    answer(200, NULL, NULL, text);
}

static void call_tool(void)
{
    CHELA_ARGS(chela_tool_run, r, 0);
    r.name = chela_s("s__t");
    r.arguments = chela_s("{}");
    r.source = chela_s("{}");
    kit_clear(k);
    kit_call(k, CHELA_FN_TOOL_RUN, &r);
    assert_says("\"method\":\"tools/call\"");
}

static const char answer3[] = "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":"
                              "\"text\",\"text\":\"there\"}]}}";

static void the_session_and_the_version_go_with_each_request(void **state)
{
    (void)state;
    assert_true(chela_str_is(request()->url, "http://127.0.0.1:9/mcp"));
    assert_true(chela_str_is(request()->method, "POST"));
    assert_false(has_header("Mcp-Session-Id", NULL));
    assert_true(has_header("X-Own", "${secret:servers.0.headers.0.value}"));
    greet(1);
    call_tool();
    assert_true(has_header("Mcp-Session-Id", "abc"));
    assert_true(has_header("MCP-Protocol-Version", "2025-11-25"));
    answer(200, NULL, NULL, answer3);
    assert_string_equal(kit_done(k)->text.s, "there");
}

static void a_stream_that_ends_too_early_is_taken_up_behind_its_last_event(void **state)
{
    (void)state;
    greet(1);
    call_tool();
    event(request()->h.call, "", "e7", "");
    answer(200, NULL, NULL, "");
    assert_null(kit_done(k));
    kit_advance(k, 1000);
    assert_true(chela_str_is(request()->method, "GET"));
    assert_true(has_header("Last-Event-ID", "e7"));
    event(request()->h.call, "message", "e8", answer3);
    assert_string_equal(kit_done(k)->text.s, "there");
}

static void one_that_ends_without_any_event_is_an_error(void **state)
{
    (void)state;
    greet(1);
    call_tool();
    answer(200, NULL, NULL, "");
    assert_non_null(strstr(kit_done(k)->text.s, "the connection ended before the answer came"));
}

static void a_session_that_was_forgotten_is_begun_anew(void **state)
{
    static const uint32_t said[] = {404, 400};
    (void)state;
    greet(1);
    for (size_t i = 0; i < 2; i++) {
        call_tool();
        answer(said[i], NULL, NULL, "{\"error\":{\"message\":\"No valid session ID\"}}");
        assert_non_null(strstr(kit_done(k)->text.s, "forgotten"));
        kit_advance(k, UINT64_C(1000) << i);
        assert_false(has_header("Mcp-Session-Id", NULL));
        greet(4 + 3 * (int)i);
    }
}

static void a_server_of_before_is_spoken_to_by_its_stream(void **state)
{
    (void)state;
    answer(405, NULL, NULL, "");
    uint64_t stream = request()->h.call;
    assert_true(chela_str_is(request()->method, "GET"));
    event(stream, "endpoint", "", "/post?session=1");
    assert_true(chela_str_is(request()->url, "http://127.0.0.1:9/post?session=1"));
    assert_says("\"method\":\"initialize\"");
    answer(202, NULL, NULL, "");
    event(stream, "message", "",
          "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"protocolVersion\":\"2024-11-05\","
          "\"capabilities\":{\"tools\":{}}}}");
    assert_says("\"method\":\"tools/list\"");
}

static void a_place_to_post_to_on_another_host_is_refused(void **state)
{
    (void)state;
    answer(405, NULL, NULL, "");
    event(request()->h.call, "endpoint", "", "http://elsewhere.test/post");
    kit_advance(k, 0);
    const struct chela_http *q = kit_request(k, CHELA_FN_HTTP);
    assert_true(!q || !q->body.n);
}

static void a_refusal_leads_to_the_login_that_the_server_names(void **state)
{
    (void)state;
    answer(401, "www-authenticate",
           "Bearer resource_metadata=\"http://127.0.0.1:9/meta\", scope=\"read\"", "");
    assert_true(chela_str_is(request()->url, "http://127.0.0.1:9/meta"));
    answer(200, NULL, NULL,
           "{\"resource\":\"http://127.0.0.1:9/mcp\",\"authorization_servers\":["
           "\"http://127.0.0.1:9/auth\"]}");
    assert_true(chela_str_is(request()->url,
                             "http://127.0.0.1:9/.well-known/oauth-authorization-server/auth"));
    answer(200, NULL, NULL,
           "{\"issuer\":\"http://127.0.0.1:9/other\",\"token_endpoint\":\"http://127.0.0.1:9/t\"}");
    kit_clear(k);
    CHELA_ARGS(chela_method, q, 0);
    q.name = chela_s("mcp.list");
    q.params = chela_s("{}");
    kit_call(k, CHELA_FN_SERVICE_METHOD, &q);
    assert_non_null(strstr(kit_done(k)->text.s, "name another issuer"));
}

/* The session is forgotten first, else the end would wait for the answer to its DELETE. */
static int tear_down(void **state)
{
    (void)state;
    CHELA_ARGS(chela_tool_run, r, 0);
    r.name = chela_s("s__t");
    r.arguments = chela_s("{}");
    r.source = chela_s("{}");
    kit_call(k, CHELA_FN_TOOL_RUN, &r);
    const struct chela_http *q = kit_request(k, CHELA_FN_HTTP);
    if (q && q->body.n && memmem(q->body.s, (size_t)q->body.n, "tools/call", 10))
        answer(404, NULL, NULL, "");
    assert_int_equal(kit_close(k), 0);
    return 0;
}

int main(void)
{
#define HTTP_TEST(name) KIT_TWICE(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        HTTP_TEST(the_session_and_the_version_go_with_each_request),
        HTTP_TEST(a_stream_that_ends_too_early_is_taken_up_behind_its_last_event),
        HTTP_TEST(one_that_ends_without_any_event_is_an_error),
        HTTP_TEST(a_session_that_was_forgotten_is_begun_anew),
        HTTP_TEST(a_server_of_before_is_spoken_to_by_its_stream),
        HTTP_TEST(a_place_to_post_to_on_another_host_is_refused),
        HTTP_TEST(a_refusal_leads_to_the_login_that_the_server_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
