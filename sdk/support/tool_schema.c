/*
 * Schemas of tools for services that take only some keywords (see tool_schema.h).
 */
#include "support/tool_schema.h"

#include <json-c/linkhash.h>
#include <stdbool.h>
#include <string.h>

#include "support/json.h"

enum { DEPTH = 32, STRICT_DEPTH = 10, SCHEMAS_MOST = 2000 };

static bool in_list(const char *const *list, const char *key)
{
    for (; list && *list; list++)
        if (strcmp(*list, key) == 0)
            return true;
    return false;
}

/* What stands under a keyword: a schema, a list of them, an object of them, or something else. */
enum holds { PLAIN, SCHEMA, LIST, MAP };

static enum holds holds(const char *key)
{
    static const char *const schemas[] = {
        "items",    "additionalProperties", "not", "if", "then", "else",
        "contains", "propertyNames",        NULL};
    static const char *const lists[] = {"anyOf", "oneOf", "allOf", "prefixItems", NULL};
    static const char *const maps[] = {
        "properties", "$defs", "definitions", "patternProperties", "dependentSchemas", NULL};
    return in_list(schemas, key) ? SCHEMA
           : in_list(lists, key) ? LIST
           : in_list(maps, key)  ? MAP
                                 : PLAIN;
}

/* A copy in which each schema has gone through `convert`. */
typedef json_object *converter(json_object *schema, const void *arg, unsigned depth);

static json_object *convert_under(const char *key, json_object *value, converter *convert,
                                  const void *arg, unsigned depth)
{
    enum holds what = holds(key);
    if (what == SCHEMA && json_object_is_type(value, json_type_object))
        return convert(value, arg, depth + 1);
    if (what == LIST && json_object_is_type(value, json_type_array)) {
        json_object *list = chela_json_new_array();
        for (size_t i = 0; i < chela_json_length(value); i++)
            chela_json_push(list, convert(chela_json_at(value, i), arg, depth + 1));
        return list;
    }
    if (what == MAP && json_object_is_type(value, json_type_object)) {
        json_object *map = chela_json_new_object();
        json_object_object_foreach(value, name, schema)
        {
            chela_json_put(map, name, convert(schema, arg, depth + 1));
        }
        return map;
    }
    return json_object_get(value);
}

struct filter {
    const char *const *keywords;
    bool keep; /* these alone, else all but these */
};

static json_object *filter(json_object *schema, const void *arg, unsigned depth)
{
    const struct filter *f = arg;
    if (depth > DEPTH || !json_object_is_type(schema, json_type_object))
        return json_object_get(schema);
    json_object *out = chela_json_new_object();
    json_object_object_foreach(schema, key, value)
    {
        if (f->keep && strcmp(key, "const") == 0)
            chela_json_push(chela_json_put_array(out, "enum"), json_object_get(value));
        else if (in_list(f->keywords, key) == f->keep)
            chela_json_put(out, key, convert_under(key, value, filter, arg, depth));
    }
    return out;
}

json_object *chela_schema_without(json_object *schema, const char *const *keywords)
{
    struct filter f = {keywords, false};
    return filter(schema, &f, 0);
}

json_object *chela_schema_only(json_object *schema, const char *const *keywords)
{
    struct filter f = {keywords, true};
    return filter(schema, &f, 0);
}

/* ---- strict ---- */

static bool has_type(json_object *schema, const char *type)
{
    json_object *its = chela_json_get(schema, "type");
    const char *name = chela_json_as_string(its, NULL);
    if (name)
        return strcmp(name, type) == 0;
    for (size_t i = 0; i < chela_json_length(its); i++) {
        name = chela_json_as_string(chela_json_at(its, i), NULL);
        if (name && strcmp(name, type) == 0)
            return true;
    }
    return false;
}

