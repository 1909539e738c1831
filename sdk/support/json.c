/*
 * Getters, builders and printing on json-c's values: the parts of the JSON wrapper that neither
 * parse nor stream. Called by the core and by plugins. Nothing here trusts the type of a value that
 * came from outside, and nothing rounds or saturates a number in silence.
 */
#include "json.h"
#include "json_utf8.h"

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_object *checked(json_object *value)
{
    if (!value)
        abort();
    return value;
}

/* ---- values ---- */

const char *chela_json_as_string(const json_object *value, size_t *length)
{
    if (!json_object_is_type(value, json_type_string))
        return NULL;
    /* json-c's getter lacks the const: it changes nothing in a string. */
    json_object *string = (json_object *)(uintptr_t)value;
    const char *text = json_object_get_string(string);
    size_t bytes = (size_t)json_object_get_string_len(string);
    if (length)
        *length = bytes;
    else if (memchr(text, '\0', bytes))
        return NULL;
    return text;
}

bool chela_json_as_int(const json_object *value, int64_t *ret)
{
    if (json_object_is_type(value, json_type_int)) {
        int64_t number = json_object_get_int64(value);
        if (number == INT64_MAX && json_object_get_uint64(value) != (uint64_t)INT64_MAX)
            return false;
        *ret = number;
        return true;
    }
    if (!json_object_is_type(value, json_type_double))
        return false;
    double number = json_object_get_double(value);
    if (!(fabs(number) <= 9007199254740992.0) || number != (double)(int64_t)number)
        return false;
    *ret = (int64_t)number;
    return true;
}

int64_t chela_json_int_or(const json_object *value, int64_t fallback)
{
    int64_t number;
    return chela_json_as_int(value, &number) ? number : fallback;
}

double chela_json_double_or(const json_object *value, double fallback)
{
    if (json_object_is_type(value, json_type_double))
        return json_object_get_double(value);
    if (!json_object_is_type(value, json_type_int))
        return fallback;
    int64_t number = json_object_get_int64(value);
    return number < 0 ? (double)number : (double)json_object_get_uint64(value);
}

bool chela_json_bool_or(const json_object *value, bool fallback)
{
    return json_object_is_type(value, json_type_boolean) ? json_object_get_boolean(value) != 0
                                                         : fallback;
}

size_t chela_json_length(const json_object *value)
{
    if (json_object_is_type(value, json_type_array))
        return json_object_array_length(value);
    if (json_object_is_type(value, json_type_object))
        return (size_t)json_object_object_length(value);
    return 0;
}

/* ---- members ---- */

bool chela_json_has(const json_object *object, const char *key)
{
    return json_object_is_type(object, json_type_object) &&
           json_object_object_get_ex(object, key, NULL);
}

json_object *chela_json_get(const json_object *object, const char *key)
{
    json_object *value = NULL;
    if (json_object_is_type(object, json_type_object))
        json_object_object_get_ex(object, key, &value);
    return value;
}

const char *chela_json_string(const json_object *object, const char *key, size_t *length)
{
    return chela_json_as_string(chela_json_get(object, key), length);
}

const char *chela_member(const json_object *object, const char *key)
{
    const char *s = chela_json_string(object, key, NULL);
    return s ? s : "";
}

int64_t chela_json_int(const json_object *object, const char *key, int64_t fallback)
{
    return chela_json_int_or(chela_json_get(object, key), fallback);
}

double chela_json_double(const json_object *object, const char *key, double fallback)
{
    return chela_json_double_or(chela_json_get(object, key), fallback);
}

bool chela_json_bool(const json_object *object, const char *key, bool fallback)
{
    return chela_json_bool_or(chela_json_get(object, key), fallback);
}

json_object *chela_json_object(const json_object *object, const char *key)
{
    json_object *value = chela_json_get(object, key);
    return json_object_is_type(value, json_type_object) ? value : NULL;
}

json_object *chela_json_array(const json_object *object, const char *key)
{
    json_object *value = chela_json_get(object, key);
    return json_object_is_type(value, json_type_array) ? value : NULL;
}

json_object *chela_json_at(const json_object *value, size_t index)
{
    if (!json_object_is_type(value, json_type_array) || index >= json_object_array_length(value))
        return NULL;
    return json_object_array_get_idx(value, index);
}

/* "0" or digits without a leading zero, as RFC 6901 wants an array's index. */
static bool pointer_index(const char *token, size_t length, size_t *ret)
{
    if (length == 0 || length > 9 || (token[0] == '0' && length > 1))
        return false;
    *ret = 0;
    for (size_t i = 0; i < length; i++) {
        if (token[i] < '0' || token[i] > '9')
            return false;
        *ret = *ret * 10 + (size_t)(token[i] - '0');
    }
    return true;
}

/* Undoes ~0 and ~1 in place; false for any other use of '~'. */
static bool pointer_unescape(char *token)
{
    char *out = token;
    for (const char *in = token; *in; in++) {
        if (*in == '~') {
            in++;
            if (*in != '0' && *in != '1')
                return false;
            *out++ = *in == '0' ? '~' : '/';
        } else {
            *out++ = *in;
        }
    }
    *out = '\0';
    return true;
}

