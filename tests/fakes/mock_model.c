/*
 * A model service for tests and the bench: speaks the chat completions API, the Messages API and
 * Ollama's chat, on a port that the kernel chooses. What it answers is asked for by the person's
 * last message, so a test reads as one conversation; only the JSON wrapper is Chela's.
 *
 *   mock_model [--port N] [--log FILE] [--fixed CHUNKS] [--api-key KEY] [--scripts yes|no]
 *
 * Prints "ready port=N" on file descriptor 3 (else on standard output). --log: each request as a
 * line {"path","headers":{}, "body"}. --fixed: no request is read closer, each answer is CHUNKS
 * pieces of text; for the bench.
 *
 * The last user message, as a line "mock: WORDS" (several lines are several rounds: the line is
 * chosen by how many assistant messages follow the user's message): say TEXT streams TEXT think
 * TEXT | ANSWER           thinking, then the answer tool NAME JSON [&& NAME JSON] calls tools, in
 * parallel cut | reset | stall           stops in mid-stream: ends the connection, resets it, or
 * says nothing more garbage                       an event that is no JSON error-event a 200 with
 * an error event in the stream length                        ends by the token limit in the middle
 * of a tool call status N [RETRY-AFTER]        an error of that status html N that status with an
 * HTML page empty                         a 200 without a body Anything else, and results of tools:
 * an answer that repeats the last text, so that a test sees what arrived.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <json-c/json.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/json.h"

enum { READ = 65536, LARGEST = 64 * 1024 * 1024, PIECE = 6 };
enum api { CHAT, MESSAGES, OLLAMA, OTHER };

struct client {
    int fd;
    char *in;
    size_t n, size;
};

static struct {
    int epoll, listener, fixed;
    bool deaf; /* to scripts */
    FILE *log;
    const char *key;
} mock;

/* ---- output: a buffer that is sent at once ---- */

struct out {
    char *p;
    size_t n;
    FILE *f;
};

static void out_open(struct out *o)
{
    o->f = open_memstream(&o->p, &o->n);
    if (!o->f)
        abort();
}

static bool send_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* Sends what was written as one piece of a chunked body. */
static void out_chunk(struct out *o, int fd)
{
    char head[32];
    fclose(o->f);
    if (o->n) {
        int k = snprintf(head, sizeof head, "%zx\r\n", o->n);
        send_all(fd, head, (size_t)k);
        send_all(fd, o->p, o->n);
        send_all(fd, "\r\n", 2);
    }
    free(o->p);
    out_open(o);
}

