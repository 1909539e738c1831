/*
 * Replacing text that must stand in a file exactly once.
 */
#ifndef TOOL_FILES_EDIT_H
#define TOOL_FILES_EDIT_H

#include <json-c/json_object.h>
#include <stddef.h>

/* Applies edits [{"oldText","newText"}] in order; returns the new text (free it), or NULL with a
 * sentence in `error` that says which edit failed, why, and what to do. */
char *edit_apply(const char *text, size_t length, json_object *edits, size_t *ret_length,
                 char *error, size_t error_size);

#endif
