/*
 * Files beneath a folder (see beneath.h): openat2 with RESOLVE_BENEATH; on a kernel or in a
 * container without it, a walk that follows no link at all.
 */
#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *beneath_relative(const char *root, const char *path)
{
    size_t n = strlen(root);
    while (n > 1 && root[n - 1] == '/')
        n--;
    if (path[0] == '/') {
        if (strncmp(path, root, n) != 0 || (path[n] != '/' && path[n] != '\0'))
            return NULL;
        path += n;
        path += strspn(path, "/");
    }
    while (path[0] == '.' && path[1] == '/')
        path += 1 + strspn(path + 1, "/");
    int depth = 0;
    for (const char *p = path; *p;) {
        size_t length = strcspn(p, "/");
        if (length == 2 && p[0] == '.' && p[1] == '.')
            depth--;
        else if (length && !(length == 1 && p[0] == '.'))
            depth++;
        if (depth < 0)
            return NULL;
        p += length;
        p += strspn(p, "/");
    }
    return *path ? path : ".";
}

/* Why `name` could not be opened as a folder; a link to one says ENOTDIR, and is meant as ELOOP. */
static int open_error(int at, const char *name, int error)
{
    struct stat st;
    bool link =
        error == ENOTDIR && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
    return link ? ELOOP : error;
}

/* Name by name, without following any link; ".." was refused by its letters or is refused here. */
static int walk(const struct beneath *b, const char *relative, int flags, mode_t mode)
{
    char name[NAME_MAX + 1];
    struct stat root, here;
    int at = fstat(b->root, &root) == 0 ? dup(b->root) : -1;
    while (at >= 0) {
        relative += strspn(relative, "/");
        size_t n = strcspn(relative, "/");
        if (n > NAME_MAX || (n == 2 && relative[0] == '.' && relative[1] == '.')) {
            close(at);
            errno = n > NAME_MAX ? ENAMETOOLONG : EXDEV;
            return -1;
        }
        memcpy(name, n ? relative : ".", n ? n : 1);
        name[n ? n : 1] = '\0';
        relative += n;
        bool last = relative[strspn(relative, "/")] == '\0';
        int next =
            openat(at, name, (last ? flags : O_PATH | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC, mode);
        int error = next < 0 ? open_error(at, name, errno) : 0;
        if (next >= 0 && !b->mounts && (fstat(next, &here) != 0 || here.st_dev != root.st_dev)) {
            close(next);
            next = -1;
            error = EREMOTE;
        }
        close(at);
        errno = error;
        if (last || next < 0)
            return next;
        at = next;
    }
    return -1;
}

/* Whether what crosses a mount would stay below the folder otherwise. */
static bool is_mounted(const struct beneath *b, const char *relative)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    long fd = syscall(SYS_openat2, b->root, relative, &how, sizeof how);
    if (fd >= 0)
        close((int)fd);
    return fd >= 0 || errno == ENOENT;
}

int beneath_open(const struct beneath *b, const char *relative, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .mode = flags & O_CREAT ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (b->mounts ? 0u : RESOLVE_NO_XDEV),
    };
    for (int tries = 0; tries < 16; tries++) {
        long fd = syscall(SYS_openat2, b->root, relative, &how, sizeof how);
        if (fd >= 0)
            return (int)fd;
        if (errno == ENOSYS || errno == EPERM)
            return walk(b, relative, flags, mode);
        if (errno == EXDEV && !b->mounts) {
            errno = is_mounted(b, relative) ? EREMOTE : EXDEV;
            return -1;
        }
        if (errno != EAGAIN) /* EAGAIN: something was renamed meanwhile */
            return -1;
    }
    return -1;
}

int beneath_parent(const struct beneath *b, const char *relative, bool make, const char **ret_leaf)
{
    char folder[PATH_MAX];
    size_t n = strlen(relative);
    while (n && relative[n - 1] == '/')
        n--;
    size_t leaf = n;
    while (leaf && relative[leaf - 1] != '/')
        leaf--;
    bool dots = (n - leaf == 1 && relative[leaf] == '.') ||
                (n - leaf == 2 && relative[leaf] == '.' && relative[leaf + 1] == '.');
    if (n == 0 || relative[n] || dots || leaf >= sizeof folder) {
        errno = EISDIR;
        return -1;
    }
    *ret_leaf = relative + leaf;
    memcpy(folder, relative, leaf);
    folder[leaf] = '\0';
    for (size_t i = 1; make && i < leaf; i++) { /* each folder on the way, outermost first */
        if (folder[i] != '/')
            continue;
        folder[i] = '\0';
        const char *name;
        int parent = beneath_parent(b, folder, false, &name);
        if (parent >= 0) {
            if (mkdirat(parent, name, 0777) != 0 && errno != EEXIST) {
                int error = errno;
                close(parent);
                errno = error;
                return -1;
            }
            close(parent);
        }
        folder[i] = '/';
    }
    return beneath_open(b, leaf ? folder : ".", O_RDONLY | O_DIRECTORY, 0);
}

const char *beneath_reason(int error)
{
    return error == EXDEV || error == ELOOP ? "it leads out of the workspace"
           : error == EREMOTE
               ? "another file system is mounted there (the option mounts of files allows it)"
               : strerror(error);
}
