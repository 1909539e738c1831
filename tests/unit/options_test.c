/*
 * Option tables (core/host/options*.c): conversion of every type, mistakes with file, line and
 * nearest name, defaults and inheritance, secrets, the hosts they may go to, and the crossing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/redact.h"
#include "host/options_private.h"
#include "host/settings_private.h"

static struct {
    struct settings settings;
    struct buf errors, warnings;
    struct node *root;
    struct options *options;
} t;

static const struct chela_option rule_items[] = {
    {"model", CHELA_REF, CHELA_REQUIRED, NULL, "who answers", NULL},
    {"patterns", CHELA_LIST, 0, NULL, "words", NULL},
    {"limits.time", CHELA_DURATION, 0, "5s", "", NULL},
    {0},
};

static const struct chela_option presets[] = {
    {"groq", 0, 0, "https://api.groq.com/openai/v1", "Groq", NULL},
    {"deepseek", 0, 0, "https://api.deepseek.com", "DeepSeek", NULL},
    {0},
};

static const struct chela_option table[] = {
    {"text", CHELA_STRING, 0, "none", "a text", NULL},
    {"port", CHELA_INT, CHELA_RELOAD, "18789", "a port", NULL},
    {"on", CHELA_BOOL, 0, "true", "", NULL},
    {"wait", CHELA_DURATION, CHELA_RELOAD, "10s", "", NULL},
    {"size", CHELA_SIZE, 0, "64k", "", NULL},
    {"warmth", CHELA_REAL, 0, NULL, "", NULL},
    {"names", CHELA_LIST, 0, "a, b", "", NULL},
    {"rules", CHELA_ITEMS, 0, NULL, "", rule_items},
    {"preset", CHELA_STRING, CHELA_URL, NULL, "", presets},
    {"url", CHELA_STRING, CHELA_URL, NULL, "", NULL},
    {"api_key", CHELA_STRING, CHELA_SECRET, "${TEST_KEY}", "", NULL},
    {"shown_key", CHELA_STRING, CHELA_SECRET | CHELA_REVEAL, NULL, "", NULL},
    {"auth.mode", CHELA_STRING, 0, NULL, "", NULL},
    {"agents.*.model", CHELA_STRING, 0, "demo/demo", "", NULL},
    {"agents.*.tools", CHELA_LIST, 0, NULL, "", NULL},
    {"old", CHELA_INT, CHELA_DEPRECATED, NULL, "use port", NULL},
    {0},
};

static char *no_variables[] = {NULL};

static void clear(void)
{
    options_release(t.options);
    node_free(t.root);
    buf_free(&t.errors);
    buf_free(&t.warnings);
    for (size_t i = 0; i < t.settings.source_count; i++) {
        free(t.settings.sources[i]->name);
        free(t.settings.sources[i]);
    }
    free(t.settings.sources);
    memset(&t, 0, sizeof t);
}

static int tear_down(void **state)
{
    (void)state;
    clear();
    redact_forget_all();
    return 0;
}

static const char *read_table(const struct chela_option *with, char **environment, const char *text)
{
    clear();
    struct node_source *source = settings_source(&t.settings, "/etc/test.conf", NULL);
    t.root = settings_parse_text(&t.settings, text, source, &t.errors);
    if (t.root) {
        struct options_request request = {.table = with,
                                          .stride = sizeof *with,
                                          .group = t.root,
                                          .prefix = "x",
                                          .environment = environment};
        t.options = options_read(&request, &t.errors, &t.warnings);
    }
    return buf_text(&t.errors);
}

static const char *read_text(const char *text)
{
    return read_table(table, no_variables, text);
}

static void every_type_is_converted(void **state)
{
    (void)state;
    assert_string_equal(
        read_text("text = \"hello\"; port = 80; on = false; wait = \"1m30s\"; size = \"2M\";\n"
                  "warmth = 0.7; names = [\"x\", \"y\", \"z\"]; auth : { mode = \"token\"; };\n"
                  "rules = ( { model = \"a/b\"; patterns = [\"hi\"]; }, { model = \"c\"; } );"),
        "");
    assert_string_equal(options_text(t.options, "text"), "hello");
    assert_string_equal(options_text(t.options, "port"), "80");
    assert_int_equal(options_number(t.options, "port"), 80);
    assert_int_equal(options_number(t.options, "on"), 0);
    assert_string_equal(options_text(t.options, "on"), "0");
    assert_int_equal(options_number(t.options, "wait"), 90000);
    assert_string_equal(options_text(t.options, "wait"), "90000");
    assert_int_equal(options_number(t.options, "size"), 2 << 20);
    assert_string_equal(options_text(t.options, "warmth"), "0.7");
    assert_int_equal(options_number(t.options, "warmth"), 700000);
    assert_int_equal(options_number(t.options, "names"), 3);
    assert_string_equal(options_text(t.options, "names.2"), "z");
    assert_string_equal(options_text(t.options, "auth.mode"), "token");
    assert_int_equal(options_number(t.options, "rules"), 2);
    assert_string_equal(options_text(t.options, "rules.0.patterns.0"), "hi");
    assert_string_equal(options_text(t.options, "rules.1.model"), "c");
    assert_int_equal(options_number(t.options, "rules.1.limits.time"), 5000);
    assert_string_equal(options_origin(t.options, "warmth"), "/etc/test.conf:2");
}

static void what_is_not_said_has_its_default(void **state)
{
    (void)state;
    assert_string_equal(read_text(""), "");
    assert_string_equal(options_text(t.options, "text"), "none");
    assert_int_equal(options_number(t.options, "port"), 18789);
    assert_int_equal(options_number(t.options, "on"), 1);
    assert_int_equal(options_number(t.options, "wait"), 10000);
    assert_int_equal(options_number(t.options, "names"), 2);
    assert_string_equal(options_text(t.options, "names.1"), "b");
    assert_int_equal(options_number(t.options, "rules"), 0);
    assert_false(options_has(t.options, "warmth"));
    assert_false(options_given(t.options, "port"));
    assert_string_equal(options_origin(t.options, "port"), "default");
    assert_string_equal(options_text(t.options, "nowhere"), "");
    assert_int_equal(options_number(NULL, "port"), 0);
}

static void durations_and_sizes_are_read_in_every_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"0", 0},      {"250ms", 250},     {"10s", 10000},   {"5m", 300000},
                {"90", 90000}, {"1h30m", 5400000}, {"1d", 86400000}, {"2w", 1209600000}};
    static const char *const bad[] = {"", "m", "10 s", "-1s", "5x", "1h30", "9999999999d", "1.5s"};
    int64_t ms;
    for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
        assert_true(option_duration(good[i].text, &ms));
        assert_int_equal(ms, good[i].ms);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
        assert_false(option_duration(bad[i], &ms));
    int64_t size;
    assert_true(option_size("10", &size) && size == 10);
    assert_true(option_size("64k", &size) && size == 65536);
    assert_true(option_size("1GiB", &size) && size == 1 << 30);
    assert_true(option_size("3KB", &size) && size == 3072);
    assert_false(option_size("k", &size) || option_size("1X", &size) || option_size("-1", &size));
    assert_false(option_size("99999999999T", &size) || option_size("1 k", &size));
    read_text("wait = 0.25; size = 12;");
    assert_int_equal(options_number(t.options, "wait"), 250);
    assert_int_equal(options_number(t.options, "size"), 12);
}

static void a_mistake_names_file_line_and_the_nearest_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"\n\nprot = 80;", "/etc/test.conf:3: x.prot: unknown option (did you mean \"port\"?)\n"},
        {"auth : { mdoe = \"\"; };",
         "/etc/test.conf:1: x.auth.mdoe: unknown option (did you mean \"mode\"?)\n"},
        {"rules = ( { model = \"m\";\n patern = \"\"; } );",
         "/etc/test.conf:2: x.rules.0.patern: unknown option (did you mean \"patterns\"?)\n"},
        {"auth : { zzzzzz = 1; };",
         "/etc/test.conf:1: x.auth.zzzzzz: unknown option (known here: mode)\n"},
        {"preset = \"grok\";", "/etc/test.conf:1: x.preset: \"grok\" is none of its values (did "
                               "you mean \"groq\"?)\n"},
        {"preset = \"nothing\";", "/etc/test.conf:1: x.preset: \"nothing\" is none of its values: "
                                  "groq, deepseek\n"},
        {"port = \"80\";", "/etc/test.conf:1: x.port: wants a whole number, without quotes, found "
                           "a string \"80\"\n"},
        {"port = 1.5;", "/etc/test.conf:1: x.port: wants a whole number, without quotes, found a "
                        "number with a decimal point\n"},
        {"text = 5;", "/etc/test.conf:1: x.text: wants a string, in quotes, found a number\n"},
        {"on = \"true\";", "/etc/test.conf:1: x.on: wants true or false, without quotes, found a "
                           "string \"true\"\n"},
        {"names = 5;", "/etc/test.conf:1: x.names: wants a list of strings such as [\"a\", "
                       "\"b\"], found a number\n"},
        {"names = [1, 2];", "/etc/test.conf:1: x.names.0: wants a string, in quotes, found a "
                            "number\n/etc/test.conf:1: x.names.1: wants a string, in quotes, "
                            "found a number\n"},
        {"rules = { };",
         "/etc/test.conf:1: x.rules: wants a list of groups such as ( { ... }, { ... } )\n"},
        {"rules = ( \"x\" );",
         "/etc/test.conf:1: x.rules.0: wants a group { ... }, found a string\n"},
        {"rules = ( { } );", "/etc/test.conf:1: x.rules.0.model: missing: who answers\n"},
        {"auth = 1;", "/etc/test.conf:1: x.auth: wants a group { ... }, found a number\n"},
        {"url = \"ftp://host\";", "/etc/test.conf:1: x.url: wants a URL such as "
                                  "\"https://host/path\", found \"ftp://host\"\n"},
        {"api_key = 5;", "/etc/test.conf:1: x.api_key: wants a string, in quotes\n"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_string_equal(read_text(cases[i].text), cases[i].error);
}

static void several_mistakes_are_reported_together(void **state)
{
    (void)state;
    assert_string_equal(
        read_text("prot = 80;\non = 3;\nwait = \"x\";"),
        "/etc/test.conf:1: x.prot: unknown option (did you mean \"port\"?)\n"
        "/etc/test.conf:2: x.on: wants true or false, without quotes, found a number\n"
        "/etc/test.conf:3: x.wait: wants a time such as \"250ms\", \"10s\", \"5m\", \"2h\", \"1d\" "
        "or a number of seconds, found a string \"x\"\n");
}

static void libconfigs_own_traps_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"port = 99999999999;", "/etc/test.conf:1: the number 99999999999 is too large (write an "
                                "L behind it if it is meant)\n"},
        {"\nport = 2147483648;", "/etc/test.conf:2: the number 2147483648 is too large (write an L "
                                 "behind it if it is meant)\n"},
        {"port = 99999999999999999999L;",
         "/etc/test.conf:1: the number 99999999999999999999L is too large\n"},
        {"port = 0x1ffffffff;", "/etc/test.conf:1: the number 0x1ffffffff is too large (write an L "
                                "behind it if it is meant)\n"},
        {"names = [\"a\"]; # \" 99999999999\nport = 1;\nport = 2;",
         "/etc/test.conf:3: \"port\" is set twice, first in line 2\n"},
        {"auth : { mode = \"a\";\n mode = \"b\"; };",
         "/etc/test.conf:2: \"mode\" is set twice, first in line 1\n"},
        {"port = ;", "/etc/test.conf:1: syntax error in this line, or a missing ';' or '}' before "
                     "it\n"},
        {"names = [\"a\", 1];", "/etc/test.conf:1: mismatched element type in array (all values in "
                                "[ ] have one type; use ( ) to mix)\n"},
        {"@include \"not-there\"", "/etc/test.conf:1: cannot open include file (the name is "
                                   "relative to this file's folder; for all files of a folder use "
                                   "conf.d/)\n"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_string_equal(read_text(cases[i].text), cases[i].error);
    assert_string_equal(read_text("size = 9000000000L; text = \"99999999999 \\\" 1\";"), "");
    assert_true(options_number(t.options, "size") == 9000000000);
    assert_string_equal(options_text(t.options, "text"), "99999999999 \" 1");
}

static void variables_are_expanded(void **state)
{
    (void)state;
    char *environment[] = {"HOME=/srv/u", "EMPTY=", "TEST_KEY=abcdefghijkl", NULL};
    assert_string_equal(
        read_table(table, environment, "text = \"${HOME}/x $${HOME} ${NONE:-y} ${EMPTY:-z} $5\";"),
        "");
    assert_string_equal(options_text(t.options, "text"), "/srv/u/x ${HOME} y z $5");
    assert_string_equal(options_text(t.options, "api_key"), "${secret:api_key}");
    assert_string_equal(read_table(table, environment, "\ntext = \"${NONE}\";"),
                        "/etc/test.conf:2: x.text: the environment variable NONE is not set\n");
    assert_string_equal(read_table(table, environment, "text = \"${a b}\";"),
                        "/etc/test.conf:1: x.text: \"${a b}\" names no variable (write $${ for a "
                        "plain ${)\n");
    /* a table's default whose variable isn't set is absent, not a mistake */
    assert_string_equal(read_text(""), "");
    assert_false(options_has(t.options, "api_key"));
}

