/*
 * The operations on files, as one blocking function that needs no host.
 */
#ifndef TOOL_FILES_FILES_H
#define TOOL_FILES_FILES_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stddef.h>

enum files_kind { FILES_READ, FILES_WRITE, FILES_EDIT, FILES_DELETE, FILES_LIST };

struct files_result {
    char *text; /* for the model; free it */
    size_t length;
    bool failed;
};

/* Runs an operation with its arguments in a workspace (absolute path). limit: most bytes that read
 * gives. Any thread; blocks on the disk. */
struct files_result files_run(enum files_kind kind, const char *workspace, json_object *arguments,
                              size_t limit);

#endif
