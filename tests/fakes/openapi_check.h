/* Holds requests against an OpenAPI 3.1 description. */
#ifndef OPENAPI_CHECK_H
#define OPENAPI_CHECK_H

#include <json-c/json_object.h>
#include <stdbool.h>
#include <stddef.h>

/* strict: an object has the members that are described and no others. */
bool openapi_load(const char *path, bool strict);
/* What is wrong with a request, written to `why`; NULL: nothing, or no description was loaded.
 * body NULL: none. Not for two threads at once. */
const char *openapi_check(const char *method, const char *path, json_object *body, char *why,
                          size_t size);

#endif