static void a_required_option_that_is_absent_or_empty_is_missing(void **state)
{
    (void)state;
    static const struct chela_option required[] = {
        {"token", CHELA_STRING, CHELA_REQUIRED | CHELA_SECRET, "${TOKEN}", "the bot's token", NULL},
        {0}};
    assert_string_equal(read_table(required, no_variables, ""),
                        "/etc/test.conf: x.token: missing: the bot's token\n");
    assert_string_equal(read_table(required, no_variables, "token = \"\";"),
                        "/etc/test.conf: x.token: missing: the bot's token\n");
    char *environment[] = {"TOKEN=123456789", NULL};
    assert_string_equal(read_table(required, environment, ""), "");
    /* a wrong one is not also called missing */
    assert_string_equal(read_table(required, no_variables, "token = \"${NOT_SET}\";"),
                        "/etc/test.conf:1: x.token: the environment variable NOT_SET is not set\n");
}

static void a_member_called_defaults_gives_the_others_what_they_do_not_say(void **state)
{
    (void)state;
    assert_string_equal(
        read_text("agents : { defaults : { model = \"a/b\"; tools = [\"x\", \"y\"]; };\n"
                  "main : { }; coder : { model = \"c/d\"; tools = [ ]; }; };"),
        "");
    assert_string_equal(options_text(t.options, "agents.main.model"), "a/b");
    assert_string_equal(options_origin(t.options, "agents.main.model"), "/etc/test.conf:1");
    assert_string_equal(options_text(t.options, "agents.main.tools.1"), "y");
    assert_string_equal(options_text(t.options, "agents.coder.model"), "c/d");
    assert_int_equal(options_number(t.options, "agents.coder.tools"), 0);
    assert_string_equal(options_member(t.options, "agents", 0), "main");
    assert_string_equal(options_member(t.options, "agents", 1), "coder");
    assert_null(options_member(t.options, "agents", 2));
    read_text("agents : { main : { }; };");
    assert_string_equal(options_text(t.options, "agents.main.model"), "demo/demo");
    assert_string_equal(options_text(t.options, "agents.defaults.model"), "demo/demo");
}

