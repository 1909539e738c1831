/*
 * The keywords that apply subschemas to the items of an array. Called through the table of
 * keywords.
 */
#include "agent/schema/schema_keywords.h"
#include "support/json.h"

static bool check_item(struct schema_run *run, const struct schema_node *node, json_object *list,
                       size_t index, const struct schema_place *up, struct schema_marks *marks)
{
    struct schema_place place = {up, NULL, index};
    schema_mark(marks, index);
    return schema_run_node(run, node, chela_json_at(list, index), &place, NULL);
}

/* prefixItems, and items that are a list */
bool schema_check_tuple(struct schema_run *run, const struct schema_rule *rule, json_object *value,
                        const struct schema_place *place, struct schema_marks *marks)
{
    bool fits = true;
    size_t count = chela_json_length(value);
    for (size_t i = 0; i < count && i < rule->entry_count; i++) {
        fits &= check_item(run, rule->entries[i].node, value, i, place, marks);
        if (!fits && !schema_run_reports(run))
            return false;
    }
    return fits;
}

static bool check_rest(struct schema_run *run, const struct schema_node *node, size_t start,
                       json_object *value, const struct schema_place *place,
                       struct schema_marks *marks)
{
    bool fits = true;
    for (size_t i = start; i < chela_json_length(value); i++) {
        fits &= check_item(run, node, value, i, place, marks);
        if (run->stopped || (!fits && !schema_run_reports(run)))
            return false;
    }
    return fits;
}

bool schema_check_items(struct schema_run *run, const struct schema_rule *rule, json_object *value,
                        const struct schema_place *place, struct schema_marks *marks)
{
    if (rule->entries)
        return schema_check_tuple(run, rule, value, place, marks);
    size_t start = rule->with[0] ? rule->with[0]->entry_count : 0;
    return check_rest(run, rule->node, start, value, place, marks);
}

/* Counts only beside items that are a list. */
bool schema_check_additional_items(struct schema_run *run, const struct schema_rule *rule,
                                   json_object *value, const struct schema_place *place,
                                   struct schema_marks *marks)
{
    const struct schema_rule *tuple = rule->with[0];
    return !tuple || !tuple->entries ||
           check_rest(run, rule->node, tuple->entry_count, value, place, marks);
}

bool schema_check_contains(struct schema_run *run, const struct schema_rule *rule,
                           json_object *value, const struct schema_place *place,
                           struct schema_marks *marks)
{
    int64_t least = rule->with[0] ? rule->with[0]->count : 1;
    int64_t most = rule->with[1] ? rule->with[1]->count : INT64_MAX;
    int64_t found = 0;
    for (size_t i = 0; i < chela_json_length(value) && !run->stopped; i++) {
        struct schema_place item = {place, NULL, i};
        if (!schema_run_quietly(run, rule->node, chela_json_at(value, i), &item, NULL))
            continue;
        found++;
        if (rule->drafts != DRAFT_2019) /* there it evaluates nothing */
            schema_mark(marks, i);
    }
    if ((found >= least && found <= most) || !schema_run_reports(run))
        return found >= least && found <= most;
    buf_printf(schema_run_begin(run, place),
               "expected %s %lld items as \"contains\" says, found %lld",
               found < least ? "at least" : "at most", (long long)(found < least ? least : most),
               (long long)found);
    return schema_run_end(run);
}

bool schema_check_unevaluated_items(struct schema_run *run, const struct schema_rule *rule,
                                    json_object *value, const struct schema_place *place,
                                    struct schema_marks *marks)
{
    bool fits = true;
    for (size_t i = 0; i < chela_json_length(value); i++) {
        if (marks->seen[i])
            continue;
        fits &= check_item(run, rule->node, value, i, place, marks);
        if (run->stopped || (!fits && !schema_run_reports(run)))
            return false;
    }
    return fits;
}
