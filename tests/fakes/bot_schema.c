/* Requests against the published description (see bot_schema.h). */
#include "tests/fakes/bot_schema.h"

#include <json-c/linkhash.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/json.h"

static json_object *schema;

bool bot_schema_load(const char *path)
{
    FILE *f = fopen(path, "re");
    char *text = NULL;
    size_t n = 0;
    if (!f)
        return false;
    bool read = getdelim(&text, &n, '\0', f) > 0;
    fclose(f);
    bool ok = read && chela_json_parse(text, strlen(text), NULL, &schema, NULL) == 0;
    free(text);
    return ok;
}

static bool check_object(const char *type, json_object *value, char *why, size_t size);

static bool simple(const char *type, json_object *value, bool form, bool *ret_ok)
{
    const char *text = chela_json_as_string(value, NULL);
    char *end;
    if (strcmp(type, "Integer") == 0) {
        *ret_ok = json_object_is_type(value, json_type_int) ||
                  (form && text && *text && (strtoll(text, &end, 10), *end == '\0'));
    } else if (strcmp(type, "String") == 0) {
        *ret_ok = text != NULL;
    } else if (strcmp(type, "Boolean") == 0) {
        *ret_ok = json_object_is_type(value, json_type_boolean) ||
                  (form && text && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0));
    } else if (strcmp(type, "Float") == 0) {
        *ret_ok = json_object_is_type(value, json_type_double) ||
                  json_object_is_type(value, json_type_int);
    } else if (strcmp(type, "InputFile") == 0) {
        *ret_ok =
            form && text && (strcmp(text, "@file") == 0 || strncmp(text, "attach://", 9) == 0);
    } else {
        return false;
    }
    return true;
}

static bool fits(const char *type, json_object *value, bool form, char *why, size_t size)
{
    bool ok = false;
    json_object *parsed = NULL;
    const char *text = chela_json_as_string(value, NULL);
    if (simple(type, value, form, &ok))
        return ok;
    if (form && text) { /* objects and lists travel as JSON in a form */
        if (chela_json_parse(text, strlen(text), NULL, &parsed, NULL) != 0)
            return false;
        ok = fits(type, parsed, false, why, size);
        json_object_put(parsed);
        return ok;
    }
    if (strncmp(type, "Array of ", 9) == 0) {
        if (!json_object_is_type(value, json_type_array))
            return false;
        for (size_t i = 0; i < chela_json_length(value); i++) {
            if (!fits(type + 9, chela_json_at(value, i), false, why, size))
                return false;
        }
        return true;
    }
    return check_object(type, value, why, size);
}

static bool fits_any(json_object *types, json_object *value, bool form, char *why, size_t size)
{
    for (size_t i = 0; i < chela_json_length(types); i++) {
        if (fits(chela_json_as_string(chela_json_at(types, i), NULL), value, form, why, size))
            return true;
    }
    return false;
}

static bool check_fields(json_object *fields, json_object *value, bool form, char *why, size_t size)
{
    size_t known = 0;
    for (size_t i = 0; i < chela_json_length(fields); i++) {
        json_object *f = chela_json_at(fields, i);
        const char *name = chela_json_string(f, "name", NULL);
        json_object *v = chela_json_get(value, name);
        known += v != NULL;
        if (!v && chela_json_bool(f, "required", false)) {
            snprintf(why, size, "%s is required", name);
            return false;
        }
        if (v && !fits_any(chela_json_array(f, "types"), v, form, why, size)) {
            size_t n = strlen(why);
            snprintf(why + n, size - n, "%s%s is of no type that is allowed", n ? " < " : "", name);
            return false;
        }
    }
    if (known != chela_json_length(value)) {
        snprintf(why, size, "a field that is not described: %s", chela_json_text(value, NULL));
        return false;
    }
    return true;
}

static bool check_object(const char *type, json_object *value, char *why, size_t size)
{
    json_object *t = chela_json_object(chela_json_object(schema, "types"), type),
                *kinds = chela_json_array(t, "subtypes");
    if (!t || !json_object_is_type(value, json_type_object))
        return false;
    for (size_t i = 0; i < chela_json_length(kinds); i++) {
        char own[200] = "";
        if (check_object(chela_json_as_string(chela_json_at(kinds, i), NULL), value, own,
                         sizeof own))
            return true;
    }
    return chela_json_length(kinds) == 0 &&
           check_fields(chela_json_array(t, "fields"), value, false, why, size);
}

const char *bot_schema_check(const char *method, json_object *fields, bool form, char *why,
                             size_t size)
{
    *why = '\0';
    if (!schema)
        return NULL;
    json_object *m = chela_json_object(chela_json_object(schema, "methods"), method), *copy = NULL;
    if (!m) {
        snprintf(why, size, "there is no method %s", method);
        return why;
    }
    /* files come beside the fields that are described, where one of those names them */
    const char *all = chela_json_text(fields, NULL);
    copy = chela_json_new_object();
    json_object_object_foreach(fields, name, value)
    {
        const char *text = chela_json_as_string(value, NULL);
        char reference[200];
        snprintf(reference, sizeof reference, "attach://%.180s", name);
        if (!(form && text && strcmp(text, "@file") == 0 && strstr(all, reference)))
            chela_json_put(copy, name, json_object_get(value));
    }
    bool ok = check_fields(chela_json_array(m, "fields"), copy, form, why, size);
    json_object_put(copy);
    return ok ? NULL : why;
}
