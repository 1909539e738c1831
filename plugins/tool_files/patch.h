/*
 * Patches in the form that models write:
 *
 *   *** Begin Patch
 *   *** Add File: PATH          lines with '+' follow
 *   *** Delete File: PATH
 *   *** Update File: PATH       "*** Move to: PATH" may follow; then hunks: "@@" with, behind it,
 *                               a line that stands before the hunk, or nothing; and lines that
 *                               begin with ' ' (stays), '-' (goes), '+' (comes)
 *   *** End Patch
 */
#ifndef TOOL_FILES_PATCH_H
#define TOOL_FILES_PATCH_H

#include <stdbool.h>
#include <stddef.h>

enum patch_kind { PATCH_ADD, PATCH_DELETE, PATCH_UPDATE };

struct patch_line {
    char sign; /* ' ', '-', '+', or '@' (a hunk begins; text = what stands before it) */
    const char *text;
    size_t length;
};

struct patch_file {
    enum patch_kind kind;
    char *path, *to; /* to: NULL unless it is moved */
    struct patch_line *lines;
    size_t count, at; /* at: line of the patch, for messages */
};

struct patch {
    struct patch_file *files;
    size_t count;
};

/* Lines point into `text`. -1 with a sentence. Free it in both cases. */
int patch_read(const char *text, size_t length, struct patch *ret, char *error, size_t size);
void patch_free(struct patch *p);
/* The new text (free it), or NULL with a sentence. For PATCH_ADD `text` is "". */
char *patch_apply(const struct patch_file *f, const char *text, size_t length, size_t *ret_length,
                  char *error, size_t size);

#endif
