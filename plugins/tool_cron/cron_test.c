/*
 * Jobs on a clock that the test moves: a slot is handed over once, at its time, under a name that
 * the host knows again; what was missed follows the policy; a clock that is put back repeats
 * nothing; what is wrong is refused by name.
 */
#define KIT_PLUGIN tool_cron_LTX_chela_plugin
#include "cron_kit.h"

static void open_cron(const char *policy)
{
    option(0, "catch_up", policy);
    option(1, "catch_up_window", "86400000");
    option(2, "keep_runs", "50");
    option(3, "jobs", "3");
    option(4, "timezone", "CET-1CEST,M3.5.0,M10.5.0/3");
    open_kit("cron", 5);
}

static void start_with(const char *id, const char *record)
{
    CHELA_ARGS(chela_arg, a, 0);
    kit_call(k, CHELA_FN_START, &a);
    const struct chela_key *list = kit_request(k, CHELA_FN_KV_LIST);
    assert_non_null(list);
    uint64_t call = list->h.call;
    if (id) {
        char key[64];
        snprintf(key, sizeof key, "job/%s", id);
        struct chela_value v[2] = {{.type = CHELA_V_TEXT, .s = chela_s(key)},
                                   {.type = CHELA_V_BYTES, .s = chela_s(record)}};
        CHELA_ARGS(chela_rows, r, call);
        r.columns = 2;
        r.values = (struct chela_values){v, 2};
        kit_tell(k, call, CHELA_FN_INST_ROWS, &r);
    }
    kit_answer_ok(k, call, "", 0);
}

static const char *add(const char *schedule, const char *more)
{
    char params[1000];
    static char id[64];
    snprintf(params, sizeof params,
             "{\"name\":\"j\",\"schedule\":%s,\"sessionTarget\":\"isolated\",\"wakeMode\":\"now\","
             "\"payload\":{\"kind\":\"agentTurn\",\"message\":\"do it\"}%s}",
             schedule, more);
    const struct chela_done *d = method("cron.add", params);
    assert_int_equal(d->error, CHELA_OK);
    const char *at = strstr(d->text.s, "\"id\":\"");
    snprintf(id, sizeof id, "%.*s", (int)strcspn(at + 6, "\""), at + 6);
    return id;
}

/* The run's end, as agent.wait tells it. */
static void run_ends(const char *status)
{
    const struct chela_invoke *wait = kit_request(k, CHELA_FN_INVOKE);
    char answer[200];
    assert_non_null(wait);
    assert_true(chela_str_is(wait->name, "agent.wait"));
    snprintf(answer, sizeof answer, "{\"status\":\"%s\",\"runId\":\"r\"}", status);
    kit_answer_ok(k, wait->h.call, answer, strlen(answer));
    stored();
}

static void a_job_runs_at_its_time_and_once(void **state)
{
    (void)state;
    open_cron("last");
    start_with(NULL, NULL);
    char schedule[100], event[100];
    int64_t at = now() + 90000;
    snprintf(schedule, sizeof schedule, "{\"kind\":\"at\",\"at\":\"%lld\"}", (long long)at);
    const char *id = add(schedule, "");
    kit_advance(k, 89000);
    assert_null(submitted());
    kit_advance(k, 1500);
    assert_non_null(submitted());
    snprintf(event, sizeof event, "cron-%s-%lld", id, (long long)at);
    assert_true(chela_str_is(submitted()->event, event));
    assert_non_null(strstr(submitted()->session.s, ":cron:"));
    kit_answer_ok(k, submitted()->h.call, "r", 1);
    stored();
    run_ends("ok");
    kit_advance(k, 3600000);
    assert_null(submitted());
    char get[100];
    snprintf(get, sizeof get, "{\"id\":\"%s\"}", id);
    const char *job = method("cron.get", get)->text.s;
    assert_non_null(strstr(job, "\"enabled\":false"));
    assert_non_null(strstr(job, "\"lastRunStatus\":\"ok\""));
}

