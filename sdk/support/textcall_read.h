/*
 * Reads tool calls out of text; private to textcall.c.
 */
#ifndef CHELA_SUPPORT_TEXTCALL_READ_H
#define CHELA_SUPPORT_TEXTCALL_READ_H

#include <stdbool.h>
#include <stddef.h>

#include <json-c/json_object.h>

#include "support/toolset.h"

#pragma GCC visibility push(hidden)

/* The calls at the begin of a text: an array of {"name", "arguments"}, and in *ret_used how far
 * they reach; NULL if it doesn't begin with one. `text` ends with a NUL. */
json_object *chela_textcall_read(const char *text, size_t length, const struct chela_toolset *tools,
                                 bool whole, size_t *ret_used);

#pragma GCC visibility pop
#endif
