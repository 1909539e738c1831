/*
 * A plugin in a process of its own: its description, what crosses at open, its end in mid-stream,
 * its clean surroundings.
 */
#include "host_kit.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/host_table.h"
#include "host/isolate.h"
#include "host/loop.h"
#include "host/options.h"
#include "wire/functions.h"

static int open_child(void **unused)
{
    (void)unused;
    kit_open(KIT_CHILD);
    return 0;
}

static int close_kit(void **unused)
{
    (void)unused;
    kit_close();
    return 0;
}

/* The process ids of this one's children. */
static unsigned child_processes(pid_t *ret_first)
{
    char path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (int pid; fscanf(f, "%d", &pid) == 1; count++)
        if (count == 0)
            *ret_first = pid;
    fclose(f);
    return count;
}

static pid_t the_child(void)
{
    pid_t pid = 0;
    assert_int_equal(child_processes(&pid), 1);
    return pid;
}

static void wait_for_the_end(void)
{
    while (kit.ended == 0)
        loop_turn(true);
}

/* ---- what crosses ---- */

static void a_child_describes_its_plugin_as_it_is(void **unused)
{
    (void)unused;
    const struct plugin_type *t = kit.in->type;
    const struct plugin *p = t->plugin;
    assert_string_equal(p->name, "contract");
    assert_string_equal(p->version, "1.0");
    assert_string_equal(p->license, "MIT");
    assert_int_equal(p->minor, CHELA_MINOR);
    assert_int_equal(p->type_count, 1);
    assert_string_equal(t->iface.type, "contract");
    assert_int_equal(t->roles, 1u << ROLE_CHANNEL | 1u << ROLE_TOOL);
    assert_ptr_equal(t->iface.tool, &t->tool);
    assert_non_null(t->tool.run);
    assert_non_null(t->tool.prepare);
    assert_non_null(t->iface.start);
    assert_null(t->iface.stop);
    assert_null(t->iface.provider);
    assert_null(t->channel.send);
    assert_non_null(t->channel.typing);
    assert_int_equal(t->channel.send_class, CHELA_SEND_QUERY);
    assert_int_equal(t->channel.can, CHELA_CAN_TYPING | CHELA_CAN_EDIT);
    assert_int_equal(t->channel.unit, CHELA_UNIT_UTF16);
    assert_int_equal(t->channel.text_limit, 4096);
    assert_null(t->channel.dialect);
    assert_string_equal(t->channel.platform, "test");
    const struct chela_option *o = t->iface.options;
    assert_string_equal(o[0].name, "fail");
    assert_string_equal(o[0].fallback, "");
    assert_string_equal(o[1].name, "key");
    assert_int_equal(o[1].flags, CHELA_SECRET);
    assert_null(o[1].fallback);
    assert_int_equal(o[3].type, CHELA_ITEMS);
    assert_string_equal(o[3].items[0].name, "pattern");
    assert_null(o[3].items[1].name);
    assert_null(o[4].name);
}

static void options_cross_without_secrets(void **unused)
{
    (void)unused;
    static const char *const given[] = {"key", "very-secret-key", "url", "https://example.net",
                                        NULL};
    struct instance *first = kit.in;
    kit.in = kit_instance("second", given);
    kit_tell("option 0 url\noption 0 key\noption 0 fail\noption 0 nothing\n");
    kit_sync();
    kit_expect("saw option 0 https://example.net\nsaw option 0 ${secret:key}\nsaw option 0\n"
               "saw option 0\n");
    /* a new snapshot takes the place of the old one */
    options_release(kit.in->options);
    kit.in->options = options_hold(first->options);
    isolate_instance_options(kit.in);
    kit_tell("option 0 url\n");
    kit_sync();
    kit_expect("saw option 0 https://example.org\n");
    kit_free(kit.in);
    kit.in = first;
}

static void the_environment_holds_nothing_of_ours(void **unused)
{
    (void)unused;
    kit_tell("environment 0 OPENAI_API_KEY\nenvironment 0 CHELA_LIBEXEC_DIR\nenvironment 0 LANG\n");
    kit_sync();
    kit_expect("saw environment 0\nsaw environment 0\nsaw environment 0 C.UTF-8\n");
}