static const char *quoted(const char *text)
{
    static json_object *last; /* kept until the next call */
    json_object_put(last);
    last = json_object_new_string(text);
    return json_object_to_json_string_ext(last,
                                          JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

/* ---- answers, by API ---- */

struct answer {
    enum api api;
    bool stream;
    int fd;
    struct out out;
    int block; /* of the Messages API */
    bool any_call;
};

static void head(struct answer *a, const char *type)
{
    char text[256];
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: "
                     "chunked\r\nX-Request-Id: mock\r\n\r\n",
                     type);
    send_all(a->fd, text, (size_t)n);
}

static void event(struct answer *a, const char *name)
{
    if (a->api == MESSAGES)
        fprintf(a->out.f, "event: %s\n", name);
    if (a->api != OLLAMA)
        fputs("data: ", a->out.f);
}

static void event_end(struct answer *a)
{
    fputs(a->api == OLLAMA ? "\n" : "\n\n", a->out.f);
}

static void begin(struct answer *a)
{
    head(a, a->api == OLLAMA ? "application/x-ndjson" : "text/event-stream");
    out_open(&a->out);
    if (a->api == MESSAGES) {
        event(a, "message_start");
        fputs("{\"type\":\"message_start\",\"message\":{\"id\":\"msg_mock\",\"type\":\"message\","
              "\"role\":\"assistant\",\"model\":"
              "\"mock-1\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":20,"
              "\"output_tokens\":1}}}",
              a->out.f);
        event_end(a);
    } else if (a->api == CHAT) {
        event(a, "");
        fputs("{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1,"
              "\"model\":\"mock-1\",\"choices\":[{\"index\":"
              "0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}",
              a->out.f);
        event_end(a);
    }
}

static void text_piece(struct answer *a, const char *text, bool thinking)
{
    const char *q = quoted(text);
    event(a, "content_block_delta");
    if (a->api == CHAT)
        fprintf(a->out.f,
                "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1,"
                "\"model\":\"mock-1\",\"choices\":[{"
                "\"index\":0,\"delta\":{\"%s\":%s},\"finish_reason\":null}]}",
                thinking ? "reasoning_content" : "content", q);
    else if (a->api == MESSAGES)
        fprintf(
            a->out.f,
            "{\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"%s\",\"%s\":%s}}",
            a->block, thinking ? "thinking_delta" : "text_delta", thinking ? "thinking" : "text",
            q);
    else
        fprintf(a->out.f,
                "{\"model\":\"mock-1\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{"
                "\"role\":\"assistant\",\"%s\":%s%s},"
                "\"done\":false}",
                thinking ? "thinking" : "content", q, thinking ? ",\"content\":\"\"" : "");
    event_end(a);
    out_chunk(&a->out, a->fd);
}

static void block_start(struct answer *a, const char *about)
{
    if (a->api != MESSAGES)
        return;
    event(a, "content_block_start");
    fprintf(a->out.f, "{\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}",
            a->block, about);
    event_end(a);
}

static void block_stop(struct answer *a)
{
    if (a->api != MESSAGES)
        return;
    event(a, "content_block_stop");
    fprintf(a->out.f, "{\"type\":\"content_block_stop\",\"index\":%d}", a->block++);
    event_end(a);
}

static void say(struct answer *a, const char *text, bool thinking)
{
    size_t n = strlen(text);
    block_start(a, thinking ? "{\"type\":\"thinking\",\"thinking\":\"\"}"
                            : "{\"type\":\"text\",\"text\":\"\"}");
    for (size_t i = 0; i < n;) {
        char piece[PIECE + 8];
        size_t k = n - i < PIECE ? n - i : PIECE;
        while (i + k < n && ((unsigned char)text[i + k] & 0xc0) == 0x80)
            k++;
        memcpy(piece, text + i, k);
        piece[k] = '\0';
        text_piece(a, piece, thinking);
        i += k;
    }
    if (thinking && a->api == MESSAGES) {
        event(a, "content_block_delta");
        fprintf(a->out.f,
                "{\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"signature_"
                "delta\",\"signature\":"
                "\"c2lnbmVk\"}}",
                a->block);
        event_end(a);
    }
    block_stop(a);
}

static void call(struct answer *a, int index, const char *name, const char *arguments, bool cut)
{
    char about[300], half[4096];
    snprintf(half, sizeof half, "%.*s", cut ? (int)(strlen(arguments) / 2) : (int)sizeof half - 1,
             arguments);
    a->any_call = true;
    if (a->api == MESSAGES) {
        snprintf(about, sizeof about,
                 "{\"type\":\"tool_use\",\"id\":\"toolu_mock%d\",\"name\":\"%.100s\",\"input\":{}}",
                 index, name);
        block_start(a, about);
        event(a, "content_block_delta");
        fprintf(a->out.f,
                "{\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"input_json_"
                "delta\",\"partial_json\":%s}}",
                a->block, quoted(half));
        event_end(a);
        block_stop(a);
    } else if (a->api == CHAT) {
        event(a, "");
        fprintf(a->out.f,
                "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1,"
                "\"model\":\"mock-1\",\"choices\":[{\"index\":"
                "0,\"delta\":{\"tool_calls\":[{\"index\":%d,\"id\":\"call_mock%d\",\"type\":"
                "\"function\",\"function\":{\"name\":\"%.100s\","
                "\"arguments\":\"\"}}]},\"finish_reason\":null}]}",
                index, index, name);
        event_end(a);
        event(a, "");
        fprintf(a->out.f,
                "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1,"
                "\"model\":\"mock-1\",\"choices\":[{\"index\":"
                "0,\"delta\":{\"tool_calls\":[{\"index\":%d,\"function\":{\"arguments\":%s}}]},"
                "\"finish_reason\":null}]}",
                index, quoted(half));
        event_end(a);
    } else {
        fprintf(a->out.f,
                "{\"model\":\"mock-1\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{"
                "\"role\":\"assistant\",\"content\":\"\","
                "\"tool_calls\":[{\"function\":{\"name\":\"%.100s\",\"arguments\":%s}}]},\"done\":"
                "false}",
                name, arguments);
        event_end(a);
    }
    out_chunk(&a->out, a->fd);
}

static void finish(struct answer *a, bool length)
{
    if (a->api == MESSAGES) {
        event(a, "message_delta");
        fprintf(a->out.f,
                "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\",\"stop_sequence\":"
                "null},\"usage\":{"
                "\"output_tokens\":9}}",
                length        ? "max_tokens"
                : a->any_call ? "tool_use"
                              : "end_turn");
        event_end(a);
        event(a, "message_stop");
        fputs("{\"type\":\"message_stop\"}", a->out.f);
        event_end(a);
    } else if (a->api == CHAT) {
        event(a, "");
        fprintf(a->out.f,
                "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1,"
                "\"model\":\"mock-1\",\"choices\":[{\"index\":"
                "0,\"delta\":{},\"finish_reason\":\"%s\"}]}",
                length        ? "length"
                : a->any_call ? "tool_calls"
                              : "stop");
        event_end(a);
        event(a, "");
        fputs("{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1,"
              "\"model\":\"mock-1\",\"choices\":[],\"usage\":{"
              "\"prompt_tokens\":20,\"completion_tokens\":9,\"total_tokens\":29}}",
              a->out.f);
        event_end(a);
        fputs("data: [DONE]\n\n", a->out.f);
    } else {
        fprintf(a->out.f,
                "{\"model\":\"mock-1\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{"
                "\"role\":\"assistant\",\"content\":\"\"},"
                "\"done\":true,\"done_reason\":\"%s\",\"prompt_eval_count\":20,\"eval_count\":9}",
                length ? "length" : "stop");
        event_end(a);
    }
    out_chunk(&a->out, a->fd);
    send_all(a->fd, "0\r\n\r\n", 5);
    fclose(a->out.f);
    free(a->out.p);
}

/* An answer with a length, not chunked. */
static void plain(int fd, int status, const char *type, const char *extra, const char *body)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 %d Mock\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n",
                     status, type, strlen(body), extra);
    send_all(fd, text, (size_t)n);
    send_all(fd, body, strlen(body));
}

