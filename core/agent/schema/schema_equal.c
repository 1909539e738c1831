/*
 * Types, order, divisibility and equality of JSON values by their mathematical value, as JSON
 * Schema has them: 1 is 1.0, and an object's order doesn't count. Work is counted by the caller's
 * steps. Called by the validator's keywords.
 */
#include "agent/schema/schema_internal.h"
#include "support/json.h"

#include <json-c/json.h>
#include <math.h>
#include <string.h>

static bool is_whole(double number)
{
    return fabs(number) >= 4503599627370496.0 || number == (double)(int64_t)number;
}

unsigned schema_value_types(const json_object *value)
{
    double number;
    switch (json_object_get_type(value)) {
    case json_type_null: return TYPE_NULL;
    case json_type_boolean: return TYPE_BOOLEAN;
    case json_type_int: return TYPE_INTEGER | TYPE_NUMBER;
    case json_type_double:
        number = json_object_get_double(value);
        return isfinite(number) && is_whole(number) ? TYPE_INTEGER | TYPE_NUMBER : TYPE_NUMBER;
    case json_type_string: return TYPE_STRING;
    case json_type_array: return TYPE_ARRAY;
    case json_type_object: return TYPE_OBJECT;
    }
    return 0;
}

/* ---- numbers ---- */

static bool is_int(const json_object *value)
{
    return json_object_is_type(value, json_type_int);
}

int schema_compare_numbers(const json_object *a, const json_object *b)
{
    if (is_int(a) && is_int(b)) {
        int64_t signed_a = json_object_get_int64(a), signed_b = json_object_get_int64(b);
        if (signed_a < 0 || signed_b < 0)
            return (signed_a > signed_b) - (signed_a < signed_b);
        uint64_t big_a = json_object_get_uint64(a), big_b = json_object_get_uint64(b);
        return (big_a > big_b) - (big_a < big_b);
    }
    double x = chela_json_double_or(a, 0), y = chela_json_double_or(b, 0);
    if (x != y || is_int(a) == is_int(b))
        return (x > y) - (x < y);
    /* An integer that was rounded to be compared: its lost digits decide. The double is whole here.
     */
    const json_object *integer = is_int(a) ? a : b;
    int64_t whole = json_object_get_int64(integer);
    int order = 0;
    if (whole < 0 && x >= -9223372036854775808.0) {
        order = (whole > (int64_t)x) - (whole < (int64_t)x);
    } else if (whole >= 0) {
        uint64_t big = json_object_get_uint64(integer);
        order = x >= 18446744073709551616.0 ? -1 : (big > (uint64_t)x) - (big < (uint64_t)x);
    }
    return is_int(a) ? order : -order;
}

/* a * b modulo m, for m up to 2^63. */
static uint64_t multiply(uint64_t a, uint64_t b, uint64_t m)
{
    uint64_t product = 0;
    for (a %= m; b > 0; b >>= 1) {
        if (b & 1)
            product = (product + a) % m;
        a = a * 2 % m;
    }
    return product;
}

static uint64_t power_of_ten(unsigned long exponent, uint64_t m)
{
    uint64_t result = 1 % m, power = 10 % m;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result = multiply(result, power, m);
        power = multiply(power, power, m);
    }
    return result;
}

/* A number as it is written: digits * 10^exponent, the digits ending in no 0. */
struct decimal {
    uint64_t digits; /* all of them, or modulo something */
    long exponent;
    bool zero, exact;
};

/* modulo 0: as they are, and not exact if they don't fit. */
static struct decimal decimal(json_object *value, uint64_t modulo)
{
    struct decimal d = {0, 0, true, true};
    const char *c = json_object_get_string(value);
    bool point = false;
    unsigned long zeros = 0; /* read, and not yet known to stand inside */
    for (c += *c == '-'; (*c >= '0' && *c <= '9') || *c == '.'; c++) {
        if (*c == '.') {
            point = true;
            continue;
        }
        d.exponent -= point;
        if (*c == '0') {
            zeros++;
            continue;
        }
        uint64_t digit = (uint64_t)(*c - '0');
        for (; modulo == 0 && zeros > 0 && d.exact; zeros--) {
            d.exact = d.digits <= (UINT64_MAX - 9) / 100;
            d.digits *= 10;
        }
        d.exact = d.exact && (modulo > 0 || d.digits <= (UINT64_MAX - 9) / 10);
        if (modulo > 0)
            d.digits =
                (multiply(d.digits, power_of_ten(zeros + 1, modulo), modulo) + digit) % modulo;
        else
            d.digits = d.digits * 10 + digit;
        zeros = 0;
        d.zero = false;
    }
    d.exponent += (long)zeros;
    if (*c == 'e' || *c == 'E') {
        bool negative = c[1] == '-';
        long exponent = 0;
        for (c += c[1] == '-' || c[1] == '+' ? 2 : 1; *c >= '0' && *c <= '9' && exponent < 100000;
             c++)
            exponent = exponent * 10 + (*c - '0');
        d.exponent += negative ? -exponent : exponent;
    }
    return d;
}