static void no_descriptor_of_ours_is_open_over_there(void **unused)
{
    (void)unused;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)the_child());
    DIR *d = opendir(path);
    assert_non_null(d);
    unsigned sockets = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char link[400], target[256] = "";
        snprintf(link, sizeof link, "%s/%s", path, e->d_name);
        if (readlink(link, target, sizeof target - 1) > 0 && strncmp(target, "socket:", 7) == 0 &&
            strcmp(e->d_name, "2") != 0)
            sockets++;
    }
    closedir(d);
    /* the one to us, and libuv's own pair for signals */
    assert_in_range(sockets, 1, 3);
}

static unsigned warnings, metrics;

static void see_line(enum log_level level, const char *line)
{
    if (level == LOG_WARNING && strstr(line, "contract/contract: hello there"))
        warnings++;
}

static void see_metric(struct instance *in, uint32_t kind, const char *name, const char *labels,
                       double value)
{
    assert_ptr_equal(in, kit.in);
    assert_int_equal(kind, CHELA_COUNTER);
    assert_string_equal(name, "answers");
    assert_string_equal(labels, "");
    assert_true(value > 6.5 && value < 7.5);
    metrics++;
}

static void log_and_metrics_arrive_in_the_daemon(void **unused)
{
    (void)unused;
    warnings = metrics = 0;
    log_setup(LOG_INFO, LOG_PLAIN, see_line);
    host_set_metric(see_metric);
    kit_tell("log 0 hello there\nmetric 7 answers\n");
    kit_sync();
    assert_int_equal(warnings, 1);
    assert_int_equal(metrics, 1);
    log_setup(LOG_INFO, LOG_PLAIN, NULL);
    host_set_metric(NULL);
}

static void timers_run_over_there(void **unused)
{
    (void)unused;
    kit_tell("timer 1\n");
    kit_wait("saw timer 0");
    free(kit_trace());
}

static void what_open_refuses_is_told(void **unused)
{
    (void)unused;
    static const char *const fail[] = {"fail", "open", NULL};
    struct instance *in = kit_instance("broken", fail);
    assert_int_equal(in->state, INSTANCE_FAILED);
    kit_free(in);
}

/* ---- its end ---- */

static void a_killed_child_ends_its_calls(void **unused)
{
    (void)unused;
    kit_run("text $ a\nhttp $ u\n", 0, 0);
    kit_run("", 0, 0);
    kit_sync();
    free(kit_trace());
    kill(the_child(), SIGKILL);
    wait_for_the_end();
    loop_turn(false);
    kit_expect("p1 is cancelled\nh1 done 10\nh2 done 10\n");
    assert_int_equal(call_count(), 0);
    assert_false(isolate_alive(kit.in->type->plugin));
    kit.in->state = INSTANCE_RUNNING; /* even if nobody had noticed */
    kit_run("", 0, 0);
    call_cancel(kit_id('h', 3));
    loop_turn(false);
    kit_expect("h3 done 10\n");
    pid_t pid;
    assert_int_equal(child_processes(&pid), 0); /* it was waited for */
}

static void what_it_said_before_it_was_killed_still_counts(void **unused)
{
    (void)unused;
    kit.quiet_text = true;
    kit_run("flood $ 100 20000\n", 0, 0); /* more than a pass takes */
    while (kit.texts == 0)
        loop_turn(true);
    kill(the_child(), SIGKILL);
    wait_for_the_end();
    while (call_count() > 0)
        loop_turn(true);
    char *trace = kit_trace();
    assert_non_null(strstr(trace, "h1 done 10\n"));
    free(trace);
    assert_true(kit.texts >= 64);
    print_message("# %llu texts arrived before the end\n", (unsigned long long)kit.texts);
}

static void a_child_that_exits_by_itself_is_the_same(void **unused)
{
    (void)unused;
    kit_run("", 0, 0);
    kit_tell("exit 3\n");
    wait_for_the_end();
    loop_turn(false);
    char *trace = kit_trace();
    assert_non_null(strstr(trace, "h1 done 10\n"));
    free(trace);
}

static void it_can_be_started_again_and_ids_stay_new(void **unused)
{
    (void)unused;
    kit_tell("http 0 a\n");
    kit_sync();
    uint64_t before = kit_id('p', 1);
    struct instance *dead = kit.in;
    kill(the_child(), SIGKILL);
    wait_for_the_end();
    loop_turn(false);
    struct error e = {0};
    assert_int_equal(isolate_restart(dead->type->plugin, &e), 0);
    free(kit_trace());
    kit.in = kit_instance("again", NULL);
    kit_tell("http 0 b\n");
    kit_sync();
    kit_expect("p2 http b for none\n");
    assert_true(kit_id('p', 2) > before);
    kit_free(dead);
}

