/*
 * The plugin exec against the host of the test kit, which plays the processes: front and
 * background, what an approval binds, what may be allowed for always, confinement by risk. Each
 * test runs directly and through the encoder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <json-c/json_tokener.h>
#include <kit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/json.h"

extern const struct chela_plugin tool_exec_LTX_chela_plugin;

static char workspace[64];
static struct kit *k;
static bool encoded;
static uint64_t last_run;

static int set_up(void **state)
{
    encoded = *state != NULL;
    snprintf(workspace, sizeof workspace, "/tmp/chela-exec-XXXXXX");
    return mkdtemp(workspace) ? 0 : -1;
}

static void put(const char *name, const char *text, mode_t mode)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", workspace, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static int tear_down(void **state)
{
    char path[200];
    static const char *const names[] = {"script", "tool", "moved/tool", "moved", "rules"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", workspace, names[i]);
        if (unlink(path) != 0)
            rmdir(path);
    }
    return rmdir(workspace);
}

static void begin(const struct chela_pair *options, size_t n)
{
    struct kit_setup setup = {.plugin = &tool_exec_LTX_chela_plugin,
                              .options = options,
                              .option_count = n,
                              .encoded = encoded};
    k = kit_open(&setup);
    assert_non_null(k);
    kit_start(k);
    kit_clear(k);
}

#define OPTION(key, text)                                                                          \
    {                                                                                              \
        CHELA_LIT(key), CHELA_LIT(text)                                                            \
    }

static void begin_plain(void)
{
    static const struct chela_pair options[] = {OPTION("bubblewrap", "false")};
    begin(options, 1);
}

static void end(void)
{
    assert_int_equal(kit_close(k), 0);
}

static void fill(struct chela_tool_run *a, const char *tool, const char *session,
                 const char *arguments, const char *binding)
{
    a->name = chela_s(tool);
    a->arguments = chela_s(arguments);
    a->call_id = chela_s("c");
    a->agent = chela_s("main");
    a->session = chela_s(session);
    a->workspace = chela_s(workspace);
    a->source = chela_s("{}");
    a->binding = chela_s(binding);
}

static void run_as(const char *session, const char *tool, const char *arguments,
                   const char *binding)
{
    CHELA_ARGS(chela_tool_run, a, 0);
    kit_clear(k);
    fill(&a, tool, session, arguments, binding);
    last_run = kit_call(k, CHELA_FN_TOOL_RUN, &a);
}

static void run(const char *tool, const char *arguments)
{
    run_as("s", tool, arguments, "");
}

/* The verdict's extra, or NULL with the reason in the trace. */
static json_object *prepare_as(const char *session, const char *tool, const char *arguments)
{
    CHELA_ARGS(chela_tool_run, a, 0);
    json_object *extra = NULL;
    kit_clear(k);
    fill(&a, tool, session, arguments, "");
    kit_call(k, CHELA_FN_TOOL_PREPARE, &a);
    const char *trace = kit_trace(k), *at = strstr(trace, "extra=\"");
    if (!at)
        return NULL;
    /* the trace quotes as JSON does */
    const char *end = at + 7;
    while (*end && *end != '"')
        end += 1 + (*end == '\\' && end[1]);
    json_object *text = NULL;
    assert_int_equal(chela_json_parse(at + 6, (size_t)(end + 1 - at - 6), NULL, &text, NULL), 0);
    const char *json = chela_json_as_string(text, NULL);
    assert_int_equal(chela_json_parse(json, strlen(json), NULL, &extra, NULL), 0);
    json_object_put(text);
    return extra;
}

static json_object *prepare(const char *arguments)
{
    return prepare_as("s", "exec", arguments);
}

static void print(const char *text)
{
    const struct chela_spawn *spawn = kit_request(k, CHELA_FN_SPAWN);
    CHELA_ARGS(chela_output, o, 0);
    assert_non_null(spawn);
    o.stream = 1;
    o.data = chela_s(text);
    kit_tell(k, spawn->h.call, CHELA_FN_OUTPUT, &o);
}

