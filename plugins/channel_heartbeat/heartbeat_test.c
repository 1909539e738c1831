/*
 * The heartbeat on a clock that the test moves: it asks no model without a reason, keeps to its
 * hours and its tokens, tells an event once, and its word for "nothing" reaches nobody.
 */
#define KIT_PLUGIN channel_heartbeat_LTX_chela_plugin
#include "tool_cron/cron_kit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/chela-heartbeat-XXXXXX";

static void open_heartbeat(const char *from, const char *until, const char *per_day)
{
    option(0, "every", "1800000");
    option(1, "session", "main");
    option(2, "file", "HEARTBEAT.md");
    option(3, "from", from);
    option(4, "until", until);
    option(5, "timezone", "UTC");
    option(6, "tokens_per_day", per_day);
    option(7, "tokens", "5000");
    option(8, "channel", "tele");
    option(9, "chat", "7");
    open_kit("heartbeat", 10);
    CHELA_ARGS(chela_arg, a, 0);
    kit_call(k, CHELA_FN_START, &a);
    const struct chela_key *get = kit_request(k, CHELA_FN_KV_GET);
    kit_answer_error(k, get->h.call, CHELA_E_NOT_FOUND, 0, "none");
}

static void write_file(const char *text)
{
    char path[100];
    snprintf(path, sizeof path, "%s/HEARTBEAT.md", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* Answers what it asks before it speaks; true: it has submitted something. */
static bool beats(bool busy)
{
    const struct chela_invoke *q = kit_request(k, CHELA_FN_INVOKE);
    char answer[200];
    if (!q)
        return false;
    assert_true(chela_str_is(q->name, "sessions.describe"));
    snprintf(answer, sizeof answer, "{\"session\":{\"hasActiveRun\":%s}}", busy ? "true" : "false");
    kit_answer_ok(k, q->h.call, answer, strlen(answer));
    q = kit_request(k, CHELA_FN_INVOKE);
    if (!q)
        return false;
    assert_true(chela_str_is(q->name, "agents.list"));
    snprintf(answer, sizeof answer,
             "{\"defaultId\":\"main\",\"agents\":[{\"id\":\"main\",\"workspace\":\"%s\"}]}",
             folder);
    kit_answer_ok(k, q->h.call, answer, strlen(answer));
    stored();
    return submitted() != NULL;
}

static void heartbeat_ends(int tokens)
{
    char answer[300];
    kit_answer_ok(k, submitted()->h.call, "r", 1);
    const struct chela_invoke *wait = kit_request(k, CHELA_FN_INVOKE);
    assert_true(chela_str_is(wait->name, "agent.wait"));
    snprintf(answer, sizeof answer,
             "{\"status\":\"ok\",\"result\":{\"payloads\":[],\"meta\":{\"agentMeta\":{\"usage\":{"
             "\"total\":%d}}}}}",
             tokens);
    kit_answer_ok(k, wait->h.call, answer, strlen(answer));
    stored();
}

static void a_heartbeat_has_a_reason(void **state)
{
    (void)state;
    open_heartbeat("", "", "0");
    write_file("# Tasks\n\n<!-- nothing\n yet -->\n- [ ]\n");
    kit_advance(k, 1800000);
    assert_false(beats(false));
    write_file("# Tasks\n- look at the oven\n");
    kit_advance(k, 1800000);
    assert_true(beats(false));
    assert_non_null(strstr(submitted()->text.s, "look at the oven"));
    assert_non_null(strstr(submitted()->text.s, "HEARTBEAT_OK"));
    heartbeat_ends(10);
    kit_advance(k, 1800000);
    assert_false(beats(true)); /* the conversation is at work: put off, not forgotten */
    kit_advance(k, 30000);
    assert_true(beats(false));
}

static void what_woke_it_is_told_once(void **state)
{
    (void)state;
    open_heartbeat("", "", "0");
    write_file("");
    method("wake",
           "{\"mode\":\"next-heartbeat\",\"text\":\"the bell rang\",\"idempotencyKey\":\"a\"}");
    method("wake", "{\"mode\":\"now\",\"text\":\"the bell rang\",\"idempotencyKey\":\"a\"}");
    assert_true(beats(false));
    const char *bell = strstr(submitted()->text.s, "the bell rang");
    assert_non_null(bell);
    assert_null(strstr(bell + 1, "the bell rang"));
    heartbeat_ends(10);
    kit_advance(k, 1800000);
    assert_false(beats(false));
    assert_int_equal(method("wake", "{\"mode\":\"soon\",\"text\":\"x\"}")->error, CHELA_E_ARGS);
}

static void it_sleeps_outside_of_its_hours(void **state)
{
    (void)state;
    /* hours that don't hold now, and begin in two hours */
    int64_t begin;
    char from[16], until[16];
    open_heartbeat("", "", "0");
    begin = (now() / 3600000 + 2) % 24;
    tear_down(state);
    snprintf(from, sizeof from, "%02d:00", (int)begin);
    snprintf(until, sizeof until, "%02d:30", (int)begin);
    open_heartbeat(from, until, "0");
    write_file("- look\n");
    kit_advance(k, 1800000);
    assert_null(kit_request(k, CHELA_FN_INVOKE));
    assert_non_null(strstr(method("last-heartbeat", "{}")->text.s, "active hours"));
    kit_advance(k, 2 * 3600000);
    assert_true(beats(false));
}

static void a_days_tokens_are_a_bound(void **state)
{
    (void)state;
    open_heartbeat("", "", "100");
    write_file("- look\n");
    kit_advance(k, 1800000);
    assert_true(beats(false));
    heartbeat_ends(150);
    kit_advance(k, 1800000);
    bool new_day = now() % 86400000 < 1800000;
    assert_true(new_day || kit_request(k, CHELA_FN_INVOKE) == NULL);
    if (!new_day)
        assert_non_null(strstr(method("last-heartbeat", "{}")->text.s, "tokens are spent"));
    kit_advance(k, 86400000);
    assert_non_null(kit_request(k, CHELA_FN_INVOKE)); /* another day */
}

static bool passed_on(const char *text)
{
    CHELA_ARGS(chela_send, s, 0);
    s.chat = chela_s("heartbeat");
    s.text = chela_s(text);
    s.key = chela_s("k.0");
    s.extra = chela_s("{\"run\":\"r\"}");
    kit_call(k, CHELA_FN_CHANNEL_SEND, &s);
    const struct chela_invoke *q = kit_request(k, CHELA_FN_INVOKE);
    if (!q)
        return false;
    assert_true(chela_str_is(q->name, "send"));
    assert_null(strstr(q->params.s, "HEARTBEAT_OK"));
    kit_answer_ok(k, q->h.call, "{}", 2);
    return true;
}

static void its_word_is_not_passed_on(void **state)
{
    (void)state;
    char text[600] = "HEARTBEAT_OK ";
    open_heartbeat("", "", "0");
    assert_false(passed_on("HEARTBEAT_OK"));
    assert_false(passed_on("  **heartbeat_ok**.\n"));
    assert_false(passed_on("All is quiet. HEARTBEAT_OK"));
    assert_true(passed_on("The oven is on!"));
    memset(text + strlen(text), 'x', 400);
    assert_true(passed_on(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KIT_TWICE(a_heartbeat_has_a_reason, set_up, tear_down),
        KIT_TWICE(what_woke_it_is_told_once, set_up, tear_down),
        KIT_TWICE(it_sleeps_outside_of_its_hours, set_up, tear_down),
        KIT_TWICE(a_days_tokens_are_a_bound, set_up, tear_down),
        KIT_TWICE(its_word_is_not_passed_on, set_up, tear_down),
    };
    if (!mkdtemp(folder))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char path[100];
    snprintf(path, sizeof path, "%s/HEARTBEAT.md", folder);
    unlink(path);
    rmdir(folder);
    return failed;
}
