/* Child processes: output and input, terminals, the end of whole trees, clean environment and
 * descriptors, floods, limits, confinement. Real time: other processes have no fake clock. */
#include "net_peer.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "proc/confine.h"
#include "proc/process.h"

static struct {
    unsigned done, events;
    struct process_end end;
    struct buf out[3];
    size_t bytes;
    bool room, starting, count_only;
    char folder[64];
} t;

static void on_output(void *owner, uint64_t id, uint32_t stream, struct chela_str data)
{
    assert_ptr_equal(owner, &t);
    assert_true(id != 0);
    assert_false(t.starting);
    assert_in_range(stream, 1, 2);
    assert_int_equal(t.done, 0);
    t.events++;
    t.bytes += data.n;
    if (!t.count_only) {
        buf_str(&t.out[stream], data);
        if (t.out[0].n) /* a mark between lines */
            buf_char(&t.out[stream], '|');
    }
}

static void on_done(void *owner, uint64_t id, const struct process_end *end)
{
    (void)owner;
    (void)id;
    assert_false(t.starting);
    t.done++;
    t.end = *end;
}

static bool has_room(void *owner)
{
    (void)owner;
    return t.room;
}

static const struct process_ops ops = {on_output, on_done, has_room};

static int start(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    t.room = true;
    const char *build = getenv("CHELA_TEST_BUILDDIR");
    char here[4096];
    setenv("CHELA_LIBEXEC_DIR", build ? build : getcwd(here, sizeof here), 1);
    setenv("CHELA_GATEWAY_TOKEN", "a-secret-of-the-daemon", 1);
    snprintf(t.folder, sizeof t.folder, "/tmp/chela-proc-XXXXXX");
    assert_non_null(mkdtemp(t.folder));
    loop_open();
    process_open();
    return 0;
}

static int stop(void **state)
{
    (void)state;
    process_close();
    assert_int_equal(loop_close(), 0);
    for (int i = 0; i < 3; i++)
        buf_free(&t.out[i]);
    CLEANUP(freep) char *file = xprintf("%s/file", t.folder);
    unlink(file);
    rmdir(t.folder);
    return 0;
}

static uint64_t run_with(struct process_request *r, const char *script)
{
    struct chela_pair arguments[3] = {{.value = CHELA_LIT("sh")}, {.value = CHELA_LIT("-c")}};
    arguments[2].value = chela_s(script);
    arguments[2].name = chela_s("");
    r->arguments.v = arguments;
    r->arguments.n = 3;
    r->directory = r->directory ? r->directory : t.folder;
    for (int i = 0; i < 3; i++)
        buf_clear(&t.out[i]);
    t.done = t.events = 0;
    t.bytes = 0;
    t.starting = true;
    uint64_t id = process_start(r, &ops, &t);
    t.starting = false;
    return id;
}

static uint64_t run(uint32_t flags, const char *script)
{
    struct process_request r = {.flags = flags};
    return run_with(&r, script);
}

static const char *text(int stream)
{
    return buf_text(&t.out[stream]);
}

/* Does the process exist, and is it no zombie? */
static bool alive(pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    bool read_it = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    const char *state = read_it ? strrchr(line, ')') : NULL;
    return state && state[2] != 'Z' && state[2] != 'X';
}

static void tells_output_and_how_it_ended(void **state)
{
    (void)state;
    run(0, "echo out; echo err >&2; exit 3");
    WAIT_FOR(t.done);
    assert_int_equal(t.end.error.class, 0);
    assert_string_equal(text(1), "out\n");
    assert_string_equal(text(2), "err\n");
    assert_int_equal(t.end.exit, 3);
    assert_int_equal(t.end.signal, 0);
    assert_true(t.end.pid > 0);
    run(0, "kill -KILL $$");
    WAIT_FOR(t.done);
    assert_int_equal(t.end.signal, SIGKILL);
    run(0, "pwd");
    WAIT_FOR(t.done);
    assert_memory_equal(text(1), t.folder, strlen(t.folder));
    assert_int_equal(process_count(), 0);
}