static void a_deprecated_option_warns(void **state)
{
    (void)state;
    assert_string_equal(read_text("old = 1;"), "");
    assert_string_equal(buf_text(&t.warnings), "/etc/test.conf:1: x.old: deprecated: use port\n");
}

static void a_secret_is_never_read_as_itself_unless_it_may_be_revealed(void **state)
{
    (void)state;
    struct options_value value;
    read_text("api_key = \"very-secret-1\"; shown_key = \"very-secret-2\";");
    assert_string_equal(options_text(t.options, "api_key"), "${secret:api_key}");
    assert_string_equal(options_text(t.options, "shown_key"), "very-secret-2");
    assert_string_equal(options_secret(t.options, "api_key", NULL), "very-secret-1");
    assert_null(options_secret(t.options, "text", NULL));
    for (size_t at = 0; options_next(t.options, &at, &value);)
        assert_null(strstr(value.text, "very-secret"));
    struct chela_pair *pairs;
    size_t n = options_pairs(t.options, &pairs);
    for (size_t i = 0; i < n; i++)
        assert_null(strstr(pairs[i].value.s, "very-secret-1"));
    free(pairs);
    struct buf line = {0};
    redact(&line, "key very-secret-1!", 18);
    assert_string_equal(buf_text(&line), "key ***!");
    buf_free(&line);
}

