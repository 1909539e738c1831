/* The life of an MCP server against the host of the test kit, whose clock stands still until it is
 * moved: pauses that grow, idling, cancelled calls, what comes before the greeting. */
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
    {CHELA_LIT("servers.0.command"), CHELA_LIT("/bin/server")},
    {CHELA_LIT("servers.0.enabled"), CHELA_LIT("1")},
    {CHELA_LIT("servers.0.sampling"), CHELA_LIT("ask")},
    {CHELA_LIT("servers.0.elicitation"), CHELA_LIT("ask")},
    {CHELA_LIT("servers.0.connect_timeout"), CHELA_LIT("60000")},
    {CHELA_LIT("servers.0.request_timeout"), CHELA_LIT("120000")},
    {CHELA_LIT("servers.0.idle"), CHELA_LIT("600000")},
    {CHELA_LIT("question_timeout"), CHELA_LIT("600000")},
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
    assert_non_null(status);
    kit_answer_ok(k, status->h.call, "{\"port\":1}", 10);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(kit_close(k), 0);
    return 0;
}

/* The call of the process that runs, 0: there is none. */
static uint64_t process(void)
{
    const struct chela_spawn *s = kit_request(k, CHELA_FN_SPAWN);
    return s ? s->h.call : 0;
}

static void say(const char *line)
{
    char text[2000];
    int n = snprintf(text, sizeof text, "%s\n", line);
    CHELA_ARGS(chela_output, o, 0);
    o.stream = 1;
    o.data = chela_sn(text, (size_t)n);
    kit_tell(k, process(), CHELA_FN_OUTPUT, &o);
}

/* The process ends by itself. */
static void crash(void)
{
    CHELA_ARGS(chela_done, d, 0);
    d.extra = chela_s("{\"exit\":1}");
    kit_answer(k, process(), &d);
}

/* Greets and has one tool; first: the id of its first request. */
static void greet_from(int first)
{
    char line[300];
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"protocolVersion\":\"2025-11-25\","
             "\"capabilities\":{\"tools\":{}}}}",
             first);
    say(line);
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"tools\":[{\"name\":\"t\","
             "\"inputSchema\":{\"type\":\"object\"}}]}}",
             first + 1);
    say(line);
}

static void greet(void)
{
    greet_from(1);
}

static uint64_t call_tool(void)
{
    CHELA_ARGS(chela_tool_run, r, 0);
    r.name = chela_s("s__t");
    r.arguments = chela_s("{}");
    r.source = chela_s("{}");
    return kit_call(k, CHELA_FN_TOOL_RUN, &r);
}

static void said(const char *part)
{
    if (!strstr(kit_trace(k), part))
        fail_msg("\"%s\" is not in: %s", part, kit_trace(k));
}

static void a_server_that_ends_is_started_again_after_pauses_that_grow(void **state)
{
    static const uint64_t pauses[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    (void)state;
    assert_string_equal(
        ((const struct chela_spawn *)kit_request(k, CHELA_FN_SPAWN))->arguments.v[0].value.s,
        "/bin/server");
    for (size_t i = 0; i < sizeof pauses / sizeof pauses[0]; i++) {
        crash();
        assert_int_equal(process(), 0);
        kit_advance(k, pauses[i] - 1);
        assert_int_equal(process(), 0);
        kit_advance(k, 1);
        assert_int_not_equal(process(), 0);
    }
}

static void a_server_that_ran_for_long_is_started_again_after_a_short_pause(void **state)
{
    (void)state;
    for (uint64_t pause = 1000; pause < 16000; pause *= 2) {
        crash();
        kit_advance(k, pause);
    }
    greet_from(5);
    kit_advance(k, 61000);
    crash();
    kit_advance(k, 1000);
    assert_int_not_equal(process(), 0);
}

static void a_call_does_not_wait_for_the_pause(void **state)
{
    (void)state;
    greet();
    crash();
    assert_int_equal(process(), 0);
    call_tool();
    assert_int_not_equal(process(), 0);
}

static void a_server_that_is_not_used_is_stopped_and_started_by_the_next_call(void **state)
{
    (void)state;
    greet();
    kit_advance(k, 599000);
    uint64_t call = call_tool();
    kit_advance(k, 2000); /* the call keeps it */
    assert_int_not_equal(process(), 0);
    say("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]"
        "}}");
    assert_string_equal(kit_done(k)->text.s, "x");
    assert_int_not_equal(call, 0);
    kit_advance(k, 599999);
    assert_int_not_equal(process(), 0);
    kit_advance(k, 1);
    kit_advance(k, 0);
    assert_int_equal(process(), 0);
    kit_advance(k, 3600000); /* and stays so */
    assert_int_equal(process(), 0);
    kit_clear(k);
    call_tool();
    assert_int_not_equal(process(), 0);
    said("\\\"method\\\":\\\"initialize\\\"");
}

static void a_call_that_waits_for_its_server_can_be_cancelled(void **state)
{
    (void)state;
    greet();
    crash();
    uint64_t call = call_tool(); /* waits for the greeting */
    kit_clear(k);
    kit_cancel(k, call);
    assert_non_null(kit_done(k));
    assert_int_not_equal(kit_done(k)->error, CHELA_OK);
    assert_string_equal(kit_done(k)->text.s, "the call was cancelled");
}

static void a_probe_that_waits_for_the_lists_can_be_cancelled(void **state)
{
    (void)state;
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\","
        "\"capabilities\":{\"tools\":{}}}}");
    CHELA_ARGS(chela_method, q, 0);
    q.name = chela_s("mcp.probe");
    q.params = chela_s("{\"server\":\"s\"}");
    kit_clear(k);
    uint64_t call = kit_call(k, CHELA_FN_SERVICE_METHOD, &q);
    assert_null(kit_done(k));
    kit_cancel(k, call);
    assert_non_null(kit_done(k));
    kit_clear(k);
    kit_call(k, CHELA_FN_SERVICE_METHOD, &q);
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[]}}");
    assert_non_null(kit_done(k));
    assert_int_equal(kit_done(k)->error, CHELA_OK);
}

