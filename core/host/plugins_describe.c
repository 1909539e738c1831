/*
 * Option tables as JSON (see plugins.h). Called for settings pages (core/gateway) and by chelad
 * --types. Never shows a value, only what may be set.
 */
#include "base/mem.h"
#include "host/plugins.h"
#include "support/json.h"

void plugins_describe_options(json_object *list, const struct chela_option *option, uint32_t stride)
{
    static const char *const types[] = {"",     "string", "int",   "bool",      "duration",
                                        "size", "list",   "items", "reference", "real"};
    for (; option && option->name;
         option = (const struct chela_option *)(const void *)((const char *)option + stride)) {
        json_object *o = chela_json_push_object(list);
        chela_json_put_text(o, "name", option->name);
        chela_json_put_text(o, "type",
                            option->type < ARRAY_LENGTH(types) ? types[option->type] : "");
        chela_json_put_bool(o, "required", (option->flags & CHELA_REQUIRED) != 0);
        chela_json_put_bool(o, "secret", (option->flags & CHELA_SECRET) != 0);
        chela_json_put_bool(o, "reload", (option->flags & CHELA_RELOAD) != 0);
        if (option->fallback)
            chela_json_put_text(o, "default", option->fallback);
        chela_json_put_text(o, "help", option->help);
        if (option->items)
            plugins_describe_options(chela_json_put_array(o, "items"), option->items, stride);
    }
}
