/*
 * Escapes: what each profile forbids fails, tried from inside by this very program, with the
 * Landlock of this kernel and with version 2 (Debian 12's). Beside that, what must go on working.
 */
#include "net_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "proc/confine.h"
#include "proc/process.h"

/* ---- the inside: "confine_test try", in the workspace, with the outside's folder ---- */

static char at[300];

static const char *in(const char *folder, const char *name)
{
    snprintf(at, sizeof at, "%s/%s", folder, name);
    return at;
}

static int opened(int fd)
{
    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

static int write_in_place(const char *o)
{
    return opened(open(in(o, "victim"), O_WRONLY));
}
static int truncate_when_opened(const char *o)
{
    return opened(open(in(o, "victim"), O_RDONLY | O_TRUNC));
}
static int truncate_without_access(const char *o)
{
    return opened(open(in(o, "victim"), O_ACCMODE | O_TRUNC));
}
static int truncate_by_openat2(const char *o)
{
    struct open_how how = {.flags = O_RDONLY | O_TRUNC};
    return opened((int)syscall(SYS_openat2, AT_FDCWD, in(o, "victim"), &how, sizeof how));
}
static int truncate_by_open(const char *o)
{
#ifdef SYS_open
    return opened((int)syscall(SYS_open, in(o, "victim"), O_RDONLY | O_TRUNC));
#else
    (void)o;
    return -1;
#endif
}
static int truncate_by_name(const char *o)
{
    return truncate(in(o, "victim"), 0);
}
static int make_a_file(const char *o)
{
    return opened(open(in(o, "new"), O_WRONLY | O_CREAT, 0600));
}
static int make_a_folder(const char *o)
{
    return mkdir(in(o, "new"), 0700);
}
static int make_a_pipe(const char *o)
{
    return mkfifo(in(o, "new"), 0600);
}
static int make_a_link(const char *o)
{
    return symlink("x", in(o, "new"));
}
static int unlink_there(const char *o)
{
    return unlink(in(o, "victim"));
}
static int move_out(const char *o)
{
    return rename("own", in(o, "new"));
}
static int move_in(const char *o)
{
    return rename(in(o, "victim"), "taken");
}
static int swap(const char *o)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, "own", AT_FDCWD, in(o, "victim"), 2);
}
/* A second name of the file in the workspace, where writing is allowed. */
static int hard_link(const char *o)
{
    return link(in(o, "victim"), "hard") == 0 ? opened(open("hard", O_WRONLY)) : -1;
}
static int hard_link_by_descriptor(const char *o)
{
    char name[64];
    int fd = open(in(o, "victim"), O_PATH);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, name, AT_FDCWD, "hard2", AT_SYMLINK_FOLLOW);
}
static int symbolic_link(const char *o)
{
    if (symlink(in(o, "victim"), "soft") != 0 && errno != EEXIST)
        return opened(open(in(o, "victim"), O_WRONLY));
    return opened(open("soft", O_WRONLY));
}
static int dots(const char *o)
{
    char path[400];
    snprintf(path, sizeof path, "../../../../../../..%s/victim", o);
    return opened(open(path, O_WRONLY));
}
static int proc_self_root(const char *o)
{
    char path[400];
    snprintf(path, sizeof path, "/proc/self/root%s/victim", o);
    return opened(open(path, O_WRONLY));
}
static int reopen_by_descriptor(const char *o)
{
    char path[400];
    int fd = open(in(o, "victim"), O_RDONLY);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return opened(open(path, O_WRONLY));
}
static int mount_over(const char *o)
{
    /* never in the namespace of this machine */
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ? -1 : mount(o, ".", NULL, MS_BIND, NULL);
}
static int new_root(const char *o)
{
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ? -1 : (int)syscall(SYS_pivot_root, o, o);
}
static int read_environment_of_parent(const char *o)
{
    char path[64];
    (void)o;
    char byte;
    snprintf(path, sizeof path, "/proc/%s/environ", getenv("DAEMON"));
    int fd = open(path, O_RDONLY); /* newer kernels refuse only here, others only below */
    return fd >= 0 && read(fd, &byte, 1) == 1 ? 0 : -1;
}
static int trace_the_daemon(const char *o)
{
    (void)o;
    return ptrace(PTRACE_SEIZE, atoi(getenv("DAEMON")), 0, 0) == 0 ? 0 : -1;
}
static int write_its_memory(const char *o)
{
    char path[64];
    (void)o;
    snprintf(path, sizeof path, "/proc/%s/mem", getenv("DAEMON"));
    return opened(open(path, O_RDWR));
}
static int make_a_device(const char *o)
{
    (void)o;
    return mknod("device", S_IFBLK | 0600, makedev(7, 0));
}
static int change_mode(const char *o)
{
    return chmod(in(o, "victim"), 0777);
}
static int change_owner(const char *o)
{
    return chown(in(o, "victim"), getuid(), getgid());
}
static int change_times(const char *o)
{
    return utimensat(AT_FDCWD, in(o, "victim"), NULL, 0);
}
static int change_attribute(const char *o)
{
    return setxattr(in(o, "victim"), "user.chela", "x", 1, 0);
}
static int call_of_another_abi(const char *o)
{
#ifdef __x86_64__
    return (int)syscall(0x40000000 + 39) < 0 ? -1 : 0; /* x32's getpid */
#else
    (void)o;
    return -1;
#endif
    (void)o;
}
static int ring(const char *o)
{
    char parameters[120] = {0};
    (void)o;
    return opened((int)syscall(425, 2, parameters));
}
static int connect_to(int family, int kind)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(getenv("PORT"))),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(family, kind, 0);
    int result = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof to);
    if (fd >= 0)
        close(fd);
    return result;
}
static int tcp(const char *o)
{
    (void)o;
    return connect_to(AF_INET, SOCK_STREAM);
}
static int udp(const char *o)
{
    (void)o;
    return connect_to(AF_INET, SOCK_DGRAM);
}
static int packets(const char *o)
{
    (void)o;
    return opened(socket(AF_PACKET, SOCK_RAW, 0));
}
static int ipv6(const char *o)
{
    (void)o;
    return opened(socket(AF_INET6, SOCK_STREAM, 0));
}
/* What stays allowed. */
static int write_own(const char *o)
{
    (void)o;
    return opened(open("own", O_WRONLY | O_CREAT, 0600)) || chmod("own", 0640);
}
static int read_there(const char *o)
{
    return opened(open(in(o, "victim"), O_RDONLY));
}
static int use_null(const char *o)
{
    (void)o;
    return opened(open("/dev/null", O_RDWR));
}
static int use_local_socket(const char *o)
{
    (void)o;
    return opened(socket(AF_UNIX, SOCK_STREAM, 0));
}

