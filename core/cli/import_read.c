/* Import: see import.h. Reads JSON5 with $include (a file or a list of them, inside of the folder,
 * ten levels); later files win, what stands beside the include wins over all. */
#include <errno.h>
#include <json-c/linkhash.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/import.h"
#include "cli/json5.h"
#include "support/json.h"

enum { LEVELS = 10, LARGEST = 16 << 20 };

/* `from` over `to`, objects member by member. */
static void merge(json_object *to, json_object *from)
{
    json_object_object_foreach(from, name, value)
    {
        json_object *there = chela_json_object(to, name);
        if (there && json_object_is_type(value, json_type_object))
            merge(there, value);
        else
            json_object_object_add(to, name, json_object_get(value));
    }
}

static int read_level(const char *root, const char *path, unsigned level, json_object **ret,
                      struct error *e);

static int include(const char *root, const char *file, const char *name, unsigned level,
                   json_object *into, struct error *e)
{
    char real[PATH_MAX];
    CLEANUP(freep) char *folder = xmemdup(file, (size_t)(strrchr(file, '/') - file));
    CLEANUP(freep) char *path = *name == '/' ? xstrdup(name) : xprintf("%s/%s", folder, name);
    json_object *o = NULL;
    size_t n = strlen(root);
    if (!realpath(path, real))
        return error_set(e, CHELA_E_NOT_FOUND, "%s includes %s: %s", file, name, strerror(errno));
    if (strncmp(real, root, n) != 0 || real[n] != '/')
        return error_set(e, CHELA_E_DENIED, "%s includes %s, which is outside of %s", file, name,
                         root);
    if (read_level(root, real, level + 1, &o, e) < 0)
        return -1;
    merge(into, o);
    json_object_put(o);
    return 0;
}

/* Puts what is included in place of the word, at any depth. */
static int resolve(const char *root, const char *file, unsigned level, json_object **value,
                   struct error *e)
{
    if (json_object_is_type(*value, json_type_array)) {
        for (size_t i = 0; i < chela_json_length(*value); i++) {
            json_object *item = json_object_get(chela_json_at(*value, i));
            int bad = resolve(root, file, level, &item, e);
            json_object_array_put_idx(*value, i, item);
            if (bad)
                return -1;
        }
        return 0;
    }
    if (!json_object_is_type(*value, json_type_object))
        return 0;
    json_object *fresh = chela_json_new_object(), *names = chela_json_get(*value, "$include");
    int bad = 0;
    const char *one = chela_json_as_string(names, NULL);
    if (one)
        bad = include(root, file, one, level, fresh, e);
    for (size_t i = 0; !one && !bad && i < chela_json_length(names); i++) {
        const char *name = chela_json_as_string(chela_json_at(names, i), NULL);
        bad = include(root, file, name ? name : "", level, fresh, e);
    }
    json_object *own = chela_json_new_object();
    json_object_object_foreach(*value, key, member)
    {
        if (bad || strcmp(key, "$include") == 0)
            continue;
        json_object *copy = json_object_get(member);
        bad = resolve(root, file, level, &copy, e);
        json_object_object_add(own, key, copy);
    }
    merge(fresh, own);
    json_object_put(own);
    json_object_put(*value);
    *value = fresh;
    return bad ? -1 : 0;
}

static int read_level(const char *root, const char *path, unsigned level, json_object **ret,
                      struct error *e)
{
    struct buf text = {0}, json = {0};
    struct chela_json_error why;
    json_object *o = NULL;
    int bad = 0;
    if (level > LEVELS)
        bad = error_set(e, CHELA_E_ARGS, "%s: includes go more than %d levels deep", path, LEVELS);
    else if (file_read(path, LARGEST, &text, e) < 0)
        bad = -1;
    else if (json5_to_json(text.p ? text.p : "", text.n, &json, e) < 0)
        bad = error_prefix(e, "%s", path);
    else if (chela_json_parse(json.p ? json.p : "", json.n, NULL, &o, &why) < 0)
        bad = error_set(e, CHELA_E_ARGS, "%s: %s", path, why.text);
    else if (!json_object_is_type(o, json_type_object))
        bad = error_set(e, CHELA_E_ARGS, "%s: is no object", path);
    else
        bad = resolve(root, path, level, &o, e);
    if (bad)
        json_object_put(o);
    else
        *ret = o;
    buf_free(&text);
    buf_free(&json);
    return bad;
}

int import_read(const char *folder, json_object **ret, struct error *e)
{
    char root[PATH_MAX];
    if (!realpath(folder, root))
        return error_set(e, CHELA_E_NOT_FOUND, "%s: %s", folder, strerror(errno));
    CLEANUP(freep) char *path = xprintf("%s/openclaw.json", root);
    return read_level(root, path, 0, ret, e);
}