static void secrets_come_from_files_and_credentials(void **state)
{
    (void)state;
    char folder[] = "/tmp/chela-options-XXXXXX";
    assert_non_null(mkdtemp(folder));
    CLEANUP(freep) char *path = xprintf("%s/token", folder);
    FILE *file = fopen(path, "w");
    fputs("from-the-file\n", file);
    fclose(file);
    CLEANUP(freep) char *credentials = xprintf("CREDENTIALS_DIRECTORY=%s", folder);
    char *environment[] = {credentials, NULL};
    CLEANUP(freep)
    char *text = xprintf("api_key = \"file:%s\"; shown_key = \"credential:token\";", path);
    assert_string_equal(read_table(table, environment, text), "");
    assert_string_equal(options_secret(t.options, "api_key", NULL), "from-the-file");
    assert_string_equal(options_text(t.options, "shown_key"), "from-the-file");
    read_table(table, environment, "api_key = \"credential:../token\";");
    assert_non_null(strstr(buf_text(&t.errors), "is not a credential's name"));
    read_table(table, environment, "api_key = \"file:/nowhere/at-all\";");
    assert_non_null(strstr(buf_text(&t.errors), "/nowhere/at-all: No such file"));
    read_table(table, environment, "api_key = \"file:/dev/zero\";");
    assert_non_null(strstr(buf_text(&t.errors), "is not a regular file"));
    unlink(path);
    rmdir(folder);
}

