/*
 * Makes the compiled form of a schema: a node for each subschema, a rule for each of its keywords,
 * with patterns, counts and references ready. It works off a list instead of calling itself, so
 * that a chain of references can't exhaust the stack. What a keyword's value must be stands in the
 * table of keywords.
 */
#include "agent/schema/schema_internal.h"
#include "base/mem.h"
#include "support/json.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

struct compiler {
    struct schema *schema;
    struct schema_ids ids;
    struct map nodes; /* json_object * -> node */
    unsigned patterns;
    struct error *error;
};

/* ---- errors ---- */

static void write_place(struct buf *out, const struct schema_node *node)
{
    if (!node->up)
        return;
    write_place(out, node->up);
    schema_describe_token(out, node->keyword);
    if (node->key)
        schema_describe_token(out, node->key);
    if (node->index >= 0)
        buf_printf(out, "/%ld", node->index);
}

/* "/properties/a/type: expected WANTED, found VALUE" */
static int refuse_value(struct compiler *c, const struct schema_node *node, const char *keyword,
                        json_object *value, const char *wanted)
{
    struct buf out = {0};
    write_place(&out, node);
    schema_describe_shorten(&out, 0, 300);
    schema_describe_token(&out, keyword);
    buf_printf(&out, ": expected %s, found ", wanted);
    schema_describe_value(&out, value);
    error_set(c->error, CHELA_E_ARGS, "%s", buf_text(&out));
    buf_free(&out);
    return -1;
}

/* Puts the place before an error that is there. */
static int prefix_place(struct compiler *c, const struct schema_node *node, const char *keyword)
{
    struct buf out = {0};
    write_place(&out, node);
    schema_describe_shorten(&out, 0, 300);
    schema_describe_token(&out, keyword);
    error_prefix(c->error, "%s", buf_text(&out));
    buf_free(&out);
    return -1;
}

static int refuse_text(struct compiler *c, const struct schema_node *node, const char *keyword,
                       uint32_t class, const char *what)
{
    error_set(c->error, class, "%s", what);
    return prefix_place(c, node, keyword);
}

/* ---- nodes ---- */

/* The node of a subschema, made and put on the list when it is met first. */
static struct schema_node *node_for(struct compiler *c, json_object *text,
                                    const struct schema_node *up, const char *keyword,
                                    const char *key, long index)
{
    uint64_t number = (uint64_t)(uintptr_t)text;
    struct schema_node *node = map_get_number(&c->nodes, number);
    if (node)
        return node;
    struct schema *schema = c->schema;
    node = xcalloc(1, sizeof *node);
    *node = (struct schema_node){
        .text = text, .up = up, .keyword = keyword, .key = key, .index = index};
    map_set_number(&c->nodes, number, node);
    if ((schema->node_count & (schema->node_count - 1)) == 0)
        schema->nodes =
            xrealloc(schema->nodes, (schema->node_count * 2 + 1) * sizeof *schema->nodes);
    schema->nodes[schema->node_count++] = node;
    return node;
}

static bool is_schema(const json_object *value)
{
    return json_object_is_type(value, json_type_object) ||
           json_object_is_type(value, json_type_boolean);
}

static bool is_names(const json_object *value)
{
    if (!json_object_is_type(value, json_type_array))
        return false;
    for (size_t i = 0; i < chela_json_length(value); i++)
        if (!chela_json_as_string(chela_json_at(value, i), NULL))
            return false;
    return true;
}

static struct schema_pattern *pattern_for(struct compiler *c, const struct schema_node *node,
                                          const char *keyword, const char *text, size_t length)
{
    if (++c->patterns > SCHEMA_MAX_PATTERNS) {
        refuse_text(c, node, keyword, CHELA_E_UNSUPPORTED, "too many patterns in one schema");
        return NULL;
    }
    struct schema_pattern *pattern = schema_pattern_compile(text, length, c->error);
    if (!pattern)
        prefix_place(c, node, keyword);
    return pattern;
}

/* ---- shapes ---- */

static int compile_list(struct compiler *c, const struct schema_node *node,
                        struct schema_rule *rule)
{
    const char *name = rule->keyword->name;
    size_t count = chela_json_length(rule->value);
    if (!json_object_is_type(rule->value, json_type_array) ||
        (count == 0 && rule->keyword->shape == SHAPE_SCHEMAS))
        return refuse_value(c, node, name, rule->value, "a list of schemas");
    rule->entries = xcalloc(count + 1, sizeof *rule->entries);
    rule->entry_count = count;
    for (size_t i = 0; i < count; i++) {
        json_object *text = chela_json_at(rule->value, i);
        rule->entries[i].node = node_for(c, text, node, name, NULL, (long)i);
    }
    return 0;
}

