/*
 * The keywords that look at one value and apply no subschema: types, enumerations, numbers,
 * strings, counts and names. Called through the table of keywords, which stands in
 * schema_keywords.c.
 */
#include "agent/schema/schema_keywords.h"
#include "base/utf8.h"
#include "support/json.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

bool schema_check_type(struct schema_run *run, const struct schema_rule *rule, json_object *value,
                       const struct schema_place *place, struct schema_marks *marks)
{
    (void)marks;
    if (schema_value_types(value) & rule->types)
        return true;
    if (!schema_run_reports(run))
        return false;
    struct buf *out = schema_run_begin(run, place);
    buf_puts(out, "expected ");
    schema_describe_types(out, rule->types);
    buf_puts(out, ", found ");
    schema_describe_value(out, value);
    return schema_run_end(run);
}

static bool expected_list(struct schema_run *run, const struct schema_place *place,
                          json_object *value, json_object *list, const char *before)
{
    if (!schema_run_reports(run))
        return false;
    struct buf *out = schema_run_begin(run, place);
    buf_puts(out, before);
    schema_describe_list(out, list);
    buf_puts(out, ", found ");
    schema_describe_value(out, value);
    return schema_run_end(run);
}

bool schema_check_enum(struct schema_run *run, const struct schema_rule *rule, json_object *value,
                       const struct schema_place *place, struct schema_marks *marks)
{
    (void)marks;
    for (size_t i = 0; i < chela_json_length(rule->value); i++) {
        if (schema_equal(value, chela_json_at(rule->value, i), &run->steps))
            return true;
        if (!schema_run_step(run, 1))
            return false;
    }
    return expected_list(run, place, value, rule->value, "expected one of ");
}

bool schema_check_const(struct schema_run *run, const struct schema_rule *rule, json_object *value,
                        const struct schema_place *place, struct schema_marks *marks)
{
    (void)marks;
    if (schema_equal(value, rule->value, &run->steps))
        return true;
    if (!schema_run_step(run, 1) || !schema_run_reports(run))
        return false;
    struct buf *out = schema_run_begin(run, place);
    buf_puts(out, "expected exactly ");
    schema_describe_value(out, rule->value);
    buf_puts(out, ", found ");
    schema_describe_value(out, value);
    return schema_run_end(run);
}

bool schema_check_number(struct schema_run *run, const struct schema_rule *rule, json_object *value,
                         const struct schema_place *place, struct schema_marks *marks)
{
    (void)marks;
    const char *name = rule->keyword->name, *wanted = "a multiple of";
    bool fits;
    if (strcmp(name, "multipleOf") == 0) {
        fits = schema_multiple(value, rule->value);
    } else {
        int order = schema_compare_numbers(value, rule->value);
        bool exclusive = name[0] == 'e', minimum = strstr(name, "inimum") != NULL;
        fits = minimum ? order > 0 : order < 0;
        fits = fits || (order == 0 && !exclusive);
        wanted = minimum     ? exclusive ? "a number above" : "at least"
                 : exclusive ? "a number below"
                             : "at most";
    }
    return fits || schema_run_expected(run, place, value, "%s %.60s", wanted,
                                       chela_json_text(rule->value, NULL));
}

/* minX and maxX of characters, items and members */
bool schema_check_count(struct schema_run *run, const struct schema_rule *rule, json_object *value,
                        const struct schema_place *place, struct schema_marks *marks)
{
    (void)marks;
    const char *name = rule->keyword->name, *unit = name + 3;
    size_t length, count = chela_json_length(value);
    const char *text = chela_json_as_string(value, &length);
    if (text) {
        if (!schema_run_step(run, length / 64))
            return false;
        count = utf8_count(text, length);
    }
    bool minimum = name[1] == 'i';
    if (minimum ? (int64_t)count >= rule->count : (int64_t)count <= rule->count)
        return true;
    unit = *unit == 'L' ? "characters" : *unit == 'I' ? "items" : "members";
    if (!schema_run_reports(run))
        return false;
    buf_printf(schema_run_begin(run, place), "expected %s %lld %s, found %zu",
               minimum ? "at least" : "at most", (long long)rule->count, unit, count);
    return schema_run_end(run);
}