static void fail(int fd, enum api api, int status, const char *retry_after)
{
    static const struct {
        int status;
        const char *type;
    } types[] = {{400, "invalid_request_error"},
                 {401, "authentication_error"},
                 {403, "permission_error"},
                 {404, "not_found_error"},
                 {413, "request_too_large"},
                 {429, "rate_limit_error"},
                 {500, "api_error"},
                 {529, "overloaded_error"}};
    const char *type = "api_error";
    char body[512], extra[64] = "";
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].status == status)
            type = types[i].type;
    if (retry_after && *retry_after)
        snprintf(extra, sizeof extra, "Retry-After: %.10s\r\n", retry_after);
    if (api == OLLAMA)
        snprintf(body, sizeof body, "{\"error\":\"mock failure %d\"}", status);
    else
        snprintf(body, sizeof body,
                 "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"mock failure %d\"}}",
                 type, status);
    plain(fd, status, "application/json", extra, body);
}

/* ---- what is asked ---- */

static const char *part_text(json_object *content)
{
    json_object *part, *text;
    if (json_object_is_type(content, json_type_string))
        return json_object_get_string(content);
    for (size_t i =
             json_object_is_type(content, json_type_array) ? json_object_array_length(content) : 0;
         i-- > 0;) {
        part = json_object_array_get_idx(content, i);
        if (json_object_object_get_ex(part, "text", &text))
            return json_object_get_string(text);
        if (json_object_object_get_ex(part, "content", &text))
            return part_text(text);
    }
    return "";
}

static bool has_type(json_object *content, const char *type)
{
    json_object *t;
    for (size_t i = 0;
         json_object_is_type(content, json_type_array) && i < json_object_array_length(content);
         i++)
        if (json_object_object_get_ex(json_object_array_get_idx(content, i), "type", &t) &&
            strcmp(json_object_get_string(t), type) == 0)
            return true;
    return false;
}

