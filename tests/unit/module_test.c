/*
 * The loader (core/host/module*.c): plugins that must be refused, each with file, wanted, found and
 * fix, and never a crash; older and newer ones that must not; built-in ones. The files are made
 * from tests/plugin/bad/bad.c.
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
#include "host/module.h"
#include "host/options.h"

extern const char tool_twin_a_LTX_chela_plugin, tool_twin_b_LTX_chela_plugin;
static const struct module_builtin twins[] = {
    {"@PROGRAM@", NULL},
    {"tool_twin_a.a", NULL},
    {"tool_twin_a_LTX_chela_plugin", (void *)&tool_twin_a_LTX_chela_plugin},
    {"tool_twin_b.a", NULL},
    {"tool_twin_b_LTX_chela_plugin", (void *)&tool_twin_b_LTX_chela_plugin},
    {NULL, NULL},
};

static char folder[64];

static const char *build_dir(void)
{
    const char *set = getenv("CHELA_TEST_BUILDDIR");
    return set ? set : ".";
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/chela-module-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* A copy in the test's own folder, whose modes the test may change. Free it. */
static char *copy(const char *name, const char *as)
{
    CLEANUP(freep) char *from = xprintf("%s/tests/plugin/bad/%s.so", build_dir(), name);
    char *to = xprintf("%s/%s.so", folder, as), bytes[65536];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    size_t n;
    assert_non_null(in);
    assert_non_null(out);
    while ((n = fread(bytes, 1, sizeof bytes, in)) > 0)
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    fclose(out);
    assert_int_equal(chmod(to, 0644), 0);
    return to;
}

/* Opens it and takes the copy away; NULL and what was said, behind the file's name. */
static struct plugin *open_copy(const char *name, const char **ret_text)
{
    static struct error e;
    CLEANUP(freep) char *path = copy(name, name);
    struct plugin *p = module_open(path, &e);
    unlink(path);
    *ret_text = "";
    if (!p) {
        size_t n = strlen(path);
        assert_memory_equal(e.text, path, n);
        assert_memory_equal(e.text + n, ": ", 2);
        *ret_text = e.text + n + 2;
    }
    return p;
}

static void each_bad_plugin_is_refused_with_wanted_found_and_fix(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"bad_symbol", "wanted the symbol bad_symbol_LTX_chela_plugin, found none; fix: it is not "
                       "a plugin of Chela, or CHELA_PLUGIN(bad_symbol, ...) is missing or hidden"},
        {"bad_magic", "wanted a descriptor that begins with \"CHLA\" (0x414c4843), found "
                      "0x12345678; fix: define it by CHELA_PLUGIN()"},
        {"bad_major", "wanted a plugin of SDK 0.x, found one of SDK 7.10; fix: rebuild it with the "
                      "headers of this version (chela-sdk)"},
        {"bad_short", "wanted a descriptor of at least 64 bytes, found one of 24 bytes; fix: "
                      "rebuild it with the headers of this version (chela-sdk)"},
        {"bad_need", "wanted a plugin of SDK 0.x, found one that needs SDK 0.99 or newer (this is "
                     "0.10); fix: upgrade chela, or install an older version of the plugin"},
        {"bad_null", "wanted the plugin's summary as text, found NULL; fix: give CHELA_PLUGIN() "
                     "all of its texts (\"\" is fine for origin)"},
        {"bad_utf8", "wanted the plugin's summary as text, found bytes without an end, or not "
                     "UTF-8; fix: give CHELA_PLUGIN() all of its texts (\"\" is fine for origin)"},
        {"bad_name",
         "wanted the name \"bad_name\" like the file's, found \"tool_other\"; fix: name "
         "file and module alike"},
        {"bad_no_iface",
         "wanted at least one interface, found none; fix: name one in CHELA_PLUGIN()"},
        {"bad_null_ifaces",
         "wanted at least one interface, found none; fix: name one in CHELA_PLUGIN()"},
        {"bad_iface_size", "wanted an interface of at least 40 bytes, found one of 16 bytes; fix: "
                           "begin it with CHELA_IFACE()"},
        {"bad_type", "wanted a type of a-z, 0-9, '_', '-' and '.', found No Type; fix: rename the "
                     "type"},
        {"bad_type_null", "wanted an interface with type and summary, found NULL; fix: begin it "
                          "with CHELA_IFACE()"},
        {"bad_type_twice", "wanted types of different names, found clock; fix: rename one of the "
                           "two"},
        {"bad_role", "wanted an interface with a role (channel, provider, router, tool ...), found "
                     "none in the type \"clock\"; fix: let one of its role pointers lead to a "
                     "table"},
        {"bad_table", "wanted a role's table with its size in front, found one that says its size "
                      "is 4; fix: set .size = sizeof the table"},
        {"bad_option_size", "wanted an option_size of at least 40, found 8; fix: begin the "
                            "interface with CHELA_IFACE()"},
        {"bad_option_type", "wanted a table of options for the type \"clock\", found \"strange\" "
                            "with a type that this version doesn't know; fix: correct the table, "
                            "see chela/plugin.h"},
        {"bad_option_name", "wanted a table of options for the type \"clock\", found \"no/name\" "
                            "with a name that a configuration can't hold; fix: correct the table, "
                            "see chela/plugin.h"},
        {"bad_option_twice", "wanted a table of options for the type \"clock\", found \"city\" "
                             "with the same name twice; fix: correct the table, see "
                             "chela/plugin.h"},
        {"bad_option_own", "wanted a table of options for the type \"clock\", found \"enabled\" "
                           "with a name that is the host's (type, plugin, name, enabled); fix: "
                           "correct the table, see chela/plugin.h"},
        {"bad_option_items", "wanted a table of options for the type \"clock\", found \"list\" "
                             "with CHELA_ITEMS without items; fix: correct the table, see "
                             "chela/plugin.h"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *text;
        assert_null(open_copy(cases[i].name, &text));
        assert_string_equal(text, cases[i].text);
    }
}

