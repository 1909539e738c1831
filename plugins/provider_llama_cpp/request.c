/*
 * Writes requests of a llama.cpp server (see request.h). Called by provider_llama_cpp.c.
 *
 * Format: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
 */
#include "request.h"

#include <stdlib.h>
#include <string.h>

#include "support/chat.h"
#include "support/forced.h"
#include "support/tool_schema.h"

const struct chela_naming request_naming = {.id_most = 64};

static const char image_head[] = "data:";

/* ---- a message ---- */

static bool by_schema(const struct chela_message *m)
{
    return *(const enum request_tools *)m->arg == REQUEST_SCHEMA;
}

static void put_part(FILE *out, const struct chela_message *m, json_object *part)
{
    struct chela_str bytes = chela_part_blob(m, part);
    if (chela_part_is(part, "text")) {
        chela_chat_text(out, part);
    } else if (chela_part_is(part, "image") && bytes.s) {
        fprintf(out, "{\"type\":\"image_url\",\"image_url\":{\"url\":\"%s%s;base64,", image_head,
                chela_part_mime(part, "image/png"));
        chela_write_base64(out, bytes.s, (size_t)bytes.n);
        fputs("\"}}", out);
    } else {
        chela_chat_absent(out, part);
    }
}

static void put_user(FILE *out, const struct chela_message *m)
{
    chela_chat_user(out, m, NULL, put_part);
}

/* An earlier answer in the form that the schema forces, so the model sees what it is to write. */
static void put_forced_answer(FILE *out, const struct chela_message *m)
{
    json_object *o = chela_json_new_object(), *calls = NULL;
    for (size_t i = 0; i < chela_json_length(m->content); i++) {
        json_object *part = chela_json_at(m->content, i);
        char name[CHELA_NAME_SIZE];
        if (!chela_part_is(part, "toolCall"))
            continue;
        if (!calls)
            calls = chela_json_put_array(o, CHELA_FORCED_CALLS);
        json_object *call = chela_json_push_object(calls);
        chela_part_wire_name(m, part, name);
        chela_json_put_text(call, "name", name);
        chela_json_put(call, "arguments", json_object_get(chela_json_get(part, "arguments")));
    }
    size_t n;
    const char *text = chela_json_text(o, &n);
    fputs("{\"role\":\"assistant\",\"content\":", out);
    if (calls)
        chela_write_string(out, text, n);
    else if (!chela_write_joined(out, "", m, "text", false))
        fputs("\"\"", out);
    fputc('}', out);
    json_object_put(o);
}

static void put_assistant(FILE *out, const struct chela_message *m)
{
    if (by_schema(m)) {
        put_forced_answer(out, m);
        return;
    }
    fputs("{\"role\":\"assistant\"", out);
    if (!chela_write_joined(out, ",\"content\":", m, "text", false))
        fputs(",\"content\":\"\"", out);
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
        fputs(i ? "," : "", out);
        if (by_schema(m))
            fprintf(out,
                    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Result of "
                    "%s:\"},{\"type\":\"text\",\"text\":",
                    name);
        else
            fprintf(out,
                    "{\"role\":\"tool\",\"tool_call_id\":\"%s\",\"name\":\"%s\",\"content\":", id,
                    name);
        chela_write_result(out, part);
        fputs(by_schema(m) ? "}]}" : "}", out);
    }
}

void request_message(FILE *out, const struct chela_message *m)
{
    chela_write_by_role(out, m, put_user, put_assistant, put_results);
}

/* ---- /apply-template ---- */

/* The tools as words, for a model whose template knows none. */
static void write_told(FILE *out, const struct chela_toolset *offered)
{
    fputs("\n\nAnswer with one JSON object: {\"" CHELA_FORCED_TEXT
          "\": \"what you say\"}, or, to call "
          "tools, {\"" CHELA_FORCED_CALLS
          "\": [{\"name\": \"...\", \"arguments\": {...}}]}. The tools:\n",
          out);
    for (size_t i = 0; i < offered->count; i++) {
        const struct chela_offer *tool = &offered->offers[i];
        size_t n = 0;
        const char *about = chela_json_string(tool->manifest, "description", &n);
        fprintf(out, "- %s: ", tool->wire);
        if (about)
            fwrite(about, 1, n, out);
        fputs(" Arguments: ", out);
        chela_write_json(out, tool->parameters);
        fputc('\n', out);
    }
}

static bool put_system(FILE *out, const struct chela_begin *b, struct chela_toolset *offered,
                       enum request_tools tools)
{
    bool told = tools == REQUEST_SCHEMA && offered->count;
    char *text = NULL;
    size_t n = 0;
    if (!b->system.n && !told)
        return false;
    FILE *f = chela_write_open(&text, &n);
    fwrite(b->system.s, 1, (size_t)b->system.n, f);
    if (told)
        write_told(f, offered);
    fclose(f);
    fputs("{\"role\":\"system\",\"content\":", out);
    chela_write_string(out, text, n);
    fputc('}', out);
    free(text);
    return true;
}

