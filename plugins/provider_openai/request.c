/*
 * Writes requests of the chat completions API (see request.h). Called by provider_openai.c.
 * Rendered messages go in as the text that they were rendered to, so a request costs no more than
 * its length.
 */
#include "request.h"

#include <stdlib.h>
#include <string.h>

#include "support/json.h"
#include "support/stream.h"

/* PRESET(name, URL, help, max_tokens, developer, effort, usage_in_stream, replay_reasoning,
 * null_content, local) */
#define PRESETS(PRESET)                                                                            \
    PRESET("openai", "https://api.openai.com/v1", "OpenAI", "max_completion_tokens", true, true,   \
           true, false, true, false)                                                               \
    PRESET("vllm", "http://localhost:8000/v1", "vLLM on this machine", "max_tokens", false, false, \
           true, false, true, true)                                                                \
    PRESET("llama.cpp-openai", "http://localhost:8080/v1", "llama.cpp on this machine",            \
           "max_tokens", false, false, true, false, true, true)                                    \
    PRESET("ollama-openai", "http://localhost:11434/v1", "Ollama on this machine", "max_tokens",   \
           false, false, true, false, true, true)                                                  \
    PRESET("groq", "https://api.groq.com/openai/v1", "Groq", "max_completion_tokens", false, true, \
           true, false, true, false)                                                               \
    PRESET("deepseek", "https://api.deepseek.com", "DeepSeek", "max_tokens", false, false, true,   \
           true, false, false)                                                                     \
    PRESET("xai", "https://api.x.ai/v1", "xAI", "max_completion_tokens", false, true, true, false, \
           true, false)                                                                            \
    PRESET("openrouter", "https://openrouter.ai/api/v1", "OpenRouter", "max_tokens", false, false, \
           true, false, true, false)

#define ROW(name, url, help, ...) {name, url, __VA_ARGS__},
static const struct preset presets[] = {PRESETS(ROW)};
#define VALUE(name, url, help, ...) {name, 0, 0, url, help, NULL},
const struct chela_option preset_values[] = {PRESETS(VALUE){NULL, 0, 0, NULL, NULL, NULL}};

static void override(struct chela_inst *in, const char *option, bool *value)
{
    struct chela_str text = chela_option_text(in, option);
    if (text.n)
        *value = chela_option_number(in, option) != 0;
}

struct preset preset_of(struct chela_inst *in)
{
    struct preset p = presets[0];
    struct chela_str name = chela_option_text(in, "preset"),
                     url = chela_option_text(in, "base_url"),
                     field = chela_option_text(in, "max_tokens_field");
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
        if (chela_str_is(name, presets[i].name))
            p = presets[i];
    if (url.n)
        p.base_url = url.s;
    if (field.n)
        p.max_tokens = field.s;
    override(in, "developer_role", &p.developer);
    override(in, "reasoning_effort", &p.effort);
    override(in, "usage_in_stream", &p.usage_in_stream);
    return p;
}

static void put(FILE *out, json_object *o)
{
    size_t n;
    const char *text = chela_json_text(o, &n);
    fwrite(text, 1, n, out);
}

/* A JSON string of what `write` puts out. */
static void put_string(FILE *out, const char *text, size_t n)
{
    json_object *s = chela_json_new_string(text, n);
    put(out, s);
    json_object_put(s);
}

static void put_result_string(FILE *out, json_object *content)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f)
        abort();
    chela_write_result_text(f, content);
    fclose(f);
    put_string(out, text, n);
    free(text);
}

static const char *type_of(json_object *part)
{
    const char *type = chela_json_string(part, "type", NULL);
    return type ? type : "";
}

/* ---- user ---- */

static void put_user_part(FILE *out, json_object *part, const struct chela_pairs *blobs)
{
    const char *mime = chela_json_string(part, "mime", NULL),
               *name = chela_json_string(part, "name", NULL);
    struct chela_str bytes = chela_blob_of(blobs, chela_json_string(part, "hash", NULL));
    if (strcmp(type_of(part), "image") == 0 && bytes.s) {
        fprintf(out, "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:%s;base64,",
                mime ? mime : "image/png");
        chela_write_base64(out, bytes.s, (size_t)bytes.n);
        fputs("\"}}", out);
    } else if (strcmp(type_of(part), "file") == 0 && bytes.s) {
        fputs("{\"type\":\"file\",\"file\":{\"filename\":", out);
        put_string(out, name ? name : "file", strlen(name ? name : "file"));
        fprintf(out, ",\"file_data\":\"data:%s;base64,", mime ? mime : "application/octet-stream");
        chela_write_base64(out, bytes.s, (size_t)bytes.n);
        fputs("\"}}", out);
    } else {
        size_t n = 0;
        const char *text = chela_json_string(part, "text", &n);
        fputs("{\"type\":\"text\",\"text\":", out);
        put_string(out, text ? text : "(a file that is no longer here)", text ? n : 31);
        fputc('}', out);
    }
}