/* The person's last message, how many assistant messages follow it, and the last text of all. */
static void look(json_object *body, const char **wish, int *rounds, const char **last)
{
    json_object *messages, *role, *content;
    *wish = *last = "";
    *rounds = 0;
    if (!json_object_object_get_ex(body, "messages", &messages))
        return;
    for (size_t i = 0; i < json_object_array_length(messages); i++) {
        json_object *m = json_object_array_get_idx(messages, i);
        const char *name =
            json_object_object_get_ex(m, "role", &role) ? json_object_get_string(role) : "";
        content = NULL;
        json_object_object_get_ex(m, "content", &content);
        if (strcmp(name, "user") == 0 && !has_type(content, "tool_result")) {
            *wish = part_text(content);
            *rounds = 0;
        } else if (strcmp(name, "assistant") == 0) {
            (*rounds)++;
        }
        if (strcmp(name, "system") != 0)
            *last = part_text(content);
    }
}

/* The line "mock: ..." of a round (free it), or NULL. */
static char *script_line(const char *wish, int round)
{
    for (const char *p = wish; (p = strstr(p, "mock: ")); p++)
        if (round-- == 0)
            return strndup(p + 6, strcspn(p + 6, "\n"));
    return NULL;
}

static void run_tools(struct answer *a, char *rest, bool cut)
{
    int index = 0;
    while (rest && *rest) {
        char *next = strstr(rest, " && ");
        if (next) {
            *next = '\0';
            next += 4;
        }
        char *space = strchr(rest, ' ');
        if (space)
            *space++ = '\0';
        call(a, index++, rest, space && *space ? space : "{}", cut && !next);
        rest = next;
    }
}

/* Ends in the middle of a stream; true: the connection is over. */
static bool break_off(struct answer *a, const char *how)
{
    struct linger hard = {1, 0};
    say(a, "half of", false);
    fclose(a->out.f);
    free(a->out.p);
    if (strcmp(how, "stall") == 0)
        return false;
    if (strcmp(how, "reset") == 0)
        setsockopt(a->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    return true;
}

/* Answers a line of a script; false: the connection is over. */
static bool play(struct answer *a, char *line)
{
    char *rest = strchr(line, ' ');
    if (rest)
        *rest++ = '\0';
    else
        rest = line + strlen(line);
    if (strcmp(line, "status") == 0) {
        char *space = strchr(rest, ' ');
        fail(a->fd, a->api, (int)strtol(rest, NULL, 10), space ? space + 1 : NULL);
        return true;
    }
    if (strcmp(line, "html") == 0) {
        plain(a->fd, (int)strtol(rest, NULL, 10), "text/html", "",
              "<html><body><h1>Bad gateway</h1></body></html>");
        return true;
    }
    if (strcmp(line, "empty") == 0) {
        plain(a->fd, 200, a->api == OLLAMA ? "application/x-ndjson" : "text/event-stream", "", "");
        return true;
    }
    begin(a);
    if (strcmp(line, "cut") == 0 || strcmp(line, "reset") == 0 || strcmp(line, "stall") == 0)
        return !break_off(a, line);
    if (strcmp(line, "say") == 0) {
        say(a, rest, false);
    } else if (strcmp(line, "think") == 0) {
        char *bar = strstr(rest, " | ");
        if (bar)
            *bar = '\0';
        say(a, rest, true);
        say(a, bar ? bar + 3 : "", false);
    } else if (strcmp(line, "tool") == 0 || strcmp(line, "length") == 0) {
        run_tools(a, rest, strcmp(line, "length") == 0);
    } else if (strcmp(line, "garbage") == 0) {
        event(a, "content_block_delta");
        fputs("{\"this is\": not JSON", a->out.f);
        event_end(a);
    } else if (strcmp(line, "error-event") == 0) {
        event(a, "error");
        fputs(a->api == OLLAMA ? "{\"error\":\"mock failure inside\"}"
                               : "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
                                 "\"message\":\"mock failure inside\"}}",
              a->out.f);
        event_end(a);
        out_chunk(&a->out, a->fd);
        send_all(a->fd, "0\r\n\r\n", 5);
        fclose(a->out.f);
        free(a->out.p);
        return true;
    }
    finish(a, strcmp(line, "length") == 0);
    return true;
}

/* The same answer as one JSON object, for clients that do not stream. */
static void whole(struct answer *a, const char *text)
{
    char *body = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&body, &n);
    if (!f)
        abort();
    if (a->api == MESSAGES)
        fprintf(f,
                "{\"id\":\"msg_mock\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"mock-"
                "1\",\"content\":[{\"type\":\"text\","
                "\"text\":%s}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":20,"
                "\"output_tokens\":9}}",
                quoted(text));
    else if (a->api == CHAT)
        fprintf(f,
                "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion\",\"created\":1,\"model\":"
                "\"mock-1\",\"choices\":[{\"index\":0,"
                "\"message\":{\"role\":\"assistant\",\"content\":%s},\"finish_reason\":\"stop\"}],"
                "\"usage\":{\"prompt_tokens\":20,"
                "\"completion_tokens\":9,\"total_tokens\":29}}",
                quoted(text));
    else
        fprintf(f,
                "{\"model\":\"mock-1\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{"
                "\"role\":\"assistant\",\"content\":%s},"
                "\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":20,\"eval_count\":9}",
                quoted(text));
    fclose(f);
    plain(a->fd, 200, "application/json", "", body);
    free(body);
}

