/*
 * Files beneath a folder, and nothing else: no "..", no symbolic link, no /proc link leads out of
 * it, not even one that somebody changes at the same moment.
 */
#ifndef TOOL_FILES_BENEATH_H
#define TOOL_FILES_BENEATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The part of `path` below `root`: relative as it is, absolute only if it begins with root. "." for
 * root itself. NULL if it leads out by its letters alone. Points into path. */
const char *beneath_relative(const char *root, const char *path);
struct beneath {
    int root;    /* the folder's descriptor */
    bool mounts; /* file systems that are mounted below it belong to it */
};

/* Opens a file or folder; -1 with errno (EXDEV or ELOOP: it leads out of the folder; EREMOTE: onto
 * a file system that is mounted there). */
int beneath_open(const struct beneath *b, const char *relative, int flags, mode_t mode);
/* Opens the folder that holds `relative`, made with its parents if `make`; *ret_leaf points to the
 * last name. */
int beneath_parent(const struct beneath *b, const char *relative, bool make, const char **ret_leaf);
/* "it leads out of the workspace" and the like, or strerror, for people. */
const char *beneath_reason(int error);

#endif