static void what_cannot_start_says_why(void **state)
{
    struct chela_pair argument = {.value = CHELA_LIT("no-such-program")};
    struct process_request r = {.arguments = {&argument, 1}, .directory = "/"};
    (void)state;
    process_start(&r, &ops, &t);
    WAIT_FOR(t.done == 1);
    assert_int_equal(t.end.error.class, CHELA_E_NOT_FOUND);
    assert_int_equal(t.end.pid, 0);
    argument.value = chela_s("/etc/passwd");
    process_start(&r, &ops, &t);
    WAIT_FOR(t.done == 2);
    assert_int_equal(t.end.error.class, CHELA_E_DENIED);
    argument.value = chela_s("true");
    r.directory = "/no/such/folder";
    process_start(&r, &ops, &t);
    WAIT_FOR(t.done == 3);
    assert_int_equal(t.end.error.class, CHELA_E_NOT_FOUND);
    assert_non_null(strstr(t.end.error.text, "directory"));
    r.arguments.n = 0;
    process_start(&r, &ops, &t);
    WAIT_FOR(t.done == 4);
    assert_int_equal(t.end.error.class, CHELA_E_ARGS);
}

static void input_is_empty_unless_asked_for(void **state)
{
    (void)state;
    run(0, "cat; echo end");
    WAIT_FOR(t.done);
    assert_string_equal(text(1), "end\n");
    uint64_t id = run(CHELA_STDIN, "cat; echo end");
    process_write(id, chela_s("first "), false);
    WAIT_FOR(t.bytes == 6);
    process_write(id, chela_s("second\n"), true);
    process_write(id, chela_s("too late"), false);
    WAIT_FOR(t.done);
    assert_string_equal(text(1), "first second\nend\n");
    id = run(CHELA_STDIN, "wc -c"); /* more than a pipe holds */
    CLEANUP(freep) char *much = xcalloc(1, 3 << 20);
    process_write(id, chela_sn(much, 3 << 20), true);
    WAIT_FOR(t.done);
    assert_int_equal(strtol(text(1), NULL, 10), 3 << 20);
    id = run(CHELA_STDIN, "sleep 100"); /* takes nothing */
    for (int i = 0; i < 5; i++)
        process_write(id, chela_sn(much, 3 << 20), false);
    WAIT_FOR(t.done);
    assert_int_equal(t.end.error.class, CHELA_E_TOO_LONG);
}

static void lines_come_whole(void **state)
{
    (void)state;
    buf_char(&t.out[0], 'x');
    struct process_request r = {.flags = CHELA_LINED};
    run_with(&r, "printf 'a\\nb'; sleep 0.05; printf 'c\\n\\nlast'");
    buf_char(&t.out[0], 'x');
    WAIT_FOR(t.done);
    assert_string_equal(text(1), "a|bc||last|");
}

static void environment_is_what_was_given(void **state)
{
    struct chela_pair variables[] = {{CHELA_LIT("MINE"), CHELA_LIT("yes, mine")},
                                     {CHELA_LIT("HOME"), CHELA_LIT("/somewhere")}};
    struct process_request r = {.environment = {variables, 2}};
    (void)state;
    run_with(&r, "env; cat /proc/$PPID/environ /proc/$PPID/cmdline | tr '\\0' '\\n'");
    WAIT_FOR(t.done);
    assert_non_null(strstr(text(1), "MINE=yes, mine\n"));
    assert_non_null(strstr(text(1), "HOME=/somewhere\n"));
    assert_non_null(strstr(text(1), "PATH=/"));
    assert_non_null(strstr(text(1), "LANG="));
    assert_non_null(strstr(text(1), "USER="));
    assert_non_null(strstr(text(1), "TERM=dumb\n"));
    assert_null(strstr(text(1), "CHELA"));
    assert_null(strstr(text(1), "a-secret"));
}

static void descriptors_and_signals_are_clean(void **state)
{
    (void)state;
    int extra = open("/etc/passwd", O_RDONLY); /* inheritable, a mistake of somebody's */
    int high = fcntl(extra, F_DUPFD, 200);
    signal(SIGPIPE, SIG_IGN);
    run(0, "ls /proc/self/fd | tr '\\n' ' '; grep -E 'Sig(Blk|Ign)' /proc/self/status; umask");
    WAIT_FOR(t.done);
    assert_memory_equal(text(1), "0 1 2 3 ", 8); /* 3: ls reading the folder */
    assert_non_null(strstr(text(1), "SigBlk:\t0000000000000000"));
    assert_non_null(strstr(text(1), "SigIgn:\t0000000000000000"));
    close(extra);
    close(high);
}

