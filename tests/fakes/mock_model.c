/*
 * A model service for tests and the bench: speaks the chat completions API, the Messages API and
 * Ollama's chat, on a port that the kernel chooses. What it answers is asked for by the person's
 * last message, so a test reads as one conversation; only the JSON wrapper is Chela's.
 *
 *   mock_model [--port N] [--log FILE] [--fixed CHUNKS [--pace US]] [--api-key KEY] [--scripts
 * yes|no] [--gate FIFO]
 *
 * Prints "ready port=N" on file descriptor 3 (else on standard output). --log: each request as a
 * line {"path","headers":{}, "body"}. --fixed: no request is read closer, each answer is CHUNKS
 * pieces of text; for the bench. --pace: so many microseconds between them, and each is "@" and the
 * time at which it was sent (CLOCK_MONOTONIC, microseconds).
 *
 * The last user message, as a line "mock: WORDS" (several lines are several rounds: the line is
 * chosen by how many assistant messages follow the user's message): say TEXT streams TEXT think
 * TEXT | ANSWER           thinking, then the answer tool NAME JSON [&& NAME JSON] calls tools, in
 * parallel cut | reset | stall           stops in mid-stream: ends the connection, resets it, or
 * says nothing more garbage                       an event that is no JSON error-event a 200 with
 * an error event in the stream length                        ends by the token limit in the middle
 * of a tool call gated TEXT | REST: REST only when somebody has written to the gate status N
 * [RETRY-AFTER]        an error of that status html N that status with an HTML page empty a 200
 * without a body Anything else, and results of tools: an answer that repeats the last text, so that
 * a test sees what arrived.
 */
#include <json-c/json.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "support/json.h"
#include "tests/fakes/mock_answer.h"
#include "tests/fakes/mock_embed.h"
#include "tests/fakes/mock_http.h"

static struct {
    const char *gate; /* of "gated" */
    int fixed;
    long pace;
    bool deaf; /* to scripts */
    FILE *log;
    const char *key;
} mock;

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
        answer_call(a, index++, rest, space && *space ? space : "{}", cut && !next);
        rest = next;
    }
}

/* Ends in the middle of a stream; true: the connection is over. */
static bool break_off(struct answer *a, const char *how)
{
    struct linger hard = {1, 0};
    answer_say(a, "half of", false);
    fclose(a->out.f);
    free(a->out.p);
    if (strcmp(how, "stall") == 0)
        return false;
    if (strcmp(how, "reset") == 0)
        setsockopt(a->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    return true;
}

/* The first half goes out; the second one when the test says so. */
static void say_gated(struct answer *a, char *rest)
{
    char *bar = strstr(rest, " | "), word[64];
    if (bar)
        *bar = '\0';
    answer_say(a, rest, false);
    FILE *gate = mock.gate ? fopen(mock.gate, "re") : NULL;
    if (gate && !fgets(word, sizeof word, gate))
        fputs("the gate is closed\n", stderr);
    if (gate)
        fclose(gate);
    answer_say(a, bar ? bar + 3 : "", false);
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
        answer_fail(a->fd, a->api, (int)strtol(rest, NULL, 10), space ? space + 1 : NULL);
        return true;
    }
    if (strcmp(line, "html") == 0) {
        answer_plain(a->fd, (int)strtol(rest, NULL, 10), "text/html", "",
                     "<html><body><h1>Bad gateway</h1></body></html>");
        return true;
    }
    if (strcmp(line, "empty") == 0) {
        answer_plain(a->fd, 200, a->api == OLLAMA ? "application/x-ndjson" : "text/event-stream",
                     "", "");
        return true;
    }
    answer_begin(a);
    if (strcmp(line, "cut") == 0 || strcmp(line, "reset") == 0 || strcmp(line, "stall") == 0)
        return !break_off(a, line);
    if (strcmp(line, "say") == 0) {
        answer_say(a, rest, false);
    } else if (strcmp(line, "gated") == 0) {
        say_gated(a, rest);
    } else if (strcmp(line, "think") == 0) {
        char *bar = strstr(rest, " | ");
        if (bar)
            *bar = '\0';
        answer_say(a, rest, true);
        answer_say(a, bar ? bar + 3 : "", false);
    } else if (strcmp(line, "tool") == 0 || strcmp(line, "length") == 0) {
        run_tools(a, rest, strcmp(line, "length") == 0);
    } else if (strcmp(line, "garbage") == 0) {
        answer_event(a, "content_block_delta");
        fputs("{\"this is\": not JSON", a->out.f);
        answer_event_end(a);
    } else if (strcmp(line, "error-event") == 0) {
        answer_event(a, "error");
        fputs(a->api == OLLAMA ? "{\"error\":\"mock failure inside\"}"
                               : "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
                                 "\"message\":\"mock failure inside\"}}",
              a->out.f);
        answer_event_end(a);
        answer_flush(a);
        answer_send(a->fd, "0\r\n\r\n", 5);
        fclose(a->out.f);
        free(a->out.p);
        return true;
    }
    answer_finish(a, strcmp(line, "length") == 0);
    return true;
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
        answer_whole(a, text);
        return true;
    }
    answer_begin(a);
    answer_say(a, text, false);
    answer_finish(a, false);
    return true;
}