static void exits(const char *extra, uint32_t error)
{
    const struct chela_spawn *spawn = kit_request(k, CHELA_FN_SPAWN);
    CHELA_ARGS(chela_done, d, 0);
    assert_non_null(spawn);
    d.error = error;
    d.extra = chela_s(extra);
    kit_answer(k, spawn->h.call, &d);
}

static void expect_answer(const char *part)
{
    const struct chela_done *d = kit_done(k);
    assert_non_null(d);
    if (!strstr(d->text.s, part))
        fail_msg("\"%s\" is not in \"%s\"", part, d->text.s);
}

/* ---- front and background ---- */

static void a_command_in_front_answers_with_what_it_printed(void **state)
{
    (void)state;
    begin_plain();
    run("exec", "{\"command\":\"ls\"}");
    const struct chela_spawn *spawn = kit_request(k, CHELA_FN_SPAWN);
    assert_int_equal(spawn->h.flags, CHELA_PTY);
    assert_string_equal(spawn->arguments.v[2].value.s, "ls");
    print("one\r\n");
    print("two\r\n");
    exits("{\"pid\":1,\"exit\":2}", CHELA_OK);
    expect_answer("one\ntwo\n[exit code 2]");
    assert_int_equal(kit_done(k)->h.flags, 0);
    run("process", "{\"action\":\"list\"}");
    expect_answer("no command runs in the background");
    end();
}

static void what_takes_longer_than_yield_goes_on_beside(void **state)
{
    (void)state;
    begin_plain();
    run("exec", "{\"command\":\"ls\",\"yieldMs\":500}");
    print("begun\r\n");
    kit_advance(k, 499);
    assert_null(kit_done(k));
    kit_advance(k, 1);
    expect_answer("begun\n[it goes on in the background as session s1;");
    run("process", "{\"action\":\"poll\",\"timeout\":1000,\"until\":\"more\"}");
    print("more\r\n");
    expect_answer("[session s1, running for 0 s: ls]\nbegun\nmore\n");
    run("process", "{\"action\":\"log\",\"offset\":2,\"limit\":6}");
    expect_answer("bytes 2 to 8 of 13]\ngun\r\nm");
    run("process", "{\"action\":\"poll\",\"timeout\":1000,\"until\":\"never\"}");
    exits("{\"pid\":1,\"exit\":0}", CHELA_OK);
    expect_answer("[session s1, exit code 0: ls]");
    run("process", "{\"action\":\"write\",\"text\":\"x\"}");
    expect_answer("session s1 has ended");
    end();
}

static void the_configured_yield_holds_and_zero_means_never(void **state)
{
    (void)state;
    begin_plain();
    run("exec", "{\"command\":\"ls\"}");
    kit_advance(k, 10000);
    expect_answer("background as session s1");
    run("exec", "{\"command\":\"ls\",\"yieldMs\":0}");
    uint64_t call = last_run;
    kit_advance(k, 3600000);
    assert_null(strstr(kit_trace(k), "done"));
    kit_cancel(k, call);
    end();
}

static void an_abort_ends_the_command_in_front_and_only_the_wait_behind(void **state)
{
    (void)state;
    begin_plain();
    run("exec", "{\"command\":\"ls\"}");
    print("half");
    kit_cancel(k, last_run);
    assert_non_null(strstr(kit_trace(k), "cancel"));
    assert_int_equal(kit_done(k)->error, CHELA_E_CANCELLED);
    expect_answer("half");
    run("exec", "{\"command\":\"ls\",\"background\":true}");
    run("process", "{\"action\":\"poll\",\"until\":\"x\"}");
    kit_cancel(k, last_run);
    assert_int_equal(kit_done(k)->error, CHELA_E_CANCELLED);
    expect_answer("the command goes on");
    assert_non_null(kit_request(k, CHELA_FN_SPAWN));
    end();
}

