/*
 * Writes requests of the Responses API (see request.h). Called by provider_openai_responses.c.
 *
 * Format: https://platform.openai.com/docs/api-reference/responses
 */
#include "request.h"

#include <stdlib.h>
#include <string.h>

#include "support/openai_models.h"
#include "support/tool_schema.h"

static const char *const reserved[] = {"multi_tool_use", "functions",   "web_search",
                                       "shell",          "apply_patch", NULL};
const struct chela_naming request_naming = {.reserved = reserved, .id_most = 64};

/* ---- a message ---- */

static void put_image(FILE *out, json_object *part, struct chela_str bytes)
{
    fprintf(out, "{\"type\":\"input_image\",\"detail\":\"auto\",\"image_url\":\"data:%s;base64,",
            chela_part_mime(part, "image/png"));
    chela_write_base64(out, bytes.s, (size_t)bytes.n);
    fputs("\"}", out);
}

static void put_input(FILE *out, const struct chela_message *m, json_object *part)
{
    struct chela_str bytes = chela_part_blob(m, part);
    if (chela_part_is(part, "text")) {
        chela_write_member(out, "{\"type\":\"input_text\",\"text\":", part, "text");
        fputc('}', out);
    } else if (chela_part_is(part, "image") && bytes.s) {
        put_image(out, part, bytes);
    } else if (chela_part_is(part, "file") && bytes.s) {
        const char *name = chela_json_string(part, "name", NULL);
        fputs("{\"type\":\"input_file\",\"filename\":", out);
        chela_write_string(out, name ? name : "file", strlen(name ? name : "file"));
        fprintf(out, ",\"file_data\":\"data:%s;base64,",
                chela_part_mime(part, "application/octet-stream"));
        chela_write_base64(out, bytes.s, (size_t)bytes.n);
        fputs("\"}", out);
    } else {
        fputs("{\"type\":\"input_text\",\"text\":", out);
        chela_write_absent(out, part);
        fputc('}', out);
    }
}

static void put_user(FILE *out, const struct chela_message *m)
{
    fputs("{\"type\":\"message\",\"role\":\"user\",\"content\":[", out);
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        if (i)
            fputc(',', out);
        put_input(out, m, chela_json_at(m->content, i));
    }
    fputs("]}", out);
}

static void put_call(FILE *out, const struct chela_message *m, json_object *part)
{
    char name[CHELA_NAME_SIZE], id[CHELA_NAME_SIZE];
    chela_part_wire_name(m, part, name);
    chela_part_wire_id(m, part, id);
    fprintf(out,
            "{\"type\":\"function_call\",\"call_id\":\"%s\",\"name\":\"%s\",\"arguments\":", id,
            name);
    chela_write_arguments_string(out, part);
    fputc('}', out);
}

/* What a signature says, or NULL if it isn't one of ours. */
static json_object *signed_item(const struct chela_message *m, json_object *part)
{
    const char *signature = chela_part_signature(m, part);
    json_object *item = NULL;
    if (signature)
        chela_json_parse(signature, strlen(signature), NULL, &item, NULL);
    return item;
}

/* An item for a part of an assistant's message; "" for one that has none. *phase: of the text that
 * follows. */
static void put_item(FILE *out, const struct chela_message *m, json_object *part, char **phase)
{
    if (chela_part_is(part, "toolCall")) {
        put_call(out, m, part);
    } else if (chela_part_is(part, "text") && !chela_part_blank(part)) {
        fputs("{\"type\":\"message\",\"role\":\"assistant\"", out);
        if (*phase) {
            fputs(",\"phase\":", out);
            chela_write_string(out, *phase, strlen(*phase));
        }
        chela_write_member(out, ",\"content\":", part, "text");
        fputc('}', out);
    } else if (chela_part_is(part, "thinking")) {
        json_object *item = signed_item(m, part);
        const char *its = chela_json_string(item, "phase", NULL);
        if (chela_part_is(item, "reasoning")) {
            chela_write_json(out, item);
        } else if (its) {
            free(*phase);
            *phase = strdup(its);
        }
        json_object_put(item);
    }
}

static void put_assistant(FILE *out, const struct chela_message *m)
{
    char *phase = NULL;
    bool first = true;
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        char *text = NULL;
        size_t n = 0;
        FILE *f = chela_write_open(&text, &n);
        put_item(f, m, chela_json_at(m->content, i), &phase);
        fclose(f);
        if (n && !first)
            fputc(',', out);
        fwrite(text, 1, n, out);
        first = first && n == 0;
        free(text);
    }
    free(phase);
}

