/*
 * The configuration as text: each value with where it came from, secrets as "***". For `chela
 * config show` and for the generated part of chela.conf(5).
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/options_private.h"
#include "host/settings_private.h"
#include "support/json.h"

struct shower {
    struct buf *out;
    json_object *array; /* NULL: as text */
};

static bool quoted(uint32_t type)
{
    return type == CHELA_STRING || type == CHELA_REF;
}

static void show_one(const struct shower *w, const char *path, const struct options_value *v)
{
    if (w->array) {
        json_object *o = chela_json_push_object(w->array);
        chela_json_put_text(o, "path", path);
        if (quoted(v->type))
            chela_json_put_text(o, "value", v->text);
        else if (v->type == CHELA_LIST || v->type == CHELA_ITEMS)
            chela_json_put_array(o, "value");
        else if (v->type == CHELA_BOOL)
            chela_json_put_bool(o, "value", *v->text == '1');
        else if (v->type == CHELA_REAL)
            chela_json_put_double(o, "value", strtod(v->text, NULL));
        else
            chela_json_put_int(o, "value", strtoll(v->text, NULL, 10));
        chela_json_put_text(o, "type", options_type_name(v->type));
        chela_json_put_text(o, "origin", v->origin);
        chela_json_put_bool(o, "set", v->given);
        return;
    }
    bool list = v->type == CHELA_LIST || v->type == CHELA_ITEMS;
    const char *truth = *v->text == '1' ? "true" : "false";
    const char *text = list ? "[ ]" : v->type == CHELA_BOOL ? truth : v->text;
    const char *unit = v->type == CHELA_DURATION ? "ms" : "";
    const char *quote = quoted(v->type) || *unit ? "\"" : "";
    buf_printf(w->out, "%-44s %s%s%s%s  # %s\n", path, quote, text, unit, quote, v->origin);
}

static void show_options(const struct shower *w, const char *prefix, const struct options *o)
{
    struct options_value v;
    for (size_t at = 0; options_next(o, &at, &v);) {
        if (v.path[0] == '$') /* the host's own, nobody's option */
            continue;
        CLEANUP(freep) char *path = xprintf("%s%s%s", prefix, *prefix ? "." : "", v.path);
        bool list = v.type == CHELA_LIST || v.type == CHELA_ITEMS;
        if (list ? v.given && strcmp(v.text, "0") == 0 : v.given || *v.text) /* else by elements */
            show_one(w, path, &v);
    }
}

/* type, plugin and name are shown by the caller. */
static void show_common(const struct shower *w, const char *prefix, const struct options *o)
{
    static const char *const own[] = {"type", "plugin", "name", "enabled"};
    struct options_value v;
    for (size_t at = 0; o && options_next(o, &at, &v);) {
        bool skip = false;
        for (size_t i = 0; i < ARRAY_LENGTH(own); i++)
            skip = skip || strcmp(v.path, own[i]) == 0;
        CLEANUP(freep) char *path = xprintf("%s.%s", prefix, v.path);
        bool list = v.type == CHELA_LIST || v.type == CHELA_ITEMS;
        if (!skip && (list ? v.given && strcmp(v.text, "0") == 0 : v.given || *v.text))
            show_one(w, path, &v);
    }
}

void settings_show(const struct settings *s, bool json, struct buf *out)
{
    struct shower w = {out, json ? chela_json_new_array() : NULL};
    show_options(&w, "", s->core);
    for (size_t i = 0; i < s->instance_count; i++) {
        const struct settings_instance *in = &s->instances[i];
        CLEANUP(freep) char *prefix = xprintf("%s.%s", in->section, in->name);
        CLEANUP(freep) char *type = xprintf("%s.type", prefix);
        CLEANUP(freep) char *plugin = xprintf("%s.plugin", prefix);
        struct options_value v = {.origin = in->origin, .type = CHELA_STRING, .given = true};
        if (in->type) {
            v.text = in->type->type;
            show_one(&w, type, &v);
            v.text = in->type->plugin;
            show_one(&w, plugin, &v);
        }
        show_common(&w, prefix, in->common);
        show_options(&w, prefix, in->options);
    }
    if (w.array) {
        size_t n;
        const char *text = chela_json_text(w.array, &n);
        buf_add(out, text, n);
        buf_char(out, '\n');
        json_object_put(w.array);
    }
}
