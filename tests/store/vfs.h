/*
 * A VFS under SQLite's own that writes down what reaches the files, so that a power cut at any
 * moment can be played through, and that can refuse a sync. For tests of store_sqlite, which uses
 * the process's default VFS.
 */
#ifndef TESTS_STORE_VFS_H
#define TESTS_STORE_VFS_H

#include <stdbool.h>
#include <stddef.h>

void vfs_install(void);
/* Forgets all that was written down. */
void vfs_reset(void);
/* Number of the next entry: what is acknowledged now depends on entries below it. */
size_t vfs_position(void);

/*
 * Makes, in `dir`, the files as a power cut right before entry `at` might have left them. What was
 * synced is there. Of each write since then, `keep` percent reach the disk, some of those torn at
 * 512 bytes (keep 0: none). `ignore_syncs`: as if nothing had ever been synced since `from`.
 */
void vfs_crash(const char *dir, size_t at, unsigned keep, unsigned *seed, size_t from,
               bool ignore_syncs);

/* The next n syncs fail with an I/O error. */
void vfs_fail_syncs(int n);

#endif
