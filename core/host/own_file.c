/*
 * See own_file.h. Called by the gateway's config methods, which reload afterwards and take the
 * change back when the whole configuration doesn't fit any more.
 */
#include "host/own_file.h"

#include <json-c/json_object.h>
#include <json-c/linkhash.h>
#include <libconfig.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "support/json.h"

enum { LARGEST = 1 << 20, DEEPEST = 16 };

static const char heading[] =
    "# Written by the gateway (config.patch, the page's settings). Changes "
    "by hand are kept, comments are not.\n";

/* The file's bytes; an empty buffer if it isn't there. */
static int read_all(const char *path, struct buf *out, struct error *e)
{
    struct error why = {0};
    if (file_read(path, LARGEST, out, &why) == 0 || why.class == CHELA_E_NOT_FOUND)
        return 0;
    return error_set(e, why.class, "%s", why.text);
}

void own_file_hash(const char *path, char *out)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    struct buf text = {0};
    read_all(path, &text, NULL);
    SHA256((const unsigned char *)buf_text(&text), text.n, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
    buf_free(&text);
}

/* ---- the patch ---- */

static int put_scalar(config_setting_t *at, json_object *value, const char *name, struct error *e)
{
    switch (json_object_get_type(value)) {
    case json_type_boolean: config_setting_set_bool(at, json_object_get_boolean(value)); break;
    case json_type_int: config_setting_set_int64(at, json_object_get_int64(value)); break;
    case json_type_double: config_setting_set_float(at, json_object_get_double(value)); break;
    default: {
        const char *text = chela_json_as_string(value, NULL);
        if (!text)
            return error_set(e, CHELA_E_ARGS, "%s: a text with a NUL can't be written", name);
        if (strcmp(text, "***") == 0 || strstr(text, "__OPENCLAW_REDACTED__"))
            return error_set(e, CHELA_E_ARGS,
                             "%s: this stands for a secret that was not shown, and is no value",
                             name);
        config_setting_set_string(at, text);
    }
    }
    return 0;
}

static int scalar_type(json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_boolean: return CONFIG_TYPE_BOOL;
    case json_type_int: return CONFIG_TYPE_INT64;
    case json_type_double: return CONFIG_TYPE_FLOAT;
    case json_type_string: return CONFIG_TYPE_STRING;
    default: return CONFIG_TYPE_NONE;
    }
}

static int put_list(config_setting_t *list, json_object *value, const char *name, struct error *e)
{
    for (size_t i = 0; i < chela_json_length(value); i++) {
        json_object *element = chela_json_at(value, i);
        int type = scalar_type(element);
        if (type == CONFIG_TYPE_NONE)
            return error_set(e, CHELA_E_ARGS, "%s: only lists of plain values can be written",
                             name);
        config_setting_t *at = config_setting_add(list, NULL, type);
        if (!at || put_scalar(at, element, name, e) < 0)
            return at ? -1 : error_set(e, CHELA_E_ARGS, "%s: the list mixes types", name);
    }
    return 0;
}

static int merge(config_setting_t *group, json_object *patch, unsigned depth, struct error *e);

static int put(config_setting_t *group, const char *name, json_object *value, unsigned depth,
               struct error *e)
{
    config_setting_t *at = config_setting_get_member(group, name);
    bool is_group = json_object_is_type(value, json_type_object);
    bool is_list = json_object_is_type(value, json_type_array);
    if (is_group && at && config_setting_is_group(at))
        return merge(at, value, depth + 1, e);
    if (at)
        config_setting_remove(group, name);
    if (!value)
        return 0;
    at = config_setting_add(group, name,
                            is_group  ? CONFIG_TYPE_GROUP
                            : is_list ? CONFIG_TYPE_ARRAY
                                      : scalar_type(value));
    if (!at)
        return error_set(e, CHELA_E_ARGS, "\"%.100s\" is no name of an option", name);
    return is_group  ? merge(at, value, depth + 1, e)
           : is_list ? put_list(at, value, name, e)
                     : put_scalar(at, value, name, e);
}

static int merge(config_setting_t *group, json_object *patch, unsigned depth, struct error *e)
{
    if (depth > DEEPEST)
        return error_set(e, CHELA_E_ARGS, "the patch is too deep");
    json_object_object_foreach(patch, name, value)
    {
        if (put(group, name, value, depth, e) < 0)
            return -1;
    }
    return 0;
}

int own_file_merge(const char *path, json_object *patch, struct buf *out, struct error *e)
{
    config_t config;
    struct buf text = {0};
    char *made = NULL;
    size_t n = 0;
    int result = -1;
    config_init(&config);
    if (read_all(path, &text, e) < 0)
        goto out;
    if (config_read_string(&config, buf_text(&text)) != CONFIG_TRUE) {
        error_set(e, CHELA_E_CONFLICT, "%s:%d: %s", path, config_error_line(&config),
                  config_error_text(&config));
        goto out;
    }
    if (merge(config_root_setting(&config), patch, 0, e) < 0)
        goto out;
    FILE *f = open_memstream(&made, &n);
    if (!f) {
        error_set(e, CHELA_E_OTHER, "no memory");
        goto out;
    }
    config_write(&config, f);
    fclose(f);
    buf_puts(out, heading);
    buf_add(out, made, n);
    result = 0;
out:
    free(made);
    buf_free(&text);
    config_destroy(&config);
    return result;
}

/* ---- the file ---- */

int own_file_write(const char *path, const struct buf *text, struct error *e)
{
    return file_replace(path, buf_view(text), ".before", e);
}

void own_file_revert(const char *path)
{
    CLEANUP(freep) char *before = xprintf("%s.before", path);
    if (rename(before, path) != 0)
        unlink(path);
}
