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
#include "undo.h"

static char base[64], workspace[80];
static char *checkpoint; /* of the turn, NULL: none is kept */
static struct {
    char *bytes;
    size_t length;
    const char *mime;
} last_image;

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
    free(last_image.bytes);
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
    struct files_request q = {kind, workspace, o, false, 50000, checkpoint};
    struct files_result r = files_run(&q);
    json_object_put(o);
    free(last_image.bytes);
    last_image.bytes = r.image;
    last_image.length = r.image_length;
    last_image.mime = r.mime;
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

/* ---- search ---- */

static void search_finds_files_by_glob_and_lines_by_expression(void **state)
{
    (void)state;
    expect(FILES_WRITE, "{\"path\":\"s/a.c\",\"content\":\"int x;\\nreturn 1;\\n\"}",
           "s/a.c: 17 bytes written");
    expect(FILES_WRITE, "{\"path\":\"s/t/b.c\",\"content\":\"int y;\\n\"}",
           "s/t/b.c: 7 bytes written");
    expect(FILES_WRITE, "{\"path\":\"s/t/c.h\",\"content\":\"INT z;\"}",
           "s/t/c.h: 6 bytes written");
    expect(FILES_WRITE, "{\"path\":\"s/.git/d.c\",\"content\":\"int;\"}",
           "s/.git/d.c: 4 bytes written");
    expect(FILES_SEARCH, "{\"path\":\"s\",\"glob\":\"*.c\"}", "s/a.c\ns/t/b.c\n");
    expect(FILES_SEARCH, "{\"glob\":\"s/*.c\"}", "s/a.c\n");
    expect(FILES_SEARCH, "{\"glob\":\"s/**/*.[ch]\"}", "s/a.c\ns/t/b.c\ns/t/c.h\n");
    expect(FILES_SEARCH, "{\"glob\":\"**/t/**\"}", "s/t/b.c\ns/t/c.h\n");
    expect(FILES_SEARCH, "{\"path\":\"s\",\"pattern\":\"^int \\\\w\"}",
           "s/a.c:1:int x;\ns/t/b.c:1:int y;\n");
    expect(FILES_SEARCH,
           "{\"path\":\"s\",\"pattern\":\"^int\",\"ignoreCase\":true,\"glob\":\"*.h\"}",
           "s/t/c.h:1:INT z;\n");
    expect(FILES_SEARCH, "{\"path\":\"s\",\"pattern\":\"^int\",\"limit\":1}",
           "s/a.c:1:int x;\n[there is more: narrow the search]\n");
    expect(FILES_SEARCH, "{\"path\":\"s\",\"pattern\":\"nowhere\"}", "nothing was found");
    expect_failure(FILES_SEARCH, "{\"pattern\":\"(\"}", "no regular expression");
    expect_failure(FILES_SEARCH, "{}", "needs a glob, a pattern, or both");
    expect_failure(FILES_SEARCH, "{\"path\":\"..\",\"glob\":\"*\"}", "outside");
}

