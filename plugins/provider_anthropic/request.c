/*
 * Writes requests of the Messages API (see request.h). Called by provider_anthropic.c.
 *
 * Format: https://docs.anthropic.com/en/api/messages
 */
#include "request.h"

#include <stdlib.h>
#include <string.h>

#include "support/tool_schema.h"

static const char cache_mark[] = ",\"cache_control\":{\"type\":\"ephemeral\"}";

static const char *const login_names[] = {
    "Read",         "Write",      "Edit",      "Bash",      "Grep",
    "Glob",         "Task",       "Skill",     "WebFetch",  "WebSearch",
    "NotebookEdit", "TaskOutput", "KillShell", "TodoWrite", NULL};
const struct chela_naming request_key_naming = {.id_most = 64};
const struct chela_naming request_login_naming = {.id_most = 64, .spelling = login_names};

/* ---- a message ---- */

static bool one_of(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(text, *list) == 0)
            return true;
    return false;
}

static void put_source(FILE *out, const char *type, const char *mime, struct chela_str bytes)
{
    fprintf(out,
            "{\"type\":\"%s\",\"source\":{\"type\":\"base64\",\"media_type\":\"%s\",\"data\":\"",
            type, mime);
    chela_write_base64(out, bytes.s, (size_t)bytes.n);
    fputs("\"}}", out);
}

static void put_media(FILE *out, const struct chela_message *m, json_object *part)
{
    static const char *const images[] = {"image/png", "image/jpeg", "image/gif", "image/webp",
                                         NULL};
    struct chela_str bytes = chela_part_blob(m, part);
    const char *mime = chela_part_mime(part, "application/octet-stream");
    if (bytes.s && one_of(mime, images)) {
        put_source(out, "image", mime, bytes);
    } else if (bytes.s && strcmp(mime, "application/pdf") == 0) {
        put_source(out, "document", mime, bytes);
    } else if (bytes.s && strncmp(mime, "text/", 5) == 0) {
        fputs("{\"type\":\"document\",\"source\":{\"type\":\"text\",\"media_type\":\"text/plain\","
              "\"data\":",
              out);
        chela_write_string(out, bytes.s, (size_t)bytes.n);
        fputs("}}", out);
    } else {
        fputs("{\"type\":\"text\",\"text\":", out);
        chela_write_absent(out, part);
        fputc('}', out);
    }
}

static void put_thinking(FILE *out, json_object *part, const char *signature)
{
    size_t n = sizeof REQUEST_REDACTED - 1;
    if (strncmp(signature, REQUEST_REDACTED, n) == 0) {
        fputs("{\"type\":\"redacted_thinking\",\"data\":", out);
        chela_write_string(out, signature + n, strlen(signature + n));
    } else {
        chela_write_member(out, "{\"type\":\"thinking\",\"thinking\":", part, "text");
        chela_write_member(out, ",\"signature\":", part, "signature");
    }
    fputc('}', out);
}

static bool has_image(json_object *content)
{
    for (size_t i = 0; i < chela_json_length(content); i++)
        if (chela_part_is(chela_json_at(content, i), "image"))
            return true;
    return false;
}

static void put_result(FILE *out, const struct chela_message *m, json_object *part)
{
    json_object *content = chela_json_array(part, "content");
    char id[CHELA_NAME_SIZE];
    bool first = true;
    chela_part_wire_id(m, part, id);
    fprintf(out, "{\"type\":\"tool_result\",\"tool_use_id\":\"%s\",\"content\":", id);
    if (!has_image(content)) {
        chela_write_result(out, part);
    } else {
        for (size_t i = 0; i < chela_json_length(content); i++) {
            json_object *inner = chela_json_at(content, i);
            if (chela_part_is(inner, "text") && chela_part_blank(inner))
                continue;
            fputc(first ? '[' : ',', out);
            first = false;
            if (chela_part_is(inner, "text")) {
                chela_write_member(out, "{\"type\":\"text\",\"text\":", inner, "text");
                fputc('}', out);
            } else {
                put_media(out, m, inner);
            }
        }
        fputc(']', out);
    }
    fputs(chela_json_bool(part, "isError", false) ? ",\"is_error\":true}" : "}", out);
}

static void put_call(FILE *out, const struct chela_message *m, json_object *part)
{
    char id[CHELA_NAME_SIZE], name[CHELA_NAME_SIZE];
    chela_part_wire_id(m, part, id);
    chela_part_wire_name(m, part, name);
    fprintf(out, "{\"type\":\"tool_use\",\"id\":\"%s\",\"name\":\"%s\",\"input\":", id, name);
    chela_write_arguments(out, part);
    fputc('}', out);
}

/* Whether a part has a place here: blank texts and foreign thinking have none. */
static bool has_place(const struct chela_message *m, json_object *part)
{
    return chela_part_is(part, "text")       ? !chela_part_blank(part)
           : chela_part_is(part, "thinking") ? chela_part_signature(m, part) != NULL
                                             : chela_json_string(part, "type", NULL) != NULL;
}

void request_message(FILE *out, const struct chela_message *m)
{
    bool first = true;
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *part = chela_json_at(m->content, i);
        if (!has_place(m, part))
            continue;
        if (!first)
            fputc(',', out);
        first = false;
        if (chela_part_is(part, "text")) {
            chela_write_member(out, "{\"type\":\"text\",\"text\":", part, "text");
            fputc('}', out);
        } else if (chela_part_is(part, "thinking")) {
            put_thinking(out, part, chela_part_signature(m, part));
        } else if (chela_part_is(part, "toolCall")) {
            put_call(out, m, part);
        } else if (chela_part_is(part, "toolResult")) {
            put_result(out, m, part);
        } else {
            put_media(out, m, part);
        }
    }
}

