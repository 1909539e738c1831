/*
 * The files around the database: folders and modes, the lock against a second daemon, file systems
 * on which WAL doesn't work, the traces of an unclean end. Called by the writer's first job.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "internal.h"

/* statfs(2); WAL needs shared memory between processes, which these don't have. */
static const struct {
    unsigned long type;
    const char *name;
    bool refused;
} remote[] = {
    {0x6969, "nfs", true},      {0x517b, "smb", true},       {0xff534d42, "cifs", true},
    {0xfe534d42, "smb2", true}, {0x5346414f, "afs", true},   {0x00c36400, "ceph", true},
    {0x01021997, "9p", false},  {0x65735546, "fuse", false},
};

int files_make_dir(const char *path, struct failure *f)
{
    char *copy = copy_text(path);
    int r = 0;
    for (char *p = copy + 1; r == 0; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char saved = *p;
        *p = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
            r = fail(f, errno == ENOSPC ? CHELA_E_FULL : CHELA_E_OTHER,
                     "can't make the folder %s: %s", copy, strerror(errno));
        *p = saved;
        if (!saved)
            break;
    }
    free(copy);
    return r;
}

static char *dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash != path ? need(strndup(path, (size_t)(slash - path)))
                                  : copy_text(slash ? "/" : ".");
}

static int check_file_system(const char *dir, bool any, char *warning, size_t size,
                             struct failure *f)
{
    struct statfs s;
    if (statfs(dir, &s) < 0)
        return fail(f, CHELA_E_OTHER, "can't look at %s: %s", dir, strerror(errno));
    for (size_t i = 0; i < sizeof remote / sizeof remote[0]; i++) {
        if (remote[i].type != ((unsigned long)s.f_type & 0xffffffffu))
            continue;
        if (remote[i].refused && !any)
            return fail(f, CHELA_E_UNSUPPORTED,
                        "%s is on a network file system (%s), where SQLite loses data; put the "
                        "store's path on a local disk, or set network = true if only one machine "
                        "ever uses it",
                        dir, remote[i].name);
        snprintf(warning, size, "%s is on a file system (%s) that may not keep what was synced",
                 dir, remote[i].name);
    }
    return 0;
}

int files_prepare(const char *path, bool any_file_system, char *warning, size_t size,
                  struct failure *f)
{
    char *dir = dir_of(path);
    int r = files_make_dir(dir, f);
    if (r == 0)
        r = check_file_system(dir, any_file_system, warning, size, f);
    if (r == 0) {
        /* SQLite gives the log and the index the database's mode */
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        struct stat s;
        if (fd < 0 || fstat(fd, &s) < 0)
            r = fail(f, errno == ENOSPC ? CHELA_E_FULL : CHELA_E_OTHER, "can't open %s: %s", path,
                     strerror(errno));
        else if (s.st_mode & 077 && fchmod(fd, 0600) < 0)
            snprintf(warning, size, "%s can be read by others, and its mode can't be changed: %s",
                     path, strerror(errno));
        if (fd >= 0)
            close(fd);
    }
    free(dir);
    return r;
}

static void read_owner(int fd, char *out, size_t size)
{
    ssize_t n = pread(fd, out, size - 1, 0);
    out[n > 0 ? n : 0] = '\0';
    out[strspn(out, "0123456789")] = '\0';
}

int files_lock(const char *path, int *ret_fd, struct failure *f)
{
    char *name = join_text(path, "-lock");
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600), r = 0;
    if (fd < 0) {
        r = fail(f, errno == ENOSPC ? CHELA_E_FULL : CHELA_E_OTHER, "can't open %s: %s", name,
                 strerror(errno));
    } else if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        char owner[24];
        read_owner(fd, owner, sizeof owner);
        r = fail(f, CHELA_E_BUSY,
                 "%s is in use by process %s; is another chela gateway running with the same state "
                 "folder?",
                 path, *owner ? owner : "unknown");
        f->retry = false;
        close(fd);
    } else {
        char pid[24];
        int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
        if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) < 0)
            (void)0; /* only the other one's message will be poorer */
        *ret_fd = fd;
    }
    free(name);
    return r;
}

void files_unlock(int fd)
{
    if (fd >= 0)
        close(fd);
}

int files_sync_dir_of(const char *path, struct failure *f)
{
    char *dir = dir_of(path);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
    if (fd < 0 || fsync(fd) < 0)
        r = fail(f, CHELA_E_OTHER, "can't sync the folder %s: %s", dir, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(dir);
    return r;
}

bool files_unclean(const char *path)
{
    char *name = join_text(path, "-wal");
    struct stat s;
    bool left = stat(name, &s) == 0 && s.st_size > 0;
    free(name);
    return left;
}

void files_sha256(const void *p, size_t n, char hex[65])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char sum[32];
    unsigned length = 0;
    if (EVP_Digest(p, n, sum, &length, EVP_sha256(), NULL) != 1 || length != sizeof sum)
        abort();
    for (size_t i = 0; i < sizeof sum; i++) {
        hex[2 * i] = digits[sum[i] >> 4];
        hex[2 * i + 1] = digits[sum[i] & 15];
    }
    hex[64] = '\0';
}