static void next_stamp(char *out, size_t size)
{
    struct timespec t = {0, mock.pace * 1000};
    nanosleep(&t, NULL);
    clock_gettime(CLOCK_MONOTONIC, &t);
    snprintf(out, size, "@%lld ", (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000);
}

static void answer_fixed(struct answer *a)
{
    answer_begin(a);
    answer_block_start(a, "{\"type\":\"text\",\"text\":\"\"}");
    for (int i = 0; i < mock.fixed; i++) {
        char piece[32] = "word ";
        if (mock.pace)
            next_stamp(piece, sizeof piece);
        answer_piece(a, piece, false);
    }
    answer_block_stop(a);
    answer_finish(a, false);
}

/* ---- the service ---- */

static void write_log(const char *path, const char *head, const char *body)
{
    char value[1024];
    static const char *const names[] = {"authorization", "x-api-key", "anthropic-version",
                                        "content-type", "user-agent"};
    fprintf(mock.log, "{\"path\":%s,\"headers\":{", answer_quoted(path));
    bool first = true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (http_header(head, names[i], value, sizeof value)) {
            fprintf(mock.log, "%s\"%s\":%s", first ? "" : ",", names[i], answer_quoted(value));
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
    if (http_header(head, "x-api-key", value, sizeof value))
        return strcmp(value, mock.key) == 0;
    return http_header(head, "authorization", value, sizeof value) &&
           strncmp(value, "Bearer ", 7) == 0 && strcmp(value + 7, mock.key) == 0;
}

/* One whole request; false: the connection is over. */
static bool serve(int fd, char *head, char *body)
{
    char path[256] = "";
    sscanf(head, "%*15s %255[^ ?]", path);
    struct answer a = {.fd = fd, .stream = true};
    a.api = strstr(path, "/chat/completions") ? CHAT
            : strstr(path, "/messages")       ? MESSAGES
            : strstr(path, "/api/chat")       ? OLLAMA
                                              : OTHER;
    if (mock.log)
        write_log(path, head, body);
    if (!key_ok(head)) {
        answer_fail(fd, a.api, 401, NULL);
        return true;
    }
    if (strstr(path, "/api/tags")) {
        answer_plain(fd, 200, "application/json", "",
                     "{\"models\":[{\"name\":\"mock-1\",\"model\":\"mock-1\",\"size\":1}]}");
        return true;
    }
    if (strstr(path, "/models")) {
        answer_plain(fd, 200, "application/json", "",
                     "{\"object\":\"list\",\"data\":[{\"id\":\"mock-1\",\"object\":\"model\"}]}");
        return true;
    }
    json_object *o = NULL;
    if (strstr(path, "/embeddings") && chela_json_parse(body, strlen(body), NULL, &o, NULL) == 0) {
        embed_answer(fd, o);
        json_object_put(o);
        return true;
    }
    if (a.api == OTHER) {
        answer_fail(fd, CHAT, 404, NULL);
        return true;
    }
    if (mock.fixed) {
        answer_fixed(&a);
        return true;
    }
    bool goes_on = true;
    if (chela_json_parse(body, strlen(body), NULL, &o, NULL) == 0)
        goes_on = answer_body(&a, o);
    else
        answer_fail(fd, a.api, 400, NULL);
    json_object_put(o);
    return goes_on;
}

int main(int argc, char **argv)
{
    unsigned short port = 0;
    signal(SIGPIPE, SIG_IGN);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--port") == 0)
            port = (unsigned short)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--gate") == 0)
            mock.gate = argv[i + 1];
        else if (strcmp(argv[i], "--fixed") == 0)
            mock.fixed = (int)strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--pace") == 0)
            mock.pace = strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--log") == 0)
            mock.log = fopen(argv[i + 1], "we");
        else if (strcmp(argv[i], "--scripts") == 0)
            mock.deaf = strcmp(argv[i + 1], "no") == 0;
        else if (strcmp(argv[i], "--api-key") == 0)
            mock.key = argv[i + 1];
    }
    unsigned bound = http_listen(port);
    if (dprintf(3, "ready port=%u\n", bound) < 0) {
        printf("ready port=%u\n", bound);
        fflush(stdout);
    }
    http_serve(serve);
}
