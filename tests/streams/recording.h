/*
 * Files of recorded streams (recording.c).
 */
#ifndef TESTS_STREAMS_RECORDING_H
#define TESTS_STREAMS_RECORDING_H

#include <stdbool.h>
#include <stddef.h>

#include "support/json.h"

struct recording_form {
    bool sse; /* else lines */
    const char *folder;
};

/* A file's bytes, which the caller frees; NULL if it can't be read. */
char *recording_read(const char *path, size_t *ret_length);
/* The name ends with the suffix. */
bool recording_is(const char *name, const char *suffix);
/* The body as it came over the wire: recorded whole, or made of one payload a line. */
char *recording_wire(const char *path, const struct recording_form *form, size_t *ret_length);
/* The project's source folder. */
const char *recording_source(void);
/* The path of a folder of recordings outside of the project; false if it isn't there. */
bool recording_folder(char *out, size_t size, const char *folder);
/* What was noted beside an answer, or NULL. */
json_object *recording_meta(const char *path);
/* Its HTTP status, and whether it was a stream; an error alone says its status itself. */
unsigned recording_status(const char *path, bool *ret_stream);

#endif
