/*
 * Confinement: see confine.h. Landlock and seccomp are called by number, with constants of our own,
 * since the headers of Debian 12 know less than the kernels that this will run on.
 */
#include "proc/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
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
#define FS_MAKE     (0x1ffull << 4)          /* remove and make entries of all kinds */
#define FS_DEVICES  (1ull << 6 | 1ull << 11) /* of them, make character and block devices */
#define FS_REFER    (1ull << 13)             /* ABI 2 */
#define FS_TRUNCATE (1ull << 14)             /* ABI 3 */
#define FS_IOCTL    (1ull << 15)             /* ABI 5: of devices */
#define NET_TCP     3ull                     /* ABI 4: bind and connect */
#define SCOPE_ALL   3ull                     /* ABI 6: abstract sockets and signals of others */

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
    uint64_t writes = handled & (FS_READ | FS_READ_DIR | FS_WRITE | (FS_MAKE & ~FS_DEVICES) |
                                 FS_REFER | FS_TRUNCATE | FS_EXECUTE);
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

static long landlock_version(uint32_t most)
{
    long version = syscall(__NR_landlock_create_ruleset, NULL, 0, RULESET_VERSION);
    return most && version > (long)most ? (long)most : version;
}

static int confine_files(uint32_t kind, bool network, long abi, const char *directory,
                         const char *temporary, uint32_t *ret_missing)
{
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

/* System calls that change what Landlock doesn't look at; some are missing on newer machines. */
static const int attribute_calls[] = {
#ifdef __NR_chmod
    __NR_chmod,           __NR_chown,
    __NR_lchown,          __NR_utime,
    __NR_utimes,          __NR_futimesat,
#endif
    __NR_fchmod,          __NR_fchmodat,
    452 /* fchmodat2 */,  __NR_fchown,
    __NR_fchownat,        __NR_utimensat,
    __NR_setxattr,        __NR_lsetxattr,
    __NR_fsetxattr,       __NR_removexattr,
    __NR_lremovexattr,    __NR_fremovexattr,
    463 /* setxattrat */, 466 /* removexattrat */,
    __NR_truncate,
};

enum { IO_URING_SETUP = 425 }; /* the same everywhere */

#ifdef OWN_ARCHITECTURE
#define LOAD(field)              BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define RETURN(what)             BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE(number)           RETURN(SECCOMP_RET_ERRNO | (number))

struct filter {
    struct sock_filter code[96];
    unsigned short n;
};

static void add(struct filter *f, struct sock_filter instruction)
{
    f->code[f->n++] = instruction;
}

static void refuse(struct filter *f, int call, unsigned number)
{
    add(f, (struct sock_filter)IF_EQUAL((uint32_t)call, 0, 1));
    add(f, (struct sock_filter)REFUSE(number));
}

/* No system calls of other ABIs, whose numbers mean something else; no io_uring, which does the
 * work of others without them. */
static void add_head(struct filter *f)
{
    add(f, (struct sock_filter)LOAD(arch));
    add(f, (struct sock_filter)IF_EQUAL(OWN_ARCHITECTURE, 1, 0));
    add(f, (struct sock_filter)REFUSE(ENOSYS));
    add(f, (struct sock_filter)LOAD(nr));
#ifdef __x86_64__
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1)); /* x32 */
    add(f, (struct sock_filter)REFUSE(ENOSYS));
#endif
    refuse(f, IO_URING_SETUP, ENOSYS);
}

/* No sockets but local ones, and the kernel's own (netlink: the C library lists interfaces by it).
 */
static void add_network(struct filter *f)
{
    add(f, (struct sock_filter)IF_EQUAL(__NR_socket, 1, 0));
    add(f, (struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
    add(f, (struct sock_filter)LOAD(args[0])); /* the low half: all of these are little-endian */
    add(f, (struct sock_filter)IF_EQUAL(AF_UNIX, 2, 0));
    add(f, (struct sock_filter)IF_EQUAL(AF_NETLINK, 1, 0));
    add(f, (struct sock_filter)REFUSE(EPERM));
}

/* Opening to read and to truncate at once, which Landlock sees from version 3 on only. */
static void add_opening(struct filter *f, int call, size_t flags)
{
    add(f, (struct sock_filter)IF_EQUAL((uint32_t)call, 0, 7));
    add(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)flags));
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TRUNC, 0, 4));
    add(f, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, O_ACCMODE));
    add(f, (struct sock_filter)IF_EQUAL(O_WRONLY, 2, 0));
    add(f, (struct sock_filter)IF_EQUAL(O_RDWR, 1, 0));
    add(f, (struct sock_filter)REFUSE(EPERM));
    add(f, (struct sock_filter)LOAD(nr));
}