static void put_user(FILE *out, json_object *content, const struct chela_pairs *blobs)
{
    size_t parts = chela_json_length(content), n = 0;
    const char *only = parts == 1 ? chela_json_string(chela_json_at(content, 0), "text", &n) : NULL;
    fputs("{\"role\":\"user\",\"content\":", out);
    if (only) {
        put_string(out, only, n);
    } else {
        fputc('[', out);
        for (size_t i = 0; i < parts; i++) {
            if (i)
                fputc(',', out);
            put_user_part(out, chela_json_at(content, i), blobs);
        }
        fputc(']', out);
    }
    fputc('}', out);
}

/* ---- assistant ---- */

/* The texts of all parts of a type, in order, as one JSON string; false if there are none. */
static bool put_joined(FILE *out, json_object *content, const char *type, const char *before,
                       const char *provider)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    bool any = false;
    if (!f)
        abort();
    for (size_t i = 0; i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i);
        size_t length;
        const char *piece = chela_json_string(part, "text", &length),
                   *by = chela_json_string(part, "provider", NULL);
        if (strcmp(type_of(part), type) != 0 || !piece ||
            (provider && (!by || strcmp(by, provider) != 0)))
            continue;
        fwrite(piece, 1, length, f);
        any = true;
    }
    fclose(f);
    if (any) {
        fputs(before, out);
        put_string(out, text, n);
    }
    free(text);
    return any;
}

static void put_calls(FILE *out, json_object *content)
{
    bool first = true;
    for (size_t i = 0; i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i),
                    *arguments = chela_json_object(part, "arguments");
        if (strcmp(type_of(part), "toolCall") != 0)
            continue;
        size_t n = 0, length = 2;
        const char *name = chela_json_string(part, "name", &n),
                   *id = chela_json_string(part, "id", NULL);
        char wire[CHELA_TOOL_NAME_SIZE];
        chela_tool_wire_name(name ? name : "", n, wire);
        fputs(first ? ",\"tool_calls\":[{\"id\":" : ",{\"id\":", out);
        put_string(out, id ? id : "", id ? strlen(id) : 0);
        fprintf(out, ",\"type\":\"function\",\"function\":{\"name\":\"%s\",\"arguments\":", wire);
        const char *text = arguments ? chela_json_text(arguments, &length) : "{}";
        put_string(out, text, length);
        fputs("}}", out);
        first = false;
    }
    if (!first)
        fputc(']', out);
}

static void put_assistant(FILE *out, const struct preset *p, const char *provider,
                          json_object *content)
{
    fputs("{\"role\":\"assistant\"", out);
    if (!put_joined(out, content, "text", ",\"content\":", NULL))
        fputs(p->null_content ? ",\"content\":null" : ",\"content\":\"\"", out);
    if (p->replay_reasoning)
        put_joined(out, content, "thinking", ",\"reasoning_content\":", provider);
    put_calls(out, content);
    fputc('}', out);
}

static void put_results(FILE *out, json_object *content)
{
    for (size_t i = 0; i < chela_json_length(content); i++) {
        json_object *part = chela_json_at(content, i);
        const char *id = chela_json_string(part, "callId", NULL);
        if (i)
            fputc(',', out);
        fputs("{\"role\":\"tool\",\"tool_call_id\":", out);
        put_string(out, id ? id : "", id ? strlen(id) : 0);
        fputs(",\"content\":", out);
        put_result_string(out, chela_json_get(part, "content"));
        fputc('}', out);
    }
}

void request_message(FILE *out, const struct preset *p, const char *provider,
                     const struct chela_render *r)
{
    json_object *message = NULL;
    if (chela_json_parse(r->message.s, (size_t)r->message.n, NULL, &message, NULL) < 0)
        return;
    json_object *content = chela_json_get(message, "content");
    if (chela_str_is(r->role, "assistant"))
        put_assistant(out, p, provider, content);
    else if (chela_str_is(r->role, "tool"))
        put_results(out, content);
    else
        put_user(out, content, &r->blobs);
    json_object_put(message);
}

