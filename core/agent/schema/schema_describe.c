/*
 * How values, types and places read in the validator's errors: short, printable, bounded, whatever
 * the value is. Only the files of the validator call it.
 */
#include "agent/schema/schema_internal.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "support/json.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_STRING 60
#define SHOWN_LIST   200

void schema_describe_text(struct buf *out, const char *text, size_t length, size_t limit)
{
    size_t cut = utf8_cut(text, length, limit);
    for (size_t at = 0; at < cut;) {
        uint32_t c;
        size_t step = utf8_next(text + at, cut - at, &c);
        if (step == 0 || c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) ||
            (c >= 0x2066 && c <= 0x2069))
            buf_printf(out, "\\u%04x", step == 0 ? 0xfffd : (unsigned)c);
        else
            buf_add(out, text + at, step);
        at += step ? step : 1;
    }
    if (cut < length)
        buf_puts(out, "...");
}

void schema_describe_token(struct buf *out, const char *token)
{
    buf_char(out, '/');
    size_t length = strlen(token), cut = utf8_cut(token, length, SHOWN_STRING), start = 0;
    for (size_t i = 0; i <= cut; i++) {
        if (i < cut && token[i] != '~' && token[i] != '/')
            continue;
        schema_describe_text(out, token + start, i - start, SHOWN_STRING);
        if (i < cut)
            buf_puts(out, token[i] == '~' ? "~0" : "~1");
        start = i + 1;
    }
    if (cut < length)
        buf_puts(out, "...");
}

void schema_describe_shorten(struct buf *out, size_t start, size_t limit)
{
    if (out->n - start <= limit)
        return;
    char *pointer = xmemdup(out->p + start, out->n - start);
    const char *tail = strchr(pointer + (out->n - start - limit), '/');
    out->n = start;
    buf_printf(out, "...%s", tail ? tail : "");
    free(pointer);
}

static void add_string(struct buf *out, json_object *value)
{
    size_t length;
    const char *text = chela_json_as_string(value, &length);
    buf_char(out, '"');
    schema_describe_text(out, text, length, SHOWN_STRING);
    buf_char(out, '"');
}

static void add_literal(struct buf *out, json_object *value)
{
    size_t length;
    const char *text;
    switch (json_object_get_type(value)) {
    case json_type_string: add_string(out, value); break;
    case json_type_object: buf_puts(out, "an object"); break;
    case json_type_array: buf_printf(out, "an array of %zu", chela_json_length(value)); break;
    default:
        text = chela_json_text(value, &length);
        schema_describe_text(out, text, length, SHOWN_STRING);
    }
}

void schema_describe_value(struct buf *out, json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_string: buf_puts(out, "string "); break;
    case json_type_int:
    case json_type_double: buf_puts(out, "number "); break;
    case json_type_boolean: buf_puts(out, "boolean "); break;
    default: break;
    }
    add_literal(out, value);
}

void schema_describe_list(struct buf *out, json_object *list)
{
    size_t start = out->n, count = chela_json_length(list);
    for (size_t i = 0; i < count; i++) {
        buf_puts(out, i ? ", " : "");
        if (out->n - start > SHOWN_LIST) {
            buf_puts(out, "...");
            return;
        }
        add_literal(out, chela_json_at(list, i));
    }
}

void schema_describe_types(struct buf *out, unsigned types)
{
    static const char *const names[] = {"null",   "boolean", "integer", "number",
                                        "string", "array",   "object"};
    const char *between = "";
    for (unsigned i = 0; i < 7; i++) {
        if (!(types & 1u << i) || (i == 2 && (types & TYPE_NUMBER)))
            continue;
        buf_printf(out, "%s%s", between, names[i]);
        between = " or ";
    }
}
