/*
 * The gateway as an MCP server (see mcp_serve.h): JSON-RPC a line on standard input and output,
 * answered one after the other by asking the gateway. Nothing else is ever written to standard
 * output.
 */
#include "cli/mcp_serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/mem.h"
#include "cli/output.h"
#include "config.h"
#include "support/json.h"

enum { SEND_MS = 600000, LINE_MOST = 16 << 20 };

static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

#define SESSION                                                                                    \
    "\"session\":{\"type\":\"string\",\"description\":\"key of the session, as sessions_list "     \
    "gives it\"}"

static const char tools[] =
    "[{\"name\":\"sessions_list\",\"description\":\"Lists the conversations of this assistant, the "
    "newest first.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"limit\":{\"type\":"
    "\"integer\",\"minimum\":1,\"maximum\":200},\"search\":{\"type\":\"string\"}}},\"annotations\":"
    "{\"readOnlyHint\":true}},"
    "{\"name\":\"messages_read\",\"description\":\"Reads the newest messages of a conversation.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{" SESSION
    ",\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":200}},\"required\":[\"session\"]},"
    "\"annotations\":{\"readOnlyHint\":true}},"
    "{\"name\":\"message_send\",\"description\":\"Sends a message to the assistant in a "
    "conversation and waits for its answer.\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
    "{" SESSION ",\"message\":{\"type\":\"string\"}},\"required\":[\"session\",\"message\"]}},"
    "{\"name\":\"channel_send\",\"description\":\"Sends a text to a chat of a channel, as it is.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"channel\":{\"type\":\"string\"},"
    "\"to\":{\"type\":\"string\",\"description\":\"the chat, as the channel names it\"},"
    "\"message\":{\"type\":\"string\"}},\"required\":[\"channel\",\"to\",\"message\"]}}]";

struct server {
    struct client client;
    bool greeted;
};

/* ---- answers ---- */

static void write_frame(json_object *id, const char *member, json_object *value)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "jsonrpc", "2.0");
    chela_json_put(o, "id", json_object_get(id));
    chela_json_put(o, member, value);
    puts(chela_json_text(o, NULL));
    fflush(stdout);
    json_object_put(o);
}

static void write_error(json_object *id, int code, const char *text)
{
    json_object *e = chela_json_new_object();
    chela_json_put_int(e, "code", code);
    chela_json_put_text(e, "message", text);
    write_frame(id, "error", e);
}

static void write_text(json_object *id, const char *text, bool failed, json_object *structured)
{
    json_object *o = chela_json_new_object();
    json_object *part = chela_json_push_object(chela_json_put_array(o, "content"));
    chela_json_put_text(part, "type", "text");
    chela_json_put_text(part, "text", text);
    if (structured) {
        chela_json_put(o, "structuredContent", json_object_get(structured));
    }
    chela_json_put_bool(o, "isError", failed);
    write_frame(id, "result", o);
}

static void greet(json_object *id, json_object *params)
{
    const char *wanted = chela_json_string(params, "protocolVersion", NULL), *version = versions[0];
    json_object *o = chela_json_new_object();
    for (size_t i = 0; wanted && i < sizeof versions / sizeof versions[0]; i++) {
        if (strcmp(wanted, versions[i]) == 0) {
            version = versions[i];
        }
    }
    chela_json_put_text(o, "protocolVersion", version);
    chela_json_put_object(chela_json_put_object(o, "capabilities"), "tools");
    json_object *info = chela_json_put_object(o, "serverInfo");
    chela_json_put_text(info, "name", "chela");
    chela_json_put_text(info, "version", PACKAGE_VERSION);
    write_frame(id, "result", o);
}

/* ---- tools ---- */

/* The parameters of the gateway's method, NULL: something is missing. */
static json_object *params_of(const char *tool, json_object *arguments, const char **ret_method)
{
    const char *session = chela_json_string(arguments, "session", NULL),
               *message = chela_json_string(arguments, "message", NULL),
               *search = chela_json_string(arguments, "search", NULL);
    int64_t limit = chela_json_int(arguments, "limit", 50);
    char key[ID_UUID_SIZE];
    json_object *o = chela_json_new_object();
    if (strcmp(tool, "sessions_list") == 0) {
        *ret_method = "sessions.list";
        chela_json_put_int(o, "limit", limit);
        if (search) {
            chela_json_put_text(o, "search", search);
        }
        return o;
    }
    if (session && strcmp(tool, "messages_read") == 0) {
        *ret_method = "chat.history";
        chela_json_put_text(o, "sessionKey", session);
        chela_json_put_int(o, "limit", limit);
        return o;
    }
    if (session && message && strcmp(tool, "message_send") == 0) {
        *ret_method = "agent";
        id_uuid(key);
        chela_json_put_text(o, "sessionKey", session);
        chela_json_put_text(o, "message", message);
        chela_json_put_text(o, "idempotencyKey", key);
        return o;
    }
    const char *channel = chela_json_string(arguments, "channel", NULL),
               *to = chela_json_string(arguments, "to", NULL);
    if (channel && to && message && strcmp(tool, "channel_send") == 0) {
        *ret_method = "send";
        id_uuid(key);
        chela_json_put_text(o, "channel", channel);
        chela_json_put_text(o, "to", to);
        chela_json_put_text(o, "message", message);
        chela_json_put_text(o, "idempotencyKey", key);
        return o;
    }
    json_object_put(o);
    return NULL;
}