static void a_terminal_echoes_resizes_and_is_controlled(void **state)
{
    struct process_request r = {.flags = CHELA_PTY, .rows = 10, .columns = 40};
    (void)state;
    uint64_t id =
        run_with(&r, "trap 'echo resized' WINCH; tty; stty size; until read x; do :; done; "
                     "stty size; echo got:$x; while read y; do echo more:$y; done; echo bye");
    WAIT_FOR(strstr(text(1), "10 40"));
    assert_non_null(strstr(text(1), "/dev/pts/"));
    process_resize(id, 30, 100);
    process_write(id, chela_s("hello\n"), false);
    WAIT_FOR(strstr(text(1), "got:hello\r\n"));
    assert_non_null(strstr(text(1), "30 100\r\n"));
    assert_non_null(strstr(text(1), "resized\r\n"));
    assert_non_null(strstr(text(1), "hello\r\n")); /* its echo */
    process_write(id, chela_s("x\n"), true);       /* and the end of file */
    WAIT_FOR(t.done);
    assert_non_null(strstr(text(1), "more:x\r\n"));
    assert_non_null(strstr(text(1), "bye\r\n"));
    assert_int_equal(t.end.exit, 0);
    id = run_with(&r, "trap 'exit 77' INT; echo ready; while :; do sleep 0.05; done");
    WAIT_FOR(strstr(text(1), "ready"));
    process_write(id, chela_s("\003"), false); /* Ctrl-C reaches the foreground group */
    WAIT_FOR(t.done);
    assert_int_equal(t.end.exit, 77);
}

static void signals_reach_the_group(void **state)
{
    (void)state;
    uint64_t id = run(0, "trap 'echo usr1; exit 7' USR1; echo ready; while :; do sleep 0.05; done");
    WAIT_FOR(strstr(text(1), "ready"));
    process_signal(id, SIGUSR1);
    WAIT_FOR(t.done);
    assert_non_null(strstr(text(1), "usr1"));
    assert_int_equal(t.end.exit, 7);
    process_signal(id, SIGUSR1);
    process_stop(id);
    process_resize(id, 1, 1);
}

/* A tree: a child, one that ignores SIGTERM, one in a session of its own, one orphaned in another.
 */
#define TREE                                                                                       \
    "sleep 1000 & echo p$!; "                                                                      \
    "(trap '' TERM HUP; while :; do sleep 1000; done) & echo p$!; "                                \
    "setsid sleep 1000 & echo p$!; "                                                               \
    "(setsid sh -c 'trap \"\" TERM HUP; echo p$$; : >file; sleep 1000; sleep 1000' &) ; "          \
    "until [ -e file ]; do sleep 0.01; done; echo p$$; echo ready; "

static unsigned read_tree(pid_t *pids, unsigned most)
{
    unsigned n = 0;
    for (const char *p = text(1); n < most && (p = strchr(p, 'p')); p++)
        if (p[1] >= '0' && p[1] <= '9')
            pids[n++] = (pid_t)strtol(p + 1, NULL, 10);
    return n;
}

static void stopping_ends_the_whole_tree(void **state)
{
    pid_t pids[8];
    (void)state;
    uint64_t id = run(0, TREE "sleep 1000");
    WAIT_FOR(strstr(text(1), "ready"));
    unsigned n = read_tree(pids, 8);
    assert_int_equal(n, 5);
    for (unsigned i = 0; i < n; i++)
        assert_true(alive(pids[i]));
    process_stop(id);
    WAIT_FOR(t.done);
    assert_true(t.end.ended);
    for (unsigned i = 0; i < n; i++)
        assert_false(alive(pids[i]));
}

static void what_is_left_behind_ends_with_its_maker(void **state)
{
    pid_t pids[8];
    (void)state;
    run(0, TREE "exit 5");
    WAIT_FOR(t.done);
    assert_int_equal(t.end.exit, 5);
    unsigned n = read_tree(pids, 8);
    assert_int_equal(n, 5);
    for (unsigned i = 0; i < n; i++)
        assert_false(alive(pids[i]));
}

static void deadlines_end_it(void **state)
{
    struct process_request r = {.timeout_ms = 60000};
    (void)state;
    clock_fake(1000000000);
    run_with(&r, "echo begun; exec sleep 1000");
    WAIT_FOR(strstr(text(1), "begun"));
    clock_fake_advance(59999);
    loop_turn(false);
    assert_false(t.done);
    clock_fake_advance(1);
    WAIT_FOR(t.done);
    clock_fake_end();
    assert_true(t.end.timed_out);
    assert_int_equal(t.end.signal, SIGTERM);
    assert_string_equal(text(1), "begun\n");
    run_with(&r, "exit 0");
    WAIT_FOR(t.done);
    assert_false(t.end.timed_out);
}