static int compile_members(struct compiler *c, const struct schema_node *node,
                           struct schema_rule *rule)
{
    enum schema_shape shape = rule->keyword->shape;
    const char *name = rule->keyword->name;
    if (!json_object_is_type(rule->value, json_type_object))
        return refuse_value(c, node, name, rule->value, "an object");
    rule->entries = xcalloc(chela_json_length(rule->value) + 1, sizeof *rule->entries);
    json_object_object_foreach(rule->value, key, member)
    {
        struct schema_entry *entry = &rule->entries[rule->entry_count++];
        entry->key = key;
        bool names = shape == SHAPE_NAME_LISTS ||
                     (shape == SHAPE_DEPENDENCIES && json_object_is_type(member, json_type_array));
        if (names && !is_names(member))
            return refuse_value(c, node, name, member, "lists of names");
        if (names)
            entry->names = member;
        else
            entry->node = node_for(c, member, node, name, key, -1);
        if (shape == SHAPE_PATTERNS &&
            !(entry->pattern = pattern_for(c, node, name, key, strlen(key))))
            return -1;
        map_set(&rule->index, key, entry);
    }
    return 0;
}

static int compile_types(struct compiler *c, const struct schema_node *node,
                         struct schema_rule *rule)
{
    static const struct {
        const char *name;
        unsigned bits;
    } types[] = {{"null", TYPE_NULL},       {"boolean", TYPE_BOOLEAN},
                 {"integer", TYPE_INTEGER}, {"number", TYPE_NUMBER | TYPE_INTEGER},
                 {"string", TYPE_STRING},   {"array", TYPE_ARRAY},
                 {"object", TYPE_OBJECT}};
    bool list = json_object_is_type(rule->value, json_type_array);
    size_t count = list ? chela_json_length(rule->value) : 1;
    for (size_t i = 0; i < count; i++) {
        const char *name =
            chela_json_as_string(list ? chela_json_at(rule->value, i) : rule->value, NULL);
        unsigned bits = 0;
        for (size_t t = 0; name && t < ARRAY_LENGTH(types); t++)
            if (strcmp(types[t].name, name) == 0)
                bits = types[t].bits;
        if (bits == 0)
            return refuse_value(c, node, rule->keyword->name,
                                list ? chela_json_at(rule->value, i) : rule->value,
                                "the name of a JSON type or a list of them");
        rule->types |= bits;
    }
    if (count == 0)
        return refuse_value(c, node, rule->keyword->name, rule->value, "at least one type");
    return 0;
}

static int compile_count(struct compiler *c, const struct schema_node *node,
                         struct schema_rule *rule)
{
    if (!(schema_value_types(rule->value) & TYPE_INTEGER) ||
        chela_json_double_or(rule->value, -1) < 0)
        return refuse_value(c, node, rule->keyword->name, rule->value, "a whole number, 0 or more");
    rule->count = chela_json_int_or(rule->value, INT64_MAX); /* beyond it no value comes */
    return 0;
}

static int compile_reference(struct compiler *c, const struct schema_node *node,
                             struct schema_rule *rule)
{
    const char *name = rule->keyword->name, *text = chela_json_as_string(rule->value, NULL);
    const struct schema_location *from = schema_ids_location(&c->ids, node->text);
    json_object *target;
    if (!text)
        return refuse_value(c, node, name, rule->value, "a reference");
    if (schema_ids_resolve(&c->ids, from, text, &target, c->error) < 0)
        return prefix_place(c, node, name);
    rule->node = node_for(c, target, node, name, NULL, -1);
    return 0;
}

static int compile_simple(struct compiler *c, const struct schema_node *node,
                          struct schema_rule *rule)
{
    const char *name = rule->keyword->name;
    unsigned types = schema_value_types(rule->value);
    size_t length;
    const char *text = chela_json_as_string(rule->value, &length);
    switch (rule->keyword->shape) {
    case SHAPE_NAMES:
        return is_names(rule->value) ? 0
                                     : refuse_value(c, node, name, rule->value, "a list of names");
    case SHAPE_LIST:
        return types == TYPE_ARRAY ? 0 : refuse_value(c, node, name, rule->value, "a list");
    case SHAPE_NUMBER:
        return types & TYPE_NUMBER ? 0 : refuse_value(c, node, name, rule->value, "a number");
    case SHAPE_DIVISOR:
        return chela_json_double_or(rule->value, 0) > 0
                   ? 0
                   : refuse_value(c, node, name, rule->value, "a number above 0");
    case SHAPE_BOOL:
        return types == TYPE_BOOLEAN ? 0
                                     : refuse_value(c, node, name, rule->value, "true or false");
    case SHAPE_PATTERN:
        if (!text)
            return refuse_value(c, node, name, rule->value, "a pattern");
        rule->pattern = pattern_for(c, node, name, text, length);
        return rule->pattern ? 0 : -1;
    case SHAPE_REFUSED:
        return refuse_text(c, node, name, CHELA_E_UNSUPPORTED, "this keyword isn't supported");
    default: return 0;
    }
}

