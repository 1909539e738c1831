/* Import: see import.h. Writes a tree as libconfig: objects as groups, lists of objects as lists,
 * other lists as arrays. */
#include <json-c/linkhash.h>

#include "cli/import.h"
#include "cli/own_config.h"
#include "support/json.h"

static void write_members(json_object *o, unsigned depth, struct buf *out);

static void indent(unsigned depth, struct buf *out)
{
    for (unsigned i = 0; i < depth; i++)
        buf_puts(out, "    ");
}

static void write_list(json_object *list, unsigned depth, struct buf *out)
{
    size_t n = chela_json_length(list);
    bool groups = n && json_object_is_type(chela_json_at(list, 0), json_type_object);
    buf_puts(out, groups ? "(" : "[");
    for (size_t i = 0; i < n; i++) {
        json_object *item = chela_json_at(list, i);
        buf_puts(out, i ? "," : "");
        if (groups) {
            buf_char(out, '\n');
            indent(depth + 1, out);
            buf_puts(out, "{\n");
            write_members(item, depth + 2, out);
            indent(depth + 1, out);
            buf_char(out, '}');
        } else {
            buf_char(out, ' ');
            own_config_string(json_object_get_string(item), out);
        }
    }
    if (groups) {
        buf_char(out, '\n');
        indent(depth, out);
    }
    buf_puts(out, groups ? ")" : " ]");
}

static void write_value(json_object *value, unsigned depth, struct buf *out)
{
    switch (json_object_get_type(value)) {
    case json_type_object:
        buf_puts(out, "{\n");
        write_members(value, depth + 1, out);
        indent(depth, out);
        buf_char(out, '}');
        break;
    case json_type_array: write_list(value, depth, out); break;
    case json_type_string: own_config_string(json_object_get_string(value), out); break;
    default: buf_puts(out, json_object_get_string(value)); break;
    }
}

static void write_members(json_object *o, unsigned depth, struct buf *out)
{
    json_object_object_foreach(o, name, value)
    {
        indent(depth, out);
        buf_printf(out, "%s %s ", name, json_object_is_type(value, json_type_object) ? ":" : "=");
        write_value(value, depth, out);
        buf_puts(out, ";\n");
    }
}

void import_write(json_object *ours, struct buf *out)
{
    write_members(ours, 0, out);
}