static void add_truncating(struct filter *f)
{
    refuse(f, __NR_truncate, EPERM);
    refuse(f, 437 /* openat2: its flags stand in memory; programs take openat instead */, ENOSYS);
#ifdef __NR_open
    add_opening(f, __NR_open, offsetof(struct seccomp_data, args[1]));
#endif
    add_opening(f, __NR_openat, offsetof(struct seccomp_data, args[2]));
}

static int confine_calls(uint32_t kind, bool network, long abi)
{
    struct filter f = {.n = 0};
    bool truncates = kind != CHELA_CONFINE_NONE && abi > 0 && abi < 3;
    if (!network && kind != CHELA_CONFINE_READ_ONLY && !truncates)
        return 0;
    add_head(&f);
    for (size_t i = 0;
         kind == CHELA_CONFINE_READ_ONLY && i < sizeof attribute_calls / sizeof attribute_calls[0];
         i++)
        refuse(&f, attribute_calls[i], EROFS);
    if (truncates)
        add_truncating(&f);
    if (network)
        add_network(&f);
    add(&f, (struct sock_filter)RETURN(SECCOMP_RET_ALLOW));
    struct sock_fprog program = {.len = f.n, .filter = f.code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int confine_network(uint32_t kind, bool network, long abi, uint32_t *ret_missing)
{
    if (confine_calls(kind, network, abi) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    *ret_missing |= (network ? CONFINE_MISSING_NETWORK : 0) | (kind ? CONFINE_MISSING_FILES : 0);
    return 0;
}
#else
static int confine_network(uint32_t kind, bool network, long abi, uint32_t *ret_missing)
{
    (void)abi;
    *ret_missing |= (network ? CONFINE_MISSING_NETWORK : 0) | (kind ? CONFINE_MISSING_FILES : 0);
    return 0;
}
#endif

/* A gateway that runs as root has rights that reach around all of the above. */
static int drop_capabilities(void)
{
    static const int dropped[] = {
        CAP_SYS_ADMIN,       CAP_SYS_PTRACE,
        CAP_SYS_MODULE,      CAP_SYS_RAWIO,
        CAP_SYS_BOOT,        CAP_SYS_TIME,
        CAP_MKNOD,           CAP_NET_ADMIN,
        CAP_NET_RAW,         CAP_SYS_CHROOT,
        CAP_LINUX_IMMUTABLE, 38 /* CAP_PERFMON */,
        39 /* CAP_BPF */,    40 /* CAP_CHECKPOINT_RESTORE */,
    };
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) != 0)
        return -1;
    for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++) {
        struct __user_cap_data_struct *word = &data[dropped[i] / 32];
        uint32_t bit = ~(1u << dropped[i] % 32);
        prctl(PR_CAPBSET_DROP, dropped[i], 0, 0, 0); /* allowed to root only, needed there only */
        word->effective &= bit;
        word->permitted &= bit;
        word->inheritable &= bit;
    }
    return (int)syscall(SYS_capset, &head, data);
}

int confine_apply(const struct supervise_spec *spec, const char *directory, const char *temporary,
                  uint32_t *ret_missing)
{
    uint32_t kind = spec->confine & (CHELA_CONFINE_WORKSPACE | CHELA_CONFINE_READ_ONLY);
    bool network = (spec->confine & CHELA_CONFINE_NO_NET) != 0;
    long abi = landlock_version(spec->landlock_most);
    *ret_missing = 0;
    if (!spec->confine)
        return 0;
    if (kind & CHELA_CONFINE_READ_ONLY)
        kind = CHELA_CONFINE_READ_ONLY; /* the stricter of both */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        confine_files(kind, network, abi, directory, temporary, ret_missing) != 0 ||
        (kind != CHELA_CONFINE_NONE && drop_capabilities() != 0))
        return -1;
    return confine_network(kind, network, abi, ret_missing);
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
