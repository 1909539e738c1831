/*
 * Writes requests of Mistral's chat completions (see request.h). Called by provider_mistral.c.
 *
 * Format: https://docs.mistral.ai/api/
 */
#include "request.h"

#include <string.h>

#include "support/chat.h"

const struct chela_naming request_naming = {.id_most = 9, .id_exact = true};

/* ---- a message ---- */

static void put_part(FILE *out, const struct chela_message *m, json_object *part)
{
    struct chela_str bytes = chela_part_blob(m, part);
    const char *mime = chela_part_mime(part, "application/octet-stream"),
               *form = strncmp(mime, "image/", 6) == 0        ? "image_url"
                       : strcmp(mime, "application/pdf") == 0 ? "document_url"
                                                              : NULL;
    if (chela_part_is(part, "text")) {
        chela_chat_text(out, part);
    } else if (bytes.s && form) {
        fprintf(out, "{\"type\":\"%s\",\"%s\":\"data:%s;base64,", form, form, mime);
        chela_write_base64(out, bytes.s, (size_t)bytes.n);
        fputs("\"}", out);
    } else {
        chela_chat_absent(out, part);
    }
}

static void put_user(FILE *out, const struct chela_message *m)
{
    chela_chat_user(out, m, NULL, put_part);
}

/* Thinking of this provider goes back as a part of its own, in front. */
static void put_assistant(FILE *out, const struct chela_message *m)
{
    fputs("{\"role\":\"assistant\",\"content\":", out);
    bool thought = chela_write_joined(
        out, "[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":", m, "thinking",
        true);
    if (thought)
        fputs("}]}", out);
    if (chela_write_joined(out, thought ? ",{\"type\":\"text\",\"text\":" : "", m, "text", false))
        fputs(thought ? "}" : "", out);
    else
        fputs(thought ? "" : "\"\"", out);
    fputs(thought ? "]" : "", out);
    chela_chat_calls(out, m, false);
    fputc('}', out);
}

static void put_results(FILE *out, const struct chela_message *m)
{
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *part = chela_json_at(m->content, i);
        char id[CHELA_NAME_SIZE], name[CHELA_NAME_SIZE];
        chela_part_wire_id(m, part, id);
        chela_part_wire_name(m, part, name);
        fprintf(out, "%s{\"role\":\"tool\",\"tool_call_id\":\"%s\",\"name\":\"%s\",\"content\":",
                i ? "," : "", id, name);
        chela_write_result(out, part);
        fputc('}', out);
    }
}

void request_message(FILE *out, const struct chela_message *m)
{
    chela_write_by_role(out, m, put_user, put_assistant, put_results);
}

/* ---- the whole ---- */

static const struct chela_choice_form choices = {
    {"\"", "\""}, {"{\"type\":\"function\",\"function\":{\"name\":\"", "\"}}"}, "any"};

/* Magistral thinks by a prompt of the service's own; newer models take an effort, all or nothing;
 * the others refuse both. https://docs.mistral.ai/capabilities/reasoning/adjustable */
static void put_thinking(FILE *out, const char *model, const struct chela_params *params)
{
    static const char *const with_effort[] = {"mistral-small-latest", "mistral-small-2603",
                                              "mistral-medium-3-5", "mistral-medium-2604"};
    if (params->thinking && strncmp(model, "magistral", 9) == 0)
        fputs(",\"prompt_mode\":\"reasoning\"", out);
    for (size_t i = 0; i < sizeof with_effort / sizeof with_effort[0]; i++)
        if ((params->thinking || params->no_thinking) && strcmp(model, with_effort[i]) == 0)
            fprintf(out, ",\"reasoning_effort\":\"%s\"", params->thinking ? "high" : "none");
}

void request_write(FILE *out, const struct chela_begin *b, struct chela_toolset *tools,
                   const struct chela_params *params)
{
    fputs("{\"model\":", out);
    chela_write_string(out, b->model.s, (size_t)b->model.n);
    fputs(",\"messages\":[", out);
    if (b->system.n) {
        fputs("{\"role\":\"system\",\"content\":", out);
        chela_write_string(out, b->system.s, (size_t)b->system.n);
        fputc('}', out);
    }
    chela_write_answered(out, b, b->system.n == 0, CHELA_NOTED);
    fputc(']', out);
    chela_chat_tools(out, tools);
    if (params->max_tokens > 0)
        fprintf(out, ",\"max_tokens\":%lld", (long long)params->max_tokens);
    chela_write_temperature(out, params);
    put_thinking(out, b->model.s, params);
    if (params->schema) {
        fputs(",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"answer\","
              "\"schema\":",
              out);
        chela_write_json(out, params->schema);
        fputs("}}", out);
    }
    chela_write_choice(out, params, &request_naming, &choices);
    fprintf(out, ",\"stream\":%s}", params->stream ? "true" : "false");
}
