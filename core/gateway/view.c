/*
 * Stored things in the shape of the protocol (see view.h). Called by the methods; reads no store
 * itself.
 */
#include "gateway/view.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "support/json.h"

const char *view_text(const struct journal_row *row, unsigned column)
{
    return column < row->columns && row->values[column].s.s ? row->values[column].s.s : "";
}

int64_t view_int(const struct journal_row *row, unsigned column)
{
    return column < row->columns ? row->values[column].i : 0;
}

enum { H_SEQ, H_ROLE, H_BODY, H_RUN, H_MODEL, H_IN, H_OUT, H_COST, H_AT };
enum {
    S_KEY,
    S_ID,
    S_AGENT,
    S_FIELDS,
    S_CREATED,
    S_UPDATED,
    S_EPOCH,
    S_FIRST,
    S_LAST,
    S_SUMMARY,
    S_SUMMARY_SEQ
};

static json_object *parse(const char *text)
{
    json_object *o = NULL;
    return chela_json_parse(text, strlen(text), NULL, &o, NULL) == 0 ? o : NULL;
}

static void put_cut(json_object *o, const char *key, json_object *part, const char *from,
                    size_t max_chars)
{
    size_t n = 0;
    const char *text = chela_json_string(part, from, &n);
    if (text)
        chela_json_put_string(o, key, text, max_chars ? utf8_cut(text, n, max_chars) : n);
}

/* One part of a stored message as the protocol shows it, or NULL. */
static json_object *view_part(json_object *part, size_t max_chars)
{
    const char *type = chela_json_string(part, "type", NULL);
    json_object *o = chela_json_new_object();
    if (type && strcmp(type, "text") == 0) {
        chela_json_put_text(o, "type", "text");
        put_cut(o, "text", part, "text", max_chars);
    } else if (type && strcmp(type, "thinking") == 0) {
        chela_json_put_text(o, "type", "thinking");
        put_cut(o, "thinking", part, "text", max_chars);
    } else if (type && strcmp(type, "toolCall") == 0) {
        chela_json_put_text(o, "type", "toolCall");
        chela_json_put_text(o, "id", chela_json_string(part, "id", NULL));
        chela_json_put_text(o, "name", chela_json_string(part, "name", NULL));
        chela_json_put(o, "arguments", json_object_get(chela_json_object(part, "arguments")));
    } else if (type && (strcmp(type, "image") == 0 || strcmp(type, "file") == 0)) {
        chela_json_put_text(o, "type", type);
        chela_json_put_text(o, "fileName", chela_json_string(part, "name", NULL));
        chela_json_put_text(o, "mimeType", chela_json_string(part, "mime", NULL));
        chela_json_put_text(o, "hash", chela_json_string(part, "hash", NULL));
        chela_json_put_int(o, "sizeBytes", chela_json_int(part, "size", 0));
    } else {
        json_object_put(o);
        return NULL;
    }
    return o;
}

static json_object *view_parts(json_object *parts, size_t max_chars)
{
    json_object *list = chela_json_new_array();
    if (json_object_is_type(parts, json_type_string)) {
        json_object *o = chela_json_push_object(list);
        chela_json_put_text(o, "type", "text");
        chela_json_put_text(o, "text", json_object_get_string(parts));
    }
    for (size_t i = 0; json_object_is_type(parts, json_type_array) && i < chela_json_length(parts);
         i++) {
        json_object *o = view_part(chela_json_at(parts, i), max_chars);
        if (o)
            chela_json_push(list, o);
    }
    return list;
}

/* What all entries of a row have. */
static json_object *entry(const struct journal_row *row, const char *session, const char *role,
                          size_t index)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "role", role);
    chela_json_put_int(o, "timestamp", view_int(row, H_AT));
    json_object *meta = chela_json_put_object(o, "__openclaw");
    CLEANUP(freep)
    char *id = index ? xprintf("%s#%lld.%zu", session, (long long)view_int(row, H_SEQ), index)
                     : xprintf("%s#%lld", session, (long long)view_int(row, H_SEQ));
    chela_json_put_text(meta, "id", id);
    chela_json_put_int(meta, "seq", view_int(row, H_SEQ));
    chela_json_put_int(meta, "recordTimestampMs", view_int(row, H_AT));
    if (*view_text(row, H_RUN))
        chela_json_put_text(meta, "runId", view_text(row, H_RUN));
    return o;
}

/* What a tool sent to the person: pictures, and files to be fetched. */
static void view_files(json_object *content, json_object *files)
{
    for (size_t i = 0; i < chela_json_length(files); i++) {
        json_object *file = chela_json_at(files, i), *o = chela_json_push_object(content);
        const char *mime = chela_json_string(file, "mime", NULL);
        chela_json_put_text(o, "type", mime && strncmp(mime, "image/", 6) == 0 ? "image" : "file");
        chela_json_put_text(o, "fileName", chela_json_string(file, "name", NULL));
        chela_json_put_text(o, "mimeType", mime);
        chela_json_put_text(o, "hash", chela_json_string(file, "hash", NULL));
        chela_json_put_int(o, "sizeBytes", chela_json_int(file, "size", 0));
    }
}

