/*
 * What the files of the schema validator share: the compiled form, the table of keywords, and the
 * run of one check. schema_ids.c finds names and references, schema_compile.c makes nodes,
 * schema_check.c walks them with the keywords of schema_values.c and schema_apply.c. Nobody else
 * includes it.
 */
#ifndef AGENT_SCHEMA_INTERNAL_H
#define AGENT_SCHEMA_INTERNAL_H

#include "agent/schema/schema.h"
#include "agent/schema/schema_pattern.h"
#include "base/buf.h"
#include "base/map.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- limits against hostile schemas and values ---- */

#define SCHEMA_MAX_NODES    20000u
#define SCHEMA_MAX_PATTERNS 2000u
#define SCHEMA_MAX_NESTING  200u     /* of the schema's text */
#define SCHEMA_MAX_URI      2048u    /* bytes of $id and $ref */
#define SCHEMA_MAX_DEPTH    800u     /* nodes inside each other while checking, $ref included */
#define SCHEMA_MAX_STEPS    1000000u /* nodes, members and comparisons of one check: some 50 ms */

/* ---- the compiled form ---- */

enum { DRAFT_7 = 1, DRAFT_2019 = 2, DRAFT_2020 = 4, DRAFT_ANY = 8, DRAFT_ALL = 15 };

/* How a keyword's value holds subschemas, or what it must be. */
enum schema_shape {
    SHAPE_SCHEMA,       /* a schema */
    SHAPE_SCHEMAS,      /* a list of schemas, at least one */
    SHAPE_MEMBERS,      /* an object of schemas */
    SHAPE_PATTERNS,     /* an object of schemas whose keys are patterns */
    SHAPE_ITEMS,        /* a schema or a list of schemas */
    SHAPE_DEPENDENCIES, /* an object of schemas or lists of names */
    SHAPE_NAME_LISTS,   /* an object of lists of names */
    SHAPE_NAMES,        /* a list of names */
    SHAPE_TYPES,
    SHAPE_LIST,
    SHAPE_ANY,
    SHAPE_NUMBER,
    SHAPE_DIVISOR, /* a number above 0 */
    SHAPE_COUNT,   /* a whole number, 0 or more */
    SHAPE_BOOL,
    SHAPE_PATTERN,
    SHAPE_REFERENCE,
    SHAPE_REFUSED, /* would change the result, and isn't built */
};

/* The types of JSON, as bits; an integer has both of its bits. */
enum {
    TYPE_NULL = 1,
    TYPE_BOOLEAN = 2,
    TYPE_INTEGER = 4,
    TYPE_NUMBER = 8,
    TYPE_STRING = 16,
    TYPE_ARRAY = 32,
    TYPE_OBJECT = 64,
    TYPE_ALL = 127,
};

struct schema_node;
struct schema_rule;
struct schema_run;
struct schema_place;
struct schema_marks;

typedef bool schema_check_function(struct schema_run *run, const struct schema_rule *rule,
                                   json_object *value, const struct schema_place *place,
                                   struct schema_marks *marks);

struct schema_keyword {
    const char *name;
    enum schema_shape shape;
    unsigned drafts;
    unsigned types;               /* of values that it looks at */
    schema_check_function *check; /* NULL: only its siblings look at it */
    const char *with[2];          /* siblings whose rules it needs */
};

/* In the order in which the rules of a node are checked; ends with a NULL name. */
extern const struct schema_keyword schema_keywords[]; /* schema_keywords.c */

struct schema_entry {
    const char *key;    /* of an object's; borrowed from the schema's text */
    json_object *names; /* a list of names instead of a node */
    struct schema_node *node;
    struct schema_pattern *pattern;
};

struct schema_rule {
    const struct schema_keyword *keyword;
    json_object *value;
    unsigned drafts;          /* the dialect of the place, one bit */
    unsigned types;           /* SHAPE_TYPES */
    int64_t count;            /* SHAPE_COUNT */
    struct schema_node *node; /* SHAPE_SCHEMA, SHAPE_REFERENCE, SHAPE_ITEMS with a schema */
    struct schema_entry *entries;
    size_t entry_count;
    struct map index; /* SHAPE_MEMBERS: key -> entry */
    struct schema_pattern *pattern;
    const struct schema_rule *with[2];
};

struct schema_node {
    json_object *text; /* borrowed */
    const struct schema_node *up;
    const char *keyword; /* of up, under which this one stands; key or index in it */
    const char *key;
    long index;  /* -1: none */
    bool never;  /* false */
    bool tracks; /* has unevaluatedProperties or unevaluatedItems */
    struct schema_rule *rules;
    size_t rule_count;
};