static void a_conversation_sees_its_own_commands_only(void **state)
{
    (void)state;
    begin_plain();
    run("exec", "{\"command\":\"ls\",\"background\":true}");
    run_as("other", "process", "{\"action\":\"list\"}", "");
    expect_answer("no command runs");
    run_as("other", "process", "{\"action\":\"kill\",\"sessionId\":\"s1\"}", "");
    expect_answer("no command in the background has the id s1");
    end();
}

/* ---- risk and approval ---- */

static void typing_is_as_risky_as_what_is_typed_into(void **state)
{
    static const struct {
        const char *command, *risk;
    } cases[] = {{"cat", "low"}, {"less x", "medium"}, {"vim x", "high"}, {"bash", "high"}};
    (void)state;
    begin_plain();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char arguments[100];
        snprintf(arguments, sizeof arguments, "{\"command\":\"%s\",\"background\":true}",
                 cases[i].command);
        run("exec", arguments);
        json_object *o =
            prepare_as("s", "process", "{\"action\":\"send-keys\",\"keys\":[\"x\",\"Enter\"]}");
        assert_string_equal(chela_json_string(o, "risk", NULL), cases[i].risk);
        assert_non_null(strstr(chela_json_string(o, "summary", NULL), "[\"x\",\"Enter\"]"));
        json_object_put(o);
        o = prepare_as("s", "process", "{\"action\":\"poll\"}");
        assert_string_equal(chela_json_string(o, "risk", NULL), "low");
        json_object_put(o);
    }
    /* what was asked about s4 isn't typed into s5 */
    run("exec", "{\"command\":\"bash\",\"background\":true}");
    run_as("s", "process", "{\"action\":\"write\",\"text\":\"x\"}", "s4");
    assert_int_equal(kit_done(k)->error, CHELA_E_DENIED);
    end();
}

/* Runs with the binding that prepare gave before `change` happened; true if it was refused. */
static bool refused_after(const char *arguments, void (*change)(void))
{
    json_object *o = prepare(arguments);
    char *binding = strdup(chela_json_string(o, "binding", NULL));
    json_object_put(o);
    if (change)
        change();
    run_as("s", "exec", arguments, binding);
    free(binding);
    bool refused = kit_done(k) && kit_done(k)->error == CHELA_E_DENIED;
    if (refused)
        expect_answer("has changed since it was approved");
    else
        kit_cancel(k, last_run);
    return refused;
}

static void change_script(void)
{
    put("script", "rm -rf /\n", 0600);
}