static void an_undefined_symbol_is_found_at_opening_and_named(void **state)
{
    (void)state;
    const char *text;
    assert_null(open_copy("bad_undefined", &text));
    assert_non_null(strstr(text, "undefined symbol: chela_test_that_nobody_defines"));
    assert_non_null(strstr(text, "; fix: build it with the flags of chela-sdk.pc"));
}

static void a_file_that_is_no_library_says_so(void **state)
{
    (void)state;
    struct error e;
    CLEANUP(freep) char *path = xprintf("%s/tool_text.so", folder);
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 100; i++)
        fputs("not a library at all\n", file);
    fclose(file);
    assert_null(module_open(path, &e));
    assert_non_null(strstr(e.text, "invalid ELF header; fix: it is not a shared library at all"));
    unlink(path);
    assert_null(module_open(path, &e));
    assert_int_equal(e.class, CHELA_E_NOT_FOUND);
    assert_non_null(strstr(e.text, "found: No such file or directory; fix: install it"));
    mkdir(path, 0700);
    assert_null(module_open(path, &e));
    assert_non_null(strstr(e.text, "found something that is no regular file"));
    rmdir(path);
}

static void a_renamed_file_is_recognised(void **state)
{
    (void)state;
    struct error e;
    CLEANUP(freep) char *path = copy("good_plain", "tool_new_name");
    assert_null(module_open(path, &e));
    assert_non_null(strstr(e.text,
                           "wanted the symbol tool_new_name_LTX_chela_plugin, found "
                           "good_plain_LTX_chela_plugin; fix: the file was renamed, call it "
                           "good_plain.so again"));
    unlink(path);
}

static void what_others_may_write_is_refused_before_its_code_can_run(void **state)
{
    (void)state;
    struct error e;
    CLEANUP(freep) char *path = copy("bad_constructor", "bad_constructor");
    unsetenv("CHELA_TEST_CONSTRUCTOR_RAN");
    chmod(path, 0646);
    assert_null(module_open(path, &e));
    assert_non_null(strstr(e.text, "wanted a file that only its owner may write to, found mode "
                                   "0646; fix: chmod go-w "));
    chmod(path, 0644);
    chmod(folder, 0777);
    assert_null(module_open(path, &e));
    assert_non_null(strstr(e.text, "wanted a folder that only its owner may write to, found "));
    chmod(folder, 01777); /* sticky keeps what is there, not what is put there first */
    assert_null(module_open(path, &e));
    chmod(folder, 0700);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, 0), 0);
        assert_null(module_open(path, &e));
        assert_non_null(strstr(e.text, "found one of user 12345"));
        assert_int_equal(chown(path, 0, 0), 0);
    }
    assert_null(getenv("CHELA_TEST_CONSTRUCTOR_RAN"));
    struct plugin *p = module_open(path, &e);
    assert_non_null(p);
    assert_non_null(getenv("CHELA_TEST_CONSTRUCTOR_RAN"));
    module_free(p);
    unlink(path);
}

