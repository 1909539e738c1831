/*
 * The registry (core/host/registry.c, reload.c, life.c, published.c, local.c): all instances opened
 * and started in order, failures, retries, leaks, and the change to another configuration; with a
 * plugin that lives as its options say (tests/plugin/life).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/host_table.h"
#include "host/instance.h"
#include "host/loop.h"
#include "host/metrics.h"
#include "host/plugins.h"
#include "host/registry.h"

static struct {
    char file[64];
    struct buf log, changes;
    bool done, failed;
    struct error error;
} t;

static void keep_log(enum log_level level, const char *line)
{
    (void)level;
    buf_printf(&t.log, "%s\n", line);
}

static void note_change(struct instance *in, uint32_t what)
{
    if (what == 0)
        buf_printf(&t.changes, "%s %s\n", instance_name(in),
                   instance_state_name(instance_state(in)));
}

static int set_up(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    snprintf(t.file, sizeof t.file, "/tmp/chela-registry-XXXXXX");
    int fd = mkstemp(t.file);
    assert_true(fd >= 0);
    close(fd);
    log_setup(LOG_WARNING, LOG_PLAIN, keep_log);
    clock_fake(1700000000000u);
    loop_open();
    call_open();
    host_set_metric(metrics_from_plugin);
    instance_on_change(note_change);
    return 0;
}

static void note_done(void *arg, const struct error *e)
{
    (void)arg;
    t.done = true;
    t.failed = e != NULL;
    if (e)
        t.error = *e;
}

static void wait_done(void)
{
    while (!t.done)
        loop_turn(false);
}

static int tear_down(void **state)
{
    (void)state;
    t.done = false;
    registry_stop(false, note_done, NULL);
    wait_done();
    registry_close();
    settings_use(NULL);
    instance_on_change(NULL);
    metrics_close();
    call_close();
    loop_close();
    clock_fake_end();
    log_setup(LOG_INFO, LOG_PLAIN, NULL);
    buf_free(&t.log);
    buf_free(&t.changes);
    return unlink(t.file);
}

/* A configuration of these tools (and more), or NULL with the mistakes in t.log. */
static struct settings *configure(const char *tools, const char *more)
{
    const char *set = getenv("CHELA_TEST_BUILDDIR");
    CLEANUP(freep) char *build = realpath(set ? set : ".", NULL);
    struct buf errors = {0};
    FILE *file = fopen(t.file, "w");
    assert_non_null(file);
    fprintf(file,
            "plugins : { path = [\"%s/tests/plugin/life\"]; defaults = [ ]; };\n"
            "tools : { %s };\n%s",
            build, tools, more);
    fclose(file);
    char *environment[] = {NULL};
    struct settings_sources sources = {.file = t.file, .environment = environment};
    struct settings *s = settings_read(&sources, plugins_find_type, &errors);
    if (!s) {
        buf_puts(&t.log, buf_text(&errors));
        print_message("# %s", buf_text(&errors)); /* expected by some tests */
    }
    buf_free(&errors);
    return s;
}

static bool start(const char *tools, const char *more)
{
    struct settings *s = configure(tools, more);
    assert_non_null(s);
    settings_use(s);
    t.done = false;
    registry_start(NULL, note_done, NULL);
    assert_false(t.done); /* never before it has returned */
    wait_done();
    return !t.failed;
}

static bool reload(const char *tools)
{
    struct settings *s = configure(tools, "");
    assert_non_null(s);
    t.done = false;
    registry_reload(s, note_done, NULL);
    assert_false(t.done);
    wait_done();
    return !t.failed;
}

static struct instance *tool(const char *name)
{
    return instance_find(ROLE_TOOL, name);
}

/* "EVENT: NOTE" of the list that the instance has published last. */
static const char *published(const char *name)
{
    static char text[128];
    const struct published *p = published_get(tool(name), CHELA_TOOLS);
    if (!p)
        return "";
    snprintf(text, sizeof text, "%s: %s", p->items[0].name.s, p->items[0].value.s);
    published_release(p);
    return text;
}

static void instances_are_opened_and_started(void **state)
{
    (void)state;
    assert_true(start("a : { type = \"life\"; note = \"hello\"; }; life : { };", ""));
    assert_int_equal(instance_state(tool("a")), INSTANCE_RUNNING);
    assert_string_equal(instance_type(tool("a")), "life");
    assert_string_equal(instance_plugin(tool("a")), "tool_life");
    assert_string_equal(instance_option(tool("a"), "note"), "hello");
    assert_string_equal(published("a"), "started: hello");
    assert_ptr_equal(instance_next(ROLE_TOOL, NULL), tool("a"));
    assert_ptr_equal(instance_next(ROLE_TOOL, tool("a")), tool("life"));
    assert_null(instance_next(ROLE_TOOL, tool("life")));
    assert_null(instance_find(ROLE_PROVIDER, "a"));
    assert_string_equal(buf_text(&t.changes), "a open\nlife open\na starting\nlife starting\n"
                                              "a running\nlife running\n");
}

