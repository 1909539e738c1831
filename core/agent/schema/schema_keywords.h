/*
 * The check functions of the keywords, for the table in schema_keywords.c. Each says true if value
 * fits the rule; else it reports, if anybody reads reports, and says false.
 */
#ifndef AGENT_SCHEMA_KEYWORDS_H
#define AGENT_SCHEMA_KEYWORDS_H

#include "agent/schema/schema_internal.h"

/* schema_values.c */
schema_check_function schema_check_type, schema_check_enum, schema_check_const, schema_check_number,
    schema_check_count, schema_check_pattern, schema_check_unique, schema_check_required,
    schema_check_dependent;

/* schema_apply.c */
schema_check_function schema_check_reference, schema_check_all_of, schema_check_any_of,
    schema_check_one_of, schema_check_not, schema_check_if, schema_check_properties,
    schema_check_patterns, schema_check_additional, schema_check_unevaluated_members,
    schema_check_names;

/* schema_items.c */
schema_check_function schema_check_tuple, schema_check_items, schema_check_additional_items,
    schema_check_contains, schema_check_unevaluated_items;

#endif
