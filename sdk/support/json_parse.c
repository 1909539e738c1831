/*
 * A strict parser of JSON texts that builds json-c's objects. json-c's own tokener isn't used: what
 * would have to look over its input first (quotes, NaN, controls, duplicate keys, surrogates,
 * number ranges, memory) is this parser already, and one pass gives exact places for the errors.
 * Called through chela_json_parse by whoever reads JSON from outside; it keeps nothing after it has
 * returned.
 */
#include "json_scan.h"
#include "json_utf8.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_value(struct json_scan *scan, json_object **ret);

static int fail_key(struct json_scan *scan, size_t at, const char *key)
{
    char shown[96], what[160];
    size_t used = 0;
    for (const unsigned char *c = (const unsigned char *)key; *c;) {
        int step = json_utf8_step(c, strlen((const char *)c), false);
        if (used + 8 > sizeof shown) {
            memcpy(shown + used, "...", 3);
            used += 3;
            break;
        }
        if (step < 1 || *c < 0x20 || *c == 0x7f) {
            shown[used++] = '?';
            step = 1;
        } else {
            memcpy(shown + used, c, (size_t)step);
            used += (size_t)step;
        }
        c += step;
    }
    shown[used] = '\0';
    snprintf(what, sizeof what, "key \"%s\" appears twice in one object", shown);
    return json_scan_fail_at(scan, at, what);
}

static int enter(struct json_scan *scan, size_t cost)
{
    if (scan->depth == 0)
        return json_scan_fail(scan, "nested too deeply");
    if (json_scan_spend(scan, cost) < 0)
        return -1;
    scan->depth--;
    scan->at++;
    json_scan_blanks(scan);
    return 0;
}

/* After an element: 1 if another follows, 0 if close ended the container. */
static int next(struct json_scan *scan, char close, const char *wanted)
{
    json_scan_blanks(scan);
    int c = json_scan_peek(scan);
    if (c != ',' && c != close)
        return json_scan_fail_token(scan, wanted);
    scan->at++;
    json_scan_blanks(scan);
    return c == ',';
}

static int parse_array(struct json_scan *scan, json_object **ret)
{
    if (enter(scan, COST_ARRAY) < 0)
        return -1;
    json_object *array = json_scan_checked(json_object_new_array_ext(4));
    int more = 1;
    if (json_scan_peek(scan) == ']') {
        scan->at++;
        more = 0;
    }
    while (more == 1) {
        json_object *value = NULL;
        more = json_scan_spend(scan, COST_SLOT);
        if (more == 0)
            more = parse_value(scan, &value);
        if (more == 0 && json_object_array_add(array, value) < 0)
            abort();
        if (more == 0)
            more = next(scan, ']', "',' or ']'");
    }
    scan->depth++;
    if (more < 0) {
        json_object_put(array);
        return -1;
    }
    *ret = array;
    return 0;
}

/* Reads "key": and puts a null under it; *ret_entry is where the value goes. */
static int parse_key(struct json_scan *scan, json_object *object, struct lh_entry **ret_entry)
{
    const char *text;
    char small[64];
    size_t length, start = scan->at;
    if (json_scan_peek(scan) != '"')
        return json_scan_fail_token(scan, "a key in double quotes");
    if (json_scan_string(scan, &text, &length) < 0 ||
        json_scan_spend(scan, length + 2 * COST_SLOT + 32) < 0)
        return -1;
    if (memchr(text, '\0', length))
        return json_scan_fail_at(scan, start, "a key with a NUL inside can't be kept");
    char *key = length < sizeof small ? small : json_scan_checked(malloc(length + 1));
    memcpy(key, text, length);
    key[length] = '\0';
    int result = 0;
    if (json_object_object_get_ex(object, key, NULL))
        result = fail_key(scan, start, key);
    else if (json_object_object_add_ex(object, key, NULL, JSON_C_OBJECT_ADD_KEY_IS_NEW) < 0)
        abort();
    if (key != small)
        free(key);
    if (result < 0)
        return -1;
    *ret_entry = json_object_get_object(object)->tail;
    json_scan_blanks(scan);
    if (json_scan_peek(scan) != ':')
        return json_scan_fail_token(scan, "':' after the key");
    scan->at++;
    return 0;
}

