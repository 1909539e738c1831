/*
 * The configurations that are shipped (etc/chela.conf, doc/examples, the plugins' own) are good
 * ones for the plugins of this build.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "host/loop.h"
#include "host/plugins.h"
#include "host/settings.h"

static char *folder(const char *variable, const char *otherwise)
{
    const char *set = getenv(variable);
    return realpath(set ? set : otherwise, NULL);
}

static bool is_built(const char *name)
{
    CLEANUP(freep) char *build = folder("CHELA_TEST_BUILDDIR", ".");
    CLEANUP(freep) char *path = xprintf("%s/plugins/.libs/%s.so", build, name);
    return access(path, F_OK) == 0;
}

/* Each file of the pattern, by itself. */
static void read_each(const char *pattern)
{
    CLEANUP(freep) char *source = folder("CHELA_TEST_SRCDIR", "..");
    CLEANUP(freep) char *whole = xprintf("%s/%s", source, pattern);
    char *environment[] = {"ANTHROPIC_API_KEY=sk-ant-for-a-test", "OPENAI_API_KEY=sk-for-a-test",
                           NULL};
    glob_t found;
    assert_int_equal(glob(whole, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct buf errors = {0};
        struct settings_sources sources = {.file = found.gl_pathv[i], .environment = environment};
        struct settings *s = settings_read(&sources, plugins_find_type, &errors);
        assert_string_equal(buf_text(&errors), "");
        assert_non_null(s);
        settings_free(s);
        buf_free(&errors);
    }
    globfree(&found);
}

static void the_commented_configuration_is_good(void **state)
{
    (void)state;
    read_each("etc/chela.conf");
}

static void the_examples_are_good(void **state)
{
    (void)state;
    if (!is_built("provider_anthropic") || !is_built("provider_ollama") ||
        !is_built("router_rules")) {
        print_message("# skipped: their plugins are not built\n");
        return;
    }
    read_each("doc/examples/*.conf");
}

static void the_configuration_of_each_plugin_is_good(void **state)
{
    static const char *const names[] = {"channel_cli",     "provider_anthropic", "provider_demo",
                                        "provider_openai", "provider_ollama",    "router_rules",
                                        "store_sqlite",    "tool_exec",          "tool_files"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        CLEANUP(freep) char *pattern = xprintf("plugins/%s/%s.conf", names[i], names[i]);
        if (is_built(names[i]))
            read_each(pattern);
        else
            print_message("# skipped: %s is not built\n", names[i]);
    }
}

static int set_up(void **state)
{
    (void)state;
    CLEANUP(freep) char *build = folder("CHELA_TEST_BUILDDIR", ".");
    CLEANUP(freep) char *plugins = xprintf("%s/plugins/.libs", build);
    setenv("CHELA_PLUGIN_PATH", plugins, 1);
    loop_open();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    plugins_close();
    loop_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_commented_configuration_is_good),
        cmocka_unit_test(the_examples_are_good),
        cmocka_unit_test(the_configuration_of_each_plugin_is_good),
    };
    return cmocka_run_group_tests_name("examples", tests, set_up, tear_down);
}
