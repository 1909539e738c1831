/*
 * Ways out of the workspace: links that somebody swaps at the same moment, "..", hard links, /proc,
 * mounts, FIFOs, devices. Every operation is tried, in a race, with a thread that changes what is
 * on the path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "support/json.h"

enum { ROUNDS = 3000 };

static char base[64], workspace[80];
static bool mounts;

static const char *at(const char *name)
{
    static char path[4][300];
    static unsigned next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", base, name);
    return p;
}

static void put(const char *name, const char *text)
{
    int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/chela-escape-XXXXXX");
    assert_non_null(mkdtemp(base));
    snprintf(workspace, sizeof workspace, "%s/work", base);
    assert_int_equal(mkdir(workspace, 0700), 0);
    assert_int_equal(mkdir(at("outside"), 0700), 0);
    assert_int_equal(mkdir(at("work/real"), 0700), 0);
    put("outside/secret", "secret");
    put("work/real/secret", "inside");
    put("work/real/new", "inside");
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {
        "work/real/secret", "work/real/new", "work/real/sub/x",
        "work/real/sub",    "work/real",     "work/swap",
        "work/other",       "work/link",     "work/fifo",
        "work/null",        "work/hard",     "work/proc",
        "outside/secret",   "outside/new",   "outside",
        "work/loop",        "work",          "",
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (unlink(at(names[i])) != 0)
            rmdir(at(names[i]));
    return access(base, F_OK) != 0 ? 0 : -1;
}

static char *run(enum files_kind kind, const char *arguments, bool *failed)
{
    json_object *o = NULL;
    assert_int_equal(chela_json_parse(arguments, strlen(arguments), NULL, &o, NULL), 0);
    struct files_request q = {kind, workspace, o, mounts, 50000, NULL};
    struct files_result r = files_run(&q);
    json_object_put(o);
    *failed = r.failed;
    return r.text;
}

static void expect_refused(enum files_kind kind, const char *arguments)
{
    bool failed;
    char *text = run(kind, arguments, &failed);
    if (!failed || strstr(text, "secret\n") || strcmp(text, "secret") == 0)
        fail_msg("%s: %s", arguments, text);
    free(text);
}

static void expect_secret_untouched(void)
{
    char text[16] = "";
    int fd = open(at("outside/secret"), O_RDONLY);
    assert_int_equal(read(fd, text, sizeof text - 1), 6);
    close(fd);
    assert_string_equal(text, "secret");
    assert_int_not_equal(access(at("outside/new"), F_OK), 0);
}

static void each_operation_refuses_each_way(void **state)
{
    static const char *const paths[] = {
        "../outside/secret",   "real/../../outside/secret",
        "link/secret",         "link/../outside/secret",
        "./link/./secret",     "loop/x",
        "proc/outside/secret", "/proc/self/root/etc/passwd",
        "/etc/passwd",         "real/../../../../../../etc/passwd",
    };
    static const enum files_kind kinds[] = {FILES_READ, FILES_WRITE, FILES_EDIT, FILES_DELETE};
    char arguments[600], root[300];
    (void)state;
    assert_int_equal(symlink("../outside", at("work/link")), 0);
    assert_int_equal(symlink("loop", at("work/loop")), 0);
    snprintf(root, sizeof root, "/proc/self/root%s", base);
    assert_int_equal(symlink(root, at("work/proc")), 0);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            snprintf(arguments, sizeof arguments,
                     "{\"path\":\"%s\",\"content\":\"bad\",\"edits\":[{\"oldText\":\"secret\","
                     "\"newText\":\"bad\"}]}",
                     paths[i]);
            expect_refused(kinds[k], arguments);
        }
        snprintf(arguments, sizeof arguments,
                 "{\"input\":\"*** Begin Patch\\n*** Update File: %s\\n@@\\n-secret\\n+bad\\n*** "
                 "End Patch\"}",
                 paths[i]);
        expect_refused(FILES_PATCH, arguments);
        snprintf(arguments, sizeof arguments,
                 "{\"input\":\"*** Begin Patch\\n*** Update File: real/secret\\n*** Move to: %s\\n"
                 "@@\\n-inside\\n+bad\\n*** End Patch\"}",
                 paths[i]);
        expect_refused(FILES_PATCH, arguments);
    }
    expect_refused(FILES_LIST, "{\"path\":\"link\"}");
    expect_refused(FILES_SEARCH, "{\"path\":\"link\",\"pattern\":\"secret\"}");
    bool failed;
    char *text = run(FILES_SEARCH, "{\"pattern\":\"^secret\"}", &failed);
    assert_string_equal(text, "nothing was found"); /* links are not followed */
    free(text);
    expect_secret_untouched();
}

