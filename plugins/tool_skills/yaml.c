/*
 * YAML to JSON by libyaml, for the frontmatter of skills. Scalars without quotes become booleans
 * and numbers where they look so; everything else is a string. An alias is expanded, so the number
 * of nodes is bounded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "skill.h"

enum { NODES_MOST = 2000, DEPTH_MOST = 16 };

static json_object *convert(yaml_document_t *d, yaml_node_t *n, unsigned depth, unsigned *left);

static json_object *scalar(const yaml_node_t *n)
{
    const char *text = (const char *)n->data.scalar.value;
    size_t length = n->data.scalar.length;
    json_object *value = NULL;
    if (n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return chela_json_new_string(text, length);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0 ||
        (length && strspn(text, "-0123456789.") == length)) {
        if (chela_json_parse(text, length, NULL, &value, NULL) == 0)
            return value;
    }
    if (!length || strcmp(text, "null") == 0 || strcmp(text, "~") == 0)
        return NULL;
    return chela_json_new_string(text, length);
}

static json_object *mapping(yaml_document_t *d, yaml_node_t *n, unsigned depth, unsigned *left)
{
    json_object *o = chela_json_new_object();
    for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
        yaml_node_t *key = yaml_document_get_node(d, p->key),
                    *value = yaml_document_get_node(d, p->value);
        if (key && key->type == YAML_SCALAR_NODE)
            chela_json_put(o, (const char *)key->data.scalar.value,
                           convert(d, value, depth + 1, left));
    }
    return o;
}

static json_object *convert(yaml_document_t *d, yaml_node_t *n, unsigned depth, unsigned *left)
{
    if (!n || depth > DEPTH_MOST || !*left)
        return NULL;
    --*left;
    if (n->type == YAML_SCALAR_NODE)
        return scalar(n);
    if (n->type == YAML_MAPPING_NODE)
        return mapping(d, n, depth, left);
    json_object *list = chela_json_new_array();
    for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top; i++)
        chela_json_push(list, convert(d, yaml_document_get_node(d, *i), depth + 1, left));
    return list;
}

json_object *yaml_read(const char *text, size_t n, char **ret_error)
{
    yaml_parser_t parser;
    yaml_document_t document;
    json_object *o = NULL;
    if (!yaml_parser_initialize(&parser))
        abort();
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    if (!yaml_parser_load(&parser, &document)) {
        if (asprintf(ret_error, "line %zu: %s", parser.problem_mark.line + 1,
                     parser.problem ? parser.problem : "no YAML") < 0)
            abort();
    } else {
        unsigned left = NODES_MOST;
        o = convert(&document, yaml_document_get_root_node(&document), 0, &left);
        yaml_document_delete(&document);
        if (!json_object_is_type(o, json_type_object)) {
            json_object_put(o);
            o = NULL;
            *ret_error = strdup("it is no mapping of names to values");
        }
    }
    yaml_parser_delete(&parser);
    return o;
}
