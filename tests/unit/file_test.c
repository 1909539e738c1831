/*
 * Files as a whole: bounds of reading, and that a text comes into its place at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

static char folder[PATH_MAX];

static char *in_folder(const char *name)
{
    return xprintf("%s/%s", folder, name);
}

static int set_up(void **state)
{
    const char *top = getenv("TMPDIR");
    (void)state;
    snprintf(folder, sizeof folder, "%s/chela-file-XXXXXX", top ? top : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const made[] = {"deep/er/file", "deep/er/file.old", "deep/er/file.new",
                                       "aim",          "deep/er",          "deep"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(made); i++) {
        CLEANUP(freep) char *path = in_folder(made[i]);
        if (unlink(path) != 0)
            rmdir(path);
    }
    return rmdir(folder);
}

static void is_text(const char *path, const char *wanted)
{
    struct buf text = {0};
    struct error e = {0};
    if (file_read(path, 100, &text, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(buf_text(&text), wanted);
    buf_free(&text);
}

static void a_text_takes_the_place_of_the_one_before(void **state)
{
    CLEANUP(freep) char *path = in_folder("deep/er/file");
    CLEANUP(freep) char *old = in_folder("deep/er/file.old");
    CLEANUP(freep) char *fresh = in_folder("deep/er/file.new");
    struct error e = {0};
    struct stat st;
    (void)state;
    assert_int_equal(file_replace(path, chela_s("one"), ".old", &e), 0);
    is_text(path, "one");
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(file_replace(path, chela_s("two"), ".old", &e), 0);
    assert_int_equal(file_replace(path, chela_s("three"), ".old", &e), 0);
    is_text(path, "three");
    is_text(old, "two");
    assert_int_equal(file_replace(path, chela_s(""), NULL, &e), 0);
    is_text(path, "");
    is_text(old, "two");
    assert_int_equal(access(fresh, F_OK), -1);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void a_file_that_was_left_open_to_others_is_not_so_any_more(void **state)
{
    CLEANUP(freep) char *path = in_folder("deep/er/file");
    CLEANUP(freep) char *fresh = in_folder("deep/er/file.new");
    struct error e = {0};
    struct stat st;
    (void)state;
    assert_int_equal(file_replace(fresh, chela_s("left by a crash"), NULL, &e), 0);
    assert_int_equal(chmod(fresh, 0644), 0);
    assert_int_equal(file_replace(path, chela_s("one"), NULL, &e), 0);
    is_text(path, "one");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void nothing_is_written_through_a_link(void **state)
{
    CLEANUP(freep) char *path = in_folder("deep/er/file");
    CLEANUP(freep) char *fresh = in_folder("deep/er/file.new");
    CLEANUP(freep) char *aim = in_folder("aim");
    struct error e = {0};
    (void)state;
    assert_int_equal(file_replace(aim, chela_s("theirs"), NULL, &e), 0);
    assert_int_equal(file_replace(path, chela_s("one"), NULL, &e), 0);
    assert_int_equal(symlink(aim, fresh), 0);
    assert_int_equal(file_replace(path, chela_s("two"), NULL, &e), -1);
    assert_non_null(strstr(e.text, "file.new can't be written"));
    is_text(path, "one");
    is_text(aim, "theirs");
}

static void what_is_too_long_or_no_file_is_told(void **state)
{
    CLEANUP(freep) char *path = in_folder("deep/er/file");
    CLEANUP(freep) char *above = in_folder("deep");
    CLEANUP(freep) char *none = in_folder("deep/none");
    struct buf text = {0};
    struct error e = {0};
    (void)state;
    assert_int_equal(file_replace(path, chela_s("12345"), NULL, &e), 0);
    assert_int_equal(file_read(path, 5, &text, &e), 0);
    assert_int_equal(file_read(path, 4, &text, &e), -1);
    assert_int_equal(e.class, CHELA_E_TOO_LONG);
    assert_non_null(strstr(e.text, "is larger than 4 bytes"));
    assert_int_equal(file_read(above, 5, &text, &e), -1);
    assert_int_equal(e.class, CHELA_E_ARGS);
    assert_int_equal(file_read(none, 5, &text, &e), -1);
    assert_int_equal(e.class, CHELA_E_NOT_FOUND);
    assert_int_equal(file_replace("/proc/none/x", chela_s("x"), NULL, &e), -1);
    assert_non_null(strstr(e.text, "/proc/none can't be made"));
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_text_takes_the_place_of_the_one_before, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_was_left_open_to_others_is_not_so_any_more,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_written_through_a_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_too_long_or_no_file_is_told, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
