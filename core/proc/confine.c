/*
 * Confinement: see confine.h. Landlock and seccomp are called by number, with constants of our own,
 * since the headers of Debian 12 know less than the kernels that this will run on.
 */
#include "proc/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chela/process.h>

/* ---- Landlock (linux/landlock.h) ---- */

#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule       445
#define __NR_landlock_restrict_self  446
#endif

enum { RULESET_VERSION = 1, RULE_PATH_BENEATH = 1 };

#define FS_EXECUTE  (1ull << 0)
#define FS_WRITE    (1ull << 1)
#define FS_READ     (1ull << 2)
#define FS_READ_DIR (1ull << 3)
#define FS_MAKE     (0x1ffull << 4) /* remove and make entries of all kinds */
#define FS_REFER    (1ull << 13)    /* ABI 2 */
#define FS_TRUNCATE (1ull << 14)    /* ABI 3 */
#define FS_IOCTL    (1ull << 15)    /* ABI 5: of devices */
#define NET_TCP     3ull            /* ABI 4: bind and connect */
#define SCOPE_ALL   3ull            /* ABI 6: abstract sockets and signals of others */

struct ruleset {
    uint64_t files, network, scoped;
};

struct path_rule {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

static int allow(int ruleset, const char *path, uint64_t rights)
{
    struct path_rule rule = {.allowed = rights};
    struct stat status;
    rule.parent = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent < 0)
        return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 0 : -1;
    if (fstat(rule.parent, &status) == 0 && !S_ISDIR(status.st_mode))
        rule.allowed &= FS_EXECUTE | FS_WRITE | FS_READ | FS_TRUNCATE | FS_IOCTL;
    int result = (int)syscall(__NR_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent);
    return result;
}

/* Reading is free; writing is what the rules name. */
static int add_rules(int ruleset, uint64_t handled, uint32_t kind, const char *directory,
                     const char *temporary)
{
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full",
                                          "/dev/tty",  "/dev/pts",  "/dev/ptmx"};
    static const char *const folders[] = {"/tmp", "/var/tmp", "/dev/shm"};
    uint64_t writes = handled & (FS_READ | FS_READ_DIR | FS_WRITE | FS_MAKE | FS_REFER |
                                 FS_TRUNCATE | FS_EXECUTE);
    uint64_t device = handled & (FS_READ | FS_WRITE | FS_TRUNCATE | FS_IOCTL);
    int result = allow(ruleset, "/", handled & (FS_EXECUTE | FS_READ | FS_READ_DIR));
    for (size_t i = 0; result == 0 && i < sizeof devices / sizeof devices[0]; i++)
        result = allow(ruleset, devices[i], device | (handled & FS_READ_DIR));
    if (kind != CHELA_CONFINE_WORKSPACE)
        return result;
    for (size_t i = 0; result == 0 && i < sizeof folders / sizeof folders[0]; i++)
        result = allow(ruleset, folders[i], writes);
    if (result == 0 && *temporary)
        result = allow(ruleset, temporary, writes);
    return result == 0 ? allow(ruleset, directory, writes) : result;
}

static int confine_files(uint32_t kind, bool network, const char *directory, const char *temporary,
                         uint32_t *ret_missing)
{
    long abi = syscall(__NR_landlock_create_ruleset, NULL, 0, RULESET_VERSION);
    if (abi < 1) {
        if (kind != CHELA_CONFINE_NONE)
            *ret_missing |= CONFINE_MISSING_FILES;
        return 0;
    }
    struct ruleset set = {0};
    size_t size = sizeof set.files;
    if (kind != CHELA_CONFINE_NONE) {
        set.files = FS_EXECUTE | FS_WRITE | FS_READ | FS_READ_DIR | FS_MAKE;
        set.files |=
            (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) | (abi >= 5 ? FS_IOCTL : 0);
    }
    if (abi >= 4) {
        set.network = network ? NET_TCP : 0;
        size += sizeof set.network;
    }
    if (abi >= 6) {
        set.scoped = SCOPE_ALL; /* so that it can't end its supervisor, for one */
        size += sizeof set.scoped;
    }
    if (!set.files && !set.network && !set.scoped)
        return 0;
    int fd = (int)syscall(__NR_landlock_create_ruleset, &set, size, 0);
    if (fd < 0)
        return -1;
    int result =
        kind == CHELA_CONFINE_NONE ? 0 : add_rules(fd, set.files, kind, directory, temporary);
    if (result == 0)
        result = (int)syscall(__NR_landlock_restrict_self, fd, 0);
    int saved = errno;
    close(fd);
    errno = saved;
    return result;
}

