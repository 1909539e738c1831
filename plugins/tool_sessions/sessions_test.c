/*
 * tool_sessions: what is visible to whom, bounds on sub-agents, and the mailbox: a result is handed
 * to the parent under the run's name, its carrier is let go only when it is stored, and what was
 * running is taken up again after a start. Directly and through the encoder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "sessions.h"
#include "testkit/kit.h"

extern const struct chela_plugin tool_sessions_LTX_chela_plugin;

static struct kit *k;
static struct chela_pair options[8];

static int open_kit(void **state, const char *visibility)
{
    size_t n = 0;
    options[n++] = (struct chela_pair){CHELA_LIT("visibility"), chela_s(visibility)};
    options[n++] = (struct chela_pair){CHELA_LIT("subagents.max_depth"), CHELA_LIT("1")};
    options[n++] = (struct chela_pair){CHELA_LIT("subagents.per_session"), CHELA_LIT("2")};
    options[n++] = (struct chela_pair){CHELA_LIT("subagents.running"), CHELA_LIT("3")};
    options[n++] = (struct chela_pair){CHELA_LIT("subagents.timeout"), CHELA_LIT("60000")};
    options[n++] = (struct chela_pair){CHELA_LIT("subagents.keep"), CHELA_LIT("1")};
    options[n++] = (struct chela_pair){CHELA_LIT("max_hops"), CHELA_LIT("1")};
    k = kit_open(&(struct kit_setup){.plugin = &tool_sessions_LTX_chela_plugin,
                                     .options = options,
                                     .option_count = n,
                                     .encoded = *state != NULL});
    return k ? 0 : -1;
}

static int set_up(void **state)
{
    return open_kit(state, "agent");
}

static int tear_down(void **state)
{
    static const uint32_t calls[] = {CHELA_FN_INVOKE, CHELA_FN_SUBMIT, CHELA_FN_KV_PUT,
                                     CHELA_FN_KV_LIST, CHELA_FN_KV_DEL};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const struct chela_arg *open;
        while ((open = kit_request(k, calls[i])))
            kit_answer_error(k, open->h.call, CHELA_E_CANCELLED, 0, "the end");
    }
    return kit_close(k) == 0 ? 0 : -1;
}

/* Starts it with what was kept: pairs of key and value. */
static void start_with(const char *key, const char *value)
{
    CHELA_ARGS(chela_arg, a, 0);
    kit_call(k, CHELA_FN_START, &a);
    const struct chela_key *list = kit_request(k, CHELA_FN_KV_LIST);
    assert_non_null(list);
    uint64_t call = list->h.call;
    if (key) {
        struct chela_value v[2] = {{.type = CHELA_V_TEXT, .s = chela_s(key)},
                                   {.type = CHELA_V_BYTES, .s = chela_s(value)}};
        CHELA_ARGS(chela_rows, r, call);
        r.columns = 2;
        r.values = (struct chela_values){v, 2};
        kit_tell(k, call, CHELA_FN_INST_ROWS, &r);
    }
    kit_answer_ok(k, call, "", 0);
    assert_int_equal(kit_done(k)->error, CHELA_OK);
}

static const struct chela_done *tool(const char *name, const char *session, const char *run,
                                     const char *arguments)
{
    CHELA_ARGS(chela_tool_run, r, 0);
    r.name = chela_s(name);
    r.session = chela_s(session);
    r.agent = chela_s("main");
    r.run = chela_s(run);
    r.call_id = chela_s("call_1");
    r.arguments = chela_s(arguments);
    r.source =
        chela_s("{\"channel\":\"telegram\",\"account\":\"\",\"chat\":\"7\",\"sender\":\"7\"}");
    kit_call(k, CHELA_FN_TOOL_RUN, &r);
    return kit_done(k);
}