static bool answer_body(struct answer *a, json_object *body)
{
    const char *wish, *last;
    int rounds;
    json_object *stream;
    look(body, &wish, &rounds, &last);
    a->stream = json_object_object_get_ex(body, "stream", &stream) ? json_object_get_boolean(stream)
                                                                   : a->api == OLLAMA;
    char *line = mock.deaf ? NULL : script_line(wish, rounds);
    if (line) {
        bool goes_on = play(a, line);
        free(line);
        return goes_on;
    }
    char text[4096];
    snprintf(text, sizeof text, rounds ? "After the tool: %.4000s" : "You said: %.4000s", last);
    if (!a->stream) {
        whole(a, text);
        return true;
    }
    begin(a);
    say(a, text, false);
    finish(a, false);
    return true;
}

static void answer_fixed(struct answer *a)
{
    begin(a);
    block_start(a, "{\"type\":\"text\",\"text\":\"\"}");
    for (int i = 0; i < mock.fixed; i++)
        text_piece(a, "word ", false);
    block_stop(a);
    finish(a, false);
}

/* ---- HTTP ---- */

static const char *header(const char *head, const char *name, char *out, size_t size)
{
    size_t n = strlen(name);
    for (const char *p = head; (p = strstr(p, "\r\n"));) {
        p += 2;
        if (strncasecmp(p, name, n) == 0 && p[n] == ':') {
            p += n + 1;
            p += strspn(p, " ");
            snprintf(out, size, "%.*s", (int)strcspn(p, "\r"), p);
            return out;
        }
    }
    return NULL;
}

static void write_log(const char *path, const char *head, const char *body)
{
    char value[1024];
    static const char *const names[] = {"authorization", "x-api-key", "anthropic-version",
                                        "content-type", "user-agent"};
    fprintf(mock.log, "{\"path\":%s,\"headers\":{", quoted(path));
    bool first = true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (header(head, names[i], value, sizeof value)) {
            fprintf(mock.log, "%s\"%s\":%s", first ? "" : ",", names[i], quoted(value));
            first = false;
        }
    fprintf(mock.log, "},\"body\":%s}\n", *body ? body : "null");
    fflush(mock.log);
}

static bool key_ok(const char *head)
{
    char value[1024];
    if (!mock.key)
        return true;
    if (header(head, "x-api-key", value, sizeof value))
        return strcmp(value, mock.key) == 0;
    return header(head, "authorization", value, sizeof value) &&
           strncmp(value, "Bearer ", 7) == 0 && strcmp(value + 7, mock.key) == 0;
}