static void who_floods_does_not_grow_the_daemon(void **unused)
{
    (void)unused;
    kit.quiet_text = true;
    kit_run("flood $ 65536 500\ndone $ 0\n", 0, 0); /* 32 MiB */
    size_t most = 0;
    while (call_count() > 0) {
        size_t waiting = inbox_waiting(isolate_inbox(kit.in));
        most = waiting > most ? waiting : most;
        loop_turn(true);
    }
    assert_int_equal(kit.text_bytes, 65536 * 500);
    assert_true(most < 2 * QUEUE_LIMIT);
    free(kit_trace());
}

static void the_child_leaves_when_the_daemon_does(void **unused)
{
    (void)unused;
    pid_t pid = the_child();
    isolate_close();
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    kit.in->number = 0; /* its other half is gone: nothing to close over there */
}

/* ---- files that are no plugin ---- */

static void a_file_that_cannot_be_opened_says_why(void **unused)
{
    (void)unused;
    struct error e = {0};
    assert_null(isolate_open("/nonexistent/contract.so", &e));
    assert_non_null(strstr(e.text, "/nonexistent/contract.so"));
    char *self = realpath("/proc/self/exe", NULL);
    assert_null(isolate_open(self, &e));
    assert_non_null(strstr(e.text, self));
    free(self);
    for (pid_t pid; child_processes(&pid) > 1;)
        loop_turn(true); /* they are waited for */
}

#define CHILD(name)                                                                                \
    {                                                                                              \
#name, name, open_child, close_kit, NULL                                                   \
    }

static unsigned described;

static void on_described(void *arg)
{
    (void)arg;
    described++;
}

static struct plugin *ask_later(const char *file, struct error *e)
{
    CLEANUP(freep)
    char *path = xprintf("%s/tests/plugin/.libs/%s", getenv("CHELA_TEST_BUILDDIR"), file);
    return isolate_open(path, e);
}

static void while_the_loop_runs_nobody_waits_for_a_description(void **unused)
{
    struct error e = {0};
    (void)unused;
    described = 0;
    isolate_describe_later(true);
    isolate_when_described(on_described, NULL);
    assert_null(ask_later("sketch.so", &e));
    assert_int_equal(e.class, CHELA_E_BUSY);
    assert_null(ask_later("no-such-file.so", &e));
    assert_int_equal(e.class, CHELA_E_BUSY);
    assert_null(ask_later("sketch.so", &e)); /* asked again: the same process */
    assert_true(isolate_describing());
    while (described == 0)
        loop_turn(true);
    assert_int_equal(described, 1);
    struct plugin *p = ask_later("sketch.so", &e);
    assert_non_null(p);
    assert_string_equal(p->name, "sketch");
    assert_null(ask_later("no-such-file.so", &e));
    assert_int_not_equal(e.class, CHELA_E_BUSY);
    assert_false(isolate_describing());
    isolate_describe_later(false);
}

int main(int argc, char **argv)
{
    setenv("OPENAI_API_KEY", "sk-must-not-be-seen", 1);
    setenv("LANG", "C.UTF-8", 1);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        CHILD(a_child_describes_its_plugin_as_it_is),
        CHILD(options_cross_without_secrets),
        CHILD(the_environment_holds_nothing_of_ours),
        CHILD(no_descriptor_of_ours_is_open_over_there),
        CHILD(log_and_metrics_arrive_in_the_daemon),
        CHILD(timers_run_over_there),
        CHILD(what_open_refuses_is_told),
        CHILD(a_killed_child_ends_its_calls),
        CHILD(what_it_said_before_it_was_killed_still_counts),
        CHILD(a_child_that_exits_by_itself_is_the_same),
        CHILD(it_can_be_started_again_and_ids_stay_new),
        CHILD(who_floods_does_not_grow_the_daemon),
        CHILD(the_child_leaves_when_the_daemon_does),
        CHILD(a_file_that_cannot_be_opened_says_why),
        CHILD(while_the_loop_runs_nobody_waits_for_a_description),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