static void a_slot_that_was_begun_before_a_crash_is_not_begun_again(void **state)
{
    (void)state;
    open_cron("last");
    char record[600], event[64];
    int64_t slot = now() - 1000;
    snprintf(record, sizeof record,
             "{\"job\":{\"id\":\"a\",\"name\":\"j\",\"enabled\":true,\"createdAtMs\":%lld,"
             "\"updatedAtMs\":1,\"schedule\":{\"kind\":\"every\",\"everyMs\":60000},"
             "\"sessionTarget\":\"isolated\",\"wakeMode\":\"now\",\"payload\":{\"kind\":"
             "\"agentTurn\",\"message\":\"do it\"}},\"state\":{},\"lastSlot\":%lld}",
             (long long)(slot - 60000), (long long)(slot - 60000));
    start_with("a", record);
    snprintf(event, sizeof event, "cron-a-%lld", (long long)slot);
    assert_non_null(submitted());
    assert_true(chela_str_is(submitted()->event, event));
    kit_answer_error(k, submitted()->h.call, CHELA_E_CONFLICT, 0, "seen before");
    assert_null(submitted());
    const struct chela_key *put = kit_request(k, CHELA_FN_KV_PUT); /* it moves past the slot */
    assert_non_null(put);
    assert_true(put->h.flags & CHELA_DURABLE);
    assert_non_null(strstr(put->value.s, "\"running\":"));
    stored();
    run_ends("ok");
    kit_advance(k, 58000);
    assert_null(submitted());
    kit_advance(k, 2000);
    assert_non_null(submitted());
}

static void what_is_not_stored_is_tried_again(void **state)
{
    (void)state;
    open_cron("last");
    start_with(NULL, NULL);
    add("{\"kind\":\"every\",\"everyMs\":60000}", "");
    kit_advance(k, 60000);
    char event[100];
    snprintf(event, sizeof event, "%s", submitted()->event.s);
    kit_answer_error(k, submitted()->h.call, CHELA_E_BUSY, 0, "later");
    kit_advance(k, 6000);
    assert_true(chela_str_is(submitted()->event, event));
}

static char *missed_record(int64_t since)
{
    static char record[600];
    snprintf(record, sizeof record,
             "{\"job\":{\"id\":\"a\",\"name\":\"j\",\"enabled\":true,\"createdAtMs\":%lld,"
             "\"updatedAtMs\":1,\"schedule\":{\"kind\":\"every\",\"everyMs\":3600000},"
             "\"sessionTarget\":\"isolated\",\"wakeMode\":\"now\",\"payload\":{\"kind\":"
             "\"agentTurn\",\"message\":\"do it\"}},\"state\":{},\"lastSlot\":%lld}",
             (long long)since, (long long)since);
    return record;
}

/* Slots at 1, 2, 3 and 4 hours behind `since`, and half an hour has gone since the last. */
static unsigned made_up_for(const char *policy, char *ret_first)
{
    open_cron(policy);
    int64_t since = now() - 4 * 3600000 - 1800000;
    unsigned n = 0;
    start_with("a", missed_record(since));
    for (; submitted() && n < 10; n++) {
        if (n == 0)
            snprintf(ret_first, 64, "%s", submitted()->event.s);
        kit_answer_ok(k, submitted()->h.call, "r", 1);
        stored();
        run_ends("ok");
        kit_advance(k, 5000);
    }
    char expected[64];
    snprintf(expected, sizeof expected, "cron-a-%lld",
             (long long)(since + (strcmp(policy, "all") == 0 ? 1 : 4) * 3600000));
    if (n)
        assert_string_equal(ret_first, expected);
    return n;
}

static void of_what_was_missed_the_last_runs(void **state)
{
    char first[64];
    (void)state;
    assert_int_equal(made_up_for("last", first), 1);
}

static void or_all_of_it(void **state)
{
    char first[64];
    (void)state;
    assert_int_equal(made_up_for("all", first), 4);
}

static void or_nothing(void **state)
{
    char first[64];
    (void)state;
    assert_int_equal(made_up_for("skip", first), 0);
    kit_advance(k, 1800000);
    assert_non_null(submitted()); /* the next one is in time */
}

/* The record says that a later slot has run: the clock was put back since. */
static void a_clock_that_is_put_back_repeats_nothing(void **state)
{
    (void)state;
    open_cron("all");
    int64_t later = now() + 3 * 3600000;
    start_with("a", missed_record(later));
    kit_advance(k, 3 * 3600000);
    assert_null(submitted());
    kit_advance(k, 3600000 + 1000);
    assert_non_null(submitted());
}