static void note_stores(void *arg)
{
    (void)arg;
    buf_puts(&t.changes, "stores\n");
}

static void the_others_wait_until_the_stores_are_open(void **state)
{
    (void)state;
    settings_use(configure("a : { type = \"life\"; };", ""));
    registry_start(note_stores, note_done, NULL);
    while (!strstr(buf_text(&t.changes), "stores\n"))
        loop_turn(false);
    for (unsigned i = 0; i < 10; i++)
        loop_turn(false);
    assert_false(t.done);
    assert_null(strstr(buf_text(&t.changes), "a starting"));
    registry_go_on();
    wait_done();
    assert_false(t.failed);
    assert_non_null(strstr(buf_text(&t.changes), "a running"));
    registry_go_on(); /* too late: nothing */
}

static void what_can_not_be_opened_stops_the_start_with_its_reason(void **state)
{
    (void)state;
    assert_false(start("a : { type = \"life\"; };\n"
                       "b : { type = \"life\"; mode = \"refuses\"; };",
                       ""));
    assert_non_null(strstr(t.error.text, ":3: tools.b: tool_life refused to open: the mode is "
                                         "\"refuses\""));
    assert_null(tool("a")); /* nothing half-started */
    assert_int_equal(instance_state(instance_next(ROLE_TOOL, NULL)), INSTANCE_CLOSED);
}

static void a_plugin_that_is_not_there_is_a_mistake_with_the_nearest_name(void **state)
{
    (void)state;
    assert_null(configure("a : { type = \"lief\"; };", ""));
    assert_non_null(strstr(buf_text(&t.log), ":2: tools.a: wanted the plugin tool_lief.so, found "
                                             "none in "));
    assert_non_null(strstr(buf_text(&t.log), "(did you mean \"tool_life\"?); fix: install it, "));
    buf_clear(&t.log);
    assert_null(configure("a : { type = \"live\"; plugin = \"tool_life\"; };", ""));
    assert_non_null(strstr(buf_text(&t.log),
                           "wanted the type \"live\" of the plugin tool_life, "
                           "found life, keeper (is that the one that is meant?)"));
    buf_clear(&t.log);
    assert_null(configure("", "stores : { life : { plugin = \"tool_life\"; }; };"));
    assert_non_null(
        strstr(buf_text(&t.log), "stores.life: the type life of tool_life is no store"));
}

static void a_start_that_fails_is_tried_again(void **state)
{
    (void)state;
    assert_true(start("a : { type = \"life\"; mode = \"fails\"; };", ""));
    assert_int_equal(instance_state(tool("a")), INSTANCE_FAILED);
    assert_non_null(strstr(instance_why(tool("a")), "could not start: nobody is there"));
    buf_clear(&t.changes);
    clock_fake_advance(2100);
    for (int i = 0; i < 20; i++)
        loop_turn(false);
    assert_non_null(strstr(buf_text(&t.changes), "a starting\na failed\n"));
    buf_clear(&t.changes);
    clock_fake_advance(2100); /* the second time it waits longer */
    for (int i = 0; i < 20; i++)
        loop_turn(false);
    assert_string_equal(buf_text(&t.changes), "");
}

static void a_store_that_can_not_start_stops_the_start(void **state)
{
    (void)state;
    assert_false(start(
        "a : { type = \"life\"; };",
        "stores : { k : { type = \"keeper\"; plugin = \"tool_life\"; mode = \"fails\"; }; };"));
    assert_non_null(strstr(t.error.text, "could not start: nobody is there"));
    assert_null(strstr(buf_text(&t.changes), "a starting"));
}

static void one_that_hangs_does_not_hold_up_the_others(void **state)
{
    (void)state;
    settings_use(
        configure("a : { type = \"life\"; mode = \"hangs\"; }; b : { type = \"life\"; };", ""));
    registry_start(NULL, note_done, NULL);
    for (int i = 0; i < 20; i++)
        loop_turn(false);
    assert_false(t.done);
    assert_int_equal(instance_state(tool("b")), INSTANCE_RUNNING);
    clock_fake_advance(3100);
    wait_done();
    assert_false(t.failed);
    assert_int_equal(instance_state(tool("a")), INSTANCE_STARTING);
    clock_fake_advance(30000); /* its deadline, and then the watchdog's */
    loop_turn(false);
    clock_fake_advance(6000);
    for (int i = 0; i < 20; i++)
        loop_turn(false);
    assert_int_equal(instance_state(tool("a")), INSTANCE_STUCK);
}

