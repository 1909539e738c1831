/*
 * The keywords that apply subschemas to the value itself (allOf, if, $ref ...) or to an object's
 * members. Called through the table of keywords.
 */
#include "agent/schema/schema_keywords.h"
#include "base/mem.h"
#include "support/json.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_BRANCHES 3
#define SHOWN_NAMES    8

/* ---- to the value itself ---- */

bool schema_check_reference(struct schema_run *run, const struct schema_rule *rule,
                            json_object *value, const struct schema_place *place,
                            struct schema_marks *marks)
{
    return schema_run_node(run, rule->node, value, place, marks);
}

bool schema_check_all_of(struct schema_run *run, const struct schema_rule *rule, json_object *value,
                         const struct schema_place *place, struct schema_marks *marks)
{
    bool fits = true;
    for (size_t i = 0; i < rule->entry_count; i++) {
        fits &= schema_run_node(run, rule->entries[i].node, value, place, marks);
        if (!fits && !schema_run_reports(run))
            return false;
    }
    return fits;
}

/* Why none of the alternatives fits: the first report of each of the first few. */
static bool report_branches(struct schema_run *run, const struct schema_rule *rule,
                            json_object *value, const struct schema_place *place)
{
    if (!schema_run_reports(run))
        return false;
    struct buf reasons = {0};
    struct schema_sink *sink = run->sink;
    for (size_t i = 0; i < rule->entry_count && i < SHOWN_BRANCHES; i++) {
        struct schema_sink one = {.limit = 160, .left = 1};
        run->sink = &one;
        schema_run_node(run, rule->entries[i].node, value, place, NULL);
        buf_printf(&reasons, "%s(%zu) ", i ? " " : "", i + 1);
        schema_describe_text(&reasons, buf_text(&one.text), one.text.n, 220);
        buf_free(&one.text);
    }
    run->sink = sink;
    if (schema_run_reports(run)) {
        struct buf *out = schema_run_begin(run, place);
        buf_printf(out, "fits none of %zu alternatives: %s%s", rule->entry_count,
                   buf_text(&reasons), rule->entry_count > SHOWN_BRANCHES ? " ..." : "");
        schema_run_end(run);
    }
    buf_free(&reasons);
    return false;
}

bool schema_check_any_of(struct schema_run *run, const struct schema_rule *rule, json_object *value,
                         const struct schema_place *place, struct schema_marks *marks)
{
    bool fits = false;
    for (size_t i = 0; i < rule->entry_count && (!fits || marks) && !run->stopped; i++)
        fits |= schema_run_quietly(run, rule->entries[i].node, value, place, marks);
    return fits || report_branches(run, rule, value, place);
}

bool schema_check_one_of(struct schema_run *run, const struct schema_rule *rule, json_object *value,
                         const struct schema_place *place, struct schema_marks *marks)
{
    size_t first = rule->entry_count;
    for (size_t i = 0; i < rule->entry_count && !run->stopped; i++) {
        if (!schema_run_quietly(run, rule->entries[i].node, value, place, marks))
            continue;
        if (first < i) {
            if (schema_run_reports(run)) {
                buf_printf(schema_run_begin(run, place),
                           "fits alternatives %zu and %zu, where only one may fit", first + 1,
                           i + 1);
                schema_run_end(run);
            }
            return false;
        }
        first = i;
    }
    return first < rule->entry_count || report_branches(run, rule, value, place);
}

bool schema_check_not(struct schema_run *run, const struct schema_rule *rule, json_object *value,
                      const struct schema_place *place, struct schema_marks *marks)
{
    (void)marks;
    if (!schema_run_quietly(run, rule->node, value, place, NULL))
        return true;
    return schema_run_expected(run, place, value, "what \"not\" doesn't describe");
}

bool schema_check_if(struct schema_run *run, const struct schema_rule *rule, json_object *value,
                     const struct schema_place *place, struct schema_marks *marks)
{
    const struct schema_rule *next =
        rule->with[schema_run_quietly(run, rule->node, value, place, marks) ? 0 : 1];
    return !next || schema_run_node(run, next->node, value, place, marks);
}

/* ---- to members ---- */

static bool check_member(struct schema_run *run, const struct schema_node *node, const char *key,
                         json_object *value, const struct schema_place *up)
{
    struct schema_place place = {up, key, 0};
    return schema_run_node(run, node, value, &place, NULL);
}