/* Which profiles refuse it: R read-only, W workspace, N no network; with a digit behind, only from
 * that version of Landlock on. */
static const struct {
    const char *name;
    int (*fn)(const char *outside);
    const char *refused;
} attempts[] = {
    {"write in place", write_in_place, "RW"},
    {"truncate when opened", truncate_when_opened, "RW"},
    {"truncate without access", truncate_without_access, "RW"},
    {"truncate by openat2", truncate_by_openat2, "RW"},
    {"truncate by open", truncate_by_open, "RW"},
    {"truncate by name", truncate_by_name, "RW"},
    {"make a file", make_a_file, "RW"},
    {"make a folder", make_a_folder, "RW"},
    {"make a pipe", make_a_pipe, "RW"},
    {"make a link", make_a_link, "RW"},
    {"unlink", unlink_there, "RW"},
    {"move out", move_out, "RW"},
    {"move in", move_in, "RW"},
    {"swap", swap, "RW"},
    {"hard link", hard_link, "RW"},
    {"hard link by descriptor", hard_link_by_descriptor, "RW"},
    {"symbolic link", symbolic_link, "RW"},
    {"..", dots, "RW"},
    {"/proc/self/root", proc_self_root, "RW"},
    {"/proc/self/fd", reopen_by_descriptor, "RW"},
    {"mount", mount_over, "RW"},
    {"pivot_root", new_root, "RW"},
    {"daemon's environment", read_environment_of_parent, "RW"},
    {"daemon traced", trace_the_daemon, "RW"},
    {"daemon's memory", write_its_memory, "RW"},
    {"device", make_a_device, "RW"},
    {"mode", change_mode, "R"},
    {"owner", change_owner, "R"},
    {"times", change_times, "R"},
    {"attribute", change_attribute, "R"},
    {"call of another ABI", call_of_another_abi, "RN"},
    {"io_uring", ring, "RN"},
    {"TCP", tcp, "N"},
    {"UDP", udp, "N"},
    {"packets", packets, "N"},
    {"IPv6", ipv6, "N"},
    {"own file", write_own, "R"},
    {"read", read_there, ""},
    {"/dev/null", use_null, ""},
    {"local socket", use_local_socket, ""},
};