/* A sub-agent up to its task being stored; its key. */
static const char *spawn(const char *session)
{
    static char key[200];
    tool("sessions_spawn", session, "r", "{\"task\":\"do it\",\"label\":\"x\"}");
    const struct chela_key *put = kit_request(k, CHELA_FN_KV_PUT);
    if (!put)
        return NULL;
    snprintf(key, sizeof key, "%.*s", (int)put->key.n - 6, put->key.s + 6);
    assert_true(put->h.flags & CHELA_DURABLE);
    assert_null(kit_request(k, CHELA_FN_SUBMIT)); /* nothing begins before it is on disk */
    kit_answer_ok(k, put->h.call, "", 0);
    const struct chela_submit *m = kit_request(k, CHELA_FN_SUBMIT);
    assert_non_null(m);
    assert_true(chela_str_is(m->session, key));
    kit_answer_ok(k, m->h.call, "run", 3);
    return key;
}

static uint64_t answer_comes(const char *session, const char *run, const char *text)
{
    char extra[300];
    snprintf(extra, sizeof extra, "{\"run\":\"%s\",\"session\":\"%s\"}", run, session);
    CHELA_ARGS(chela_send, s, 0);
    s.text = chela_s(text);
    s.key = chela_s("k.0");
    s.extra = chela_s(extra);
    kit_clear(k);
    return kit_call(k, CHELA_FN_CHANNEL_SEND, &s);
}

static void a_result_is_stored_before_its_carrier_is_let_go(void **state)
{
    (void)state;
    start_with(NULL, NULL);
    char key[200];
    snprintf(key, sizeof key, "%s", spawn("agent:main:main"));
    assert_non_null(strstr(kit_done(k)->text.s, "accepted"));
    answer_comes(key, "run-1", "forty-two");
    assert_null(strstr(kit_trace(k), "done call"));
    const struct chela_submit *m = kit_request(k, CHELA_FN_SUBMIT);
    assert_non_null(m);
    assert_true(chela_str_is(m->session, "agent:main:main"));
    assert_true(chela_str_is(m->event, "result:run-1"));
    assert_non_null(strstr(m->text.s, "forty-two"));
    kit_answer_error(k, m->h.call, CHELA_E_BUSY, 0, "full"); /* not stored: again later */
    assert_int_equal(kit_done(k)->error, CHELA_E_BUSY);
    answer_comes(key, "run-1", "forty-two");
    m = kit_request(k, CHELA_FN_SUBMIT);
    assert_true(chela_str_is(m->event, "result:run-1"));
    kit_answer_error(k, m->h.call, CHELA_E_CONFLICT, 0, "seen"); /* it was there after all */
    assert_int_equal(kit_done(k)->error, CHELA_OK);
}

static void what_ran_is_taken_up_again(void **state)
{
    (void)state;
    start_with(
        "child/agent:main:subagent:1",
        "{\"run\":\"sub-1\",\"parent\":\"agent:main:main\",\"parentAgent\":\"main\","
        "\"agent\":\"main\",\"task\":\"go on\",\"depth\":1,\"state\":\"running\",\"request\":"
        "{\"runId\":\"sub-1\"},\"origin\":{\"channel\":\"telegram\",\"chat\":\"7\"}}");
    const struct chela_submit *m = kit_request(k, CHELA_FN_SUBMIT);
    assert_non_null(m);
    assert_true(chela_str_is(m->event, "sub-1"));
    kit_answer_error(k, m->h.call, CHELA_E_CONFLICT, 0, "seen");
    const struct chela_invoke *wait = kit_request(k, CHELA_FN_INVOKE);
    assert_true(chela_str_is(wait->name, "agent.wait"));
    /* it has ended before the restart, and nothing of it is in the outbox: its last words */
    kit_answer_ok(k, wait->h.call, "{\"status\":\"ok\"}", 15);
    const struct chela_invoke *history = kit_request(k, CHELA_FN_INVOKE);
    assert_true(chela_str_is(history->name, "chat.history"));
    static const char messages[] =
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"go on\"}]},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"the last words\"}]}]}";
    kit_answer_ok(k, history->h.call, messages, sizeof messages - 1);
    m = kit_request(k, CHELA_FN_SUBMIT);
    assert_true(chela_str_is(m->event, "result:sub-1"));
    assert_non_null(strstr(m->text.s, "the last words"));
}

