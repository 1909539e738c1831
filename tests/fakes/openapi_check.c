/* Requests against an OpenAPI description (see openapi_check.h): its paths here, its schemas by the
 * core's own JSON Schema. */
#include "tests/fakes/openapi_check.h"

#include <json-c/linkhash.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/schema/schema.h"
#include "support/json.h"

enum { COMPILED_MOST = 64 };

static json_object *description;
static struct {
    json_object *operation;
    struct schema *schema;
} compiled[COMPILED_MOST];

/* Objects have the members that are described and no others. */
static void close_objects(json_object *o)
{
    if (json_object_is_type(o, json_type_array)) {
        for (size_t i = 0; i < chela_json_length(o); i++)
            close_objects(chela_json_at(o, i));
        return;
    }
    if (!json_object_is_type(o, json_type_object))
        return;
    json_object_object_foreach(o, name, value)
    {
        (void)name;
        close_objects(value);
    }
    if (chela_json_object(o, "properties") && chela_json_string(o, "type", NULL) &&
        !chela_json_has(o, "additionalProperties"))
        chela_json_put_bool(o, "additionalProperties", false);
}

bool openapi_load(const char *path, bool strict)
{
    static const struct chela_json_limits limits = {.memory = (size_t)1 << 30};
    FILE *f = fopen(path, "re");
    char *text = NULL;
    size_t n = 0;
    if (!f)
        return false;
    bool read = getdelim(&text, &n, '\0', f) > 0;
    fclose(f);
    bool ok = read && chela_json_parse(text, strlen(text), &limits, &description, NULL) == 0;
    free(text);
    if (ok && strict)
        close_objects(chela_json_object(description, "components"));
    return ok;
}

static bool fits(const char *pattern, const char *path)
{
    while (*pattern && *path) {
        if (*pattern == '{') {
            pattern += strcspn(pattern, "}") + 1;
            path += strcspn(path, "/");
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return !*pattern && !*path;
}

/* Of several, the one with the fewest braces. */
static json_object *operation_of(const char *method, const char *path)
{
    json_object *found = NULL;
    size_t fewest = 99;
    json_object_object_foreach(chela_json_object(description, "paths"), pattern, item)
    {
        size_t braces = 0;
        for (const char *p = pattern; *p; p++)
            braces += *p == '{';
        json_object *o = chela_json_object(item, method);
        if (o && braces < fewest && fits(pattern, path)) {
            found = o;
            fewest = braces;
        }
    }
    return found;
}

static struct schema *schema_of(json_object *operation, json_object *text, char *why, size_t size)
{
    size_t i = 0;
    while (i < COMPILED_MOST && compiled[i].operation && compiled[i].operation != operation)
        i++;
    if (i == COMPILED_MOST)
        abort();
    if (!compiled[i].operation) {
        struct error e = {0};
        json_object *whole = chela_json_new_object();
        chela_json_push(chela_json_put_array(whole, "allOf"), json_object_get(text));
        chela_json_put(whole, "components",
                       json_object_get(chela_json_object(description, "components")));
        compiled[i].schema = schema_compile_as(whole, SCHEMA_2020_12, &e);
        json_object_put(whole);
        if (!compiled[i].schema) {
            snprintf(why, size, "its schema: %s", e.text);
            return NULL;
        }
        compiled[i].operation = operation;
    }
    return compiled[i].schema;
}

const char *openapi_check(const char *method, const char *path, json_object *body, char *why,
                          size_t size)
{
    char verb[16];
    size_t n = 0;
    struct error e = {0};
    if (!description)
        return NULL;
    for (; method[n] && n < sizeof verb - 1; n++)
        verb[n] = (char)(method[n] | 0x20);
    verb[n] = '\0';
    json_object *operation = operation_of(verb, path);
    if (!operation) {
        snprintf(why, size, "there is no %s %s", method, path);
        return why;
    }
    json_object *request = chela_json_object(operation, "requestBody"),
                *content = chela_json_object(request, "content"),
                *form = chela_json_object(content, "application/json"),
                *schema = chela_json_object(form, "schema");
    if (!body && chela_json_bool(request, "required", false)) {
        snprintf(why, size, "a body is required");
        return why;
    }
    if (body && !schema) {
        snprintf(why, size, "it takes no JSON");
        return why;
    }
    struct schema *s = body ? schema_of(operation, schema, why, size) : NULL;
    if (body && !s)
        return why;
    if (!s || schema_check(s, body, &e) == 0)
        return NULL;
    snprintf(why, size, "%s", e.text);
    return why;
}