static void secrets_are_filled_in(void **state)
{
    (void)state;
    struct buf out = {0};
    struct error e;
    read_text("api_key = \"k-12345678\";");
    assert_int_equal(options_fill(t.options, chela_s("Bearer ${secret:api_key}!"), 0, &out, &e), 0);
    assert_string_equal(buf_text(&out), "Bearer k-12345678!");
    assert_true(options_wants_secret(chela_s("x${secret:api_key}")));
    assert_false(options_wants_secret(chela_s("${HOME}")));
    assert_int_equal(options_fill(t.options, chela_s("${secret:text}"), 0, &out, &e), -1);
    assert_int_equal(options_fill(t.options, chela_s("${secret:api_key"), 0, &out, &e), -1);
    buf_free(&out);
}

static void secrets_go_only_to_hosts_that_the_options_name(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool allowed;
    } cases[] = {
        {"https://api.example.com/v1/x", true},
        {"https://API.example.com:443/", true},
        {"wss://api.example.com/socket", true},
        {"https://api.groq.com/openai/v1/chat", true},
        {"http://api.example.com/v1/x", false},
        {"https://api.example.com:8443/", false},
        {"https://api.example.com.evil.net/", false},
        {"https://api.example.com@evil.net/", false},
        {"https://evil.net/https://api.example.com/", false},
        {"https://evil.net\\@api.example.com/", false},
        {"https://api.deepseek.com/", false},
        {"file:///etc/passwd", false},
        {"", false},
    };
    assert_string_equal(read_text("url = \"https://api.example.com/v1\"; preset = \"groq\";"), "");
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_int_equal(options_url_allowed(t.options, cases[i].url), cases[i].allowed);
}