/* One attempt a process, since some change the process itself; prints "NAME yes|no ERRNO". */
static int try_all(const char *outside)
{
    for (size_t i = 0; i < ARRAY_LENGTH(attempts); i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            /* where the one before it could take it away */
            opened(open(in(outside, "victim"), O_WRONLY | O_CREAT, 0644));
            int result = attempts[i].fn(outside);
            printf("%s: %s (%s)\n", attempts[i].name, result == 0 ? "yes" : "no",
                   result == 0 ? "" : strerror(errno));
            fflush(stdout);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}

/* ---- the outside ---- */

static struct {
    unsigned done;
    struct process_end end;
    struct buf out;
    char work[64], outside[200];
} t;

static void on_output(void *owner, uint64_t id, uint32_t stream, struct chela_str data)
{
    (void)owner;
    (void)id;
    (void)stream;
    buf_str(&t.out, data);
}

static void on_done(void *owner, uint64_t id, const struct process_end *end)
{
    (void)owner;
    (void)id;
    t.done++;
    t.end = *end;
}

static const struct process_ops ops = {on_output, on_done, NULL};

static int start(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    const char *build = getenv("CHELA_TEST_BUILDDIR");
    char here[4096];
    setenv("CHELA_LIBEXEC_DIR", build ? build : getcwd(here, sizeof here), 1);
    snprintf(t.work, sizeof t.work, "/tmp/chela-confine-XXXXXX");
    assert_non_null(mkdtemp(t.work));
    const char *homes[] = {"/var", build, getenv("HOME")}; /* not a temporary folder */
    for (size_t i = 0; i < ARRAY_LENGTH(homes) && !*t.outside; i++) {
        snprintf(t.outside, sizeof t.outside, "%s/chela-confine-XXXXXX", homes[i] ? homes[i] : "");
        if (strncmp(t.outside, "/tmp/", 5) == 0 || strncmp(t.outside, "/var/tmp/", 9) == 0 ||
            !mkdtemp(t.outside))
            t.outside[0] = '\0';
    }
    loop_open();
    process_open();
    return 0;
}

static void clear(const char *folder)
{
    static const char *const names[] = {"victim", "new",   "own",  "taken",
                                        "hard",   "hard2", "soft", "device"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        unlink(in(folder, names[i]));
        rmdir(in(folder, names[i]));
    }
}

static int stop(void **state)
{
    (void)state;
    process_close();
    assert_int_equal(loop_close(), 0);
    buf_free(&t.out);
    clear(t.work);
    rmdir(t.work);
    if (*t.outside) {
        clear(t.outside);
        rmdir(t.outside);
    }
    return 0;
}

/* An attempt that worked where it should not may have taken the victim away: it is told by name. */
static void place_files(void)
{
    clear(t.work);
    clear(t.outside);
    int fd = open(in(t.outside, "victim"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, "victim", 6), 6);
    close(fd);
    fd = open(in(t.work, "own"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    close(fd);
}

static int listen_here(unsigned *ret_port)
{
    struct sockaddr_in where = {.sin_family = AF_INET};
    socklen_t n = sizeof where;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&where, sizeof where), 0);
    assert_int_equal(listen(fd, 4), 0);
    getsockname(fd, (struct sockaddr *)&where, &n);
    *ret_port = ntohs(where.sin_port);
    return fd;
}

static bool refused_by(const char *profiles, uint32_t confine)
{
    return ((confine & CHELA_CONFINE_READ_ONLY) && strchr(profiles, 'R')) ||
           ((confine & CHELA_CONFINE_WORKSPACE) && strchr(profiles, 'W')) ||
           ((confine & CHELA_CONFINE_NO_NET) && strchr(profiles, 'N'));
}

static void check(uint32_t confine, uint32_t most)
{
    unsigned wrong = 0, refused = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(attempts); i++) {
        CLEANUP(freep) char *no = xprintf("%s: no", attempts[i].name);
        CLEANUP(freep) char *line = xprintf("%s: ", attempts[i].name);
        const char *said = strstr(buf_text(&t.out), line);
        bool failed = strstr(buf_text(&t.out), no) != NULL;
        refused += failed;
        if (said && (failed || !refused_by(attempts[i].refused, confine)))
            continue;
        print_message("# profile %u, Landlock %u: %s was not refused\n", confine, most,
                      attempts[i].name);
        wrong++;
    }
    static const char *const must_work[] = {"read: yes", "/dev/null: yes", "local socket: yes"};
    for (size_t i = 0; i < ARRAY_LENGTH(must_work); i++)
        assert_non_null(strstr(buf_text(&t.out), must_work[i]));
    if (confine & CHELA_CONFINE_WORKSPACE)
        assert_non_null(strstr(buf_text(&t.out), "own file: yes"));
    if (!(confine & CHELA_CONFINE_NO_NET))
        assert_non_null(strstr(buf_text(&t.out), "TCP: yes"));
    print_message("# profile %u, Landlock %u: %u of %zu attempts refused\n", confine, most, refused,
                  ARRAY_LENGTH(attempts));
    assert_int_equal(wrong, 0);
}

