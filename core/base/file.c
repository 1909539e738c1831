/*
 * Files as a whole (see file.h).
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* ---- reading ---- */

int file_read_from(int fd, const char *name, size_t most, struct buf *out, struct error *e)
{
    size_t before = out->n;
    char bytes[16384];
    for (ssize_t n = 1; n != 0 && out->n - before <= most;) {
        n = read(fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(e, CHELA_E_OTHER, "%s can't be read: %s", name, strerror(errno));
        buf_add(out, bytes, (size_t)n);
    }
    bool mebi = most >= 1 << 20 && most % (1 << 20) == 0;
    return out->n - before <= most
               ? 0
               : error_set(e, CHELA_E_TOO_LONG, "%s is larger than %zu %s", name,
                           mebi ? most >> 20 : most, mebi ? "MiB" : "bytes");
}

int file_read(const char *path, size_t most, struct buf *out, struct error *e)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), bad;
    if (fd < 0 || fstat(fd, &st) < 0)
        bad = error_set(e, errno == ENOENT ? CHELA_E_NOT_FOUND : CHELA_E_OTHER,
                        "%s can't be read: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        bad = error_set(e, CHELA_E_ARGS, "%s is no regular file", path);
    else
        bad = file_read_from(fd, path, most, out, e);
    if (fd >= 0)
        close(fd);
    return bad;
}

/* ---- writing ---- */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int file_make_folder(const char *path)
{
    CLEANUP(freep) char *whole = xstrdup(path);
    for (char *slash = whole; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (mkdir(whole, 0700) < 0 && !is_folder(whole))
            return -1;
        *slash = '/';
    }
    return mkdir(whole, 0700) < 0 && !is_folder(whole) ? -1 : 0;
}

static bool write_all(int fd, struct chela_str text)
{
    for (uint64_t at = 0; at < text.n;) {
        ssize_t n = write(fd, text.s + at, (size_t)(text.n - at));
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? (uint64_t)n : 0;
    }
    return true;
}

static int write_fresh(const char *path, struct chela_str text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    bool ok =
        fchmod(fd, 0600) == 0 && write_all(fd, text) && fsync(fd) == 0; /* it may be an old one */
    return close(fd) == 0 && ok ? 0 : -1;
}

/* The name itself lasts only when the folder is on the disk, too. */
static void sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

int file_replace(const char *path, struct chela_str text, const char *keep, struct error *e)
{
    const char *slash = strrchr(path, '/');
    CLEANUP(freep) char *folder = slash ? xmemdup(path, (size_t)(slash - path)) : xstrdup(".");
    CLEANUP(freep) char *fresh = xprintf("%s.new", path);
    CLEANUP(freep) char *kept = keep ? xprintf("%s%s", path, keep) : NULL;
    if (*folder && file_make_folder(folder) < 0)
        return error_set(e, CHELA_E_DENIED, "%s can't be made: %s", folder, strerror(errno));
    if (write_fresh(fresh, text) < 0) {
        error_set(e, CHELA_E_DENIED, "%s can't be written: %s", fresh, strerror(errno));
        unlink(fresh);
        return -1;
    }
    if (kept)
        unlink(kept);
    if ((kept && link(path, kept) < 0 && errno != ENOENT) || rename(fresh, path) < 0) {
        error_set(e, CHELA_E_DENIED, "%s can't be written: %s", path, strerror(errno));
        unlink(fresh);
        return -1;
    }
    sync_folder(*folder ? folder : "/");
    return 0;
}