static void what_comes_before_the_greeting_is_answered_and_does_no_harm(void **state)
{
    (void)state;
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    kit_clear(k);
    say("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}");
    said("{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":0,\\\"result\\\":{}}");
    say("{\"jsonrpc\":\"2.0\",\"id\":\"text\",\"method\":\"roots/list\"}");
    said("\\\"id\\\":\\\"text\\\",\\\"result\\\":{\\\"roots\\\":[]}");
    say("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"no/such\"}");
    said("-32601");
    greet();
    assert_int_equal(kit_published(k, CHELA_TOOLS)->items.n, 1);
}

static void answers_out_of_order_reach_their_calls(void **state)
{
    (void)state;
    greet();
    call_tool();
    call_tool();
    say("{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"b\"}]"
        "}}");
    assert_string_equal(kit_done(k)->text.s, "b");
    say("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]"
        "}}");
    assert_string_equal(kit_done(k)->text.s, "a");
    say("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}"); /* nobody waits for it */
}

static void a_cancelled_call_is_cancelled_at_the_server(void **state)
{
    (void)state;
    greet();
    uint64_t call = call_tool();
    kit_clear(k);
    kit_cancel(k, call);
    said("notifications/cancelled");
    said("\\\"requestId\\\":3");
}

static void progress_keeps_a_call_alive_and_silence_ends_it(void **state)
{
    (void)state;
    greet();
    call_tool();
    for (int i = 0; i < 3; i++) {
        kit_advance(k, 100000);
        say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
            "\"progressToken\":3,\"progress\":1,\"total\":4,\"message\":\"m\"}}");
    }
    said("1/4 m");
    kit_clear(k);
    kit_advance(k, 120000);
    assert_non_null(kit_done(k));
    assert_non_null(strstr(kit_done(k)->text.s, "did not answer tools/call in 120 s"));
}

static void a_version_that_is_not_known_is_refused(void **state)
{
    (void)state;
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"1999-01-01\","
        "\"capabilities\":{}}}");
    kit_advance(k, 0);
    assert_int_equal(process(), 0);
}

int main(void)
{
#define MCP_TEST(name) KIT_TWICE(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        MCP_TEST(a_server_that_ends_is_started_again_after_pauses_that_grow),
        MCP_TEST(a_server_that_ran_for_long_is_started_again_after_a_short_pause),
        MCP_TEST(a_call_does_not_wait_for_the_pause),
        MCP_TEST(a_server_that_is_not_used_is_stopped_and_started_by_the_next_call),
        MCP_TEST(a_call_that_waits_for_its_server_can_be_cancelled),
        MCP_TEST(a_probe_that_waits_for_the_lists_can_be_cancelled),
        MCP_TEST(what_comes_before_the_greeting_is_answered_and_does_no_harm),
        MCP_TEST(answers_out_of_order_reach_their_calls),
        MCP_TEST(a_cancelled_call_is_cancelled_at_the_server),
        MCP_TEST(progress_keeps_a_call_alive_and_silence_ends_it),
        MCP_TEST(a_version_that_is_not_known_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