/* ---- mounts: in a name space of its own, where this process is root ---- */

static bool put_line(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return good;
}

static bool mount_outside(void)
{
    char users[40], groups[40];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && put_line("/proc/self/setgroups", "deny") &&
           put_line("/proc/self/uid_map", users) && put_line("/proc/self/gid_map", groups) &&
           mkdir(at("work/mounted"), 0700) == 0 &&
           mount("tmpfs", at("work/mounted"), "tmpfs", 0, NULL) == 0 &&
           symlink("mounted/secret", at("work/to-it")) == 0;
}

static bool says(enum files_kind kind, const char *arguments, const char *part, bool wants_failure)
{
    bool failed;
    char *text = run(kind, arguments, &failed);
    bool good = failed == wants_failure && strstr(text, part);
    if (!good)
        fprintf(stderr, "# %s: %s\n", arguments, text);
    free(text);
    return good;
}

/* Its exit status: 0 as it should be, 77 no name spaces here. */
static int among_mounts(void)
{
    static const char refused[] = "another file system is mounted there";
    if (!mount_outside())
        return 77;
    mounts = true;
    bool good =
        says(FILES_WRITE, "{\"path\":\"mounted/secret\",\"content\":\"hidden\"}", "", false) &&
        says(FILES_READ, "{\"path\":\"to-it\"}", "hidden", false) &&
        says(FILES_SEARCH, "{\"pattern\":\"hidden\"}", "mounted/secret", false);
    mounts = false;
    return good && says(FILES_READ, "{\"path\":\"mounted/secret\"}", refused, true) &&
                   says(FILES_READ, "{\"path\":\"to-it\"}", refused, true) &&
                   says(FILES_LIST, "{\"path\":\"mounted\"}", refused, true) &&
                   says(FILES_WRITE, "{\"path\":\"mounted/new\",\"content\":\"x\"}", refused,
                        true) &&
                   says(FILES_DELETE, "{\"path\":\"mounted/secret\"}", refused, true) &&
                   says(FILES_SEARCH, "{\"pattern\":\"hidden\"}", "nothing was found", false) &&
                   says(FILES_READ, "{\"path\":\"real/../../outside/secret\"}", "workspace", true)
               ? 0
               : 1;
}

static void what_is_mounted_is_no_part_unless_it_is_meant(void **state)
{
    int status = -1;
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(among_mounts());
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(at("work/to-it"));
    rmdir(at("work/mounted"));
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Writing to one name of a file with two leaves the other alone, since the file is replaced. */
static void a_hard_link_is_no_way_out(void **state)
{
    bool failed;
    (void)state;
    assert_int_equal(link(at("outside/secret"), at("work/hard")), 0);
    char *text = run(FILES_WRITE, "{\"path\":\"hard\",\"content\":\"mine\"}", &failed);
    assert_false(failed);
    free(text);
    expect_secret_untouched();
    text = run(FILES_DELETE, "{\"path\":\"hard\"}", &failed);
    assert_false(failed);
    free(text);
    expect_secret_untouched();
}

static void pipes_and_devices_are_left_alone(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(at("work/fifo"), 0600), 0);
    expect_refused(FILES_READ, "{\"path\":\"fifo\"}");
    expect_refused(FILES_WRITE, "{\"path\":\"fifo\",\"content\":\"x\"}");
    if (mknod(at("work/null"), S_IFCHR | 0600, makedev(1, 3)) == 0) {
        expect_refused(FILES_READ, "{\"path\":\"null\"}");
        expect_refused(FILES_WRITE, "{\"path\":\"null\",\"content\":\"x\"}");
        expect_refused(FILES_EDIT,
                       "{\"path\":\"null\",\"edits\":[{\"oldText\":\"a\",\"newText\":\"b\"}]}");
    } else {
        print_message("# no device could be made here\n");
    }
}