static void an_expression_that_backtracks_for_ever_ends(void **state)
{
    char text[300];
    (void)state;
    snprintf(text, sizeof text, "{\"path\":\"slow/x\",\"content\":\"%s\"}",
             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
    free(run(FILES_WRITE, text, NULL));
    expect(FILES_SEARCH, "{\"path\":\"slow\",\"pattern\":\"^(a+)+$\"}", "nothing was found");
    expect(FILES_SEARCH,
           "{\"path\":\"slow\",\"glob\":\"**/**/**/**/**/**/**/**/**/**/**/**/**/**/**/**/y\"}",
           "nothing was found");
}

/* ---- apply_patch ---- */

#define PATCH(text) "{\"input\":\"*** Begin Patch\\n" text "*** End Patch\\n\"}"

static void a_patch_adds_updates_moves_and_deletes(void **state)
{
    (void)state;
    expect(FILES_WRITE, "{\"path\":\"p/a\",\"content\":\"1\\n2\\n3\\n4\\n5\\n\"}",
           "p/a: 10 bytes written");
    expect(FILES_WRITE, "{\"path\":\"p/b\",\"content\":\"x\\ny\"}", "p/b: 3 bytes written");
    expect(FILES_WRITE, "{\"path\":\"p/c\",\"content\":\"gone\"}", "p/c: 4 bytes written");
    expect(FILES_PATCH,
           PATCH("*** Add File: p/new\\n+one\\n+two\\n"
                 "*** Update File: p/a\\n@@\\n 1\\n-2\\n+two\\n@@\\n-4\\n+four\\n+more\\n 5\\n"
                 "*** Update File: p/b\\n*** Move to: p/d\\n@@\\n x\\n-y\\n+z\\n"
                 "*** Delete File: p/c\\n"),
           "p/new: 8 bytes written\np/a: 20 bytes written\np/d: 3 bytes written\np/b is "
           "deleted\np/c is deleted\n");
    expect(FILES_READ, "{\"path\":\"p/a\"}", "1\ntwo\n3\nfour\nmore\n5\n");
    expect(FILES_READ, "{\"path\":\"p/d\"}", "x\nz");
    expect(FILES_LIST, "{\"path\":\"p\"}", "a\nd\nnew\n");
}

static void a_patch_that_does_not_fit_changes_nothing(void **state)
{
    (void)state;
    expect(FILES_WRITE, "{\"path\":\"q/a\",\"content\":\"f {\\n  x\\n}\\ng {\\n  x\\n}\\n\"}",
           "q/a: 20 bytes written");
    expect_failure(FILES_PATCH,
                   PATCH("*** Add File: q/n\\n+1\\n*** Update File: q/a\\n@@\\n-no\\n+yes\\n"),
                   "do not stand in the file");
    expect_failure(FILES_PATCH, PATCH("*** Update File: q/a\\n@@\\n-  x\\n+  y\\n"),
                   "more than once (lines 2 and 5)");
    expect_failure(FILES_PATCH, PATCH("*** Add File: q/a\\n+1\\n"), "is there already");
    expect_failure(FILES_PATCH, PATCH("*** Delete File: q/none\\n"), "not a file that is there");
    expect_failure(FILES_PATCH, PATCH("*** Add File: ../n\\n+1\\n"), "outside");
    expect_failure(FILES_PATCH, PATCH("*** Add File: q/n\\nno sign\\n"), "line 3 of the patch");
    expect_failure(FILES_PATCH, PATCH(""), "names no file");
    expect_failure(FILES_PATCH, "{\"input\":\"*** Begin Patch\\n*** Add File: q/n\\n+1\\n\"}",
                   "ends with the line");
    expect_failure(FILES_PATCH,
                   PATCH("*** Update File: q/a\\n@@ f {\\n-  x\\n+  y\\n*** Delete File: q/a\\n"),
                   "twice");
    expect(FILES_LIST, "{\"path\":\"q\"}", "a\n");
    expect(FILES_PATCH, PATCH("*** Update File: q/a\\n@@ g {\\n-  x\\n+  y\\n"),
           "q/a: 20 bytes written\n");
    expect(FILES_READ, "{\"path\":\"q/a\"}", "f {\n  x\n}\ng {\n  y\n}\n");
}

/* ---- images ---- */

static void an_image_is_given_as_an_image(void **state)
{
    char path[200];
    (void)state;
    snprintf(path, sizeof path, "%s/i.png", workspace);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "\x89PNG\r\n\x1a\n....", 12), 12);
    close(fd);
    expect(FILES_READ, "{\"path\":\"i.png\"}", "i.png is an image (image/png, 12 bytes)");
    assert_string_equal(last_image.mime, "image/png");
    assert_int_equal(last_image.length, 12);
}

/* ---- checkpoints ---- */