/* ---- the whole ---- */

static void put_tools(FILE *out, const struct chela_begin *b)
{
    for (uint64_t i = 0; i < b->tools.n; i++) {
        json_object *tool = NULL;
        struct chela_str manifest = b->tools.v[i].value, name = b->tools.v[i].name;
        char wire[CHELA_TOOL_NAME_SIZE];
        if (chela_json_parse(manifest.s, (size_t)manifest.n, NULL, &tool, NULL) < 0)
            continue;
        size_t n = 0;
        const char *about = chela_json_string(tool, "description", &n);
        json_object *parameters = chela_json_object(tool, "parameters");
        chela_tool_wire_name(name.s, (size_t)name.n, wire);
        fprintf(out, "%s{\"type\":\"function\",\"function\":{\"name\":\"%s\",\"description\":",
                i ? "," : ",\"tools\":[", wire);
        put_string(out, about ? about : "", n);
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

static void put_tool_choice(FILE *out, json_object *params)
{
    const char *choice = chela_json_string(params, "tool_choice", NULL);
    if (!choice)
        return;
    if (strcmp(choice, "auto") == 0 || strcmp(choice, "none") == 0 ||
        strcmp(choice, "required") == 0) {
        fprintf(out, ",\"tool_choice\":\"%s\"", choice);
    } else {
        char wire[CHELA_TOOL_NAME_SIZE];
        chela_tool_wire_name(choice, strlen(choice), wire);
        fprintf(out, ",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"%s\"}}",
                wire);
    }
}

static void put_params(FILE *out, const struct preset *p, const struct chela_begin *b, bool thinks)
{
    json_object *params = NULL, *schema;
    chela_json_parse(b->params.s, (size_t)b->params.n, NULL, &params, NULL);
    int64_t most = chela_json_int(params, "max_tokens", 0);
    if (most > 0)
        fprintf(out, ",\"%s\":%lld", p->max_tokens, (long long)most);
    if (chela_json_has(params, "temperature") && !thinks) {
        fputs(",\"temperature\":", out);
        put(out, chela_json_get(params, "temperature"));
    }
    if (thinks && p->effort)
        fprintf(out, ",\"reasoning_effort\":\"%s\"", chela_json_string(params, "thinking", NULL));
    schema = chela_json_object(params, "schema");
    if (schema) {
        fputs(",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"answer\","
              "\"schema\":",
              out);
        put(out, schema);
        fputs("}}", out);
    }
    if (b->tools.n)
        put_tool_choice(out, params);
    json_object_put(params);
}

static bool wants_thinking(const struct chela_begin *b)
{
    json_object *params = NULL;
    chela_json_parse(b->params.s, (size_t)b->params.n, NULL, &params, NULL);
    const char *level = chela_json_string(params, "thinking", NULL);
    bool thinks = level && (strcmp(level, "low") == 0 || strcmp(level, "medium") == 0 ||
                            strcmp(level, "high") == 0);
    json_object_put(params);
    return thinks;
}

void request_write(FILE *out, const struct preset *p, const struct chela_begin *b, bool stream)
{
    bool thinks = wants_thinking(b), first = true;
    fputs("{\"model\":", out);
    put_string(out, b->model.s, (size_t)b->model.n);
    fputs(",\"messages\":[", out);
    if (b->system.n) {
        fprintf(out,
                "{\"role\":\"%s\",\"content\":", thinks && p->developer ? "developer" : "system");
        put_string(out, b->system.s, (size_t)b->system.n);
        fputc('}', out);
        first = false;
    }
    for (uint64_t i = 0; i < b->messages.n; i++) {
        if (b->messages.v[i].value.n == 0)
            continue;
        if (!first)
            fputc(',', out);
        fwrite(b->messages.v[i].value.s, 1, (size_t)b->messages.v[i].value.n, out);
        first = false;
    }
    fputc(']', out);
    put_tools(out, b);
    put_params(out, p, b, thinks);
    if (stream)
        fputs(p->usage_in_stream ? ",\"stream\":true,\"stream_options\":{\"include_usage\":true}"
                                 : ",\"stream\":true",
              out);
    fputc('}', out);
}