static void what_is_left_at_close_is_ended_and_named(void **state)
{
    (void)state;
    struct buf text = {0};
    assert_true(start("a : { type = \"life\"; mode = \"leaks\"; };", ""));
    t.done = false;
    registry_stop(false, note_done, NULL);
    wait_done();
    assert_non_null(strstr(buf_text(&t.log), "tool_life/a: left 0 requests and 1 timers, watches "
                                             "and jobs behind when it was closed"));
    metrics_text(&text);
    assert_string_equal(buf_text(&text),
                        "# TYPE chela_instance_leaks_total counter\n"
                        "chela_instance_leaks_total{plugin=\"tool_life\",instance=\"a\"} 1\n");
    buf_free(&text);
}

static void a_list_stays_as_long_as_somebody_holds_it(void **state)
{
    (void)state;
    assert_true(start("a : { type = \"life\"; note = \"one\"; };", ""));
    const struct published *before = published_get(tool("a"), CHELA_TOOLS);
    assert_true(reload("a : { type = \"life\"; note = \"two\"; };"));
    assert_string_equal(published("a"), "applied: two");
    assert_string_equal(before->items[0].value.s, "one");
    assert_int_equal(before->revision, 1);
    published_release(before);
    assert_null(published_get(tool("a"), CHELA_MODELS));
    assert_null(published_get(tool("a"), 99));
}

static void a_reload_applies_what_may_change_while_it_runs(void **state)
{
    (void)state;
    assert_true(start("a : { type = \"life\"; }; b : { type = \"life\"; };", ""));
    struct instance *a = tool("a");
    buf_clear(&t.changes);
    assert_true(reload("a : { type = \"life\"; note = \"new\"; }; b : { type = \"life\"; };"));
    assert_string_equal(published("a"), "applied: new");
    assert_string_equal(buf_text(&t.changes), ""); /* nobody was stopped */
    assert_ptr_equal(tool("a"), a);
    assert_string_equal(settings_text(settings_now(), "tools.a.note"), "new");
}

static void a_reload_starts_anew_what_may_not(void **state)
{
    (void)state;
    assert_true(start("a : { type = \"life\"; }; b : { type = \"life\"; };", ""));
    struct instance *a = tool("a");
    buf_clear(&t.changes);
    assert_true(reload("a : { type = \"life\"; mode = \"slow\"; }; b : { type = \"life\"; };"));
    assert_string_equal(buf_text(&t.changes),
                        "a stopping\na closed\na open\na starting\na running\n");
    assert_ptr_equal(tool("a"), a); /* who knows it goes on knowing it */
    assert_string_equal(instance_option(a, "mode"), "slow");
}

static void a_reload_brings_and_takes_instances(void **state)
{
    (void)state;
    assert_true(start("a : { type = \"life\"; }; b : { type = \"life\"; };", ""));
    struct instance *a = tool("a");
    assert_true(reload("c : { type = \"life\"; }; b : { type = \"life\"; };"));
    assert_null(tool("a"));
    assert_int_equal(instance_state(a), INSTANCE_CLOSED); /* its pointer is still good */
    assert_int_equal(instance_state(tool("c")), INSTANCE_RUNNING);
    assert_ptr_equal(instance_next(ROLE_TOOL, NULL), tool("c"));
    assert_ptr_equal(instance_next(ROLE_TOOL, tool("c")), tool("b"));
}

static void a_bad_reload_leaves_everything_as_it_was(void **state)
{
    (void)state;
    assert_true(start("a : { type = \"life\"; note = \"one\"; };", ""));
    const struct settings *before = settings_now();
    buf_clear(&t.changes);
    assert_false(reload("a : { type = \"life\"; note = \"bad\"; }; b : { type = \"life\"; };"));
    assert_string_equal(t.error.text, "tools.a: the note is bad");
    assert_false(reload("a : { type = \"life\"; mode = \"refuses\"; };"));
    assert_non_null(strstr(t.error.text, "tools.a: tool_life refused to open"));
    assert_false(reload("a : { type = \"life\"; note = \"one\"; };\n"
                        "b : { type = \"life\"; mode = \"refuses\"; };"));
    assert_ptr_equal(settings_now(), before);
    assert_string_equal(buf_text(&t.changes), "");
    assert_string_equal(published("a"), "started: one");
    assert_null(tool("b"));
    assert_true(reload("a : { type = \"life\"; note = \"two\"; };"));
    assert_string_equal(published("a"), "applied: two");
}

static void note_class(void *arg, const struct error *e)
{
    *(int *)arg = e ? (int)e->class : CHELA_OK;
}