static bool names(json_object *list, const char *wanted)
{
    for (size_t i = 0; i < chela_json_length(list); i++) {
        const char *name = chela_json_as_string(chela_json_at(list, i), NULL);
        if (name && strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

static bool strict_possible(json_object *schema, unsigned depth)
{
    static const char *const never[] = {"allOf",
                                        "not",
                                        "if",
                                        "then",
                                        "else",
                                        "dependentRequired",
                                        "dependentSchemas",
                                        "patternProperties",
                                        NULL};
    if (depth > STRICT_DEPTH || !json_object_is_type(schema, json_type_object))
        return false;
    for (size_t i = 0; never[i]; i++)
        if (chela_json_has(schema, never[i]))
            return false;
    if (!chela_json_has(schema, "type") && !chela_json_has(schema, "anyOf") &&
        !chela_json_has(schema, "oneOf") && !chela_json_has(schema, "$ref") &&
        !chela_json_has(schema, "enum"))
        return false;
    json_object *more = chela_json_get(schema, "additionalProperties");
    if (has_type(schema, "object") && (json_object_is_type(more, json_type_object) ||
                                       chela_json_bool(schema, "additionalProperties", false) ||
                                       (!chela_json_object(schema, "properties") && depth > 0)))
        return false;
    if (has_type(schema, "array") && !chela_json_object(schema, "items"))
        return false;
    json_object_object_foreach(schema, key, value)
    {
        enum holds what = holds(key);
        if (what == SCHEMA && json_object_is_type(value, json_type_object) &&
            !strict_possible(value, depth + 1))
            return false;
        for (size_t i = 0; what == LIST && i < chela_json_length(value); i++)
            if (!strict_possible(chela_json_at(value, i), depth + 1))
                return false;
        if (what == MAP && json_object_is_type(value, json_type_object)) {
            json_object_object_foreach(value, name, inner)
            {
                (void)name;
                if (!strict_possible(inner, depth + 1))
                    return false;
            }
        }
    }
    return true;
}

/* A schema that takes null as well. */
static json_object *nullable(json_object *schema)
{
    json_object *type = chela_json_get(schema, "type");
    const char *name = chela_json_as_string(type, NULL);
    if (has_type(schema, "null"))
        return schema;
    if (name && !chela_json_has(schema, "enum")) {
        json_object *both = chela_json_new_array();
        chela_json_push(both, json_object_get(type));
        chela_json_push(both, json_object_new_string("null"));
        chela_json_put(schema, "type", both);
        return schema;
    }
    json_object *out = chela_json_new_object(), *list = chela_json_put_array(out, "anyOf");
    chela_json_push(list, schema);
    chela_json_put_text(chela_json_push_object(list), "type", "null");
    return out;
}

static json_object *strict(json_object *schema, const void *arg, unsigned depth)
{
    static const char *const dropped[] = {"$schema",
                                          "$id",
                                          "$comment",
                                          "examples",
                                          "default",
                                          "minLength",
                                          "maxLength",
                                          "uniqueItems",
                                          "contains",
                                          "minContains",
                                          "maxContains",
                                          "minProperties",
                                          "deprecated",
                                          "readOnly",
                                          "writeOnly",
                                          "maxProperties",
                                          "propertyNames",
                                          "nullable",
                                          "unevaluatedProperties",
                                          NULL};
    if (depth > DEPTH)
        return json_object_get(schema);
    json_object *out = chela_json_new_object(), *required = chela_json_array(schema, "required");
    json_object_object_foreach(schema, key, value)
    {
        if (!in_list(dropped, key) && strcmp(key, "required") != 0)
            chela_json_put(out, strcmp(key, "oneOf") == 0 ? "anyOf" : key,
                           convert_under(key, value, strict, arg, depth));
    }
    if (!has_type(schema, "object"))
        return out;
    json_object *properties = chela_json_object(out, "properties"), *all = chela_json_new_array(),
                *closed = chela_json_new_object();
    if (properties) {
        json_object_object_foreach(properties, name, inner)
        {
            chela_json_push(all, chela_json_new_string(name, strlen(name)));
            json_object_get(inner);
            chela_json_put(closed, name, names(required, name) ? inner : nullable(inner));
        }
    }
    chela_json_put(out, "properties", closed);
    chela_json_put(out, "required", all);
    chela_json_put_bool(out, "additionalProperties", false);
    return out;
}

json_object *chela_schema_strict(json_object *schema)
{
    return has_type(schema, "object") && strict_possible(schema, 0) ? strict(schema, NULL, 0)
                                                                    : NULL;
}

static bool takes_null(json_object *schema)
{
    json_object *any = chela_json_array(schema, "anyOf");
    if (!any)
        any = chela_json_array(schema, "oneOf");
    for (size_t i = 0; i < chela_json_length(any); i++)
        if (has_type(chela_json_at(any, i), "null"))
            return true;
    return has_type(schema, "null") || chela_json_bool(schema, "nullable", false) ||
           (!chela_json_has(schema, "type") && !any);
}

static void drop_nulls(json_object *arguments, json_object *schema, unsigned depth)
{
    json_object *properties = chela_json_object(schema, "properties"),
                *items = chela_json_object(schema, "items");
    if (depth > DEPTH)
        return;
    for (size_t i = 0; json_object_is_type(arguments, json_type_array) && items &&
                       i < chela_json_length(arguments);
         i++)
        drop_nulls(chela_json_at(arguments, i), items, depth + 1);
    if (!properties || !json_object_is_type(arguments, json_type_object))
        return;
    json_object_object_foreach(properties, name, inner)
    {
        json_object *value = chela_json_get(arguments, name);
        if (value)
            drop_nulls(value, inner, depth + 1);
        else if (chela_json_has(arguments, name) && !takes_null(inner) &&
                 !names(chela_json_array(schema, "required"), name))
            json_object_object_del(arguments, name);
    }
}

void chela_schema_drop_nulls(json_object *arguments, json_object *schema)
{
    drop_nulls(arguments, schema, 0);
}

/* ---- OpenAPI ---- */

struct openapi {
    json_object *root;
    unsigned *budget; /* schemas that may still be made: references can multiply them */
};

static json_object *referred(json_object *root, json_object *schema)
{
    const char *reference = chela_json_string(schema, "$ref", NULL);
    return reference && strncmp(reference, "#/", 2) == 0 ? chela_json_path(root, reference + 1)
                                                         : NULL;
}

/* Types are an enumeration there, and counts 64-bit numbers, which its JSON writes as strings. */
static void put_type(json_object *out, const char *name)
{
    char upper[16];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof upper; n++)
        upper[n] = (char)(name[n] >= 'a' && name[n] <= 'z' ? name[n] - 32 : name[n]);
    upper[n] = '\0';
    chela_json_put_text(out, "type", upper);
}

static bool is_count(const char *key)
{
    static const char *const counts[] = {"minItems", "maxItems", "minLength", "maxLength", NULL};
    return in_list(counts, key);
}

/* "type": ["string", "null"] as type and nullable; several types as anyOf. */
static void put_types(json_object *out, json_object *types)
{
    json_object *any = chela_json_new_array();
    for (size_t i = 0; i < chela_json_length(types); i++) {
        const char *name = chela_json_as_string(chela_json_at(types, i), NULL);
        if (name && strcmp(name, "null") == 0)
            chela_json_put_bool(out, "nullable", true);
        else if (name)
            put_type(chela_json_push_object(any), name);
    }
    if (chela_json_length(any) == 1)
        chela_json_put(out, "type", json_object_get(chela_json_get(chela_json_at(any, 0), "type")));
    else if (chela_json_length(any) > 1)
        chela_json_put(out, "anyOf", json_object_get(any));
    json_object_put(any);
}

/* An enum has strings only, and its type says so. */
static void put_enum(json_object *out, json_object *values)
{
    json_object *list = chela_json_put_array(out, "enum");
    for (size_t i = 0; i < chela_json_length(values); i++) {
        json_object *value = chela_json_at(values, i);
        size_t n;
        const char *text = chela_json_as_string(value, &n);
        if (!value) {
            chela_json_put_bool(out, "nullable", true);
            continue;
        }
        if (!text)
            text = chela_json_text(value, &n);
        chela_json_push(list, chela_json_new_string(text, n));
    }
    put_type(out, "string");
}

static json_object *openapi(json_object *schema, const void *arg, unsigned depth);

static void put_any(json_object *out, json_object *list, const struct openapi *o, unsigned depth)
{
    json_object *any = chela_json_new_array();
    for (size_t i = 0; i < chela_json_length(list); i++) {
        if (has_type(chela_json_at(list, i), "null"))
            chela_json_put_bool(out, "nullable", true);
        else
            chela_json_push(any, openapi(chela_json_at(list, i), o, depth + 1));
    }
    chela_json_put(out, "anyOf", any);
}

/* Members of the parts of an allOf, the first of each name. */
static void put_all(json_object *out, json_object *list, const struct openapi *o, unsigned depth)
{
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *part = openapi(chela_json_at(list, i), o, depth + 1);
        json_object_object_foreach(part, key, value)
        {
            if (!chela_json_has(out, key))
                chela_json_put(out, key, json_object_get(value));
        }
        json_object_put(part);
    }
}

static void put_openapi(json_object *out, const char *key, json_object *value,
                        const struct openapi *o, unsigned depth)
{
    static const char *const plain[] = {"title",   "description", "nullable", "required",
                                        "minimum", "maximum",     "pattern",  NULL};
    const char *text = chela_json_as_string(value, NULL);
    if (strcmp(key, "type") == 0 && json_object_is_type(value, json_type_array))
        put_types(out, value);
    else if (strcmp(key, "type") == 0 && text && !chela_json_has(out, "enum"))
        put_type(out, text);
    else if (strcmp(key, "enum") == 0)
        put_enum(out, value);
    else if (strcmp(key, "format") == 0 && text &&
             (strcmp(text, "enum") == 0 || strcmp(text, "date-time") == 0))
        chela_json_put(out, key, json_object_get(value));
    else if (strcmp(key, "anyOf") == 0 || strcmp(key, "oneOf") == 0)
        put_any(out, value, o, depth);
    else if (strcmp(key, "allOf") == 0)
        put_all(out, value, o, depth);
    else if (is_count(key) && json_object_is_type(value, json_type_int))
        chela_json_put_text(out, key, chela_json_text(value, NULL));
    else if (in_list(plain, key))
        chela_json_put(out, key, json_object_get(value));
    else if (strcmp(key, "properties") == 0 || strcmp(key, "items") == 0)
        chela_json_put(out, key, convert_under(key, value, openapi, o, depth));
    if (strcmp(key, "const") == 0 && value) {
        json_object *one = chela_json_new_array();
        chela_json_push(one, json_object_get(value));
        put_enum(out, one);
        json_object_put(one);
    }
}

static json_object *openapi(json_object *schema, const void *arg, unsigned depth)
{
    const struct openapi *o = arg;
    json_object *out = chela_json_new_object(), *target = referred(o->root, schema);
    if (target)
        schema = target;
    if (depth > DEPTH / 2 || *o->budget == 0 || !json_object_is_type(schema, json_type_object)) {
        put_type(out, "object"); /* a schema that holds itself ends here */
        return out;
    }
    --*o->budget;
    json_object_object_foreach(schema, key, value)
    {
        put_openapi(out, key, value, o, depth);
    }
    if (chela_json_object(out, "properties") && !chela_json_has(out, "type"))
        put_type(out, "object");
    if (has_type(out, "ARRAY") && !chela_json_has(out, "items"))
        put_type(chela_json_put_object(out, "items"), "string");
    return out;
}

json_object *chela_schema_openapi(json_object *schema)
{
    unsigned budget = SCHEMAS_MOST;
    struct openapi o = {schema, &budget};
    return openapi(schema, &o, 0);
}
