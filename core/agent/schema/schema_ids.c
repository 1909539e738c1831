/*
 * Walks a schema's text before it is compiled: which dialect and base URI holds where, what $id and
 * $anchor name, and what a $ref means. It refuses what is nested too deeply or isn't a schema; it
 * knows keywords by the table only.
 */
#include "agent/schema/schema_internal.h"
#include "agent/schema/schema_uri.h"
#include "base/mem.h"
#include "support/json.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static uint64_t number_of(const json_object *value)
{
    return (uint64_t)(uintptr_t)value;
}

static void write_way(struct buf *out, const struct schema_way *way)
{
    if (!way)
        return;
    write_way(out, way->up);
    if (way->key)
        schema_describe_token(out, way->key);
    else
        buf_printf(out, "/%zu", way->index);
}

static int refuse(struct schema_ids *ids, const struct schema_way *way, uint32_t class,
                  const char *what)
{
    struct buf out = {0};
    write_way(&out, way);
    schema_describe_shorten(&out, 0, 300);
    error_set(ids->error, class, "%s: %s", out.n > 0 ? buf_text(&out) : "the schema's root", what);
    buf_free(&out);
    return -1;
}

/* ---- dialects ---- */

/* The bit of a "$schema"; 0 if it is unknown. */
static unsigned dialect(const char *uri)
{
    static const struct {
        const char *name;
        unsigned draft;
    } known[] = {
        {"json-schema.org/draft/2020-12/schema", DRAFT_2020},
        {"json-schema.org/draft/2019-09/schema", DRAFT_2019},
        {"json-schema.org/draft-07/schema", DRAFT_7},
        {"json-schema.org/draft-06/schema", DRAFT_7},
    };
    uri += strncmp(uri, "https://", 8) == 0 ? 8 : strncmp(uri, "http://", 7) == 0 ? 7 : 0;
    size_t length = strlen(uri);
    length -= length > 0 && uri[length - 1] == '#';
    for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
        if (strlen(known[i].name) == length && memcmp(uri, known[i].name, length) == 0)
            return known[i].draft;
    return 0;
}

/* ---- names ---- */

static struct schema_resource *add_resource(struct schema_ids *ids, char *uri, json_object *text)
{
    struct schema_resource *resource = xcalloc(1, sizeof *resource);
    resource->uri = uri;
    resource->text = text;
    ids->list = xrealloc(ids->list, (ids->list_count + 1) * sizeof(struct schema_resource *));
    ids->list[ids->list_count++] = resource;
    return resource;
}

static int add_anchor(struct schema_ids *ids, const struct schema_resource *resource,
                      const char *name, json_object *text, const struct schema_way *way)
{
    char *key = xprintf("%s#%s", resource->uri, name);
    void *before = map_set(&ids->anchors, key, text);
    free(key);
    if (before && before != text)
        return refuse(ids, way, CHELA_E_ARGS, "two anchors of this name");
    return 0;
}

/* Follows "$id" and "$schema" of one schema object. */
static int enter_id(struct schema_ids *ids, json_object *text, struct schema_location *here,
                    const struct schema_way *way)
{
    const char *id = chela_json_string(text, "$id", NULL);
    bool root = ids->list_count == 0;
    bool covered = here->draft == DRAFT_7 && chela_json_has(text, "$ref") && !root;
    if (chela_json_has(text, "$id") && (!id || strlen(id) > SCHEMA_MAX_URI))
        return refuse(ids, way, CHELA_E_ARGS, "\"$id\" must be a short string");
    const char *schema = chela_json_string(text, "$schema", NULL);
    if (schema && (root || id)) {
        here->draft = dialect(schema);
        if (here->draft == 0)
            return refuse(ids, way, CHELA_E_UNSUPPORTED, "this \"$schema\" isn't known here");
    }
    if (covered)
        id = NULL;
    bool plain_name = id && id[0] == '#' && id[1] != '\0';
    if (plain_name && here->draft != DRAFT_7 && here->draft != DRAFT_ANY)
        return refuse(ids, way, CHELA_E_ARGS, "\"$id\" must have no fragment");
    if (root || (id && !plain_name)) {
        char *uri =
            schema_uri_resolve(root ? "" : here->resource->uri, id && !plain_name ? id : "");
        here->resource = add_resource(ids, uri, text);
        void *before = map_set(&ids->resources, uri, here->resource);
        if (before)
            return refuse(ids, way, CHELA_E_ARGS, "two schemas with this \"$id\"");
    }
    return plain_name ? add_anchor(ids, here->resource, id + 1, text, way) : 0;
}

