/*
 * Writes requests of /api/chat (see request.h). Called by provider_ollama.c.
 *
 * Format: https://github.com/ollama/ollama/blob/main/docs/api.md
 */
#include "request.h"

#include <stdlib.h>
#include <string.h>

#include "support/json.h"
#include "support/stream.h"

static void put(FILE *out, json_object *o)
{
    size_t n;
    const char *text = chela_json_text(o, &n);
    fwrite(text, 1, n, out);
}

static void put_string(FILE *out, const char *text, size_t n)
{
    json_object *s = chela_json_new_string(text ? text : "", text ? n : 0);
    put(out, s);
    json_object_put(s);
}

static bool type_is(json_object *part, const char *type)
{
    const char *its = chela_json_string(part, "type", NULL);
    return its && strcmp(its, type) == 0;
}

/* The texts of all parts of a type, joined, as the string member `name`; nothing if there are none
 * and !always. */
static void put_texts(FILE *out, json_object *content, const char *type, const char *name,
                      bool always)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f)
        abort();
    for (size_t i = 0; i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i);
        size_t length;
        const char *piece = chela_json_string(part, "text", &length);
        if (type_is(part, type) && piece)
            fwrite(piece, 1, length, f);
    }
    fclose(f);
    if (n || always) {
        fprintf(out, ",\"%s\":", name);
        put_string(out, text, n);
    }
    free(text);
}

static void put_images(FILE *out, json_object *content, const struct chela_pairs *blobs)
{
    bool first = true;
    for (size_t i = 0; i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i);
        struct chela_str bytes = chela_blob_of(blobs, chela_json_string(part, "hash", NULL));
        if (!type_is(part, "image") || !bytes.s)
            continue;
        fputs(first ? ",\"images\":[\"" : ",\"", out);
        chela_write_base64(out, bytes.s, (size_t)bytes.n);
        fputc('"', out);
        first = false;
    }
    if (!first)
        fputc(']', out);
}

static void put_calls(FILE *out, json_object *content)
{
    bool first = true;
    for (size_t i = 0; i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i),
                    *arguments = chela_json_object(part, "arguments");
        char wire[CHELA_TOOL_NAME_SIZE];
        size_t n = 0;
        const char *name = chela_json_string(part, "name", &n);
        if (!type_is(part, "toolCall"))
            continue;
        chela_tool_wire_name(name ? name : "", name ? n : 0, wire);
        fprintf(out, "%s{\"function\":{\"name\":\"%s\",\"arguments\":",
                first ? ",\"tool_calls\":[" : ",", wire);
        if (arguments)
            put(out, arguments);
        else
            fputs("{}", out);
        fputs("}}", out);
        first = false;
    }
    if (!first)
        fputc(']', out);
}

static void put_result(FILE *out, json_object *part)
{
    char *text = NULL, wire[CHELA_TOOL_NAME_SIZE];
    size_t n = 0, length = 0;
    const char *name = chela_json_string(part, "name", &n);
    FILE *f = open_memstream(&text, &length);
    if (!f)
        abort();
    chela_write_result_text(f, chela_json_get(part, "content"));
    fclose(f);
    chela_tool_wire_name(name ? name : "", name ? n : 0, wire);
    fprintf(out, "{\"role\":\"tool\",\"tool_name\":\"%s\",\"content\":", wire);
    put_string(out, text, length);
    fputc('}', out);
    free(text);
}

void request_message(FILE *out, const struct chela_render *r)
{
    json_object *message = NULL;
    if (chela_json_parse(r->message.s, (size_t)r->message.n, NULL, &message, NULL) < 0)
        return;
    json_object *content = chela_json_array(message, "content");
    if (chela_str_is(r->role, "tool")) {
        for (size_t i = 0; i < chela_json_length(content); i++) {
            if (i)
                fputc(',', out);
            put_result(out, chela_json_at(content, i));
        }
    } else {
        bool assistant = chela_str_is(r->role, "assistant");
        fprintf(out, "{\"role\":\"%s\"", assistant ? "assistant" : "user");
        put_texts(out, content, "text", "content", true);
        if (assistant) {
            put_texts(out, content, "thinking", "thinking", false);
            put_calls(out, content);
        } else {
            put_images(out, content, &r->blobs);
        }
        fputc('}', out);
    }
    json_object_put(message);
}

/* ---- the whole ---- */

static void put_tools(FILE *out, const struct chela_begin *b)
{
    for (uint64_t i = 0; i < b->tools.n; i++) {
        json_object *tool = NULL;
        struct chela_str manifest = b->tools.v[i].value, name = b->tools.v[i].name;
        char wire[CHELA_TOOL_NAME_SIZE];
        size_t n = 0;
        if (chela_json_parse(manifest.s, (size_t)manifest.n, NULL, &tool, NULL) < 0)
            continue;
        const char *about = chela_json_string(tool, "description", &n);
        json_object *parameters = chela_json_object(tool, "parameters");
        chela_tool_wire_name(name.s, (size_t)name.n, wire);
        fprintf(out, "%s{\"type\":\"function\",\"function\":{\"name\":\"%s\",\"description\":",
                i ? "," : ",\"tools\":[", wire);
        put_string(out, about, n);
        fputs(",\"parameters\":", out);
        if (parameters)
            put(out, parameters);
        else
            fputs("{\"type\":\"object\",\"properties\":{}}", out);
        fputs("}}", out);
        json_object_put(tool);
    }
    if (b->tools.n)
        fputc(']', out);
}

static void put_options(FILE *out, const struct chela_begin *b, int64_t context)
{
    json_object *params = NULL, *options = chela_json_new_object();
    chela_json_parse(b->params.s, (size_t)b->params.n, NULL, &params, NULL);
    if (chela_json_has(params, "temperature"))
        chela_json_put(options, "temperature",
                       json_object_get(chela_json_get(params, "temperature")));
    if (chela_json_int(params, "max_tokens", 0) > 0)
        chela_json_put_int(options, "num_predict", chela_json_int(params, "max_tokens", 0));
    if (context > 0)
        chela_json_put_int(options, "num_ctx", context);
    if (chela_json_length(options)) {
        fputs(",\"options\":", out);
        put(out, options);
    }
    const char *level = chela_json_string(params, "thinking", NULL);
    if (level)
        fprintf(out, ",\"think\":%s", strcmp(level, "off") == 0 ? "false" : "true");
    json_object *schema = chela_json_object(params, "schema");
    if (schema) {
        fputs(",\"format\":", out);
        put(out, schema);
    }
    json_object_put(options);
    json_object_put(params);
}

void request_write(FILE *out, const struct chela_begin *b, int64_t context, const char *keep_alive,
                   bool stream)
{
    bool first = true;
    fputs("{\"model\":", out);
    put_string(out, b->model.s, (size_t)b->model.n);
    fputs(",\"messages\":[", out);
    if (b->system.n) {
        fputs("{\"role\":\"system\",\"content\":", out);
        put_string(out, b->system.s, (size_t)b->system.n);
        fputc('}', out);
        first = false;
    }
    for (uint64_t i = 0; i < b->messages.n; i++) {
        struct chela_str m = b->messages.v[i].value;
        if (!m.n)
            continue;
        if (!first)
            fputc(',', out);
        fwrite(m.s, 1, (size_t)m.n, out);
        first = false;
    }
    fputc(']', out);
    put_tools(out, b);
    put_options(out, b, context);
    if (keep_alive && *keep_alive) {
        fputs(",\"keep_alive\":", out);
        put_string(out, keep_alive, strlen(keep_alive));
    }
    fprintf(out, ",\"stream\":%s}", stream ? "true" : "false");
}