static void only_one_piece_of_work_runs_at_a_time(void **state)
{
    (void)state;
    int first = -1, second = -1;
    assert_true(start("a : { type = \"life\"; };", ""));
    registry_reload(configure("a : { type = \"life\"; note = \"x\"; };", ""), note_class, &first);
    assert_true(registry_busy());
    registry_reload(configure("a : { type = \"life\"; };", ""), note_class, &second);
    while (first < 0 || second < 0)
        loop_turn(false);
    assert_int_equal(first, CHELA_OK);
    assert_int_equal(second, CHELA_E_BUSY);
    assert_false(registry_busy());
    assert_string_equal(published("a"), "applied: x");
}

static void a_stop_in_the_middle_of_a_reload_stops(void **state)
{
    (void)state;
    assert_true(start("a : { type = \"life\"; };", ""));
    registry_reload(
        configure("a : { type = \"life\"; mode = \"slow\"; }; b : { type = \"life\"; };", ""),
        note_done, NULL);
    loop_turn(false);
    t.done = false;
    registry_stop(false, note_done, NULL);
    wait_done();
    assert_null(tool("a"));
    assert_null(tool("b"));
}

static void turn_until(const char *name, enum instance_state state)
{
    while (!tool(name) || instance_state(tool(name)) != state)
        loop_turn(true);
}

static void the_same_holds_for_a_plugin_in_a_process_of_its_own(void **state)
{
    (void)state;
    static const char more[] = "isolated = [ \"tool_life\" ];";
    struct plugins_info info;
    assert_true(start("a : { type = \"life\"; note = \"one\"; }; b : { type = \"life\"; };", more));
    assert_true(plugins_at(0, &info) && info.isolated);
    turn_until("a", INSTANCE_RUNNING);
    turn_until("b", INSTANCE_RUNNING);
    assert_string_equal(published("a"), "started: one");
    struct instance *a = tool("a");
    t.done = false;
    registry_reload(configure("a : { type = \"life\"; note = \"bad\"; };", more), note_done, NULL);
    wait_done();
    assert_string_equal(t.error.text, "tools.a: the note is bad");
    t.done = false;
    registry_reload(configure("a : { type = \"life\"; note = \"two\"; };", more), note_done, NULL);
    wait_done();
    assert_false(t.failed);
    assert_ptr_equal(tool("a"), a);
    assert_string_equal(published("a"), "applied: two");
    assert_null(tool("b"));
    t.done = false;
    registry_reload(configure("a : { type = \"life\"; mode = \"refuses\"; };", more), note_done,
                    NULL);
    wait_done();
    assert_false(t.failed); /* its answer comes too late to stop the reload */
    assert_int_equal(instance_state(a), INSTANCE_FAILED);
    assert_non_null(strstr(instance_why(a), "refused to open: the mode is \"refuses\""));
}

static void a_process_that_is_killed_is_started_again(void **state)
{
    (void)state;
    assert_true(
        start("a : { type = \"life\"; mode = \"dies\"; };", "isolated = [ \"tool_life\" ];"));
    turn_until("a", INSTANCE_FAILED);
    assert_null(published_get(tool("a"), CHELA_TOOLS));
    clock_fake_advance(2100);
    buf_clear(&t.changes);
    while (!strstr(buf_text(&t.changes), "a starting"))
        loop_turn(false);
    assert_non_null(strstr(buf_text(&t.changes), "a open\n"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(instances_are_opened_and_started),
        TEST(the_others_wait_until_the_stores_are_open),
        TEST(what_can_not_be_opened_stops_the_start_with_its_reason),
        TEST(a_plugin_that_is_not_there_is_a_mistake_with_the_nearest_name),
        TEST(a_start_that_fails_is_tried_again),
        TEST(a_store_that_can_not_start_stops_the_start),
        TEST(one_that_hangs_does_not_hold_up_the_others),
        TEST(what_is_left_at_close_is_ended_and_named),
        TEST(a_list_stays_as_long_as_somebody_holds_it),
        TEST(a_reload_applies_what_may_change_while_it_runs),
        TEST(a_reload_starts_anew_what_may_not),
        TEST(a_reload_brings_and_takes_instances),
        TEST(a_bad_reload_leaves_everything_as_it_was),
        TEST(only_one_piece_of_work_runs_at_a_time),
        TEST(a_stop_in_the_middle_of_a_reload_stops),
        TEST(the_same_holds_for_a_plugin_in_a_process_of_its_own),
        TEST(a_process_that_is_killed_is_started_again),
    };
    const char *set = getenv("CHELA_TEST_BUILDDIR");
    CLEANUP(freep) char *build = realpath(set ? set : ".", NULL);
    setenv("CHELA_LIBEXEC_DIR", build, 1); /* chela-child */
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
