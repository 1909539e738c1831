/*
 * The operations on files, as one blocking function that needs no host.
 */
#ifndef TOOL_FILES_FILES_H
#define TOOL_FILES_FILES_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stddef.h>

enum files_kind {
    FILES_READ,
    FILES_WRITE,
    FILES_EDIT,
    FILES_DELETE,
    FILES_LIST,
    FILES_SEARCH,
    FILES_PATCH,
    FILES_SEND /* bytes and type of a file that goes to the person */
};

struct files_request {
    enum files_kind kind;
    const char *workspace; /* absolute path */
    json_object *arguments;
    bool mounts;  /* file systems that are mounted in the workspace belong to it */
    size_t limit; /* most bytes that read and search give */
    const char
        *checkpoint; /* folder of the turn's checkpoint (undo.h), made when needed; or NULL */
};

struct files_result {
    char *text; /* for the model; free it */
    size_t length;
    bool failed;
    char *image; /* bytes of an image that was read, or of a file to send, or NULL; free it */
    size_t image_length;
    const char *mime;
};

/* Any thread; blocks on the disk. */
struct files_result files_run(const struct files_request *q);
/* Lines of a text that is no file, as read gives them. path: for messages. */
struct files_result files_show(json_object *arguments, const char *path, const char *text,
                               size_t length, size_t limit);

#endif