static int parse_object(struct json_scan *scan, json_object **ret)
{
    if (enter(scan, COST_OBJECT) < 0)
        return -1;
    json_object *object = json_scan_checked(json_object_new_object());
    int more = 1;
    if (json_scan_peek(scan) == '}') {
        scan->at++;
        more = 0;
    }
    while (more == 1) {
        struct lh_entry *entry = NULL;
        json_object *value = NULL;
        more = parse_key(scan, object, &entry);
        if (more == 0)
            more = parse_value(scan, &value);
        if (more == 0) {
            lh_entry_set_val(entry, value);
            more = next(scan, '}', "',' or '}'");
        }
    }
    scan->depth++;
    if (more < 0) {
        json_object_put(object);
        return -1;
    }
    *ret = object;
    return 0;
}

static bool literal(struct json_scan *scan, const char *word)
{
    size_t length = strlen(word);
    if (scan->length - scan->at < length || memcmp(scan->text + scan->at, word, length) != 0)
        return false;
    scan->at += length;
    return true;
}

static int parse_value(struct json_scan *scan, json_object **ret)
{
    json_scan_blanks(scan);
    int c = json_scan_peek(scan);
    if (c == '{')
        return parse_object(scan, ret);
    if (c == '[')
        return parse_array(scan, ret);
    if (c == '"') {
        const char *text;
        size_t length;
        if (json_scan_string(scan, &text, &length) < 0 ||
            json_scan_spend(scan, length + COST_SCALAR) < 0)
            return -1;
        if (length > INT32_MAX - 64)
            return json_scan_fail(scan, "this string is too long");
        *ret = json_scan_checked(json_object_new_string_len(text, (int)length));
        return 0;
    }
    if (c == '-' || (c >= '0' && c <= '9'))
        return json_scan_number(scan, ret);
    if (literal(scan, "null"))
        return 0;
    bool truth = literal(scan, "true");
    if (!truth && !literal(scan, "false"))
        return json_scan_fail_token(scan, "a value");
    if (json_scan_spend(scan, COST_SCALAR) < 0)
        return -1;
    *ret = json_scan_checked(json_object_new_boolean(truth));
    return 0;
}

int chela_json_parse(const char *text, size_t length, const struct chela_json_limits *limits,
                     json_object **ret_value, struct chela_json_error *error)
{
    struct chela_json_limits l = limits ? *limits : (struct chela_json_limits){0};
    struct json_scan scan = {.text = text, .length = length, .flags = l.flags, .error = error};
    scan.memory = l.memory ? l.memory : CHELA_JSON_MEMORY;
    scan.depth = l.depth ? l.depth : CHELA_JSON_DEPTH;
    if (scan.depth > CHELA_JSON_MAX_DEPTH)
        scan.depth = CHELA_JSON_MAX_DEPTH;
    size_t limit = l.size ? l.size : CHELA_JSON_SIZE;
    if (length > limit) {
        char what[100];
        snprintf(what, sizeof what, "%zu bytes of JSON are over the limit of %zu", length, limit);
        return json_scan_fail_at(&scan, 0, what);
    }
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        return json_scan_fail(&scan, "the text begins with a byte order mark");
    json_object *value = NULL;
    int result = parse_value(&scan, &value);
    if (result == 0) {
        json_scan_blanks(&scan);
        if (scan.at < length)
            result = json_scan_fail_token(&scan, "the end of the text");
    }
    if (result == 0)
        *ret_value = value;
    else
        json_object_put(value);
    free(scan.scratch);
    if (scan.locale)
        freelocale(scan.locale);
    return result;
}