void request_template(FILE *out, const struct chela_begin *b, struct chela_toolset *offered,
                      const struct chela_params *params, enum request_tools tools)
{
    fputs("{\"messages\":[", out);
    bool system = put_system(out, b, offered, tools);
    chela_write_messages(out, b, !system);
    fputc(']', out);
    if (tools == REQUEST_TEMPLATE)
        chela_chat_tools(out, offered);
    if (params->thinking || params->no_thinking)
        fprintf(out, ",\"chat_template_kwargs\":{\"enable_thinking\":%s}",
                params->thinking ? "true" : "false");
    fputc('}', out);
}

/* ---- /completion ---- */

/* {"type":"object","properties":{NAME: value},"required":[NAME],"additionalProperties":false} */
static json_object *object_of(const char *name, json_object *value)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "type", "object");
    chela_json_put(chela_json_put_object(o, "properties"), name, value);
    chela_json_push(chela_json_put_array(o, "required"), json_object_new_string(name));
    chela_json_put_bool(o, "additionalProperties", false);
    return o;
}

static json_object *call_schema(const struct chela_offer *tool)
{
    static const char *const dropped[] = {"pattern", "format", "$schema", "not", NULL};
    json_object *name = chela_json_new_object();
    chela_json_put_text(name, "const", tool->wire);
    json_object *call = object_of("name", name);
    chela_json_put(chela_json_object(call, "properties"), "arguments",
                   chela_schema_without(tool->parameters, dropped));
    chela_json_push(chela_json_array(call, "required"), json_object_new_string("arguments"));
    return call;
}

/* The schema of support/forced.h's object. choice: NULL or "auto": words or calls; "required":
 * calls; else the name of the one tool. */
static json_object *reply_schema(const struct chela_toolset *offered, const char *choice)
{
    json_object *calls = chela_json_new_object(), *any, *item = chela_json_new_object();
    bool free_choice = !choice || strcmp(choice, "auto") == 0;
    int only = choice ? chela_toolset_find(offered, choice, strlen(choice)) : -1;
    any = chela_json_put_array(item, "anyOf");
    for (size_t i = 0; i < offered->count; i++)
        if (only < 0 || (size_t)only == i)
            chela_json_push(any, call_schema(&offered->offers[i]));
    chela_json_put_text(calls, "type", "array");
    chela_json_put(calls, "items", item);
    chela_json_put_int(calls, "minItems", 1);
    json_object *called = object_of(CHELA_FORCED_CALLS, calls);
    if (!free_choice)
        return called;
    json_object *text = chela_json_new_object(), *either = chela_json_new_object();
    chela_json_put_text(text, "type", "string");
    json_object *list = chela_json_put_array(either, "anyOf");
    chela_json_push(list, object_of(CHELA_FORCED_TEXT, text));
    chela_json_push(list, called);
    return either;
}

bool request_forced(const struct chela_toolset *offered, const struct chela_params *params,
                    enum request_tools tools)
{
    bool none = params->choice && strcmp(params->choice, "none") == 0,
         chosen = params->choice && !none && strcmp(params->choice, "auto") != 0;
    return offered->count && !none && (tools == REQUEST_SCHEMA || chosen);
}

void request_completion(FILE *out, const struct chela_toolset *offered,
                        const struct chela_params *params, bool forced, int slot)
{
    if (params->max_tokens > 0)
        fprintf(out, ",\"n_predict\":%lld", (long long)params->max_tokens);
    chela_write_temperature(out, params);
    if (forced || params->schema) {
        json_object *schema =
            forced ? reply_schema(offered, params->choice) : json_object_get(params->schema);
        fputs(",\"json_schema\":", out);
        chela_write_json(out, schema);
        json_object_put(schema);
    } else if (offered->count) { /* marks of calls are printed, not swallowed as special */
        fputs(",\"preserved_tokens\":[\"<tool_call>\",\"</tool_call>\",\"[TOOL_CALLS]\"]", out);
    }
    if (slot >= 0)
        fprintf(out, ",\"id_slot\":%d", slot);
    fprintf(out, ",\"cache_prompt\":true,\"stream\":%s}", params->stream ? "true" : "false");
}

void request_prompt(FILE *out, const char *prompt, size_t length, json_object *messages)
{
    bool any = false;
    fputs("{\"prompt\":", out);
    for (size_t i = 0; i < chela_json_length(messages); i++) {
        json_object *content = chela_json_array(chela_json_at(messages, i), "content");
        for (size_t k = 0; k < chela_json_length(content); k++) {
            json_object *image = chela_json_object(chela_json_at(content, k), "image_url");
            const char *url = chela_json_string(image, "url", NULL),
                       *data = url ? strchr(url, ',') : NULL;
            if (!data)
                continue;
            if (!any) {
                fputs("{\"prompt_string\":", out);
                chela_write_string(out, prompt, length);
            }
            fprintf(out, "%s\"%s\"", any ? "," : ",\"multimodal_data\":[", data + 1);
            any = true;
        }
    }
    if (any)
        fputs("]}", out);
    else
        chela_write_string(out, prompt, length);
}