static bool has_image(json_object *content)
{
    for (size_t i = 0; i < chela_json_length(content); i++)
        if (chela_part_is(chela_json_at(content, i), "image"))
            return true;
    return false;
}

static void put_results(FILE *out, const struct chela_message *m)
{
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *part = chela_json_at(m->content, i),
                    *content = chela_json_array(part, "content");
        char id[CHELA_NAME_SIZE];
        chela_part_wire_id(m, part, id);
        fprintf(out,
                "%s{\"type\":\"function_call_output\",\"call_id\":\"%s\",\"output\":", i ? "," : "",
                id);
        if (!has_image(content)) {
            chela_write_result(out, part);
        } else {
            for (size_t k = 0; k < chela_json_length(content); k++) {
                fputc(k ? ',' : '[', out);
                put_input(out, m, chela_json_at(content, k));
            }
            fputc(']', out);
        }
        fputc('}', out);
    }
}

void request_message(FILE *out, const struct chela_message *m)
{
    chela_write_by_role(out, m, put_user, put_assistant, put_results);
}

/* ---- the whole ---- */

static void put_tool(FILE *out, struct chela_offer *tool, const void *arg)
{
    const struct request_style *style = arg;
    json_object *strict = style->strict ? chela_schema_strict(tool->parameters) : NULL;
    tool->strict = strict != NULL;
    fprintf(out, "{\"type\":\"function\",\"name\":\"%s\"", tool->wire);
    chela_write_member(out, ",\"description\":", tool->manifest, "description");
    fputs(",\"parameters\":", out);
    chela_write_json(out, strict ? strict : tool->parameters);
    fprintf(out, ",\"strict\":%s}", strict ? "true" : "false");
    json_object_put(strict);
}

static const struct chela_choice_form choices = {
    {"\"", "\""}, {"{\"type\":\"function\",\"name\":\"", "\"}"}, "required"};

static void put_reasoning(FILE *out, const char *model, const struct chela_params *params)
{
    const char *least = params->no_thinking ? chela_openai_least_effort(model) : NULL;
    if (params->thinking)
        fprintf(out, ",\"reasoning\":{\"effort\":\"%s\",\"summary\":\"auto\"}", params->thinking);
    else if (least)
        fprintf(out, ",\"reasoning\":{\"effort\":\"%s\"}", least);
}

static void put_params(FILE *out, const char *model, const struct chela_params *params,
                       const struct request_style *style)
{
    if (params->max_tokens > 0)
        fprintf(out, ",\"max_output_tokens\":%lld", (long long)params->max_tokens);
    if (!params->thinking && chela_openai_takes_temperature(model))
        chela_write_temperature(out, params);
    put_reasoning(out, model, params);
    if (style->encrypted)
        fputs(",\"include\":[\"reasoning.encrypted_content\"]", out);
    if (params->schema) {
        json_object *strict = chela_schema_strict(params->schema);
        fputs(",\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"answer\",\"schema\":",
              out);
        chela_write_json(out, strict ? strict : params->schema);
        fprintf(out, ",\"strict\":%s}}", strict ? "true" : "false");
        json_object_put(strict);
    }
    if (params->session) {
        char key[CHELA_NAME_SIZE];
        chela_wire_id(&request_naming, params->session, key);
        fprintf(out, ",\"prompt_cache_key\":\"%s\"", key);
    }
    chela_write_choice(out, params, &request_naming, &choices);
}

void request_write(FILE *out, const struct chela_begin *b, struct chela_toolset *tools,
                   const struct chela_params *params, const struct request_style *style)
{
    fputs("{\"model\":", out);
    chela_write_string(out, b->model.s, (size_t)b->model.n);
    if (b->system.n) {
        fputs(",\"instructions\":", out);
        chela_write_string(out, b->system.s, (size_t)b->system.n);
    }
    fputs(",\"input\":[", out);
    chela_write_messages(out, b, true);
    fputc(']', out);
    chela_toolset_write(out, tools, ",\"tools\":[", put_tool, style, "]");
    put_params(out, b->model.s, params, style);
    fprintf(out, ",\"store\":false,\"stream\":%s}", params->stream ? "true" : "false");
}
