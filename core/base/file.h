/*
 * Small files as a whole: read within a bound, and put in place so that a reader sees the old text
 * or the new one and a crash leaves one of them. Called from everywhere; blocks.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

/* Appends a regular file's bytes. -1: it isn't there (CHELA_E_NOT_FOUND), is no regular file
 * (CHELA_E_ARGS), has more than `most` bytes (CHELA_E_TOO_LONG), can't be read. e may be NULL. */
int file_read(const char *path, size_t most, struct buf *out, struct error *e);
/* The same from a descriptor of any kind, up to its end; name: for the error. */
int file_read_from(int fd, const char *name, size_t most, struct buf *out, struct error *e);
/* A folder with those above it, for this user alone; 0 if it is there already. */
int file_make_folder(const char *path);
/* The text becomes the file, for this user alone, its folders are made. keep: what is added to the
 * name of the one that was there, NULL: it goes. There is no moment without the file. */
int file_replace(const char *path, struct chela_str text, const char *keep, struct error *e);

#endif