struct schema {
    json_object *text;
    struct schema_node *root;
    struct schema_node **nodes;
    size_t node_count;
};

/* ---- schema_ids.c: where each subschema stands and what it is called ---- */

struct schema_resource {
    char *uri; /* without fragment; "" for a document without $id */
    json_object *text;
};

struct schema_location {
    struct schema_resource *resource;
    unsigned draft;
};

struct schema_ids {
    struct map locations; /* json_object * -> struct schema_location */
    struct map resources; /* uri -> struct schema_resource */
    struct map anchors;   /* uri#name -> json_object */
    struct schema_resource **list;
    size_t list_count, location_count;
    struct error *error;
};

/* A step of the way to a place in the schema, for errors. */
struct schema_way {
    const struct schema_way *up;
    const char *key; /* NULL: index */
    size_t index;
};

int schema_ids_find(struct schema_ids *ids, json_object *text, unsigned draft, struct error *error);
const struct schema_location *schema_ids_location(const struct schema_ids *ids,
                                                  const json_object *text);
/* What reference, in from's place, means. 0, or -1 and the error without its place. */
int schema_ids_resolve(struct schema_ids *ids, const struct schema_location *from,
                       const char *reference, json_object **ret_target, struct error *error);
void schema_ids_free(struct schema_ids *ids);

/* ---- schema_describe.c: texts of errors ---- */

/* Appends text, of at most limit bytes, with controls made visible and cut at a character. */
void schema_describe_text(struct buf *out, const char *text, size_t length, size_t limit);
/* "string "abc"", "number 5", "an array of 3" */
void schema_describe_value(struct buf *out, json_object *value);
/* "one of "a", "b", 3" is its second part */
void schema_describe_list(struct buf *out, json_object *list);
void schema_describe_types(struct buf *out, unsigned types);
/* One token of a JSON pointer, '~' and '/' escaped, after a '/' */
void schema_describe_token(struct buf *out, const char *token);
/* Leaves the last steps of the pointer that begins at start, if it is longer than limit: ".../b/c"
 */
void schema_describe_shorten(struct buf *out, size_t start, size_t limit);

/* ---- schema_equal.c: values ---- */

unsigned schema_value_types(const json_object *value); /* the bits of TYPE_* */
int schema_compare_numbers(const json_object *a, const json_object *b);
bool schema_multiple(json_object *value, json_object *divisor);
/* Each visited value costs one of *steps; false when they run out. */
bool schema_equal(json_object *a, json_object *b, size_t *steps);
uint64_t schema_hash(json_object *value, size_t *steps); /* the same for equal values */

/* ---- schema_check.c: the run of one check ---- */

/* A step of the way to a value. */
struct schema_place {
    const struct schema_place *up;
    const char *key; /* NULL: index */
    size_t index;
};

/* Which members or items of one value have been evaluated, for unevaluated*. */
struct schema_marks {
    unsigned char *seen;
    size_t count;
};

#define SCHEMA_SINK_SIZE 600 /* bytes after which no report begins */

struct schema_sink {
    struct buf text;
    size_t limit;  /* bytes */
    unsigned left; /* reports that still fit */
};

struct schema_run {
    size_t steps;
    unsigned depth;
    const char *stopped;      /* why the check can't be finished */
    struct schema_sink *sink; /* NULL: nobody reads the reports */
};

/* Spends steps; false if they have run out. */
bool schema_run_step(struct schema_run *run, size_t steps);
/* Is anybody interested in one more report? */
bool schema_run_reports(const struct schema_run *run);
/* Begins a report with the place; the caller adds to the buffer that it gets, schema_run_end ends
 * it; returns false. */
struct buf *schema_run_begin(struct schema_run *run, const struct schema_place *place);
bool schema_run_end(struct schema_run *run);
/* A whole report; "PLACE: expected WHAT, found VALUE". Returns false. */
bool schema_run_expected(struct schema_run *run, const struct schema_place *place,
                         json_object *value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Does text match? Counts the matcher's work; false as well when it was too much, then the run is
 * stopped. */
bool schema_run_match(struct schema_run *run, const struct schema_pattern *pattern,
                      const char *text, size_t length);
bool schema_run_node(struct schema_run *run, const struct schema_node *node, json_object *value,
                     const struct schema_place *place, struct schema_marks *marks);
/* The same without reports. */
bool schema_run_quietly(struct schema_run *run, const struct schema_node *node, json_object *value,
                        const struct schema_place *place, struct schema_marks *marks);

static inline void schema_mark(struct schema_marks *marks, size_t index)
{
    if (marks)
        marks->seen[index] = 1;
}

#endif
