/*
 * Writes requests of generateContent (see request.h). Called by provider_google.c.
 *
 * Format: https://ai.google.dev/api/generate-content
 */
#include "request.h"

#include <stdlib.h>
#include <string.h>

#include "support/tool_schema.h"

const struct chela_naming request_naming = {.id_most = 64};

/* What stands for a signature that another provider's call can't have; these models refuse a call
 * without one. https://ai.google.dev/gemini-api/docs/thought-signatures */
static const char no_signature[] = "skip_thought_signature_validator";

static bool newer_than_2(const char *model)
{
    return strncmp(model, "gemini-", 7) == 0 && strtol(model + 7, NULL, 10) >= 3;
}

/* ---- a message ---- */

static void put_signature(FILE *out, const char *signature)
{
    fputs(",\"thoughtSignature\":", out);
    chela_write_string(out, signature, strlen(signature));
}

/* The signature of the call of that number, or NULL. */
static const char *signature_of_call(const struct chela_message *m, unsigned number)
{
    char where[REQUEST_WHERE];
    int n = snprintf(where, sizeof where, "c%u ", number);
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *part = chela_json_at(m->content, i);
        const char *signature =
            chela_part_is(part, "thinking") ? chela_part_signature(m, part) : NULL;
        if (signature && strncmp(signature, where, (size_t)n) == 0)
            return signature + n;
    }
    return NULL;
}

static void put_call(FILE *out, const struct chela_message *m, json_object *part, unsigned number)
{
    char name[CHELA_NAME_SIZE];
    const char *signature = signature_of_call(m, number);
    if (!signature && number == 0 && newer_than_2(m->model))
        signature = no_signature;
    chela_part_wire_name(m, part, name);
    fprintf(out, "{\"functionCall\":{\"name\":\"%s\",\"args\":", name);
    chela_write_arguments(out, part);
    fputc('}', out);
    if (signature)
        put_signature(out, signature);
    fputc('}', out);
}

static bool put_thinking(FILE *out, const struct chela_message *m, json_object *part)
{
    const char *signature = chela_part_signature(m, part);
    if (!signature || (signature[0] != 'p' && signature[0] != 't') || signature[1] != ' ')
        return false;
    if (signature[0] == 'p')
        chela_write_member(out, "{\"thought\":true,\"text\":", part, "text");
    else
        fputs("{\"text\":\"\"", out);
    put_signature(out, signature + 2);
    fputc('}', out);
    return true;
}

static void put_media(FILE *out, const struct chela_message *m, json_object *part)
{
    struct chela_str bytes = chela_part_blob(m, part);
    if (bytes.s) {
        fprintf(out, "{\"inlineData\":{\"mimeType\":\"%s\",\"data\":\"",
                chela_part_mime(part, "application/octet-stream"));
        chela_write_base64(out, bytes.s, (size_t)bytes.n);
        fputs("\"}}", out);
    } else {
        fputs("{\"text\":", out);
        chela_write_absent(out, part);
        fputc('}', out);
    }
}

static void put_result(FILE *out, const struct chela_message *m, json_object *part)
{
    char name[CHELA_NAME_SIZE];
    chela_part_wire_name(m, part, name);
    fprintf(out, "{\"functionResponse\":{\"name\":\"%s\",\"response\":{\"%s\":", name,
            chela_json_bool(part, "isError", false) ? "error" : "output");
    chela_write_result(out, part);
    fputs("}}}", out);
}

/* Images of results follow all of them: the results answer the calls and stand together. */
static void put_result_images(FILE *out, const struct chela_message *m)
{
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *content = chela_json_array(chela_json_at(m->content, i), "content");
        for (size_t k = 0; k < chela_json_length(content); k++) {
            json_object *part = chela_json_at(content, k);
            if (!chela_part_is(part, "image"))
                continue;
            fputc(',', out);
            put_media(out, m, part);
        }
    }
}

static bool put_part(FILE *out, const struct chela_message *m, json_object *part, unsigned *calls)
{
    size_t n = 0;
    if (chela_part_is(part, "text")) {
        if (!chela_json_string(part, "text", &n) || n == 0)
            return false;
        chela_write_member(out, "{\"text\":", part, "text");
        fputc('}', out);
    } else if (chela_part_is(part, "thinking")) {
        return put_thinking(out, m, part);
    } else if (chela_part_is(part, "toolCall")) {
        put_call(out, m, part, (*calls)++);
    } else if (chela_part_is(part, "toolResult")) {
        put_result(out, m, part);
    } else {
        put_media(out, m, part);
    }
    return true;
}