static void one_that_was_stopped_is_told(void **state)
{
    (void)state;
    start_with(NULL, NULL);
    spawn("agent:main:main");
    const struct chela_invoke *wait = kit_request(k, CHELA_FN_INVOKE);
    kit_answer_ok(k, wait->h.call, "{\"status\":\"aborted\"}", 20);
    const struct chela_submit *m = kit_request(k, CHELA_FN_SUBMIT);
    assert_non_null(strstr(m->text.s, "stopped before it had a result"));
}

static void what_the_parent_says_goes_where_it_began(void **state)
{
    (void)state;
    start_with(NULL, NULL);
    const char *key = spawn("agent:main:main");
    kit_answer_error(k, ((const struct chela_arg *)kit_request(k, CHELA_FN_INVOKE))->h.call,
                     CHELA_E_GONE, 0, "");
    CHELA_ARGS(chela_send, s, 0);
    s.text = chela_s("They are seven.");
    s.thread = chela_s(key);
    s.key = chela_s("run-2.0");
    s.extra = chela_s("{\"run\":\"run-2\",\"session\":\"agent:main:main\"}");
    kit_call(k, CHELA_FN_CHANNEL_SEND, &s);
    const struct chela_invoke *q = kit_request(k, CHELA_FN_INVOKE);
    assert_true(chela_str_is(q->name, "send"));
    assert_non_null(strstr(q->params.s, "\"channel\":\"telegram\",\"to\":\"7\""));
    assert_non_null(strstr(q->params.s, "They are seven."));
    kit_answer_ok(k, q->h.call, "{}", 2);
    assert_int_equal(kit_done(k)->error, CHELA_OK);
}

static void there_are_bounds(void **state)
{
    (void)state;
    start_with(NULL, NULL);
    char key[200];
    assert_non_null(spawn("agent:main:a"));
    snprintf(key, sizeof key, "%s", spawn("agent:main:a"));
    assert_null(spawn("agent:main:a"));
    assert_non_null(strstr(kit_done(k)->text.s, "per_session"));
    assert_null(spawn(key));
    assert_non_null(strstr(kit_done(k)->text.s, "max_depth"));
    assert_non_null(spawn("agent:main:b"));
    assert_null(spawn("agent:main:c"));
    assert_non_null(strstr(kit_done(k)->text.s, "subagents.running"));
    tool("sessions_send", "agent:main:b", "hop1-x",
         "{\"sessionKey\":\"agent:main:a\",\"message\":\"round and round\"}");
    assert_non_null(strstr(kit_done(k)->text.s, "max_hops"));
}

static void each_sees_its_own(void **state)
{
    (void)state;
    start_with(NULL, NULL);
    char key[200];
    snprintf(key, sizeof key, "%s", spawn("agent:main:main"));
    tool("sessions_history", "agent:main:main", "r", "{\"sessionKey\":\"agent:other:main\"}");
    assert_int_equal(kit_done(k)->error, CHELA_E_DENIED);
    tool("sessions_history", key, "r", "{\"sessionKey\":\"agent:main:main\"}");
    assert_int_equal(kit_done(k)->error, CHELA_E_DENIED); /* a sub-agent: its tree */
    kit_clear(k);
    tool("sessions_history", "agent:main:main", "r", "{\"sessionKey\":\"agent:main:x\"}");
    const struct chela_invoke *q = kit_request(k, CHELA_FN_INVOKE);
    assert_true(chela_str_is(q->name, "chat.history"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KIT_TWICE(a_result_is_stored_before_its_carrier_is_let_go, set_up, tear_down),
        KIT_TWICE(what_ran_is_taken_up_again, set_up, tear_down),
        KIT_TWICE(one_that_was_stopped_is_told, set_up, tear_down),
        KIT_TWICE(what_the_parent_says_goes_where_it_began, set_up, tear_down),
        KIT_TWICE(there_are_bounds, set_up, tear_down),
        KIT_TWICE(each_sees_its_own, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