bool schema_multiple(json_object *value, json_object *divisor)
{
    struct decimal d = decimal(divisor, 0);
    bool endless = strlen(json_object_get_string(value)) > 400;
    if (!d.exact || d.zero || d.digits > INT64_MAX ||
        endless) { /* more digits than anybody means */
        double quotient = chela_json_double_or(value, 1) / chela_json_double_or(divisor, 1);
        return isfinite(quotient) && is_whole(quotient);
    }
    struct decimal v = decimal(value, d.digits);
    if (v.zero || v.exponent < d.exponent) /* it has no factor 10 left to give */
        return v.zero;
    unsigned long rest = (unsigned long)(v.exponent - d.exponent);
    return multiply(v.digits, power_of_ten(rest, d.digits), d.digits) == 0;
}

/* ---- equality ---- */

static bool spend(size_t *steps, size_t cost)
{
    if (*steps < cost) {
        *steps = 0;
        return false;
    }
    *steps -= cost;
    return true;
}

static bool equal_strings(json_object *a, json_object *b, size_t *steps)
{
    size_t length_a, length_b;
    const char *text_a = chela_json_as_string(a, &length_a);
    const char *text_b = chela_json_as_string(b, &length_b);
    return length_a == length_b && spend(steps, length_a / 64) &&
           memcmp(text_a, text_b, length_a) == 0;
}

bool schema_equal(json_object *a, json_object *b, size_t *steps)
{
    unsigned types = schema_value_types(a);
    size_t count = chela_json_length(a);
    if (!spend(steps, 1) || types != schema_value_types(b) || count != chela_json_length(b))
        return false;
    if (types & TYPE_NUMBER)
        return schema_compare_numbers(a, b) == 0;
    if (types == TYPE_BOOLEAN)
        return json_object_get_boolean(a) == json_object_get_boolean(b);
    if (types == TYPE_STRING)
        return equal_strings(a, b, steps);
    if (types == TYPE_ARRAY) {
        for (size_t i = 0; i < count; i++)
            if (!schema_equal(chela_json_at(a, i), chela_json_at(b, i), steps))
                return false;
    } else if (types == TYPE_OBJECT) {
        json_object_object_foreach(a, key, member)
        {
            json_object *other;
            if (!json_object_object_get_ex(b, key, &other) || !schema_equal(member, other, steps))
                return false;
        }
    }
    return true;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *c = bytes;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ c[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

uint64_t schema_hash(json_object *value, size_t *steps)
{
    unsigned types = schema_value_types(value);
    uint64_t hash = 0xcbf29ce484222325u + types;
    size_t length;
    const char *text = chela_json_as_string(value, &length);
    if (!spend(steps, 1 + (text ? length / 64 : 0)))
        return 0;
    if (text)
        return mix(hash, text, length);
    if (types & TYPE_NUMBER) {
        double number = chela_json_double_or(value, 0) + 0.0; /* -0 is 0 */
        return mix(hash, &number, sizeof number);
    }
    if (types == TYPE_BOOLEAN)
        return hash + (json_object_get_boolean(value) ? 1 : 0);
    for (size_t i = 0; types == TYPE_ARRAY && i < chela_json_length(value); i++) {
        uint64_t item = schema_hash(chela_json_at(value, i), steps);
        hash = mix(hash, &item, sizeof item);
    }
    if (types == TYPE_OBJECT) {
        json_object_object_foreach(value, key, member)
        {
            uint64_t one = mix(0x9e3779b97f4a7c15u, key, strlen(key));
            uint64_t two = schema_hash(member, steps);
            hash += mix(one, &two, sizeof two); /* in any order */
        }
    }
    return hash;
}