void request_message(FILE *out, const struct chela_message *m)
{
    bool first = true;
    unsigned calls = 0;
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        char *text = NULL;
        size_t n = 0;
        FILE *f = chela_write_open(&text, &n);
        bool has = put_part(f, m, chela_json_at(m->content, i), &calls);
        fclose(f);
        if (has) {
            if (!first)
                fputc(',', out);
            fwrite(text, 1, n, out);
            first = false;
        }
        free(text);
    }
    if (m->role == CHELA_ROLE_TOOL)
        put_result_images(out, m);
}

/* ---- the whole ---- */

static void put_parameters(FILE *out, json_object *parameters, bool openapi)
{
    static const char *const taken[] = {
        "$id",      "$defs",      "$ref",     "$anchor",     "type",
        "format",   "title",      "enum",     "items",       "prefixItems",
        "minItems", "maxItems",   "minimum",  "maximum",     "anyOf",
        "oneOf",    "properties", "required", "description", "additionalProperties",
        NULL};
    if (chela_json_length(chela_json_object(parameters, "properties")) == 0)
        return; /* an object without members is said by leaving it out */
    json_object *fit =
        openapi ? chela_schema_openapi(parameters) : chela_schema_only(parameters, taken);
    fputs(openapi ? ",\"parameters\":" : ",\"parametersJsonSchema\":", out);
    chela_write_json(out, fit);
    json_object_put(fit);
}

static void put_tool(FILE *out, struct chela_offer *tool, const void *openapi)
{
    fprintf(out, "{\"name\":\"%s\"", tool->wire);
    chela_write_member(out, ",\"description\":", tool->manifest, "description");
    put_parameters(out, tool->parameters, *(const bool *)openapi);
    fputc('}', out);
}

static void put_tool_choice(FILE *out, const char *choice)
{
    const char *mode = strcmp(choice, "auto") == 0   ? "AUTO"
                       : strcmp(choice, "none") == 0 ? "NONE"
                                                     : "ANY";
    fprintf(out, ",\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"%s\"", mode);
    if (strcmp(mode, "ANY") == 0 && strcmp(choice, "required") != 0) {
        char wire[CHELA_NAME_SIZE];
        chela_wire_name(&request_naming, choice, strlen(choice), wire);
        fprintf(out, ",\"allowedFunctionNames\":[\"%s\"]", wire);
    }
    fputs("}}", out);
}

static void put_thinking_config(FILE *out, struct chela_str model,
                                const struct chela_params *params)
{
    const char *level = params->thinking;
    if (!level && !params->no_thinking)
        return;
    int least = strstr(model.s, "-pro") ? 128 : 0; /* those of 2.5 can't be told not to think */
    if (newer_than_2(model.s))
        fprintf(out, ",\"thinkingConfig\":{\"thinkingLevel\":\"%s\"", level ? level : "low");
    else
        fprintf(out, ",\"thinkingConfig\":{\"thinkingBudget\":%d",
                level ? chela_thinking_budget(level) : least);
    fputs(level ? ",\"includeThoughts\":true}" : "}", out);
}

static void put_generation(FILE *out, const struct chela_begin *b,
                           const struct chela_params *params)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = chela_write_open(&text, &n);
    chela_write_temperature(f, params);
    if (params->max_tokens > 0)
        fprintf(f, ",\"maxOutputTokens\":%lld", (long long)params->max_tokens);
    if (params->schema) {
        fputs(",\"responseMimeType\":\"application/json\",\"responseJsonSchema\":", f);
        chela_write_json(f, params->schema);
    }
    put_thinking_config(f, b->model, params);
    fclose(f);
    if (n)
        fprintf(out, ",\"generationConfig\":{%s}", text + 1);
    free(text);
}

void request_write(FILE *out, const struct chela_begin *b, struct chela_toolset *tools,
                   const struct chela_params *params, bool openapi)
{
    static const struct chela_turns turns = {
        .user = "{\"role\":\"user\",\"parts\":[",
        .assistant = "{\"role\":\"model\",\"parts\":[",
        .close = "]}",
        .opening = "{\"text\":\"(the conversation goes on)\"}",
    };
    fputs("{\"contents\":[", out);
    chela_write_turns(out, b, &turns);
    fputc(']', out);
    if (b->system.n) {
        fputs(",\"systemInstruction\":{\"parts\":[{\"text\":", out);
        chela_write_string(out, b->system.s, (size_t)b->system.n);
        fputs("}]}", out);
    }
    chela_toolset_write(out, tools, ",\"tools\":[{\"functionDeclarations\":[", put_tool, &openapi,
                        "]}]");
    if (params->choice)
        put_tool_choice(out, params->choice);
    put_generation(out, b, params);
    fputc('}', out);
}