static int enter(struct schema_ids *ids, json_object *text, struct schema_location *here,
                 const struct schema_way *way)
{
    if (enter_id(ids, text, here, way) < 0)
        return -1;
    const char *anchor = chela_json_string(text, "$anchor", NULL);
    const char *dynamic = chela_json_string(text, "$dynamicAnchor", NULL);
    if (here->draft != DRAFT_7 && anchor && add_anchor(ids, here->resource, anchor, text, way) < 0)
        return -1;
    if (here->draft != DRAFT_7 && dynamic &&
        add_anchor(ids, here->resource, dynamic, text, way) < 0)
        return -1;
    struct schema_location *location = xmalloc(sizeof *location);
    *location = *here;
    free(map_set_number(&ids->locations, number_of(text), location));
    return 0;
}

/* ---- the walk ---- */

static int walk(struct schema_ids *ids, json_object *text, struct schema_location here,
                const struct schema_way *way, unsigned nesting);

static int walk_value(struct schema_ids *ids, enum schema_shape shape, json_object *value,
                      struct schema_location here, const struct schema_way *way, unsigned nesting)
{
    bool list = json_object_is_type(value, json_type_array);
    bool members = shape == SHAPE_MEMBERS || shape == SHAPE_PATTERNS || shape == SHAPE_DEPENDENCIES;
    if (shape == SHAPE_SCHEMA || (shape == SHAPE_ITEMS && !list))
        return walk(ids, value, here, way, nesting + 1);
    if (shape == SHAPE_SCHEMAS || shape == SHAPE_ITEMS) {
        for (size_t i = 0; i < chela_json_length(value) && list; i++) {
            struct schema_way step = {way, NULL, i};
            if (walk(ids, chela_json_at(value, i), here, &step, nesting + 1) < 0)
                return -1;
        }
    } else if (members && json_object_is_type(value, json_type_object)) {
        json_object_object_foreach(value, key, member)
        {
            struct schema_way step = {way, key, 0};
            if (shape == SHAPE_DEPENDENCIES && json_object_is_type(member, json_type_array))
                continue;
            if (walk(ids, member, here, &step, nesting + 1) < 0)
                return -1;
        }
    }
    return 0;
}

static int walk(struct schema_ids *ids, json_object *text, struct schema_location here,
                const struct schema_way *way, unsigned nesting)
{
    if (json_object_is_type(text, json_type_boolean))
        return 0;
    if (!json_object_is_type(text, json_type_object))
        return refuse(ids, way, CHELA_E_ARGS, "a schema must be an object or a boolean");
    if (nesting > SCHEMA_MAX_NESTING)
        return refuse(ids, way, CHELA_E_UNSUPPORTED, "nested too deeply");
    if (++ids->location_count > SCHEMA_MAX_NODES)
        return refuse(ids, way, CHELA_E_UNSUPPORTED, "too many schemas in one document");
    if (enter(ids, text, &here, way) < 0)
        return -1;
    for (const struct schema_keyword *keyword = schema_keywords; keyword->name; keyword++) {
        struct schema_way step = {way, keyword->name, 0};
        if (!(keyword->drafts & here.draft) || !chela_json_has(text, keyword->name))
            continue;
        if (walk_value(ids, keyword->shape, chela_json_get(text, keyword->name), here, &step,
                       nesting) < 0)
            return -1;
    }
    return 0;
}