static void a_child_reads_the_same(void **state)
{
    (void)state;
    read_text("wait = \"2s\"; text = \" a b\"; rules = ( { model = \"m\"; } ); api_key = \"s\";");
    struct chela_pair *pairs;
    size_t n = options_pairs(t.options, &pairs);
    struct options *copy = options_from_pairs(pairs, n);
    struct options_value value;
    for (size_t at = 0; options_next(t.options, &at, &value);) {
        assert_string_equal(options_text(copy, value.path), options_text(t.options, value.path));
        assert_int_equal(options_number(copy, value.path), options_number(t.options, value.path));
    }
    options_release(copy);
    free(pairs);
}

static void a_comparison_names_what_changed(void **state)
{
    (void)state;
    struct buf changed = {0};
    bool reloadable;
    read_text("wait = \"2s\"; text = \"a\";");
    struct options *before = options_hold(t.options);
    read_text("wait = \"3s\"; text = \"a\"; port = 5;");
    options_compare(before, t.options, &changed, &reloadable);
    assert_string_equal(buf_text(&changed), "wait, port");
    assert_true(reloadable);
    buf_clear(&changed);
    read_text("wait = \"2s\"; text = \"b\";");
    options_compare(before, t.options, &changed, &reloadable);
    assert_string_equal(buf_text(&changed), "text");
    assert_false(reloadable);
    options_release(before);
    buf_free(&changed);
}

static void tables_with_a_longer_stride_are_read(void **state)
{
    (void)state;
    static const struct {
        struct chela_option option;
        const char *later;
    } longer[] = {{{"first", CHELA_INT, 0, "1", "", NULL}, "new"},
                  {{"second", CHELA_INT, 0, "2", "", NULL}, "new"},
                  {{0}, NULL}};
    struct options_request request = {.table = &longer[0].option, .stride = sizeof longer[0]};
    t.options = options_read(&request, &t.errors, NULL);
    assert_int_equal(options_number(t.options, "first"), 1);
    assert_int_equal(options_number(t.options, "second"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_type_is_converted, tear_down),
        cmocka_unit_test_teardown(what_is_not_said_has_its_default, tear_down),
        cmocka_unit_test_teardown(durations_and_sizes_are_read_in_every_unit, tear_down),
        cmocka_unit_test_teardown(a_mistake_names_file_line_and_the_nearest_name, tear_down),
        cmocka_unit_test_teardown(several_mistakes_are_reported_together, tear_down),
        cmocka_unit_test_teardown(libconfigs_own_traps_are_errors, tear_down),
        cmocka_unit_test_teardown(variables_are_expanded, tear_down),
        cmocka_unit_test_teardown(a_required_option_that_is_absent_or_empty_is_missing, tear_down),
        cmocka_unit_test_teardown(a_member_called_defaults_gives_the_others_what_they_do_not_say,
                                  tear_down),
        cmocka_unit_test_teardown(a_deprecated_option_warns, tear_down),
        cmocka_unit_test_teardown(a_secret_is_never_read_as_itself_unless_it_may_be_revealed,
                                  tear_down),
        cmocka_unit_test_teardown(secrets_come_from_files_and_credentials, tear_down),
        cmocka_unit_test_teardown(secrets_are_filled_in, tear_down),
        cmocka_unit_test_teardown(secrets_go_only_to_hosts_that_the_options_name, tear_down),
        cmocka_unit_test_teardown(a_child_reads_the_same, tear_down),
        cmocka_unit_test_teardown(a_comparison_names_what_changed, tear_down),
        cmocka_unit_test_teardown(tables_with_a_longer_stride_are_read, tear_down),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
