/*
 * Descendants by /proc: see supervise_tree.h. Part of chela-supervise.
 */
#include "proc/supervise_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

struct process {
    pid_t pid, parent;
    bool ours;
};

/* A field of /proc/PID/stat by its number in proc(5), from 4 on; -1 if the process is gone. */
static long read_stat(const char *name, int field)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *p = strrchr(text, ')'); /* the name before it may hold anything */
    for (int i = 2; p && i < field; i++)
        p = strchr(p + 1, ' ');
    return p ? strtol(p, NULL, 10) : -1;
}

unsigned supervise_tree_tasks(void)
{
    unsigned count = 0;
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    while (proc && (entry = readdir(proc))) {
        struct stat status;
        if (isdigit((unsigned char)entry->d_name[0]) &&
            fstatat(dirfd(proc), entry->d_name, &status, 0) == 0 && status.st_uid == getuid()) {
            long threads = read_stat(entry->d_name, 20);
            count += threads > 0 ? (unsigned)threads : 0;
        }
    }
    if (proc)
        closedir(proc);
    return count;
}

static struct process *read_all(size_t *ret_count)
{
    struct process *all = NULL;
    size_t count = 0, size = 0;
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    while (proc && (entry = readdir(proc))) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        if (count == size) {
            size_t more = size ? size * 2 : 256;
            struct process *bigger = realloc(all, more * sizeof *all);
            if (!bigger)
                break;
            all = bigger;
            size = more;
        }
        all[count].pid = (pid_t)strtol(entry->d_name, NULL, 10);
        all[count].parent = (pid_t)read_stat(entry->d_name, 4);
        all[count++].ours = false;
    }
    if (proc)
        closedir(proc);
    *ret_count = count;
    return all;
}

static bool is_ours(const struct process *all, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].pid == pid)
            return all[i].ours;
    return false;
}

unsigned supervise_tree_signal(int number, bool only_children)
{
    size_t count;
    struct process *all = read_all(&count);
    pid_t self = getpid();
    unsigned found = 0;
    for (bool more = true; more;) { /* a generation each round */
        more = false;
        for (size_t i = 0; i < count; i++) {
            bool child = all[i].parent == self;
            if (all[i].ours || (!child && (only_children || !is_ours(all, count, all[i].parent))))
                continue;
            all[i].ours = true;
            more = !only_children;
            found++;
            kill(all[i].pid, number);
        }
    }
    free(all);
    return found;
}