int schema_ids_find(struct schema_ids *ids, json_object *text, unsigned draft, struct error *error)
{
    struct schema_location here = {NULL, draft};
    ids->error = error;
    return walk(ids, text, here, NULL, 0);
}

const struct schema_location *schema_ids_location(const struct schema_ids *ids,
                                                  const json_object *text)
{
    return map_get_number(&ids->locations, number_of(text));
}

/* ---- references ---- */

/* Follows a JSON pointer; the location changes where it crosses a schema with a name of its own. */
static json_object *follow(const struct schema_ids *ids, json_object *text, char *pointer,
                           struct schema_location *here)
{
    while (text && *pointer) {
        char *token = ++pointer;
        pointer += strcspn(pointer, "/");
        bool last = *pointer == '\0';
        *pointer = '\0';
        struct buf one = {0};
        buf_printf(&one, "/%s", token);
        text = chela_json_path(text, buf_text(&one));
        buf_free(&one);
        if (!last)
            *pointer = '/';
        const struct schema_location *known = text ? schema_ids_location(ids, text) : NULL;
        if (known)
            *here = *known;
    }
    return text;
}

/* "refers to "REFERENCE", WHY" */
static int refuse_reference(struct error *error, uint32_t class, const char *reference,
                            const char *why)
{
    struct buf out = {0};
    buf_puts(&out, "refers to \"");
    schema_describe_text(&out, reference, strlen(reference), 200);
    error_set(error, class, "%s\", %s", buf_text(&out), why);
    buf_free(&out);
    return -1;
}

int schema_ids_resolve(struct schema_ids *ids, const struct schema_location *from,
                       const char *reference, json_object **ret_target, struct error *error)
{
    if (strlen(reference) > SCHEMA_MAX_URI)
        return error_set(error, CHELA_E_UNSUPPORTED, "a reference of more than %u bytes",
                         SCHEMA_MAX_URI);
    int result = 0;
    char *uri = schema_uri_resolve(from->resource->uri, reference);
    char *fragment = schema_uri_fragment(reference);
    struct schema_resource *resource = map_get(&ids->resources, uri);
    json_object *target = NULL;
    if (!resource) {
        result = refuse_reference(error, CHELA_E_UNSUPPORTED, reference,
                                  "which is not in this document (references to others aren't "
                                  "followed)");
    } else if (fragment && fragment[0] == '/') {
        struct schema_location here = {resource, from->draft};
        const struct schema_location *known = schema_ids_location(ids, resource->text);
        if (known)
            here = *known;
        target = follow(ids, resource->text, fragment, &here);
        bool fresh =
            json_object_is_type(target, json_type_object) && !schema_ids_location(ids, target);
        if (fresh) { /* under a keyword that isn't one of ours */
            struct schema_way step = {NULL, "$ref", 0};
            ids->error = error;
            result = walk(ids, target, here, &step, 0);
        }
    } else if (fragment && fragment[0] != '\0') {
        char *key = xprintf("%s#%s", uri, fragment);
        target = map_get(&ids->anchors, key);
        free(key);
    } else if (fragment) {
        target = resource->text;
    }
    if (result == 0 && !json_object_is_type(target, json_type_object) &&
        !json_object_is_type(target, json_type_boolean))
        result = refuse_reference(error, CHELA_E_ARGS, reference, "where no schema is");
    free(uri);
    free(fragment);
    *ret_target = target;
    return result;
}

void schema_ids_free(struct schema_ids *ids)
{
    map_free(&ids->locations, free);
    map_free(&ids->resources, NULL);
    map_free(&ids->anchors, NULL);
    for (size_t i = 0; i < ids->list_count; i++) {
        free(ids->list[i]->uri);
        free(ids->list[i]);
    }
    free(ids->list);
}