static void view_results(const struct journal_row *row, const char *session, json_object *parts,
                         size_t max_chars, json_object *list)
{
    for (size_t i = 0; i < chela_json_length(parts); i++) {
        json_object *part = chela_json_at(parts, i), *o = entry(row, session, "toolResult", i);
        chela_json_put_text(o, "toolCallId", chela_json_string(part, "callId", NULL));
        chela_json_put_text(o, "toolName", chela_json_string(part, "name", NULL));
        json_object *content = view_parts(chela_json_get(part, "content"), max_chars);
        view_files(content, chela_json_array(part, "files"));
        chela_json_put(o, "content", content);
        chela_json_put_bool(o, "isError", chela_json_bool(part, "isError", false));
        chela_json_push(list, o);
    }
}

static void put_model(json_object *o, const struct journal_row *row)
{
    const char *model = view_text(row, H_MODEL), *slash = strchr(model, '/');
    if (!slash)
        return;
    chela_json_put_string(o, "provider", model, (size_t)(slash - model));
    chela_json_put_text(o, "model", slash + 1);
    json_object *usage = chela_json_put_object(o, "usage");
    chela_json_put_int(usage, "input", view_int(row, H_IN));
    chela_json_put_int(usage, "output", view_int(row, H_OUT));
    chela_json_put_int(usage, "total", view_int(row, H_IN) + view_int(row, H_OUT));
}

void view_message(const struct journal_row *row, const char *session, size_t max_chars,
                  json_object *list)
{
    const char *role = view_text(row, H_ROLE);
    json_object *body = parse(view_text(row, H_BODY)), *parts = body;
    if (json_object_is_type(body, json_type_object))
        parts = chela_json_get(body, "content");
    if (strcmp(role, "tool") == 0) {
        view_results(row, session, parts, max_chars, list);
    } else if (strcmp(role, "user") == 0 || strcmp(role, "assistant") == 0) {
        json_object *o = entry(row, session, role, 0);
        chela_json_put(o, "content", view_parts(parts, max_chars));
        put_model(o, row);
        if (strcmp(role, "user") == 0 && *view_text(row, H_RUN)) {
            CLEANUP(freep) char *key = xprintf("%s:user", view_text(row, H_RUN));
            chela_json_put_text(o, "idempotencyKey", key);
        }
        chela_json_push(list, o);
    }
    json_object_put(body);
}

json_object *view_live_message(json_object *payload)
{
    json_object *message = chela_json_object(payload, "message"), *list = chela_json_new_array();
    const char *role = chela_json_string(message, "role", NULL),
               *session = chela_json_string(payload, "sessionKey", NULL),
               *run = chela_json_string(chela_json_object(message, "__openclaw"), "runId", NULL);
    size_t n = 0;
    json_object *content = chela_json_get(message, "content");
    const char *body = chela_json_text(content, &n);
    struct chela_value values[H_AT + 1] = {0};
    struct journal_row row = {.columns = H_AT + 1, .values = values};
    values[H_SEQ].i = chela_json_int(payload, "messageSeq", 0);
    values[H_ROLE].s = chela_s(role && strcmp(role, "toolResult") == 0 ? "tool" : role);
    values[H_BODY].s = chela_sn(body, n);
    values[H_RUN].s = chela_s(run);
    values[H_AT].i = chela_json_int(message, "timestamp", 0);
    view_message(&row, session, 0, list);
    return list;
}

static void add_run(void *arg, const struct agent_run *r)
{
    chela_json_push(arg, json_object_new_string(r->run));
}

static void copy(json_object *to, const char *name, json_object *from, const char *member)
{
    json_object *value = chela_json_get(from, member);
    if (value)
        chela_json_put(to, name, json_object_get(value));
}

json_object *view_session(const struct journal_row *row)
{
    json_object *o = chela_json_new_object(), *fields = parse(view_text(row, S_FIELDS));
    const char *key = view_text(row, S_KEY), *model = chela_json_string(fields, "model", NULL);
    chela_json_put_text(o, "key", key);
    chela_json_put_text(o, "sessionId", view_text(row, S_ID));
    chela_json_put_text(o, "kind",
                        strstr(key, ":group:") || strstr(key, ":channel:") ? "group" : "direct");
    chela_json_put_text(o, "agentId", view_text(row, S_AGENT));
    chela_json_put_int(o, "updatedAt", view_int(row, S_UPDATED));
    json_object *runs = chela_json_new_array();
    agent_runs(key, add_run, runs);
    chela_json_put_bool(o, "hasActiveRun", chela_json_length(runs) > 0);
    chela_json_put(o, "activeRunIds", runs);
    const char *slash = model ? strchr(model, '/') : NULL;
    if (slash) {
        chela_json_put_string(o, "modelProvider", model, (size_t)(slash - model));
        chela_json_put_text(o, "model", slash + 1);
    }
    copy(o, "label", fields, "title");
    copy(o, "derivedTitle", fields, "derivedTitle");
    copy(o, "displayName", fields, "title");
    copy(o, "channel", fields, "channel");
    copy(o, "lastMessagePreview", fields, "preview");
    copy(o, "thinkingLevel", fields, "thinking");
    copy(o, "verboseLevel", fields, "verbose");
    copy(o, "inputTokens", chela_json_object(fields, "usage"), "input");
    copy(o, "outputTokens", chela_json_object(fields, "usage"), "output");
    copy(o, "contextTokens", fields, "contextTokens");
    chela_json_put_bool(o, "archived", chela_json_bool(fields, "archived", false));
    chela_json_put_bool(o, "pinned", chela_json_bool(fields, "pinned", false));
    chela_json_put_bool(o, "unread", chela_json_bool(fields, "unread", false));
    json_object_put(fields);
    return o;
}