bool schema_check_properties(struct schema_run *run, const struct schema_rule *rule,
                             json_object *value, const struct schema_place *place,
                             struct schema_marks *marks)
{
    bool fits = true;
    size_t index = 0;
    json_object_object_foreach(value, key, member)
    {
        const struct schema_entry *entry = map_get(&rule->index, key);
        if (!schema_run_step(run, 1))
            return false;
        if (entry) {
            fits &= check_member(run, entry->node, key, member, place);
            schema_mark(marks, index);
        }
        if (!fits && !schema_run_reports(run))
            return false;
        index++;
    }
    return fits;
}

bool schema_check_patterns(struct schema_run *run, const struct schema_rule *rule,
                           json_object *value, const struct schema_place *place,
                           struct schema_marks *marks)
{
    bool fits = true;
    size_t index = 0;
    json_object_object_foreach(value, key, member)
    {
        for (size_t i = 0; i < rule->entry_count; i++) {
            if (!schema_run_match(run, rule->entries[i].pattern, key, strlen(key)))
                continue;
            fits &= check_member(run, rule->entries[i].node, key, member, place);
            schema_mark(marks, index);
        }
        if (run->stopped || (!fits && !schema_run_reports(run)))
            return false;
        index++;
    }
    return fits;
}

static bool is_known(struct schema_run *run, const struct schema_rule *rule, const char *key)
{
    const struct schema_rule *properties = rule->with[0], *patterns = rule->with[1];
    if (properties && map_get(&properties->index, key))
        return true;
    for (size_t i = 0; patterns && i < patterns->entry_count; i++)
        if (schema_run_match(run, patterns->entries[i].pattern, key, strlen(key)))
            return true;
    return false;
}

/* "unknown member "pth" (known: "path", "content")" */
static bool report_unknown(struct schema_run *run, const struct schema_rule *properties,
                           const char *key, const struct schema_place *place)
{
    if (!schema_run_reports(run))
        return false;
    struct buf *out = schema_run_begin(run, place);
    buf_puts(out, "unknown member \"");
    schema_describe_text(out, key, strlen(key), 80);
    buf_char(out, '"');
    size_t count = properties ? properties->entry_count : 0;
    for (size_t i = 0; i < count && i < SHOWN_NAMES; i++) {
        buf_puts(out, i ? ", \"" : " (known: \"");
        schema_describe_text(out, properties->entries[i].key, strlen(properties->entries[i].key),
                             40);
        buf_char(out, '"');
    }
    if (count > 0)
        buf_puts(out, count > SHOWN_NAMES ? ", ...)" : ")");
    return schema_run_end(run);
}

bool schema_check_additional(struct schema_run *run, const struct schema_rule *rule,
                             json_object *value, const struct schema_place *place,
                             struct schema_marks *marks)
{
    bool fits = true;
    size_t index = 0;
    json_object_object_foreach(value, key, member)
    {
        size_t here = index++;
        if (!schema_run_step(run, 1))
            return false;
        if (is_known(run, rule, key))
            continue;
        fits &= rule->node->never ? report_unknown(run, rule->with[0], key, place)
                                  : check_member(run, rule->node, key, member, place);
        schema_mark(marks, here);
        if (run->stopped || (!fits && !schema_run_reports(run)))
            return false;
    }
    return fits;
}

bool schema_check_unevaluated_members(struct schema_run *run, const struct schema_rule *rule,
                                      json_object *value, const struct schema_place *place,
                                      struct schema_marks *marks)
{
    bool fits = true;
    size_t index = 0;
    json_object_object_foreach(value, key, member)
    {
        size_t here = index++;
        if (marks->seen[here])
            continue;
        fits &= rule->node->never ? report_unknown(run, rule->with[0], key, place)
                                  : check_member(run, rule->node, key, member, place);
        schema_mark(marks, here);
        if (run->stopped || (!fits && !schema_run_reports(run)))
            return false;
    }
    return fits;
}

bool schema_check_names(struct schema_run *run, const struct schema_rule *rule, json_object *value,
                        const struct schema_place *place, struct schema_marks *marks)
{
    (void)marks;
    bool fits = true;
    json_object_object_foreach(value, key, member)
    {
        (void)member;
        json_object *name = chela_json_new_string(key, strlen(key));
        fits &= check_member(run, rule->node, key, name, place);
        json_object_put(name);
        if (run->stopped || (!fits && !schema_run_reports(run)))
            return false;
    }
    return fits;
}