static int compile_rule(struct compiler *c, const struct schema_node *node,
                        struct schema_rule *rule)
{
    const char *name = rule->keyword->name;
    bool list = json_object_is_type(rule->value, json_type_array);
    switch (rule->keyword->shape) {
    case SHAPE_ITEMS:
        if (list && rule->drafts == DRAFT_2020)
            return refuse_value(c, node, name, rule->value, "a schema (lists are \"prefixItems\")");
        if (list)
            return compile_list(c, node, rule);
        /* fall through */
    case SHAPE_SCHEMA:
        if (!is_schema(rule->value))
            return refuse_value(c, node, name, rule->value, "a schema");
        rule->node = node_for(c, rule->value, node, name, NULL, -1);
        return 0;
    case SHAPE_SCHEMAS: return compile_list(c, node, rule);
    case SHAPE_MEMBERS:
    case SHAPE_PATTERNS:
    case SHAPE_DEPENDENCIES:
    case SHAPE_NAME_LISTS: return compile_members(c, node, rule);
    case SHAPE_TYPES: return compile_types(c, node, rule);
    case SHAPE_COUNT: return compile_count(c, node, rule);
    case SHAPE_REFERENCE: return compile_reference(c, node, rule);
    default: return compile_simple(c, node, rule);
    }
}

/* ---- one node ---- */

static const struct schema_rule *rule_named(const struct schema_node *node, const char *name)
{
    for (size_t i = 0; name && i < node->rule_count; i++)
        if (strcmp(node->rules[i].keyword->name, name) == 0)
            return &node->rules[i];
    return NULL;
}

static int compile_node(struct compiler *c, struct schema_node *node)
{
    if (json_object_is_type(node->text, json_type_boolean)) {
        node->never = !json_object_get_boolean(node->text);
        return 0;
    }
    unsigned draft = schema_ids_location(&c->ids, node->text)->draft;
    bool alone = draft == DRAFT_7 && chela_json_has(node->text, "$ref");
    size_t count = 0;
    for (const struct schema_keyword *k = schema_keywords; k->name; k++)
        count += chela_json_has(node->text, k->name);
    node->rules = xcalloc(count + 1, sizeof *node->rules);
    for (const struct schema_keyword *k = schema_keywords; k->name; k++) {
        if (!(k->drafts & draft) || !chela_json_has(node->text, k->name) ||
            (alone && k->shape != SHAPE_REFERENCE))
            continue;
        struct schema_rule *rule = &node->rules[node->rule_count++];
        rule->keyword = k;
        rule->value = chela_json_get(node->text, k->name);
        rule->drafts = draft;
        if (compile_rule(c, node, rule) < 0)
            return -1;
        node->tracks |= strncmp(k->name, "unevaluated", 11) == 0;
    }
    for (size_t i = 0; i < node->rule_count; i++)
        for (size_t w = 0; w < 2; w++)
            node->rules[i].with[w] = rule_named(node, node->rules[i].keyword->with[w]);
    return 0;
}

/* ---- the whole ---- */

static int compile_all(struct compiler *c)
{
    /* the list grows while it is worked off */
    for (size_t i = 0; i < c->schema->node_count; i++) {
        if (c->schema->node_count > 2 * SCHEMA_MAX_NODES)
            return error_set(c->error, CHELA_E_UNSUPPORTED, "too many schemas in one document");
        if (compile_node(c, c->schema->nodes[i]) < 0)
            return -1;
    }
    return 0;
}

struct schema *schema_compile_as(json_object *text, enum schema_dialect dialect,
                                 struct error *error)
{
    static const unsigned drafts[] = {DRAFT_ANY, DRAFT_7, DRAFT_2019, DRAFT_2020};
    struct error unread;
    struct compiler c = {.error = error ? error : &unread};
    struct schema *schema = xcalloc(1, sizeof *schema);
    c.schema = schema;
    schema->text = json_object_get(text);
    int result = -1;
    if (schema_ids_find(&c.ids, text, drafts[dialect], c.error) < 0)
        goto out;
    schema->root = node_for(&c, text, NULL, NULL, NULL, -1);
    if (!c.ids.list_count) /* a boolean: nothing was entered */
        result = compile_node(&c, schema->root);
    else
        result = compile_all(&c);
out:
    schema_ids_free(&c.ids);
    map_free(&c.nodes, NULL);
    if (result < 0) {
        schema_free(schema);
        return NULL;
    }
    return schema;
}

struct schema *schema_compile(json_object *text, struct error *error)
{
    return schema_compile_as(text, SCHEMA_ANY, error);
}

void schema_free(struct schema *schema)
{
    if (!schema)
        return;
    for (size_t i = 0; i < schema->node_count; i++) {
        struct schema_node *node = schema->nodes[i];
        for (size_t r = 0; r < node->rule_count; r++) {
            struct schema_rule *rule = &node->rules[r];
            for (size_t e = 0; e < rule->entry_count; e++)
                schema_pattern_free(rule->entries[e].pattern);
            free(rule->entries);
            map_free(&rule->index, NULL);
            schema_pattern_free(rule->pattern);
        }
        free(node->rules);
        free(node);
    }
    free(schema->nodes);
    json_object_put(schema->text);
    free(schema);
}
