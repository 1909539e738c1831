/*
 * Writes requests of the Messages API (see request.h). Called by provider_anthropic.c.
 *
 * Format: https://docs.anthropic.com/en/api/messages
 */
#include "request.h"

#include <stdlib.h>
#include <string.h>

#include "support/json.h"
#include "support/stream.h"

static const char cache_mark[] = ",\"cache_control\":{\"type\":\"ephemeral\"}";

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

static void put_member(FILE *out, const char *before, json_object *o, const char *member)
{
    size_t n = 0;
    const char *text = chela_json_string(o, member, &n);
    fputs(before, out);
    put_string(out, text, n);
}

static bool type_is(json_object *part, const char *type)
{
    const char *its = chela_json_string(part, "type", NULL);
    return its && strcmp(its, type) == 0;
}

/* Ids may hold [a-zA-Z0-9_-] only; one from another service may not. */
static void put_id(FILE *out, const char *id)
{
    fputc('"', out);
    for (; id && *id; id++)
        fputc((*id >= 'a' && *id <= 'z') || (*id >= 'A' && *id <= 'Z') ||
                      (*id >= '0' && *id <= '9') || *id == '-'
                  ? *id
                  : '_',
              out);
    fputc('"', out);
}

static void put_media(FILE *out, json_object *part, struct chela_str bytes)
{
    const char *mime = chela_json_string(part, "mime", NULL);
    bool image = type_is(part, "image");
    fprintf(out, "{\"type\":\"%s\",\"source\":{\"type\":\"base64\",\"media_type\":",
            image ? "image" : "document");
    put_string(out, mime ? mime : "image/png", strlen(mime ? mime : "image/png"));
    fputs(",\"data\":\"", out);
    chela_write_base64(out, bytes.s, (size_t)bytes.n);
    fputs("\"}}", out);
}

static void put_result_content(FILE *out, json_object *content)
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

static bool blank(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r\n", text[i]))
            return false;
    return true;
}

/* One content block; false if the part has no place here (blank text, foreign thinking). */
static bool put_block(FILE *out, json_object *part, const char *provider,
                      const struct chela_pairs *blobs)
{
    size_t n = 0;
    const char *text = chela_json_string(part, "text", &n),
               *by = chela_json_string(part, "provider", NULL);
    struct chela_str bytes = chela_blob_of(blobs, chela_json_string(part, "hash", NULL));
    if (type_is(part, "text")) {
        if (!text || blank(text, n))
            return false;
        fputs("{\"type\":\"text\",\"text\":", out);
        put_string(out, text, n);
        fputc('}', out);
    } else if (type_is(part, "thinking")) {
        const char *signature = chela_json_string(part, "signature", NULL);
        if (!signature || !*signature || !by || strcmp(by, provider) != 0)
            return false;
        if (n) {
            put_member(out, "{\"type\":\"thinking\",\"thinking\":", part, "text");
            put_member(out, ",\"signature\":", part, "signature");
        } else {
            put_member(out, "{\"type\":\"redacted_thinking\",\"data\":", part, "signature");
        }
        fputc('}', out);
    } else if (type_is(part, "image") || type_is(part, "file")) {
        if (bytes.s)
            put_media(out, part, bytes);
        else
            fputs("{\"type\":\"text\",\"text\":\"(a file that is no longer here)\"}", out);
    } else if (type_is(part, "toolCall")) {
        char wire[CHELA_TOOL_NAME_SIZE];
        const char *name = chela_json_string(part, "name", &n);
        json_object *arguments = chela_json_object(part, "arguments");
        chela_tool_wire_name(name ? name : "", name ? n : 0, wire);
        fputs("{\"type\":\"tool_use\",\"id\":", out);
        put_id(out, chela_json_string(part, "id", NULL));
        fprintf(out, ",\"name\":\"%s\",\"input\":", wire);
        if (arguments)
            put(out, arguments);
        else
            fputs("{}", out);
        fputc('}', out);
    } else if (type_is(part, "toolResult")) {
        fputs("{\"type\":\"tool_result\",\"tool_use_id\":", out);
        put_id(out, chela_json_string(part, "callId", NULL));
        fputs(",\"content\":", out);
        put_result_content(out, chela_json_get(part, "content"));
        fputs(chela_json_bool(part, "isError", false) ? ",\"is_error\":true}" : "}", out);
    } else {
        return false;
    }
    return true;
}

void request_message(FILE *out, const char *provider, const struct chela_render *r)
{
    json_object *message = NULL;
    bool any = false, assistant = chela_str_is(r->role, "assistant");
    if (chela_json_parse(r->message.s, (size_t)r->message.n, NULL, &message, NULL) < 0)
        return;
    json_object *content = chela_json_array(message, "content");
    fprintf(out, "{\"role\":\"%s\",\"content\":[", assistant ? "assistant" : "user");
    for (size_t i = 0; i < chela_json_length(content); i++) {
        char *block = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&block, &n);
        if (!f)
            abort();
        bool has = put_block(f, chela_json_at(content, i), provider, &r->blobs);
        fclose(f);
        if (has) {
            if (any)
                fputc(',', out);
            fwrite(block, 1, n, out);
            any = true;
        }
        free(block);
    }
    if (!any)
        fputs("{\"type\":\"text\",\"text\":\"(empty)\"}", out);
    fputs("]}", out);
    json_object_put(message);
}

