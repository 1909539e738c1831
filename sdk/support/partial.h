/*
 * Arguments of a call that come in pieces, each with the JSON path where it belongs.
 */
#ifndef CHELA_SUPPORT_PARTIAL_H
#define CHELA_SUPPORT_PARTIAL_H

#include <json-c/json_object.h>

#pragma GCC visibility push(hidden)

/* Puts one of "partialArgs" into the arguments: {"jsonPath": "$.a.b[0]", "stringValue" |
 * "numberValue" | "boolValue" | "nullValue"}; a string that is there already grows. Paths that make
 * no sense are ignored. */
void chela_partial_put(json_object *arguments, json_object *piece);

#pragma GCC visibility pop
#endif