/* What the agent's run said: its payloads' texts. */
static char *answer_of(json_object *payload)
{
    json_object *list = chela_json_array(chela_json_object(payload, "result"), "payloads");
    struct buf b = {0};
    for (size_t i = 0; i < chela_json_length(list); i++) {
        const char *text = chela_json_string(chela_json_at(list, i), "text", NULL);
        buf_printf(&b, "%s%s", i ? "\n\n" : "", text ? text : "");
    }
    return buf_take(&b);
}

/* Waits for the second answer of "agent"; its first only says that it was taken. */
struct wait {
    json_object *payload;
    char *failure;
    bool done, first;
};

static bool took(void *arg, const struct client_answer *a)
{
    struct wait *w = arg;
    if (a->ok && w->first) {
        w->first = false;
        return true;
    }
    w->done = true;
    if (a->ok) {
        w->payload = json_object_get(a->payload);
    } else {
        w->failure = xstrdup(a->error.text);
    }
    return false;
}

static int call_tool(struct server *s, json_object *id, json_object *params, struct error *e)
{
    const char *tool = chela_json_string(params, "name", NULL), *method = NULL;
    json_object *arguments =
        tool ? params_of(tool, chela_json_object(params, "arguments"), &method) : NULL;
    if (!arguments) {
        write_error(id, -32602, "there is no such tool, or an argument is missing");
        return 0;
    }
    bool sends = strcmp(method, "agent") == 0;
    struct wait w = {.first = sends};
    if (client_request(&s->client, method, arguments, took, &w, e) < 0) {
        return -1;
    }
    while (!w.done) {
        if (client_wait(&s->client, 1000, e) < 0) {
            return -1;
        }
    }
    if (w.failure) {
        write_text(id, w.failure, true, NULL);
    } else if (sends) {
        CLEANUP(freep) char *text = answer_of(w.payload);
        const char *status = chela_json_string(w.payload, "status", NULL);
        write_text(id, text, !status || strcmp(status, "ok") != 0, NULL);
    } else {
        write_text(id, chela_json_text(w.payload, NULL), false, w.payload);
    }
    free(w.failure);
    json_object_put(w.payload);
    return 0;
}

/* ---- the loop ---- */

static int take(struct server *s, json_object *o, struct error *e)
{
    const char *method = chela_json_string(o, "method", NULL);
    json_object *id = chela_json_get(o, "id"), *params = chela_json_object(o, "params");
    if (!method || !id) {
        return 0; /* a notification, or an answer to nothing that we asked */
    }
    if (strcmp(method, "initialize") == 0) {
        greet(id, params);
    } else if (strcmp(method, "ping") == 0) {
        write_frame(id, "result", chela_json_new_object());
    } else if (strcmp(method, "tools/list") == 0) {
        json_object *result = chela_json_new_object(), *list = NULL;
        if (chela_json_parse(tools, sizeof tools - 1, NULL, &list, NULL) == 0) {
            chela_json_put(result, "tools", list);
        }
        write_frame(id, "result", result);
    } else if (strcmp(method, "tools/call") == 0) {
        return call_tool(s, id, params, e);
    } else {
        write_error(id, -32601, "this server has no such method");
    }
    return 0;
}

int mcp_serve(const struct common *common)
{
    struct place place;
    struct server s = {0};
    struct error e = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int status = output_connect(common, &place, &s.client, NULL, NULL);
    if (status != EXIT_OK) {
        return status;
    }
    while (status == EXIT_OK && (n = getline(&line, &room, stdin)) > 0) {
        json_object *o = NULL;
        if (n > LINE_MOST || chela_json_parse(line, (size_t)n, NULL, &o, NULL) < 0) {
            write_error(NULL, -32700, "that is no JSON");
        } else if (take(&s, o, &e) < 0) {
            status = output_error(common, &e, EXIT_NO_GATEWAY);
        }
        json_object_put(o);
    }
    free(line);
    client_close(&s.client);
    place_free(&place);
    return status;
}
