/*
 * Replacing text that must stand in a file exactly once (see edit.h). Called by files.c.
 */
#include "edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/json.h"

static size_t line_of(const char *text, const char *at)
{
    size_t line = 1;
    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

static char *replace(const char *text, size_t length, const char *at, size_t old_length,
                     const char *new_text, size_t new_length, size_t *ret_length)
{
    size_t before = (size_t)(at - text), after = length - before - old_length;
    char *r = malloc(before + new_length + after + 1);
    if (!r)
        abort();
    memcpy(r, text, before);
    memcpy(r + before, new_text, new_length);
    memcpy(r + before + new_length, at + old_length, after);
    *ret_length = before + new_length + after;
    r[*ret_length] = '\0';
    return r;
}

static char *apply_one(const char *text, size_t length, json_object *edit, size_t number,
                       size_t *ret_length, char *error, size_t size)
{
    size_t old_length = 0, new_length = 0;
    const char *old_text = chela_json_string(edit, "oldText", &old_length),
               *new_text = chela_json_string(edit, "newText", &new_length);
    if (!old_text || !old_length || !new_text) {
        snprintf(error, size, "edit %zu needs oldText (not empty) and newText", number);
        return NULL;
    }
    const char *at = memmem(text, length, old_text, old_length);
    if (!at) {
        snprintf(error, size,
                 "edit %zu: oldText does not occur in the file; read it again and copy the text "
                 "exactly, white "
                 "space included",
                 number);
        return NULL;
    }
    const char *from = at + 1,
               *again = memmem(from, length - (size_t)(from - text), old_text, old_length);
    if (again) {
        snprintf(error, size,
                 "edit %zu: oldText occurs more than once (lines %zu and %zu); take more of the "
                 "text around it "
                 "so that it is unique",
                 number, line_of(text, at), line_of(text, again));
        return NULL;
    }
    return replace(text, length, at, old_length, new_text, new_length, ret_length);
}

char *edit_apply(const char *text, size_t length, json_object *edits, size_t *ret_length,
                 char *error, size_t error_size)
{
    char *now = NULL;
    size_t n = length;
    if (chela_json_length(edits) == 0) {
        snprintf(error, error_size, "no edit was given");
        return NULL;
    }
    for (size_t i = 0; i < chela_json_length(edits); i++) {
        char *next =
            apply_one(now ? now : text, n, chela_json_at(edits, i), i + 1, &n, error, error_size);
        free(now);
        if (!next)
            return NULL;
        now = next;
    }
    *ret_length = n;
    return now;
}