/* The same size and times, other bytes. */
static void change_quietly(void)
{
    char path[200];
    struct stat st;
    snprintf(path, sizeof path, "%s/tool", workspace);
    assert_int_equal(stat(path, &st), 0);
    put("tool", "#!/bin/sh\nls 2\n", 0700);
    struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void move_tool(void)
{
    char from[200], to[200];
    snprintf(from, sizeof from, "%s/tool", workspace);
    snprintf(to, sizeof to, "%s/moved", workspace);
    assert_int_equal(mkdir(to, 0700), 0);
    put("moved/tool", "#!/bin/sh\nls 2\n", 0700);
    snprintf(to, sizeof to, "moved/tool");
    assert_int_equal(unlink(from), 0);
    assert_int_equal(symlink(to, from), 0);
}

static void remove_tool(void)
{
    char path[200];
    snprintf(path, sizeof path, "%s/tool", workspace);
    assert_int_equal(unlink(path), 0);
}

static void what_changed_since_the_approval_is_refused(void **state)
{
    (void)state;
    begin_plain();
    put("script", "ls\n", 0600);
    put("tool", "#!/bin/sh\nls 1\n", 0700);
    assert_false(refused_after("{\"command\":\"sh script\"}", NULL));
    assert_true(refused_after("{\"command\":\"sh script\"}", change_script));
    assert_false(refused_after("{\"command\":\"./tool x\"}", NULL));
    assert_true(refused_after("{\"command\":\"./tool x\"}", change_quietly));
    assert_true(refused_after("{\"command\":\"./tool x\"}", move_tool));
    assert_true(refused_after("{\"command\":\"./tool x\"}", remove_tool));
    /* another line, folder or variable is another call */
    json_object *o = prepare("{\"command\":\"sh script\"}");
    const char *binding = chela_json_string(o, "binding", NULL);
    run_as("s", "exec", "{\"command\":\"sh script \"}", binding);
    assert_int_equal(kit_done(k)->error, CHELA_E_DENIED);
    run_as("s", "exec", "{\"command\":\"sh script\",\"env\":{\"X\":\"1\"}}", binding);
    assert_int_equal(kit_done(k)->error, CHELA_E_DENIED);
    json_object_put(o);
    end();
}

static void always_is_offered_for_known_words_of_known_programs_only(void **state)
{
    static const struct {
        const char *command, *kind; /* NULL: not offered */
    } cases[] = {
        {"touch x", "/touch x"}, {"touch x && mkdir y", "/touch x\n"},
        {"touch x > y", NULL},   {"touch $x", NULL},
        {"touch $(ls)", NULL},   {"A=b touch x", NULL},
        {"env touch x", NULL},   {"sh -c 'touch x'", NULL},
        {"sh script", NULL},     {"rm -rf x", NULL},
        {"./tool", NULL},        {"echo x", NULL}, /* no file stands behind it */
        {"touch 'a\\nb'", NULL},
    };
    (void)state;
    begin_plain();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char arguments[200];
        snprintf(arguments, sizeof arguments, "{\"command\":\"%s\"}", cases[i].command);
        json_object *o = prepare(arguments);
        const char *kind = chela_json_string(o, "kind", NULL);
        assert_true(chela_json_has(o, "kind"));
        if (!kind != !cases[i].kind || (kind && !strstr(kind, cases[i].kind)))
            fail_msg("%s: %s", cases[i].command, kind ? kind : "not offered");
        json_object_put(o);
    }
    end();
}

static void variables_that_choose_programs_are_refused(void **state)
{
    (void)state;
    begin_plain();
    assert_null(prepare("{\"command\":\"ls\",\"env\":{\"LD_PRELOAD\":\"x\"}}"));
    assert_null(prepare("{\"command\":\"ls\",\"env\":{\"PATH\":\"x\"}}"));
    assert_null(prepare("{\"command\":\"ls\",\"workdir\":\"..\"}"));
    assert_non_null(strstr(kit_trace(k), "outside of the workspace"));
    json_object *o = prepare("{\"command\":\"ls\",\"timeoutSeconds\":5}");
    assert_non_null(strstr(kit_trace(k), "\\\"timeout\\\":5"));
    json_object_put(o);
    end();
}

/* ---- configuration ---- */

static uint32_t confinement(const char *command)
{
    char arguments[100];
    snprintf(arguments, sizeof arguments, "{\"command\":\"%s\"}", command);
    run("exec", arguments);
    const struct chela_spawn *spawn = kit_request(k, CHELA_FN_SPAWN);
    assert_non_null(spawn);
    uint32_t bits = spawn->confine;
    exits("{\"pid\":1,\"exit\":0}", CHELA_OK);
    return bits;
}

static void each_risk_has_its_confinement(void **state)
{
    (void)state;
    begin_plain();
    assert_int_equal(confinement("ls"), CHELA_CONFINE_READ_ONLY | CHELA_CONFINE_NO_NET);
    assert_int_equal(confinement("touch x"), CHELA_CONFINE_WORKSPACE);
    assert_int_equal(confinement("rm -rf x"), CHELA_CONFINE_NONE);
    end();
    static const struct chela_pair options[] = {
        OPTION("bubblewrap", "false"),
        OPTION("medium", "no-network"),
        OPTION("agents", "1"),
        OPTION("agents.0.name", "main"),
        OPTION("agents.0.high", "workspace-no-network"),
    };
    begin(options, sizeof options / sizeof options[0]);
    assert_int_equal(confinement("touch x"), CHELA_CONFINE_NO_NET);
    assert_int_equal(confinement("rm -rf x"), CHELA_CONFINE_WORKSPACE | CHELA_CONFINE_NO_NET);
    end();
}