bool schema_check_pattern(struct schema_run *run, const struct schema_rule *rule,
                          json_object *value, const struct schema_place *place,
                          struct schema_marks *marks)
{
    (void)marks;
    size_t length;
    const char *text = chela_json_as_string(value, &length);
    if (schema_run_match(run, rule->pattern, text, length))
        return true;
    if (!schema_run_reports(run))
        return false;
    struct buf *out = schema_run_begin(run, place);
    text = chela_json_as_string(rule->value, &length);
    buf_puts(out, "expected a string that matches /");
    schema_describe_text(out, text, length, 120);
    buf_puts(out, "/, found ");
    schema_describe_value(out, value);
    return schema_run_end(run);
}

/* ---- uniqueItems ---- */

struct hashed {
    uint64_t hash;
    size_t index;
};

static int by_hash(const void *a, const void *b)
{
    const struct hashed *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* The indices of two equal items; false if there are none, or the steps ran out. */
static bool find_equal(struct schema_run *run, json_object *list, struct hashed *items,
                       size_t count, size_t *ret_first, size_t *ret_second)
{
    for (size_t i = 0; i < count; i++)
        items[i] = (struct hashed){schema_hash(chela_json_at(list, i), &run->steps), i};
    qsort(items, count, sizeof *items, by_hash);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count && items[k].hash == items[i].hash; k++) {
            bool equal = schema_equal(chela_json_at(list, items[i].index),
                                      chela_json_at(list, items[k].index), &run->steps);
            if (!schema_run_step(run, 1))
                return false;
            if (equal) {
                *ret_first = items[i].index;
                *ret_second = items[k].index;
                return true;
            }
        }
    }
    return false;
}

bool schema_check_unique(struct schema_run *run, const struct schema_rule *rule, json_object *value,
                         const struct schema_place *place, struct schema_marks *marks)
{
    (void)marks;
    size_t count = chela_json_length(value), first, second;
    if (!json_object_get_boolean(rule->value) || count < 2)
        return true;
    if (!schema_run_step(run, count))
        return false;
    struct hashed *items = calloc(count, sizeof *items);
    if (!items)
        abort();
    bool found = find_equal(run, value, items, count, &first, &second);
    free(items);
    if (!found || !schema_run_reports(run))
        return !found && schema_run_step(run, 1);
    buf_printf(schema_run_begin(run, place),
               "expected no equal items, found items %zu and %zu equal", first, second);
    return schema_run_end(run);
}

/* ---- required and its like ---- */

/* Reports the names of list that value lacks; true if it has them all. */
static bool has_names(struct schema_run *run, json_object *list, json_object *value,
                      const struct schema_place *place, const char *because)
{
    struct buf *out = NULL;
    for (size_t i = 0; i < chela_json_length(list); i++) {
        const char *name = chela_json_as_string(chela_json_at(list, i), NULL);
        if (!schema_run_step(run, 1))
            return false;
        if (chela_json_has(value, name))
            continue;
        if (!out && !schema_run_reports(run))
            return false;
        if (!out) {
            out = schema_run_begin(run, place);
            buf_puts(out, "missing ");
        } else if (out->n > run->sink->limit) {
            buf_puts(out, ", ...");
            break;
        } else {
            buf_puts(out, ", ");
        }
        buf_char(out, '"');
        schema_describe_text(out, name, strlen(name), 80);
        buf_char(out, '"');
    }
    if (!out)
        return true;
    if (because) {
        buf_puts(out, ", needed with \"");
        schema_describe_text(out, because, strlen(because), 80);
        buf_char(out, '"');
    }
    return schema_run_end(run);
}

bool schema_check_required(struct schema_run *run, const struct schema_rule *rule,
                           json_object *value, const struct schema_place *place,
                           struct schema_marks *marks)
{
    (void)marks;
    return has_names(run, rule->value, value, place, NULL);
}

/* dependentRequired, dependentSchemas and dependencies, which has both kinds of entry */
bool schema_check_dependent(struct schema_run *run, const struct schema_rule *rule,
                            json_object *value, const struct schema_place *place,
                            struct schema_marks *marks)
{
    bool fits = true;
    for (size_t i = 0; i < rule->entry_count; i++) {
        const struct schema_entry *entry = &rule->entries[i];
        if (!schema_run_step(run, 1))
            return false;
        if (!chela_json_has(value, entry->key))
            continue;
        if (entry->names ? !has_names(run, entry->names, value, place, entry->key)
                         : !schema_run_node(run, entry->node, value, place, marks))
            fits = false;
        if (!fits && !schema_run_reports(run))
            return false;
    }
    return fits;
}