static void forgetting_kills_without_a_word(void **state)
{
    pid_t pids[8];
    (void)state;
    uint64_t id = run(0, TREE "sleep 1000");
    WAIT_FOR(strstr(text(1), "ready"));
    unsigned n = read_tree(pids, 8);
    process_forget(id);
    WAIT_FOR(process_count() == 0);
    assert_int_equal(t.done, 0);
    for (unsigned i = 0; i < n; i++)
        assert_false(alive(pids[i]));
}

/* The daemon is killed: here a child of this test, which starts the tree and reports it. */
static void kill_nine_of_the_daemon_leaves_nothing(void **state)
{
    pid_t pids[8];
    int report[2];
    (void)state;
    assert_int_equal(pipe(report), 0);
    pid_t daemon = fork();
    assert_true(daemon >= 0);
    if (daemon == 0) {
        loop_close();
        loop_open();
        process_open();
        run(0, TREE "sleep 1000");
        while (!strstr(text(1), "ready"))
            loop_turn(true);
        if (write(report[1], t.out[1].p, t.out[1].n) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    char bytes[512];
    close(report[1]);
    alarm(30);
    ssize_t got = read(report[0], bytes, sizeof bytes);
    alarm(0);
    assert_true(got > 0);
    close(report[0]);
    buf_add(&t.out[1], bytes, (size_t)got);
    unsigned n = read_tree(pids, 8);
    assert_int_equal(n, 5);
    for (unsigned i = 0; i < n; i++)
        assert_true(alive(pids[i]));
    kill(daemon, SIGKILL);
    waitpid(daemon, NULL, 0);
    for (unsigned i = 0; i < n; i++) { /* each one's end is an event of its pidfd */
        int fd = (int)syscall(SYS_pidfd_open, pids[i], 0);
        if (fd < 0)
            continue;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&wait, 1, 10000), 1);
        close(fd);
        assert_false(alive(pids[i]));
    }
}

static void a_flood_is_bounded_by_its_consumer(void **state)
{
    (void)state;
    t.count_only = true;
    t.room = false;
    uint64_t id = run(0, "yes 0123456789012345678901234567890123456789");
    for (int i = 0; i < 20; i++)
        loop_turn(false);
    assert_int_equal(t.events, 0);
    t.room = true;
    WAIT_FOR(t.bytes > 1 << 20);
    t.room = false;
    loop_turn(false);
    size_t before = t.bytes;
    for (int i = 0; i < 20; i++)
        loop_turn(false);
    assert_int_equal(t.bytes, before);
    process_stop(id);
    for (int i = 0; i < 20; i++)
        loop_turn(false);
    t.room = true;
    WAIT_FOR(t.done);
    run(0, "head -c 10000000 /dev/zero");
    WAIT_FOR(t.done);
    assert_int_equal(t.bytes, 10000000);
}

static void limits_hold(void **state)
{
    struct process_request r = {.limits = {.cpu_s = 1, .files = 20, .file_size = 1000}};
    (void)state;
    run_with(&r, "ulimit -n; head -c 5000 /dev/zero >file; echo $?; while :; do :; done");
    WAIT_FOR(t.done);
    assert_memory_equal(text(1), "20\n", 3);
    assert_int_equal(t.end.signal, SIGKILL); /* both limits of CPU time are the same */
    CLEANUP(freep) char *file = xprintf("%s/file", t.folder);
    struct stat status;
    assert_int_equal(stat(file, &status), 0);
    assert_true(status.st_size <= 1000);
    struct process_request memory = {.limits = {.memory = 64 << 20}};
    run_with(&memory, "x=0123456789abcdef; while :; do x=$x$x; done");
    WAIT_FOR(t.done);
    assert_true(t.end.exit != 0 || t.end.signal != 0);
}

