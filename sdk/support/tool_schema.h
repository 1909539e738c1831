/*
 * JSON Schemas of tools, made fit for services that take only some keywords. Every function leaves
 * its argument as it is and returns a new value that the caller owns. Needs json-c and libc only;
 * called by provider plugins and stream.c.
 */
#ifndef CHELA_SUPPORT_TOOL_SCHEMA_H
#define CHELA_SUPPORT_TOOL_SCHEMA_H

#include <json-c/json_object.h>

#pragma GCC visibility push(hidden)

/* Without the keywords of a list that ends with NULL, at any depth where a schema stands. */
json_object *chela_schema_without(json_object *schema, const char *const *keywords);
/* With the keywords of the list alone; "const" becomes an "enum" of one. */
json_object *chela_schema_only(json_object *schema, const char *const *keywords);
/*
 * What OpenAI's strict mode demands: closed objects whose members are all required, those that were
 * optional being nullable. NULL: this schema can't be said so (open objects, allOf, not,
 * conditions).
 */
json_object *chela_schema_strict(json_object *schema);
/* The subset of OpenAPI 3.0 that Google's older `parameters` takes: no $ref, no lists of types. */
json_object *chela_schema_openapi(json_object *schema);

/* Undoes strict in arguments: members that are null only because strict had to name them go. */
void chela_schema_drop_nulls(json_object *arguments, json_object *schema);

#pragma GCC visibility pop
#endif