static void a_run_that_still_works_is_not_doubled(void **state)
{
    (void)state;
    open_cron("last");
    start_with(NULL, NULL);
    const char *id = add("{\"kind\":\"every\",\"everyMs\":60000}", "");
    char params[100];
    kit_advance(k, 60000);
    kit_answer_ok(k, submitted()->h.call, "r", 1);
    stored();
    kit_advance(k, 180000);
    stored();
    assert_null(submitted());
    snprintf(params, sizeof params, "{\"id\":\"%s\",\"mode\":\"force\"}", id);
    assert_non_null(strstr(method("cron.run", params)->text.s, "already-running"));
    run_ends("ok");
    kit_advance(k, 60000);
    assert_non_null(submitted());
}

static void an_answer_goes_to_the_chat_that_was_named(void **state)
{
    (void)state;
    open_cron("last");
    start_with(NULL, NULL);
    const char *id = add("{\"kind\":\"every\",\"everyMs\":60000}",
                         ",\"delivery\":{\"mode\":\"announce\",\"channel\":\"tele\",\"to\":\"7\"}");
    char chat[100];
    snprintf(chat, sizeof chat, "job:%s", id);
    CHELA_ARGS(chela_send, s, 0);
    s.chat = chela_s(chat);
    s.text = chela_s("done");
    s.key = chela_s("k.0");
    s.extra = chela_s("{\"run\":\"r\",\"session\":\"x\"}");
    kit_call(k, CHELA_FN_CHANNEL_SEND, &s);
    const struct chela_invoke *q = kit_request(k, CHELA_FN_INVOKE);
    assert_true(chela_str_is(q->name, "send"));
    assert_non_null(strstr(q->params.s, "\"channel\":\"tele\",\"to\":\"7\""));
    kit_answer_ok(k, q->h.call, "{}", 2);
    assert_int_equal(kit_done(k)->error, CHELA_OK);
}

static void what_is_wrong_is_refused_by_name(void **state)
{
    static const char *const bad[][2] = {
        {"{\"name\":\"j\"}", "payload"},
        {"{\"name\":\"j\",\"schedule\":{\"kind\":\"cron\",\"expr\":\"61 * * * *\"},\"payload\":{"
         "\"kind\":\"agentTurn\",\"message\":\"x\"}}",
         "minutes"},
        {"{\"name\":\"j\",\"schedule\":{\"kind\":\"cron\",\"expr\":\"0 0 30 2 *\"},\"payload\":{"
         "\"kind\":\"agentTurn\",\"message\":\"x\"}}",
         "never due"},
        {"{\"name\":\"j\",\"schedule\":{\"kind\":\"cron\",\"expr\":\"* * * * "
         "*\",\"tz\":\"Mars/X\"},"
         "\"payload\":{\"kind\":\"agentTurn\",\"message\":\"x\"}}",
         "time zone"},
        {"{\"name\":\"j\",\"schedule\":{\"kind\":\"every\",\"everyMs\":5},\"payload\":{\"kind\":"
         "\"agentTurn\",\"message\":\"x\"}}",
         "everyMs"},
        {"{\"name\":\"j\",\"schedule\":{\"kind\":\"at\",\"at\":\"2001-01-01T00:00:00Z\"},"
         "\"payload\":{\"kind\":\"agentTurn\",\"message\":\"x\"}}",
         "passed"},
        {"{\"name\":\"j\",\"color\":\"red\",\"schedule\":{\"kind\":\"every\",\"everyMs\":60000},"
         "\"payload\":{\"kind\":\"agentTurn\",\"message\":\"x\"}}",
         "color"},
        {"{\"name\":\"j\",\"sessionTarget\":\"main\",\"schedule\":{\"kind\":\"every\",\"everyMs\":"
         "60000},\"payload\":{\"kind\":\"agentTurn\",\"message\":\"x\"}}",
         "systemEvent"},
        {"{\"name\":\"j\",\"schedule\":{\"kind\":\"every\",\"everyMs\":60000},\"payload\":{"
         "\"kind\":\"agentTurn\",\"message\":\"x\"},\"delivery\":{\"mode\":\"announce\"}}",
         "channel"},
    };
    (void)state;
    open_cron("last");
    start_with(NULL, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct chela_done *d = method("cron.add", bad[i][0]);
        assert_int_equal(d->error, CHELA_E_ARGS);
        if (!strstr(d->text.s, bad[i][1]))
            fail_msg("%s: %s", bad[i][0], d->text.s);
    }
    assert_int_equal(method("cron.get", "{\"id\":\"nope\"}")->error, CHELA_E_ARGS);
    for (unsigned i = 0; i < 3; i++)
        add("{\"kind\":\"every\",\"everyMs\":60000}", "");
    assert_non_null(
        strstr(method("cron.add", "{\"name\":\"j\",\"schedule\":{\"kind\":\"every\",\"everyMs\":"
                                  "60000},\"payload\":{\"kind\":\"agentTurn\",\"message\":\"x\"}}")
                   ->text.s,
               "tools.cron.jobs"));
    assert_non_null(strstr(method("cron.list", "{\"limit\":2}")->text.s, "\"hasMore\":true"));
}