/* ---- races ---- */

static atomic_bool over;
static atomic_ulong swaps;

/* "swap" is by turns the folder and a link that leads outside, exchanged in one step. */
static void *swap_folder(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        syscall(SYS_renameat2, AT_FDCWD, at("work/swap"), AT_FDCWD, at("work/other"), 2);
        atomic_fetch_add(&swaps, 1);
    }
    return NULL;
}

static void race(const char *link_target, const char *name)
{
    static const enum files_kind kinds[] = {FILES_READ, FILES_WRITE,  FILES_EDIT,
                                            FILES_LIST, FILES_SEARCH, FILES_DELETE};
    pthread_t thread;
    char arguments[300];
    unsigned fine = 0, refused = 0;
    assert_int_equal(rename(at("work/real"), at("work/swap")), 0);
    assert_int_equal(symlink(link_target, at("work/other")), 0);
    atomic_store(&over, false);
    atomic_store(&swaps, 0);
    assert_int_equal(pthread_create(&thread, NULL, swap_folder, NULL), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        enum files_kind kind = kinds[i % (sizeof kinds / sizeof kinds[0])];
        bool failed;
        snprintf(arguments, sizeof arguments,
                 "{\"path\":\"%s\",\"pattern\":\"^secret\",\"content\":\"bad\","
                 "\"edits\":[{\"oldText\":\"secret\",\"newText\":\"bad\"}]}",
                 kind == FILES_LIST || kind == FILES_SEARCH ? "swap"
                 : kind == FILES_READ || kind == FILES_EDIT ? "swap/secret"
                                                            : name);
        char *text = run(kind, arguments, &failed);
        if (kind == FILES_READ && strcmp(text, "secret") == 0)
            fail_msg("the secret was read in round %u", i);
        if (kind == FILES_SEARCH && strstr(text, ":secret"))
            fail_msg("the secret was found in round %u", i);
        *(failed ? &refused : &fine) += 1;
        free(text);
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    print_message("# %lu swaps, %u operations went through, %u were refused\n", atomic_load(&swaps),
                  fine, refused);
    expect_secret_untouched();
    assert_true(atomic_load(&swaps) > 100);
    struct stat st;
    if (lstat(at("work/swap"), &st) == 0 && S_ISLNK(st.st_mode))
        syscall(SYS_renameat2, AT_FDCWD, at("work/swap"), AT_FDCWD, at("work/other"), 2);
    assert_int_equal(unlink(at("work/other")), 0);
    assert_int_equal(rename(at("work/swap"), at("work/real")), 0);
}

static void a_folder_that_becomes_a_link_leads_nowhere(void **state)
{
    (void)state;
    race("../outside", "swap/new");
}

static void a_folder_that_becomes_a_link_by_proc_leads_nowhere(void **state)
{
    char target[200];
    (void)state;
    snprintf(target, sizeof target, "/proc/self/root%s/outside", base);
    race(target, "swap/new");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_operation_refuses_each_way),
        TEST(what_is_mounted_is_no_part_unless_it_is_meant),
        TEST(a_hard_link_is_no_way_out),
        TEST(pipes_and_devices_are_left_alone),
        TEST(a_folder_that_becomes_a_link_leads_nowhere),
        TEST(a_folder_that_becomes_a_link_by_proc_leads_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