static void bubblewrap_is_used_where_it_works(void **state)
{
    (void)state;
    if (access("/usr/bin/bwrap", X_OK) != 0)
        skip();
    begin(NULL, 0);
    run("exec", "{\"command\":\"ls\"}");
    const struct chela_spawn *spawn = kit_request(k, CHELA_FN_SPAWN);
    assert_int_equal(kit_open_requests(k), 1); /* the look whether it works comes first */
    assert_string_equal(spawn->arguments.v[0].value.s, "/usr/bin/bwrap");
    exits("{\"pid\":1,\"exit\":0}", CHELA_OK);
    spawn = kit_request(k, CHELA_FN_SPAWN);
    assert_string_equal(spawn->arguments.v[0].value.s, "/usr/bin/bwrap");
    assert_string_equal(spawn->arguments.v[spawn->arguments.n - 1].value.s, "ls");
    assert_int_equal(spawn->confine, CHELA_CONFINE_NO_NET);
    exits("{\"pid\":1,\"exit\":0}", CHELA_OK);
    end();
    begin(NULL, 0);
    run("exec", "{\"command\":\"ls\"}");
    exits("{\"pid\":1,\"exit\":1}", CHELA_OK); /* no user namespaces here */
    spawn = kit_request(k, CHELA_FN_SPAWN);
    assert_string_equal(spawn->arguments.v[0].value.s, "/bin/sh");
    assert_int_equal(spawn->confine, CHELA_CONFINE_READ_ONLY | CHELA_CONFINE_NO_NET);
    exits("{\"pid\":1,\"exit\":0}", CHELA_OK);
    end();
}

static const char *risk_of(const char *command)
{
    static char risk[16];
    char arguments[100];
    snprintf(arguments, sizeof arguments, "{\"command\":\"%s\"}", command);
    json_object *o = prepare(arguments);
    snprintf(risk, sizeof risk, "%s", chela_json_string(o, "risk", NULL));
    json_object_put(o);
    return risk;
}

static void an_admin_extends_the_risk_table_in_the_configuration(void **state)
{
    char path[200];
    (void)state;
    put("rules", "# ours\nls medium -- not here\n", 0600);
    snprintf(path, sizeof path, "%s/rules", workspace);
    const struct chela_pair options[] = {OPTION("bubblewrap", "false"),
                                         {CHELA_LIT("rules_file"), chela_s(path)},
                                         OPTION("rules", "1"),
                                         OPTION("rules.0", "touch high -- never")};
    begin(options, 4);
    assert_string_equal(risk_of("ls"), "medium");
    assert_string_equal(risk_of("touch x"), "high");
    assert_string_equal(risk_of("cat x"), "low");
    end();
    put("rules", "# ours\nls\n", 0600);
    struct kit_setup setup = {
        .plugin = &tool_exec_LTX_chela_plugin, .options = options, .option_count = 4};
    k = kit_open(&setup);
    CHELA_ARGS(chela_arg, a, 0);
    kit_call(k, CHELA_FN_START, &a);
    expect_answer("/rules: line 2: expected");
    end();
}

#define BOTH(name) KIT_TWICE(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_command_in_front_answers_with_what_it_printed),
        BOTH(what_takes_longer_than_yield_goes_on_beside),
        BOTH(the_configured_yield_holds_and_zero_means_never),
        BOTH(an_abort_ends_the_command_in_front_and_only_the_wait_behind),
        BOTH(a_conversation_sees_its_own_commands_only),
        BOTH(typing_is_as_risky_as_what_is_typed_into),
        BOTH(what_changed_since_the_approval_is_refused),
        BOTH(always_is_offered_for_known_words_of_known_programs_only),
        BOTH(variables_that_choose_programs_are_refused),
        BOTH(each_risk_has_its_confinement),
        BOTH(bubblewrap_is_used_where_it_works),
        BOTH(an_admin_extends_the_risk_table_in_the_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