static void only_absolute_paths_of_good_names_are_opened(void **state)
{
    (void)state;
    struct error e;
    assert_null(module_open("./tool_clock.so", &e));
    assert_non_null(strstr(e.text, "wanted an absolute path that ends in .so"));
    assert_null(module_open("/usr/lib/tool_clock.la", &e));
    assert_null(module_open("/usr/lib/Tool-Clock.so", &e));
    assert_non_null(strstr(e.text, "wanted a file name of a-z, 0-9 and _"));
    /* a bare name is a built-in plugin or nothing, whatever libltdl's own variable says */
    CLEANUP(freep) char *bad = xprintf("%s/tests/plugin/bad", build_dir());
    setenv("LTDL_LIBRARY_PATH", bad, 1);
    assert_null(module_open("good_plain", &e));
    assert_int_equal(e.class, CHELA_E_NOT_FOUND);
    unsetenv("LTDL_LIBRARY_PATH");
}

static void a_good_plugin_is_copied(void **state)
{
    (void)state;
    const char *text;
    struct plugin *p = open_copy("good_plain", &text);
    assert_string_equal(text, "");
    assert_string_equal(p->name, "good_plain");
    assert_string_equal(p->version, "1.2");
    assert_int_equal(p->type_count, 1);
    assert_string_equal(p->types[0].iface.type, "clock");
    assert_int_equal(p->types[0].roles, 1u << ROLE_TOOL);
    assert_ptr_equal(p->types[0].iface.tool, &p->types[0].tool);
    assert_non_null(p->types[0].tool.run);
    module_free(p);
}

static void an_older_plugin_has_null_where_it_has_nothing(void **state)
{
    (void)state;
    const char *text;
    struct plugin *p = open_copy("good_older", &text);
    assert_string_equal(text, "");
    const struct plugin_type *t = &p->types[0];
    assert_int_equal(t->iface.size, sizeof(struct chela_iface));
    assert_null(t->iface.service);
    assert_non_null(t->tool.prepare);
    assert_null(t->tool.run);
    assert_int_equal(t->tool.size, sizeof(struct chela_tool));
    module_free(p);
}

static void a_newer_plugin_is_read_as_far_as_this_host_knows(void **state)
{
    (void)state;
    const char *text;
    struct buf errors = {0};
    struct plugin *p = open_copy("good_newer", &text);
    assert_string_equal(text, "");
    const struct chela_iface *i = &p->types[0].iface;
    assert_non_null(p->types[0].tool.run);
    struct options_request request = {.table = i->options, .stride = i->option_size};
    struct options *o = options_read(&request, &errors, NULL);
    assert_string_equal(options_text(o, "city"), "Beijing");
    assert_int_equal(options_number(o, "wait"), 3000);
    assert_int_equal(errors.n, 0);
    options_release(o);
    module_free(p);
}

static void the_same_file_can_be_opened_again(void **state)
{
    (void)state;
    struct error e;
    CLEANUP(freep) char *path = copy("good_plain", "good_plain");
    struct plugin *a = module_open(path, &e), *b = module_open(path, &e);
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_equal(a->types[0].iface.options, b->types[0].iface.options);
    module_free(a);
    module_free(b);
    unlink(path);
}

static void built_in_plugins_with_a_helper_of_one_name_do_not_meet(void **state)
{
    (void)state;
    struct error e;
    struct chela_inst in = {0};
    assert_string_equal(module_builtin_at(0), "tool_twin_a");
    assert_string_equal(module_builtin_at(1), "tool_twin_b");
    assert_null(module_builtin_at(2));
    assert_true(module_is_builtin("tool_twin_b"));
    assert_false(module_is_builtin("tool_twin"));
    struct plugin *a = module_open("tool_twin_a", &e), *b = module_open("tool_twin_b", &e);
    assert_non_null(a);
    assert_non_null(b);
    assert_string_equal(a->path, "");
    assert_int_equal(a->types[0].iface.open(&in), 'a');
    assert_int_equal(b->types[0].iface.open(&in), 'b');
    module_free(a);
    module_free(b);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(each_bad_plugin_is_refused_with_wanted_found_and_fix),
        TEST(an_undefined_symbol_is_found_at_opening_and_named),
        TEST(a_file_that_is_no_library_says_so),
        TEST(a_renamed_file_is_recognised),
        TEST(what_others_may_write_is_refused_before_its_code_can_run),
        TEST(only_absolute_paths_of_good_names_are_opened),
        TEST(a_good_plugin_is_copied),
        TEST(an_older_plugin_has_null_where_it_has_nothing),
        TEST(a_newer_plugin_is_read_as_far_as_this_host_knows),
        TEST(the_same_file_can_be_opened_again),
        TEST(built_in_plugins_with_a_helper_of_one_name_do_not_meet),
    };
    module_use_builtins(twins);
    return cmocka_run_group_tests_name("module", tests, NULL, NULL);
}
