/*
 * Writes requests of /api/chat (see request.h). Called by provider_ollama.c.
 *
 * Format: https://github.com/ollama/ollama/blob/main/docs/api.md
 */
#include "request.h"

#include <string.h>

#include "support/chat.h"

const struct chela_naming request_naming = {.id_most = 64};

/* ---- a message ---- */

/* Bare base64 of the images among parts; what can't be shown has its place in the text. */
static bool put_images(FILE *out, const struct chela_message *m, json_object *content, bool first)
{
    for (size_t i = 0; i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i);
        struct chela_str bytes = chela_part_blob(m, part);
        if (chela_part_is(part, "toolResult"))
            first = put_images(out, m, chela_json_array(part, "content"), first);
        if (!chela_part_is(part, "image") || !bytes.s)
            continue;
        fputs(first ? ",\"images\":[\"" : ",\"", out);
        chela_write_base64(out, bytes.s, (size_t)bytes.n);
        fputc('"', out);
        first = false;
    }
    return first;
}

static void put_user(FILE *out, const struct chela_message *m)
{
    fputs("{\"role\":\"user\"", out);
    if (!chela_write_joined(out, ",\"content\":", m, "text", false))
        fputs(",\"content\":\"\"", out);
    if (!put_images(out, m, m->content, true))
        fputc(']', out);
    fputc('}', out);
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *part = chela_json_at(m->content, i);
        bool image = chela_part_is(part, "image") && chela_part_blob(m, part).s;
        if (image || (!chela_part_is(part, "image") && !chela_part_is(part, "file")))
            continue;
        fputs(",{\"role\":\"user\",\"content\":", out);
        chela_write_absent(out, part);
        fputc('}', out);
    }
}

static void put_assistant(FILE *out, const struct chela_message *m)
{
    bool first = true;
    fputs("{\"role\":\"assistant\"", out);
    if (!chela_write_joined(out, ",\"content\":", m, "text", false))
        fputs(",\"content\":\"\"", out);
    chela_write_joined(out, ",\"thinking\":", m, "thinking", true);
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *part = chela_json_at(m->content, i);
        char name[CHELA_NAME_SIZE];
        if (!chela_part_is(part, "toolCall"))
            continue;
        chela_part_wire_name(m, part, name);
        fprintf(out, "%s{\"function\":{\"name\":\"%s\",\"arguments\":",
                first ? ",\"tool_calls\":[" : ",", name);
        chela_write_arguments(out, part);
        fputs("}}", out);
        first = false;
    }
    fputs(first ? "}" : "]}", out);
}

static void put_results(FILE *out, const struct chela_message *m)
{
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *part = chela_json_at(m->content, i);
        char name[CHELA_NAME_SIZE];
        chela_part_wire_name(m, part, name);
        fprintf(out, "%s{\"role\":\"tool\",\"tool_name\":\"%s\",\"content\":", i ? "," : "", name);
        chela_write_result(out, part);
        if (!put_images(out, m, chela_json_array(part, "content"), true))
            fputc(']', out);
        fputc('}', out);
    }
}

void request_message(FILE *out, const struct chela_message *m)
{
    chela_write_by_role(out, m, put_user, put_assistant, put_results);
}

/* ---- the whole ---- */

static void put_params(FILE *out, const struct chela_begin *b, const struct chela_params *params,
                       const struct request_style *style)
{
    json_object *options = chela_json_new_object();
    if (params->temperature)
        chela_json_put(options, "temperature", json_object_get(params->temperature));
    if (params->max_tokens > 0)
        chela_json_put_int(options, "num_predict", params->max_tokens);
    if (style->context > 0)
        chela_json_put_int(options, "num_ctx", style->context);
    if (chela_json_length(options)) {
        fputs(",\"options\":", out);
        chela_write_json(out, options);
    }
    if (style->thinks && params->thinking && b->model.n >= 7 &&
        memcmp(b->model.s, "gpt-oss", 7) == 0)
        fprintf(out, ",\"think\":\"%s\"", params->thinking); /* it knows levels alone */
    else if (style->thinks && (params->thinking || params->no_thinking))
        fprintf(out, ",\"think\":%s", params->thinking ? "true" : "false");
    if (params->schema) {
        fputs(",\"format\":", out);
        chela_write_json(out, params->schema);
    }
    json_object_put(options);
}

void request_write(FILE *out, const struct chela_begin *b, struct chela_toolset *tools,
                   const struct chela_params *params, const struct request_style *style)
{
    fputs("{\"model\":", out);
    chela_write_string(out, b->model.s, (size_t)b->model.n);
    fputs(",\"messages\":[", out);
    if (b->system.n) {
        fputs("{\"role\":\"system\",\"content\":", out);
        chela_write_string(out, b->system.s, (size_t)b->system.n);
        fputc('}', out);
    }
    chela_write_messages(out, b, b->system.n == 0);
    fputc(']', out);
    chela_chat_tools(out, tools);
    put_params(out, b, params, style);
    if (style->keep_alive.n) {
        fputs(",\"keep_alive\":", out);
        chela_write_string(out, style->keep_alive.s, (size_t)style->keep_alive.n);
    }
    fprintf(out, ",\"stream\":%s}", params->stream ? "true" : "false");
}
