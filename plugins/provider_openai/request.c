/*
 * Writes requests of the chat completions API (see request.h). Called by provider_openai.c.
 *
 * Format: https://platform.openai.com/docs/api-reference/chat
 */
#include "request.h"

#include <stdlib.h>
#include <string.h>

#include "support/chat.h"
#include "support/openai_models.h"
#include "support/tool_schema.h"

static const char *const reserved[] = {"multi_tool_use", "functions", NULL};
const struct chela_naming request_naming = {.reserved = reserved, .id_most = 40};

static const struct preset *preset(const struct chela_message *m)
{
    return m->arg;
}

/* ---- user ---- */

static void put_image(FILE *out, json_object *part, struct chela_str bytes)
{
    fprintf(out, "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:%s;base64,",
            chela_part_mime(part, "image/png"));
    chela_write_base64(out, bytes.s, (size_t)bytes.n);
    fputs("\"}}", out);
}

static void put_user_part(FILE *out, const struct chela_message *m, json_object *part)
{
    struct chela_str bytes = chela_part_blob(m, part);
    if (chela_part_is(part, "text")) {
        chela_chat_text(out, part);
    } else if (chela_part_is(part, "image") && bytes.s) {
        put_image(out, part, bytes);
    } else if (chela_part_is(part, "file") && bytes.s) {
        const char *name = chela_json_string(part, "name", NULL);
        fputs("{\"type\":\"file\",\"file\":{\"filename\":", out);
        chela_write_string(out, name ? name : "file", strlen(name ? name : "file"));
        fprintf(out, ",\"file_data\":\"data:%s;base64,",
                chela_part_mime(part, "application/octet-stream"));
        chela_write_base64(out, bytes.s, (size_t)bytes.n);
        fputs("\"}}", out);
    } else {
        chela_chat_absent(out, part);
    }
}

/* All parts as one string, for services that take nothing else. */
static void put_user_string(FILE *out, const struct chela_message *m)
{
    char *text = NULL;
    size_t n = 0, length;
    FILE *f = chela_write_open(&text, &n);
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *part = chela_json_at(m->content, i);
        const char *piece = chela_json_string(part, "text", &length);
        if (i)
            fputc('\n', f);
        if (piece)
            fwrite(piece, 1, length, f);
        else
            chela_write_absent(f, part);
    }
    fclose(f);
    chela_write_string(out, text, n);
    free(text);
}

static void put_user(FILE *out, const struct chela_message *m)
{
    chela_chat_user(out, m, preset(m)->switches & STRING_CONTENT ? put_user_string : NULL,
                    put_user_part);
}

/* ---- assistant ---- */

static void put_thinking_as_text(FILE *out, const struct chela_message *m)
{
    fputs("{\"role\":\"assistant\"", out);
    chela_write_joined(out, ",\"content\":", m, "thinking", false);
    fputs("},", out);
}

static bool has_thinking(const struct chela_message *m)
{
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *part = chela_json_at(m->content, i);
        if (chela_part_is(part, "thinking") && !chela_part_blank(part))
            return true;
    }
    return false;
}

static void put_assistant(FILE *out, const struct chela_message *m)
{
    uint32_t switches = preset(m)->switches;
    if ((switches & THINKING_AS_TEXT) && has_thinking(m))
        put_thinking_as_text(out, m);
    fputs("{\"role\":\"assistant\"", out);
    if (!chela_write_joined(out, ",\"content\":", m, "text", false))
        fputs(switches & NULL_CONTENT ? ",\"content\":null" : ",\"content\":\"\"", out);
    if (switches & REPLAYS_REASONING)
        chela_write_joined(out, ",\"reasoning_content\":", m, "thinking", true);
    chela_chat_calls(out, m, switches & OBJECT_ARGUMENTS);
    fputc('}', out);
}

/* ---- results ---- */

/* Images can't stand in a tool's message: they follow as a user's. */
static void put_result_images(FILE *out, const struct chela_message *m)
{
    bool any = false;
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *content = chela_json_array(chela_json_at(m->content, i), "content");
        for (size_t k = 0; k < chela_json_length(content); k++) {
            json_object *part = chela_json_at(content, k);
            struct chela_str bytes = chela_part_blob(m, part);
            if (!chela_part_is(part, "image") || !bytes.s)
                continue;
            fputs(any ? "," : ",{\"role\":\"user\",\"content\":[", out);
            put_image(out, part, bytes);
            any = true;
        }
    }
    if (any)
        fputs("]}", out);
}

static void put_results(FILE *out, const struct chela_message *m)
{
    uint32_t switches = preset(m)->switches;
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *part = chela_json_at(m->content, i);
        char id[CHELA_NAME_SIZE], name[CHELA_NAME_SIZE];
        chela_part_wire_id(m, part, id);
        chela_part_wire_name(m, part, name);
        fprintf(out, "%s{\"role\":\"tool\",\"tool_call_id\":\"%s\"", i ? "," : "", id);
        if (switches & RESULT_NAME)
            fprintf(out, ",\"name\":\"%s\"", name);
        fputs(",\"content\":", out);
        chela_write_result(out, part);
        fputc('}', out);
    }
    if (!(switches & STRING_CONTENT))
        put_result_images(out, m);
}