/* ---- the tool ---- */

static const struct chela_done *tool(const char *agent, const char *arguments)
{
    CHELA_ARGS(chela_tool_run, r, 0);
    r.name = chela_s("cron");
    r.agent = chela_s(agent);
    r.session = chela_s("agent:main:main");
    r.arguments = chela_s(arguments);
    r.source = chela_s("{\"channel\":\"tele\",\"account\":\"\",\"chat\":\"7\",\"sender\":\"8\"}");
    kit_call(k, CHELA_FN_TOOL_RUN, &r);
    stored();
    return kit_done(k);
}

static void an_agent_has_its_own_jobs(void **state)
{
    (void)state;
    open_cron("last");
    start_with(NULL, NULL);
    const char *made =
        tool("main",
             "{\"action\":\"add\",\"job\":{\"schedule\":{\"kind\":\"cron\",\"expr\":\"0 9 * * "
             "*\"},\"payload\":{\"kind\":\"agentTurn\",\"message\":\"x\"}}}")
            ->text.s;
    assert_non_null(strstr(made, "\"delivery\":{\"mode\":\"announce\",\"channel\":\"tele\",\"to\":"
                                 "\"7\""));
    char id[64], arguments[200];
    const char *at = strstr(made, "\"id\":\"");
    snprintf(id, sizeof id, "%.*s", (int)strcspn(at + 6, "\""), at + 6);
    assert_non_null(strstr(tool("main", "{\"action\":\"list\"}")->text.s, id));
    assert_null(strstr(tool("other", "{\"action\":\"list\"}")->text.s, id));
    snprintf(arguments, sizeof arguments, "{\"action\":\"remove\",\"jobId\":\"%s\"}", id);
    assert_int_equal(tool("other", arguments)->error, CHELA_E_ARGS);
    snprintf(
        arguments, sizeof arguments,
        "{\"action\":\"update\",\"jobId\":\"%s\",\"patch\":{\"agentId\":\"other\",\"name\":\"n\"}}",
        id);
    assert_non_null(strstr(tool("main", arguments)->text.s, "\"agentId\":\"main\""));
    /* each needs a yes of its own */
    CHELA_ARGS(chela_tool_run, r, 0);
    r.name = chela_s("cron");
    r.arguments = chela_s(arguments);
    kit_clear(k);
    kit_call(k, CHELA_FN_TOOL_PREPARE, &r);
    assert_non_null(strstr(kit_trace(k), "\\\"kind\\\":null"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KIT_TWICE(a_job_runs_at_its_time_and_once, set_up, tear_down),
        KIT_TWICE(a_slot_that_was_begun_before_a_crash_is_not_begun_again, set_up, tear_down),
        KIT_TWICE(what_is_not_stored_is_tried_again, set_up, tear_down),
        KIT_TWICE(of_what_was_missed_the_last_runs, set_up, tear_down),
        KIT_TWICE(or_all_of_it, set_up, tear_down),
        KIT_TWICE(or_nothing, set_up, tear_down),
        KIT_TWICE(a_clock_that_is_put_back_repeats_nothing, set_up, tear_down),
        KIT_TWICE(a_run_that_still_works_is_not_doubled, set_up, tear_down),
        KIT_TWICE(an_answer_goes_to_the_chat_that_was_named, set_up, tear_down),
        KIT_TWICE(what_is_wrong_is_refused_by_name, set_up, tear_down),
        KIT_TWICE(an_agent_has_its_own_jobs, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
