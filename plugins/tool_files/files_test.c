/* Operations on files: ranges, unique edits, atomic writes, and no way out of the workspace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "beneath.h"
#include "files.h"
#include "support/json.h"

static char base[64], workspace[80];

static int set_up(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/chela-files-XXXXXX");
    assert_non_null(mkdtemp(base));
    snprintf(workspace, sizeof workspace, "%s/work", base);
    return mkdir(workspace, 0700);
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "%s", base);
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", command, (char *)NULL);
        _exit(1);
    }
    int status;
    return waitpid(child, &status, 0) == child ? 0 : -1;
}

static char *run(enum files_kind kind, const char *arguments, bool *failed)
{
    json_object *o = NULL;
    assert_int_equal(chela_json_parse(arguments, strlen(arguments), NULL, &o, NULL), 0);
    struct files_result r = files_run(kind, workspace, o, 50000);
    json_object_put(o);
    if (failed)
        *failed = r.failed;
    else
        assert_false(r.failed);
    return r.text;
}

static void expect(enum files_kind kind, const char *arguments, const char *wanted)
{
    char *text = run(kind, arguments, NULL);
    assert_string_equal(text, wanted);
    free(text);
}

static void expect_failure(enum files_kind kind, const char *arguments, const char *part)
{
    bool failed;
    char *text = run(kind, arguments, &failed);
    assert_true(failed);
    if (!strstr(text, part))
        fail_msg("\"%s\" does not say \"%s\"", text, part);
    free(text);
}

static void what_was_written_is_read_again(void **state)
{
    (void)state;
    expect(FILES_WRITE, "{\"path\":\"a/b/c.txt\",\"content\":\"one\\ntwo\\nthree\\n\"}",
           "a/b/c.txt: 14 bytes written");
    expect(FILES_READ, "{\"path\":\"a/b/c.txt\"}", "one\ntwo\nthree\n");
    expect(FILES_READ, "{\"path\":\"a/b/c.txt\",\"offset\":2,\"limit\":1}",
           "two\n[more follows: read on with offset 3]\n");
    expect(FILES_LIST, "{\"path\":\"a\"}", "b/\n");
    expect(FILES_LIST, "{}", "a/\n");
}

static void an_edit_needs_a_text_that_occurs_once(void **state)
{
    (void)state;
    expect(FILES_WRITE, "{\"path\":\"e\",\"content\":\"x = 1\\ny = 1\\n\"}", "e: 12 bytes written");
    expect(FILES_EDIT, "{\"path\":\"e\",\"edits\":[{\"oldText\":\"x = 1\",\"newText\":\"x = 2\"}]}",
           "e: 12 bytes written");
    expect_failure(FILES_EDIT,
                   "{\"path\":\"e\",\"edits\":[{\"oldText\":\" = \",\"newText\":\"=\"}]}",
                   "occurs more than once (lines 1 and 2)");
    expect_failure(FILES_EDIT, "{\"path\":\"e\",\"edits\":[{\"oldText\":\"z\",\"newText\":\"=\"}]}",
                   "does not occur");
    expect_failure(FILES_EDIT,
                   "{\"path\":\"e\",\"edits\":[{\"oldText\":\"x = "
                   "2\",\"newText\":\"q\"},{\"oldText\":\"z\",\"newText\":\"\"}]}",
                   "edit 2");
    expect(FILES_READ, "{\"path\":\"e\"}", "x = 2\ny = 1\n");
}

static void nothing_leads_out_of_the_workspace(void **state)
{
    char path[200], arguments[300];
    (void)state;
    snprintf(path, sizeof path, "%s/secret", base);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "secret", 6), 6);
    close(fd);
    snprintf(path, sizeof path, "%s/link", workspace);
    assert_int_equal(symlink("../secret", path), 0);
    snprintf(path, sizeof path, "%s/folder", workspace);
    assert_int_equal(symlink("..", path), 0);
    expect_failure(FILES_READ, "{\"path\":\"../secret\"}", "outside");
    expect_failure(FILES_READ, "{\"path\":\"a/../../secret\"}", "outside");
    expect_failure(FILES_READ, "{\"path\":\"/etc/passwd\"}", "outside");
    expect_failure(FILES_READ, "{\"path\":\"link\"}", "leads out of the workspace");
    expect_failure(FILES_READ, "{\"path\":\"folder/secret\"}", "leads out of the workspace");
    expect_failure(FILES_WRITE, "{\"path\":\"folder/new\",\"content\":\"\"}",
                   "leads out of the workspace");
    expect_failure(FILES_WRITE, "{\"path\":\"link\",\"content\":\"\"}", "not a regular file");
    expect_failure(FILES_DELETE, "{\"path\":\"folder/secret\"}", "leads out of the workspace");
    snprintf(arguments, sizeof arguments, "{\"path\":\"%s-other/x\"}", workspace);
    expect_failure(FILES_READ, arguments, "outside");
    snprintf(arguments, sizeof arguments, "{\"path\":\"%s\"}", workspace);
    free(run(FILES_LIST, arguments, NULL));
    snprintf(path, sizeof path, "%s/secret", base);
    char still[7] = "";
    fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, still, 6), 6);
    close(fd);
    assert_string_equal(still, "secret");
}

static void pipes_and_devices_are_not_waited_for(void **state)
{
    char path[200];
    (void)state;
    snprintf(path, sizeof path, "%s/pipe", workspace);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_failure(FILES_READ, "{\"path\":\"pipe\"}", "not a regular file");
    expect_failure(FILES_WRITE, "{\"path\":\"pipe\",\"content\":\"\"}", "not a regular file");
    expect_failure(FILES_READ, "{\"path\":\".\"}", "is a folder");
}

static void bytes_that_are_no_text_are_refused_with_their_size(void **state)
{
    char path[200];
    (void)state;
    snprintf(path, sizeof path, "%s/binary", workspace);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "a\0\xff", 3), 3);
    close(fd);
    expect_failure(FILES_READ, "{\"path\":\"binary\"}", "no UTF-8 text (3 bytes)");
}

static void a_write_keeps_the_mode_and_leaves_no_other_file(void **state)
{
    char path[200];
    struct stat st;
    (void)state;
    expect(FILES_WRITE, "{\"path\":\"mode\",\"content\":\"1\"}", "mode: 1 bytes written");
    snprintf(path, sizeof path, "%s/mode", workspace);
    assert_int_equal(chmod(path, 0640), 0);
    expect(FILES_WRITE, "{\"path\":\"mode\",\"content\":\"22\"}", "mode: 2 bytes written");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    char *list = run(FILES_LIST, "{}", NULL);
    assert_null(strstr(list, ".chela-"));
    free(list);
}

static void a_folder_is_deleted_only_when_empty(void **state)
{
    (void)state;
    expect(FILES_WRITE, "{\"path\":\"d/f\",\"content\":\"\"}", "d/f: 0 bytes written");
    expect_failure(FILES_DELETE, "{\"path\":\"d\"}", "not empty");
    expect(FILES_DELETE, "{\"path\":\"d/f\"}", "d/f is deleted");
    expect(FILES_DELETE, "{\"path\":\"d\"}", "d is deleted");
    expect_failure(FILES_DELETE, "{\"path\":\"d\"}", "No such file");
    expect_failure(FILES_DELETE, "{\"path\":\".\"}", "cannot be deleted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read_again),
        cmocka_unit_test(an_edit_needs_a_text_that_occurs_once),
        cmocka_unit_test(nothing_leads_out_of_the_workspace),
        cmocka_unit_test(pipes_and_devices_are_not_waited_for),
        cmocka_unit_test(bytes_that_are_no_text_are_refused_with_their_size),
        cmocka_unit_test(a_write_keeps_the_mode_and_leaves_no_other_file),
        cmocka_unit_test(a_folder_is_deleted_only_when_empty),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
