/* JSON5: turns a text as people write it (comments, bare keys, single quotes, commas at the end)
 * into JSON. Called by import.c; knows nothing of what it says. */
#ifndef CLI_JSON5_H
#define CLI_JSON5_H

#include "base/buf.h"
#include "base/error.h"

/* -1: where it can't be; what is JSON already stays as it is but for blanks. Whether the result is
 * well-formed is the JSON parser's matter. */
int json5_to_json(const char *text, size_t length, struct buf *out, struct error *e);

#endif
