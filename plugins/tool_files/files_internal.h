/*
 * What the operations on files share: files.c (read, list, write, edit, delete), search.c, patch.c,
 * undo.c. Nobody else includes it.
 */
#ifndef TOOL_FILES_FILES_INTERNAL_H
#define TOOL_FILES_FILES_INTERNAL_H

#include "beneath.h"
#include "files.h"

#include <stdio.h>
#include <sys/types.h>

struct job {
    json_object *arguments;
    const char *workspace;
    const char *path, *relative; /* as given; below the workspace */
    const char *checkpoint;
    size_t limit;
    struct beneath below; /* the workspace */
    FILE *out;
    bool failed;
    char *image;
    size_t image_length;
    const char *mime;
};

void files_fail(struct job *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
void files_fail_errno(struct job *j, const char *what); /* what: "read", "written" */
/* Makes `path` the file that the following are about; false after files_fail(). */
bool files_aim(struct job *j, const char *path);
/* The whole file (free it); NULL after files_fail(). */
char *files_slurp(struct job *j, size_t *ret_length, mode_t *ret_mode);
/* Text without NUL that is valid UTF-8 (a surrogate or overlong form is not). */
bool files_is_text(const char *text, size_t n);
void files_read_lines(struct job *j, const char *text, size_t length);
/* Its permissions, 0 if it isn't there. */
mode_t files_mode(struct job *j);
/* Puts the text in the file's place in one step: whoever reads it sees the old or the new, never a
 * half. */
void files_put(struct job *j, const char *text, size_t length, mode_t mode);
void files_delete(struct job *j);

void search_run(struct job *j);
void patch_run(struct job *j);

#endif