void request_message(FILE *out, const struct chela_message *m)
{
    chela_write_by_role(out, m, put_user, put_assistant, put_results);
}

/* ---- the whole ---- */

static void put_tool(FILE *out, struct chela_offer *tool, const void *preset)
{
    const struct preset *p = preset;
    json_object *strict = p->switches & TAKES_STRICT ? chela_schema_strict(tool->parameters) : NULL,
                *plain = p->dropped ? chela_schema_without(tool->parameters, p->dropped)
                                    : json_object_get(tool->parameters);
    tool->strict = strict != NULL;
    fprintf(out, "{\"type\":\"function\",\"function\":{\"name\":\"%s\"", tool->wire);
    chela_write_member(out, ",\"description\":", tool->manifest, "description");
    fputs(",\"parameters\":", out);
    chela_write_json(out, strict ? strict : plain);
    fputs(strict ? ",\"strict\":true}}" : "}}", out);
    json_object_put(strict);
    json_object_put(plain);
}

static const struct chela_choice_form choices = {
    {"\"", "\""}, {"{\"type\":\"function\",\"function\":{\"name\":\"", "\"}}"}, "required"};

static void put_thinking(FILE *out, enum thinking_form form, const char *least,
                         const struct chela_params *params)
{
    const char *level = params->thinking, *truth = level ? "true" : "false";
    if (!level && !params->no_thinking)
        return;
    if (form == THINK_EFFORT && (level || least))
        fprintf(out, ",\"reasoning_effort\":\"%s\"", level ? level : least);
    else if (form == THINK_OBJECT && level)
        fprintf(out, ",\"reasoning\":{\"effort\":\"%s\"}", level);
    else if (form == THINK_OBJECT)
        fputs(",\"reasoning\":{\"enabled\":false}", out);
    else if (form == THINK_TYPE)
        fprintf(out, ",\"thinking\":{\"type\":\"%s\"}", level ? "enabled" : "disabled");
    else if (form == THINK_ENABLE)
        fprintf(out, ",\"enable_thinking\":%s", truth);
    else if (form == THINK_TEMPLATE)
        fprintf(out, ",\"chat_template_kwargs\":{\"enable_thinking\":%s}", truth);
}

static void put_params(FILE *out, const struct preset *p, const char *model,
                       const struct chela_params *params)
{
    bool by_name = (p->switches & MODELS_DIFFER) != 0;
    if (params->max_tokens > 0)
        fprintf(out, ",\"%s\":%lld", p->max_tokens, (long long)params->max_tokens);
    if (!params->thinking && (p->switches & TAKES_TEMPERATURE) &&
        (!by_name || chela_openai_takes_temperature(model)))
        chela_write_temperature(out, params);
    put_thinking(out, p->thinking, by_name ? chela_openai_least_effort(model) : NULL, params);
    if (params->schema && (p->switches & TAKES_SCHEMA)) {
        fputs(",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"answer\","
              "\"schema\":",
              out);
        chela_write_json(out, params->schema);
        fputs("}}", out);
    } else if (params->schema) {
        fputs(",\"response_format\":{\"type\":\"json_object\"}", out);
    }
    if (params->session && (p->switches & TAKES_CACHE_KEY)) {
        char key[CHELA_NAME_SIZE];
        chela_wire_id(&request_naming, params->session, key);
        fprintf(out, ",\"prompt_cache_key\":\"%s\"", key);
    }
    if (p->switches & TAKES_STORE)
        fputs(",\"store\":false", out);
    if (p->switches & TAKES_TOOLS)
        chela_write_choice(out, params, &request_naming, &choices);
}

void request_write(FILE *out, const struct preset *p, const struct chela_begin *b,
                   struct chela_toolset *tools, const struct chela_params *params)
{
    bool developer = params->thinking && (p->switches & TAKES_DEVELOPER);
    fputs("{\"model\":", out);
    chela_write_string(out, b->model.s, (size_t)b->model.n);
    fputs(",\"messages\":[", out);
    if (b->system.n) {
        fprintf(out, "{\"role\":\"%s\",\"content\":", developer ? "developer" : "system");
        chela_write_string(out, b->system.s, (size_t)b->system.n);
        fputc('}', out);
    }
    chela_write_answered(out, b, b->system.n == 0,
                         p->switches & ANSWER_AFTER_TOOL ? CHELA_NOTED : NULL);
    fputc(']', out);
    if (p->switches & TAKES_TOOLS)
        chela_toolset_write(out, tools, ",\"tools\":[", put_tool, p, "]");
    put_params(out, p, b->model.s, params);
    if (params->stream)
        fputs(p->switches & TAKES_USAGE
                  ? ",\"stream\":true,\"stream_options\":{\"include_usage\":true}"
                  : ",\"stream\":true",
              out);
    fputc('}', out);
}