json_object *chela_json_path(const json_object *value, const char *pointer)
{
    json_object *place = (json_object *)(uintptr_t)value;
    char token[256];
    while (place && *pointer) {
        if (*pointer != '/')
            return NULL;
        size_t length = strcspn(++pointer, "/"), index;
        if (length >= sizeof token)
            return NULL;
        memcpy(token, pointer, length);
        token[length] = '\0';
        pointer += length;
        if (json_object_is_type(place, json_type_array))
            place = pointer_index(token, length, &index) ? chela_json_at(place, index) : NULL;
        else
            place = pointer_unescape(token) ? chela_json_get(place, token) : NULL;
    }
    return place;
}

/* ---- building ---- */

json_object *chela_json_new_object(void)
{
    return checked(json_object_new_object());
}

json_object *chela_json_new_array(void)
{
    return checked(json_object_new_array());
}

/* How often text isn't UTF-8. */
static size_t count_bad(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t bad = 0;
    for (size_t at = 0; at < length;) {
        int step = json_utf8_step(bytes + at, length - at, false);
        bad += step < 1;
        at += step > 0 ? (size_t)step : step < 0 ? (size_t)-step : length - at;
    }
    return bad;
}

/* A copy of text, ending in a NUL, with U+FFFD for each of the bad places. */
static char *cleaned(const char *text, size_t length, size_t bad, size_t *ret_length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t used = 0;
    char *clean = malloc(length + bad * 3 + 1);
    if (!clean)
        abort();
    for (size_t at = 0; at < length;) {
        int step = json_utf8_step(bytes + at, length - at, false);
        if (step > 0)
            memcpy(clean + used, text + at, (size_t)step);
        used += step > 0 ? (size_t)step : json_utf8_write(0xfffd, clean + used);
        at += step > 0 ? (size_t)step : step < 0 ? (size_t)-step : length - at;
    }
    clean[used] = '\0';
    *ret_length = used;
    return clean;
}

json_object *chela_json_new_string(const char *text, size_t length)
{
    if (length > INT32_MAX / 4)
        abort();
    size_t bad = count_bad(text, length);
    if (bad == 0)
        return checked(json_object_new_string_len(text, (int)length));
    char *clean = cleaned(text, length, bad, &length);
    json_object *value = checked(json_object_new_string_len(clean, (int)length));
    free(clean);
    return value;
}

json_object *chela_json_new_double(double number)
{
    char text[40];
    if (!isfinite(number))
        return NULL;
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, number);
        if (strtod(text, NULL) == number)
            break;
    }
    for (char *c = text; *c; c++) /* the locale's point */
        if (*c != '-' && *c != '+' && *c != 'e' && (*c < '0' || *c > '9'))
            *c = '.';
    return checked(json_object_new_double_s(number, text));
}

void chela_json_put(json_object *object, const char *key, json_object *value)
{
    size_t length = strlen(key), bad = count_bad(key, length);
    char *clean = bad > 0 ? cleaned(key, length, bad, &length) : NULL;
    if (!json_object_is_type(object, json_type_object) ||
        json_object_object_add(object, clean ? clean : key, value) < 0)
        abort();
    free(clean);
}

void chela_json_put_string(json_object *object, const char *key, const char *text, size_t length)
{
    chela_json_put(object, key, chela_json_new_string(text, length));
}

void chela_json_put_text(json_object *object, const char *key, const char *text)
{
    chela_json_put(object, key, text ? chela_json_new_string(text, strlen(text)) : NULL);
}

void chela_json_put_int(json_object *object, const char *key, int64_t number)
{
    chela_json_put(object, key, checked(json_object_new_int64(number)));
}

void chela_json_put_double(json_object *object, const char *key, double number)
{
    chela_json_put(object, key, chela_json_new_double(number));
}

void chela_json_put_bool(json_object *object, const char *key, bool truth)
{
    chela_json_put(object, key, checked(json_object_new_boolean(truth)));
}

json_object *chela_json_put_object(json_object *object, const char *key)
{
    json_object *value = chela_json_new_object();
    chela_json_put(object, key, value);
    return value;
}

json_object *chela_json_put_array(json_object *object, const char *key)
{
    json_object *value = chela_json_new_array();
    chela_json_put(object, key, value);
    return value;
}

void chela_json_push(json_object *array, json_object *value)
{
    if (!json_object_is_type(array, json_type_array) || json_object_array_add(array, value) < 0)
        abort();
}

json_object *chela_json_push_object(json_object *array)
{
    json_object *value = chela_json_new_object();
    chela_json_push(array, value);
    return value;
}

/* ---- printing ---- */

const char *chela_json_text(json_object *value, size_t *length)
{
    size_t bytes = 4;
    const char *text = "null";
    if (value) {
        text = json_object_to_json_string_length(
            value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &bytes);
        if (!text)
            abort();
    }
    if (length)
        *length = bytes;
    return text;
}