/* ---- the whole ---- */

static void put_tools(FILE *out, const struct chela_begin *b, bool cache)
{
    for (uint64_t i = 0; i < b->tools.n; i++) {
        json_object *tool = NULL;
        struct chela_str manifest = b->tools.v[i].value, name = b->tools.v[i].name;
        char wire[CHELA_TOOL_NAME_SIZE];
        if (chela_json_parse(manifest.s, (size_t)manifest.n, NULL, &tool, NULL) < 0)
            continue;
        json_object *parameters = chela_json_object(tool, "parameters");
        chela_tool_wire_name(name.s, (size_t)name.n, wire);
        fprintf(out, "%s{\"name\":\"%s\"", i ? "," : ",\"tools\":[", wire);
        put_member(out, ",\"description\":", tool, "description");
        fputs(",\"input_schema\":", out);
        if (parameters)
            put(out, parameters);
        else
            fputs("{\"type\":\"object\",\"properties\":{}}", out);
        if (cache && i + 1 == b->tools.n)
            fputs(cache_mark, out);
        fputc('}', out);
        json_object_put(tool);
    }
    if (b->tools.n)
        fputc(']', out);
}

/* Thinking budgets by level; the answer needs room beside them. */
static int64_t budget_of(const char *level)
{
    return !level                         ? 0
           : strcmp(level, "low") == 0    ? 2048
           : strcmp(level, "medium") == 0 ? 8192
           : strcmp(level, "high") == 0   ? 24576
                                          : 0;
}

static void put_tool_choice(FILE *out, const char *choice)
{
    if (strcmp(choice, "auto") == 0 || strcmp(choice, "none") == 0) {
        fprintf(out, ",\"tool_choice\":{\"type\":\"%s\"}", choice);
    } else if (strcmp(choice, "required") == 0) {
        fputs(",\"tool_choice\":{\"type\":\"any\"}", out);
    } else {
        char wire[CHELA_TOOL_NAME_SIZE];
        chela_tool_wire_name(choice, strlen(choice), wire);
        fprintf(out, ",\"tool_choice\":{\"type\":\"tool\",\"name\":\"%s\"}", wire);
    }
}

static void put_params(FILE *out, const struct chela_begin *b, int64_t max_tokens)
{
    json_object *params = NULL;
    chela_json_parse(b->params.s, (size_t)b->params.n, NULL, &params, NULL);
    int64_t most = chela_json_int(params, "max_tokens", max_tokens),
            budget = budget_of(chela_json_string(params, "thinking", NULL));
    if (budget && most <= budget)
        most = budget + max_tokens;
    fprintf(out, ",\"max_tokens\":%lld", (long long)most);
    if (budget) {
        fprintf(out, ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":%lld}",
                (long long)budget);
    } else if (chela_json_has(params, "temperature")) {
        fputs(",\"temperature\":", out);
        put(out, chela_json_get(params, "temperature"));
    }
    const char *choice = chela_json_string(params, "tool_choice", NULL);
    if (choice && b->tools.n)
        put_tool_choice(out, choice);
    json_object_put(params);
}

/* A rendered message with the cache's mark on its last block: the text ends in "}]}". */
static void put_marked(FILE *out, struct chela_str message)
{
    if (message.n < 3 || memcmp(message.s + message.n - 3, "}]}", 3) != 0) {
        fwrite(message.s, 1, (size_t)message.n, out);
        return;
    }
    fwrite(message.s, 1, (size_t)message.n - 3, out);
    fputs(cache_mark, out);
    fputs("}]}", out);
}

void request_write(FILE *out, const struct chela_begin *b, int64_t max_tokens, bool cache,
                   bool stream)
{
    uint64_t last_user = UINT64_MAX;
    for (uint64_t i = 0; i < b->messages.n; i++)
        if (!chela_str_is(b->messages.v[i].name, "assistant"))
            last_user = i;
    fputs("{\"model\":", out);
    put_string(out, b->model.s, (size_t)b->model.n);
    put_params(out, b, max_tokens);
    if (b->system.n) {
        fputs(",\"system\":[{\"type\":\"text\",\"text\":", out);
        put_string(out, b->system.s, (size_t)b->system.n);
        fprintf(out, "%s}]", cache ? cache_mark : "");
    }
    fputs(",\"messages\":[", out);
    bool first = true;
    for (uint64_t i = 0; i < b->messages.n; i++) {
        struct chela_str m = b->messages.v[i].value;
        if (!m.n)
            continue;
        if (!first)
            fputc(',', out);
        if (cache && i == last_user)
            put_marked(out, m);
        else
            fwrite(m.s, 1, (size_t)m.n, out);
        first = false;
    }
    fputc(']', out);
    put_tools(out, b, cache);
    fputs(stream ? ",\"stream\":true}" : "}", out);
}
