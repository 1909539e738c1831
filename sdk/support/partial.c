/*
 * Arguments in pieces (see partial.h). Called by provider plugins. The paths are the service's and
 * bounded here.
 *
 * Format: https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling
 */
#include "support/partial.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/json.h"

enum { STEPS_MOST = 32, INDEX_MOST = 4096, KEY_SIZE = 256 };

struct step {
    bool is_index;
    size_t index;
    char key[KEY_SIZE];
};

/* One step of a path; the rest of it, or NULL if it is none. */
static const char *read_step(const char *path, struct step *s)
{
    *s = (struct step){0};
    if (*path == '.') {
        size_t n = strcspn(++path, ".[");
        if (n == 0 || n >= KEY_SIZE)
            return NULL;
        memcpy(s->key, path, n);
        return path + n;
    }
    if (*path != '[')
        return NULL;
    if (path[1] == '\'' || path[1] == '"') {
        const char end[] = {path[1], ']', '\0'}, *stop = strstr(path + 2, end);
        if (!stop || (size_t)(stop - path - 2) >= KEY_SIZE)
            return NULL;
        memcpy(s->key, path + 2, (size_t)(stop - path - 2));
        return stop + 2;
    }
    char *stop;
    unsigned long index = strtoul(path + 1, &stop, 10);
    s->is_index = true;
    s->index = index;
    return *stop == ']' && stop > path + 1 && index < INDEX_MOST ? stop + 1 : NULL;
}

static json_object *child_of(json_object *parent, const struct step *s)
{
    return s->is_index ? chela_json_at(parent, s->index) : chela_json_get(parent, s->key);
}

/* Takes over the child; false: the parent has no such place. */
static bool put_child(json_object *parent, const struct step *s, json_object *child)
{
    if (!s->is_index && json_object_is_type(parent, json_type_object)) {
        chela_json_put(parent, s->key, child);
    } else if (s->is_index && json_object_is_type(parent, json_type_array)) {
        json_object_array_put_idx(parent, s->index, child);
    } else {
        json_object_put(child);
        return false;
    }
    return true;
}

/* The value that a piece brings, put together with the text that was there. */
static json_object *value_of(json_object *piece, json_object *before)
{
    size_t n, m = 0;
    const char *text = chela_json_string(piece, "stringValue", &n);
    if (text) {
        const char *old = chela_json_as_string(before, &m);
        char *both = malloc(m + n + 1);
        if (!both)
            abort();
        if (old && m)
            memcpy(both, old, m);
        memcpy(both + m, text, n);
        json_object *value = json_object_new_string_len(both, (int)(m + n));
        free(both);
        return value;
    }
    if (chela_json_has(piece, "numberValue"))
        return json_object_get(chela_json_get(piece, "numberValue"));
    if (chela_json_has(piece, "boolValue"))
        return json_object_get(chela_json_get(piece, "boolValue"));
    return NULL;
}

void chela_partial_put(json_object *arguments, json_object *piece)
{
    const char *path = chela_json_string(piece, "jsonPath", NULL);
    struct step step, next;
    json_object *at = arguments;
    if (!path || *path++ != '$' || !(path = read_step(path, &step)))
        return;
    for (unsigned i = 0; i < STEPS_MOST && *path; i++) {
        if (!(path = read_step(path, &next)))
            return;
        json_object *child = child_of(at, &step);
        if (!child) {
            child = next.is_index ? chela_json_new_array() : chela_json_new_object();
            if (!put_child(at, &step, child))
                return;
        }
        at = child;
        step = next;
    }
    if (!*path)
        put_child(at, &step, value_of(piece, child_of(at, &step)));
}