/* One whole request; false: the connection is over. */
static bool serve(struct client *c, char *head, char *body)
{
    char path[256] = "";
    sscanf(head, "%*15s %255[^ ?]", path);
    struct answer a = {.fd = c->fd, .stream = true};
    a.api = strstr(path, "/chat/completions") ? CHAT
            : strstr(path, "/messages")       ? MESSAGES
            : strstr(path, "/api/chat")       ? OLLAMA
                                              : OTHER;
    if (mock.log)
        write_log(path, head, body);
    if (!key_ok(head)) {
        fail(c->fd, a.api, 401, NULL);
        return true;
    }
    if (strstr(path, "/api/tags")) {
        plain(c->fd, 200, "application/json", "",
              "{\"models\":[{\"name\":\"mock-1\",\"model\":\"mock-1\",\"size\":1}]}");
        return true;
    }
    if (strstr(path, "/models")) {
        plain(c->fd, 200, "application/json", "",
              "{\"object\":\"list\",\"data\":[{\"id\":\"mock-1\",\"object\":\"model\"}]}");
        return true;
    }
    if (a.api == OTHER) {
        fail(c->fd, CHAT, 404, NULL);
        return true;
    }
    if (mock.fixed) {
        answer_fixed(&a);
        return true;
    }
    json_object *o = NULL;
    bool goes_on = true;
    if (chela_json_parse(body, strlen(body), NULL, &o, NULL) == 0)
        goes_on = answer_body(&a, o);
    else
        fail(c->fd, a.api, 400, NULL);
    json_object_put(o);
    return goes_on;
}

static void drop(struct client *c)
{
    epoll_ctl(mock.epoll, EPOLL_CTL_DEL, c->fd, NULL);
    close(c->fd);
    free(c->in);
    free(c);
}

/* Serves what has come whole; false: drop the client. */
static bool advance(struct client *c)
{
    for (;;) {
        char *end = c->in ? memmem(c->in, c->n, "\r\n\r\n", 4) : NULL, value[32];
        if (!end)
            return c->n < LARGEST;
        end[2] = '\0';
        size_t length = header(c->in, "content-length", value, sizeof value)
                            ? strtoul(value, NULL, 10)
                            : 0,
               head_length = (size_t)(end - c->in) + 4;
        bool expects = header(c->in, "expect", value, sizeof value) != NULL;
        if (length > LARGEST)
            return false;
        if (c->n < head_length + length) {
            if (expects && c->n == head_length)
                send_all(c->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
            end[2] = '\r';
            return true;
        }
        char *body = strndup(c->in + head_length, length);
        bool goes_on = serve(c, c->in, body);
        free(body);
        if (!goes_on)
            return false;
        c->n -= head_length + length;
        memmove(c->in, c->in + head_length + length, c->n);
        c->in[c->n] = '\0';
    }
}

static void readable(struct client *c)
{
    if (c->size - c->n < READ + 1) {
        c->size = c->size ? c->size * 2 : READ * 2;
        c->in = realloc(c->in, c->size);
        if (!c->in)
            abort();
    }
    ssize_t n = recv(c->fd, c->in + c->n, READ, 0);
    if (n <= 0) {
        drop(c);
        return;
    }
    c->n += (size_t)n;
    c->in[c->n] = '\0';
    if (!advance(c))
        drop(c);
}

static void take_client(void)
{
    int fd = accept4(mock.listener, NULL, NULL, SOCK_CLOEXEC), one = 1;
    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct client *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->fd = fd;
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(mock.epoll, EPOLL_CTL_ADD, fd, &e);
}

static unsigned listen_on(unsigned short port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof address;
    int one = 1;
    mock.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(mock.listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(mock.listener, (struct sockaddr *)&address, n) != 0 ||
        listen(mock.listener, 1024) != 0 ||
        getsockname(mock.listener, (struct sockaddr *)&address, &n) != 0) {
        perror("mock_model");
        exit(1);
    }
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};
    mock.epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(mock.epoll, EPOLL_CTL_ADD, mock.listener, &e);
    return ntohs(address.sin_port);
}

int main(int argc, char **argv)
{
    unsigned short port = 0;
    signal(SIGPIPE, SIG_IGN);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--port") == 0)
            port = (unsigned short)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--fixed") == 0)
            mock.fixed = (int)strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--log") == 0)
            mock.log = fopen(argv[i + 1], "we");
        else if (strcmp(argv[i], "--scripts") == 0)
            mock.deaf = strcmp(argv[i + 1], "no") == 0;
        else if (strcmp(argv[i], "--api-key") == 0)
            mock.key = argv[i + 1];
    }
    unsigned bound = listen_on(port);
    if (dprintf(3, "ready port=%u\n", bound) < 0) {
        printf("ready port=%u\n", bound);
        fflush(stdout);
    }
    for (;;) {
        struct epoll_event events[64];
        int n = epoll_wait(mock.epoll, events, 64, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr)
                readable(events[i].data.ptr);
            else
                take_client();
        }
    }
}
