/*
 * The one file of the configuration that the gateway writes itself (settings_own_file): a JSON
 * merge patch put on what stands in it. Files that a person wrote are never touched.
 */
#ifndef HOST_OWN_FILE_H
#define HOST_OWN_FILE_H

#include "base/buf.h"
#include "base/error.h"

struct json_object;

/* SHA-256 of the file's bytes as hex; of nothing if it isn't there. out: 65 bytes. */
void own_file_hash(const char *path, char *out);
/* Makes the file's new text. patch: objects are groups, null removes, lists hold strings. */
int own_file_merge(const char *path, struct json_object *patch, struct buf *out, struct error *e);
/* Puts the text in place of the file, atomically; the one before is kept as PATH.before. */
int own_file_write(const char *path, const struct buf *text, struct error *e);
/* Takes that back: the one before is in place again, or the file is gone if there was none. */
void own_file_revert(const char *path);

#endif
