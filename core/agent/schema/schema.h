/*
 * JSON Schema for the arguments and results of tools: compiled once for each manifest, checked for
 * each call. Called by toolcall.c and by whoever takes a manifest; it knows nothing of tools, opens
 * nothing and follows no reference out of the document. Thread: loop (a schema shares json-c's
 * counts with the value that it was made from).
 *
 * Supported: draft 2020-12, 2019-09, draft-07 and draft-06 by "$schema", and without it the union
 * of the first and the third, since tools rarely say which they mean (a list in "items" is a tuple,
 * "dependencies" counts). All assertions and applicators of these drafts, $ref within the document
 * ($id, $anchor, JSON pointers), unevaluatedProperties and unevaluatedItems. "format" and the
 * content keywords are annotations. Unknown keywords are ignored, as the standard says. What is
 * refused aloud: $dynamicRef, $recursiveRef, references to other documents, other dialects, and a
 * keyword whose value makes no sense.
 */
#ifndef AGENT_SCHEMA_H
#define AGENT_SCHEMA_H

#include "base/error.h"

#include <json-c/json_object.h>

struct schema;

enum schema_dialect { SCHEMA_ANY, SCHEMA_DRAFT_7, SCHEMA_2019_09, SCHEMA_2020_12 };

/*
 * Compiles a schema (an object or a boolean; NULL, a JSON null, is refused). It keeps a reference
 * to text, which must not change any more. NULL and *error (CHELA_E_ARGS, or CHELA_E_UNSUPPORTED
 * for what is refused aloud) with the JSON pointer of the place: "/properties/x/minimum: expected a
 * number, found string "5"".
 */
struct schema *schema_compile(json_object *text, struct error *error);

/* The same with the dialect for a schema that doesn't say it. */
struct schema *schema_compile_as(json_object *text, enum schema_dialect dialect,
                                 struct error *error);

/*
 * 0 if value fits, else -1 and *error (CHELA_E_ARGS) with up to six places, each as "POINTER: what
 * was wanted, what was found", written for a model that is to try again. CHELA_E_TOO_LONG when the
 * bounds on depth and work were reached, which no answer about the value can be drawn from. The
 * value isn't changed.
 */
int schema_check(const struct schema *schema, json_object *value, struct error *error);

void schema_free(struct schema *schema); /* NULL is fine */

#endif