/* ---- seccomp ---- */

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define OWN_ARCHITECTURE AUDIT_ARCH_RISCV64
#endif

#ifdef OWN_ARCHITECTURE
#define LOAD(field)              BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define RETURN(what)             BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE(number)           RETURN(SECCOMP_RET_ERRNO | (number))

/* No sockets but local ones, and the kernel's own (netlink: the C library lists interfaces by it);
 * no io_uring, which opens sockets without the system call; no system calls of other ABIs, whose
 * numbers mean something else. */
static int confine_network(uint32_t *ret_missing)
{
    static struct sock_filter code[] = {
        LOAD(arch),
        IF_EQUAL(OWN_ARCHITECTURE, 1, 0),
        REFUSE(ENOSYS),
        LOAD(nr),
#ifdef __x86_64__
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1), /* x32 */
        REFUSE(ENOSYS),
#endif
        IF_EQUAL(425, 0, 1), /* io_uring_setup, the same everywhere */
        REFUSE(ENOSYS),
        IF_EQUAL(__NR_socket, 1, 0),
        RETURN(SECCOMP_RET_ALLOW),
        LOAD(args[0]), /* the low half: all of these are little-endian */
        IF_EQUAL(AF_UNIX, 2, 0),
        IF_EQUAL(AF_NETLINK, 1, 0),
        REFUSE(EPERM),
        RETURN(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
        return 0;
    if (errno != EINVAL)
        return -1;
    *ret_missing |= CONFINE_MISSING_NETWORK;
    return 0;
}
#else
static int confine_network(uint32_t *ret_missing)
{
    *ret_missing |= CONFINE_MISSING_NETWORK;
    return 0;
}
#endif

int confine_apply(uint32_t confine, const char *directory, const char *temporary,
                  uint32_t *ret_missing)
{
    uint32_t kind = confine & (CHELA_CONFINE_WORKSPACE | CHELA_CONFINE_READ_ONLY);
    bool network = (confine & CHELA_CONFINE_NO_NET) != 0;
    *ret_missing = 0;
    if (!confine)
        return 0;
    if (kind & CHELA_CONFINE_READ_ONLY)
        kind = CHELA_CONFINE_READ_ONLY; /* the stricter of both */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        confine_files(kind, network, directory, temporary, ret_missing) != 0)
        return -1;
    return network ? confine_network(ret_missing) : 0;
}

/* ---- limits ---- */

static int limit(__rlimit_resource_t what, uint64_t value)
{
    struct rlimit now, want = {value, value};
    if (!value)
        return 0;
    if (getrlimit(what, &now) == 0 && now.rlim_max < value)
        want.rlim_cur = want.rlim_max = now.rlim_max;
    return setrlimit(what, &want);
}

int confine_limits(const struct supervise_limits *l)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none); /* a core file may hold what the environment held */
    /* RLIMIT_DATA, not AS: run times that reserve address space they never touch would not start */
    if (limit(RLIMIT_CPU, l->cpu_s) != 0 || limit(RLIMIT_DATA, l->memory) != 0 ||
        limit(RLIMIT_NOFILE, l->files) != 0 || limit(RLIMIT_FSIZE, l->file_size) != 0)
        return -1;
    return limit(RLIMIT_NPROC, l->processes);
}