static void escape(uint32_t confine, uint32_t most)
{
    char self[300], daemon_pid[16], port_text[16];
    unsigned port;
    if (!*t.outside) {
        print_message("# no folder outside could be made\n");
        skip();
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    snprintf(daemon_pid, sizeof daemon_pid, "%d", (int)getpid());
    int listener = listen_here(&port);
    snprintf(port_text, sizeof port_text, "%u", port);
    struct chela_pair arguments[] = {
        {.value = chela_s(self)}, {.value = CHELA_LIT("try")}, {.value = chela_s(t.outside)}};
    struct chela_pair environment[] = {{CHELA_LIT("DAEMON"), chela_s(daemon_pid)},
                                       {CHELA_LIT("PORT"), chela_s(port_text)}};
    struct process_request r = {.arguments = {arguments, 3},
                                .environment = {environment, 2},
                                .directory = t.work,
                                .confine = confine,
                                .landlock_most = most};
    place_files();
    buf_clear(&t.out);
    t.done = 0;
    process_start(&r, &ops, &t);
    WAIT_FOR(t.done);
    close(listener);
    assert_int_equal(t.end.error.class, 0);
    if (t.end.missing) {
        print_message("# this kernel can't confine (missing: %u)\n", t.end.missing);
        skip();
    }
    check(confine, most);
    char text[8] = "";
    if (!(confine & (CHELA_CONFINE_WORKSPACE | CHELA_CONFINE_READ_ONLY)))
        return;
    int fd = open(in(t.outside, "victim"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof text), 6);
    close(fd);
    assert_memory_equal(text, "victim", 6);
}

#define PROFILE(name, bits)                                                                        \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        escape((bits), 0);                                                                         \
    }                                                                                              \
    static void name##_with_landlock_2(void **state)                                               \
    {                                                                                              \
        (void)state;                                                                               \
        escape((bits), 2);                                                                         \
    }

PROFILE(nothing_escapes_from_read_only, CHELA_CONFINE_READ_ONLY)
PROFILE(nothing_escapes_from_the_workspace, CHELA_CONFINE_WORKSPACE)
PROFILE(nothing_escapes_to_the_network, CHELA_CONFINE_NO_NET)
PROFILE(nothing_escapes_from_read_only_without_network,
        CHELA_CONFINE_READ_ONLY | CHELA_CONFINE_NO_NET)
PROFILE(nothing_escapes_from_the_workspace_without_network,
        CHELA_CONFINE_WORKSPACE | CHELA_CONFINE_NO_NET)

/* The attempts are real: without confinement they work. */
static void unconfined_the_attempts_work(void **state)
{
    (void)state;
    static const char *const work[] = {
        "write in place: yes",  "truncate by name: yes", "mode: yes",    "TCP: yes", "UDP: yes",
        "/proc/self/root: yes", "make a file: yes",      "own file: yes"};
    escape(0, 0);
    for (size_t i = 0; i < ARRAY_LENGTH(work); i++)
        if (!strstr(buf_text(&t.out), work[i]))
            fail_msg("not even unconfined: %s in\n%s", work[i], buf_text(&t.out));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
#define BOTH(name) TEST(name), TEST(name##_with_landlock_2)

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "try") == 0)
        return try_all(argv[2]);
    const struct CMUnitTest tests[] = {
        TEST(unconfined_the_attempts_work),
        BOTH(nothing_escapes_from_read_only),
        BOTH(nothing_escapes_from_the_workspace),
        BOTH(nothing_escapes_to_the_network),
        BOTH(nothing_escapes_from_read_only_without_network),
        BOTH(nothing_escapes_from_the_workspace_without_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
