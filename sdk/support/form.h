/*
 * The body of a multipart/form-data request. Called by channel plugins that send files.
 *
 * Format: RFC 7578; names of files as browsers write them.
 */
#ifndef CHELA_SUPPORT_FORM_H
#define CHELA_SUPPORT_FORM_H

#include <json-c/json_object.h>
#include <stddef.h>
#include <stdio.h>

#pragma GCC visibility push(hidden)

/* A file of an outgoing message; all but bytes are there from the beginning. */
struct chela_file {
    char *name, *mime, *hash, *bytes;
    size_t n;
};

struct chela_form {
    FILE *out;
    char *bytes, boundary[48], type[96]; /* type: the Content-Type */
    size_t n;
};

void chela_form_open(struct chela_form *f);
/* A field whose value is JSON, or text of its own type. */
void chela_form_field(struct chela_form *f, const char *name, const char *type, const char *text);
/* Each member: strings as they are, others as JSON. */
void chela_form_fields(struct chela_form *f, json_object *fields);
void chela_form_file(struct chela_form *f, const char *field, const struct chela_file *file);
void chela_form_end(struct chela_form *f); /* bytes and n are complete; free bytes */

#pragma GCC visibility pop
#endif
