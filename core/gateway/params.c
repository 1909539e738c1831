/*
 * Checks the parameters of a method against its one-line description (method.h). Called by method.c
 * only.
 */
#include <json-c/json_object.h>
#include <json-c/linkhash.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/method.h"

struct field {
    const char *name, *type;
    size_t name_length, type_length;
    bool required;
};

/* Reads the next "name:type!" of a description; false at its end. */
static bool next_field(const char **spec, struct field *f)
{
    *spec += strspn(*spec, " ");
    if (!**spec)
        return false;
    f->name = *spec;
    f->name_length = strcspn(f->name, ":");
    f->type = f->name + f->name_length + 1;
    size_t length = strcspn(f->type, " ");
    *spec = f->type + length;
    f->required = length > 0 && f->type[length - 1] == '!';
    f->type_length = length - f->required;
    return true;
}

static bool type_fits(const char *type, size_t n, json_object *value)
{
    if (!value)
        return n >= 6 && memcmp(type + n - 5, "|null", 5) == 0;
    switch (type[0]) {
    case 's': return json_object_is_type(value, json_type_string);
    case 'i': return json_object_is_type(value, json_type_int);
    case 'n':
        return json_object_is_type(value, json_type_int) ||
               json_object_is_type(value, json_type_double);
    case 'b': return json_object_is_type(value, json_type_boolean);
    case 'o': return json_object_is_type(value, json_type_object);
    case 'a': return json_object_is_type(value, json_type_array);
    default: return true;
    }
}

static const char *type_name(char type)
{
    switch (type) {
    case 's': return "a string";
    case 'i': return "an integer";
    case 'n': return "a number";
    case 'b': return "true or false";
    case 'o': return "an object";
    case 'a': return "an array";
    default: return "a value";
    }
}

static bool is_known(const char *spec, const char *name)
{
    struct field f;
    while (next_field(&spec, &f))
        if (strlen(name) == f.name_length && memcmp(name, f.name, f.name_length) == 0)
            return true;
    return false;
}

int params_check(const char *spec, json_object *params, struct error *e)
{
    if (params && !json_object_is_type(params, json_type_object))
        return error_set(e, CHELA_E_ARGS, "must be an object");
    struct field f;
    for (const char *at = spec; next_field(&at, &f);) {
        CLEANUP(freep) char *name = xmemdup(f.name, f.name_length);
        json_object *value = NULL;
        bool there = params && json_object_object_get_ex(params, name, &value);
        if (!there && f.required)
            return error_set(e, CHELA_E_ARGS, "must have required property '%s'", name);
        if (there && !type_fits(f.type, f.type_length, value))
            return error_set(e, CHELA_E_ARGS, "at /%s: must be %s", name, type_name(f.type[0]));
    }
    if (params) {
        json_object_object_foreach(params, key, ignored)
        {
            (void)ignored;
            if (!is_known(spec, key))
                return error_set(e, CHELA_E_ARGS, "unexpected property '%.100s'", key);
        }
    }
    return 0;
}