static void confinement_keeps_writes_in_the_workspace(void **state)
{
    struct process_request r = {.confine = CHELA_CONFINE_WORKSPACE};
    char outside[] = "/var/chela-proc-XXXXXX";
    (void)state;
    if (!mkdtemp(outside)) /* somewhere that is neither temporary nor the workspace */
        skip();
    CLEANUP(freep)
    char *script = xprintf("echo x >file && echo inside; echo x >%s/file || echo outside; "
                           "cat /etc/passwd >/dev/null && echo read; mkdir %s/d || echo made; "
                           "rmdir %s || echo removed; mv file %s/ || echo moved",
                           outside, outside, outside, outside);
    run_with(&r, script);
    WAIT_FOR(t.done);
    rmdir(outside);
    if (t.end.missing & CONFINE_MISSING_FILES) {
        print_message("# this kernel has no Landlock\n");
        skip();
    }
    assert_string_equal(text(1), "inside\noutside\nread\nmade\nremoved\nmoved\n");
    r.confine = CHELA_CONFINE_READ_ONLY;
    run_with(&r, "echo x >file || echo no; echo y >/tmp/chela-proc-file || echo neither; "
                 "echo z >/dev/null && echo null");
    WAIT_FOR(t.done);
    assert_string_equal(text(1), "no\nneither\nnull\n");
    r.confine = CHELA_CONFINE_READ_ONLY;
    r.flags = CHELA_PTY;
    run_with(&r, "echo on a terminal; grep NoNewPrivs /proc/self/status");
    WAIT_FOR(t.done);
    assert_non_null(strstr(text(1), "on a terminal"));
    assert_non_null(strstr(text(1), "NoNewPrivs:\t1"));
}

static void confinement_keeps_the_network_out(void **state)
{
    struct process_request r = {.confine = CHELA_CONFINE_NO_NET};
    (void)state;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 4), 0);
    getsockname(listener, (struct sockaddr *)&at, &n);
    CLEANUP(freep)
    char *script = xprintf("exec 2>/dev/null; bash -c 'echo hi >/dev/tcp/127.0.0.1/%u' && "
                           "echo reached || echo refused",
                           ntohs(at.sin_port));
    run_with(&r, script);
    WAIT_FOR(t.done);
    if (t.end.missing & CONFINE_MISSING_NETWORK) {
        close(listener);
        skip();
    }
    assert_string_equal(text(1), "refused\n");
    r.confine = 0;
    run_with(&r, script);
    WAIT_FOR(t.done);
    assert_string_equal(text(1), "reached\n");
    close(listener);
}

static void the_confined_cannot_end_their_supervisor(void **state)
{
    struct process_request r = {.confine = CHELA_CONFINE_WORKSPACE};
    (void)state;
    run_with(&r, "kill -KILL $PPID && echo killed; echo still here; exit 4");
    WAIT_FOR(t.done);
    if (t.end.error.class == CHELA_E_GONE) {
        print_message("# this kernel's Landlock does not scope signals\n");
        skip();
    }
    assert_string_equal(text(1), "still here\n");
    assert_int_equal(t.end.exit, 4);
}

static void a_killed_supervisor_takes_its_child_along(void **state)
{
    (void)state;
    run(0, "echo p$$; kill -KILL $PPID; exec sleep 1000");
    WAIT_FOR(t.done);
    assert_int_equal(t.end.error.class, CHELA_E_GONE);
    pid_t pid[1] = {0};
    assert_int_equal(read_tree(pid, 1), 1);
    for (int i = 0; i < 1000 && alive(pid[0]); i++)
        sched_yield();
    assert_false(alive(pid[0]));
}

static void many_run_side_by_side(void **state)
{
    struct process_request r = {.directory = "/"};
    struct chela_pair arguments[] = {{.value = CHELA_LIT("echo")}, {.value = CHELA_LIT("x")}};
    (void)state;
    r.arguments.v = arguments;
    r.arguments.n = 2;
    t.count_only = true;
    /* on_output wants none of the others to have ended: they share one struct, so no counting there
     */
    for (int i = 0; i < 16; i++)
        process_forget(process_start(&r, &ops, &t));
    WAIT_FOR(process_count() == 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tells_output_and_how_it_ended),
        TEST(what_cannot_start_says_why),
        TEST(input_is_empty_unless_asked_for),
        TEST(lines_come_whole),
        TEST(environment_is_what_was_given),
        TEST(descriptors_and_signals_are_clean),
        TEST(a_terminal_echoes_resizes_and_is_controlled),
        TEST(signals_reach_the_group),
        TEST(stopping_ends_the_whole_tree),
        TEST(what_is_left_behind_ends_with_its_maker),
        TEST(deadlines_end_it),
        TEST(forgetting_kills_without_a_word),
        TEST(kill_nine_of_the_daemon_leaves_nothing),
        TEST(a_flood_is_bounded_by_its_consumer),
        TEST(limits_hold),
        TEST(confinement_keeps_writes_in_the_workspace),
        TEST(confinement_keeps_the_network_out),
        TEST(the_confined_cannot_end_their_supervisor),
        TEST(a_killed_supervisor_takes_its_child_along),
        TEST(many_run_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