static void begin_turn(const char *name, unsigned long long now)
{
    free(checkpoint);
    checkpoint = name ? undo_folder(base, "agent:main:main", name, now) : NULL;
}

static void expect_undo(bool force, const char *part)
{
    char *text = undo_run(base, "agent:main:main", force);
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
    free(text);
}

static void undo_takes_the_last_turn_back(void **state)
{
    (void)state;
    begin_turn(NULL, 0);
    expect(FILES_WRITE, "{\"path\":\"u/a\",\"content\":\"first\"}", "u/a: 5 bytes written");
    expect(FILES_WRITE, "{\"path\":\"u/gone\",\"content\":\"here\"}", "u/gone: 4 bytes written");
    expect_undo(false, "nothing to take back");
    begin_turn("run-1", 1000);
    expect(FILES_WRITE, "{\"path\":\"u/a\",\"content\":\"second\"}", "u/a: 6 bytes written");
    begin_turn("run-2", 2000);
    expect(FILES_WRITE, "{\"path\":\"u/a\",\"content\":\"third\"}", "u/a: 5 bytes written");
    expect(FILES_EDIT, "{\"path\":\"u/a\",\"edits\":[{\"oldText\":\"third\",\"newText\":\"3\"}]}",
           "u/a: 1 bytes written");
    expect(FILES_WRITE, "{\"path\":\"u/new\",\"content\":\"n\"}", "u/new: 1 bytes written");
    expect(FILES_DELETE, "{\"path\":\"u/gone\"}", "u/gone is deleted");
    begin_turn(NULL, 0);
    expect_undo(false, "`u/a`: as it was before");
    expect(FILES_READ, "{\"path\":\"u/a\"}", "second");
    expect(FILES_READ, "{\"path\":\"u/gone\"}", "here");
    expect(FILES_LIST, "{\"path\":\"u\"}", "a\ngone\n");
    expect_undo(false, "`u/a`: as it was before");
    expect(FILES_READ, "{\"path\":\"u/a\"}", "first");
    expect_undo(false, "nothing to take back");
}

static void undo_leaves_alone_what_others_changed_since(void **state)
{
    (void)state;
    begin_turn("run-3", 3000);
    expect(FILES_WRITE, "{\"path\":\"v\",\"content\":\"ours\"}", "v: 4 bytes written");
    begin_turn(NULL, 0);
    expect(FILES_WRITE, "{\"path\":\"v\",\"content\":\"theirs\"}", "v: 6 bytes written");
    expect_undo(false, "left alone");
    expect(FILES_READ, "{\"path\":\"v\"}", "theirs");
    expect_undo(true, "removed, it was new");
    expect_failure(FILES_READ, "{\"path\":\"v\"}", "No such file");
    expect_undo(false, "nothing to take back");
}

static void old_checkpoints_are_dropped(void **state)
{
    char name[16];
    (void)state;
    for (unsigned i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "run-%u", 100 + i);
        begin_turn(name, 10000 + i);
        free(run(FILES_WRITE, "{\"path\":\"w\",\"content\":\"x\"}", NULL));
    }
    begin_turn(NULL, 0);
    unsigned kept = 0;
    for (;;) {
        char *text = undo_run(base, "agent:main:main", true);
        bool none = strstr(text, "nothing to take back") != NULL;
        free(text);
        if (none)
            break;
        kept++;
    }
    assert_in_range(kept, 20, 21);
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
        cmocka_unit_test(search_finds_files_by_glob_and_lines_by_expression),
        cmocka_unit_test(an_expression_that_backtracks_for_ever_ends),
        cmocka_unit_test(a_patch_adds_updates_moves_and_deletes),
        cmocka_unit_test(a_patch_that_does_not_fit_changes_nothing),
        cmocka_unit_test(an_image_is_given_as_an_image),
        cmocka_unit_test(undo_takes_the_last_turn_back),
        cmocka_unit_test(undo_leaves_alone_what_others_changed_since),
        cmocka_unit_test(old_checkpoints_are_dropped),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