/* ---- the whole ---- */

static void put_tool(FILE *out, struct chela_offer *tool, const void *arg)
{
    const struct request_style *style = arg;
    fprintf(out, "{\"name\":\"%s\"", tool->wire);
    chela_write_member(out, ",\"description\":", tool->manifest, "description");
    fputs(",\"input_schema\":", out);
    chela_write_json(out, tool->parameters);
    fputs(style->fine_grained ? ",\"eager_input_streaming\":true}" : "}", out);
}

static void put_tools(FILE *out, struct chela_toolset *tools, const struct request_style *style)
{
    struct chela_str text = chela_toolset_text(tools, put_tool, style);
    if (!text.n)
        return;
    fputs(",\"tools\":[", out);
    fwrite(text.s, 1, (size_t)text.n - 1, out); /* the mark goes into the last one */
    fprintf(out, "%s}]", style->cache ? cache_mark : "");
}

static const struct chela_choice_form choices = {
    {"{\"type\":\"", "\"}"}, {"{\"type\":\"tool\",\"name\":\"", "\"}"}, "any"};

/* The API takes thinking only if the model chooses its tools itself, and if an answer whose tools
 * have just run began with thinking; one of another provider didn't. */
static bool may_think(const struct chela_begin *b, const struct chela_params *params)
{
    static const char *const begins[] = {"{\"type\":\"thinking\"",
                                         "{\"type\":\"redacted_thinking\""};
    uint64_t i = b->messages.n;
    if (params->choice && strcmp(params->choice, "auto") != 0 &&
        strcmp(params->choice, "none") != 0)
        return false;
    while (i > 0 && chela_str_is(b->messages.v[i - 1].name, "tool"))
        i--;
    if (i == b->messages.n || i == 0)
        return true;
    struct chela_str answer = b->messages.v[i - 1].value;
    for (size_t k = 0; k < 2; k++)
        if (answer.n > strlen(begins[k]) && memcmp(answer.s, begins[k], strlen(begins[k])) == 0)
            return true;
    return false;
}

/* How hard to think, and the form of the answer. */
static void put_output(FILE *out, const char *effort, json_object *schema)
{
    if (!effort && !schema)
        return;
    fputs(",\"output_config\":{", out);
    if (effort)
        fprintf(out, "\"effort\":\"%s\"%s", effort, schema ? "," : "");
    if (schema) {
        json_object *closed = chela_schema_strict(schema);
        fputs("\"format\":{\"type\":\"json_schema\",\"schema\":", out);
        chela_write_json(out, closed ? closed : schema);
        fputc('}', out);
        json_object_put(closed);
    }
    fputc('}', out);
}

static void put_params(FILE *out, const struct chela_begin *b, const struct chela_params *params,
                       const struct request_style *style)
{
    bool thinks = params->thinking && may_think(b, params);
    int64_t most = params->max_tokens > 0 ? params->max_tokens : style->max_tokens,
            budget = thinks && !style->adaptive ? chela_thinking_budget(params->thinking) : 0;
    if (budget && most <= budget)
        most = budget + style->max_tokens;
    fprintf(out, ",\"max_tokens\":%lld", (long long)most);
    put_output(out, thinks && style->adaptive ? params->thinking : NULL, params->schema);
    if (thinks && style->adaptive) {
        fputs(",\"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"}", out);
    } else if (budget) {
        fprintf(out, ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":%lld}",
                (long long)budget);
    } else if (style->temperature) {
        chela_write_temperature(out, params);
    }
    chela_write_choice(out, params, style->naming, &choices);
}

static void put_system(FILE *out, struct chela_str system, const struct request_style *style)
{
    const char *mark = style->cache ? cache_mark : "";
    if (!system.n && !style->lead.n)
        return;
    fputs(",\"system\":[", out);
    if (style->lead.n) {
        fputs("{\"type\":\"text\",\"text\":", out);
        chela_write_string(out, style->lead.s, (size_t)style->lead.n);
        fputs(system.n ? "}," : "}", out);
    }
    if (system.n) {
        fputs("{\"type\":\"text\",\"text\":", out);
        chela_write_string(out, system.s, (size_t)system.n);
        fprintf(out, "%s}", mark);
    }
    fputc(']', out);
}

void request_write(FILE *out, const struct chela_begin *b, struct chela_toolset *tools,
                   const struct chela_params *params, const struct request_style *style)
{
    struct chela_turns turns = {
        .user = "{\"role\":\"user\",\"content\":[",
        .assistant = "{\"role\":\"assistant\",\"content\":[",
        .close = "]}",
        .opening = "{\"type\":\"text\",\"text\":\"(the conversation goes on)\"}",
        .mark = style->cache ? cache_mark : NULL,
    };
    fputs("{\"model\":", out);
    chela_write_string(out, b->model.s, (size_t)b->model.n);
    put_params(out, b, params, style);
    put_system(out, b->system, style);
    fputs(",\"messages\":[", out);
    chela_write_turns(out, b, &turns);
    fputc(']', out);
    put_tools(out, tools, style);
    fputs(params->stream ? ",\"stream\":true}" : "}", out);
}
